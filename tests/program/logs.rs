//! Log files that are rotated, and others that take their place, while the server runs.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::thread;
use std::time::{Duration, Instant};

use super::served::Served;

const CONF: &str = "listen: 127.0.0.1:0\nerror-log: error.log\naccess-log: {path: access.log, format: \"%U\"}\nhosts:\n  default:\n    \
                    paths:\n      /:\n        rhai.handler: |\n          |env| text(\"1\")\n";

fn served(conf: &str) -> Served {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("free.yaml"), conf).unwrap();
    Served::listening_free(folder)
}

/// Waits until a file has a text.
fn wait(served: &Served, name: &str, text: &str) {
    let begun = Instant::now();
    let read = || fs::read_to_string(served.folder.path().join(name)).unwrap_or_default();
    while !read().contains(text) {
        assert!(begun.elapsed() < Duration::from_secs(10), "`{text}` is not in `{name}`: {}", read());
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn no_line_is_lost_when_logs_are_rotated() {
    let served = served(CONF);
    let at = |name: &str| served.folder.path().join(name);
    let mut answered = 0;
    let mut reader = BufReader::new(served.connect());
    let mut ask = || {
        reader.get_mut().write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line).unwrap();
        }
        reader.read_exact(&mut [0]).unwrap();
        answered += 1;
    };
    let mut ask_for = |time: u64| {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(time) {
            ask();
        }
    };
    // Workers hand their lines on once a second.
    ask_for(1300);
    fs::rename(at("access.log"), at("access.log.1")).unwrap();
    fs::rename(at("error.log"), at("error.log.1")).unwrap();
    served.signal("USR1");
    ask_for(1500);
    fs::rename(at("access.log"), at("access.log.2")).unwrap();
    // Nobody says so.
    ask_for(2500);
    served.signal("TERM");
    let begun = Instant::now();
    let lines = |name: &str| fs::read_to_string(at(name)).unwrap_or_default().lines().count();
    let count = || lines("access.log.1") + lines("access.log.2") + lines("access.log");
    while count() < answered {
        assert!(begun.elapsed() < Duration::from_secs(10), "{} of {answered} lines", count());
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(count(), answered);
    assert!(lines("access.log.1") > 0 && lines("access.log.2") > 0 && lines("access.log") > 0);
    wait(&served, "error.log", "received SIGTERM");
}

#[test]
fn another_error_log_and_pid_file_are_taken_up() {
    let served = served(CONF);
    let folder = served.folder.path();
    let id = format!("{}\n", served.process.id());
    let conf = CONF.replace("error-log: error.log", "error-log: {path: other.log, format: json}\npid-file: a.pid");
    fs::write(folder.join("free.yaml"), &conf).unwrap();
    wait(&served, "other.log", "generation 2 is served");
    assert_eq!(fs::read_to_string(folder.join("a.pid")).unwrap(), id);
    fs::write(folder.join("free.yaml"), conf.replace("a.pid", "b.pid")).unwrap();
    wait(&served, "other.log", "generation 3 is served");
    assert!(!folder.join("a.pid").exists() && fs::read_to_string(folder.join("b.pid")).unwrap() == id);
    // What can't be opened is refused, and the old one says so.
    fs::create_dir(folder.join("folder.log")).unwrap();
    fs::write(folder.join("free.yaml"), conf.replace("other.log", "folder.log")).unwrap();
    wait(&served, "other.log", "not reloaded, though ");
    assert!(!fs::read_to_string(folder.join("error.log")).unwrap().contains("generation 2"));
    fs::write(folder.join("free.yaml"), CONF).unwrap();
    wait(&served, "error.log", "generation 4 is served");
    assert!(!folder.join("b.pid").exists());
}
