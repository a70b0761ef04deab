//! Whether a reply is the one that was expected, and where not.

use super::case::{BodyPattern, HeaderPattern, Output, Pattern, ReplyPattern};
use super::diff::diff;
use super::wire::Reply;

/// Headers that no reply may have twice (RFC 9110 §5.3), whatever the case is about.
const SINGLE: [&str; 10] = [
    "age",
    "content-length",
    "content-range",
    "content-type",
    "date",
    "etag",
    "last-modified",
    "location",
    "retry-after",
    "server",
];

/// What differs, a paragraph for each difference; empty if the reply is as expected.
pub fn reply(expected: &ReplyPattern, got: &Reply) -> Vec<String> {
    let mut differences = Vec::new();
    match expected.status {
        Some(status) if status == got.status => {}
        Some(status) => differences.push(format!("status: expected {status}, got {}", got.status)),
        None => differences.push(format!("status: none is written, got {}", got.status)),
    }
    differences.extend(expected.headers.iter().filter_map(|pattern| header(pattern, got)));
    differences.extend(SINGLE.iter().filter_map(|name| repeated(name, got)));
    differences.extend(body(&expected.body, &got.body));
    // A failure without the rest of the reply sends people off to run it by hand.
    if !differences.is_empty() {
        differences.push(format!("the reply was:\n{}", describe(got)));
    }
    differences
}

/// What is wrong with one header, if anything.
pub fn header(pattern: &HeaderPattern, got: &Reply) -> Option<String> {
    match pattern {
        HeaderPattern::Absent { name } => {
            let value = got.values(name).next()?;
            Some(format!("header `{name}`: expected none, got `{value}`"))
        }
        HeaderPattern::Present { name, value } => {
            let values: Vec<&str> = got.values(name).collect();
            if values.iter().any(|it| value.is(it)) {
                return None;
            }
            let values = if values.is_empty() { "none".to_owned() } else { format!("`{}`", values.join("`, `")) };
            Some(format!("header `{name}`: expected `{value}`, got {values}"))
        }
    }
}

/// That a header which may stand once stands more often.
fn repeated(name: &str, got: &Reply) -> Option<String> {
    let values: Vec<&str> = got.values(name).collect();
    let problem = || format!("header `{name}`: came {} times, `{}`", values.len(), values.join("`, `"));
    (values.len() > 1).then(problem)
}

/// What is wrong with the body, if anything.
pub fn body(pattern: &BodyPattern, got: &[u8]) -> Option<String> {
    let difference = match pattern {
        BodyPattern::Any => None,
        BodyPattern::Exact(expected) if expected.as_bytes() == got => None,
        BodyPattern::Exact(expected) => Some(diff(expected, &shown(got))),
        BodyPattern::Lines(patterns) => lines(patterns, got),
    }?;
    let note = if std::str::from_utf8(got).is_err() { " (bytes that are no UTF-8 are shown as `<NN>`)" } else { "" };
    Some(format!("body{note}:\n{difference}"))
}

/// What is wrong with what `rhaid -t` printed, if anything.
pub fn output(expected: &Output, got: &str) -> Option<String> {
    let got = got.trim_end_matches('\n');
    match expected {
        Output::Exact(text) if text == got => None,
        Output::Exact(text) => Some(diff(text, got)),
        Output::Lines(patterns) => lines(patterns, got.as_bytes()),
        Output::Found(regex) if regex.is_match(got) => None,
        Output::Found(regex) => Some(format!("  - ~ {regex}\n{}", indent(got, "  + "))),
    }
}

/// The patterns that are in no line of `text`.
pub fn missing<'a>(patterns: &'a [Pattern], text: &str) -> Vec<&'a Pattern> {
    patterns.iter().filter(|pattern| !pattern.is_in(text)).collect()
}

/// A difference of what came to a pattern for each of its lines.
fn lines(patterns: &[Pattern], got: &[u8]) -> Option<String> {
    let got: Vec<&[u8]> = got.split(|byte| *byte == b'\n').collect();
    let is = |pattern: &Pattern, line: &[u8]| pattern.is(&String::from_utf8_lossy(line));
    if patterns.len() == got.len() && patterns.iter().zip(&got).all(|(pattern, line)| is(pattern, line)) {
        return None;
    }
    // A line that its pattern fits is shown as the pattern, so that only the others differ.
    let expected: Vec<String> = patterns
        .iter()
        .enumerate()
        .map(|(index, pattern)| match got.get(index) {
            Some(line) if is(pattern, line) => shown(line),
            _ => pattern.to_string(),
        })
        .collect();
    let got: Vec<String> = got.into_iter().map(shown).collect();
    Some(diff(&expected.join("\n"), &got.join("\n")))
}

/// Bytes as text; those that are no UTF-8 as `<NN>`, so that two of them can be told apart.
pub fn shown(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| format!("<{byte:02x}>")));
    }
    text
}

/// The reply as text.
pub fn describe(reply: &Reply) -> String {
    let headers = reply.headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect::<String>();
    let body = if reply.body.len() > 2000 { format!("{} bytes", reply.body.len()) } else { shown(&reply.body) };
    indent(&format!("{}\n{headers}\n{body}", reply.status), "    ")
}

/// `text` with `margin` before each line.
pub fn indent(text: &str, margin: &str) -> String {
    text.lines().map(|line| format!("{margin}{line}").trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}
