//! `rhaid reference`: what can be configured and called, as text or for editors.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::print;
use crate::reference;
use crate::server::Refusal;

/// Print every directive, function and key of the env, with examples
#[derive(Args, Debug)]
pub(super) struct Reference {
    /// Write definition files (`*.d.rhai`) for Rhai's language server into this folder instead
    #[arg(long, value_name = "DIR")]
    definitions: Option<PathBuf>,
}

/// Prints or writes it.
pub(super) fn run(reference: &Reference) -> Result<ExitCode, Refusal> {
    let Some(folder) = &reference.definitions else {
        // Whoever has read enough closes the pipe.
        let _ = io::stdout().write_all(reference::text().as_bytes());
        return Ok(ExitCode::SUCCESS);
    };
    let place = folder.display();
    reference::definitions(folder)
        .map_err(|error| Refusal::System(format!("cannot write definition files to `{place}`: {error}")))?;
    print(&mut io::stdout(), &format!("wrote definition files for editors to `{place}`"));
    Ok(ExitCode::SUCCESS)
}
