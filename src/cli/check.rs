//! `rhaid -t`: builds everything that start-up would build, and drops it.

use std::io;
use std::process::ExitCode;

use super::{configuration, print};
use crate::config::Config;
use crate::db;
use crate::server::Refusal;

/// Checks a configuration that has no mistakes of its own; its databases are asked if `connect`.
pub(super) fn run(config: &Config, connect: bool) -> Result<ExitCode, Refusal> {
    let mut problems: Vec<String> = texts(db::check(&config.databases));
    problems.extend(configuration::script_problems(config));
    if connect && problems.is_empty() {
        let faults = db::connect_all(&config.databases).err().unwrap_or_default();
        let is_away = !faults.is_empty() && faults.iter().all(|it| it.kind == db::Kind::Away);
        problems.extend(texts(Err(faults)));
        if is_away {
            return Err(Refusal::System(problems.join("\n")));
        }
    }
    if !problems.is_empty() {
        return Err(Refusal::Configuration(problems.join("\n")));
    }
    print(&mut io::stdout(), "configuration OK");
    Ok(ExitCode::SUCCESS)
}

fn texts(checked: Result<(), Vec<db::Error>>) -> Vec<String> {
    checked.err().unwrap_or_default().iter().map(ToString::to_string).collect()
}
