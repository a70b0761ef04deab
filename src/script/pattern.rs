//! Patterns, compiled once for each worker, and their search in a text: where a text is long the search runs on a thread of
//! its own, so that the worker serves others meanwhile. It knows no scripts.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::{Arc, LazyLock, OnceLock};
use std::thread;

use hashlink::LruCache;
use regex::{Regex, RegexBuilder};
use regex_automata::nfa::thompson;
use tokio::sync::Semaphore;
use tokio::task;

use crate::fiber::{self, Stop};
use crate::memory;

/// Patterns that a worker keeps.
const KEPT: usize = 128;
/// Longest pattern in bytes.
const LONGEST: usize = 8 << 10;
/// Bytes of a compiled pattern, and of what its search builds.
const PROGRAM_BYTES: usize = 2 << 20;
/// Shorter texts are searched at once, whatever the pattern.
const SHORT: usize = 64;
/// Bytes of text times states of the pattern that a worker searches at once. The worst patterns take some 15 ns for each,
/// most a hundredth of that.
const AT_ONCE: u64 = 250_000;
/// The same for the longest search that is possible at all.
const MOST: u64 = 2_000_000_000;
/// Most matches that one search gives.
const MOST_MATCHES: usize = 200_000;

thread_local! {
    static PATTERNS: RefCell<LruCache<Box<str>, Arc<Pattern>>> = RefCell::new(LruCache::new(KEPT));
}

/// Long searches at a time, over all workers.
static TURNS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    Arc::new(Semaphore::new(cores.min(8)))
});

/// A compiled pattern.
#[derive(Debug)]
pub struct Pattern {
    /// As the crate `regex` has it.
    pub regex: Regex,
    /// How many states its automaton has: a search takes at most so many steps for each byte. Counted when a text is long.
    states: OnceLock<u64>,
}

/// Bytes of the text that a match, and each group in it, stands at; groups that took no part are absent.
pub type Groups = Vec<Option<Range<usize>>>;

/// Why a search gives nothing.
#[derive(Debug)]
pub enum Unsearched {
    /// What is wrong with the pattern or the text.
    Wrong(String),
    /// The script has to stop.
    Stopped(Stop),
}

impl From<Stop> for Unsearched {
    fn from(stop: Stop) -> Unsearched {
        Unsearched::Stopped(stop)
    }
}

fn compile(text: &str) -> Result<Pattern, String> {
    if text.len() > LONGEST {
        return Err(format!("the pattern has {} bytes, at most {LONGEST} are possible", text.len()));
    }
    let regex = RegexBuilder::new(text).size_limit(PROGRAM_BYTES).dfa_size_limit(PROGRAM_BYTES).build();
    let regex = regex.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => {
            "the pattern is too large\nhint: counted repetitions of large classes multiply: `(?-u:\\w)` is ASCII's `\\w`".to_owned()
        }
        other => explained(&other),
    })?;
    Ok(Pattern { regex, states: OnceLock::new() })
}

/// The crate's explanation: its first line is a heading, the pattern with carets and the error follow.
fn explained(error: &regex::Error) -> String {
    let text = error.to_string();
    let (heading, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let reason = rest.lines().find_map(|it| it.strip_prefix("error: ")).unwrap_or(heading);
    let excerpt = rest.lines().filter(|it| !it.starts_with("error: "));
    let excerpt: String = excerpt.map(|it| format!("\n{it}")).collect();
    format!("the pattern is wrong: {reason}{excerpt}")
}

impl Pattern {
    /// The compiled form of a pattern.
    ///
    /// # Errors
    /// If it is none, in the crate's own words, or too large.
    pub fn of(text: &str) -> Result<Arc<Pattern>, Unsearched> {
        if let Some(known) = PATTERNS.with_borrow_mut(|it| it.get(text).cloned()) {
            return Ok(known);
        }
        // What is kept is the worker's and not the script's.
        memory::apart(|| {
            let compiled = Arc::new(compile(text).map_err(Unsearched::Wrong)?);
            PATTERNS.with_borrow_mut(|it| it.insert(text.into(), compiled.clone()));
            Ok(compiled)
        })
    }

    /// The first match, if there is one.
    ///
    /// # Errors
    /// As [`Pattern::is_match`].
    pub fn first(self: &Arc<Pattern>, text: &str) -> Result<Option<Groups>, Unsearched> {
        self.search(text, |regex, text| regex.captures(text).map(|it| groups(&it)))
    }

    /// Whether there is a match.
    ///
    /// # Errors
    /// If the text is too long for the pattern, or if the script has to stop.
    pub fn is_match(self: &Arc<Pattern>, text: &str) -> Result<bool, Unsearched> {
        self.search(text, Regex::is_match)
    }

    /// All matches that don't overlap, at most `most` of them.
    ///
    /// # Errors
    /// As [`Pattern::is_match`], and if they are too many.
    pub fn all(self: &Arc<Pattern>, text: &str, most: usize) -> Result<Vec<Groups>, Unsearched> {
        let groups_of = self.regex.captures_len();
        let bound = MOST_MATCHES / groups_of;
        let found = self.search(text, move |regex, text| {
            regex.captures_iter(text).take(most.min(bound + 1)).map(|it| groups(&it)).collect::<Vec<_>>()
        })?;
        if found.len() > bound {
            return Err(Unsearched::Wrong(format!("the text has more than {bound} matches")));
        }
        Ok(found)
    }

    /// The steps that a search takes at most.
    fn steps(&self, text: &str) -> u64 {
        (text.len() as u64).saturating_mul(self.states())
    }

    fn states(&self) -> u64 {
        let count = || thompson::NFA::new(self.regex.as_str()).map_or(u64::MAX, |it| it.states().len() as u64);
        *self.states.get_or_init(count)
    }

    fn search<T: Clone + Send + 'static>(
        self: &Arc<Pattern>,
        text: &str,
        look: impl FnOnce(&Regex, &str) -> T + Send + 'static,
    ) -> Result<T, Unsearched> {
        if text.len() <= SHORT || self.steps(text) <= AT_ONCE {
            return Ok(look(&self.regex, text));
        }
        if self.steps(text) > MOST {
            let message =
                format!("a text of {} bytes is too long for a pattern of {} states", text.len(), self.states());
            return Err(Unsearched::Wrong(message));
        }
        fiber::room(text.len())?;
        // The copy is given up on the other thread, and counted there.
        let (pattern, text) = (self.clone(), memory::apart(|| text.to_owned()));
        let done = fiber::wait(async {
            let turn = TURNS.clone().acquire_owned().await;
            let work = move || {
                let _turn = turn;
                look(&pattern.regex, &text)
            };
            task::spawn_blocking(work).await
        });
        let found = done?.map_err(|error| Unsearched::Wrong(error.to_string()))?;
        // A copy is this thread's own, and counted as the script's.
        let copy = found.clone();
        memory::apart(|| drop(found));
        fiber::room(0)?;
        Ok(copy)
    }
}

fn groups(captures: &regex::Captures<'_>) -> Groups {
    captures.iter().map(|it| it.map(|it| it.range())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        match Pattern::of(text) {
            Err(Unsearched::Wrong(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_pattern_is_compiled_once_and_the_least_used_is_forgotten() {
        let first = Pattern::of("a+").unwrap();
        assert!(Arc::ptr_eq(&first, &Pattern::of("a+").unwrap()));
        for number in 0..KEPT {
            Pattern::of(&format!("b{number}")).unwrap();
        }
        assert!(!Arc::ptr_eq(&first, &Pattern::of("a+").unwrap()));
        assert_eq!(PATTERNS.with_borrow(LruCache::len), KEPT);
    }

    #[test]
    fn a_bad_pattern_is_explained() {
        assert_eq!(message("a(b"), "the pattern is wrong: unclosed group\n    a(b\n     ^");
        assert_eq!(message(&"x".repeat(LONGEST + 1)), "the pattern has 8193 bytes, at most 8192 are possible");
        assert!(message(r"(\w{100}){100}").starts_with("the pattern is too large\nhint: "));
    }

    #[test]
    fn where_nothing_waits_a_long_search_is_refused() {
        let pattern = Pattern::of("(a?){50}b").unwrap();
        assert!(matches!(pattern.is_match(&"a".repeat(1 << 20)), Err(Unsearched::Stopped(Stop::CannotWait))));
        assert!(!pattern.is_match("aaa").unwrap());
    }
}
