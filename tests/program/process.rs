//! The process as a whole: how it starts, refuses to start, and ends.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Output;
use std::time::{Duration, Instant};

use crate::served::{Served, rhaid};

const HELLO: &str = "\
listen: 1
hosts:
  default:
    paths:
      /:
        rhai.handler: |
          |env| text(\"hello\")
      /slow:
        rhai.handler: |
          |env| { print(\"slow began\"); sleep(0.5); text(\"slow\") }
";

/// Runs the command with a configuration to its end.
fn run(text: &str, arguments: &[&str]) -> (i32, String, String) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("host.yaml"), text).unwrap();
    let Output { status, stdout, stderr } = rhaid(&folder).args(["-c", "host.yaml"]).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

#[test]
fn a_test_of_a_good_configuration_says_ok() {
    assert_eq!(run(HELLO, &["-t"]), (0, "configuration OK\n".to_owned(), String::new()));
}

#[test]
fn a_mistake_in_the_configuration_exits_with_78() {
    for arguments in [&["-t"][..], &[]] {
        let (code, stdout, stderr) = run("listen: 1\nhost: {}\n", arguments);
        assert_eq!((code, stdout.as_str()), (78, ""));
        assert!(stderr.contains("host.yaml:2:1: unknown directive `host`"), "{stderr}");
        assert!(stderr.contains("hint: did you mean `hosts`?"), "{stderr}");
    }
}

#[test]
fn a_script_that_fails_at_its_start_exits_with_78_and_its_place() {
    let text = HELLO.replace("|env| text(\"hello\")", "throw \"no\";");
    for arguments in [&["-t"][..], &["--listen", "127.0.0.1:0"]] {
        let (code, _, stderr) = run(&text, arguments);
        assert_eq!(code, 78);
        assert!(stderr.starts_with("host.yaml:7:11: no\n  7 |           throw \"no\";"), "{stderr}");
    }
}

#[test]
fn a_port_that_is_taken_exits_with_71() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (code, _, stderr) = run(HELLO, &["--listen", &address]);
    assert_eq!(code, 71);
    assert!(stderr.contains(&format!("cannot listen on {address}: Address already in use")), "{stderr}");
    assert!(stderr.contains("hint: "), "{stderr}");
}

#[test]
fn a_missing_folder_or_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let output = rhaid(&folder).args(["-c", "none.yaml", "-t"]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(78));
    assert!(stderr.contains("none.yaml"), "{stderr}");
    let output = rhaid(&folder).args(["--chdir", "nowhere/at/all"]).output().unwrap();
    assert_ne!(output.status.code(), Some(0));
}

#[test]
fn the_version_is_printed() {
    for argument in ["-v", "--version"] {
        let (code, stdout, _) = run("", &[argument]);
        assert_eq!((code, stdout), (0, format!("rhaid {}\n", env!("CARGO_PKG_VERSION"))));
    }
}

#[test]
fn the_pid_file_is_there_while_the_process_is() {
    let mut server = Served::configured(&format!("pid-file: rhaid.pid\n{HELLO}"));
    let path = server.folder.path().join("rhaid.pid");
    assert_eq!(fs::read_to_string(&path).unwrap().trim(), server.process.id().to_string());
    server.signal("TERM");
    assert!(server.process.wait().unwrap().success());
    assert!(!path.exists());
}

#[test]
fn a_request_in_flight_is_answered_before_the_end() {
    for signal in ["TERM", "INT"] {
        let mut server = Served::configured(HELLO);
        let mut idle = server.connect();
        let mut busy = server.connect();
        write!(busy, "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        server.printed("slow began");
        let asked = Instant::now();
        server.signal(signal);
        let mut reply = String::new();
        busy.read_to_string(&mut reply).unwrap();
        assert!(reply.starts_with("HTTP/1.1 200 OK\r\n") && reply.ends_with("\r\n\r\nslow"), "{reply}");
        assert_eq!(idle.read_to_string(&mut reply).unwrap(), 0);
        assert!(server.process.wait().unwrap().success());
        assert!(asked.elapsed() < Duration::from_secs(5), "an idle connection must not hold the end up");
    }
}

#[test]
fn a_listed_address_can_be_given_on_the_command_line_only() {
    let text = HELLO.replace("listen: 1\n", "");
    let (code, _, stderr) = run(&text, &["-t"]);
    assert_eq!(code, 78);
    assert!(stderr.contains("`listen` is missing"), "{stderr}");
    assert_eq!(run(&text, &["-t", "--listen", "0"]).0, 0);
}

#[test]
fn what_is_tested_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("migrations")).unwrap();
    fs::write(folder.path().join("migrations/001_a.sql"), "CREATE TABLE a (b INTEGER);").unwrap();
    let databases = "databases: {main: {url: 'sqlite:var/a.db', migrations: migrations}}\n";
    let text = format!("{databases}access-log: access.log\nerror-log: error.log\npid-file: a.pid\n{HELLO}");
    fs::write(folder.path().join("host.yaml"), text).unwrap();
    for connect in [&[][..], &["--connect"]] {
        let output = rhaid(&folder).args(["-c", "host.yaml", "-t"]).args(connect).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "configuration OK\n");
        let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["host.yaml", "migrations"]);
    }
}

#[test]
fn a_status_has_its_own_reason_phrase() {
    let text = "listen: 1\nhosts:\n  default:\n    paths:\n      /:\n        rhai.handler: |\n          \
                |env| empty(env.query.int(\"s\"))\n";
    let server = Served::configured(text);
    for (status, phrase) in
        [(200, "OK"), (404, "Not Found"), (418, "I'm a teapot"), (503, "Service Unavailable"), (599, "")]
    {
        let mut stream = server.connect();
        write!(stream, "GET /?s={status} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        assert_eq!(reply.lines().next(), Some(format!("HTTP/1.1 {status} {phrase}").as_str()));
    }
}

#[test]
fn with_an_error_log_of_json_on_stderr_every_line_there_is_json() {
    let mut server = Served::configured(&format!("error-log: {{format: json}}\n{HELLO}"));
    server.get("/slow");
    server.signal("TERM");
    assert!(server.process.wait().unwrap().success());
    let lines: Vec<String> = std::iter::once(server.line.clone()).chain(server.rest()).collect();
    let events: Vec<serde_json::Value> = lines.iter().map(|it| serde_json::from_str(it).expect(it)).collect();
    assert!(events.iter().any(|it| it["message"] == "slow began" && it["request"].is_string()), "{lines:?}");
    assert!(events.len() >= 3, "{lines:?}");
}

#[test]
fn a_client_that_sends_all_of_a_refused_body_reads_why() {
    let script = "rhai.handler: |\n          |env| text(\"taken\")\n";
    let key = "2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683";
    let text = format!(
        "listen: 1\nlimit-request-body: 1 MB\nhosts:\n  default:\n    paths:\n      /script:\n        {script}      \
         /secret:\n        auth.api-key: {{bearer: ON, keys: [{key}]}}\n        {script}"
    );
    let server = Served::configured(&text);
    for (target, status) in [("/script", "413"), ("/secret", "401"), ("/none", "404")] {
        let mut stream = server.connect();
        let body = vec![b'x'; 20_000_000];
        write!(stream, "POST {target} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.len()).unwrap();
        stream.write_all(&body).expect("the server takes what the client sends");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        assert!(reply.starts_with(&format!("HTTP/1.1 {status} ")), "{target}: {reply}");
    }
}
