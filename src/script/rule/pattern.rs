//! Regular expressions that a whole text must match.

use std::sync::Arc;

use rhai::ImmutableString;

use crate::fiber::Stop;
use crate::script::pattern::{self, Unsearched};

/// Longest regular expression in bytes: it may come from what a script computes for a request.
const LONGEST: usize = 1000;

/// A regular expression that a whole text must match.
#[derive(Clone, Debug)]
pub(in crate::script) struct Pattern {
    /// As the script wrote it.
    pub source: ImmutableString,
    anchored: Arc<pattern::Pattern>,
}

impl Pattern {
    /// Compiles it, or finds it where it was compiled before.
    ///
    /// # Errors
    /// If it is no regular expression, or too large.
    pub fn new(source: &ImmutableString) -> Result<Pattern, String> {
        if source.len() > LONGEST {
            return Err(format!("`pattern` is longer than {LONGEST} bytes"));
        }
        let compiled = pattern::Pattern::anchored(source);
        let wrong = |error| format!("`pattern` is `{source}`, which is no regular expression: {error}");
        Ok(Pattern { source: source.clone(), anchored: compiled.map_err(wrong)? })
    }

    /// Whether a text matches. One that is too long for the pattern does not.
    ///
    /// # Errors
    /// If the script has to stop: a long text is searched beside the worker.
    pub fn matches(&self, text: &str) -> Result<bool, Stop> {
        match self.anchored.is_match(text) {
            Ok(is_match) => Ok(is_match),
            Err(Unsearched::Wrong(_)) => Ok(false),
            Err(Unsearched::Stopped(stop)) => Err(stop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_for_the_whole_text() {
        let pattern = Pattern::new(&"ab|c+".into()).unwrap();
        for (text, matches) in
            [("ab", true), ("cc", true), ("xab", false), ("abc", false), ("ab\n", false), ("", false)]
        {
            assert_eq!(pattern.matches(text), Ok(matches), "{text:?}");
        }
        // `^` and `$` are lines' ends here.
        assert_eq!(Pattern::new(&"(?m)^a$".into()).unwrap().matches("a\nb"), Ok(false));
    }

    #[test]
    fn what_is_none_or_too_large_is_refused() {
        for source in ["(", "a)|(b", "(?:a{1000}){1000}"] {
            let message = Pattern::new(&source.into()).unwrap_err();
            let start = format!("`pattern` is `{source}`, which is no regular expression: ");
            assert!(message.starts_with(&start), "{message}");
        }
        let long = "a".repeat(LONGEST + 1).into();
        assert_eq!(Pattern::new(&long).unwrap_err(), "`pattern` is longer than 1000 bytes");
    }
}
