//! Regular expressions that a whole text must match.

use std::cell::RefCell;
use std::collections::HashMap;

use regex::{Regex, RegexBuilder};
use rhai::ImmutableString;

/// Longest regular expression in bytes, and how much one may become when it is compiled: a script
/// can't make a server build a machine of any size.
const LONGEST: usize = 1000;
const LARGEST: usize = 1 << 20;
/// How many a worker remembers: a reader with a pattern compiles it when it is first asked.
const REMEMBERED: usize = 64;

/// A regular expression that a whole text must match.
#[derive(Clone, Debug)]
pub(in crate::script) struct Pattern {
    /// As the script wrote it.
    pub source: ImmutableString,
    anchored: Regex,
}

thread_local! {
    static KNOWN: RefCell<HashMap<ImmutableString, Pattern>> = RefCell::default();
}

impl Pattern {
    /// Compiles it, or finds it where it was compiled before.
    ///
    /// # Errors
    /// If it is no regular expression, or too large.
    pub fn new(source: &ImmutableString) -> Result<Pattern, String> {
        if let Some(known) = KNOWN.with_borrow(|known| known.get(source).cloned()) {
            return Ok(known);
        }
        if source.len() > LONGEST {
            return Err(format!("`pattern` is longer than {LONGEST} bytes"));
        }
        let compile = |text: &str| {
            let compiled = RegexBuilder::new(text).size_limit(LARGEST).dfa_size_limit(LARGEST).build();
            compiled.map_err(|error| format!("`pattern` is `{source}`, which is no regular expression: {error}"))
        };
        // By itself first: `a)|(b` would be one between the parentheses that anchor it.
        compile(source)?;
        let pattern = Pattern { source: source.clone(), anchored: compile(&format!(r"\A(?:{source})\z"))? };
        KNOWN.with_borrow_mut(|known| {
            if known.len() == REMEMBERED {
                known.clear();
            }
            known.insert(source.clone(), pattern.clone());
        });
        Ok(pattern)
    }

    pub fn matches(&self, text: &str) -> bool {
        self.anchored.is_match(text)
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
            assert_eq!(pattern.matches(text), matches, "{text:?}");
        }
        // `^` and `$` are lines' ends here.
        assert!(!Pattern::new(&"(?m)^a$".into()).unwrap().matches("a\nb"));
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

    #[test]
    fn only_so_many_are_remembered() {
        for number in 0..10 * REMEMBERED {
            Pattern::new(&number.to_string().into()).unwrap();
        }
        assert!(KNOWN.with_borrow(HashMap::len) <= REMEMBERED);
    }
}
