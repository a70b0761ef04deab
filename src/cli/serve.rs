//! `rhaid`: serves until a signal ends it.

mod control;
mod files;
mod pid_file;
mod reloading;
mod signals;
mod systemd;
mod upgrade;

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use self::control::Control;
use self::files::Files;
pub(super) use self::files::Reread;
use self::pid_file::SharedPidFile;
use self::reloading::{Reloading, note};
use self::signals::{Asked, Signals};
pub(super) use self::upgrade::Origin;
use self::upgrade::Succession;
use super::print;
use crate::config::Config;
use crate::db;
use crate::error_log;
use crate::log_file;
use crate::net::{self, Bequest, Predecessor};
use crate::server::{self, Ending, Refusal, Server};
use crate::status;

/// How long the last lines of the logs may take to be written.
const LAST_LINES: Duration = Duration::from_secs(2);

/// How the process began.
pub(super) struct Beginning {
    /// When the reading of the configuration began.
    pub(super) read_from: SystemTime,
    pub(super) origin: io::Result<Origin>,
    /// Whom it replaces, if anybody.
    pub(super) predecessor: Option<Predecessor>,
}

/// Serves a configuration, and what `reread` gives when a file has changed.
pub(super) fn run(config: Config, beginning: Beginning, reread: Reread) -> Result<ExitCode, Refusal> {
    let begun = Instant::now();
    let system = |error: io::Error| Refusal::System(error.to_string());
    let _log = error_log::install(&config.error_log).map_err(system)?;
    // Before anybody can know of the process, too: no change from now on goes unseen.
    let files = Files::of(&config, reread, beginning.read_from);
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    // Before anybody can know of the process: from now on no signal ends it unseen.
    let runtime = tokio::runtime::LocalRuntime::new().map_err(system)?;
    let signals = runtime.block_on(async { Signals::watch() }).map_err(system)?;
    let listeners = server::bind(&config)?;
    let config = Arc::new(config);
    let server = Server::build(&config, listeners)?;
    let pid_file = || SharedPidFile::write(config.process.pid_file.as_deref());
    // Who replaces another names itself as late as it can: until then the other is the one to be signalled.
    let early = beginning.predecessor.is_none().then(pid_file).transpose()?;
    let control = Control::bind(&config);
    // The addresses are bound and the logs are open: all that is made from now on is the user's.
    config.process.user.as_ref().map(server::assume).transpose()?;
    // Not before the scripts are known to be good: what is applied stays.
    db::migrate(&config.databases).map_err(Refusal::of_database)?;
    let pid_file = early.map_or_else(pid_file, Ok)?;
    config.files.first().iter().for_each(|it| status::begin(it));
    note(1, "the server started", begun, &config, server.addresses());
    let parts = Parts { server, files, pid_file: pid_file.clone(), signals, control };
    runtime.block_on(until_asked_to_end(parts, &config, beginning));
    pid_file.remove();
    log_file::flush_all(LAST_LINES);
    Ok(ExitCode::SUCCESS)
}

/// What a server is made of when it begins to serve.
struct Parts {
    server: Server,
    files: Files,
    pid_file: SharedPidFile,
    signals: Signals,
    control: Control,
}

/// Serves until SIGTERM or SIGINT, or until another process serves in the place of this one; then until the requests in
/// flight are answered, or a second signal.
async fn until_asked_to_end(parts: Parts, config: &Arc<Config>, beginning: Beginning) {
    let Parts { server, files, pid_file, mut signals, control } = parts;
    announce(&server, config);
    let (serving, renewal) = server.serve();
    let reloading = Reloading::start(config.clone(), files, renewal, pid_file);
    let private = control.heirlooms();
    let asked = tokio::task::spawn_local(control.serve(reloading.clone()));
    take_over(beginning.predecessor);
    let mut succession = Succession::of(beginning.origin);
    let (ending, reason) = loop {
        let asked = tokio::select! {
            asked = signals.next() => asked,
            id = succession.replaced() => {
                systemd::tell(&format!("MAINPID={id}"));
                break (Ending::Replaced, format!("process {id} serves in the place of this one"));
            }
        };
        match asked {
            Asked::End(signal) => {
                succession.give_up();
                systemd::tell(systemd::STOPPING);
                break (Ending::Stopped, format!("received {signal}"));
            }
            Asked::Reload => reloading.ask("SIGHUP was received"),
            Asked::ReopenLogs => {
                tracing::info!("SIGUSR1 was received: the log files are opened anew");
                log_file::reopen_all();
            }
            Asked::Upgrade => succession.begin(|| Bequest::of(serving.heirlooms()?.iter().chain(&private))),
        }
    };
    drop(private);
    asked.abort();
    drop(reloading);
    tracing::info!("{reason}: requests in flight are answered, then the server ends");
    let (ended, end) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        serving.stop(ending);
        // Nobody waits for it after a second signal.
        let _ = ended.send(());
    });
    tokio::select! {
        _ = end => {}
        signal = signals.end() => tracing::warn!("received {signal} once more: the server ends at once"),
    }
}

/// Tells the process before this one that it is no longer needed, and closes what this one does not need of it.
fn take_over(predecessor: Option<Predecessor>) {
    match predecessor.map(Predecessor::relieve) {
        // To systemd the service has been ready for long.
        Some(Ok(())) => {}
        Some(Err(error)) => tracing::warn!("the process that this one replaces can't be told: {error}"),
        None => systemd::tell(systemd::READY),
    }
    let closed = net::close_rest();
    if !closed.is_empty() {
        let closed = closed.join("`, `");
        tracing::warn!("`{closed}`: a socket that this process was given is closed, since `listen` does not name it");
    }
}

fn announce(server: &Server, config: &Config) {
    let threads = config.process.num_threads;
    let line = format!(
        "rhaid {} (pid {}) serves {} with {threads} thread{}",
        env!("CARGO_PKG_VERSION"),
        std::process::id(),
        server.addresses().join(" "),
        if threads == 1 { "" } else { "s" },
    );
    if config.error_log.has_stderr_for_json() {
        tracing::info!("{line}");
    } else {
        print(&mut io::stderr(), &line);
    }
}
