//! `rhaid status`: what a server that runs is doing.

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use super::control;
use super::print;
use crate::server::Refusal;
use crate::status::Snapshot;

const PATIENCE: Duration = Duration::from_secs(10);

/// Say what the running server is doing
///
/// Ends with 0 where one runs, also if the last change of its files was refused, which is said; with 71 where none of the
/// configuration runs.
#[derive(Args, Debug)]
pub(super) struct Status {
    /// Print it as JSON, as `status: ON` serves it
    #[arg(long)]
    json: bool,
}

pub(super) fn run(status: &Status, named: Option<&Path>) -> Result<ExitCode, Refusal> {
    let snapshot: Snapshot = control::ask(named, control::STATUS, PATIENCE)?;
    let text = match status.json {
        true => serde_json::to_string_pretty(&snapshot).unwrap_or_default(),
        false => described(&snapshot),
    };
    print(&mut io::stdout(), &text);
    Ok(ExitCode::SUCCESS)
}

fn described(snapshot: &Snapshot) -> String {
    let Snapshot { generation, generation_time, generation_cause, answers, .. } = snapshot;
    let mut lines = vec![
        format!("rhaid {} (pid {}) serves {}", snapshot.server_version, snapshot.pid, snapshot.listeners.join(" ")),
        format!("since {}, {} requests", snapshot.restart_time, snapshot.requests),
        format!("generation {generation} since {generation_time}: {generation_cause}"),
        format!(
            "answers: {} × 2xx, {} × 3xx, {} × 4xx, {} × 5xx",
            answers.successful, answers.redirections, answers.client_errors, answers.server_errors
        ),
        format!(
            "now: {} of {} connections, {} requests in flight, {} workers",
            snapshot.connections, snapshot.max_connections, snapshot.requests_in_flight, snapshot.worker_threads
        ),
    ];
    if let Some(refusal) = &snapshot.refusal {
        lines.push(format!(
            "\nNOT SERVED: a change was refused at {}, since {}:\n{}",
            refusal.time, refusal.cause, refusal.problems
        ));
    }
    lines.join("\n")
}
