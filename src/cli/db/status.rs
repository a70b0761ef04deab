//! `rhaid db status`: which migrations were applied.

use std::io;
use std::process::ExitCode;

use clap::Args;

use crate::cli::print;
use crate::config::Config;
use crate::db::{self, Kind, Named, Standing, State};
use crate::server::{Refusal, assume};

/// Say of each migration whether it was applied, without changing anything
///
/// Ends with 0 if all were, 1 if some are pending, changed or missing, 71 if a database can't be asked, 78 for a mistake in
/// the configuration or in the name of a migration's file.
#[derive(Args, Debug)]
pub(super) struct Status {
    /// Of this database alone [default: all]
    #[arg(long, value_name = "NAME")]
    database: Option<String>,
}

/// Prints how each migration stands.
pub(super) fn run(status: &Status, config: &Config) -> Result<ExitCode, Refusal> {
    let configuration = |error: db::Error| Refusal::Configuration(error.to_string());
    let one;
    let databases = match &status.database {
        Some(name) => {
            one = [db::named(&config.databases, Some(name)).map_err(configuration)?.clone()];
            &one[..]
        }
        None => &config.databases.databases,
    };
    if databases.is_empty() {
        db::named(&config.databases, None).map_err(configuration)?;
    }
    config.process.user.as_ref().map(assume).transpose()?;
    let (mut is_done, mut faults) = (true, Vec::new());
    for database in databases {
        match db::status(database) {
            Ok(standings) => is_done &= show(database, standings.as_deref()),
            Err(error) if error.kind == Kind::Migration => return Err(configuration(error)),
            Err(error) => faults.push(error.to_string()),
        }
    }
    if !faults.is_empty() {
        return Err(Refusal::System(faults.join("\n")));
    }
    Ok(if is_done { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints a database, and says whether all of its migrations were applied.
fn show(database: &Named, standings: Option<&[Standing]>) -> bool {
    let line = |text: &str| print(&mut io::stdout(), text);
    let Some(standings) = standings else {
        line(&format!("{} ({}): it has no `migrations`", database.name, database.url));
        return true;
    };
    if standings.is_empty() {
        line(&format!("{} ({}): the folder of its migrations is empty", database.name, database.url));
        return true;
    }
    line(&format!("{} ({}):", database.name, database.url));
    let width = standings.iter().map(|it| it.name.chars().count()).max().unwrap_or_default();
    for standing in standings {
        let state = match &standing.state {
            State::Applied(at) => format!("applied {at}"),
            State::Pending => "pending".to_owned(),
            State::Changed(at) => format!("changed: it was applied {at}, and its file is another now"),
            State::Missing(at) => format!("missing: it was applied {at}, and its file is not there"),
        };
        line(&format!("  {:width$}  {state}", standing.name));
    }
    standings.iter().all(|it| matches!(it.state, State::Applied(_)))
}
