//! `rhaid db`: the databases of the configuration, without a server.

mod load;
mod status;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::config::Config;
use crate::server::Refusal;

/// Load a dump into a database, or say which migrations were applied
#[derive(Args, Debug)]
pub(super) struct Db {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Load(load::Load),
    Status(status::Status),
}

/// Does what the command line asks for.
pub(super) fn run(db: &Db, config: &Config) -> Result<ExitCode, Refusal> {
    match &db.command {
        Command::Load(load) => load::run(load, config),
        Command::Status(status) => status::run(status, config),
    }
}
