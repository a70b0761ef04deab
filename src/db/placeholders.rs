//! Where the placeholders of a statement are, and how a list takes the place of one.

use super::error::{Error, Kind};
use super::value::Value;

/// The positions of all `?` in `sql` that are placeholders: not in strings, quoted names, comments.
pub fn find(sql: &str) -> Vec<usize> {
    let bytes = sql.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = &bytes[at..];
        at += match byte {
            b'\'' | b'"' | b'`' => quoted(rest, byte),
            b'[' => through(rest, 1, b"]"),
            b'-' if rest.starts_with(b"--") => through(rest, 2, b"\n"),
            b'/' if rest.starts_with(b"/*") => through(rest, 2, b"*/"),
            b'?' => {
                found.push(at);
                1
            }
            _ => 1,
        };
    }
    found
}

/// Puts as many placeholders as a list has items in the place of its own, and the items in the
/// list's. An empty list leaves nothing between the parentheses of `IN (?)`.
///
/// # Errors
/// If there are more or fewer parameters than placeholders, or a list in a list.
pub fn expand<'v, 'a>(sql: &str, parameters: &'v [Value<'a>]) -> Result<(String, Vec<&'v Value<'a>>), Error> {
    let places = find(sql);
    same_number(places.len(), parameters.len())?;
    let mut text = String::with_capacity(sql.len() + 64);
    let mut flat = Vec::with_capacity(parameters.len());
    let mut copied = 0;
    for (place, parameter) in places.into_iter().zip(parameters) {
        text.push_str(&sql[copied..place]);
        copied = place + 1;
        let Value::List(items) = parameter else {
            text.push('?');
            flat.push(parameter);
            continue;
        };
        for (index, item) in items.iter().enumerate() {
            if matches!(item, Value::List(_)) {
                return Err(Error::new(Kind::Parameters, "a list in the parameters holds another list"));
            }
            text.push_str(if index == 0 { "?" } else { ", ?" });
            flat.push(item);
        }
    }
    text.push_str(&sql[copied..]);
    Ok((text, flat))
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

/// Length of what begins with `quote`; a doubled quote does not end it.
fn quoted(text: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < text.len() {
        if text[at] == quote {
            if text.get(at + 1) != Some(&quote) {
                return at + 1;
            }
            at += 1;
        }
        at += 1;
    }
    text.len()
}

/// Length up to and with `end`, looked for after the first `skip` bytes.
fn through(text: &[u8], skip: usize, end: &[u8]) -> usize {
    memchr::memmem::find(&text[skip..], end).map_or(text.len(), |found| skip + found + end.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_not_looked_for_in_strings_names_and_comments() {
        for (sql, places) in [
            ("SELECT ?, ?", vec![7, 10]),
            ("SELECT '?', 'it''s ?', ?", vec![23]),
            ("SELECT \"a?\", `b?`, [c?], ?", vec![25]),
            ("SELECT 1 -- ?\n + ?", vec![17]),
            ("SELECT /* ? -- ' */ ?", vec![20]),
            ("SELECT 1 - ? / ?", vec![11, 15]),
            ("SELECT 'open ?", vec![]),
            ("SELECT 1 /* ?", vec![]),
            ("SELECT 'é', ?", vec![13]),
            ("", vec![]),
        ] {
            assert_eq!(find(sql), places, "{sql}");
        }
    }

    #[test]
    fn a_list_takes_the_place_of_its_placeholder() {
        let list = [Value::Int(1), Value::List(vec![Value::Int(2), Value::Int(3)]), Value::List(vec![])];
        let (sql, flat) = expand("a = ? AND b IN (?) AND c IN (?) AND d = '?'", &list).unwrap();
        assert_eq!(sql, "a = ? AND b IN (?, ?) AND c IN () AND d = '?'");
        assert_eq!(flat, [&Value::Int(1), &Value::Int(2), &Value::Int(3)]);
        let nested = [Value::List(vec![Value::List(vec![])])];
        assert_eq!(expand("?", &nested).unwrap_err().kind, Kind::Parameters);
    }

    #[test]
    fn a_wrong_number_of_parameters_is_said_in_both_numbers() {
        let error = expand("IN (?) = ?", &[Value::List(vec![])]).unwrap_err();
        assert_eq!(error.message, "the statement has 2 placeholders, but 1 parameter was given");
        let error = same_number(1, 0).unwrap_err();
        assert_eq!(error.message, "the statement has 1 placeholder, but 0 parameters were given");
    }
}
