//! SIGUSR2: starts the program anew on the sockets of this process, which ends when the new one serves.

use std::env;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::net::{Answer, Bequest};

/// How long the new process may take until it serves.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long it may take to end when it has closed everything, and its words to come.
const BREATH: Duration = Duration::from_secs(2);
/// How much of its words is kept.
const LONGEST: usize = 64 << 10;

/// How this process was started.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Origin {
    program: PathBuf,
    arguments: Vec<OsString>,
    folder: PathBuf,
}

impl Origin {
    /// As it is; to be called before the process changes its folder.
    ///
    /// # Errors
    /// If the folder or the program is gone.
    pub(in crate::cli) fn of_this_process() -> io::Result<Origin> {
        let folder = env::current_dir()?;
        let mut arguments = env::args_os();
        let name = arguments.next().map(PathBuf::from).unwrap_or_default();
        // Not the file that runs: another may have come in its place, or a link may lead to another.
        let program = if name.components().count() > 1 {
            folder.join(name)
        } else {
            let found = env::var_os("PATH").and_then(|it| search(&it, &name));
            found.map_or_else(env::current_exe, Ok)?
        };
        Ok(Origin { program, arguments: arguments.collect(), folder })
    }
}

fn search(folders: &OsString, name: &Path) -> Option<PathBuf> {
    env::split_paths(folders).map(|it| it.join(name)).find(|it| it.is_file())
}

/// What replaces this process, as soon as somebody asks for it.
pub(super) struct Succession {
    origin: io::Result<Origin>,
    upgrade: Option<Upgrade>,
}

impl Succession {
    /// Nobody has asked yet.
    pub(super) fn of(origin: io::Result<Origin>) -> Succession {
        Succession { origin, upgrade: None }
    }

    /// Starts the program anew, to which `bequest` leaves what it needs; says so if it can't.
    pub(super) fn begin(&mut self, bequest: impl FnOnce() -> io::Result<Bequest>) {
        if self.upgrade.is_some() {
            tracing::warn!("SIGUSR2 was received: the process that was started before is waited for");
            return;
        }
        let origin = self.origin.as_ref().map_err(|error| io::Error::new(error.kind(), error.to_string()));
        match origin.and_then(|origin| Upgrade::start(origin, bequest()?)) {
            Ok(upgrade) => {
                let id = lock(&upgrade.child).id();
                tracing::info!("SIGUSR2 was received: process {id} was started to replace this one");
                self.upgrade = Some(upgrade);
            }
            Err(error) => tracing::error!("not replaced, though SIGUSR2 was received; this process goes on: {error}"),
        }
    }

    /// Waits until another process serves in the place of this one, and gives its number. What fails is said, and
    /// can be tried again.
    pub(super) async fn replaced(&mut self) -> u32 {
        loop {
            let Some(upgrade) = &mut self.upgrade else { return std::future::pending().await };
            match upgrade.outcome().await {
                Ok(id) => return id,
                Err(why) => tracing::error!("not replaced; this process goes on: of the new one, {why}"),
            }
            self.upgrade = None;
        }
    }

    /// Ends what was started and does not serve yet.
    pub(super) fn give_up(&mut self) {
        if let Some(upgrade) = self.upgrade.take() {
            // It may have ended by itself.
            let _ = lock(&upgrade.child).kill();
        }
    }
}

/// A process that is to replace this one, and does not serve yet.
struct Upgrade {
    child: Arc<Mutex<Child>>,
    outcome: oneshot::Receiver<Result<u32, String>>,
}

impl Upgrade {
    /// Starts the program that `origin` names, which inherits `bequest`.
    ///
    /// # Errors
    /// If it can't be started.
    fn start(origin: &Origin, bequest: Bequest) -> io::Result<Upgrade> {
        let mut command = Command::new(&origin.program);
        command.args(&origin.arguments).current_dir(&origin.folder).stderr(Stdio::piped());
        bequest.describe_to(&mut command);
        let mut child = command.spawn().map_err(|error| {
            io::Error::new(error.kind(), format!("`{}` can't be started: {error}", origin.program.display()))
        })?;
        let answer = bequest.is_handed_over();
        let words = Words::listen(child.stderr.take());
        let child = Arc::new(Mutex::new(child));
        let (tell, outcome) = oneshot::channel();
        let waiting = child.clone();
        thread::Builder::new().name("upgrade".to_owned()).spawn(move || {
            // Nobody waits for it when the server ends meanwhile.
            let _ = tell.send(wait(&waiting, answer, &words));
        })?;
        Ok(Upgrade { child, outcome })
    }

    /// The number of the new process when it serves.
    ///
    /// # Errors
    /// Why it never will, with its own words.
    async fn outcome(&mut self) -> Result<u32, String> {
        (&mut self.outcome).await.unwrap_or_else(|_| Err("nobody waits for it".to_owned()))
    }
}

fn lock(child: &Mutex<Child>) -> MutexGuard<'_, Child> {
    child.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wait(child: &Mutex<Child>, answer: Answer, words: &Words) -> Result<u32, String> {
    let why = match answer.wait(PATIENCE) {
        Ok(()) => {
            // What it said until now was read here.
            let _ = io::stderr().write_all(words.so_far().as_bytes());
            return Ok(lock(child).id());
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            format!("it does not serve after {} s", PATIENCE.as_secs())
        }
        Err(_) => match end(child) {
            Some(status) => format!("it ended with {status}"),
            None => "it does not know how to replace another".to_owned(),
        },
    };
    let mut child = lock(child);
    let _ = child.kill();
    let _ = child.wait();
    let said = words.so_far();
    Err(if said.is_empty() { why } else { format!("{why} and said:\n{}", said.trim_end()) })
}

/// How it ended, if it does so soon.
fn end(child: &Mutex<Child>) -> Option<std::process::ExitStatus> {
    let until = Instant::now() + BREATH;
    loop {
        match lock(child).try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < until => {}
            _ => return None,
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// What the new process writes to its standard error output before it serves.
struct Words(Arc<Mutex<Vec<u8>>>, Receiver<()>);

impl Words {
    fn listen(stderr: Option<ChildStderr>) -> Words {
        let said = Arc::new(Mutex::new(Vec::new()));
        let (ended, end) = mpsc::channel::<()>();
        if let Some(mut stderr) = stderr {
            let said = said.clone();
            thread::spawn(move || {
                let mut block = [0; 4096];
                while let Ok(length @ 1..) = stderr.read(&mut block) {
                    let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
                    let room = LONGEST.saturating_sub(said.len()).min(length);
                    said.extend_from_slice(&block[..room]);
                }
                drop(ended);
            });
        }
        Words(said, end)
    }

    /// All of it when it has closed its end, as it does before it serves and when it ends; a child of its own may not have.
    fn so_far(&self) -> String {
        let _ = self.1.recv_timeout(BREATH);
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}
