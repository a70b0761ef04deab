//! `rhaid status`: what a server that runs is doing.

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use jiff::Timestamp;

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

/// A line for each thing, what is wrong before the figures.
fn described(snapshot: &Snapshot) -> String {
    let Snapshot { generation, answers, .. } = snapshot;
    let mut lines = vec![format!("rhaid {} serves {}", snapshot.server_version, snapshot.listeners.join(" "))];
    if let Some(refusal) = &snapshot.refusal {
        let problems: String = refusal.problems.lines().map(|it| format!("\n    {it}")).collect();
        lines.push(format!("  REFUSED      {}: {}{problems}", when(&refusal.time, snapshot), refusal.cause));
    }
    let took = snapshot.generation_milliseconds;
    let since = when(&snapshot.generation_time, snapshot);
    lines.extend([
        format!("  generation   {generation}, {since}, in {took} ms: {}", snapshot.generation_cause),
        format!(
            "  process      {}, up for {}, {} threads",
            snapshot.pid,
            span(snapshot.uptime),
            snapshot.worker_threads
        ),
        format!("  files        {}", snapshot.config.display()),
        format!("  connections  {} of {}", snapshot.connections, snapshot.max_connections),
        format!(
            "  requests     {}, {} in flight; {} × 2xx, {} × 3xx, {} × 4xx, {} × 5xx",
            snapshot.requests,
            snapshot.requests_in_flight,
            answers.successful,
            answers.redirections,
            answers.client_errors,
            answers.server_errors
        ),
    ]);
    lines.join("\n")
}

/// A time, and how long ago it was.
fn when(time: &str, snapshot: &Snapshot) -> String {
    let moment = |text: &str| text.parse::<Timestamp>().ok();
    match (moment(time), moment(&snapshot.current_time)) {
        (Some(then), Some(now)) => {
            let seconds = u64::try_from(now.duration_since(then).as_secs()).unwrap_or_default();
            format!("{} ago ({time})", span(seconds))
        }
        _ => time.to_owned(),
    }
}

/// Seconds as people say them, in two units at most.
fn span(seconds: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3600, "h"), (60, "min"), (1, "s")];
    let largest = UNITS.iter().position(|(size, _)| seconds >= *size).unwrap_or(UNITS.len() - 1);
    let mut rest = seconds;
    let part = |(size, unit): &(u64, &str)| {
        let count = rest / size;
        rest %= size;
        format!("{count} {unit}")
    };
    UNITS[largest..].iter().take(2).map(part).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_has_two_units_at_most() {
        for (seconds, expected) in
            [(0, "0 s"), (59, "59 s"), (60, "1 min 0 s"), (3661, "1 h 1 min"), (200_000, "2 d 7 h")]
        {
            assert_eq!(span(seconds), expected);
        }
    }
}
