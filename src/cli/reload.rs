//! `rhaid reload`: lets a server that runs take up what has changed, and says what came of it.

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use super::control::{self, Outcome, RELOAD};
use super::print;
use crate::server::Refusal;

/// Let the running server take up what has changed, and wait for the outcome
///
/// Ends with 0 when what the files say now is served, also where it was before; with 78 when it was refused, and prints the
/// mistakes: the server goes on as before. With 71 where no server of the configuration runs, or it does not answer in time.
#[derive(Args, Debug)]
pub(super) struct Reload {
    /// Seconds to wait
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
}

pub(super) fn run(reload: &Reload, named: Option<&Path>) -> Result<ExitCode, Refusal> {
    match control::ask(named, RELOAD, Duration::from_secs(reload.timeout))? {
        Outcome::Generation(number) => {
            print(&mut io::stdout(), &format!("generation {number} is served"));
            Ok(ExitCode::SUCCESS)
        }
        Outcome::Refused(problems) => Err(Refusal::Configuration(problems)),
    }
}
