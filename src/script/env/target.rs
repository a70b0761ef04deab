//! Percent-encoding of the request's target and of forms: checked once, so that whoever decodes it
//! need not ask.

use percent_encoding::percent_decode_str;

/// Checks the percent-encoding of a raw path and query, and that they decode to UTF-8 without NUL.
///
/// # Errors
/// If one does not; the message is for the client.
pub fn check(path: &str, query: &str) -> Result<(), String> {
    check_encoding("the path", path)?;
    check_encoding("the query", query)
}

/// The same for any text, which messages call `what`.
pub(super) fn check_encoding(what: &str, text: &str) -> Result<(), String> {
    let mut rest = text;
    let Some(first) = memchr::memchr(b'%', rest.as_bytes()) else { return Ok(()) };
    rest = &rest[first..];
    loop {
        match rest.as_bytes().get(1..3) {
            Some(b"00") => return Err(format!("{what} has a NUL byte at `%00`")),
            Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => {}
            _ => return Err(format!("{what} has a bad percent-encoding at `{}`", excerpt(rest))),
        }
        match memchr::memchr(b'%', &rest.as_bytes()[3..]) {
            Some(next) => rest = &rest[3 + next..],
            None => break,
        }
    }
    let decoded: Vec<u8> = percent_decode_str(text).collect();
    match std::str::from_utf8(&decoded) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{what} is not UTF-8 at `{}`", excerpt(source(text, error.valid_up_to())))),
    }
}

/// The rest of `text` from where its decoded form has had `count` bytes.
fn source(text: &str, count: usize) -> &str {
    let mut at = 0;
    for _ in 0..count {
        at += if text.as_bytes().get(at) == Some(&b'%') { 3 } else { 1 };
    }
    text.get(at..).unwrap_or("")
}

fn excerpt(text: &str) -> String {
    text.chars().take(3).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_decodes_to_text_passes() {
        for (path, query) in [
            ("/", ""),
            ("/p/foo%20bar", "a=%C3%A9&b=+"),
            ("/p/a%2Fb", "x=%252f"),
            ("/é", "é=é%C3%A9"),
            ("/%e2%82%ac", "100%25"),
        ] {
            assert_eq!(check(path, query), Ok(()), "{path}?{query}");
        }
    }

    #[test]
    fn what_does_not_is_refused_with_its_place() {
        for (path, query, message) in [
            ("/", "x=%", "the query has a bad percent-encoding at `%`"),
            ("/", "x=%a", "the query has a bad percent-encoding at `%a`"),
            ("/", "x=%41%zz", "the query has a bad percent-encoding at `%zz`"),
            ("/foo%dj", "", "the path has a bad percent-encoding at `%dj`"),
            ("/", "x=%B3", "the query is not UTF-8 at `%B3`"),
            ("/é%A9", "", "the path is not UTF-8 at `%A9`"),
            ("/", "a=%C3&b=%A9", "the query is not UTF-8 at `%C3`"),
            ("/", "x=%ED%A0%80", "the query is not UTF-8 at `%ED`"),
            ("/", "x=a%00b", "the query has a NUL byte at `%00`"),
            ("/%00", "", "the path has a NUL byte at `%00`"),
            ("/%é", "", "the path has a bad percent-encoding at `%é`"),
        ] {
            assert_eq!(check(path, query), Err(message.to_string()), "{path}?{query}");
        }
    }
}
