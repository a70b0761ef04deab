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
/// Longer ones are compiled on a thread of their own: each byte may take 10 µs, and what a few bytes make is bounded by
/// [`PROGRAM_BYTES`].
const QUICK: usize = 256;
/// Bytes of a compiled pattern, and of what its search builds.
const PROGRAM_BYTES: usize = 2 << 20;
/// Shorter texts are searched at once, whatever the pattern.
const SHORT: usize = 64;
/// Bytes of text times states of the pattern that a worker searches at once. The worst patterns take some 15 ns for each,
/// most a hundredth of that. A search for all matches takes so many steps for each match: `a*b|a` in a text of `a` looks
/// through the whole rest each time.
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
        if text.len() <= QUICK || text.len() > LONGEST {
            return Pattern::at_once(text);
        }
        // The copy is given up on the other thread, and the pattern is counted there.
        let copy = memory::apart(|| text.to_owned());
        let compiled = elsewhere(move || {
            let pattern = compile(&copy)?;
            pattern.states();
            Ok(Arc::new(pattern))
        });
        match compiled {
            Ok(compiled) => Ok(kept(text, compiled.map_err(Unsearched::Wrong)?)),
            Err(Unsearched::Stopped(Stop::CannotWait)) => Pattern::at_once(text),
            Err(unsearched) => Err(unsearched),
        }
    }

    /// A pattern for a whole text, compiled at once: it has to be short.
    ///
    /// # Errors
    /// As [`Pattern::of`], in words that follow what it is.
    pub(super) fn anchored(text: &str) -> Result<Arc<Pattern>, String> {
        let anchored = format!(r"\A(?:{text})\z");
        if let Some(known) = PATTERNS.with_borrow_mut(|it| it.get(anchored.as_str()).cloned()) {
            return Ok(known);
        }
        // By itself first: `a)|(b` would be one between the parentheses that anchor it.
        regex_automata::util::syntax::parse(text).map_err(|error| error.to_string())?;
        Pattern::at_once(&anchored).map_err(|unsearched| match unsearched {
            Unsearched::Wrong(message) => message,
            Unsearched::Stopped(stop) => format!("{stop:?}"),
        })
    }

    fn at_once(text: &str) -> Result<Arc<Pattern>, Unsearched> {
        // What is kept is the worker's and not the script's.
        memory::apart(|| Ok(kept(text, Arc::new(compile(text).map_err(Unsearched::Wrong)?))))
    }

    /// The first match, if there is one.
    ///
    /// # Errors
    /// As [`Pattern::is_match`].
    pub fn first(self: &Arc<Pattern>, text: &str) -> Result<Option<Groups>, Unsearched> {
        self.search(text, |regex, text, _| Ok(regex.captures(text).map(|it| groups(&it))))
    }

    /// Whether there is a match.
    ///
    /// # Errors
    /// If the text is too long for the pattern, or if the script has to stop.
    pub fn is_match(self: &Arc<Pattern>, text: &str) -> Result<bool, Unsearched> {
        self.search(text, |regex, text, _| Ok(regex.is_match(text)))
    }

    /// All matches that don't overlap, at most `most` of them.
    ///
    /// # Errors
    /// As [`Pattern::is_match`], and if they are too many.
    pub fn all(self: &Arc<Pattern>, text: &str, most: usize) -> Result<Vec<Groups>, Unsearched> {
        let groups_of = self.regex.captures_len();
        let bound = MOST_MATCHES / groups_of;
        let found = self.search(text, move |regex, text, between| {
            let mut found = Vec::new();
            for captures in regex.captures_iter(text).take(most.min(bound + 1)) {
                found.push(groups(&captures));
                between()?;
            }
            Ok(found)
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
        look: impl FnOnce(&Regex, &str, &mut dyn FnMut() -> Result<(), Stop>) -> Result<T, Stop> + Send + 'static,
    ) -> Result<T, Unsearched> {
        if text.len() <= SHORT || self.steps(text) <= AT_ONCE {
            return Ok(look(&self.regex, text, &mut fiber::slice)?);
        }
        if self.steps(text) > MOST {
            let message =
                format!("a text of {} bytes is too long for a pattern of {} states", text.len(), self.states());
            return Err(Unsearched::Wrong(message));
        }
        fiber::room(text.len())?;
        // The copy is given up on the other thread, and counted there.
        let (pattern, text) = (self.clone(), memory::apart(|| text.to_owned()));
        let waited_for = Arc::new(());
        let waiting = Arc::downgrade(&waited_for);
        let found = elsewhere(move || {
            look(&pattern.regex, &text, &mut || match waiting.strong_count() {
                0 => Err(Stop::Cancelled),
                _ => Ok(()),
            })
        });
        drop(waited_for);
        let found = found??;
        // A copy is this thread's own, and counted as the script's.
        let copy = found.clone();
        memory::apart(|| drop(found));
        fiber::room(0)?;
        Ok(copy)
    }
}

/// Does the work on another thread when its turn has come. A script that is stopped meanwhile leaves it behind.
fn elsewhere<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Unsearched> {
    let done = fiber::wait(async {
        let turn = TURNS.clone().acquire_owned().await;
        let work = move || {
            let _turn = turn;
            work()
        };
        task::spawn_blocking(work).await
    });
    done?.map_err(|error| Unsearched::Wrong(error.to_string()))
}

/// Remembers a pattern.
fn kept(text: &str, compiled: Arc<Pattern>) -> Arc<Pattern> {
    memory::apart(|| PATTERNS.with_borrow_mut(|it| it.insert(text.into(), compiled.clone())));
    compiled
}

fn groups(captures: &regex::Captures<'_>) -> Groups {
    captures.iter().map(|it| it.map(|it| it.range())).collect()
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::fiber::{Limits, Waiting};

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

    /// How often others had their turn while `work` was done.
    fn turns<T>(limits: Limits, work: impl FnOnce() -> T) -> (T, u32) {
        tokio::runtime::LocalRuntime::new().unwrap().block_on(async {
            let mut work = pin!(fiber::run(limits, work));
            let mut turns = 0;
            loop {
                tokio::select! {
                    biased;
                    done = &mut work => return (done.unwrap(), turns),
                    () = tokio::task::yield_now() => turns += 1,
                }
            }
        })
    }

    #[test]
    fn a_search_for_many_matches_gives_others_their_turn_between_them() {
        let search = || Pattern::of("A*B|A").unwrap().all(&"A".repeat(20_000), usize::MAX).unwrap().len();
        let (found, turns) = turns(Limits::default(), search);
        assert_eq!(found, 20_000);
        assert!(turns > 5, "{turns}");
    }

    #[test]
    fn a_search_that_nobody_waits_for_any_more_ends_between_two_matches() {
        let limits = Limits { time: Duration::from_millis(50), ..Limits::default() };
        let search = || Pattern::of("A*B|A").unwrap().all(&"A".repeat(150_000), usize::MAX).map(|it| it.len());
        let started = Instant::now();
        let (found, _) = turns(limits, search);
        assert!(matches!(found, Err(Unsearched::Stopped(Stop::Time))), "{found:?}");
        // The runtime waits for its threads when it is dropped; the whole search takes 15 s and more.
        assert!(started.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn a_long_pattern_is_compiled_beside_the_worker() {
        let long = |ends: &str| "(a|b)".repeat(100) + ends;
        tokio::runtime::LocalRuntime::new().unwrap().block_on(async {
            let cores = thread::available_parallelism().map_or(1, |it| u32::try_from(it.get()).unwrap());
            let turns = TURNS.clone().acquire_many_owned(cores.min(8)).await.unwrap();
            let mut work = pin!(fiber::run(Limits::default(), || Pattern::of(&long("c")).is_ok()));
            let is_done = tokio::select! {
                biased;
                _ = &mut work => true,
                () = tokio::task::yield_now() => false,
            };
            assert!(!is_done, "it did not wait for its turn");
            drop(turns);
            assert!(work.await.unwrap());
            let wrong = fiber::run(Limits::default(), || Pattern::of(&long("(")).is_err());
            assert!(wrong.await.unwrap());
            // At the start of a script nothing waits, and what is known is not waited for.
            let start = Limits { waiting: Waiting::Refused, ..Limits::default() };
            for ends in ["c", "d"] {
                assert!(fiber::run(start, || Pattern::of(&long(ends)).is_ok()).await.unwrap());
            }
        });
    }
}
