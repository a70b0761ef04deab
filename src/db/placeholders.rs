//! Where the placeholders of a statement are, how each database writes them, and how a list takes
//! the place of one.

use super::dialect::{self, Dialect, Piece, Pieces, Token, is_word, tokens};
use super::error::{Error, Kind};
use super::value::Value;

/// The positions of all `?` in `sql` that are placeholders: not in strings, quoted names, comments,
/// nor doubled, which stands for an operator `?`.
pub fn find(sql: &str, dialect: Dialect) -> impl Iterator<Item = usize> {
    let is_placeholder = |piece: &Piece| piece.kind == dialect::Kind::Placeholder;
    Pieces::new(sql.as_bytes(), 0, dialect).filter(is_placeholder).map(|piece| piece.start)
}

/// The statement as its database takes it, with as many placeholders as a list has items in the place
/// of the list's own; and the parameters, with the items in the place of the list. An empty list finds
/// nothing with `IN (?)`, and everything with `NOT IN (?)`; elsewhere it is NULL. PostgreSQL numbers its
/// placeholders, and knows an operator `?`.
///
/// # Errors
/// If there are more or fewer parameters than placeholders, a list in a list, or a placeholder of
/// another form.
pub fn expand<'v, 'a>(
    sql: &str,
    parameters: &'v [Value<'a>],
    dialect: Dialect,
) -> Result<(String, Vec<&'v Value<'a>>), Error> {
    let mut text = Text::new(sql, dialect);
    let mut flat = Vec::with_capacity(parameters.len());
    let mut given = parameters.iter();
    let mut count = 0;
    let mut before = Before::Other;
    for piece in Pieces::new(sql.as_bytes(), 0, dialect) {
        text.copy(piece)?;
        if piece.kind != dialect::Kind::Placeholder {
            before = before.after(sql.as_bytes(), piece);
            continue;
        }
        count += 1;
        match given.next() {
            Some(Value::List(items)) if items.is_empty() => text.nothing(piece, before),
            Some(Value::List(items)) => {
                for (index, item) in items.iter().enumerate() {
                    if matches!(item, Value::List(_)) {
                        return Err(Error::new(Kind::Parameters, "a list in the parameters holds another list"));
                    }
                    text.out.push_str(if index == 0 { "" } else { ", " });
                    text.placeholder(piece)?;
                    flat.push(item);
                }
            }
            Some(parameter) => {
                text.placeholder(piece)?;
                flat.push(parameter);
            }
            // How many there are is seen at the end.
            None => {}
        }
        before = Before::Other;
    }
    same_number(count, parameters.len())?;
    Ok((text.finish(), flat))
}

/// PostgreSQL's statement with what `replacement` gives for its placeholder of a number, if it does.
pub fn rewrite_numbered(sql: &str, mut replacement: impl FnMut(usize) -> Option<String>) -> String {
    let mut out = String::with_capacity(sql.len() + 64);
    for piece in Pieces::new(sql.as_bytes(), 0, Dialect::Postgres) {
        let text = &sql[piece.start..piece.end];
        let number = (piece.kind == dialect::Kind::Numbered).then(|| text[1..].parse().ok()).flatten();
        match number.and_then(&mut replacement) {
            Some(replaced) => out.push_str(&replaced),
            None => out.push_str(text),
        }
    }
    out
}

/// # Errors
/// If `given` parameters are not what a statement with so many placeholders needs.
pub fn same_number(placeholders: usize, given: usize) -> Result<(), Error> {
    if placeholders == given {
        return Ok(());
    }
    let counted = |number: usize, noun: &str| match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    };
    let verb = if given == 1 { "was" } else { "were" };
    Err(Error::new(
        Kind::Parameters,
        format!(
            "the statement has {}, but {} {verb} given",
            counted(placeholders, "placeholder"),
            counted(given, "parameter")
        ),
    ))
}

/// The error for placeholders that are no `?`.
pub fn other_form() -> Error {
    let error = Error::new(Kind::Parameters, "the statement has a numbered or named placeholder");
    error.hint("placeholders are `?`, one for each parameter, in order")
}

/// A statement on its way to the database.
struct Text<'s> {
    sql: &'s str,
    dialect: Dialect,
    out: String,
    /// How many placeholders it has so far.
    count: usize,
    /// What is to be written after the parenthesis at a place.
    later: Option<(usize, &'static str)>,
}

impl<'s> Text<'s> {
    fn new(sql: &'s str, dialect: Dialect) -> Text<'s> {
        Text { sql, dialect, out: String::with_capacity(sql.len() + 64), count: 0, later: None }
    }

    /// Copies what is no placeholder.
    fn copy(&mut self, piece: Piece) -> Result<(), Error> {
        match (piece.kind, self.dialect) {
            (dialect::Kind::Placeholder, _) => {}
            (dialect::Kind::Numbered, _) => return Err(other_form()),
            (dialect::Kind::Question, Dialect::Postgres) => self.out.push('?'),
            _ => {
                let mut start = piece.start;
                if let Some((close, words)) = self.later.take_if(|(close, _)| *close < piece.end) {
                    self.out.push_str(&self.sql[start..=close]);
                    self.out.push_str(words);
                    start = close + 1;
                }
                self.out.push_str(&self.sql[start..piece.end]);
            }
        }
        Ok(())
    }

    /// Writes one for the placeholder that is `piece`.
    fn placeholder(&mut self, piece: Piece) -> Result<(), Error> {
        if self.dialect != Dialect::Postgres {
            self.out.push('?');
            return Ok(());
        }
        let bytes = self.sql.as_bytes();
        let after = bytes.get(piece.end).copied().unwrap_or(b' ');
        if after.is_ascii_digit() {
            return Err(other_form());
        }
        // In `LIMIT?` the number would become part of the name, and in `?AS` the name part of it.
        if self.out.as_bytes().last().is_some_and(|it| is_word(*it)) {
            self.out.push(' ');
        }
        self.count += 1;
        self.out.push('$');
        self.out.push_str(&self.count.to_string());
        if is_word(after) {
            self.out.push(' ');
        }
        Ok(())
    }

    /// Writes what stands for an empty list. SQLite takes `IN ()`; to the others this is a mistake,
    /// and `x IN (NULL)` is always unknown.
    fn nothing(&mut self, piece: Piece, before: Before) {
        let close = closing(self.sql.as_bytes(), piece.end, self.dialect);
        let (Before::Open { negated }, Some(close)) = (before, close) else {
            let spaced = self.out.as_bytes().last().is_some_and(|it| is_word(*it));
            self.out.push_str(if spaced { " NULL" } else { "NULL" });
            return;
        };
        if self.dialect != Dialect::Sqlite {
            self.out.push_str("NULL");
            self.later = Some((close, if negated { " IS NULL" } else { " IS NOT NULL" }));
        }
    }

    fn finish(self) -> String {
        self.out
    }
}

/// What stands before a place, as far as it matters to a list there.
#[derive(Clone, Copy)]
enum Before {
    Other,
    Not,
    In { negated: bool },
    Open { negated: bool },
}

impl Before {
    fn after(self, sql: &[u8], piece: Piece) -> Before {
        match piece.kind {
            dialect::Kind::Comment => self,
            dialect::Kind::Code => tokens(&sql[piece.start..piece.end]).fold(self, |before, (_, token)| match before {
                Before::In { negated } if token == Token::Sign(b'(') => Before::Open { negated },
                Before::Not if token.is("IN") => Before::In { negated: true },
                _ if token.is("IN") => Before::In { negated: false },
                _ if token.is("NOT") => Before::Not,
                _ => Before::Other,
            }),
            _ => Before::Other,
        }
    }
}

/// Where the parenthesis is that comes next, but for space and comments.
fn closing(sql: &[u8], from: usize, dialect: Dialect) -> Option<usize> {
    let mut pieces = Pieces::new(sql, from, dialect).filter(|it| it.kind != dialect::Kind::Comment);
    let (at, token) = pieces.find_map(|piece| match piece.kind {
        dialect::Kind::Code => tokens(&sql[piece.start..piece.end]).next().map(|(at, token)| (piece.start + at, token)),
        _ => Some((piece.start, Token::Sign(0))),
    })?;
    (token == Token::Sign(b')')).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::Dialect::{Mysql, Postgres, Sqlite};
    use super::*;

    #[test]
    fn placeholders_are_not_looked_for_in_strings_names_and_comments() {
        for (sql, places) in [
            ("SELECT ?, ?", vec![7, 10]),
            ("SELECT '?', 'it''s ?', ?", vec![23]),
            ("SELECT \"a?\", ?", vec![13]),
            ("SELECT 1 -- ?\n + ?", vec![17]),
            ("SELECT /* ? -- ' */ ?", vec![20]),
            ("SELECT 1 - ? / ?", vec![11, 15]),
            ("SELECT a ?? b, ?", vec![15]),
            ("SELECT ???", vec![9]),
            ("SELECT 'open ?", vec![]),
            ("SELECT 1 /* ?", vec![]),
            ("SELECT 'é', ?", vec![13]),
            ("", vec![]),
        ] {
            for dialect in Dialect::ALL {
                assert_eq!(find(sql, dialect).collect::<Vec<_>>(), places, "{sql}");
            }
        }
        let places = |dialect| find("SELECT `b?`, [c?], $$ ? $$, # ?\n'\\' ?'", dialect).collect::<Vec<_>>();
        assert_eq!(places(Sqlite), [22, 30, 36]);
        assert_eq!(places(Mysql), [15, 22]);
        assert_eq!(places(Postgres), [9, 15, 30, 36]);
    }

    #[test]
    fn postgres_has_numbers_and_the_others_their_text() {
        for (sql, expected) in [
            ("SELECT ?, '?', ?", "SELECT $1, '?', $2"),
            ("a ?? b ??| c @?? ? ??& ?", "a ? b ?| c @? $1 ?& $2"),
            ("LIMIT?OFFSET ?", "LIMIT $1 OFFSET $2"),
            ("(?)::int[] /* ? */", "($1)::int[] /* ? */"),
            ("SELECT a$1, $$ ? $1 $$", "SELECT a$1, $$ ? $1 $$"),
            ("SELECT 1", "SELECT 1"),
        ] {
            let given = vec![Value::Null; find(sql, Postgres).count()];
            assert_eq!(expand(sql, &given, Postgres).unwrap().0, expected);
            let given = vec![Value::Null; find(sql, Sqlite).count()];
            assert_eq!(expand(sql, &given, Sqlite).unwrap().0, sql);
        }
        for sql in ["SELECT $1", "SELECT ?, $1", "SELECT ?1"] {
            let error = expand(sql, &[Value::Null, Value::Null], Postgres).unwrap_err();
            assert!(error.message.starts_with("the statement has a numbered or named placeholder"), "{error}");
        }
    }

    #[test]
    fn a_number_of_postgres_is_rewritten_outside_of_quotes_alone() {
        let cast = |number| (number != 2).then(|| format!("${number}::text::uuid"));
        let sql = "a = $1 AND b = $2 AND c IN ($10, '$1') -- $1";
        let expected = "a = $1::text::uuid AND b = $2 AND c IN ($10::text::uuid, '$1') -- $1";
        assert_eq!(rewrite_numbered(sql, cast), expected);
    }

    #[test]
    fn a_list_takes_the_place_of_its_placeholder() {
        let list = [Value::Int(1), Value::List(vec![Value::Int(2), Value::Int(3)]), Value::Int(4)];
        for (dialect, expected) in [
            (Sqlite, "a = ? AND b IN (?, ?) AND c ?? ? AND d = '?'"),
            (Mysql, "a = ? AND b IN (?, ?) AND c ?? ? AND d = '?'"),
            (Postgres, "a = $1 AND b IN ($2, $3) AND c ? $4 AND d = '?'"),
        ] {
            let (sql, flat) = expand("a = ? AND b IN (?) AND c ?? ? AND d = '?'", &list, dialect).unwrap();
            assert_eq!(sql, expected);
            assert_eq!(flat, [&Value::Int(1), &Value::Int(2), &Value::Int(3), &Value::Int(4)]);
            let nested = [Value::List(vec![Value::List(vec![])])];
            assert_eq!(expand("?", &nested, dialect).unwrap_err().kind, Kind::Parameters);
        }
    }

    #[test]
    fn an_empty_list_finds_nothing_and_all_that_is_not_in_it() {
        for (sql, sqlite, others) in [
            ("a IN (?)", "a IN ()", "a IN (NULL) IS NOT NULL"),
            ("a NOT IN (?)", "a NOT IN ()", "a NOT IN (NULL) IS NULL"),
            (
                "a not\n In/* IN */( ? -- )\n ) AND 1",
                "a not\n In/* IN */(  -- )\n ) AND 1",
                "a not\n In/* IN */( NULL -- )\n ) IS NULL AND 1",
            ),
            ("NOT a IN (?)", "NOT a IN ()", "NOT a IN (NULL) IS NOT NULL"),
            ("(a IN (?)) = 1", "(a IN ()) = 1", "(a IN (NULL) IS NOT NULL) = 1"),
            ("a IN (?) AND b NOT IN (?)", "a IN () AND b NOT IN (?, ?)", "a IN (NULL) IS NOT NULL AND b NOT IN (?, ?)"),
            ("a IN (1, ?)", "a IN (1, NULL)", "a IN (1, NULL)"),
            ("a IN (?, 1)", "a IN (NULL, 1)", "a IN (NULL, 1)"),
            ("f(?)", "f(NULL)", "f(NULL)"),
            ("LIMIT?", "LIMIT NULL", "LIMIT NULL"),
            ("\"in\" (?)", "\"in\" (NULL)", "\"in\" (NULL)"),
            ("inn (?)", "inn (NULL)", "inn (NULL)"),
            ("a IN (?", "a IN (NULL", "a IN (NULL"),
            ("a IN ((?))", "a IN ((NULL))", "a IN ((NULL))"),
        ] {
            let two = [Value::List(vec![]), Value::List(vec![Value::Null, Value::Null])];
            let given = &two[..find(sql, Sqlite).count()];
            assert_eq!(expand(sql, given, Sqlite).unwrap().0, sqlite);
            assert_eq!(expand(sql, given, Mysql).unwrap().0, others);
            let numbered = others.replacen('?', "$1", 1).replacen('?', "$2", 1);
            assert_eq!(expand(sql, given, Postgres).unwrap().0, numbered);
        }
    }

    #[test]
    fn a_wrong_number_of_parameters_is_said_in_both_numbers() {
        for dialect in Dialect::ALL {
            let error = expand("IN (?) = ?", &[Value::List(vec![])], dialect).unwrap_err();
            assert_eq!(error.message, "the statement has 2 placeholders, but 1 parameter was given");
            let error = expand("?", &[Value::Null, Value::Null], dialect).unwrap_err();
            assert_eq!(error.message, "the statement has 1 placeholder, but 2 parameters were given");
        }
        let error = same_number(1, 0).unwrap_err();
        assert_eq!(error.message, "the statement has 1 placeholder, but 0 parameters were given");
    }
}
