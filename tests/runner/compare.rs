//! Whether a reply is the one that was expected, and where not.

use super::case::{BodyPattern, HeaderPattern, Output, Pattern, ReplyPattern};
use super::diff::diff;
use super::wire::Reply;

/// What differs, a paragraph for each difference; empty if the reply is as expected.
pub fn reply(expected: &ReplyPattern, got: &Reply) -> Vec<String> {
    let mut differences = Vec::new();
    match expected.status {
        Some(status) if status == got.status => {}
        Some(status) => differences.push(format!("status: expected {status}, got {}", got.status)),
        None => differences.push(format!("status: none is written, got {}", got.status)),
    }
    differences.extend(expected.headers.iter().filter_map(|pattern| header(pattern, got)));
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

/// What is wrong with the body, if anything.
pub fn body(pattern: &BodyPattern, got: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(got);
    match pattern {
        BodyPattern::Any => None,
        BodyPattern::Exact(expected) if expected.as_bytes() == got => None,
        BodyPattern::Exact(expected) => Some(format!("body:\n{}", diff(expected, &text))),
        BodyPattern::Lines(patterns) => lines(patterns, &text).map(|difference| format!("body:\n{difference}")),
    }
}

/// What is wrong with what `rhaid -t` printed, if anything.
pub fn output(expected: &Output, got: &str) -> Option<String> {
    let got = got.trim_end_matches('\n');
    match expected {
        Output::Exact(text) if text == got => None,
        Output::Exact(text) => Some(diff(text, got)),
        Output::Lines(patterns) => lines(patterns, got),
        Output::Found(regex) if regex.is_match(got) => None,
        Output::Found(regex) => Some(format!("  - ~ {regex}\n{}", indent(got, "  + "))),
    }
}

/// The patterns that are in no line of `text`.
pub fn missing<'a>(patterns: &'a [Pattern], text: &str) -> Vec<&'a Pattern> {
    patterns.iter().filter(|pattern| !pattern.is_in(text)).collect()
}

/// A difference of `text` to a pattern for each of its lines.
fn lines(patterns: &[Pattern], text: &str) -> Option<String> {
    let got: Vec<&str> = text.split('\n').collect();
    if patterns.len() == got.len() && patterns.iter().zip(&got).all(|(pattern, line)| pattern.is(line)) {
        return None;
    }
    // A line that its pattern fits is shown as the pattern, so that only the others differ.
    let shown: Vec<String> = patterns
        .iter()
        .enumerate()
        .map(|(index, pattern)| match got.get(index) {
            Some(line) if pattern.is(line) => (*line).to_owned(),
            _ => pattern.to_string(),
        })
        .collect();
    Some(diff(&shown.join("\n"), text))
}

/// The reply as text.
pub fn describe(reply: &Reply) -> String {
    let headers = reply.headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect::<String>();
    let body = String::from_utf8_lossy(&reply.body);
    let body = if body.len() > 2000 { format!("{} bytes", body.len()) } else { body.into_owned() };
    indent(&format!("{}\n{headers}\n{body}", reply.status), "    ")
}

/// `text` with `margin` before each line.
pub fn indent(text: &str, margin: &str) -> String {
    text.lines().map(|line| format!("{margin}{line}").trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}
