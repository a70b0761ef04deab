//! The servers themselves: what the other tests take for granted.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::servers::{Kind, Options, Server};

tests![
    a_server_ends_with_its_process,
    a_server_that_is_dropped_leaves_nothing,
    a_server_keeps_its_data,
    fresh_databases_are_apart,
    databases_are_made_in_parallel,
    a_statement_that_fails_is_shown,
];

/// Names the kind of server that this program is to hold instead of testing anything.
const HOLD: &str = "RHAID_TEST_HOLD";

/// What [`hold`] is to hold, if it is.
pub fn held() -> Option<Kind> {
    let name = std::env::var(HOLD).ok()?;
    Kind::ALL.into_iter().find(|kind| kind.to_string() == name)
}

/// Starts a server, says where it is, and ends when its input does.
pub fn hold(kind: Kind) -> ! {
    let server = kind.shared().unwrap();
    println!("{} {}", server.process().unwrap(), server.folder().display());
    let _ = std::io::stdin().lines().count();
    std::process::exit(0);
}

/// This program in another process, with the server's process and folder.
fn holder(kind: Kind) -> (Child, u32, PathBuf) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let mut child = command.env(HOLD, kind.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let (process, folder) = line.trim().split_once(' ').expect("a process and its folder");
    (child, process.parse().unwrap(), PathBuf::from(folder))
}

/// Waits until `process` has ended and `folder` is gone.
fn await_end(process: u32, folder: &Path) {
    let deadline = Instant::now() + Duration::from_secs(10);
    let is_there = || Path::new(&format!("/proc/{process}")).exists() || folder.exists();
    while is_there() {
        assert!(Instant::now() < deadline, "the server {process} or {} is still there", folder.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn a_server_ends_with_its_process(kind: Kind) {
    let (mut child, process, folder) = holder(kind);
    assert!(Path::new(&format!("/proc/{process}")).exists() && folder.exists());
    child.kill().unwrap();
    await_end(process, &folder);
    child.wait().unwrap();

    let (mut child, process, folder) = holder(kind);
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    await_end(process, &folder);
}

fn a_server_that_is_dropped_leaves_nothing(kind: Kind) {
    let server = Server::start(kind, &Options::default()).unwrap();
    let (process, folder) = (server.process().unwrap(), server.folder().to_owned());
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o077, 0, "others could log in through the socket");
    drop(server);
    await_end(process, &folder);
    // One that was stopped as well.
    let mut server = Server::start(kind, &Options::default()).unwrap();
    let folder = server.folder().to_owned();
    server.stop("TERM");
    assert!(folder.exists());
    drop(server);
    assert!(!folder.exists());
}

fn a_server_keeps_its_data(kind: Kind) {
    let mut server = Server::start(kind, &Options::default()).unwrap();
    let database = server.fresh().unwrap();
    database.run("CREATE TABLE a (b INTEGER); INSERT INTO a VALUES (7);").unwrap();
    let port = server.port();
    for signal in ["KILL", "TERM"] {
        let process = server.process().unwrap();
        server.stop(signal);
        assert!(!Path::new(&format!("/proc/{process}")).exists());
        database.run("SELECT 1").unwrap_err();
        server.start_again().unwrap();
        assert_eq!(server.port(), port);
        assert_eq!(database.run("SELECT b FROM a"), Ok("7".to_owned()));
    }
}

fn fresh_databases_are_apart(kind: Kind) {
    let server = kind.shared().unwrap();
    let [one, other] = [server.fresh().unwrap(), server.fresh().unwrap()];
    one.run("CREATE TABLE a (b INTEGER)").unwrap();
    other.run("CREATE TABLE a (b INTEGER)").unwrap();
    let refused = match kind {
        Kind::Mysql => other.run(&format!("SELECT * FROM {}.a", one.name)),
        Kind::Postgres => other.run(&format!("\\connect {}\nSELECT * FROM a", one.name)),
    };
    refused.unwrap_err();
    let name = one.name.clone();
    let count = match kind {
        Kind::Mysql => format!("SELECT count(*) FROM information_schema.schemata WHERE schema_name = '{name}'"),
        Kind::Postgres => format!("SELECT count(*) FROM pg_database WHERE datname = '{name}'"),
    };
    assert_eq!(other.obey(&count), Ok("1".to_owned()));
    drop(one);
    assert_eq!(other.obey(&count), Ok("0".to_owned()));
}

fn databases_are_made_in_parallel(kind: Kind) {
    let server = kind.shared().unwrap();
    std::thread::scope(|scope| {
        for number in 0..8 {
            scope.spawn(move || {
                let database = server.fresh().unwrap();
                let sql = format!("CREATE TABLE a (b INTEGER); INSERT INTO a VALUES ({number}); SELECT b FROM a;");
                assert_eq!(database.run(&sql), Ok(number.to_string()));
            });
        }
    });
}

fn a_statement_that_fails_is_shown(kind: Kind) {
    let database = kind.shared().unwrap().fresh().unwrap();
    let error = database.run("CREATE TABLE a (b INTEGER);\n\nCREATE TABEL c (d INTEGER);\nSELECT 1;\n").unwrap_err();
    let (line, what) = match kind {
        Kind::Mysql => ("at line 3", "You have an error in your SQL syntax"),
        Kind::Postgres => (":3: ERROR", "syntax error at or near \"TABEL\""),
    };
    assert!(error.contains(line) && error.contains(what), "{error}");
    // What was before it has been run.
    assert_eq!(database.run("SELECT count(*) FROM a"), Ok("0".to_owned()));
}
