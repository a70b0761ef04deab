//! A server in a temporary folder, for the tests of the process as a whole.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use tempfile::TempDir;

/// A server in a temporary folder, ended with the test.
pub struct Served {
    /// Its process.
    pub process: Child,
    /// Where it listens, as `127.0.0.1:8080`.
    pub address: String,
    /// Its current folder.
    pub folder: TempDir,
    /// What it said of itself when it began to serve.
    pub line: String,
    lines: Mutex<Receiver<String>>,
}

impl Served {
    /// Starts the configuration `conf` in a copy of the folders `parts` of `from`.
    pub fn copied(from: &Path, parts: &[&str], conf: &str) -> Served {
        let folder = tempfile::tempdir().unwrap();
        for part in parts {
            copy(&from.join(part), &folder.path().join(part));
        }
        Served::start(folder, conf)
    }

    /// Starts `text` as a configuration.
    pub fn configured(text: &str) -> Served {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("host.yaml"), text).unwrap();
        Served::start(folder, "host.yaml")
    }

    /// Starts `host.yaml` of the folder, and listens where it says.
    pub fn listening(folder: TempDir) -> Served {
        Served::run(folder, &["--conf", "host.yaml"])
    }

    /// Starts `free.yaml` of the folder, which listens on a port that is free.
    pub fn listening_free(folder: TempDir) -> Served {
        Served::located(Served::run(folder, &["--conf", "free.yaml"]))
    }

    /// Starts `host.yaml` of the folder as it stands, with as many workers as it says.
    pub fn as_configured(folder: TempDir) -> Served {
        Served::begin(folder, &["--conf", "host.yaml"])
    }

    /// The same with these arguments.
    pub fn listening_free_with(folder: TempDir, arguments: &[&str]) -> Served {
        Served::located(Served::run(folder, &[&["--conf", "free.yaml"], arguments].concat()))
    }

    fn located(mut served: Served) -> Served {
        served.address = served.line.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
        served
    }

    /// Starts the file `conf` of the folder.
    pub fn start(folder: TempDir, conf: &str) -> Served {
        Served::located(Served::run(folder, &["--conf", conf, "--listen", "127.0.0.1:0"]))
    }

    fn run(folder: TempDir, arguments: &[&str]) -> Served {
        Served::begin(folder, &[arguments, &["--num-threads", "2"]].concat())
    }

    fn begin(folder: TempDir, arguments: &[&str]) -> Served {
        let mut command = rhaid(&folder);
        command.args(arguments);
        Served::by(command, folder)
    }

    /// Starts `host.yaml` of the folder by a command of one's own, which listens on a port that is free.
    pub fn started_by(command: Command, folder: TempDir) -> Served {
        Served::located(Served::by(command, folder))
    }

    fn by(mut command: Command, folder: TempDir) -> Served {
        let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
        let printed = BufReader::new(process.stderr.take().unwrap()).lines();
        let (sender, lines) = channel();
        // Read on to the end, or the server would wait for somebody who does.
        std::thread::spawn(move || {
            for line in printed.map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let mut served =
            Served { process, address: String::new(), folder, line: String::new(), lines: Mutex::new(lines) };
        served.line = served.printed(" serves ");
        served
    }

    /// Waits for a line with `part` on standard error.
    pub fn printed(&self, part: &str) -> String {
        loop {
            let line = self.lines.lock().unwrap().recv_timeout(Duration::from_secs(10));
            let line = line.unwrap_or_else(|_| panic!("`{part}` was not printed"));
            if line.contains(part) {
                return line;
            }
        }
    }

    /// The lines that it printed since, when it has ended.
    pub fn rest(&self) -> Vec<String> {
        self.lines.lock().unwrap().iter().collect()
    }

    /// A connection to it on which nothing can wait for ever.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Status and body of the reply to a form.
    pub fn ask(&self, method: &str, target: &str, form: &str) -> (u16, String) {
        let (status, body) = self.send(method, target, "application/x-www-form-urlencoded", form.as_bytes());
        (status, String::from_utf8(body).unwrap())
    }

    /// Status and body of the reply to any body.
    pub fn send(&self, method: &str, target: &str, content_type: &str, body: &[u8]) -> (u16, Vec<u8>) {
        let mut stream = self.connect();
        let length = body.len();
        write!(
            stream,
            "{method} {target} HTTP/1.1\r\nHost: localhost:8080\r\nConnection: close\r\nContent-Length: {length}\r\n\
             Content-Type: {content_type}\r\n\r\n"
        )
        .unwrap();
        stream.write_all(body).unwrap();
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).unwrap();
        let end = reply.windows(4).position(|it| it == b"\r\n\r\n").expect("a head and a body");
        let body = reply.split_off(end + 4);
        let head = String::from_utf8(reply).unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body)
    }

    /// Status and body of the reply to GET.
    pub fn get(&self, target: &str) -> (u16, String) {
        self.ask("GET", target, "")
    }

    /// Sends the process a signal, such as `TERM`.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([format!("-{name}"), self.process.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The command, in a folder.
pub fn rhaid(folder: &TempDir) -> Command {
    let mut command =
        Command::new(std::env::var_os("RHAID_BINARY").unwrap_or_else(|| env!("CARGO_BIN_EXE_rhaid").into()));
    command.args(["--chdir", folder.path().to_str().unwrap()]);
    command
}

/// Copies a file, or all of a folder.
pub fn copy(from: &Path, to: &Path) {
    if from.is_file() {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
        return;
    }
    for entry in fs::read_dir(from).unwrap() {
        let name = entry.unwrap().file_name();
        copy(&from.join(&name), &to.join(&name));
    }
}
