//! One server: its start, its end, and its start again in the same place.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::database::{Access, Database};
use super::keeper::Keeper;
use super::tls::Certificates;
use super::{Kind, account, data, port, programs};

/// How long a start may take on a small, busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a server of one's own may have.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// It then answers in TLS as well, by the certificate in this folder.
    pub tls: Option<Certificates>,
    /// More arguments for the server.
    pub arguments: Vec<String>,
}

/// A server that runs, or that was stopped and can be started again.
#[derive(Debug)]
pub struct Server {
    access: Arc<Access>,
    folder: PathBuf,
    options: Options,
    keeper: Option<Keeper>,
}

impl Server {
    /// Starts a server and waits until it takes connections.
    ///
    /// # Errors
    /// If it isn't installed, or ends instead: with what it printed.
    pub fn start(kind: Kind, options: &Options) -> Result<Server, String> {
        let programs = programs::find(kind)?;
        let name = format!("rhaid-{kind}-");
        let mut named = tempfile::Builder::new();
        named.prefix(&name).permissions(fs::Permissions::from_mode(0o700));
        let folder = named.tempdir_in(account::temporary());
        let folder = folder.map_err(|error| format!("no temporary folder: {error}"))?;
        account::give(folder.path())?;
        data::make(kind, programs, &folder.path().join("data"))?;
        if let Some(certificates) = &options.tls {
            certificates.install(folder.path())?;
        }
        let mut last = String::new();
        for _ in 0..5 {
            let port = port::free_port().map_err(|error| format!("no free port: {error}"))?;
            let access = Arc::new(Access::new(kind, programs, folder.path(), port));
            configure(&access, folder.path())?;
            let path = folder.path().to_owned();
            let mut server = Server { access, folder: path, options: options.clone(), keeper: None };
            match server.run() {
                // From here on the keeper removes the folder.
                Ok(()) => {
                    let _ = folder.keep();
                    return Ok(server);
                }
                Err(message) if message.to_lowercase().contains("in use") => {
                    server.stop("KILL");
                    last = message;
                }
                Err(message) => {
                    server.stop("KILL");
                    return Err(message);
                }
            }
        }
        Err(last)
    }

    /// Starts it again after `stop`, on the same port and with the same data.
    ///
    /// # Errors
    /// If it ends instead.
    pub fn start_again(&mut self) -> Result<(), String> {
        self.run()
    }

    /// Ends it by a signal, such as `KILL`, and waits for its end. Its data stays.
    ///
    /// A PostgreSQL that is killed leaves a few bytes of shared memory, which only its next start removes.
    pub fn stop(&mut self, signal: &str) {
        if let Some(keeper) = self.keeper.take() {
            keeper.stop(signal);
        }
    }

    /// A new, empty database with a user of its own.
    ///
    /// # Errors
    /// If the server refuses it.
    pub fn fresh(&self) -> Result<Database, String> {
        Database::create(&self.access)
    }

    /// Where it listens on the loopback address.
    pub fn port(&self) -> u16 {
        self.access.port
    }

    /// Its process, while it runs.
    pub fn process(&self) -> Option<u32> {
        self.keeper.as_ref().map(|keeper| keeper.server)
    }

    /// Where its data is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn run(&mut self) -> Result<(), String> {
        let log = self.folder.join("log");
        // What it said before its last end is not what it says now.
        let _ = fs::remove_file(&log);
        let (ending, ready) = match self.access.kind {
            Kind::Mysql => ("KILL", "ready for connections"),
            // It removes its shared memory, and ends at once all the same.
            Kind::Postgres => ("QUIT", "ready to accept connections"),
        };
        self.keeper = Some(Keeper::start(&self.folder, ending, &self.command())?);
        let deadline = Instant::now() + PATIENCE;
        loop {
            let is_running = self.keeper.as_ref().is_some_and(Keeper::is_running);
            let printed = fs::read_to_string(&log).unwrap_or_default();
            if printed.contains(ready) {
                return Ok(());
            }
            if !is_running || Instant::now() > deadline {
                let what = if is_running { "did not come up" } else { "ended at its start" };
                return Err(format!("the {} server {what}:\n{printed}", self.access.kind));
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// The fastest that a test can do with: what a process wrote outlives it, not what the machine loses.
    fn command(&self) -> Vec<String> {
        let Access { kind, programs, port, .. } = &*self.access;
        let folder = self.folder.display();
        let mut arguments = match kind {
            Kind::Mysql => vec![
                "--no-defaults".to_owned(),
                format!("--datadir={folder}/data"),
                format!("--socket={}", self.access.socket.display()),
                format!("--port={port}"),
                format!("--pid-file={folder}/pid"),
                format!("--init-file={folder}/{INIT}"),
                format!("--tmpdir={folder}"),
            ],
            Kind::Postgres => vec![
                format!("-D{folder}/data"),
                format!("-k{folder}"),
                format!("-p{port}"),
                format!("--hba_file={folder}/{HBA}"),
            ],
        };
        arguments.extend(settings(*kind).iter().map(|it| (*it).to_owned()));
        if self.options.tls.is_some() {
            arguments.extend(match kind {
                Kind::Mysql => [("ca", "ca"), ("cert", "server"), ("key", "key")]
                    .map(|(option, file)| format!("--ssl-{option}={folder}/{file}.pem"))
                    .to_vec(),
                Kind::Postgres => vec![
                    "--ssl=on".to_owned(),
                    format!("--ssl_cert_file={folder}/server.pem"),
                    format!("--ssl_key_file={folder}/key.pem"),
                ],
            });
        }
        arguments.extend(self.options.arguments.iter().cloned());
        arguments.insert(0, programs.server.display().to_string());
        arguments
    }
}

/// Who may log in: to MariaDB by this SQL, to PostgreSQL by this table.
const INIT: &str = "init.sql";
const HBA: &str = "hba.conf";

/// What both are told in the same words each time. The time zone is none that anybody could take for granted.
fn settings(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Mysql => &[
            "--bind-address=127.0.0.1",
            "--skip-name-resolve",
            "--skip-log-bin",
            "--max-connections=200",
            "--character-set-server=utf8mb4",
            "--default-time-zone=+05:30",
            "--performance-schema=OFF",
            "--innodb-flush-log-at-trx-commit=2",
            "--innodb-flush-method=nosync",
            "--innodb-doublewrite=OFF",
            "--innodb-use-native-aio=OFF",
            "--innodb-buffer-pool-size=16M",
            data::INNODB_LOG,
            "--key-buffer-size=1M",
            "--aria-pagecache-buffer-size=8M",
        ],
        Kind::Postgres => &[
            "--listen_addresses=127.0.0.1",
            "--max_connections=200",
            "--timezone=Asia/Kolkata",
            "--fsync=off",
            "--full_page_writes=off",
            "--wal_level=minimal",
            "--max_wal_senders=0",
            "--shared_buffers=16MB",
            // Files in the folder, which leave nothing behind in `/dev/shm`.
            "--dynamic_shared_memory_type=mmap",
            "--jit=off",
        ],
    }
}

/// Writes who may log in. The first user of both servers is let in through the socket only, which lies in a folder
/// that nobody else may enter.
fn configure(access: &Access, folder: &Path) -> Result<(), String> {
    let (name, text) = match access.kind {
        Kind::Mysql => (
            INIT,
            format!(
                "CREATE OR REPLACE USER {0}@localhost IDENTIFIED BY '{1}';\n\
                 GRANT ALL PRIVILEGES ON *.* TO {0}@localhost WITH GRANT OPTION;\n",
                access.user(),
                access.password
            ),
        ),
        Kind::Postgres => (
            HBA,
            format!(
                "local all {0} trust\nlocal all all scram-sha-256\n\
                 host all {0} 127.0.0.1/32 reject\nhost all all 127.0.0.1/32 scram-sha-256\n",
                access.user()
            ),
        ),
    };
    let file = folder.join(name);
    fs::write(&file, text).map_err(|error| format!("`{}`: {error}", file.display()))?;
    account::give(&file)
}

impl Drop for Server {
    fn drop(&mut self) {
        // A keeper takes the folder with it; one that was stopped has left it.
        if self.keeper.take().is_none() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}
