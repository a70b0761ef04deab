//! What a statement is, by the keywords that it begins with.

use super::dialect::{Dialect, Kind, Pieces, Token, tokens};
use super::error::{self, Error};

/// What begins or ends a transaction, each with the word that has to follow if the first means other
/// things too.
const TRANSACTION: &[(&str, Option<&str>)] = &[
    ("BEGIN", None),
    ("START", Some("TRANSACTION")),
    ("COMMIT", None),
    ("END", None),
    ("ROLLBACK", None),
    ("ABORT", None),
    ("SAVEPOINT", None),
    ("RELEASE", None),
    ("PREPARE", Some("TRANSACTION")),
    ("XA", None),
];

/// The keyword by which a statement begins or ends a transaction or a part of one: `BEGIN`, `COMMIT`,
/// `SAVEPOINT` and the like. Comments and empty statements before it are passed over.
pub fn transaction_control(sql: &str, dialect: Dialect) -> Option<&'static str> {
    let mut words = words(sql, dialect);
    let first = words.next()?;
    let &(keyword, second) = TRANSACTION.iter().find(|(keyword, _)| first.eq_ignore_ascii_case(keyword))?;
    let is_control = second.is_none_or(|second| words.next().is_some_and(|it| it.eq_ignore_ascii_case(second)));
    is_control.then_some(keyword)
}

/// Refuses a statement that begins or ends a transaction.
///
/// # Errors
/// If it does; the message has the way out.
pub fn refuse_transaction_control(sql: &str, dialect: Dialect) -> Result<(), Error> {
    let Some(keyword) = transaction_control(sql, dialect) else { return Ok(()) };
    let error = Error::new(error::Kind::Other, format!("`{keyword}` begins or ends a transaction"));
    Err(error.hint("use `db::transaction`, which commits or rolls back by itself"))
}

/// The first word of a statement; empty if it begins with something else.
pub fn first_word(sql: &str, dialect: Dialect) -> &str {
    words(sql, dialect).next().unwrap_or_default()
}

/// The words that a statement begins with, up to the first sign, string or quoted name.
pub fn words(sql: &str, dialect: Dialect) -> impl Iterator<Item = &str> {
    Pieces::new(sql.as_bytes(), 0, dialect)
        .filter(|it| !matches!(it.kind, Kind::Comment | Kind::Conditional | Kind::Semicolon))
        .take_while(|it| it.kind == Kind::Code)
        .flat_map(|it| tokens(&sql.as_bytes()[it.start..it.end]).map(move |(at, token)| (it.start + at, token)))
        .map_while(|(at, token)| match token {
            Token::Word(word) => sql.get(at..at + word.len()),
            Token::Sign(_) => None,
        })
}

#[cfg(test)]
mod tests {
    use super::Dialect::{Mysql, Postgres, Sqlite};
    use super::*;

    #[test]
    fn what_begins_or_ends_a_transaction_is_known_by_its_first_word() {
        for (sql, keyword) in [
            ("BEGIN IMMEDIATE", Some("BEGIN")),
            ("commit", Some("COMMIT")),
            ("End Transaction", Some("END")),
            ("START TRANSACTION READ ONLY", Some("START")),
            ("START REPLICA", None),
            ("start /* a */ -- b\n transaction", Some("START")),
            ("ROLLBACK TO a", Some("ROLLBACK")),
            ("ABORT", Some("ABORT")),
            ("SAVEPOINT a", Some("SAVEPOINT")),
            ("RELEASE a", Some("RELEASE")),
            ("PREPARE TRANSACTION 'a'", Some("PREPARE")),
            ("PREPARE a FROM 'SELECT 1'", None),
            ("-- SELECT\n/* a */ ;; COMMIT", Some("COMMIT")),
            ("\u{feff}COMMIT", None),
            ("COMMITTED", None),
            ("SELECT 'BEGIN' AS begin", None),
            ("(COMMIT)", None),
            ("'BEGIN'", None),
            ("", None),
        ] {
            for dialect in Dialect::ALL {
                assert_eq!(transaction_control(sql, dialect), keyword, "{sql}");
            }
        }
        for (sql, mysql, others) in [
            ("/*!40101 COMMIT */", Some("COMMIT"), None),
            ("# a\nCOMMIT", Some("COMMIT"), None),
            ("/*!40101 SET a = 1 */ COMMIT", None, Some("COMMIT")),
        ] {
            assert_eq!(transaction_control(sql, Mysql), mysql, "{sql}");
            assert_eq!(transaction_control(sql, Sqlite), others, "{sql}");
        }
        assert_eq!(transaction_control("/* /* a */ */ COMMIT", Postgres), Some("COMMIT"));
    }

    #[test]
    fn a_first_word_stands_behind_comments() {
        for (sql, word) in [("/* a */ vacuum a", "vacuum"), ("(a)", ""), ("", ""), ("é'a'", "é"), ("a$b\n", "a$b")] {
            assert_eq!(first_word(sql, Sqlite), word);
        }
    }
}
