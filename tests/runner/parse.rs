//! Reads a case file into a [`Case`]; the first mistake is reported with its line.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use regex::{Regex, RegexBuilder};

use super::case::{BodyPattern, Case, Change, HeaderPattern, Output, Pattern, ReplyPattern, Section, Step};
use super::database;
use super::request::Request;
use super::variables::Variables;

/// A mistake in a case file.
#[derive(Debug, PartialEq)]
pub struct Mistake {
    /// Counted from 1.
    pub line: usize,
    pub message: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.message)
    }
}

/// Reads the case file `text`.
///
/// # Errors
/// With the first mistake.
pub fn parse(text: &str, variables: &Variables) -> Result<Case, Mistake> {
    let mut rule = String::new();
    let mut found: Vec<(usize, &str, String)> = Vec::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let title = line.trim_end().strip_prefix("-- ").and_then(|rest| rest.strip_suffix(" --"));
        match (title, found.last_mut()) {
            (Some(title), _) => found.push((index + 1, title.trim(), String::new())),
            (None, Some((_, _, section))) => section.push_str(line),
            (None, None) => rule.push_str(line),
        }
    }
    let mut sections = Vec::with_capacity(found.len());
    for (line, title, text) in found {
        let text = if is_script(title) { text } else { variables.replace(&text) };
        let step = step(title, &text, line)?;
        sections.push(Section { line, text, step });
    }
    check_order(&sections)?;
    Ok(Case { rule, sections })
}

/// Whether a section's text must stay as it stands: in a Rhai script `$DIR` may be anything.
fn is_script(title: &str) -> bool {
    let file = title.strip_prefix("file ").or_else(|| title.strip_prefix("write "));
    file.is_some_and(|path| !path.ends_with(".yaml"))
}

fn step(title: &str, text: &str, line: usize) -> Result<Step, Mistake> {
    let mistake = |message: String| Mistake { line, message };
    let words: Vec<&str> = title.split_whitespace().collect();
    match words[..] {
        ["conf"] => Ok(Step::Conf),
        ["file", path] => Ok(Step::Change(Change::File(inside(path).map_err(mistake)?))),
        ["write", path] => Ok(Step::Change(Change::Write(inside(path).map_err(mistake)?))),
        ["remove", path] => Ok(Step::Change(Change::Remove(inside(path).map_err(mistake)?))),
        ["link", path, target] => {
            Ok(Step::Change(Change::Link { path: inside(path).map_err(mistake)?, target: PathBuf::from(target) }))
        }
        ["database", ref kinds @ ..] if !kinds.is_empty() => {
            match kinds.iter().find(|kind| database::Kind::parse(kind).is_none()) {
                Some(kind) => Err(mistake(format!(
                    "`{kind}` is no kind of database, expected `sqlite`, `mysql`, `postgres` or `redis`"
                ))),
                None => Ok(Step::Database),
            }
        }
        ["request"] => Request::from_lines(text).map(Step::Request).map_err(mistake),
        ["request", "raw"] => Request::from_escaped(text).map(Step::Request).map_err(mistake),
        ["request", other @ ("h2" | "tls")] => Err(mistake(format!("`request {other}` is not there yet"))),
        ["reply"] => reply(text, line).map(Step::Reply),
        ["reply", "closed"] => Ok(Step::Closed),
        ["parallel", count] => match count.parse() {
            Ok(count @ 1..) => Ok(Step::Parallel(count)),
            _ => Err(mistake(format!("`{count}` is not a number of connections"))),
        },
        ["within", time] => match time.parse() {
            Ok(time) => Ok(Step::Within(Duration::from_millis(time))),
            Err(_) => Err(mistake(format!("`{time}` is not a number of milliseconds"))),
        },
        ["log"] => expected_lines(text, line).map(Step::Log),
        ["access"] => expected_lines(text, line).map(Step::Access),
        ["check", status] => match status.parse() {
            Ok(status) => Ok(Step::Check { status, output: output(text, line)? }),
            Err(_) => Err(mistake(format!("`{status}` is not an exit status"))),
        },
        ["refused"] => expected_lines(text, line).map(Step::Refused),
        _ => Err(mistake(format!("unknown section `{title}`"))),
    }
}

/// A path below the case's folder.
fn inside(path: &str) -> Result<PathBuf, String> {
    let path = Path::new(path);
    if path.components().all(|part| matches!(part, Component::Normal(_))) {
        Ok(path.to_owned())
    } else {
        Err(format!("`{}` leaves the folder of the case", path.display()))
    }
}

/// What must come before what.
fn check_order(sections: &[Section]) -> Result<(), Mistake> {
    let (mut asked, mut databases) = (false, 0);
    for Section { line, step, .. } in sections {
        let message = match step {
            Step::Database if asked => "`database` comes before the first request",
            Step::Database if databases == 1 => "a case has one `database`",
            Step::Reply(_) | Step::Closed if !asked => "a `request` comes before its `reply`",
            _ => "",
        };
        if !message.is_empty() {
            return Err(Mistake { line: *line, message: message.to_owned() });
        }
        asked |= matches!(step, Step::Request(_));
        databases += usize::from(matches!(step, Step::Database));
    }
    Ok(())
}

/// Lines of a section without the empty ones at its end, each with its number in the file.
fn numbered(text: &str, section: usize) -> Vec<(usize, &str)> {
    text.trim_end_matches('\n').split('\n').enumerate().map(|(index, it)| (section + 1 + index, it)).collect()
}

fn reply(text: &str, line: usize) -> Result<ReplyPattern, Mistake> {
    let lines = numbered(text, line);
    if lines.len() == 1 && lines[0].1.is_empty() {
        return Ok(ReplyPattern { status: None, headers: Vec::new(), body: BodyPattern::Any });
    }
    let (first, status) = lines[0];
    let status = match status.trim().parse::<u16>() {
        Ok(status @ 100..=999) => Some(status),
        _ => return Err(Mistake { line: first, message: format!("`{status}` is not a status such as `200`") }),
    };
    let end = lines.iter().position(|(_, it)| it.is_empty()).unwrap_or(lines.len());
    let headers = lines[1..end].iter().map(|(line, text)| header(text, *line)).collect::<Result<_, _>>()?;
    let body = if end < lines.len() { body(&lines[end + 1..])? } else { BodyPattern::Any };
    Ok(ReplyPattern { status, headers, body })
}

fn header(text: &str, line: usize) -> Result<HeaderPattern, Mistake> {
    if let Some(name) = text.strip_prefix('!') {
        return Ok(HeaderPattern::Absent { name: name.trim().to_lowercase() });
    }
    let Some((name, value)) = text.split_once(':') else {
        return Err(Mistake { line, message: format!("`{text}` is not a header such as `name: value` or `!name`") });
    };
    Ok(HeaderPattern::Present { name: name.trim().to_lowercase(), value: pattern(value.trim(), line)? })
}

fn body(lines: &[(usize, &str)]) -> Result<BodyPattern, Mistake> {
    if let [(_, "(empty)")] = lines {
        return Ok(BodyPattern::Exact(String::new()));
    }
    let mut lines = lines.to_vec();
    if let Some(last) = lines.last_mut()
        && last.1 == "\\"
    {
        last.1 = "";
    }
    if lines.iter().any(|(_, it)| it.starts_with("~ ")) {
        let patterns = lines.iter().map(|(line, it)| pattern(it, *line)).collect::<Result<_, _>>()?;
        return Ok(BodyPattern::Lines(patterns));
    }
    Ok(BodyPattern::Exact(lines.iter().map(|(_, it)| *it).collect::<Vec<_>>().join("\n")))
}

fn expected_lines(text: &str, line: usize) -> Result<Vec<Pattern>, Mistake> {
    let lines = numbered(text, line);
    if lines.len() == 1 && lines[0].1.is_empty() {
        return Err(Mistake { line, message: "the section names no line, which nothing could fail".to_owned() });
    }
    lines.iter().filter(|(_, it)| !it.is_empty()).map(|(line, it)| pattern(it, *line)).collect()
}

fn output(text: &str, line: usize) -> Result<Option<Output>, Mistake> {
    let lines = numbered(text, line);
    match lines[..] {
        [(_, "")] => Ok(None),
        [(_, "(empty)")] => Ok(Some(Output::Exact(String::new()))),
        [(line, only)] if only.starts_with("~ ") => {
            let mut builder = RegexBuilder::new(&only[2..]);
            let regex = builder.dot_matches_new_line(true).build();
            regex.map(|regex| Some(Output::Found(regex))).map_err(|error| wrong_regex(line, &error))
        }
        _ if lines.iter().any(|(_, it)| it.starts_with("~ ")) => {
            let patterns = lines.iter().map(|(line, it)| pattern(it, *line)).collect::<Result<_, _>>()?;
            Ok(Some(Output::Lines(patterns)))
        }
        _ => Ok(Some(Output::Exact(text.trim_end_matches('\n').to_owned()))),
    }
}

fn pattern(text: &str, line: usize) -> Result<Pattern, Mistake> {
    let Some(source) = text.strip_prefix("~ ") else { return Ok(Pattern::Text(text.to_owned())) };
    let compile = |source: &str| Regex::new(source).map_err(|error| wrong_regex(line, &error));
    Ok(Pattern::Regex { found: compile(source)?, whole: compile(&format!(r"\A(?:{source})\z"))? })
}

fn wrong_regex(line: usize, error: &regex::Error) -> Mistake {
    Mistake { line, message: error.to_string() }
}
