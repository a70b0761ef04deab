//! A server that is asked what it does, and to reload.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use super::served::Served;

const CONF: &str = "listen: 127.0.0.1:0\npid-file: var/rhaid.pid\nwatch: OFF\nhosts:\n  default:\n    paths:\n      /:\n        \
                    rhai.handler-file: a.rhai\n";

fn served(conf: &str) -> Served {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("var")).unwrap();
    fs::write(folder.path().join("free.yaml"), conf).unwrap();
    fs::write(folder.path().join("a.rhai"), "|env| text(\"1\")").unwrap();
    Served::listening_free(folder)
}

fn ask(folder: &Path, arguments: &[&str]) -> Output {
    let rhaid = env!("CARGO_BIN_EXE_rhaid");
    Command::new(rhaid).args(arguments).args(["--conf", "free.yaml"]).current_dir(folder).output().unwrap()
}

/// The exit code, and what was printed on the standard output and error output.
fn outcome(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = ask(folder, arguments);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_reload_says_what_came_of_it() {
    let served = served(CONF);
    let folder = served.folder.path();
    fs::write(folder.join("a.rhai"), "|env| text(\"2\")").unwrap();
    assert_eq!(outcome(folder, &["reload"]), (0, "generation 2 is served\n".into(), String::new()));
    assert_eq!(served.get("/").1, "2");
    fs::write(folder.join("a.rhai"), "|env| text(\"3\"").unwrap();
    let (code, printed, mistakes) = outcome(folder, &["reload"]);
    assert_eq!((code, printed.as_str()), (78, ""));
    assert!(mistakes.starts_with("a.rhai:1:15: "), "{mistakes}");
    let (_, _, same) = outcome(folder, &["--test"]);
    assert_eq!(mistakes, same);
    assert_eq!(served.get("/").1, "2");
    let (code, printed, _) = outcome(folder, &["status"]);
    assert!(
        code == 0 && printed.contains("  REFUSED      ") && printed.contains(same.lines().next().unwrap()),
        "{printed}"
    );
    // A configuration that can't be read at all names no pid file.
    fs::write(folder.join("free.yaml"), "listen: [\n").unwrap();
    let (code, _, mistakes) = outcome(folder, &["reload"]);
    assert!(code == 78 && mistakes.starts_with("free.yaml:"), "{code} {mistakes}");
    fs::write(folder.join("free.yaml"), CONF).unwrap();
    fs::write(folder.join("a.rhai"), "|env| text(\"4\")").unwrap();
    assert_eq!(outcome(folder, &["reload"]).0, 0);
    assert_eq!(served.get("/").1, "4");
    assert!(!outcome(folder, &["status"]).1.contains("REFUSED"));
}

#[test]
fn the_socket_is_its_users_alone_and_ends_with_the_server() {
    let served = served(CONF);
    let folder = served.folder.path().to_owned();
    let socket = folder.join("var/rhaid.sock");
    assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    served.signal("TERM");
    let begun = Instant::now();
    while socket.exists() {
        assert!(begun.elapsed() < Duration::from_secs(10), "the socket is still there");
        std::thread::sleep(Duration::from_millis(20));
    }
    let (code, _, message) = outcome(&folder, &["status"]);
    assert_eq!(code, 71);
    assert!(
        message.contains("no server of `free.yaml` is running: there is none at `var/rhaid.sock` or `"),
        "{message}"
    );
    assert_eq!(outcome(&folder, &["reload"]).0, 71);
}

#[test]
fn without_a_pid_file_the_server_is_found_by_its_configuration() {
    let served = served(&CONF.replace("pid-file: var/rhaid.pid\n", ""));
    let folder = served.folder.path();
    assert_eq!(outcome(folder, &["reload"]), (0, "generation 2 is served\n".into(), String::new()));
    let (code, printed, _) = outcome(folder, &["status", "--json"]);
    assert!(code == 0 && printed.contains(&format!("\"pid\": {}", served.process.id())), "{printed}");
}

#[test]
fn who_asks_nonsense_or_nothing_disturbs_nobody() {
    let served = served(CONF);
    let folder = served.folder.path();
    let socket = folder.join("var/rhaid.sock");
    let silent: Vec<UnixStream> = (0..4).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    for nonsense in [&b"\n"[..], b"nonsense\n", &[0xff; 100], &[b'x'; 1 << 20]] {
        // It may be cut off before it has sent everything.
        let _ = UnixStream::connect(&socket).unwrap().write_all(nonsense);
    }
    drop(UnixStream::connect(&socket).unwrap());
    assert_eq!(outcome(folder, &["reload"]).0, 0);
    assert_eq!(served.get("/").0, 200);
    drop(silent);
}

#[test]
fn what_was_answered_is_counted() {
    let served = served(CONF);
    let folder = served.folder.path();
    for _ in 0..3 {
        served.get("/");
    }
    let begun = Instant::now();
    loop {
        let (_, printed, _) = outcome(folder, &["status", "--json"]);
        let status: serde_json::Value = serde_json::from_str(&printed).unwrap();
        if status["requests"] == 3 && status["answers"]["2xx"] == 3 && status["connections"] == 0 {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "{printed}");
        std::thread::sleep(Duration::from_millis(100));
    }
}
