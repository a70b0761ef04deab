//! `rhaid call`: one request without a server.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::served::{copy, rhaid};

const KEY: &str = "61c2339c1bc92bc48120b55513cd568b";

/// Exit status, standard output, standard error.
type Ended = (i32, String, String);

fn ended(output: Output) -> Ended {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn sample() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for part in ["conf", "handlers"] {
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join(part), &folder.path().join(part));
    }
    folder
}

fn configured(script: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let conf = "listen: 8080\naccess-log: access.log\nhosts:\n  first:\n    paths:\n      /:\n        \
                rhai.handler-file: app.rhai\n  second:\n    paths:\n      /:\n        rhai.handler: |\n          \
                |env| text(\"second\")\n";
    fs::write(folder.path().join("host.yaml"), conf).unwrap();
    fs::write(folder.path().join("app.rhai"), script).unwrap();
    folder
}

fn call(folder: &TempDir, arguments: &[&str]) -> Ended {
    ended(rhaid(folder).arg("call").args(arguments).output().unwrap())
}

#[test]
fn a_call_prints_what_the_server_would_answer_and_migrates_as_it_would() {
    let sample = sample();
    let target = format!("/projects/1?key={KEY}");
    let (code, stdout, stderr) = call(&sample, &["GET", &target]);
    assert_eq!(stdout, "{\"status\":\"Success\",\"data\":{\"id\":1,\"name\":\"Project 1 for company 1\"}}");
    assert_eq!(code, 0);
    assert!(stderr.contains("INFO applied the migration `conf/migrations/001_companies_and_projects.sql`"), "{stderr}");
    // The second finds what the first left.
    assert_eq!(call(&sample, &[&target]), (0, stdout, String::new()));
}

#[test]
fn a_status_from_400_on_is_told_by_the_exit_status_and_beside_the_body() {
    let expected = "{\"status\":\"Fail\",\"error_message\":\"Need api key\"}".to_owned();
    let (code, stdout, stderr) = call(&sample(), &["GET", "/projects"]);
    assert_eq!((code, stdout), (22, expected));
    assert!(stderr.ends_with("HTTP/1.1 401 Unauthorized\n"), "{stderr}");
}

#[test]
fn a_script_that_fails_is_shown_with_its_line() {
    let folder = configured("|env| {\n    frist(1)\n}\n");
    let (code, stdout, stderr) = call(&folder, &["/?a=b"]);
    assert_eq!((code, stdout.as_str()), (22, "{\"status\":\"Fail\",\"error_message\":\"Internal server error\"}"));
    assert!(stderr.starts_with("ERROR app.rhai:2:"), "{stderr}");
    assert!(stderr.contains(": no function `frist`") && stderr.contains("\n  2 |     frist(1)\n"), "{stderr}");
    assert!(stderr.contains("request: GET /?a=b ("), "{stderr}");
    assert!(stderr.ends_with("HTTP/1.1 500 Internal Server Error\n"), "{stderr}");
    assert!(!folder.path().join("access.log").exists());
}

#[test]
fn the_head_is_printed_before_the_body_where_it_is_asked_for() {
    let folder = configured("|env| [201, #{\"x-a\": \"1\"}, [\"made\"]]");
    for (arguments, length, body) in [(&["-i", "/"][..], "4", "made"), (&["HEAD", "/", "-i"], "4", "")] {
        let (code, stdout, stderr) = call(&folder, arguments);
        let (head, rest) = stdout.split_once("\r\n\r\n").unwrap();
        let lines: Vec<_> = head.split("\r\n").collect();
        assert_eq!(lines[0], "HTTP/1.1 201 Created");
        assert!(lines.contains(&"x-a: 1") && lines.contains(&format!("content-length: {length}").as_str()), "{head}");
        assert_eq!((code, rest, stderr.as_str()), (0, body, ""));
    }
}

#[test]
fn headers_and_bodies_arrive() {
    let folder = configured(
        "|env| text(`${env.REQUEST_METHOD} ${env.SERVER_PORT} ${env[\"HTTP_HOST\"]} ${env.CONTENT_TYPE} ${env.HTTP_X_A} ${env.body}`)",
    );
    let answer = |arguments: &[&str]| call(&folder, arguments).1;
    assert_eq!(answer(&["/"]), "GET 8080 first:8080   ");
    assert_eq!(answer(&["put", "/", "-H", "X-A: 1", "-H", "Host: a"]), "");
    assert_eq!(answer(&["PUT", "/", "-H", "X-A: 1", "-H", "Host: a"]), "PUT 8080 a  1 ");
    assert_eq!(answer(&["/", "-d", "a=1"]), "POST 8080 first:8080 application/x-www-form-urlencoded  a=1");
    assert_eq!(answer(&["/", "--json", "[1]"]), "POST 8080 first:8080 application/json  [1]");
    fs::write(folder.path().join("body"), "of a file").unwrap();
    assert_eq!(
        answer(&["PATCH", "/", "-d", "@body", "-H", "content-type: x/y"]),
        "PATCH 8080 first:8080 x/y  of a file"
    );
    assert_eq!(answer(&["http://second/x"]), "second");
    assert_eq!(answer(&["/", "-H", "host: second"]), "second");

    let mut command = rhaid(&folder);
    let mut child =
        command.args(["call", "/", "-d", "@-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"piped").unwrap();
    let (_, stdout, _) = ended(child.wait_with_output().unwrap());
    assert!(stdout.ends_with("  piped"), "{stdout}");
}

#[test]
fn a_call_is_done_where_it_is_told_and_an_unknown_host_is_the_first() {
    let folder = configured("|env| text(env.HTTP_HOST)");
    let elsewhere = tempfile::tempdir().unwrap();
    let here = folder.path().to_str().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rhaid"));
        ended(command.args(arguments).current_dir(&elsewhere).output().unwrap())
    };
    for arguments in [["--chdir", here, "call", "/"], ["call", "/", "--chdir", here]] {
        let (code, stdout, stderr) = run(&arguments);
        assert_eq!((code, stdout.as_str(), stderr.as_str()), (0, "first:8080", ""));
    }
    let (code, _, stderr) = run(&["call", "/"]);
    assert_eq!(code, 78, "{stderr}");
    assert_eq!(call(&folder, &["http://unknown.example/"]).1, "unknown.example");
}

/// The process can become somebody else only where the tests are run by root.
#[test]
fn what_a_call_makes_is_the_users() {
    let folder = configured("|env| json(db::value(\"SELECT count(*) FROM t\"))");
    let path = |name: &str| folder.path().join(name);
    let nobody = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let nobody = nobody.lines().find_map(|it| it.strip_prefix("nobody:")?.split(':').nth(1)?.parse::<u32>().ok());
    let Some(nobody) = nobody.filter(|_| fs::metadata(folder.path()).unwrap().uid() == 0) else { return };
    chown(folder.path(), Some(nobody), None).unwrap();
    fs::create_dir(path("migrations")).unwrap();
    fs::write(path("migrations/001_t.sql"), "CREATE TABLE t (id INTEGER);").unwrap();
    let conf = fs::read_to_string(path("host.yaml")).unwrap();
    let more = "user: nobody\ndatabases: {main: {url: 'sqlite:var/app.db', migrations: migrations}}\n";
    fs::write(path("host.yaml"), format!("{more}{conf}")).unwrap();
    let (code, stdout, stderr) = call(&folder, &["/"]);
    assert_eq!((code, stdout.as_str()), (0, "0"), "{stderr}");
    for made in ["var", "var/app.db"] {
        assert_eq!(fs::metadata(path(made)).unwrap().uid(), nobody, "{made}");
    }
}

#[test]
fn what_can_not_be_asked_is_a_mistake() {
    let folder = configured("|env| text(\"a\")");
    for (arguments, code, part) in [
        (&["get", "/"][..], 2, "expected a method such as `GET`"),
        (&["GET", "projects"], 2, "expected a path such as `/projects?key=1`"),
        (&["/", "-H", "accept"], 2, "expected a name and a value such as `Accept: text/html`"),
        (&["/", "-d", "@none"], 71, "cannot read the body from `none`"),
        (&["/", "--conf", "none.yaml"], 78, "none.yaml: the file does not exist"),
    ] {
        let (found, stdout, stderr) = call(&folder, arguments);
        assert_eq!((found, stdout.as_str()), (code, ""), "{stderr}");
        assert!(stderr.contains(part), "{stderr}");
    }
    let broken = configured("|env| text(");
    let (code, _, stderr) = call(&broken, &["/"]);
    assert_eq!(code, 78);
    assert!(stderr.starts_with("app.rhai:1:"), "{stderr}");
}
