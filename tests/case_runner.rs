//! Tests of the case runner itself: a runner that can't fail is worth nothing.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

#[allow(dead_code, reason = "only `cases.rs` uses all of it")]
mod runner;
#[allow(dead_code, unused_imports, reason = "only `databases` uses all of it")]
mod servers;

use runner::case::{BodyPattern, Case, Change, HeaderPattern, Pattern, ReplyPattern, Step};
use runner::database::{Availability, Kind};
use runner::exchange::Exchange;
use runner::logs::{Log, PATIENCE};
use runner::play::Mode;
use runner::request::{Form, Request};
use runner::variables::Variables;
use runner::wire::{Connection, Lost, Reply};
use runner::{compare, conf, database, diff, parse, update};

fn variables() -> Variables {
    Variables { port: 12345, folder: PathBuf::from("/tmp/case"), database_url: Some("sqlite:case.db".to_owned()) }
}

fn parsed(text: &str) -> Case {
    parse::parse(text, &variables()).unwrap()
}

fn mistake(text: &str) -> String {
    parse::parse(text, &variables()).unwrap_err().to_string()
}

/// The pattern of a `reply` section with this text.
fn pattern(text: &str) -> ReplyPattern {
    let mut case = parsed(&format!("-- request --\nGET /\n-- reply --\n{text}"));
    match case.sections.remove(1).step {
        Step::Reply(pattern) => pattern,
        other => panic!("{other:?}"),
    }
}

fn reply(status: u16, headers: &[(&str, &str)], body: &str) -> Reply {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Reply { status, headers, body: body.as_bytes().to_vec(), keeps_alive: true }
}

/// Whether the reply `got` passes for the section's text.
fn passes(section: &str, got: &Reply) -> bool {
    compare::reply(&pattern(section), got).is_empty()
}

fn request(lines: &str) -> String {
    String::from_utf8(Request::from_lines(lines).unwrap().bytes).unwrap()
}

/// A server that takes one connection for each of `answers`, reads what comes first, answers and closes.
fn server(answers: &'static [&'static str]) -> (u16, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serve = move || {
        let serve_one = |answer: &&str| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = [0; 65536];
            let length = stream.read(&mut bytes).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8_lossy(&bytes[..length]).into_owned()
        };
        answers.iter().map(serve_one).collect()
    };
    (port, thread::spawn(serve))
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(5)
}

/// What a server that answers `answer` is read as.
fn read(answer: &'static [&'static str], head_only: bool) -> Result<Reply, Lost> {
    let (port, _serving) = server(answer);
    let mut connection = Connection::open(port).unwrap();
    connection.send(b"GET / HTTP/1.1\r\n\r\n");
    connection.read_reply(head_only, soon())
}

#[test]
fn every_case_file_parses_states_its_rule_and_expects_something() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let files = runner::case_files(&folder).unwrap();
    let mut wrong = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let name = file.strip_prefix(&folder).unwrap().display();
        match parse::parse(&text, &variables()) {
            Err(mistake) => wrong.push(format!("{name}:{mistake}")),
            Ok(case) => {
                if case.rule.trim().is_empty() {
                    wrong.push(format!("{name}:1: no rule is stated"));
                }
                let expects = |step: &Step| {
                    matches!(step, Step::Reply(_) | Step::Closed | Step::Log(_) | Step::Access(_) | Step::Check { .. })
                };
                if !case.sections.iter().any(|section| expects(&section.step)) {
                    wrong.push(format!("{name}:1: nothing is expected"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_folder_without_cases_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    assert!(runner::case_files(folder.path()).unwrap_err().contains("holds no file that ends in `.case`"));
    assert!(runner::case_files(&folder.path().join("nope")).unwrap_err().contains("can't be read"));
}

#[test]
fn sections_know_their_lines_and_the_rule_comes_first() {
    let case = parsed("The rule.\n\n-- conf --\nhosts: {}\n-- request --\nGET /\n\n-- reply closed --\n");
    assert_eq!(case.rule, "The rule.\n\n");
    let lines: Vec<usize> = case.sections.iter().map(|section| section.line).collect();
    assert_eq!(lines, [3, 5, 8]);
    assert!(matches!(case.sections[2].step, Step::Closed));
    assert_eq!(case.sections[0].text, "hosts: {}\n");
}

#[test]
fn mistakes_are_named_with_their_line() {
    assert_eq!(mistake("x\n-- repyl --\n"), "2: unknown section `repyl`");
    assert_eq!(mistake("-- parallel 0 --\n"), "1: `0` is not a number of connections");
    assert_eq!(mistake("-- file ../x --\n"), "1: `../x` leaves the folder of the case");
    assert_eq!(mistake("-- file /etc/x --\n"), "1: `/etc/x` leaves the folder of the case");
    assert!(mistake("-- database oracle --\n").starts_with("1: `oracle` is no kind of database"));
    assert_eq!(mistake("-- request --\nGET /\n-- reply --\nOK\n"), "4: `OK` is not a status such as `200`");
    assert!(mistake("-- request --\nGET /\n-- reply --\n200\nx\n").starts_with("5: `x` is not a header"));
    assert!(mistake("-- request --\nGET /\n-- reply --\n200\nx: ~ (\n").starts_with("5: regex parse error"));
    assert!(mistake("-- request --\n\n-- reply --\n200\n").starts_with("1: a request begins with a line"));
    assert!(mistake("-- log --\n\n").starts_with("1: the section names no line"));
    assert_eq!(mistake("-- reply --\n200\n"), "1: a `request` comes before its `reply`");
    assert!(mistake("-- request raw --\nGET \\q\n").starts_with("1: `\\q` is not one of"));
    assert_eq!(mistake("-- request h2 --\nGET /\n"), "1: `request h2` is not there yet");
}

#[test]
fn changes_are_known_by_kind() {
    let case = parsed("-- write a/b --\nx\n-- remove c --\n-- link d e/f --\n");
    let changes: Vec<&Step> = case.sections.iter().map(|section| &section.step).collect();
    assert!(matches!(changes[0], Step::Change(Change::Write(path)) if path == Path::new("a/b")));
    assert!(matches!(changes[1], Step::Change(Change::Remove(path)) if path == Path::new("c")));
    assert!(matches!(changes[2], Step::Change(Change::Link { target, .. }) if target == Path::new("e/f")));
}

#[test]
fn variables_are_replaced_but_not_in_scripts() {
    let text = "-- conf --\nlisten: $PORT\nurl: $DATABASE_URL\n-- file a.rhai --\n$PORT\n-- file b.yaml --\n$DIR\n";
    let texts: Vec<String> = parsed(text).sections.into_iter().map(|section| section.text).collect();
    assert_eq!(texts, ["listen: 12345\nurl: sqlite:case.db\n", "$PORT\n", "/tmp/case\n"]);
}

#[test]
fn a_request_is_completed() {
    assert_eq!(request("GET /a?b\n"), "GET /a?b HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(request("GET / HTTP/1.0\n!Host\n\n"), "GET / HTTP/1.0\r\n\r\n");
    assert_eq!(request("GET /\nhost: a\n"), "GET / HTTP/1.1\r\nhost: a\r\n\r\n");
    assert_eq!(
        request("POST /\nX: y\n\na\n\nb\n"),
        "POST / HTTP/1.1\r\nX: y\r\nHost: localhost\r\nContent-Length: 4\r\n\r\na\n\nb"
    );
    assert_eq!(
        request("POST /\nContent-Length: 9\n\na\n"),
        "POST / HTTP/1.1\r\nContent-Length: 9\r\nHost: localhost\r\n\r\na"
    );
    assert_eq!(
        request("POST /\nTransfer-Encoding: chunked\n\n5\nhello\n0\n\n"),
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nHost: localhost\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
    );
}

#[test]
fn raw_bytes_stand_as_they_are_written() {
    let text = "GET /a HTTP/1.1\\r\\n\\x48ost: b\\r\\n\\r\\n\nHEAD / HTTP/1.1\\r\\n\\r\\n\\xff\n";
    let request = Request::from_escaped(text).unwrap();
    assert_eq!(request.bytes, b"GET /a HTTP/1.1\r\nHost: b\r\n\r\nHEAD / HTTP/1.1\r\n\r\n\xff");
    assert_eq!(request.methods[..2], ["GET", "HEAD"]);
    assert_eq!(request.form, Form::Raw);
    let text = "POST / HTTP/1.1\\r\\nContent-Length: 3\\r\\n\\r\\nabcHEAD / HTTP/1.1\\r\\n\\r\\n";
    assert_eq!(Request::from_escaped(text).unwrap().methods, ["POST", "HEAD"]);
    assert!(Request::from_escaped("\\xg0").is_err());
    assert!(Request::from_escaped("a\\").is_err());
}

#[test]
fn a_wrong_status_fails() {
    assert!(passes("200\n", &reply(200, &[], "")));
    assert!(!passes("200\n", &reply(201, &[], "")));
    assert!(!passes("\n", &reply(200, &[], "")), "a reply that expects nothing is only for an update");
}

#[test]
fn a_missing_or_wrong_header_fails() {
    let got = reply(200, &[("a", "1"), ("b", "2"), ("b", "3")], "");
    assert!(passes("200\nA: 1\nb: 3\n", &got));
    assert!(passes("200\nb: 3\nb: 2\n", &got));
    assert!(!passes("200\na: 2\n", &got));
    assert!(!passes("200\nb: 2, 3\n", &got));
    assert!(!passes("200\nc: 1\n", &got));
    assert!(passes("200\na: ~ \\d\n", &got));
    assert!(!passes("200\na: ~ \\d\\d\n", &got), "a regular expression is anchored");
    assert!(!passes("200\nb: ~ [45]\n", &got));
}

#[test]
fn a_header_that_must_be_absent_fails_when_it_is_there() {
    assert!(passes("200\n!a\n", &reply(200, &[("b", "")], "")));
    assert!(!passes("200\n!A\n", &reply(200, &[("a", "")], "")));
}

#[test]
fn a_wrong_body_fails() {
    assert!(passes("200\n", &reply(200, &[], "anything")), "without a body part it isn't compared");
    assert!(passes("200\n\n", &reply(200, &[], "anything")));
    assert!(passes("200\n\na\n\nb\n\n\n", &reply(200, &[], "a\n\nb")));
    assert!(passes("200\n\na\n\\\n", &reply(200, &[], "a\n")));
    assert!(passes("200\n\n(empty)\n", &reply(200, &[], "")));
    for body in ["", "a\n", "A", "a ", "ab", "\na"] {
        assert!(!passes("200\n\na\n", &reply(200, &[], body)), "{body:?}");
    }
    assert!(!passes("200\n\n(empty)\n", &reply(200, &[], "\n")));
    assert!(!passes("200\n\na\n\\\n", &reply(200, &[], "a")));
}

#[test]
fn a_line_that_its_regular_expression_does_not_fit_fails() {
    let section = "200\n\na\n~ id=\\d+\nb\n";
    assert!(passes(section, &reply(200, &[], "a\nid=42\nb")));
    for body in ["a\nid=\nb", "a\nid=42 \nb", "a\nid=42", "a\nid=42\nb\n", "a\nid=42\nc"] {
        assert!(!passes(section, &reply(200, &[], body)), "{body:?}");
    }
}

#[test]
fn a_failure_shows_both_sides() {
    let section = "200\na: 1\n\nx\ny\n";
    let differences = compare::reply(&pattern(section), &reply(404, &[("a", "2")], "x\nz")).join("\n");
    assert!(differences.contains("status: expected 200, got 404"));
    assert!(differences.contains("header `a`: expected `1`, got `2`"));
    assert!(differences.contains("    x\n  - y\n  + z"), "{differences}");
    assert_eq!(diff::diff("a\nb\nc", "a\nc\nd"), "    a\n  - b\n    c\n  + d");
}

#[test]
fn what_a_check_prints_is_compared_as_a_whole_or_found() {
    let expects = |section: &str, got: &str| {
        let case = parsed(&format!("-- check 78 --\n{section}"));
        match &case.sections[0].step {
            Step::Check { status: 78, output: Some(output) } => compare::output(output, got).is_none(),
            other => panic!("{other:?}"),
        }
    };
    assert!(expects("configuration OK\n", "configuration OK\n"));
    assert!(!expects("configuration OK\n", "configuration OK\nbut\n"));
    assert!(expects("~ a:1.*b:2\n", "x a:1\n\nb:2 y\n"));
    assert!(!expects("~ a:1.*b:2\n", "b:2\na:1\n"));
    assert!(expects("a\n~ \\d\n", "a\n1\n"));
    assert!(!expects("a\n~ \\d\n", "a\n1\n2\n"));
    assert!(expects("(empty)\n", ""));
    assert!(!expects("(empty)\n", "x"));
}

#[test]
fn a_log_is_read_on_from_the_last_look() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("error.log");
    std::fs::write(&file, "one\ntwo\n").unwrap();
    let mut log = Log::new(folder.path(), vec![PathBuf::from("error.log")]);
    let text = |text: &str| Pattern::Text(text.to_owned());
    assert_eq!(log.expect(&[text("two"), text("on")], PATIENCE), Ok(()));
    let mut appended = std::fs::OpenOptions::new().append(true).open(&file).unwrap();
    appended.write_all(b"three\n").unwrap();
    assert_eq!(log.expect(&[text("three")], PATIENCE), Ok(()));
    let failure = log.expect(&[text("one")], Duration::from_millis(50)).unwrap_err();
    assert!(failure.contains("- one") && failure.contains("(nothing)"), "{failure}");
    assert!(Log::new(folder.path(), Vec::new()).expect(&[text("x")], PATIENCE).is_err());
}

#[test]
fn a_configuration_is_completed_at_its_end() {
    let complete = conf::complete("hosts:\n  default:\n", 1);
    assert_eq!(complete, "hosts:\n  default:\nlisten: 127.0.0.1:1\nerror-log: error.log\naccess-log: access.log\n");
    let own = "listen: 1\nerror-log: e\nhosts:\n  default:\n    access-log:\n      path: logs/a\n";
    assert_eq!(conf::complete(own, 1), own);
    assert_eq!(conf::error_logs(own), [PathBuf::from("e")]);
    assert_eq!(conf::access_logs(own), [PathBuf::from("logs/a")]);
    assert_eq!(conf::complete("- a\n", 1), "- a\n", "what is no mapping stays the mistake that it is");
    assert_eq!(conf::complete("", 1), "");
    assert!(conf::needs_address("listen: 8080\n", 12345));
    assert!(!conf::needs_address("listen: 127.0.0.1:12345\n", 12345));
}

#[test]
fn databases_are_found_and_missing_ones_skipped_or_required() {
    assert_eq!(database::kinds("x\n-- database sqlite mysql --\n"), [Kind::Sqlite, Kind::Mysql]);
    assert_eq!(database::kinds("-- conf --\n"), []);
    assert_eq!(Kind::Sqlite.availability_where(true), Availability::Here);
    assert!(matches!(Kind::Redis.availability_where(false), Availability::Skipped(_)));
    assert!(matches!(Kind::Redis.availability_where(true), Availability::Required(_)));
}

#[test]
fn a_case_of_several_databases_is_a_test_for_each() {
    let folder = tempfile::tempdir().unwrap();
    let names = |kinds: &str| {
        let file = folder.path().join("a.case");
        std::fs::write(&file, format!("The rule.\n-- database {kinds} --\n")).unwrap();
        let trials = runner::trials(folder.path(), file, Mode::Compare);
        trials.iter().map(|it| it.name().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("sqlite mysql postgres"), ["a [sqlite]", "a [mysql]", "a [postgres]"]);
    assert_eq!(names("mysql"), ["a"]);
}

#[test]
fn a_database_is_there_also_without_sql_and_bad_sql_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    database::create_sqlite(folder.path(), "").unwrap();
    assert!(folder.path().join("case.db").is_file());
    database::create_sqlite(folder.path(), "CREATE TABLE t(a); INSERT INTO t VALUES (1);").unwrap();
    assert!(database::create_sqlite(folder.path(), "CREATE TABEL").unwrap_err().contains("syntax error"));
}

#[test]
fn replies_are_read_by_their_framing() {
    let got = read(&["HTTP/1.1 200 OK\r\nContent-Length: 3\r\nA: b \r\n\r\nabc"], false).unwrap();
    assert_eq!((got.status, got.body.as_slice(), got.keeps_alive), (200, &b"abc"[..], true));
    assert_eq!(got.values("a").collect::<Vec<_>>(), ["b"]);
    let chunked =
        &["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: u\r\n\r\n"];
    assert_eq!(read(chunked, false).unwrap().body, b"abcde");
    let until_close = read(&["HTTP/1.0 200 OK\r\n\r\nabc"], false).unwrap();
    assert_eq!((until_close.body.as_slice(), until_close.keeps_alive), (&b"abc"[..], false));
    assert_eq!(read(&["HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"], true).unwrap().body, b"");
    assert_eq!(read(&["HTTP/1.1 304 OK\r\nContent-Length: 3\r\n\r\n"], false).unwrap().body, b"");
    let interim = read(&["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"], false);
    assert_eq!(interim.unwrap().status, 200);
    assert!(!read(&["HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"], false).unwrap().keeps_alive);
}

#[test]
fn half_a_reply_is_no_reply() {
    assert_eq!(read(&[""], false), Err(Lost::Closed));
    for answer in [
        &["HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab"] as &[&str],
        &["HTTP/1.1 200 OK\r\nContent-Le"],
        &["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"],
        &["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n\r\n"],
        &["hello\r\n\r\n"],
    ] {
        assert!(matches!(read(answer, false), Err(Lost::Broken { .. })), "{answer:?}");
    }
}

#[test]
fn a_server_that_says_nothing_does_not_hang_the_case() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut connection = Connection::open(listener.local_addr().unwrap().port()).unwrap();
    let lost = connection.read_reply(false, Instant::now() + Duration::from_millis(50)).unwrap_err();
    assert_eq!(lost.to_string(), "time was up, after no byte of a reply");
    assert!(connection.ends(Instant::now() + Duration::from_millis(50)).is_err());
}

#[test]
fn an_exchange_opens_its_connection_again_and_counts_replies() {
    let close = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let two = "HTTP/1.1 201 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 202 OK\r\nContent-Length: 0\r\n\r\n";
    let (port, serving) = server(vec![close, two].leak());
    let mut exchange = Exchange::new(port);
    let status = |exchange: &mut Exchange| exchange.replies(None).map(|replies| replies[0].status);
    let get = Request::from_lines("GET /1\n").unwrap();
    exchange.send(&get, None).unwrap();
    assert_eq!(status(&mut exchange), Ok(200));
    assert!(status(&mut exchange).is_err(), "there was one request");
    let both = Request::from_escaped(r"GET /2 HTTP/1.1\r\n\r\nGET /3 HTTP/1.1\r\n\r\n").unwrap();
    exchange.send(&both, None).unwrap();
    assert_eq!((status(&mut exchange), status(&mut exchange)), (Ok(201), Ok(202)));
    assert!(serving.join().unwrap()[1].starts_with("GET /2"));
    // The server has closed the connection and is gone: that a new one is tried shows in its refusal.
    assert!(exchange.send(&get, None).unwrap_err().starts_with("connecting failed"));
}

#[test]
fn bytes_that_belong_to_no_reply_are_a_failure() {
    let (port, serving) = server(&["HTTP/1.1 204 No Content\r\n\r\nabc"]);
    let mut exchange = Exchange::new(port);
    exchange.send(&Request::from_lines("GET /\n").unwrap(), None).unwrap();
    assert_eq!(exchange.replies(None).unwrap()[0].status, 204);
    serving.join().unwrap();
    assert!(exchange.finish().unwrap_err().contains("belong to no reply"));
}

#[test]
fn a_reply_in_parallel_is_wanted_from_every_connection() {
    let ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let (port, _serving) = server(vec![ok, ok, ""].leak());
    let mut exchange = Exchange::new(port);
    exchange.send(&Request::from_lines("GET /\n").unwrap(), Some(3)).unwrap();
    let failure = exchange.replies(None).unwrap_err();
    assert!(failure.contains("of 3: the server closed the connection without a reply"), "{failure}");
}

#[test]
fn a_reply_that_comes_too_late_fails() {
    let (port, _serving) = server(&["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]);
    let mut exchange = Exchange::new(port);
    exchange.send(&Request::from_lines("GET /\n").unwrap(), None).unwrap();
    let failure = exchange.replies(Some(Duration::ZERO)).unwrap_err();
    assert!(failure.contains("which is more than 0ns"), "{failure}");
}

#[test]
fn a_reply_where_none_may_come_fails() {
    let (port, _serving) = server(&["HTTP/1.1 200 OK\r\n\r\n"]);
    let mut exchange = Exchange::new(port);
    exchange.send(&Request::from_escaped("GET").unwrap(), None).unwrap();
    assert!(exchange.closed().unwrap_err().starts_with("the server answered"));
}

#[test]
fn that_a_connection_is_closed_is_looked_into_after_its_last_reply() {
    let close = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let (port, _serving) = server(vec![close].leak());
    let mut exchange = Exchange::new(port);
    let get = Request::from_lines("GET /\n").unwrap();
    exchange.send(&get, None).unwrap();
    exchange.replies(None).unwrap();
    assert_eq!(exchange.closed(), Ok(()), "the server's end was read, not only promised");
    assert!(exchange.closed().is_err(), "there is none any more");
}

#[test]
fn an_update_writes_what_came_and_keeps_what_was_right() {
    let text = "Rule.\n-- request --\nGET /\n-- reply --\n200\na: ~ \\d\nb: x\nc: y\n\nold\n\n-- request --\nGET /2\n";
    let case = parsed(text);
    let section = &case.sections[1];
    let Step::Reply(expected) = &section.step else { panic!("{section:?}") };
    let got = reply(201, &[("a", "1"), ("b", "http://localhost:12345/")], "new\nlines\n");
    let edit = update::edit(section, expected, &got, &variables()).unwrap();
    let updated = update::apply(text, &[edit]);
    assert_eq!(
        updated,
        "Rule.\n-- request --\nGET /\n-- reply --\n201\na: ~ \\d\nb: http://localhost:$PORT/\n!c\n\nnew\nlines\n\\\n\n\
         -- request --\nGET /2\n"
    );
    assert!(passes(
        updated
            .split("-- reply --\n")
            .nth(1)
            .unwrap()
            .split("-- request")
            .next()
            .unwrap()
            .replace("$PORT", "12345")
            .as_str(),
        &got
    ));
}

#[test]
fn an_update_fills_an_empty_reply() {
    let text = "-- request --\nGET /\n-- reply --\n";
    let case = parsed(text);
    let Step::Reply(expected) = &case.sections[1].step else { panic!("{case:?}") };
    let got = reply(200, &[("content-type", "text/plain")], "hi");
    let edit = update::edit(&case.sections[1], expected, &got, &variables()).unwrap();
    assert_eq!(update::apply(text, &[edit]), format!("{text}200\ncontent-type: text/plain\n\nhi\n"));
    assert!(matches!(expected.body, BodyPattern::Any) && expected.headers.is_empty());
}

#[test]
fn header_names_are_compared_without_case() {
    let pattern = pattern("200\nContent-Type: a\n!X-Y\n");
    assert!(matches!(&pattern.headers[0], HeaderPattern::Present { name, .. } if name == "content-type"));
    assert!(matches!(&pattern.headers[1], HeaderPattern::Absent { name } if name == "x-y"));
}
