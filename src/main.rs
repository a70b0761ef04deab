//! The `rhaid` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    rhaid::cli::run()
}
