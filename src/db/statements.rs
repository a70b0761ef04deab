//! The statements of a file of SQL, one after the other: a dump may be larger than the memory. It
//! does not know what they do.

mod binary;
mod body;
mod client;
mod form;

use std::fmt;
use std::io::{self, BufRead};
use std::str;

use memchr::memmem;

use self::binary::Strange;
use self::body::Body;
use super::dialect::{Dialect, Kind as PieceKind, Piece, Pieces, Token, tokens};
use super::error::{Error, Kind};

/// Longest statement in bytes.
const LIMIT: usize = 64 << 20;
/// How many bytes are read at once.
const CHUNK: usize = 64 << 10;

/// The statements of a file.
pub struct Statements<R> {
    reader: R,
    dialect: Dialect,
    /// Longest statement in bytes, and how many are read at once.
    limit: usize,
    chunk: usize,
    /// What ends a statement: `;`, or what MySQL's `DELIMITER` names.
    delimiter: Vec<u8>,
    buffer: Vec<u8>,
    /// What a string that is not UTF-8 is.
    strange: Strange,
    /// The last statement, if its bytes are not its text.
    converted: String,
    /// Where in the buffer that begins which was not given out yet.
    start: usize,
    /// Where in the file that is, in bytes, and in which line.
    offset: u64,
    line: u64,
    is_at_end: bool,
}

/// A statement of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statement<'b> {
    /// From its first word to its last, without what ends it.
    pub text: &'b str,
    /// Where its first word is, in bytes from the begin of the file.
    pub offset: u64,
    /// The line of its first word, from 1.
    pub line: u64,
}

/// What is wrong with a file.
#[derive(Debug, PartialEq)]
pub struct Fault {
    /// The line in question.
    pub line: u64,
    /// What is wrong with it.
    pub error: Error,
}

impl Fault {
    /// The error with the place in front of it.
    pub fn within(self, file: impl fmt::Display) -> Error {
        self.error.within(format_args!("{file}:{}", self.line))
    }
}

impl Statement<'_> {
    /// The database's error, in the line that it is about.
    pub fn fault(&self, error: Error, dialect: Dialect) -> Fault {
        let before = error.position.map_or(0, |it| it.saturating_sub(1)) as usize;
        let before = self.text.chars().take(before).filter(|it| *it == '\n').count() as u64;
        let is_cut = error.kind == Kind::Syntax && dialect == Dialect::Mysql && body::is_cut(self.text);
        Fault { line: self.line + before, error: if is_cut { error.hint(form::DELIMITER) } else { error } }
    }
}

/// Where a statement is in what was read.
struct Found {
    first: usize,
    end: usize,
    next: usize,
}

impl<R: BufRead> Statements<R> {
    /// The statements of what `reader` reads.
    pub fn new(reader: R, dialect: Dialect) -> Statements<R> {
        Statements {
            reader,
            dialect,
            limit: LIMIT,
            chunk: CHUNK,
            delimiter: b";".to_vec(),
            buffer: Vec::new(),
            strange: Strange::Either,
            converted: String::new(),
            start: 0,
            offset: 0,
            line: 1,
            is_at_end: false,
        }
    }

    /// How many bytes the statements that were read take in the file, with what is between them.
    pub fn position(&self) -> u64 {
        self.offset
    }

    /// The next statement; comments and what is empty are passed over.
    ///
    /// # Errors
    /// If the file can't be read or is no text, if a statement has more than 64 MiB, if a quote is
    /// not closed, or at a command that is for the database's own client.
    pub fn read(&mut self) -> Result<Option<Statement<'_>>, Fault> {
        if self.offset == 0 {
            self.fill(form::LONGEST)?;
            let mark = form::look(self.rest()).map_err(|error| Fault { line: 1, error })?;
            self.pass(mark);
        }
        let Some(Found { first, end, next }) = self.find()? else {
            self.pass(self.rest().len());
            return Ok(None);
        };
        let (offset, line) = (self.offset + first as u64, self.line_at(first));
        let range = self.start + first..self.start + end;
        self.pass(next);
        let bytes = &self.buffer[range];
        if self.dialect == Dialect::Mysql {
            self.strange = binary::names(bytes).unwrap_or(self.strange);
        }
        let text = match str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let is_mysql = self.dialect == Dialect::Mysql;
                let converted = is_mysql.then(|| binary::in_hex(bytes, self.strange)).flatten();
                let line = line + lines(&bytes[..error.valid_up_to()]);
                let fault = || Fault { line, error: form::no_utf8(self.dialect) };
                self.converted = converted.ok_or_else(fault)?;
                &self.converted
            }
        };
        Ok(Some(Statement { text, offset, line }))
    }

    fn find(&mut self) -> Result<Option<Found>, Fault> {
        let mut body = Body::new(self.dialect);
        let (mut first, mut before) = (None, None);
        while let Some(piece) = self.piece(before)? {
            before = Some(piece);
            if piece.is_open {
                return Err(self.fault(piece.start, unclosed(piece.kind)));
            }
            if piece.kind == PieceKind::Comment {
                continue;
            }
            let mut end = self.delimiter_in(piece);
            if first.is_none() {
                first = self.first_in(piece, end);
                if let Some(begin) = first
                    && let Some(after) = self.command(begin)?
                {
                    self.pass(after);
                    (first, before) = (None, None);
                    continue;
                }
            }
            match piece.kind {
                PieceKind::Code if body.listens() => {
                    let code = piece.start..end.unwrap_or(piece.end);
                    for (within, token) in tokens(&self.rest()[code]) {
                        if token == Token::Sign(b'\\') && self.dialect == Dialect::Postgres {
                            return Err(self.fault(piece.start + within, self.client_command(piece.start + within)));
                        }
                        body.token(token);
                    }
                }
                PieceKind::Code => {}
                PieceKind::Semicolon => {
                    if !body.semicolon() {
                        end = None;
                    }
                }
                _ => body.other(),
            }
            let Some(end) = end else { continue };
            let next = end + self.delimiter.len();
            let Some(first) = first else {
                self.pass(next);
                (body, before) = (Body::new(self.dialect), None);
                continue;
            };
            return self.found(&body, Found { first, end, next }).map(Some);
        }
        let end = self.rest().len();
        first.map(|first| self.found(&body, Found { first, end, next: end })).transpose()
    }

    fn found(&self, body: &Body, found: Found) -> Result<Found, Fault> {
        if body.copies_in() {
            return Err(self.fault(found.first, form::copy()));
        }
        let text = &self.rest()[found.first..found.end];
        Ok(Found { end: found.first + text.trim_ascii_end().len(), ..found })
    }

    /// The piece that follows another, or the first; whatever may still be unread behind it.
    fn piece(&mut self, before: Option<Piece>) -> Result<Option<Piece>, Fault> {
        let at = before.map_or(0, |it| it.end);
        loop {
            let rest = self.rest();
            let mut pieces = match before {
                Some(before) => Pieces::after(rest, before, self.dialect),
                None => Pieces::new(rest, 0, self.dialect),
            };
            let piece = pieces.next();
            let end = piece.map_or(at, |it| it.end);
            if self.is_at_end || end + self.delimiter.len() <= rest.len() {
                return Ok(piece);
            }
            // At least twice as much of it: else a long one would be looked through again and again.
            self.fill(rest.len() - at)?;
        }
    }

    /// Where in a piece that ends the statement, if what ends it begins there.
    fn delimiter_in(&self, piece: Piece) -> Option<usize> {
        match piece.kind {
            PieceKind::Quoted | PieceKind::Comment => None,
            kind if self.delimiter == b";" => (kind == PieceKind::Semicolon).then_some(piece.start),
            _ => {
                let rest = self.rest();
                let end = (piece.end + self.delimiter.len() - 1).min(rest.len());
                memmem::find(&rest[piece.start..end], &self.delimiter).map(|found| piece.start + found)
            }
        }
    }

    /// Where in a piece the first word or sign is that stands before `end`.
    fn first_in(&self, piece: Piece, end: Option<usize>) -> Option<usize> {
        let code = &self.rest()[piece.start..piece.end];
        let blank = match piece.kind {
            PieceKind::Code => code.iter().position(|byte| !byte.is_ascii_whitespace())?,
            _ => 0,
        };
        Some(piece.start + blank).filter(|first| end.is_none_or(|end| *first < end))
    }

    fn rest(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    fn line_at(&self, at: usize) -> u64 {
        self.line + lines(&self.rest()[..at])
    }

    fn fault(&self, at: usize, error: Error) -> Fault {
        Fault { line: self.line_at(at), error }
    }

    /// Goes on behind the next `length` bytes.
    fn pass(&mut self, length: usize) {
        self.line = self.line_at(length);
        self.offset += length as u64;
        self.start += length;
    }

    /// Reads at least `more` bytes, or what there is.
    fn fill(&mut self, more: usize) -> Result<(), Fault> {
        if self.rest().len() > self.limit {
            let is_first = |it: &Piece| self.first_in(*it, None).filter(|_| it.kind != PieceKind::Comment);
            let first = Pieces::new(self.rest(), 0, self.dialect).find_map(|it| is_first(&it)).unwrap_or(0);
            return Err(self.fault(first, form::too_long(self.limit)));
        }
        self.buffer.drain(..self.start);
        self.start = 0;
        // What a pipe has not written yet is not waited for longer than it must be.
        let enough = (self.buffer.len() + more.max(1)).min(self.limit + self.chunk);
        while self.buffer.len() < enough {
            let read = match self.reader.fill_buf() {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    let line = self.line_at(self.buffer.len());
                    return Err(Fault { line, error: Error::new(Kind::Other, format!("it can't be read: {error}")) });
                }
            };
            if read.is_empty() {
                self.is_at_end = true;
                break;
            }
            let length = read.len().min(self.chunk.max(enough - self.buffer.len()));
            self.buffer.extend_from_slice(&read[..length]);
            self.reader.consume(length);
        }
        Ok(())
    }
}

fn lines(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

fn unclosed(kind: PieceKind) -> Error {
    let what = if kind == PieceKind::Comment { "comment" } else { "string or quoted name" };
    Error::new(Kind::Syntax, format!("the {what} that begins here is not closed"))
}

#[cfg(test)]
mod tests {
    use super::Dialect::{Mysql, Postgres, Sqlite};
    use super::*;

    /// All statements with their lines, read in whole and byte by byte.
    fn split(sql: impl AsRef<[u8]>, dialect: Dialect) -> Result<Vec<(u64, String)>, Fault> {
        let sql = sql.as_ref();
        let read = |chunk: usize| {
            let mut statements = Statements { chunk, ..Statements::new(sql, dialect) };
            let mut found = Vec::new();
            while let Some(statement) = statements.read()? {
                let start = usize::try_from(statement.offset).unwrap();
                assert!(sql[start..].starts_with(statement.text.as_bytes()), "{statement:?}");
                found.push((statement.line, statement.text.to_owned()));
            }
            assert_eq!(statements.position(), sql.len() as u64);
            Ok(found)
        };
        let found = read(CHUNK);
        for chunk in [1, 2, 3, 7] {
            assert_eq!(read(chunk), found, "{} by {chunk}", String::from_utf8_lossy(sql));
        }
        found
    }

    #[track_caller]
    fn assert_split(sql: &str, dialect: Dialect, expected: &[(u64, &str)]) {
        let found = split(sql, dialect).unwrap();
        let found: Vec<_> = found.iter().map(|(line, text)| (*line, text.as_str())).collect();
        assert_eq!(found, expected, "{dialect:?}: {sql}");
    }

    #[test]
    fn a_statement_ends_at_a_semicolon_outside_of_quotes_and_comments() {
        for dialect in Dialect::ALL {
            assert_split("a;b", dialect, &[(1, "a"), (1, "b")]);
            assert_split("\u{feff}a;", dialect, &[(1, "a")]);
            assert_split(" ;; -- c;\n/* ; */;\n\n", dialect, &[]);
            assert_split("", dialect, &[]);
            assert_split("a ';' \";\" 'it''s;' ;\r\nb\r\n ;\r\n", dialect, &[(1, "a ';' \";\" 'it''s;'"), (2, "b")]);
            assert_split(
                "-- a;\n\n/* b;\n */ SELECT 1 -- c;\n + 2;\n 'é'",
                dialect,
                &[(4, "SELECT 1 -- c;\n + 2"), (6, "'é'")],
            );
        }
        assert_split("a `;` [;]", Sqlite, &[(1, "a `;` [;]")]);
        assert_split("a `;` [;]", Mysql, &[(1, "a `;` ["), (1, "]")]);
        assert_split("a '\\';' # ;\n;b", Mysql, &[(1, "a '\\';' # ;"), (2, "b")]);
        assert_split("a E'\\';' $$;$$ $b$ $$; $b$;b", Postgres, &[(1, "a E'\\';' $$;$$ $b$ $$; $b$"), (1, "b")]);
        assert_split("/* /* ; */ ; */ a", Postgres, &[(1, "a")]);
    }

    #[test]
    fn what_is_conditional_is_a_statement_of_mysql_and_nothing_to_others() {
        let sql = "/*M!999999\\- enable the sandbox mode */ \n-- MariaDB\n\n/*!40101 SET NAMES utf8 */;\n\
                   /*!50003 CREATE*/ /*!50020 TABLE a (b INT) COMMENT '*/;' */;\n";
        assert_split(
            sql,
            Mysql,
            &[(4, "/*!40101 SET NAMES utf8 */"), (5, "/*!50003 CREATE*/ /*!50020 TABLE a (b INT) COMMENT '*/;' */")],
        );
        assert_split("/*!40101 SET NAMES utf8 */;\n/*!40101 a */ b;", Sqlite, &[(2, "b")]);
    }

    #[test]
    fn mysqls_delimiter_is_what_its_line_says() {
        let sql = "a;\nDELIMITER ;;\nCREATE TRIGGER a BEGIN b; c; END ;;\ndelimiter ;\nb;\r\nDELIMITER $$\r\nc; $$\n  \
                   Delimiter '//' \nd;'//'//\ne / f//\n";
        assert_split(
            sql,
            Mysql,
            &[(1, "a"), (3, "CREATE TRIGGER a BEGIN b; c; END"), (5, "b"), (7, "c;"), (9, "d;'//'"), (10, "e / f")],
        );
        assert_split("DELIMITERS;\na delimiter ;", Mysql, &[(1, "DELIMITERS"), (2, "a delimiter")]);
        assert_split("DELIMITER //\n//\n//a", Mysql, &[(3, "a")]);
        for sql in ["a;\nDELIMITER\nb", "\nDELIMITER ''", "\ndelimiter \\"] {
            let fault = split(sql, Mysql).unwrap_err();
            assert!(fault.line == 2 && fault.error.message.starts_with("`DELIMITER` has nothing"), "{fault:?}");
        }
        assert_split("DELIMITER //", Sqlite, &[(1, "DELIMITER //")]);
    }

    #[test]
    fn a_body_of_mysqls_without_a_delimiter_gets_one_for_a_hint() {
        for (sql, is_cut) in [
            ("CREATE TRIGGER a BEFORE INSERT ON b FOR EACH ROW BEGIN SET NEW.c = 1; END", true),
            ("create /* a */ definer = me procedure a() begin select 'end'; END;", true),
            ("CREATE TRIGGER a BEFORE INSERT ON b FOR EACH ROW BEGIN SET NEW.c = 1 END", false),
            ("CREATE TABLE begin (a INT", false),
            ("BEGIN; SELECT 1; END", false),
        ] {
            let mut statements = Statements::new(sql.as_bytes(), Mysql);
            let statement = statements.read().unwrap().unwrap();
            let fault = statement.fault(Error::new(Kind::Syntax, "on purpose"), Mysql);
            let expected =
                if is_cut { format!("on purpose\nhint: {}", form::DELIMITER) } else { "on purpose".to_owned() };
            assert_eq!(fault.error.message, expected, "{sql}");
            assert_eq!(statement.fault(Error::new(Kind::Unique, "a"), Mysql).error.message, "a");
            assert_eq!(statement.fault(Error::new(Kind::Syntax, "a"), Sqlite).error.message, "a");
        }
    }

    #[test]
    fn a_trigger_of_sqlites_ends_with_its_end() {
        let trigger = "CREATE TEMP /* a */ TRIGGER a AFTER INSERT ON b BEGIN SELECT CASE 1 WHEN 1 THEN 2 END; \
                       SELECT ';END;'; END";
        assert_split(&format!("{trigger};a;"), Sqlite, &[(1, trigger), (1, "a")]);
        assert_split(trigger, Sqlite, &[(1, trigger)]);
        let explained = format!("EXPLAIN QUERY PLAN {trigger}");
        assert_split(&format!("{explained}\n-- a;\n;b"), Sqlite, &[(1, &format!("{explained}\n-- a;")), (3, "b")]);
        assert_split(
            "CREATE TABLE trigger (a); END; c",
            Sqlite,
            &[(1, "CREATE TABLE trigger (a)"), (1, "END"), (1, "c")],
        );
        assert_split("BEGIN; a; END; b", Sqlite, &[(1, "BEGIN"), (1, "a"), (1, "END"), (1, "b")]);
        assert_split(
            "CREATE TRIGGER a EXECUTE FUNCTION b(); c",
            Postgres,
            &[(1, "CREATE TRIGGER a EXECUTE FUNCTION b()"), (1, "c")],
        );
    }

    #[test]
    fn a_body_of_postgres_is_part_of_its_statement() {
        let atomic =
            "CREATE or REPLACE function a() RETURNS int BEGIN ATOMIC SELECT CASE WHEN 1 THEN 2 END; SELECT 1; END";
        assert_split(&format!("{atomic};\nb"), Postgres, &[(1, atomic), (2, "b")]);
        let dollars = "CREATE FUNCTION a() AS $a$ BEGIN; ' END; $a$ LANGUAGE sql";
        assert_split(&format!("{dollars};b"), Postgres, &[(1, dollars), (1, "b")]);
        let rule = "CREATE RULE a AS ON INSERT TO b DO ALSO (c; d)";
        assert_split(&format!("{rule};e"), Postgres, &[(1, rule), (1, "e")]);
        assert_split(
            "CREATE TABLE \"function\" (a); BEGIN; b; END;",
            Postgres,
            &[(1, "CREATE TABLE \"function\" (a)"), (1, "BEGIN"), (1, "b"), (1, "END")],
        );
    }

    #[test]
    fn what_is_for_psql_alone_is_refused_by_name() {
        assert_split("\\restrict aB1\n\nSET a = 1;\n\\unrestrict aB1\n", Postgres, &[(3, "SET a = 1")]);
        for (sql, line, what) in [
            ("a;\n\\connect b\nc;", 2, "`\\connect` is a command for psql"),
            ("a\n\\gexec", 2, "`\\gexec` is a command for psql"),
            ("\\restricted a", 1, "`\\restricted` is a command for psql"),
            ("\nCOPY a (b, \"c\") FROM stdin;\n1\tit's\n\\.\n", 2, "`COPY … FROM stdin` has data"),
            ("copy a from STDIN WITH (FORMAT csv);\n", 1, "`COPY … FROM stdin` has data"),
        ] {
            let fault = split(sql, Postgres).unwrap_err();
            assert!(fault.line == line && fault.error.message.starts_with(what), "{sql}: {fault:?}");
            assert!(fault.error.message.contains("\nhint: `pg_dump --inserts` writes"), "{fault:?}");
        }
        assert_split(
            "COPY a FROM '/stdin'; COPY a TO stdout; a '\\q'",
            Postgres,
            &[(1, "COPY a FROM '/stdin'"), (1, "COPY a TO stdout"), (1, "a '\\q'")],
        );
    }

    #[test]
    fn what_is_not_closed_is_named_where_it_begins() {
        for (sql, dialect, line, what) in [
            ("a;\nb 'c\nd", Sqlite, 2, "string or quoted name"),
            ("\n\"", Postgres, 2, "string or quoted name"),
            ("\n[a", Sqlite, 2, "string or quoted name"),
            ("\n'\\'", Mysql, 2, "string or quoted name"),
            ("\n$a$ $$ ;", Postgres, 2, "string or quoted name"),
            ("/* /* */\n;", Postgres, 1, "comment"),
            ("a;\n\n/*", Mysql, 3, "comment"),
        ] {
            let fault = split(sql, dialect).unwrap_err();
            assert_eq!(fault.line, line, "{sql}");
            assert_eq!(fault.error.message, format!("the {what} that begins here is not closed"));
        }
    }

    #[test]
    fn what_is_no_text_is_named_with_its_line() {
        for dialect in Dialect::ALL {
            let fault = split(b"a;\n\nb\n'\xff';", dialect).unwrap_err();
            assert!(fault.line == 4 && fault.error.message.starts_with("this is not UTF-8"), "{fault:?}");
            // What is in a comment between statements goes nowhere.
            assert_eq!(split(b"-- \xe9\na;", dialect), Ok(vec![(2, "a".to_owned())]));
        }
        for (bytes, what) in [
            (&b"\xff\xfea\0"[..], "this is UTF-16"),
            (b"\x1f\x8b\x08", "this is compressed"),
            (b"PGDMP\x01", "this is a dump in PostgreSQL's own format"),
            (b"SQLite format 3\0", "this is a database of SQLite"),
        ] {
            let mut statements = Statements::new(bytes, Sqlite);
            let fault = statements.read().unwrap_err();
            assert!(fault.line == 1 && fault.error.message.starts_with(what), "{fault:?}");
        }
    }

    #[test]
    fn a_blob_in_a_dump_of_mysqls_is_no_text_and_loads() {
        let sql = b"a _binary '\xff;';b '\xc3\xa9';SET NAMES utf8;c '\xff';SET NAMES latin1;d '\xff'".as_slice();
        let mut statements = Statements::new(sql, Mysql);
        assert_eq!(statements.read().unwrap().unwrap().text, "a _binary X'FF3B'");
        assert_eq!(statements.read().unwrap().unwrap().text, "b 'é'");
        assert_eq!(statements.read().unwrap().unwrap().text, "SET NAMES utf8");
        assert_eq!(statements.read().unwrap().unwrap().text, "c X'FF'");
        assert_eq!(statements.read().unwrap().unwrap().text, "SET NAMES latin1");
        assert!(statements.read().unwrap_err().error.message.starts_with("this is not UTF-8"));
        assert!(Statements::new(sql, Sqlite).read().is_err());
    }

    #[test]
    fn no_more_than_a_statement_is_held() {
        let limit = 1 << 20;
        let small = "INSERT INTO a VALUES ('it''s');\n".repeat(100_000);
        let mut statements = Statements { limit, ..Statements::new(small.as_bytes(), Mysql) };
        let mut count = 0;
        while statements.read().unwrap().is_some() {
            count += 1;
        }
        assert!(count == 100_000 && statements.buffer.capacity() <= 4 * CHUNK, "{}", statements.buffer.capacity());

        let large = |length: usize| format!("a;\n-- b\n INSERT '{}';c", "x".repeat(length));
        let read = |sql: &str| {
            let mut statements = Statements { limit, ..Statements::new(sql.as_bytes(), Mysql) };
            let mut lengths = Vec::new();
            while let Some(statement) = statements.read()? {
                lengths.push(statement.text.len());
            }
            Ok::<_, Fault>(lengths)
        };
        assert_eq!(read(&large(limit - 100)).unwrap(), [1, limit - 91, 1]);
        let fault = read(&large(limit + CHUNK)).unwrap_err();
        assert!(fault.line == 3 && fault.error.message.contains("is longer than 1 MiB\nhint: "), "{fault:?}");
    }

    #[test]
    fn a_reader_that_fails_is_named() {
        struct Broken;
        impl io::Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("on purpose"))
            }
        }
        let mut statements = Statements::new(io::BufReader::new(Broken), Sqlite);
        assert_eq!(statements.read().unwrap_err().error.message, "it can't be read: on purpose");
    }

    #[test]
    fn a_dump_of_mysqls_is_split_as_it_was_written() {
        let dump = include_str!("../../tests/program/dump.mysql.sql");
        let statements = split(dump, Mysql).unwrap();
        let begins: Vec<&str> = statements.iter().map(|(_, text)| &text[..text.len().min(12)]).collect();
        assert_eq!(
            begins,
            [
                "/*!40101 SET",
                "/*!40014 SET",
                "DROP TABLE I",
                "CREATE TABLE",
                "LOCK TABLES ",
                "/*!40000 ALT",
                "INSERT INTO ",
                "INSERT INTO ",
                "/*!40000 ALT",
                "UNLOCK TABLE",
                "/*!50003 CRE",
                "/*!40101 SET",
                "/*!40014 SET",
            ]
        );
        assert!(statements[10].1.ends_with("END IF;\nEND */"), "{}", statements[10].1);
        assert_eq!(statements[6].0, 34);
    }
}
