//! Runs every case file below `tests/cases`, or below the folder that `CASES` names, against the real server.

use std::path::PathBuf;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

mod runner;
#[allow(dead_code, unused_imports, reason = "the cases share one server of each kind and need no other")]
mod servers;

use runner::play::Mode;

fn main() -> ExitCode {
    let folder = std::env::var_os("CASES")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases"), PathBuf::from);
    let files = match runner::case_files(&folder) {
        Ok(files) => files,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let mode = if std::env::var_os("UPDATE").is_some_and(|value| value == "1") { Mode::Update } else { Mode::Compare };
    let mut arguments = Arguments::from_args();
    // Cases mostly wait for a process of their own, so that more of them than cores finish sooner.
    arguments.test_threads.get_or_insert_with(|| std::thread::available_parallelism().map_or(4, |n| n.get().max(4)));
    let trials: Vec<Trial> = files.into_iter().flat_map(|file| runner::trials(&folder, file, mode)).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}
