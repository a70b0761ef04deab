//! What a case file says, parsed: nothing here reads text or talks to a server.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use regex::Regex;

use super::request::Request;

/// One case file.
#[derive(Debug)]
pub struct Case {
    /// The free text before the first section.
    pub rule: String,
    /// The sections in the order of the file.
    pub sections: Vec<Section>,
}

/// One section with its place in the file.
#[derive(Debug)]
pub struct Section {
    /// Line of its `-- kind --`, from 1.
    pub line: usize,
    /// Its own lines, as they stand after the variables were replaced.
    pub text: String,
    /// What it means.
    pub step: Step,
}

/// What a section asks for.
#[derive(Debug)]
pub enum Step {
    Conf,
    Change(Change),
    Database,
    Request(Request),
    Reply(ReplyPattern),
    Closed,
    Parallel(usize),
    Within(Duration),
    Log(Vec<Pattern>),
    Access(Vec<Pattern>),
    Check { status: i32, output: Option<Output> },
    Refused(Vec<Pattern>),
}

/// A change to the case's folder.
#[derive(Debug, PartialEq)]
pub enum Change {
    /// The section's text becomes the file.
    File(PathBuf),
    /// The same, in place.
    Write(PathBuf),
    Remove(PathBuf),
    Link {
        path: PathBuf,
        target: PathBuf,
    },
}

/// What a reply must be.
#[derive(Debug)]
pub struct ReplyPattern {
    /// None where the section is empty, which only an update allows.
    pub status: Option<u16>,
    pub headers: Vec<HeaderPattern>,
    pub body: BodyPattern,
}

/// What must be said, or not, by one header.
#[derive(Debug)]
pub enum HeaderPattern {
    Present { name: String, value: Pattern },
    Absent { name: String },
}

/// What a body must be.
#[derive(Debug)]
pub enum BodyPattern {
    /// Not compared.
    Any,
    /// These bytes and no others.
    Exact(String),
    /// One pattern for each line.
    Lines(Vec<Pattern>),
}

/// What `rhaid -t` must print.
#[derive(Debug)]
pub enum Output {
    Exact(String),
    Lines(Vec<Pattern>),
    /// Found anywhere; `.` takes newlines too.
    Found(Regex),
}

/// A piece of text, or after `~ ` a regular expression.
#[derive(Debug)]
pub enum Pattern {
    Text(String),
    /// The second is anchored at both ends.
    Regex {
        found: Regex,
        whole: Regex,
    },
}

impl Pattern {
    /// Whether `text` as a whole is what was expected.
    pub fn is(&self, text: &str) -> bool {
        match self {
            Pattern::Text(expected) => expected == text,
            Pattern::Regex { whole, .. } => whole.is_match(text),
        }
    }

    /// Whether what was expected stands somewhere in `text`.
    pub fn is_in(&self, text: &str) -> bool {
        match self {
            Pattern::Text(expected) => text.contains(expected.as_str()),
            Pattern::Regex { found, .. } => found.is_match(text),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Text(text) => f.write_str(text),
            Pattern::Regex { found, .. } => write!(f, "~ {found}"),
        }
    }
}
