//! The bytes of a blob as MySQL's dumps have them, in a form that is text.

use std::fmt::Write;
use std::str;

use crate::db::dialect::{Dialect, Kind, Pieces, tokens};

/// What a string that is not UTF-8 is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strange {
    /// A blob, since all text of the file is UTF-8.
    Blob,
    /// A blob if `_binary` stands before it, else it may be text in another encoding.
    Either,
}

/// What the strings that follow a statement are, if it says so: `SET NAMES utf8mb4`.
pub fn names(statement: &[u8]) -> Option<Strange> {
    // Dumps put no more around it than a comment that is code.
    let statement = statement.get(..statement.len().min(64))?.to_ascii_uppercase();
    let (_, name) = str::from_utf8(&statement).ok()?.split_once("SET NAMES ")?;
    let is_utf8 = name.trim_start_matches(['\'', '"', ' ']).starts_with("UTF8");
    Some(if is_utf8 { Strange::Blob } else { Strange::Either })
}

/// A statement of MySQL's with `X'…'` for each string that is a blob and not UTF-8; `None` if something
/// else is not.
pub fn in_hex(statement: &[u8], strange: Strange) -> Option<String> {
    let mut out = String::with_capacity(statement.len() * 2);
    let mut is_binary = false;
    for piece in Pieces::new(statement, 0, Dialect::Mysql) {
        let bytes = &statement[piece.start..piece.end];
        match (str::from_utf8(bytes), bytes) {
            (Ok(text), _) => out.push_str(text),
            (Err(_), [b'\'', inner @ .., b'\''])
                if piece.kind == Kind::Quoted && (is_binary || strange == Strange::Blob) =>
            {
                out.push_str("X'");
                for byte in unescaped(inner) {
                    let _ = write!(out, "{byte:02X}");
                }
                out.push('\'');
            }
            (Err(_), _) => return None,
        }
        is_binary = match piece.kind {
            Kind::Comment => is_binary,
            Kind::Code => tokens(bytes).last().map_or(is_binary, |(_, token)| token.is("_BINARY")),
            _ => false,
        };
    }
    Some(out)
}

/// What a string of MySQL's stands for, without its quotes.
fn unescaped(inner: &[u8]) -> impl Iterator<Item = u8> {
    let mut bytes = inner.iter().copied();
    std::iter::from_fn(move || {
        Some(match bytes.next()? {
            b'\\' => match bytes.next()? {
                b'0' => 0,
                b'b' => 8,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'Z' => 0x1a,
                other => other,
            },
            // Inside of the quotes it is doubled.
            b'\'' => bytes.next()?,
            other => other,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_all_text_is_utf8_what_is_not_is_a_blob() {
        assert_eq!(in_hex(b"('\xff', 'a')", Strange::Blob).as_deref(), Some("(X'FF', 'a')"));
        assert_eq!(in_hex(b"`\xff`", Strange::Blob), None);
        for (statement, strange) in [
            ("/*!40101 SET NAMES utf8mb4 */", Some(Strange::Blob)),
            ("set names 'utf8'", Some(Strange::Blob)),
            ("SET NAMES latin1", Some(Strange::Either)),
            ("SET NAMES DEFAULT", Some(Strange::Either)),
            ("SET a = 1", None),
            ("", None),
        ] {
            assert_eq!(names(statement.as_bytes()), strange, "{statement}");
        }
    }

    #[test]
    fn a_blob_is_written_in_hex_and_all_else_stays() {
        for (statement, expected) in [
            (
                &b"a (_binary '\xff\\0\\n\\r\\Z\\'\\\\''\\t\\b\\a', '\xc3\xa9', _binary 'x')"[..],
                Some("a (_binary X'FF000A0D1A275C27090861', 'é', _binary 'x')"),
            ),
            (b"_BINARY /* a */ '\xfe'", Some("_BINARY /* a */ X'FE'")),
            (b"_binary 'x', '\xff'", None),
            (b"x_binary '\xff'", None),
            (b"_binary \"\xff\"", None),
            (b"\xff", None),
            (b"", Some("")),
        ] {
            assert_eq!(in_hex(statement, Strange::Either).as_deref(), expected);
        }
    }
}
