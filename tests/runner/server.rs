//! The server's process: started in a case's folder, ended with the case.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::conf;

/// How long the server may take to start; a debug build beside others on a small machine is slow.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server that serves.
#[derive(Debug)]
pub struct Server {
    child: Child,
    folder: PathBuf,
}

/// Why there is no server.
#[derive(Debug)]
pub enum NotStarted {
    /// Somebody else took the port: it is worth trying again with another.
    PortTaken,
    Failed(String),
}

/// Files in the case's folder that the process writes to.
const OUTPUT: &str = "stdout.txt";
const ERRORS: &str = "stderr.txt";

impl Server {
    /// Starts the server in `folder` and waits until it has said that it listens on `port`.
    ///
    /// # Errors
    /// If it ends instead, or says nothing for half a minute.
    pub fn start(folder: &Path, port: u16) -> Result<Server, NotStarted> {
        let failed = |message: String| NotStarted::Failed(message);
        let conf = fs::read_to_string(folder.join(conf::FILE)).unwrap_or_default();
        let create = |name: &str| File::create(folder.join(name)).map_err(|error| failed(error.to_string()));
        let mut command = rhaid(folder);
        if conf::needs_address(&conf, port) {
            command.args(["--listen", &format!("127.0.0.1:{port}")]);
        }
        let child = command.stdout(create(OUTPUT)?).stderr(create(ERRORS)?).spawn();
        let child = child.map_err(|error| failed(format!("the server can't be run: {error}")))?;
        let mut server = Server { child, folder: folder.to_owned() };
        let deadline = Instant::now() + PATIENCE;
        // A start line in the error log counts as well: where it goes is not this runner's business.
        let places: Vec<PathBuf> = conf::error_logs(&conf).into_iter().chain([ERRORS.into(), OUTPUT.into()]).collect();
        loop {
            if let Some(status) = server.ended() {
                let printed = server.printed();
                let is_taken = printed.to_lowercase().contains("in use");
                let message = format!("the server ended at its start with {status}:\n{printed}");
                return Err(if is_taken { NotStarted::PortTaken } else { failed(message) });
            }
            let says_so = |place: &PathBuf| {
                fs::read_to_string(folder.join(place)).is_ok_and(|text| text.contains(&format!(":{port}")))
            };
            if places.iter().any(says_so) {
                return Ok(server);
            }
            if Instant::now() > deadline {
                let printed = server.printed();
                return Err(failed(format!("the server did not say that it listens on port {port}:\n{printed}")));
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// How the process ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// The same after a failure: a process that dies closes its connections a little before its end can be seen.
    pub fn ended_by_now(&mut self) -> Option<ExitStatus> {
        let deadline = Instant::now() + Duration::from_secs(2);
        while self.ended().is_none() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(10));
        }
        self.ended()
    }

    /// What the process printed so far.
    pub fn printed(&self) -> String {
        [OUTPUT, ERRORS].map(|name| fs::read_to_string(self.folder.join(name)).unwrap_or_default()).concat()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A process that has ended by itself can't be killed, which is no fault here.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What `rhaid -t` says about the configuration in `folder`: its exit status, and stdout before stderr.
///
/// # Errors
/// If it can't be run, or is ended by a signal.
pub fn check(folder: &Path) -> Result<(i32, String), String> {
    let done = rhaid(folder).arg("-t").output().map_err(|error| format!("the server can't be run: {error}"))?;
    let status = done.status.code().ok_or_else(|| format!("`rhaid -t` ended with {}", done.status))?;
    Ok((status, String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned()))
}

fn rhaid(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rhaid"));
    command.current_dir(folder).args(["--conf", conf::FILE]).stdin(Stdio::null());
    command
}
