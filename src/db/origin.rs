//! Which database a file of SQL was made for, as far as its text shows.

use super::dialect::{Dialect, Kind, Pieces};

/// What stands in the files of each database, and in no other's.
const SIGNS: &[(Dialect, &[&str])] = &[
    (
        Dialect::Mysql,
        &[
            "-- MySQL dump",
            "-- MariaDB dump",
            "phpMyAdmin SQL Dump",
            "/*!",
            "/*M!",
            "ENGINE=",
            "AUTO_INCREMENT",
            "LOCK TABLES",
        ],
    ),
    (
        Dialect::Postgres,
        &["-- PostgreSQL database", "\\restrict ", "pg_catalog.", "OWNER TO ", "SET standard_conforming_strings"],
    ),
    (Dialect::Sqlite, &["PRAGMA foreign_keys", "AUTOINCREMENT", "sqlite_sequence", "WITHOUT ROWID"]),
];

/// How much of a text is looked at, in bytes.
pub const LENGTH: usize = 4096;

/// The database that some text of a file is for, if it is another than `own`.
pub fn other_than(own: Dialect, text: &[u8]) -> Option<Dialect> {
    let text = String::from_utf8_lossy(&text[..text.len().min(LENGTH)]).to_ascii_uppercase();
    let shows = |signs: &[&str]| signs.iter().any(|it| text.contains(&it.to_ascii_uppercase()));
    let (dialect, _) = SIGNS.iter().find(|(_, signs)| shows(signs))?;
    (*dialect != own).then_some(*dialect)
}

/// How a statement begins, in one line, with `?` for its values.
pub fn beginning(sql: &str, dialect: Dialect) -> String {
    const LENGTH: usize = 76;
    let mut out = String::new();
    for piece in Pieces::new(sql.as_bytes(), 0, dialect) {
        let text = &sql[piece.start..piece.end];
        match piece.kind {
            Kind::Comment => out.push(' '),
            Kind::Quoted if is_value(text, dialect) => out.push('?'),
            Kind::Code => code(&mut out, text, LENGTH),
            _ => out.push_str(text),
        }
        if out.len() > LENGTH * 4 {
            break;
        }
    }
    let mut words = out.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = words.char_indices().nth(LENGTH) {
        words.truncate(end);
        words.push('…');
    }
    words
}

fn is_value(quoted: &str, dialect: Dialect) -> bool {
    quoted.starts_with(['\'', '$']) || (dialect == Dialect::Mysql && quoted.starts_with('"'))
}

/// Copies code with `?` for its numbers, until there is more than enough.
fn code(out: &mut String, text: &str, enough: usize) {
    let mut is_number = false;
    let mut before = ' ';
    for character in text.chars().take(enough * 4) {
        let goes_on = before.is_alphanumeric() || before == '_' || before == '$';
        let was_number = is_number;
        is_number = match was_number {
            true => character.is_alphanumeric() || character == '_' || character == '.',
            false => character.is_ascii_digit() && !goes_on,
        };
        match is_number {
            true if !was_number => out.push('?'),
            true => {}
            false => out.push(character),
        }
        before = character;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_shows_whose_it_is() {
        for (text, dialect) in [
            ("-- MySQL dump 10.13\n", Dialect::Mysql),
            ("INSERT INTO `a` VALUES (1);\nUNLOCK TABLES", Dialect::Mysql),
            ("create table a (id int auto_increment) engine=innodb", Dialect::Mysql),
            ("--\n-- PostgreSQL database dump\n--", Dialect::Postgres),
            ("ALTER TABLE public.a OWNER TO me", Dialect::Postgres),
            ("PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;", Dialect::Sqlite),
            ("CREATE TABLE a (id INTEGER PRIMARY KEY AUTOINCREMENT)", Dialect::Sqlite),
        ] {
            for own in Dialect::ALL {
                assert_eq!(other_than(own, text.as_bytes()), (dialect != own).then_some(dialect), "{text}");
            }
        }
        assert_eq!(other_than(Dialect::Sqlite, b"SELECT 1"), None);
    }

    #[test]
    fn a_statement_begins_without_its_values() {
        for (sql, expected) in [
            ("INSERT INTO a1 VALUES\n (1,-2.5, 'a', x'ff')", "INSERT INTO a1 VALUES (?,-?, ?, x?)"),
            ("SELECT /* secret */ a  FROM b", "SELECT a FROM b"),
            ("SELECT .5, 1e9, 0xFF, a.b2, é1", "SELECT .?, ?, ?, a.b2, é1"),
            ("", ""),
        ] {
            for dialect in Dialect::ALL {
                assert_eq!(beginning(sql, dialect), expected);
            }
        }
        assert_eq!(beginning("SELECT \"a\", `b`", Dialect::Mysql), "SELECT ?, `b`");
        assert_eq!(beginning("SELECT \"a\", $$b$$, E'\\''", Dialect::Postgres), "SELECT \"a\", ?, E?");
        let long = format!("INSERT INTO a VALUES {}", "('x'),".repeat(1_000_000));
        let shown = beginning(&long, Dialect::Sqlite);
        assert!(shown.starts_with("INSERT INTO a VALUES (?),(?),") && shown.ends_with('…'), "{shown}");
        assert_eq!(shown.chars().count(), 77);
    }
}
