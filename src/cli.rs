//! The command line: what is asked for, in which folder it is done, and how the process ends.

mod check;
mod configuration;
mod serve;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgAction, Parser};

use crate::config::{Listen, Overrides};
use crate::server::Refusal;

/// h2o's exit codes, from sysexits.h: a mistake in the configuration, and a fault of the system.
const CONFIGURATION: u8 = 78;
const SYSTEM: u8 = 71;

/// An HTTP host whose handlers are Rhai scripts.
#[derive(Parser, Debug)]
#[command(name = "rhaid", version, disable_version_flag = true, about, max_term_width = 100)]
struct Arguments {
    /// The configuration [default: conf/host.yaml, or else host.yaml]
    #[arg(short, long, value_name = "FILE")]
    conf: Option<PathBuf>,

    /// Check the configuration and start its scripts, without serving or changing anything
    #[arg(short, long)]
    test: bool,

    /// With --test: connect to the databases too
    #[arg(long, requires = "test")]
    connect: bool,

    /// Change to this folder first
    #[arg(long, value_name = "DIR")]
    chdir: Option<PathBuf>,

    /// Listen here (`8080`, `127.0.0.1:8080`; port 0 takes a free one) instead of where the configuration says
    #[arg(long, value_name = "ADDRESS", value_parser = listen)]
    listen: Option<Listen>,

    /// Number of workers instead of the configuration's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    num_threads: Option<u16>,

    /// Print the version
    #[arg(short = 'v', long, action = ArgAction::Version)]
    version: Option<bool>,
}

fn listen(text: &str) -> Result<Listen, String> {
    Listen::parse(text)
        .ok_or_else(|| "expected a port such as `8080`, or an address such as `127.0.0.1:8080`".to_owned())
}

/// Does what the command line asks for.
pub fn run() -> ExitCode {
    let arguments = Arguments::parse();
    match execute(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Refusal::Configuration(message)) => {
            print(&mut io::stderr(), &message);
            ExitCode::from(CONFIGURATION)
        }
        Err(Refusal::System(message)) => {
            print(&mut io::stderr(), &format!("rhaid: {message}"));
            ExitCode::from(SYSTEM)
        }
    }
}

fn execute(arguments: &Arguments) -> Result<(), Refusal> {
    if let Some(folder) = &arguments.chdir {
        std::env::set_current_dir(folder)
            .map_err(|error| Refusal::System(format!("cannot change to the folder `{}`: {error}", folder.display())))?;
    }
    let overrides = Overrides { listen: arguments.listen.clone(), num_threads: arguments.num_threads.map(usize::from) };
    let config = configuration::read(arguments.conf.as_deref(), &overrides)?;
    if arguments.test { check::run(&config, arguments.connect) } else { serve::run(config) }
}

/// Prints a line for whoever reads it: that nobody does is no fault.
fn print(to: &mut impl Write, line: &str) {
    let _ = writeln!(to, "{line}");
}
