//! Loads a file of SQL, such as a dump, into a database. It applies no migrations.

use std::io::BufRead;

use super::dialect::Dialect;
use super::error::{Error, Kind};
use super::migrations::at_place;
use super::settings::Named;
use super::statements::{Fault, Statements};
use super::{Connection, Missing, keyword, origin};

/// How far a load has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Statements that were run.
    pub statements: u64,
    /// Bytes of the file that they take.
    pub bytes: u64,
}

/// Why a file was not loaded.
#[derive(Debug)]
pub enum Failure {
    /// The database can't be opened.
    Database(Error),
    /// The file can't be read, or the database refuses a statement of it.
    File(Error),
}

/// Runs all statements of what `reader` reads, up to the first that fails; `file` is its name for
/// whoever reads the error. Where the database can take it back, nothing is left of what was not loaded
/// whole, unless the file itself has made some of it last. `seen` is told after each statement.
///
/// # Errors
/// With the place of the statement, and how it begins.
pub fn load(
    database: &Named,
    file: &str,
    mut reader: impl BufRead,
    mut seen: impl FnMut(Progress),
) -> Result<Progress, Failure> {
    let refused = |error: Error| Failure::Database(at_place(database, &error));
    let backend = database.url.backend();
    let connection = (backend.connect)(database, Missing::Create).map_err(refused)?;
    // Should this fail, so will the first look for a statement.
    let head = reader.fill_buf().map(|read| read[..read.len().min(origin::LENGTH)].to_vec()).unwrap_or_default();
    let dialect = connection.dialect();
    if dialect == Dialect::Sqlite && (backend.files)(database.url.address()).is_empty() {
        return Err(refused(Error::new(Kind::Other, "it lies in memory, and would be gone after the load")));
    }
    let mut load = Load { connection, is_ours: false, opened: None, last: 0, lasting: None };
    let mut statements = Statements::new(reader, dialect);
    let mut progress = Progress::default();
    let foreign = |error: Error, text: &[u8]| match origin::other_than(dialect, text) {
        Some(other) => {
            let (other, title, name) = (other.title(), dialect.title(), &database.name);
            error.hint(&format!("this looks like a dump of {other}, and `{name}` is {title}"))
        }
        None => error,
    };
    loop {
        let outcome = match statements.read() {
            Ok(None) => break,
            Ok(Some(statement)) => load.one(statement.text, statement.line).map_err(|error| {
                let error = too_long(error, statement.text, dialect);
                let text = if origin::other_than(dialect, &head).is_some() { &head } else { statement.text.as_bytes() };
                let shown = format!("  {} | {}", statement.line, origin::beginning(statement.text, dialect));
                statement.fault(foreign(with_line(error, &shown), text), dialect)
            }),
            Err(Fault { line, error }) => Err(Fault { line, error: foreign(error, &head) }),
        };
        if let Err(fault) = outcome {
            return Err(Failure::File(load.undo(fault.within(file))));
        }
        progress.statements += 1;
        progress.bytes = statements.position();
        seen(progress);
    }
    load.finish(file).map_err(|error| Failure::File(load.undo(error)))?;
    Ok(progress)
}

/// A load on its way.
struct Load {
    connection: Box<dyn Connection>,
    /// Whether the transaction that is open is not the file's own.
    is_ours: bool,
    /// The line in which the file has opened the one that is.
    opened: Option<u64>,
    /// The line of the last statement.
    last: u64,
    /// The line of the last statement that can't be taken back any more.
    lasting: Option<u64>,
}

impl Load {
    /// Runs a statement, in a transaction where the file has none of its own: one for all of them is
    /// faster than one for each, and takes everything back.
    fn one(&mut self, sql: &str, line: u64) -> Result<(), Error> {
        let dialect = self.connection.dialect();
        let control = keyword::transaction_control(sql, dialect);
        let is_alone = stands_alone(keyword::first_word(sql, dialect), dialect);
        if self.is_ours && (is_alone || matches!(control, Some("BEGIN" | "START" | "XA"))) {
            self.connection.commit(0)?;
            self.is_ours = false;
            self.lasting = Some(self.last);
        }
        let was_open = self.connection.in_transaction();
        if !was_open && !is_alone && control.is_none() && self.connection.is_transactional() {
            self.connection.begin(0, None)?;
            self.is_ours = true;
        }
        self.connection.run(sql)?;
        let is_open = self.connection.in_transaction();
        self.is_ours &= is_open;
        self.last = line;
        if !is_open && !is_alone && (control.is_none() || was_open) {
            self.lasting = Some(line);
        }
        self.opened = self.opened.or(Some(line)).filter(|_| is_open && !self.is_ours);
        Ok(())
    }

    fn finish(&mut self, file: &str) -> Result<(), Error> {
        if self.is_ours {
            return self.connection.commit(0).map_err(|error| error.within(file));
        }
        self.opened.map_or(Ok(()), |line| {
            let error = Error::new(Kind::Other, "the transaction that begins here is not ended in the file");
            let error = error.hint("is the file whole? its last statement would be `COMMIT;`");
            Err(Fault { line, error }.within(file))
        })
    }

    /// Takes back what can be, and says what stays.
    fn undo(&mut self, error: Error) -> Error {
        if self.connection.in_transaction() {
            // Should this fail, the connection is closed soon.
            let _ = self.connection.rollback(0);
        }
        let stays = match self.lasting {
            _ if self.last == 0 => return error,
            Some(line) => format!("the statements up to line {line} were done and stay"),
            None => "nothing of the file was kept".to_owned(),
        };
        Error { message: format!("{}\n{stays}", error.message), ..error }
    }
}

/// Whether a statement is refused in a transaction, or has no effect there, but is otherwise one of
/// those that dumps have.
fn stands_alone(word: &str, dialect: Dialect) -> bool {
    let words: &[&str] = match dialect {
        Dialect::Sqlite => &["PRAGMA", "VACUUM", "ATTACH", "DETACH"],
        Dialect::Mysql => &[],
        Dialect::Postgres => &["VACUUM"],
    };
    words.iter().any(|it| it.eq_ignore_ascii_case(word))
}

/// A server of MySQL's hangs up without a word where a statement is too long for it.
fn too_long(error: Error, statement: &str, dialect: Dialect) -> Error {
    let length = statement.len() >> 20;
    if dialect != Dialect::Mysql || error.kind != Kind::Connection || length == 0 {
        return error;
    }
    error.hint(&format!(
        "the statement has {length} MiB: if that is more than the server's `max_allowed_packet`, raise it, or write fewer \
         rows into one"
    ))
}

/// The error with a line between what happened and the way out.
fn with_line(error: Error, line: &str) -> Error {
    let message = match error.message.split_once("\nhint: ") {
        Some((what, hint)) => format!("{what}\n{line}\nhint: {hint}"),
        None => format!("{}\n{line}", error.message),
    };
    Error { message, ..error }
}
