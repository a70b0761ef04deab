//! What may be given in the place of a file of SQL, and what to do about it.

use crate::db::dialect::Dialect;
use crate::db::error::{Error, Kind};

/// UTF-8's, which some editors write.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// How many bytes are looked at.
pub const LONGEST: usize = 16;

/// What other files begin with: what they are, and what to do with them.
const OTHERS: &[(&[u8], &str, &str)] = &[
    (b"\xff\xfe", UTF_16, TO_UTF_8),
    (b"\xfe\xff", UTF_16, TO_UTF_8),
    (b"\x1f\x8b", "this is compressed", "`gzip -dc FILE | rhaid db load -` loads it"),
    (b"(\xb5\x2f\xfd", "this is compressed", "`zstd -dc FILE | rhaid db load -` loads it"),
    (b"BZh", "this is compressed", "`bzip2 -dc FILE | rhaid db load -` loads it"),
    (b"\xfd7zXZ", "this is compressed", "`xz -dc FILE | rhaid db load -` loads it"),
    (b"PK\x03\x04", "this is an archive", "`unzip -p FILE | rhaid db load -` loads what is in it"),
    (b"PGDMP", "this is a dump in PostgreSQL's own format", "`pg_dump --inserts` writes SQL that can be loaded"),
    (
        b"SQLite format 3\0",
        "this is a database of SQLite, not a dump of one",
        "name it in `databases`, or `sqlite3 FILE .dump` writes SQL that can be loaded",
    ),
];

const UTF_16: &str = "this is UTF-16, expected UTF-8";
const TO_UTF_8: &str = "`iconv -f UTF-16 -t UTF-8 FILE | rhaid db load -` loads it";

/// The way out where a body ends at its first semicolon.
pub const DELIMITER: &str =
    "a body `BEGIN … END` needs a line `DELIMITER //` before it, `//` after it, and `DELIMITER ;` then";

/// Looks at the first bytes of a file, and gives the length of the mark that it may begin with.
///
/// # Errors
/// If it is no SQL.
pub fn look(bytes: &[u8]) -> Result<usize, Error> {
    match OTHERS.iter().find(|(begin, _, _)| bytes.starts_with(begin)) {
        Some((_, what, hint)) => Err(Error::new(Kind::Syntax, *what).hint(hint)),
        None => Ok(if bytes.starts_with(MARK) { MARK.len() } else { 0 }),
    }
}

/// The error for what is not UTF-8.
pub fn no_utf8(dialect: Dialect) -> Error {
    let error = Error::new(Kind::Syntax, "this is not UTF-8");
    match dialect {
        Dialect::Mysql => error.hint("`mysqldump --hex-blob --default-character-set=utf8mb4` writes it so"),
        Dialect::Sqlite => error,
        Dialect::Postgres => error.hint("`pg_dump --encoding=UTF8` writes it so"),
    }
}

/// The error for data in psql's form.
pub fn copy() -> Error {
    let message = "`COPY … FROM stdin` has data after it in a form that is for psql alone";
    Error::new(Kind::Syntax, message)
        .hint("`pg_dump --inserts` writes it as SQL; `--rows-per-insert=1000` makes that fast")
}

/// The error for a command of psql's.
pub fn psql(command: &str) -> Error {
    let error = Error::new(Kind::Syntax, format!("`{command}` is a command for psql, and no SQL"));
    error.hint("`pg_dump --inserts` writes SQL alone, if not with `--create`")
}

/// The error for a statement of more than `limit` bytes.
pub fn too_long(limit: usize) -> Error {
    let message = format!("the statement that begins here is longer than {} MiB", limit >> 20);
    Error::new(Kind::Syntax, message)
        .hint("a `;` is missing, or a quote that is not closed; or write fewer rows into one")
}
