//! `rhaid new` and `rhaid test`: a project, and the tests of its handlers.

use std::fs;
use std::process::{Command, Output};

use rhaid::binding::testing::TESTING;
use tempfile::TempDir;

use crate::served::{Served, rhaid};

/// Exit status, standard output, standard error.
type Ended = (i32, String, String);

fn ended(output: Output) -> Ended {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn run(folder: &TempDir, arguments: &[&str]) -> Ended {
    ended(rhaid(folder).args(arguments).output().unwrap())
}

const CONF: &str = "\
listen: 8080
databases:
  main:
    url: sqlite:var/app.db
    migrations: migrations
access-log: access.log
error-log: error.log
pid-file: rhaid.pid
hosts:
  default:
    paths:
      /:
        rhai.handler-file: app.rhai
";

const MIGRATION: &str = "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL);\n";

const APP: &str = "\
let app = router();
app.get(\"/\", |env| json([1, 2]));
app.post(\"/\", |env| [200, #{\"content-type\": env.CONTENT_TYPE ?? \"none\"}, [env.body]]);
app.get(\"/notes\", |env| json(db::query(\"SELECT text FROM notes ORDER BY id\")));
app.post(\"/notes\", |env| {
    db::exec(\"INSERT INTO notes (text) VALUES (?)\", [env.body]);
    store::increment(\"notes\", 1);
    log::info(`kept ${env.body}`);
    empty()
});
app.get(\"/count\", |env| json(store::get(\"notes\")));
app.get(\"/broken\", |env| {
    let notes = db::query(\"SELECT x FROM notes\");
    json(notes)
});
app
";

/// A project with these tests.
fn project(tests: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("migrations")).unwrap();
    for (name, text) in
        [("host.yaml", CONF), ("migrations/001_notes.sql", MIGRATION), ("app.rhai", APP), ("app_test.rhai", tests)]
    {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// Runs the tests; the time that they took is left out.
fn outcome(tests: &str) -> (i32, String) {
    let (code, stdout, stderr) = run(&project(tests), &["test"]);
    assert_eq!(stderr, "");
    let (before, _) = stdout.rsplit_once(" in ").unwrap();
    (code, before.to_owned())
}

#[test]
fn a_new_project_passes_its_tests_and_answers() {
    let folder = tempfile::tempdir().unwrap();
    let (code, stdout, stderr) = run(&folder, &["new", "a/demo"]);
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert!(stdout.contains("  cd a/demo\n") && stdout.contains("test    # runs its tests"), "{stdout}");
    let project = folder.path().join("a/demo");

    let mut command = Command::new(env!("CARGO_BIN_EXE_rhaid"));
    let (code, stdout, stderr) = ended(command.arg("test").current_dir(&project).output().unwrap());
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    assert!(stdout.contains("test handlers/app_test.rhai: test_a_note_is_kept ... ok\n"), "{stdout}");
    assert!(stdout.contains("\ntest result: ok. 4 passed, 0 failed in "), "{stdout}");
    assert!(!project.join("var").exists());

    // What its README says.
    let served = Served::copied(&project, &["."], "host.yaml");
    let (status, body) = served.ask("POST", "/notes", "text=buy+milk");
    assert_eq!(status, 201);
    assert!(
        body.starts_with("{\"status\":\"Success\",\"data\":{\"id\":1,\"text\":\"buy milk\",\"created_at\":\"2"),
        "{body}"
    );
    assert_eq!(served.get("/notes/1"), (200, body));
    assert_eq!(served.ask("DELETE", "/notes/1", ""), (204, String::new()));
    assert_eq!(served.get("/notes"), (200, "{\"status\":\"Success\",\"data\":[]}".to_owned()));
}

#[test]
fn a_new_project_does_not_overwrite_anything() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("empty")).unwrap();
    assert_eq!(run(&folder, &["new", "empty"]).0, 0);
    let before = fs::read_to_string(folder.path().join("empty/host.yaml")).unwrap();
    fs::write(folder.path().join("empty/host.yaml"), "mine").unwrap();
    for place in ["empty", "empty/host.yaml"] {
        let (code, stdout, stderr) = run(&folder, &["new", place]);
        assert_eq!((code, stdout.as_str()), (71, ""), "{place}");
        assert!(stderr.starts_with("rhaid: "), "{stderr}");
    }
    assert_ne!(fs::read_to_string(folder.path().join("empty/host.yaml")).unwrap(), before);
}

#[test]
fn a_failed_assertion_points_at_its_line_and_shows_both_sides() {
    let (code, stdout) = outcome(
        "fn test_one() {\n    assert_eq(get(\"/\").json, [1, 3]);\n}\n\nfn test_two() { assert(1 == 1); }\n\
         fn helper() { assert(false, \"on purpose\"); }\nfn test_three() {\n    helper();\n}\n\
         fn test_four() { assert_status(get(\"/none\"), 200); }\n",
    );
    let expected = "\
test app_test.rhai: test_one ... FAILED
test app_test.rhai: test_two ... ok
test app_test.rhai: test_three ... FAILED
test app_test.rhai: test_four ... FAILED

failures:

---- app_test.rhai: test_one
app_test.rhai:2:5: the two are not the same
  2 |     assert_eq(get(\"/\").json, [1, 3]);
    |     ^^^^^^^^^
  left:  [1,2]
  right: [1,3]
  first at `[1]`: left is 2, right is 3

---- app_test.rhai: test_three
app_test.rhai:6:15: the assertion does not hold: on purpose
  6 | fn helper() { assert(false, \"on purpose\"); }
    |               ^^^^^^
  in `helper`, called at app_test.rhai:8:5

---- app_test.rhai: test_four
app_test.rhai:10:18: the status is 404, expected 200
  10 | fn test_four() { assert_status(get(\"/none\"), 200); }
     |                  ^^^^^^^^^^^^^
  GET /none was answered with 404: {\"status\":\"Fail\",\"error_message\":\"Not found\"}

test result: FAILED. 1 passed, 3 failed";
    assert_eq!((code, stdout.as_str()), (1, expected));
}

#[test]
fn a_script_that_fails_inside_a_request_is_shown_with_its_line() {
    let (code, stdout) = outcome("fn test_broken() { print(\"asked\"); assert_status(get(\"/broken\"), 200); }\n");
    assert_eq!(code, 1);
    let log = stdout.split_once("\n\n  logged meanwhile:\n").expect("a log").1;
    assert!(log.starts_with("  INFO asked\n  ERROR app.rhai:13:"), "{log}");
    assert!(log.contains(": no such column: x"), "{log}");
    assert!(log.contains("\n    13 |     let notes = db::query(\"SELECT x FROM notes\");\n"), "{log}");
}

#[test]
fn no_test_sees_what_another_did() {
    let kept = |name: &str| {
        format!(
            "fn test_{name}() {{ assert_status(post(\"/notes\", \"{name}\"), 204); \
             assert_eq(get(\"/notes\").json, [#{{text: \"first\"}}, #{{text: \"{name}\"}}]); \
             assert_eq(get(\"/count\").json, 1); assert_eq(db::value(\"SELECT COUNT(*) FROM notes\"), 2); \
             store::set(\"x\", 1); }}\n"
        )
    };
    let setup =
        "fn setup() { assert(store::get(\"x\") == ()); db::exec(\"INSERT INTO notes (text) VALUES ('first')\"); }\n";
    let (code, stdout) = outcome(&format!("{setup}{}{}", kept("a"), kept("b")));
    assert_eq!((code, stdout.lines().last()), (0, Some("test result: ok. 2 passed, 0 failed")), "{stdout}");
}

#[test]
fn the_configured_database_is_not_touched_and_no_file_is_made() {
    let folder =
        project("fn test_a() { post(\"/notes\", \"a\"); db::exec(\"DELETE FROM notes\"); get(\"/broken\"); }\n");
    let names = |below: &str| {
        let mut names: Vec<_> =
            fs::read_dir(folder.path().join(below)).unwrap().map(|it| it.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names("");
    assert_eq!(run(&folder, &["test"]).0, 0);
    assert_eq!(names(""), before);

    // With the database there, and with one that would not even open.
    assert_eq!(run(&folder, &["call", "/notes", "-d", "kept"]).0, 0);
    let path = folder.path().join("var/app.db");
    let kept = fs::read(&path).unwrap();
    assert_eq!(run(&folder, &["test"]).0, 0);
    assert_eq!((fs::read(&path).unwrap(), names("var")), (kept, vec!["app.db".into()]));
    assert_eq!(run(&folder, &["call", "/notes"]).1, "[{\"text\":\"kept\"}]");
    fs::write(&path, "no database").unwrap();
    assert_eq!(run(&folder, &["test"]).0, 0);
    assert_eq!(fs::read_to_string(&path).unwrap(), "no database");
    assert_ne!(run(&folder, &["call", "/notes"]).0, 0);
}

#[test]
fn tests_are_chosen_by_name_and_none_is_no_success() {
    let folder = project("fn test_a() {}\nfn test_b() { throw \"no\"; }\nfn test_c() {}\n");
    let (code, stdout, _) = run(&folder, &["test", "--filter", "test_a"]);
    assert_eq!(code, 0);
    assert!(stdout.contains("test result: ok. 1 passed, 0 failed, 2 filtered out in "), "{stdout}");
    let (code, stdout, _) = run(&folder, &["test", "--filter", "nothing"]);
    assert_eq!(code, 1);
    assert!(stdout.contains("test result: no test was run. 0 passed, 0 failed, 3 filtered out"), "{stdout}");
    let (code, stdout, stderr) = run(&folder, &["test", "migrations"]);
    assert_eq!((code, stdout.as_str()), (1, ""));
    assert_eq!(stderr, "no tests: there is no file `*_test.rhai` in `migrations`\n");
    let (code, _, stderr) = run(&folder, &["test", "none_test.rhai"]);
    assert_eq!(code, 71);
    assert!(stderr.starts_with("rhaid: cannot look for tests in `none_test.rhai`"), "{stderr}");
}

#[test]
fn tests_are_run_where_it_is_told_and_not_those_of_another_project() {
    let folder = project("fn test_a() { assert_status(get(\"/\", #{host: \"unknown.example\"}), 200); }\n");
    fs::create_dir(folder.path().join("other")).unwrap();
    fs::write(folder.path().join("other/host.yaml"), CONF).unwrap();
    fs::write(folder.path().join("other/b_test.rhai"), "fn test_b() { throw \"not mine\"; }\n").unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_rhaid"));
    command.args(["test", "--chdir", folder.path().to_str().unwrap()]).current_dir(&elsewhere);
    let (code, stdout, stderr) = ended(command.output().unwrap());
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    let expected = "test app_test.rhai: test_a ... ok\n\ntest result: ok. 1 passed, 0 failed in ";
    assert!(stdout.starts_with(expected), "{stdout}");
}

#[test]
fn a_test_that_does_not_end_by_itself_is_stopped() {
    let folder = project(
        "fn test_a() { loop {} }\nfn test_b() { let x = []; loop { x.push(\"x\") } }\nfn test_c() { return; }\n",
    );
    let limits = "rhai.max-operations: 10000\n";
    fs::write(folder.path().join("host.yaml"), format!("{limits}{CONF}")).unwrap();
    let (code, stdout, _) = run(&folder, &["test"]);
    assert_eq!(code, 1);
    assert!(
        stdout.contains("app_test.rhai: `test_a` was stopped: it took more steps than `rhai.max-operations`\n"),
        "{stdout}"
    );
    assert!(stdout.contains("test result: FAILED. 1 passed, 2 failed"), "{stdout}");
    let (code, stdout) = outcome("fn test_a() {}\nexit(1);\n");
    assert_eq!(code, 1);
    assert!(stdout.contains("`return` or `exit` ended the script before `test_a` was done"), "{stdout}");
}

#[test]
fn a_file_that_is_no_script_of_tests_fails_as_a_whole() {
    for (tests, expected) in [
        ("fn test_a() { let }\n", "app_test.rhai:1:19: "),
        ("fn test_a(x) {}\n", "app_test.rhai: `test_a` takes 1 argument, expected none"),
    ] {
        let (code, stdout) = outcome(tests);
        assert_eq!(code, 1);
        assert!(stdout.starts_with("test app_test.rhai ... FAILED\n") && stdout.contains(expected), "{stdout}");
    }
    let folder = project("fn test_a() {}\n");
    fs::write(folder.path().join("app.rhai"), "|env| {").unwrap();
    let (code, stdout, stderr) = run(&folder, &["test"]);
    assert_eq!((code, stdout.as_str()), (78, ""));
    assert!(stderr.starts_with("app.rhai:1:"), "{stderr}");
}

#[test]
fn each_function_for_tests_gives_what_its_example_says() {
    let mut tests = String::new();
    for (index, function) in TESTING.iter().enumerate() {
        let (code, value) = function.example.split_once(" → ").expect("an example has ` → ` and its value");
        tests.push_str(&format!("fn test_{index}() {{ assert_eq({{ {code} }}, json::parse(`{value}`)); }}\n"));
    }
    let (code, stdout) = outcome(&tests);
    assert_eq!(code, 0, "{stdout}");
}

#[test]
fn bodies_are_sent_as_what_they_are() {
    let (code, stdout) = outcome(
        "fn sent(reply) { [reply.headers[\"Content-Type\"], reply.body] }\n\
         fn test_a() {\n\
         assert_eq(sent(post(\"/\", #{a: [1]})), [\"application/json\", \"{\\\"a\\\":[1]}\"]);\n\
         assert_eq(sent(post(\"/\", [])), [\"application/json\", \"[]\"]);\n\
         assert_eq(sent(post(\"/\", \"a=1\")), [\"none\", \"a=1\"]);\n\
         assert_eq(sent(post(\"/\", #{a: 1}, #{\"content-type\": \"x/y\"})), [\"x/y\", \"{\\\"a\\\":1}\"]);\n\
         assert_eq(sent(request(\"POST\", \"/\", #{body: 5})), [\"application/json\", \"5\"]);\n\
         assert_eq(put(\"/\").status, 405);\n\
         assert_eq(head(\"/\").headers[\"content-length\"], \"5\");\n\
         assert_eq(head(\"/\").body, \"\");\n\
         assert_eq(options(\"/\").headers[\"allow\"], \"GET, HEAD, POST, OPTIONS\");\n\
         assert_eq(get(\"/\").headers[\"x-none\"], ());\n\
         assert(assert_error(|| get(\"none\")).contains(\"the path is `none`\"));\n\
         }\n",
    );
    assert_eq!(code, 0, "{stdout}");
}
