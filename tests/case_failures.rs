//! How the case runner's failures read: whoever sees one must know what to look at.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

#[allow(dead_code, reason = "only `cases.rs` uses all of it")]
mod runner;
#[allow(dead_code, unused_imports, reason = "only `databases` uses all of it")]
mod servers;

use runner::case::{ReplyPattern, Step};
use runner::exchange::Exchange;
use runner::play::{Mode, play};
use runner::request::Request;
use runner::variables::Variables;
use runner::wire::{Connection, Reply};
use runner::{compare, parse};

const CONF: &str = "\
-- conf --
hosts:
  default:
    paths:
      /:
        rhai.handler: |
          |env| { log::info(\"asked \" + env.PATH_INFO); text(env.PATH_INFO) }
";

/// What is said of a case that fails.
fn failure(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.case");
    fs::write(&file, text).unwrap();
    play(&file, None, Mode::Compare).unwrap_err()
}

fn pattern(text: &str) -> ReplyPattern {
    let variables = Variables { port: 1, folder: "/tmp/case".into(), database_url: None };
    let mut case = parse::parse(&format!("-- request --\nGET /\n-- reply --\n{text}"), &variables).unwrap();
    match case.sections.remove(1).step {
        Step::Reply(pattern) => pattern,
        other => panic!("{other:?}"),
    }
}

fn differences(section: &str, headers: &[(&str, &str)], body: &[u8]) -> String {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let reply = Reply { status: 200, headers, body: body.to_vec(), keeps_alive: true };
    compare::reply(&pattern(section), &reply).join("\n")
}

/// A server that takes connections and answers nothing.
fn silent() -> (u16, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    (listener.local_addr().unwrap().port(), listener)
}

#[test]
fn a_failure_shows_the_request_that_it_is_about() {
    let text = format!(
        "The rule.\n{CONF}-- request --\nGET /1\n-- reply --\n200\n-- request --\nGET /2\nX-A: b\n-- reply --\n201\n"
    );
    let failure = failure(&text);
    let expected = "a.case:16: not the expected reply\nstatus: expected 201, got 200\n";
    assert!(failure.contains(expected), "{failure}");
    assert!(
        failure.contains("\nthe request, of line 13:\n    GET /2\n    X-A: b\nthe rule:\n    The rule.\n"),
        "{failure}"
    );
    assert!(!failure.contains("GET /1"), "{failure}");
}

#[test]
fn a_failure_before_any_request_shows_none() {
    let failure = failure("-- conf --\nhosts:\n-- check 0 --\nconfiguration OK\n");
    assert!(failure.contains("exit status: expected 0, got 78") && !failure.contains("the request"), "{failure}");
}

#[test]
fn what_was_logged_is_shown_once() {
    let failure = failure(&format!("{CONF}-- request --\nGET /1\n-- reply --\n200\n-- log --\nnever\n"));
    assert!(failure.contains("not logged within 5s:\n  - never\nlogged were:\n"), "{failure}");
    assert_eq!(failure.matches("asked /1").count(), 1, "{failure}");
    assert!(failure.contains("the request, of line 8:\n    GET /1"), "{failure}");
}

#[test]
fn a_reply_that_does_not_come_names_the_time() {
    let (port, _listener) = silent();
    let mut exchange = Exchange::new(port);
    exchange.send(&Request::from_lines("GET /\n").unwrap(), None).unwrap();
    exchange.patience = Duration::from_millis(100);
    let failure = exchange.replies(Some(Duration::from_millis(70))).unwrap_err();
    assert_eq!(failure, "no byte of a reply in 140ms (it must come within 70ms)");
}

#[test]
fn a_connection_that_is_not_closed_names_the_time() {
    let (port, _listener) = silent();
    let mut exchange = Exchange::new(port);
    exchange.send(&Request::from_escaped("GET").unwrap(), None).unwrap();
    exchange.patience = Duration::from_millis(100);
    assert_eq!(exchange.closed().unwrap_err(), "the server left the connection open and sent nothing for 100ms");
}

#[test]
fn bytes_that_are_no_utf_8_can_be_told_apart() {
    let failure = differences("200\n\na\u{e9}\n", &[], b"a\xe9\xff\0");
    assert!(
        failure.contains("body (bytes that are no UTF-8 are shown as `<NN>`):\n  - a\u{e9}\n  + a<e9><ff>\\0"),
        "{failure}"
    );
    let failure = differences("200\n\n~ b.\nx\n", &[], b"b\xff\ny\xfe");
    assert!(failure.contains("    b<ff>\n  - x\n  + y<fe>"), "{failure}");
    assert_eq!(differences("200\n\n~ b.\n", &[], b"b\xff"), "", "a pattern takes them as before");
    assert_eq!(compare::shown("é\n".as_bytes()), "é\n");
}

#[test]
fn half_a_reply_shows_its_bytes() {
    let (port, listener) = silent();
    let mut connection = Connection::open(port).unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    stream.write_all(b"HTTP/1.1 200 OK\r\nA: \xff").unwrap();
    let lost = connection.read_reply(false, Instant::now() + Duration::from_millis(200)).unwrap_err().to_string();
    assert!(lost.starts_with("time was up, after these bytes:\n") && lost.ends_with("A: <ff>"), "{lost}");
}

#[test]
fn a_header_that_may_stand_once_fails_when_it_comes_twice() {
    let twice = [("date", "a"), ("x", "1"), ("date", "b"), ("x", "2")];
    let failure = differences("200\ndate: a\n", &twice, b"");
    assert!(failure.starts_with("header `date`: came 2 times, `a`, `b`\n"), "{failure}");
    assert_eq!(differences("200\n", &twice[..2], b""), "");
}

#[test]
fn the_end_of_the_server_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let (log, pid) = (place("error.log"), place("rhaid.pid"));
    let conf = format!("-- conf --\npid-file: {}\nerror-log: {}\n", pid.display(), log.display());
    let text = format!(
        "{conf}hosts:\n  default:\n    paths:\n      /:\n        rhai.handler: |\n          |env| {{ log::info(\"asked\"); \
         sleep(4); text(\"\") }}\n-- request --\nGET /\n-- reply --\n200\n"
    );
    let playing = thread::spawn(move || failure(&text));
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    while !read(&log).contains("asked") {
        assert!(!playing.is_finished(), "{:?}", playing.join());
        thread::sleep(Duration::from_millis(20));
    }
    assert!(Command::new("kill").args(["-KILL", read(&pid).trim()]).status().unwrap().success());
    let failure = playing.join().unwrap();
    assert!(failure.contains("the server has ended:\n    signal: 9 (SIGKILL)"), "{failure}");
}
