//! `rhaid`: serves until a signal ends it.

mod control;
mod files;
mod pid_file;
mod reloading;
mod signals;

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
use super::print;
use crate::config::Config;
use crate::db;
use crate::error_log;
use crate::log_file;
use crate::server::{self, Refusal, Server};
use crate::status;

/// How long the last lines of the logs may take to be written.
const LAST_LINES: Duration = Duration::from_secs(2);

/// Serves a configuration, whose reading began at `read_from`, and what `reread` gives when a file has changed.
pub(super) fn run(config: Config, read_from: SystemTime, reread: Reread) -> Result<ExitCode, Refusal> {
    let begun = Instant::now();
    let system = |error: io::Error| Refusal::System(error.to_string());
    let _log = error_log::install(&config.error_log).map_err(system)?;
    // Before anybody can know of the process, too: no change from now on goes unseen.
    let files = Files::of(&config, reread, read_from);
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    // Before anybody can know of the process: from now on no signal ends it unseen.
    let runtime = tokio::runtime::LocalRuntime::new().map_err(system)?;
    let signals = runtime.block_on(async { Signals::watch() }).map_err(system)?;
    let listeners = server::bind(&config)?;
    let config = Arc::new(config);
    let server = Server::build(&config, listeners)?;
    let pid_file = SharedPidFile::write(config.process.pid_file.as_deref())?;
    let control = Control::bind(&config);
    // The addresses are bound and the logs are open: all that is made from now on is the user's.
    config.process.user.as_ref().map(server::assume).transpose()?;
    // Not before the scripts are known to be good: what is applied stays.
    db::migrate(&config.databases).map_err(Refusal::of_database)?;
    config.files.first().iter().for_each(|it| status::begin(it));
    note(1, "the server started", begun, &config, server.addresses());
    runtime.block_on(until_asked_to_end(server, &config, files, pid_file.clone(), signals, control));
    pid_file.remove();
    log_file::flush_all(LAST_LINES);
    Ok(ExitCode::SUCCESS)
}

/// Serves until SIGTERM or SIGINT, then until the requests in flight are answered, or a second signal.
async fn until_asked_to_end(
    server: Server,
    config: &Arc<Config>,
    files: Files,
    pid_file: SharedPidFile,
    mut signals: Signals,
    control: Control,
) {
    announce(&server, config);
    let (serving, renewal) = server.serve();
    let reloading = Reloading::start(config.clone(), files, renewal, pid_file);
    let asked = tokio::task::spawn_local(control.serve(reloading.clone()));
    let signal = loop {
        match signals.next().await {
            Asked::End(signal) => break signal,
            Asked::Reload => reloading.ask("SIGHUP was received"),
            Asked::ReopenLogs => {
                tracing::info!("SIGUSR1 was received: the log files are opened anew");
                log_file::reopen_all();
            }
        }
    };
    asked.abort();
    drop(reloading);
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
