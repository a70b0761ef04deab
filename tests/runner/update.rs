//! Writes replies as they came into the case file (`UPDATE=1`).

use std::ops::Range;

use super::case::{BodyPattern, HeaderPattern, ReplyPattern, Section};
use super::compare;
use super::variables::Variables;
use super::wire::Reply;

/// New lines for some of a file's.
#[derive(Debug, PartialEq)]
pub struct Edit {
    /// Indexes of the lines that are replaced, from 0.
    pub lines: Range<usize>,
    pub text: Vec<String>,
}

/// The edit that makes `section`, a reply, expect `got`. What was right already stays as it was written.
///
/// # Errors
/// If a case file can't say what came.
pub fn edit(section: &Section, expected: &ReplyPattern, got: &Reply, variables: &Variables) -> Result<Edit, String> {
    let written: Vec<&str> = section.text.trim_end_matches('\n').split('\n').collect();
    let mut text = vec![got.status.to_string()];
    for (pattern, line) in expected.headers.iter().zip(written.iter().skip(1)) {
        let (HeaderPattern::Present { name, .. } | HeaderPattern::Absent { name }) = pattern;
        match (compare::header(pattern, got), got.values(name).next()) {
            (None, _) => text.push((*line).to_owned()),
            (Some(_), Some(value)) => text.push(format!("{name}: {value}")),
            (Some(_), None) => text.push(format!("!{name}")),
        }
    }
    if expected.status.is_none() {
        text.extend(got.values("content-type").map(|value| format!("content-type: {value}")));
    }
    match &expected.body {
        BodyPattern::Any if expected.status.is_some() => {}
        pattern if compare::body(pattern, &got.body).is_none() && expected.status.is_some() => {
            let start = 1 + expected.headers.len();
            text.extend(written[start..].iter().map(|line| (*line).to_owned()));
        }
        pattern => {
            text.push(String::new());
            text.extend(body(pattern, &got.body)?);
        }
    }
    let text = text.iter().map(|line| variables.restore(line)).collect();
    let start = section.line;
    let end = if section.text.trim_end_matches('\n').is_empty() { start } else { start + written.len() };
    Ok(Edit { lines: start..end, text })
}

fn body(pattern: &BodyPattern, got: &[u8]) -> Result<Vec<String>, String> {
    let got = std::str::from_utf8(got).map_err(|_| "a body that is not UTF-8 can't be written to a case file")?;
    if got.is_empty() {
        return Ok(vec!["(empty)".to_owned()]);
    }
    let mut lines: Vec<String> = got.split('\n').map(str::to_owned).collect();
    if let Some(line) = lines.iter().find(|line| line.starts_with("~ ") || line.starts_with("-- ")) {
        return Err(format!("the body's line `{line}` would mean something else in a case file"));
    }
    if let BodyPattern::Lines(patterns) = pattern
        && patterns.len() == lines.len()
    {
        for (line, pattern) in lines.iter_mut().zip(patterns) {
            if pattern.is(line) {
                *line = pattern.to_string();
            }
        }
    }
    if let Some(last) = lines.last_mut()
        && last.is_empty()
    {
        last.push('\\');
    }
    Ok(lines)
}

/// `text` with the edits, which don't overlap and stand in order.
pub fn apply(text: &str, edits: &[Edit]) -> String {
    let mut lines: Vec<&str> = text.split('\n').collect();
    for edit in edits.iter().rev() {
        lines.splice(edit.lines.clone(), edit.text.iter().map(String::as_str));
    }
    lines.join("\n")
}
