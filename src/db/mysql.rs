//! MySQL and MariaDB, by sqlx's driver. It knows their protocol's types and their errors; what a
//! fiber is, it does not.

mod fault;
mod parameters;
mod values;

use std::collections::HashMap;
use std::pin::Pin;
use std::rc::Rc;
use std::str::FromStr;
use std::sync::Arc;

use sqlx::mysql::{MySqlArguments, MySqlConnectOptions, MySqlConnection, MySqlQueryResult, MySqlRow};
use sqlx::{AssertSqlSafe, Column, ConnectOptions, Connection as _, Either, Executor, Row as _};

use self::parameters::Parameters;
use self::values::Sort;
use super::connection::leave;
use super::dialect::Dialect;
use super::error::{Error, Kind};
use super::remote::{Bounds, Canceller, Remote, Results, Session, Stream, Traces, address};
use super::rows::{Columns, Rows};
use super::settings::Named;
use super::transaction::Isolation;
use super::value::Value;
use super::{Backend, Executed, Missing, Opened, keyword};

/// MySQL's line in the table of backends.
pub const BACKEND: Backend = Backend {
    name: "mysql",
    schemes: &["mysql", "mariadb"],
    example: "mysql://user:password@host/name",
    check_address,
    check_presence: |database, _| address::check_files(database.url.address()),
    files: |_| Vec::new(),
    probe: |database| connect(database, Missing::Refuse).map(leave),
    look: |database| connect(database, Missing::Refuse),
    connect,
};

/// What may follow after the `?` of a URL.
const OPTIONS: &[&str] = &["charset", "collation", "socket", "ssl-ca", "ssl-cert", "ssl-key", "ssl-mode", "time-zone"];

/// How many statements are kept prepared; then all are let go of at once. The driver would let go of one for each
/// that is new, which has no reply: what it sends next would wait for the server's delayed acknowledgement, 40 ms
/// each time.
const PREPARED: usize = 250;

/// What a session begins with: how long it waits for somebody else's lock, and that a value which does not fit is
/// refused, not cut.
const GREETING: &str = "SET SESSION innodb_lock_wait_timeout = 5, \
                        sql_mode = CONCAT(@@SESSION.sql_mode, ',STRICT_TRANS_TABLES')";

/// What MySQL (8.4 Reference Manual, 15.3.3) or MariaDB commits a transaction for, or may: by its first word.
const COMMITTING: &[&str] = &[
    "ALTER",
    "ANALYZE",
    "BACKUP",
    "CACHE",
    "CHANGE",
    "CHECK",
    "CREATE",
    "DROP",
    "EXECUTE",
    "FLUSH",
    "GRANT",
    "IMPORT",
    "INSTALL",
    "LOCK",
    "OPTIMIZE",
    "RENAME",
    "REPAIR",
    "RESET",
    "REVOKE",
    "TRUNCATE",
    "UNINSTALL",
    "UNLOCK",
];

/// What a session keeps for itself, by its first word.
const KEPT: &[&str] = &["EXECUTE", "HANDLER", "LOCK", "PREPARE", "SET", "USE"];

/// The name of the lock that migrations are made under.
const LOCK: &str = "rhaid_migrations";
/// Seconds that another process's migrations are waited for.
const LOCK_PATIENCE: u32 = 600;

fn check_address(address: &str) -> Result<(), String> {
    address::check(&format!("mysql:{address}"), BACKEND.example, OPTIONS)?;
    options(address).map(drop)
}

fn options(address: &str) -> Result<MySqlConnectOptions, String> {
    let options = MySqlConnectOptions::from_str(&format!("mysql:{address}"));
    options
        .map(|it| it.disable_statement_logging().statement_cache_capacity(PREPARED))
        .map_err(|error| format!("the URL can't be understood: {error}"))
}

fn connect(database: &Named, _: Missing) -> Opened {
    address::check_files(database.url.address())?;
    let options = options(database.url.address()).map_err(|message| Error::new(Kind::Connection, message))?;
    let session = super::remote::connect(database, &address::place(database.url.address()), async move {
        let mut raw = options.connect().await.map_err(fault::of)?;
        raw.execute(GREETING).await.map_err(fault::of)?;
        let row = raw.fetch_one("SELECT CONNECTION_ID(), @@max_allowed_packet").await.map_err(fault::of)?;
        let (id, largest) = (row.try_get(0).map_err(fault::of)?, row.try_get::<u64, _>(1).map_err(fault::of)?);
        let largest = usize::try_from(largest).unwrap_or(usize::MAX);
        Ok(Mysql { id, largest, raw, options, is_spent: false, shapes: HashMap::new() })
    })?;
    Ok(Box::new(Remote::new(session, database.max_rows)))
}

struct Mysql {
    raw: MySqlConnection,
    /// The server's number for the connection.
    id: u64,
    /// The bytes that it takes at once, its `max_allowed_packet`. For more it closes the connection, and who still
    /// sends then may never hear why.
    largest: usize,
    options: MySqlConnectOptions,
    /// Whether rows were not read, or the server has closed it.
    is_spent: bool,
    /// The statements that are prepared, with the columns that they had the last time.
    shapes: HashMap<Arc<str>, Option<Rc<Columns>>>,
}

impl Session for Mysql {
    const DIALECT: Dialect = Dialect::Mysql;
    const FAILURE_SPOILS: bool = false;
    const MIGRATES_IN_TRANSACTION: bool = false;
    type Parameters = Parameters;

    fn parameters(values: &mut dyn ExactSizeIterator<Item = &Value<'_>>) -> Result<Parameters, Error> {
        Parameters::of(values)
    }

    async fn query(&mut self, sql: String, parameters: Parameters, bounds: Bounds) -> Result<Rows, Error> {
        self.check_size(parameters.bytes)?;
        let mut results = Results::new(bounds);
        let mut sorts: Option<(Vec<Sort>, Rc<Columns>)> = None;
        let (sql, known) = self.known(sql).await?;
        let mut fresh = None;
        run(&mut self.raw, &mut self.is_spent, sql.clone(), parameters.arguments, |row| {
            let (sorts, columns) = sorts.get_or_insert_with(|| {
                let columns = known.clone().filter(|it| has_columns(it, row));
                let columns = columns.unwrap_or_else(|| fresh.insert(columns_of(row)).clone());
                (row.columns().iter().map(|it| Sort::of(it.type_info())).collect(), columns)
            });
            let Some(builder) = results.next(|| columns.clone())? else { return Ok(()) };
            for (index, sort) in sorts.iter().enumerate() {
                sort.read(row, index, &columns.names()[index], builder)?;
            }
            Ok(())
        })
        .await?;
        if fresh.is_some() {
            self.shapes.insert(sql, fresh);
        }
        Ok(results.finish())
    }

    async fn exec(&mut self, sql: String, parameters: Parameters) -> Result<Executed, Error> {
        self.check_size(parameters.bytes)?;
        let (sql, _) = self.known(sql).await?;
        let done = run(&mut self.raw, &mut self.is_spent, sql, parameters.arguments, |_| Ok(())).await?;
        let id = i64::try_from(done.last_insert_id()).ok().filter(|id| *id != 0);
        Ok(Executed { rows_affected: done.rows_affected(), last_insert_id: id })
    }

    async fn forget(&mut self) -> Result<(), Error> {
        self.shapes.clear();
        self.raw.clear_cached_statements().await.map_err(fault::of)
    }

    async fn command(&mut self, sql: String) -> Result<(), Error> {
        self.check_size(sql.len() + 1)?;
        self.raw.execute(AssertSqlSafe(sql)).await.map(drop).map_err(fault::of)
    }

    fn begin(isolation: Option<Isolation>) -> Vec<String> {
        let level = isolation.map(|it| format!("SET TRANSACTION ISOLATION LEVEL {}", it.sql()));
        level.into_iter().chain(["START TRANSACTION".to_owned()]).collect()
    }

    fn ends_transaction(sql: &str) -> Option<Error> {
        let mut words = keyword::words(sql, Dialect::Mysql);
        let first = words.next()?;
        let mut follows = |these: &[&str]| words.any(|word| these.iter().any(|it| word.eq_ignore_ascii_case(it)));
        let commits = match first.to_ascii_uppercase().as_str() {
            // MariaDB's `ANALYZE SELECT` tells how it runs.
            "ANALYZE" => follows(&["TABLE", "TABLES"]),
            "CREATE" | "DROP" => !follows(&["TEMPORARY"]),
            "LOAD" => follows(&["INDEX"]),
            "SET" => follows(&["AUTOCOMMIT", "PASSWORD"]),
            word => COMMITTING.contains(&word),
        };
        commits.then(|| {
            let message = format!("`{first}` would commit the transaction: MySQL does so by itself");
            Error::new(Kind::Other, message).hint("run it outside of the transaction")
        })
    }

    fn traces(sql: &str) -> Traces {
        let mut words = keyword::words(sql, Dialect::Mysql);
        let Some(first) = words.next() else { return Traces::None };
        let is = |word: &str| first.eq_ignore_ascii_case(word);
        match () {
            // What a procedure begins it may not have ended.
            () if is("CALL") => Traces::Transaction,
            () if is("CREATE") && words.any(|it| it.eq_ignore_ascii_case("TEMPORARY")) => Traces::Session,
            // MariaDB's, for one statement.
            () if is("SET") && words.next().is_some_and(|it| it.eq_ignore_ascii_case("STATEMENT")) => Traces::None,
            () if KEPT.iter().any(|it| is(it)) => Traces::Session,
            () => Traces::None,
        }
    }

    async fn settle(&mut self) -> Result<(), Error> {
        self.command("ROLLBACK".to_owned()).await
    }

    fn lost_transaction(error: &Error) -> bool {
        fault::rolled_back(error)
    }

    async fn lock(&mut self) -> Result<(), Error> {
        let sql = format!("SELECT GET_LOCK('{LOCK}', {LOCK_PATIENCE})");
        let row = self.raw.fetch_one(AssertSqlSafe(sql)).await.map_err(fault::of)?;
        match row.try_get::<Option<i64>, _>(0) {
            Ok(Some(1)) => Ok(()),
            _ => Err(Error::new(Kind::Busy, "another process makes migrations for too long a time")),
        }
    }

    async fn unlock(&mut self) -> Result<(), Error> {
        let sql = format!("DO RELEASE_LOCK('{LOCK}')");
        self.command(sql).await
    }

    fn is_spent(&self) -> bool {
        self.is_spent
    }

    async fn ping(&mut self) -> Result<(), Error> {
        self.raw.ping().await.map_err(fault::of)
    }

    fn canceller(&self) -> Canceller {
        let (options, id) = (self.options.clone(), self.id);
        Rc::new(move || {
            let options = options.clone();
            let end: Pin<Box<dyn Future<Output = ()>>> = Box::pin(async move {
                let Ok(mut other) = options.connect().await else { return };
                // Should it fail, the connection is closed a little later.
                let _ = other.execute(AssertSqlSafe(format!("KILL QUERY {id}"))).await;
                let _ = other.close().await;
            });
            end
        })
    }

    async fn close(self) {
        let _ = self.raw.close().await;
    }
}

impl Mysql {
    fn check_size(&self, bytes: usize) -> Result<(), Error> {
        if bytes < self.largest {
            return Ok(());
        }
        let message = format!(
            "{bytes} bytes are to be sent, but the server takes less than {} (`max_allowed_packet`)",
            self.largest
        );
        Err(Error::new(Kind::Parameters, message).hint("raise it, or send less at a time"))
    }

    /// The statement with the columns that it had the last time. One that is new is prepared next: there is room for
    /// it then.
    async fn known(&mut self, sql: String) -> Result<(Arc<str>, Option<Rc<Columns>>), Error> {
        if let Some((sql, columns)) = self.shapes.get_key_value(&*sql) {
            return Ok((sql.clone(), columns.clone()));
        }
        self.check_size(sql.len() + 1)?;
        if self.shapes.len() >= PREPARED {
            self.forget().await?;
        }
        let sql: Arc<str> = sql.into();
        self.shapes.insert(sql.clone(), None);
        Ok((sql, None))
    }
}

/// Runs a statement by the binary protocol, and gives each row of its first result to `each`; a procedure may give
/// several, of other columns.
async fn run(
    raw: &mut MySqlConnection,
    is_spent: &mut bool,
    sql: Arc<str>,
    parameters: MySqlArguments,
    mut each: impl FnMut(&MySqlRow) -> Result<(), Error>,
) -> Result<MySqlQueryResult, Error> {
    let mut done = MySqlQueryResult::default();
    let (mut results, mut rows) = (0, Stream::default());
    let mut stream = raw.fetch_many(sqlx::query_with(AssertSqlSafe(sql), parameters));
    while let Some(step) = std::future::poll_fn(|context| stream.as_mut().poll_next(context)).await {
        let step = step.map_err(fault::of).inspect_err(|error| *is_spent = fault::ends_session(error))?;
        match step {
            Either::Left(result) => {
                results += 1;
                done.extend([result]);
            }
            Either::Right(row) if results == 0 => *is_spent = !rows.row(|| each(&row)),
            Either::Right(_) => {}
        }
        if *is_spent {
            break;
        }
    }
    rows.end(done)
}

fn has_columns(known: &Columns, row: &MySqlRow) -> bool {
    let columns = row.columns();
    known.names().len() == columns.len()
        && known.names().iter().zip(columns).all(|(name, column)| **name == *column.name())
}

fn columns_of(row: &MySqlRow) -> Rc<Columns> {
    Rc::new(Columns::new(row.columns().iter().map(|it| it.name().into()).collect()))
}
