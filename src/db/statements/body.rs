//! Which semicolons are inside of a statement: those in the body of a trigger or a function.

use crate::db::dialect::{Dialect, Kind, Pieces, Token, tokens};

/// What is known of a statement from its words so far.
pub struct Body {
    dialect: Dialect,
    form: Form,
    /// How many parentheses are open; PostgreSQL's rules have statements between theirs.
    parentheses: usize,
}

enum Form {
    /// Nothing but words that may stand before `CREATE`.
    Opening,
    /// `CREATE`, and what may stand between it and the word that matters.
    Create,
    /// SQLite's `CREATE TRIGGER`, which ends with `; END;` as `sqlite3_complete` has it.
    Trigger { last: Last },
    /// PostgreSQL's `CREATE FUNCTION` or `PROCEDURE`, with so many `BEGIN` and `CASE` open, which is
    /// how psql has it.
    Routine { depth: usize },
    /// PostgreSQL's `COPY`.
    Copy { is_from: bool, is_in: bool },
    /// Any other.
    Plain,
}

/// What a trigger's text ends with so far.
#[derive(PartialEq)]
enum Last {
    Other,
    Semicolon,
    End,
}

impl Body {
    pub fn new(dialect: Dialect) -> Body {
        let form = if dialect == Dialect::Mysql { Form::Plain } else { Form::Opening };
        Body { dialect, form, parentheses: 0 }
    }

    /// Whether the words that follow matter.
    pub fn listens(&self) -> bool {
        self.dialect == Dialect::Postgres || !matches!(self.form, Form::Plain)
    }

    /// Takes in what is no comment.
    pub fn token(&mut self, token: Token<'_>) {
        let is = |words: &[&str]| words.iter().any(|it| token.is(it));
        match token {
            Token::Sign(b'(') => self.parentheses += 1,
            Token::Sign(b')') => self.parentheses = self.parentheses.saturating_sub(1),
            _ => {}
        }
        let is_outside = self.parentheses == 0;
        match (&mut self.form, self.dialect) {
            (Form::Opening, Dialect::Sqlite) if is(&["EXPLAIN", "QUERY", "PLAN"]) => {}
            (Form::Opening, _) if is(&["CREATE"]) => self.form = Form::Create,
            (Form::Opening, Dialect::Postgres) if is(&["COPY"]) => {
                self.form = Form::Copy { is_from: false, is_in: false };
            }
            (Form::Create, Dialect::Sqlite) if is(&["TEMP", "TEMPORARY"]) => {}
            (Form::Create, Dialect::Sqlite) if is(&["TRIGGER"]) => self.form = Form::Trigger { last: Last::Other },
            (Form::Create, Dialect::Postgres) if is(&["OR", "REPLACE"]) => {}
            (Form::Create, Dialect::Postgres) if is(&["FUNCTION", "PROCEDURE"]) => {
                self.form = Form::Routine { depth: 0 };
            }
            (Form::Opening | Form::Create, _) => self.form = Form::Plain,
            (Form::Trigger { last }, _) => {
                *last = if *last == Last::Semicolon && is(&["END"]) { Last::End } else { Last::Other };
            }
            (Form::Routine { depth }, _) if is_outside => {
                if is(&["BEGIN"]) || (*depth > 0 && is(&["CASE"])) {
                    *depth += 1;
                } else if is(&["END"]) {
                    *depth = depth.saturating_sub(1);
                }
            }
            (Form::Copy { is_from, is_in }, _) => {
                *is_in |= *is_from && is(&["STDIN"]);
                *is_from = is(&["FROM"]);
            }
            (Form::Routine { .. } | Form::Plain, _) => {}
        }
    }

    /// Takes in a string, a quoted name, or a placeholder.
    pub fn other(&mut self) {
        self.token(Token::Word(b""));
    }

    /// Takes in a semicolon, and says whether the statement ends with it.
    pub fn semicolon(&mut self) -> bool {
        match &mut self.form {
            Form::Trigger { last } => std::mem::replace(last, Last::Semicolon) == Last::End,
            Form::Routine { depth } => *depth == 0 && self.parentheses == 0,
            _ => self.dialect != Dialect::Postgres || self.parentheses == 0,
        }
    }

    /// Whether the data of a `COPY … FROM stdin` follows the statement.
    pub fn copies_in(&self) -> bool {
        matches!(self.form, Form::Copy { is_in: true, .. })
    }
}

/// Whether a statement of MySQL's begins a body and does not end it: `DELIMITER` was not used.
pub fn is_cut(sql: &str) -> bool {
    let bytes = sql.as_bytes();
    let code = Pieces::new(bytes, 0, Dialect::Mysql).filter(|it| it.kind == Kind::Code);
    let mut tokens = code.flat_map(|it| tokens(&bytes[it.start..it.end])).map(|(_, token)| token);
    const WITH_BODY: &[&str] = &["TRIGGER", "PROCEDURE", "FUNCTION", "EVENT"];
    tokens.next().is_some_and(|it| it.is("CREATE"))
        && tokens.any(|token| WITH_BODY.iter().any(|it| token.is(it)))
        && tokens.any(|it| it.is("BEGIN"))
        && !tokens.any(|it| it.is("END"))
}
