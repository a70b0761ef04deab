//! A process that another replaces, on the same sockets, and one that is given its sockets by whoever starts it.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::served::Served;

const HOSTS: &str = "hosts:\n  default:\n    paths:\n      /:\n        rhai.handler: |\n          |env| { if env.PATH_INFO == \"/slow\" { \
                     sleep(1.5); } text(\"1\") }\n";
const CONF: &str = "listen: [127.0.0.1:0, \"unix:app.sock\"]\npid-file: a.pid\nerror-log: error.log\n";
const ASK: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

/// A server that was started by a link to the program in its folder, which can be replaced.
struct Replaceable {
    served: Served,
    notified: UnixDatagram,
    program: PathBuf,
}

impl Replaceable {
    fn start(conf: &str) -> Replaceable {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("host.yaml"), format!("{conf}{HOSTS}")).unwrap();
        let (program, notified) = (at("program"), UnixDatagram::bind(at("notify")).unwrap());
        notified.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        symlink(env!("CARGO_BIN_EXE_rhaid"), &program).unwrap();
        let mut command = Command::new("./program");
        command.current_dir(folder.path()).env("NOTIFY_SOCKET", at("notify"));
        Replaceable { served: Served::started_by(command, folder), notified, program }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.served.folder.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap_or_default()
    }

    fn state(&self) -> String {
        let mut buffer = [0; 100];
        let length = self.notified.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    }

    fn wait_for_line(&self, text: &str) {
        wait(text, || self.read("error.log").contains(text));
    }

    /// Lets another process take over, and gives its number.
    fn replace(&mut self) -> u32 {
        self.served.signal("USR2");
        self.has_ended();
        self.read("a.pid").trim().parse().unwrap()
    }

    /// Waits until the process that was started first has ended well.
    fn has_ended(&mut self) {
        wait("another process has taken over", || self.served.process.try_wait().unwrap().is_some());
        assert!(self.served.process.wait().unwrap().success(), "{}", self.read("error.log"));
    }
}

/// A process that no test waits for, ended with the test.
struct Successor(u32);

impl Successor {
    fn signal(&self, name: &str) {
        Command::new("kill").args([format!("-{name}"), self.0.to_string()]).status().unwrap();
    }

    /// Whether it is there; one that nobody waits for may stay as a zombie.
    fn is_there(&self) -> bool {
        let state = fs::read_to_string(format!("/proc/{}/stat", self.0)).unwrap_or_default();
        state.rsplit(") ").next().is_some_and(|it| !it.is_empty() && !it.starts_with('Z'))
    }
}

impl Drop for Successor {
    fn drop(&mut self) {
        if self.is_there() {
            self.signal("KILL");
        }
    }
}

fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(20), "never: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// The whole reply to a request on a connection of its own.
fn ask(mut stream: impl Read + Write) -> String {
    stream.write_all(ASK).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    assert!(reply.starts_with("HTTP/1.1 200 ") && reply.ends_with("\r\n\r\n1"), "{reply:?}");
    reply
}

/// Connects anew all the time, until it is told to stop; gives the number of answers.
fn load(connect: impl Fn() -> u64 + Send + 'static, stop: &Arc<AtomicBool>) -> thread::JoinHandle<u64> {
    let stop = stop.clone();
    thread::spawn(move || {
        let mut answers = 0;
        while !stop.load(Ordering::Relaxed) {
            answers += connect();
        }
        answers
    })
}

#[test]
fn another_process_takes_over_and_no_connection_is_refused_or_cut() {
    let mut old = Replaceable::start(CONF);
    assert_eq!(old.state(), "READY=1");
    let (address, socket) = (old.served.address.clone(), old.at("app.sock"));
    let stop = Arc::new(AtomicBool::new(false));
    let loads = [
        load(
            {
                let address = address.clone();
                move || ask(TcpStream::connect(&address).unwrap()).len() as u64
            },
            &stop,
        ),
        load(
            {
                let socket = socket.clone();
                move || ask(UnixStream::connect(&socket).unwrap()).len() as u64
            },
            &stop,
        ),
    ];
    let mut slow = old.served.connect();
    slow.write_all(b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    thread::sleep(Duration::from_millis(200));
    let silent = old.served.connect();
    // Taken by the old one.
    thread::sleep(Duration::from_millis(100));
    old.served.signal("USR2");
    let told = old.state();
    let first = Successor(told.strip_prefix("MAINPID=").unwrap().parse().unwrap());
    old.wait_for_line("serves in the place of this one");
    // Longer than a server that just ends would wait for it.
    thread::sleep(Duration::from_millis(1200));
    ask(silent);
    old.has_ended();
    assert_eq!(old.read("a.pid"), format!("{}\n", first.0));
    let mut reply = String::new();
    slow.read_to_string(&mut reply).unwrap();
    assert!(reply.ends_with("\r\n\r\n1"), "what is in flight is answered: {reply:?}");
    thread::sleep(Duration::from_millis(300));
    // And once more: what was inherited can be left to others.
    first.signal("USR2");
    wait("a third process has taken over", || !first.is_there());
    let second = Successor(old.read("a.pid").trim().parse().unwrap());
    assert!(second.0 != first.0 && second.is_there());
    thread::sleep(Duration::from_millis(300));
    stop.store(true, Ordering::Relaxed);
    for load in loads {
        assert!(load.join().unwrap() > 0);
    }
    let status =
        Command::new(env!("CARGO_BIN_EXE_rhaid")).arg("status").current_dir(old.served.folder.path()).output().unwrap();
    let status = format!("{status:?}");
    assert!(status.contains(&second.0.to_string()), "{status} {}", old.read("error.log"));
    assert!(!old.read("error.log").contains("ask another server"), "the control socket is handed over as well");
    second.signal("TERM");
    wait("the last one ends", || !second.is_there());
    assert!(!socket.exists() && !old.at("a.pid").exists() && !old.at("app.sock").exists());
    assert!(TcpStream::connect(&address).is_err());
}

#[test]
fn a_process_goes_on_if_the_one_that_is_to_replace_it_fails() {
    let mut old = Replaceable::start(CONF);
    let id = old.read("a.pid");
    let still_serves = |old: &Replaceable| {
        ask(old.served.connect());
        ask(UnixStream::connect(old.at("app.sock")).unwrap());
        assert_eq!(old.read("a.pid"), id);
    };
    fs::remove_file(&old.program).unwrap();
    old.served.signal("USR2");
    old.wait_for_line("program` can't be started");
    still_serves(&old);
    fs::write(&old.program, "#!/bin/sh\necho it is broken >&2\nexit 3\n").unwrap();
    fs::set_permissions(&old.program, fs::Permissions::from_mode(0o755)).unwrap();
    old.served.signal("USR2");
    old.wait_for_line("it ended with exit status: 3 and said:\n  it is broken");
    still_serves(&old);
    // It gets as far as its sockets and its database.
    fs::remove_file(&old.program).unwrap();
    symlink(env!("CARGO_BIN_EXE_rhaid"), &old.program).unwrap();
    let conf = format!("{CONF}databases: {{default: sqlite:no/such/folder/a.sqlite}}\n{HOSTS}");
    fs::write(old.at("host.yaml"), conf).unwrap();
    old.served.signal("USR2");
    old.wait_for_line("it ended with exit status: 7");
    still_serves(&old);
    fs::write(old.at("host.yaml"), format!("{CONF}{HOSTS}")).unwrap();
    let new = Successor(old.replace());
    ask(old.served.connect());
    new.signal("TERM");
    wait("the new one ends", || !new.is_there());
    assert!(!old.at("app.sock").exists());
}

/// The command by which a shell starts rhaid as systemd does, with two sockets.
fn activated(folder: &Path, port: &TcpListener, file: &UnixListener) -> Command {
    let (port, file) = (port.try_clone().unwrap(), file.try_clone().unwrap());
    let rhaid = env!("CARGO_BIN_EXE_rhaid");
    let script = format!(
        "exec 3<&0 4<&1 </dev/null >&2; LISTEN_PID=$$ LISTEN_FDS=2 LISTEN_FDNAMES=a:b exec {rhaid} --num-threads 2"
    );
    let mut command = Command::new("sh");
    command.args(["-c", &script]).stdin(OwnedFd::from(port)).stdout(OwnedFd::from(file)).current_dir(folder);
    command
}

#[test]
fn sockets_of_whoever_starts_the_process_are_listened_on() {
    let folder: TempDir = tempfile::tempdir().unwrap();
    let path = folder.path().join("given.sock");
    let (port, file) = (TcpListener::bind("127.0.0.1:0").unwrap(), UnixListener::bind(&path).unwrap());
    let address = port.local_addr().unwrap();
    // It names no address: those that are given are meant.
    fs::write(folder.path().join("host.yaml"), format!("pid-file: a.pid\n{HOSTS}")).unwrap();
    let command = activated(folder.path(), &port, &file);
    let mut served = Served::started_by(command, folder);
    assert_eq!(served.address, address.to_string());
    let ask_both = || {
        ask(TcpStream::connect(address).unwrap());
        ask(UnixStream::connect(&path).unwrap());
    };
    ask_both();
    served.signal("USR2");
    wait("another process has taken over", || served.process.try_wait().unwrap().is_some());
    let pid = fs::read_to_string(served.folder.path().join("a.pid")).unwrap();
    let new = Successor(pid.trim().parse().unwrap());
    ask_both();
    new.signal("TERM");
    wait("the new one ends", || !new.is_there());
    assert!(path.exists(), "the file is whose it was");
    assert!(TcpStream::connect(address).is_ok(), "this test still listens");
}
