//! How a line holds what a client sent, so that it can neither end its field nor its line.

use crate::log_file::steers;

/// The two ways, which are h2o's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Escape {
    /// `\xNN` for control characters, quotes, and all that is not ASCII.
    ///
    /// The backslash is escaped too, which h2o leaves as it is: else `\x22` in a log could be either.
    /// h2o also escapes `}` and `~`, for no reason that could be found.
    #[default]
    Apache,
    /// `\u00NN`, as JSON has it. UTF-8 stays as it is, where h2o writes a `\u00NN` for each of its
    /// bytes, which means other characters to who reads it.
    Json,
}

impl Escape {
    /// Appends `bytes`.
    pub fn write(self, line: &mut Vec<u8>, bytes: &[u8]) {
        match self {
            Escape::Apache => each(line, bytes, b"x", |byte| IS_ESCAPED[usize::from(byte)]),
            Escape::Json if bytes.is_ascii() => each(line, bytes, b"u00", |byte| IS_ESCAPED[usize::from(byte)]),
            Escape::Json => {
                for chunk in bytes.utf8_chunks() {
                    json(line, chunk.valid());
                    each(line, chunk.invalid(), b"u00", |_| true);
                }
            }
        }
    }
}

/// The escapes are for bytes; among other characters there are controls too, and line breaks.
fn json(line: &mut Vec<u8>, text: &str) {
    let mut rest = text;
    let is_steering = |it: char| !it.is_ascii() && steers(it);
    while let Some(at) = rest.find(is_steering) {
        let (before, from) = rest.split_at(at);
        each(line, before.as_bytes(), b"u00", |byte| byte.is_ascii() && IS_ESCAPED[usize::from(byte)]);
        let steering = from.chars().next().unwrap_or_default();
        line.extend_from_slice(format!("\\u{:04x}", u32::from(steering)).as_bytes());
        rest = &from[steering.len_utf8()..];
    }
    each(line, rest.as_bytes(), b"u00", |byte| byte.is_ascii() && IS_ESCAPED[usize::from(byte)]);
}

fn each(line: &mut Vec<u8>, mut bytes: &[u8], prefix: &[u8], is_escaped: impl Fn(u8) -> bool) {
    while let Some(length) = bytes.iter().position(|byte| is_escaped(*byte)) {
        let byte = bytes[length];
        let digit = |value: u8| b"0123456789abcdef"[usize::from(value)];
        line.extend_from_slice(&bytes[..length]);
        line.push(b'\\');
        line.extend_from_slice(prefix);
        line.extend_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
        bytes = &bytes[length + 1..];
    }
    line.extend_from_slice(bytes);
}

static IS_ESCAPED: [bool; 256] = {
    let mut table = [true; 256];
    let mut byte = 0x20;
    while byte < 0x7f {
        table[byte] = byte == b'"' as usize || byte == b'\\' as usize;
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(escape: Escape, bytes: &[u8]) -> String {
        let mut line = Vec::new();
        escape.write(&mut line, bytes);
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn what_steers_or_ends_a_field_is_escaped() {
        assert_eq!(escaped(Escape::Apache, b"a\r\n\0\x1b\x7f\"\\\xff\xc3\xa9~}b"), {
            r"a\x0d\x0a\x00\x1b\x7f\x22\x5c\xff\xc3\xa9~}b"
        });
    }

    #[test]
    fn json_takes_any_bytes_and_reads_back_what_is_utf_8() {
        for text in ["plain", "a\"b\\c\r\n\t\0\x1b\x7f", "é\u{85}\u{2028}\"😀", "", "\u{9b}2J", "a\u{202e}b\u{2066}"]
        {
            let json = format!("\"{}\"", escaped(Escape::Json, text.as_bytes()));
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
            assert!(!json.chars().any(steers), "{json}");
        }
        assert_eq!(escaped(Escape::Json, b"\xff\"\xc3\xa9\xc3"), "\\u00ff\\u0022é\\u00c3");
    }
}
