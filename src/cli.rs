//! The command line: what is asked for, in which folder it is done, and how the process ends.

mod call;
mod check;
mod configuration;
mod control;
mod db;
mod new;
mod reference;
mod reload;
mod serve;
mod status;
mod test;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgAction, Args, CommandFactory, Parser, Subcommand};

use crate::config::{Listen, Overrides};
use crate::net;
use crate::server::Refusal;

/// h2o's exit codes, from sysexits.h: a mistake in the configuration, and a fault of the system.
const CONFIGURATION: u8 = 78;
const SYSTEM: u8 = 71;

/// An HTTP host whose handlers are Rhai scripts. Without a command it serves.
#[derive(Parser, Debug)]
#[command(name = "rhaid", version, disable_version_flag = true, max_term_width = 100)]
#[command(subcommand_value_name = "COMMAND")]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    serving: Serving,

    /// The configuration [default: conf/host.yaml, or else host.yaml]
    #[arg(short, long, value_name = "FILE", global = true)]
    conf: Option<PathBuf>,

    /// Change to this folder first
    #[arg(long, value_name = "DIR", global = true)]
    chdir: Option<PathBuf>,

    /// Print the version
    #[arg(short = 'v', long, action = ArgAction::Version)]
    version: Option<bool>,
}

#[derive(Subcommand, Debug)]
enum Command {
    New(new::New),
    Call(call::Call),
    Test(test::Test),
    Status(status::Status),
    Reload(reload::Reload),
    Db(db::Db),
    Reference(reference::Reference),
}

/// What only serving, or the check of what would be served, goes by.
#[derive(Args, Debug)]
#[group(multiple = true)]
struct Serving {
    /// Check the configuration and start its scripts, without serving or changing anything
    #[arg(short, long)]
    test: bool,

    /// With --test: connect to the databases too
    #[arg(long, requires = "test")]
    connect: bool,

    /// Listen here (`8080`, `127.0.0.1:8080`; port 0 takes a free one) instead of where the configuration says
    #[arg(long, value_name = "ADDRESS", value_parser = listen)]
    listen: Option<Listen>,

    /// Take no changed files up while the server runs, but on SIGHUP
    #[arg(long)]
    no_watch: bool,

    /// Number of workers instead of the configuration's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    num_threads: Option<u16>,
}

impl Serving {
    /// The first of these options that was given.
    fn given(&self) -> Option<&'static str> {
        let given =
            [(self.test, "--test"), (self.listen.is_some(), "--listen"), (self.num_threads.is_some(), "--num-threads")];
        given.into_iter().find(|(is_given, _)| *is_given).map(|(_, name)| name)
    }
}

fn listen(text: &str) -> Result<Listen, String> {
    Listen::parse(text)
        .ok_or_else(|| "expected a port such as `8080`, or an address such as `127.0.0.1:8080`".to_owned())
}

/// Does what the command line asks for.
pub fn run() -> ExitCode {
    let arguments = Arguments::try_parse().unwrap_or_else(|mistake| explain(mistake).exit());
    if let (Some(_), Some(option)) = (&arguments.command, arguments.serving.given()) {
        let message = format!("`{option}` is for serving, and cannot be used with a command");
        Arguments::command().error(ErrorKind::ArgumentConflict, message).exit();
    }
    match execute(&arguments) {
        Ok(code) => code,
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

/// A file in the place of a command is a configuration, most likely.
fn explain(mut mistake: clap::Error) -> clap::Error {
    if let Some(ContextValue::String(word)) = mistake.get(ContextKind::InvalidSubcommand)
        && Path::new(word).extension().is_some_and(|it| it == "yaml" || it == "yml")
    {
        let hint = format!("`--conf {word}` names a configuration").into();
        mistake.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint]));
    }
    mistake
}

fn execute(arguments: &Arguments) -> Result<ExitCode, Refusal> {
    let system = |error: io::Error| Refusal::System(error.to_string());
    let serves = arguments.command.is_none() && !arguments.serving.test;
    // First of all, before a file is opened or the folder is another.
    let predecessor = if serves { net::adopt().map_err(system)? } else { None };
    let origin = serve::Origin::of_this_process();
    if let Some(folder) = &arguments.chdir {
        std::env::set_current_dir(folder)
            .map_err(|error| Refusal::System(format!("cannot change to the folder `{}`: {error}", folder.display())))?;
    }
    let serving = &arguments.serving;
    let overrides = Overrides {
        listen: serving.listen.clone(),
        num_threads: serving.num_threads.map(usize::from),
        no_watch: serving.no_watch,
        inherited: net::inherited_addresses().iter().filter_map(|it| Listen::parse(it)).collect(),
    };
    let config = || configuration::read(arguments.conf.as_deref(), &overrides);
    match &arguments.command {
        Some(Command::New(new)) => new::run(new),
        Some(Command::Call(call)) => call::run(call, &config()?),
        Some(Command::Test(test)) => test::run(test, config()?),
        Some(Command::Status(status)) => status::run(status, arguments.conf.as_deref()),
        Some(Command::Reload(reload)) => reload::run(reload, arguments.conf.as_deref()),
        Some(Command::Db(db)) => db::run(db, &config()?),
        Some(Command::Reference(reference)) => reference::run(reference),
        None if serving.test => check::run(&config()?, serving.connect),
        None => {
            let beginning = serve::Beginning { read_from: SystemTime::now(), origin, predecessor };
            let config = config()?;
            let named = arguments.conf.clone();
            serve::run(config, beginning, Box::new(move || configuration::reread(named.as_deref(), &overrides)))
        }
    }
}

/// Prints a line for whoever reads it: that nobody does is no fault.
fn print(to: &mut impl Write, line: &str) {
    let _ = writeln!(to, "{line}");
}
