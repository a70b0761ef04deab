//! How the text of SQL is read by each database: where its strings, quoted names and comments end.
//! It knows nothing of what the words between them mean.

use memchr::memmem;

/// Whose SQL a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite's.
    Sqlite,
    /// MySQL's and MariaDB's.
    Mysql,
    /// PostgreSQL's.
    Postgres,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Dialect; 3] = [Dialect::Sqlite, Dialect::Mysql, Dialect::Postgres];

    /// The database's name for whoever reads it.
    pub fn title(self) -> &'static str {
        match self {
            Dialect::Sqlite => "SQLite",
            Dialect::Mysql => "MySQL",
            Dialect::Postgres => "PostgreSQL",
        }
    }

    /// The bytes that what is no plain code may begin with.
    fn openings(self) -> &'static [bool; 256] {
        const SQLITE: [bool; 256] = table(b"'\"-/?;`[");
        const MYSQL: [bool; 256] = table(b"'\"-/?;`#");
        const POSTGRES: [bool; 256] = table(b"'\"-/?;$");
        match self {
            Dialect::Sqlite => &SQLITE,
            Dialect::Mysql => &MYSQL,
            Dialect::Postgres => &POSTGRES,
        }
    }
}

const fn table(bytes: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut at = 0;
    while at < bytes.len() {
        table[bytes[at] as usize] = true;
        at += 1;
    }
    table
}

/// What a piece of a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Words, numbers, operators and the space between them; no word goes on in the next piece.
    Code,
    /// A string or a quoted name.
    Quoted,
    /// A comment; a line's with its end.
    Comment,
    /// What opens one of MySQL's comments that are code to it, `/*!40101`; the `*/` is code.
    Conditional,
    /// `?`.
    Placeholder,
    /// `??`, which stands for an operator `?`.
    Question,
    /// PostgreSQL's own `$1`.
    Numbered,
    /// `;`.
    Semicolon,
}

/// A piece of a text, from its first byte to before its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// What it is.
    pub kind: Kind,
    /// Where it begins.
    pub start: usize,
    /// Where the next one begins.
    pub end: usize,
    /// Whether the text ends before what was opened is closed.
    pub is_open: bool,
}

/// The pieces of a text, which together are the text.
pub struct Pieces<'t> {
    text: &'t [u8],
    dialect: Dialect,
    at: usize,
    /// Where the code begins that ends at `at`: what opens there may begin with a word, as `E'…'`.
    code: usize,
}

impl<'t> Pieces<'t> {
    /// Those of `text` from `at` on, where a piece begins.
    pub fn new(text: &'t [u8], at: usize, dialect: Dialect) -> Pieces<'t> {
        Pieces { text, dialect, at, code: at }
    }

    /// Those that follow `piece`.
    pub fn after(text: &'t [u8], piece: Piece, dialect: Dialect) -> Pieces<'t> {
        let code = if piece.kind == Kind::Code { piece.start } else { piece.end };
        Pieces { text, dialect, at: piece.end, code }
    }
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let start = self.at;
        let openings = self.dialect.openings();
        // More than three bytes are of interest, which is more than `memchr` looks for at once.
        while let Some(plain) = self.text[self.at..].iter().position(|byte| openings[usize::from(*byte)]) {
            let at = self.at + plain;
            let Some(opening) = opening(self.text, self.code, at, self.dialect) else {
                self.at = at + 1;
                continue;
            };
            if at > start {
                (self.code, self.at) = (start, at);
                return Some(Piece { kind: Kind::Code, start, end: at, is_open: false });
            }
            let (kind, end) = close(self.text, at, opening);
            self.at = end.unwrap_or(self.text.len());
            self.code = self.at;
            return Some(Piece { kind, start, end: self.at, is_open: end.is_none() });
        }
        self.at = self.text.len();
        (self.at > start).then_some(Piece { kind: Kind::Code, start, end: self.at, is_open: false })
    }
}

/// What begins where no plain code goes on, and how it ends.
enum Opening {
    /// It ends at the next such byte that is not doubled.
    Quote(u8),
    /// The same, but after a backslash any byte is one of it.
    Escaped(u8),
    /// PostgreSQL's `E'…'`, which goes on in a string on another line.
    Continued,
    /// `[…]`.
    Bracket,
    /// It ends with what it begins with, which has this length: `$tag$`.
    Dollar(usize),
    /// It ends with the line.
    Line,
    /// `/* … */`.
    Block,
    /// `/* /* … */ */`.
    Nested,
    /// It has this length.
    Short(Kind, usize),
}

/// What opens at `at`, behind code that begins at `code`.
fn opening(text: &[u8], code: usize, at: usize, dialect: Dialect) -> Option<Opening> {
    use Dialect::{Mysql, Postgres, Sqlite};
    let next = text.get(at + 1).copied();
    Some(match (text[at], dialect) {
        (b'\'', Postgres) if is_escape_string(&text[code..at]) => Opening::Continued,
        (quote @ (b'\'' | b'"'), Mysql) => Opening::Escaped(quote),
        (quote @ (b'\'' | b'"' | b'`'), _) => Opening::Quote(quote),
        (b'[', Sqlite) => Opening::Bracket,
        (b'#', Mysql) => Opening::Line,
        // To MySQL `1--1` is a difference.
        (b'-', Mysql) if next == Some(b'-') && text.get(at + 2).is_none_or(|it| *it <= b' ') => Opening::Line,
        (b'-', Sqlite | Postgres) if next == Some(b'-') => Opening::Line,
        (b'/', Mysql) if next == Some(b'*') => conditional(&text[at..]).unwrap_or(Opening::Block),
        (b'/', Postgres) if next == Some(b'*') => Opening::Nested,
        (b'/', Sqlite) if next == Some(b'*') => Opening::Block,
        (b'?', _) if next == Some(b'?') => Opening::Short(Kind::Question, 2),
        (b'?', _) => Opening::Short(Kind::Placeholder, 1),
        (b';', _) => Opening::Short(Kind::Semicolon, 1),
        (b'$', Postgres) if !text[code..at].last().is_some_and(|it| is_word(*it)) => dollar(&text[at..])?,
        _ => return None,
    })
}

/// Whether what stands before a quote makes it the begin of PostgreSQL's `E'…'`.
fn is_escape_string(before: &[u8]) -> bool {
    matches!(before, [.., b'e' | b'E']) && !before[..before.len() - 1].last().is_some_and(|it| is_word(*it))
}

/// MySQL's comment that is code to it, and MariaDB's `/*M!`. The version 999999 is none that will be:
/// MariaDB's dumps begin with a comment of it that is for their client alone.
fn conditional(text: &[u8]) -> Option<Opening> {
    let rest = text.strip_prefix(b"/*!").or_else(|| text.strip_prefix(b"/*M!"))?;
    let digits = rest.iter().take(6).take_while(|byte| byte.is_ascii_digit()).count();
    let is_never = &rest[..digits] == b"999999";
    (!is_never).then_some(Opening::Short(Kind::Conditional, text.len() - rest.len() + digits))
}

/// PostgreSQL's `$1`, or what opens its `$tag$ … $tag$`.
fn dollar(text: &[u8]) -> Option<Opening> {
    let length = text[1..].iter().take_while(|byte| is_word(**byte) && **byte != b'$').count();
    if text.get(1).is_some_and(u8::is_ascii_digit) {
        return Some(Opening::Short(Kind::Numbered, 1 + length));
    }
    (text.get(1 + length) == Some(&b'$')).then_some(Opening::Dollar(length + 2))
}

/// What it is, and the byte after its end if it has one.
fn close(text: &[u8], at: usize, opening: Opening) -> (Kind, Option<usize>) {
    match opening {
        Opening::Quote(quote) => (Kind::Quoted, quoted(text, at + 1, quote)),
        Opening::Escaped(quote) => (Kind::Quoted, escaped(text, at + 1, quote)),
        Opening::Continued => (Kind::Quoted, continued(text, at + 1)),
        Opening::Bracket => (Kind::Quoted, after(text, at + 1, b"]")),
        Opening::Dollar(length) => (Kind::Quoted, after(text, at + length, &text[at..at + length])),
        Opening::Line => (Kind::Comment, Some(after(text, at, b"\n").unwrap_or(text.len()))),
        Opening::Block => (Kind::Comment, after(text, at + 2, b"*/")),
        Opening::Nested => (Kind::Comment, nested(text, at + 2)),
        Opening::Short(kind, length) => (kind, Some(at + length)),
    }
}

fn after(text: &[u8], from: usize, end: &[u8]) -> Option<usize> {
    memmem::find(&text[from..], end).map(|found| from + found + end.len())
}

fn quoted(text: &[u8], mut at: usize, quote: u8) -> Option<usize> {
    loop {
        at += memchr::memchr(quote, &text[at..])? + 1;
        if text.get(at) != Some(&quote) {
            return Some(at);
        }
        at += 1;
    }
}

fn escaped(text: &[u8], mut at: usize, quote: u8) -> Option<usize> {
    loop {
        let found = at + memchr::memchr2(quote, b'\\', &text[at..])?;
        if text[found] == quote && text.get(found + 1) != Some(&quote) {
            return Some(found + 1);
        }
        // A backslash may be the last byte.
        at = (found + 2).min(text.len());
    }
}

/// Strings with nothing but a line's end between them are one, and its escapes are those of the first.
fn continued(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at = escaped(text, at, b'\'')?;
        let blank = text[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        if text.get(at + blank) != Some(&b'\'') || memchr::memchr(b'\n', &text[at..at + blank]).is_none() {
            // At the end of what was read so far it is not known yet.
            return Some(if at + blank == text.len() { text.len() } else { at });
        }
        at += blank + 1;
    }
}

fn nested(text: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 1;
    while depth > 0 {
        at += memchr::memchr2(b'*', b'/', &text[at..])?;
        match text.get(at..at + 2)? {
            b"*/" => (depth, at) = (depth - 1, at + 2),
            b"/*" => (depth, at) = (depth + 1, at + 2),
            _ => at += 1,
        }
    }
    Some(at)
}

/// A word or another sign of a piece of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'t> {
    /// A keyword, a name, a number.
    Word(&'t [u8]),
    /// One byte of an operator, or a parenthesis.
    Sign(u8),
}

impl Token<'_> {
    /// Whether it is this keyword, in any case of its letters.
    pub fn is(&self, keyword: &str) -> bool {
        matches!(self, Token::Word(word) if word.eq_ignore_ascii_case(keyword.as_bytes()))
    }
}

/// The tokens of a piece of code, and where in it they begin.
pub fn tokens(code: &[u8]) -> impl Iterator<Item = (usize, Token<'_>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        at += code[at..].iter().position(|byte| !byte.is_ascii_whitespace())?;
        let start = at;
        let length = code[at..].iter().take_while(|byte| is_word(**byte)).count();
        at += length.max(1);
        Some((start, if length == 0 { Token::Sign(code[start]) } else { Token::Word(&code[start..at]) }))
    })
}

/// Whether a byte is part of a name, as everything beyond ASCII is.
pub fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::Dialect::{Mysql, Postgres, Sqlite};
    use super::*;

    /// The pieces that are no code, each after a letter for what it is.
    fn pieces(sql: &str, dialect: Dialect) -> Vec<String> {
        let mut end = 0;
        let mut found = Vec::new();
        for piece in Pieces::new(sql.as_bytes(), 0, dialect) {
            assert!(piece.start == end && piece.end > end, "{sql}: {piece:?}");
            end = piece.end;
            let letter = match piece.kind {
                Kind::Code => continue,
                Kind::Quoted => 'q',
                Kind::Comment => 'c',
                Kind::Conditional => '!',
                Kind::Placeholder | Kind::Question => '?',
                Kind::Numbered => '$',
                Kind::Semicolon => ';',
            };
            let open = if piece.is_open { "…" } else { "" };
            found.push(format!("{letter}{}{open}", &sql[piece.start..piece.end]));
        }
        assert_eq!(end, sql.len(), "{sql}");
        found
    }

    #[test]
    fn each_database_has_its_own_quotes_and_comments() {
        for (sql, sqlite, mysql, postgres) in [
            ("a 'b''c?' d", &["q'b''c?'"][..], &["q'b''c?'"][..], &["q'b''c?'"][..]),
            (r"'\' ? '", &[r"q'\'", "??", "q'…"], &[r"q'\' ? '"], &[r"q'\'", "??", "q'…"]),
            (r"E'\' ?'", &[r"q'\'", "??", "q'…"], &[r"q'\' ?'"], &[r"q'\' ?'"]),
            (r"name'\'?", &[r"q'\'", "??"], &[r"q'\'?…"], &[r"q'\'", "??"]),
            ("E'a'\n '\\'?'", &["q'a'", "q'\\'", "??", "q'…"], &["q'a'", "q'\\'?'"], &["q'a'\n '\\'?'"]),
            ("E'a' '\\'", &["q'a'", "q'\\'"], &["q'a'", "q'\\'…"], &["q'a'", "q'\\'"]),
            (r#""a"" ?""#, &[r#"q"a"" ?""#], &[r#"q"a"" ?""#], &[r#"q"a"" ?""#]),
            (r#""a\" ?""#, &[r#"q"a\""#, "??", "q\"…"], &[r#"q"a\" ?""#], &[r#"q"a\""#, "??", "q\"…"]),
            (r"`a\` ?", &[r"q`a\`", "??"], &[r"q`a\`", "??"], &["??"]),
            ("a[?] = ?", &["q[?]", "??"], &["??", "??"], &["??", "??"]),
            ("1--?\n+?", &["c--?\n", "??"], &["??", "??"], &["c--?\n", "??"]),
            ("1 -- ?\r\n+?", &["c-- ?\r\n", "??"], &["c-- ?\r\n", "??"], &["c-- ?\r\n", "??"]),
            ("--", &["c--"], &["c--"], &["c--"]),
            ("a #?\n?", &["??", "??"], &["c#?\n", "??"], &["??", "??"]),
            ("/* ' ? */?", &["c/* ' ? */", "??"], &["c/* ' ? */", "??"], &["c/* ' ? */", "??"]),
            ("/*/ ? */?", &["c/*/ ? */", "??"], &["c/*/ ? */", "??"], &["c/*/ ? */", "??"]),
            ("/*a/*b*/?*/?", &["c/*a/*b*/", "??", "??"], &["c/*a/*b*/", "??", "??"], &["c/*a/*b*/?*/", "??"]),
            ("/*/*a*/?", &["c/*/*a*/", "??"], &["c/*/*a*/", "??"], &["c/*/*a*/?…"]),
            (
                "/*!40101 ? '*/' */?",
                &["c/*!40101 ? '*/", "q' */?…"],
                &["!/*!40101", "??", "q'*/'", "??"],
                &["c/*!40101 ? '*/", "q' */?…"],
            ),
            ("/*M!100616 ? */", &["c/*M!100616 ? */"], &["!/*M!100616", "??"], &["c/*M!100616 ? */"]),
            ("/*!? */", &["c/*!? */"], &["!/*!", "??"], &["c/*!? */"]),
            (
                "/*M!999999\\- it's */",
                &["c/*M!999999\\- it's */"],
                &["c/*M!999999\\- it's */"],
                &["c/*M!999999\\- it's */"],
            ),
            ("/*+ ? */?", &["c/*+ ? */", "??"], &["c/*+ ? */", "??"], &["c/*+ ? */", "??"]),
            ("$$ ' ? $$?", &["q' ? $$?…"], &["q' ? $$?…"], &["q$$ ' ? $$", "??"]),
            ("$é$ $$ $e$ ? $é$", &["??"], &["??"], &["q$é$ $$ $e$ ? $é$"]),
            ("a$b$ ? $b$", &["??"], &["??"], &["??", "q$b$…"]),
            (
                "$$a$$$$ ? $$e'\\' ?'",
                &["??", "q'\\'", "??", "q'…"],
                &["??", "q'\\' ?'"],
                &["q$$a$$", "q$$ ? $$", "q'\\' ?'"],
            ),
            ("$1a $12, a$1", &[], &[], &["$$1a", "$$12"]),
            ("$a ? $", &["??"], &["??"], &["??"]),
            (
                "a ?? b ??| ?, ???",
                &["???", "???", "??", "???", "??"],
                &["???", "???", "??", "???", "??"],
                &["???", "???", "??", "???", "??"],
            ),
            ("'é';?", &["q'é'", ";;", "??"], &["q'é'", ";;", "??"], &["q'é'", ";;", "??"]),
            ("1 - ? / ? * $ #", &["??", "??"], &["??", "??", "c#"], &["??", "??"]),
            ("'\\", &["q'\\…"], &["q'\\…"], &["q'\\…"]),
            ("E'\\", &["q'\\…"], &["q'\\…"], &["q'\\…"]),
            ("", &[], &[], &[]),
        ] {
            assert_eq!(pieces(sql, Sqlite), sqlite, "{sql}");
            assert_eq!(pieces(sql, Mysql), mysql, "{sql}");
            assert_eq!(pieces(sql, Postgres), postgres, "{sql}");
        }
    }

    #[test]
    fn code_is_words_and_signs() {
        let found: Vec<_> = tokens("a_1 (é<>\n$x".as_bytes()).collect();
        assert_eq!(
            found,
            [
                (0, Token::Word(b"a_1")),
                (4, Token::Sign(b'(')),
                (5, Token::Word("é".as_bytes())),
                (7, Token::Sign(b'<')),
                (8, Token::Sign(b'>')),
                (10, Token::Word(b"$x")),
            ]
        );
        assert!(Token::Word(b"Select").is("SELECT") && !Token::Word(b"selected").is("SELECT"));
    }

    #[test]
    fn whatever_the_text_is_every_byte_of_it_is_in_one_piece() {
        let parts = [
            "'", "\"", "`", "[", "]", "--", "-- ", "#", "/*", "*/", "/*!", "$$", "$a$", "\\", "E'", "?", ";", "\n",
            "é", "a",
        ];
        let mut seed = 1_u64;
        for _ in 0..20_000 {
            let mut sql = String::new();
            for _ in 0..8 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                sql.push_str(parts[usize::try_from(seed >> 33).unwrap() % parts.len()]);
            }
            for dialect in Dialect::ALL {
                pieces(&sql, dialect);
            }
        }
    }
}
