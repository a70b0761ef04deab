//! The command line: what is asked for, in which order it is done, and how the process ends.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{ArgAction, Parser};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::binding;
use crate::config::{self, Config, Listen, Overrides};
use crate::db;
use crate::error_log;
use crate::generation::{Generation, Purpose};
use crate::log_file;
use crate::script::Engines;
use crate::server::{self, Refusal, Server};

/// h2o's exit codes, from sysexits.h: a mistake in the configuration, and a fault of the system.
const CONFIGURATION: u8 = 78;
const SYSTEM: u8 = 71;

/// How long the last lines of the logs may take to be written.
const LAST_LINES: Duration = Duration::from_secs(2);

/// An HTTP host whose handlers are Rhai scripts.
#[derive(Parser, Debug)]
#[command(name = "rhaid", version, disable_version_flag = true, about, max_term_width = 100)]
struct Arguments {
    /// The configuration
    #[arg(short, long, value_name = "FILE", default_value = "conf/host.yaml")]
    conf: PathBuf,

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
    let config = config::read(&arguments.conf, &overrides).map_err(|mistaken| {
        let mut problems = vec![mistaken.problems.to_string()];
        problems.extend(mistaken.rest.iter().flat_map(|it| script_problems(it)));
        Refusal::Configuration(problems.join("\n"))
    })?;
    if arguments.test { test(config, arguments.connect) } else { serve(config) }
}

/// Builds everything that start-up would build, and drops it.
fn test(config: Config, connect: bool) -> Result<(), Refusal> {
    let mut problems: Vec<String> = texts(db::check(&config.databases));
    problems.extend(script_problems(&config));
    if connect && problems.is_empty() {
        problems.extend(texts(db::connect_all(&config.databases)));
    }
    if !problems.is_empty() {
        return Err(Refusal::Configuration(problems.join("\n")));
    }
    print(&mut io::stdout(), "configuration OK");
    Ok(())
}

/// The mistakes that only show when the scripts are compiled and started.
fn script_problems(config: &Config) -> Vec<String> {
    let built = tokio::runtime::LocalRuntime::new().map(|runtime| {
        runtime.block_on(Generation::build(config, &Engines::new([binding::register as _]), Purpose::Test))
    });
    match built {
        Ok(built) => built.err().unwrap_or_default(),
        Err(error) => vec![error.to_string()],
    }
}

fn texts(checked: Result<(), Vec<db::Error>>) -> Vec<String> {
    checked.err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

fn serve(config: Config) -> Result<(), Refusal> {
    let system = |error: io::Error| Refusal::System(error.to_string());
    let _log = error_log::install(&config.error_log).map_err(system)?;
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    // Before anybody can know of the process: from now on no signal ends it unseen.
    let runtime = tokio::runtime::LocalRuntime::new().map_err(system)?;
    let signals = runtime.block_on(async { Signals::watch() }).map_err(system)?;
    let listeners = server::bind(&config)?;
    let config = Arc::new(config);
    let server = Server::build(&config, listeners)?;
    // Not before the scripts are known to be good: what is applied stays.
    db::migrate(&config.databases).map_err(|error| Refusal::Configuration(error.to_string()))?;
    let _pid_file = config.process.pid_file.as_deref().map(PidFile::write).transpose()?;
    runtime.block_on(until_asked_to_end(server, &config, signals));
    log_file::flush_all(LAST_LINES);
    Ok(())
}

/// The signals that the process listens to.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    fn watch() -> io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits until one says that the process shall end.
    async fn end(&mut self) -> &'static str {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return "SIGTERM",
                _ = self.interrupt.recv() => return "SIGINT",
                _ = self.hang_up.recv() => {
                    tracing::warn!("received SIGHUP: nothing is read anew while the server runs; start it again for that");
                }
            }
        }
    }
}

/// Serves until SIGTERM or SIGINT, then until the requests in flight are answered, or a second signal.
async fn until_asked_to_end(server: Server, config: &Config, mut signals: Signals) {
    announce(&server, config);
    let serving = server.serve();
    let signal = signals.end().await;
    tracing::info!("received {signal}: requests in flight are answered, then the server ends");
    let (ended, end) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        serving.stop();
        // Nobody waits for it after a second signal.
        let _ = ended.send(());
    });
    tokio::select! {
        _ = end => {}
        signal = signals.end() => tracing::warn!("received {signal} once more: the server ends at once"),
    }
}

fn announce(server: &Server, config: &Config) {
    let addresses: Vec<_> = server.addresses().iter().map(|it| format!("http://{it}/")).collect();
    let threads = config.process.num_threads;
    let line = format!(
        "rhaid {} (pid {}) serves {} with {threads} thread{}",
        env!("CARGO_PKG_VERSION"),
        std::process::id(),
        addresses.join(" "),
        if threads == 1 { "" } else { "s" },
    );
    print(&mut io::stderr(), &line);
}

/// Prints a line for whoever reads it: that nobody does is no fault.
fn print(to: &mut impl Write, line: &str) {
    let _ = writeln!(to, "{line}");
}

/// A file with the process id, removed when the process ends by itself.
struct PidFile<'a>(&'a Path);

impl PidFile<'_> {
    fn write(path: &Path) -> Result<PidFile<'_>, Refusal> {
        fs::write(path, format!("{}\n", std::process::id()))
            .map_err(|error| Refusal::System(format!("cannot write the pid file `{}`: {error}", path.display())))?;
        Ok(PidFile(path))
    }
}

impl Drop for PidFile<'_> {
    fn drop(&mut self) {
        // Somebody else may have removed it: it is gone then all the same.
        let _ = fs::remove_file(self.0);
    }
}
