//! What the process is doing, for whoever asks: the generation that it serves, one that was refused,
//! and how much was answered. There is one for the process, for it is the process that is asked.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

static STATE: LazyLock<Mutex<State>> = LazyLock::new(|| Mutex::new(State::new()));

/// Everything that is known, by the names that h2o's status has where it says the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Snapshot {
    /// rhaid's.
    pub server_version: String,
    /// The number of the process.
    pub pid: u32,
    /// The configuration as it was named.
    pub config: PathBuf,
    /// Now, in UTC (RFC 3339), as all times.
    pub current_time: String,
    /// When the process started.
    pub restart_time: String,
    /// For how many seconds it has been running.
    pub uptime: u64,
    /// What is served.
    pub generation: u64,
    /// Since when it is served.
    pub generation_time: String,
    /// What it came by.
    pub generation_cause: String,
    /// How long it took from its cause, in milliseconds.
    pub generation_milliseconds: u64,
    /// What came later and was refused, if the last was.
    pub refusal: Option<Refusal>,
    /// How many were refused.
    pub refusals: u64,
    /// Where connections are taken.
    pub listeners: Vec<String>,
    /// Workers.
    pub worker_threads: usize,
    /// Connections that are open; this and the rest may be a second old.
    pub connections: u64,
    /// Connections that may be.
    pub max_connections: usize,
    /// Requests that are being answered.
    pub requests_in_flight: u64,
    /// Requests that were answered.
    pub requests: u64,
    /// How many of them with a status of 100 to 199 (never the last one), and so on.
    pub answers: Answers,
}

/// Answers by the first digit of their status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answers {
    /// Successful.
    #[serde(rename = "2xx")]
    pub successful: u64,
    /// Redirections.
    #[serde(rename = "3xx")]
    pub redirections: u64,
    /// Errors of the clients, those too that went away.
    #[serde(rename = "4xx")]
    pub client_errors: u64,
    /// Errors of the server.
    #[serde(rename = "5xx")]
    pub server_errors: u64,
    /// Statuses that stand for nothing (RFC 9110 §15).
    pub other: u64,
}

/// A generation that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// When.
    pub time: String,
    /// What it came by.
    pub cause: String,
    /// What is wrong with it, as `rhaid -t` says it.
    pub problems: String,
}

impl Refusal {
    /// What everybody may see: without the excerpts, which may show what is secret.
    #[must_use]
    pub fn without_excerpts(&self) -> Refusal {
        let lines = self.problems.lines().filter(|it| !it.starts_with([' ', '\t']));
        Refusal { problems: lines.collect::<Vec<_>>().join("\n"), ..self.clone() }
    }
}

/// A generation that is served from now on.
pub struct Served<'a> {
    /// Its number.
    pub number: u64,
    /// What it came by.
    pub cause: &'a str,
    /// How long it took.
    pub took: Duration,
    /// Where connections are taken.
    pub listeners: Vec<String>,
    /// Workers.
    pub threads: usize,
    /// Connections that may be open.
    pub max_connections: usize,
}

/// What one worker has done; it says so from time to time.
#[derive(Debug, Default)]
pub struct Counters {
    /// Connections that are open.
    pub connections: AtomicU64,
    /// Requests that are being answered.
    pub in_flight: AtomicU64,
    /// Answers by the first digit of their status; 0 is for those that have none.
    pub answers: [AtomicU64; 6],
}

struct State {
    config: PathBuf,
    started: Timestamp,
    generation: u64,
    since: Timestamp,
    cause: String,
    took: Duration,
    refusal: Option<Refusal>,
    refusals: u64,
    listeners: Vec<String>,
    threads: usize,
    max_connections: usize,
    /// Those too of workers that have ended: what they answered was answered.
    workers: Vec<Arc<Counters>>,
}

/// Notes that the process begins with a configuration.
pub fn begin(config: &Path) {
    let mut state = state();
    state.config = config.to_owned();
}

/// Notes that a generation is served.
pub fn served(generation: Served<'_>) {
    let mut state = state();
    state.generation = generation.number;
    state.since = Timestamp::now();
    generation.cause.clone_into(&mut state.cause);
    state.took = generation.took;
    state.refusal = None;
    state.listeners = generation.listeners;
    state.threads = generation.threads;
    state.max_connections = generation.max_connections;
}

/// Notes that one was refused.
pub fn refused(cause: &str, problems: &str) {
    let mut state = state();
    state.refusals += 1;
    state.refusal =
        Some(Refusal { time: moment(Timestamp::now()), cause: cause.to_owned(), problems: problems.to_owned() });
}

/// What a worker counts in.
pub fn counters() -> Arc<Counters> {
    let counters = Arc::new(Counters::default());
    state().workers.push(counters.clone());
    counters
}

/// What is known now.
pub fn snapshot() -> Snapshot {
    let state = state();
    let now = Timestamp::now();
    let sum =
        |of: &dyn Fn(&Counters) -> &AtomicU64| state.workers.iter().map(|it| of(it).load(Ordering::Relaxed)).sum();
    let answers: [u64; 6] = std::array::from_fn(|class| sum(&|it| &it.answers[class]));
    Snapshot {
        server_version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        config: state.config.clone(),
        current_time: moment(now),
        restart_time: moment(state.started),
        uptime: u64::try_from(now.duration_since(state.started).as_secs()).unwrap_or_default(),
        generation: state.generation,
        generation_time: moment(state.since),
        generation_cause: state.cause.clone(),
        generation_milliseconds: u64::try_from(state.took.as_millis()).unwrap_or(u64::MAX),
        refusal: state.refusal.clone(),
        refusals: state.refusals,
        listeners: state.listeners.clone(),
        worker_threads: state.threads,
        connections: sum(&|it| &it.connections),
        max_connections: state.max_connections,
        requests_in_flight: sum(&|it| &it.in_flight),
        requests: answers.iter().sum(),
        answers: Answers {
            successful: answers[2],
            redirections: answers[3],
            client_errors: answers[4],
            server_errors: answers[5],
            other: answers[0] + answers[1],
        },
    }
}

impl State {
    fn new() -> State {
        let now = Timestamp::now();
        State {
            config: PathBuf::new(),
            started: now,
            generation: 0,
            since: now,
            cause: String::new(),
            took: Duration::ZERO,
            refusal: None,
            refusals: 0,
            listeners: Vec::new(),
            threads: 0,
            max_connections: 0,
            workers: Vec::new(),
        }
    }
}

/// Who panicked while it had the lock left the state whole: each change is one of plain values.
fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// To the second: nobody needs more.
fn moment(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_shows_no_excerpts_to_everybody() {
        let problems =
            "host.yaml:3:10: `url` is no URL\n  3 |     url: mysql://u:secret@x\n    |          ^^^\nhint: write one";
        let refusal = Refusal { time: String::new(), cause: String::new(), problems: problems.to_owned() };
        assert_eq!(refusal.without_excerpts().problems, "host.yaml:3:10: `url` is no URL\nhint: write one");
    }
}
