//! `rhaid db`: dumps, and what migrations were applied.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::process::{Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tempfile::TempDir;

use crate::served::rhaid;

/// Exit status, standard output, standard error.
type Ended = (i32, String, String);

fn ended(output: Output) -> Ended {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn db(folder: &TempDir, arguments: &[&str]) -> Ended {
    ended(rhaid(folder).arg("db").args(arguments).output().unwrap())
}

/// A folder with two databases, `main` with migrations and `log` without.
fn configured() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let conf = "databases:\n  main:\n    url: sqlite:var/main.db\n    migrations: migrations\n  log: sqlite:log.db\n\
                hosts:\n  default:\n    paths:\n      /:\n        rhai.handler: |\n          |env| text(\"a\")\nlisten: 8080\n";
    fs::write(folder.path().join("host.yaml"), conf).unwrap();
    fs::create_dir(folder.path().join("migrations")).unwrap();
    folder
}

fn write(folder: &TempDir, name: &str, content: impl AsRef<[u8]>) {
    fs::write(folder.path().join(name), content).unwrap();
}

fn opened(folder: &TempDir, name: &str) -> Connection {
    Connection::open(folder.path().join(name)).unwrap()
}

fn number(connection: &Connection, sql: &str) -> i64 {
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// The text with the time that something took as `N`.
fn without_time(text: &str) -> String {
    let (before, rest) = text.rsplit_once(" in ").unwrap();
    let (time, after) = rest.split_once(" s").unwrap();
    assert!(time.parse::<f64>().is_ok(), "{text}");
    format!("{before} in N s{after}")
}

#[test]
fn a_dump_is_loaded_and_said_to_be() {
    let folder = configured();
    // As `sqlite3 a.db .dump` writes it.
    let dump = "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE a (n INTEGER PRIMARY KEY, b REFERENCES c (n), t TEXT);\n\
                INSERT INTO a VALUES(1,7,'it''s; ?');\nCREATE TABLE c (n INTEGER PRIMARY KEY);\n\
                CREATE TRIGGER d AFTER INSERT ON c BEGIN DELETE FROM a; DELETE FROM c; END;\nCOMMIT;\n";
    write(&folder, "dump.sql", dump);
    let (code, stdout, stderr) = db(&folder, &["load", "dump.sql", "--database", "main"]);
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert_eq!(without_time(&stdout), "loaded `dump.sql` into `main`: 7 statements in N s\n");
    let connection = opened(&folder, "var/main.db");
    assert_eq!(number(&connection, "SELECT count(*) FROM a WHERE t = 'it''s; ?'"), 1);
    assert_eq!(number(&connection, "SELECT count(*) FROM sqlite_schema"), 3);
}

#[test]
fn what_is_piped_is_loaded() {
    let folder = configured();
    let mut command = rhaid(&folder);
    command.args(["db", "load", "-", "--database", "log"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"\xef\xbb\xbfCREATE TABLE a (n INT);\r\nINSERT INTO a VALUES (1)").unwrap();
    let (code, stdout, stderr) = ended(child.wait_with_output().unwrap());
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert_eq!(without_time(&stdout), "loaded `standard input` into `log`: 2 statements in N s\n");
    assert_eq!(number(&opened(&folder, "log.db"), "SELECT sum(n) FROM a"), 1);
}

#[test]
fn a_dump_of_mysqls_stops_at_its_first_foreign_statement_and_leaves_no_trace() {
    let folder = configured();
    write(&folder, "dump.sql", include_str!("dump.mysql.sql"));
    let (code, stdout, stderr) = db(&folder, &["load", "dump.sql", "--database", "main"]);
    assert_eq!((code, stdout.as_str()), (1, ""));
    let expected = "dump.sql:17: near \"AUTO_INCREMENT\": syntax error at character 48 of the statement\n  \
                    16 | CREATE TABLE `books` ( `id` int(?) NOT NULL AUTO_INCREMENT, `title` varchar(…\n\
                    hint: this looks like a dump of MySQL, and `main` is SQLite\nnothing of the file was kept\n";
    assert_eq!(stderr, expected);
    assert_eq!(number(&opened(&folder, "var/main.db"), "SELECT count(*) FROM sqlite_schema"), 0);
}

#[test]
fn the_first_statement_that_fails_ends_the_load_without_a_word_of_its_values() {
    for (content, code, message, left) in [
        (
            "CREATE TABLE a (n INT UNIQUE);\nINSERT INTO a VALUES (1);\n-- again\nINSERT INTO a\n  VALUES (1), (12345678);\n",
            1,
            "dump.sql:4: UNIQUE constraint failed: a.n\n  4 | INSERT INTO a VALUES (?), (?)\n\
             nothing of the file was kept\n",
            0,
        ),
        (
            "BEGIN;\nCREATE TABLE a (n INT);\nCOMMIT;\nBEGIN;\nINSERT INTO a VALUES (1);\nINSERT INTO b VALUES ('x');\n",
            1,
            "dump.sql:6: no such table: b\n  6 | INSERT INTO b VALUES (?)\n\
             the statements up to line 3 were done and stay\n",
            1,
        ),
        (
            "CREATE TABLE a (n INT);\nPRAGMA user_version = 7;\nINSERT INTO b VALUES (1);\n",
            1,
            "dump.sql:3: no such table: b\n  3 | INSERT INTO b VALUES (?)\n\
             the statements up to line 1 were done and stay\n",
            1,
        ),
        (
            "CREATE TABLE a (n INT);\nCOMMIT;\nBROKEN;\n",
            1,
            "dump.sql:3: near \"BROKEN\": syntax error at character 1 of the statement\n  3 | BROKEN\n\
             the statements up to line 2 were done and stay\n",
            1,
        ),
        (
            "BEGIN;\nCREATE TABLE a (n INT);\n",
            1,
            "dump.sql:1: the transaction that begins here is not ended in the file\n\
             hint: is the file whole? its last statement would be `COMMIT;`\nnothing of the file was kept\n",
            0,
        ),
        (
            "CREATE TABLE a (n INT REFERENCES b (n) DEFERRABLE INITIALLY DEFERRED);\nCREATE TABLE b (n INTEGER PRIMARY KEY);\n\
             INSERT INTO a VALUES (1);\n",
            1,
            "dump.sql: FOREIGN KEY constraint failed\nnothing of the file was kept\n",
            0,
        ),
        (
            "CREATE TABLE a (n INT);\n\nINSERT INTO a VALUES ('x;\n",
            1,
            "dump.sql:3: the string or quoted name that begins here is not closed\nnothing of the file was kept\n",
            0,
        ),
        (
            "BROKEN;\n",
            1,
            "dump.sql:1: near \"BROKEN\": syntax error at character 1 of the statement\n  1 | BROKEN\n",
            0,
        ),
        ("SELECT ?;\n", 1, "dump.sql:1: there is a placeholder, which nothing fills here\n  1 | SELECT ?\n", 0),
    ] {
        let folder = configured();
        write(&folder, "dump.sql", content);
        let (found, stdout, stderr) = db(&folder, &["load", "dump.sql", "--database", "log"]);
        assert_eq!((found, stdout.as_str(), stderr.as_str()), (code, "", message), "{content}");
        let connection = opened(&folder, "log.db");
        assert_eq!(number(&connection, "SELECT count(*) FROM sqlite_schema WHERE name = 'a'"), left, "{content}");
        if left == 1 {
            assert_eq!(number(&connection, "SELECT count(*) FROM a"), 0, "{content}");
        }
    }
}

#[test]
fn a_vacuum_in_a_file_runs_where_it_can() {
    let folder = configured();
    write(
        &folder,
        "dump.sql",
        "CREATE TABLE a (n INT);\nVACUUM;\nINSERT INTO a VALUES (1);\nSAVEPOINT b;\nRELEASE b;\n",
    );
    let (code, _, stderr) = db(&folder, &["load", "dump.sql", "--database", "log"]);
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert_eq!(number(&opened(&folder, "log.db"), "SELECT count(*) FROM a"), 1);
}

#[test]
fn what_can_not_be_loaded_is_said() {
    let folder = configured();
    write(&folder, "whole.sql", "SELECT 1;");
    write(&folder, "dump.gz", b"\x1f\x8b\x08\0");
    for (arguments, code, message) in [
        (&["load", "none.sql", "--database", "log"][..], 71, "rhaid: cannot read `none.sql`: No such file"),
        (&["load", "migrations", "--database", "log"], 71, "rhaid: `migrations` is a folder, expected a file of SQL"),
        (&["load", "whole.sql"], 78, "there are several databases: `main`, `log`\nhint: say which, by its name"),
        (
            &["load", "whole.sql", "--database", "mian"],
            78,
            "no database `mian` is configured, expected one of `main`, `log`",
        ),
        (
            &["load", "dump.gz", "--database", "log"],
            1,
            "dump.gz:1: this is compressed\nhint: `gzip -dc FILE | rhaid db load -`",
        ),
        (&["load"], 2, "error: the following required arguments were not provided:\n  <FILE>"),
        (&["lod"], 2, "error: unrecognized subcommand 'lod'"),
        (&["status", "--database", "mian"], 78, "no database `mian` is configured"),
    ] {
        let (found, stdout, stderr) = db(&folder, arguments);
        assert_eq!((found, stdout.as_str()), (code, ""), "{stderr}");
        assert!(stderr.starts_with(message), "{stderr}");
    }
    let conf = fs::read_to_string(folder.path().join("host.yaml")).unwrap();
    write(&folder, "memory.yaml", conf.replace("sqlite:log.db", "'sqlite::memory:'"));
    let (code, _, stderr) = db(&folder, &["load", "whole.sql", "--database", "log", "--conf", "memory.yaml"]);
    let expected = "rhaid: memory.yaml:5:3: database `log`: it lies in memory, and would be gone after the load\n";
    assert_eq!((code, stderr.as_str()), (71, expected));
    write(&folder, "log.db", "text ".repeat(100));
    let (code, _, stderr) = db(&folder, &["load", "whole.sql", "--database", "log"]);
    assert_eq!(code, 71, "{stderr}");
    assert!(
        stderr.starts_with("rhaid: host.yaml:5:3: database `log`: the database file `log.db` can't be opened"),
        "{stderr}"
    );
}

#[test]
fn a_load_that_takes_long_shows_how_far_it_is() {
    let folder = configured();
    let mut command = rhaid(&folder);
    command.args(["db", "load", "-", "--database", "log"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut stdin, stderr) = (child.stdin.take().unwrap(), BufReader::new(child.stderr.take().unwrap()));
    let seen = thread::spawn(move || stderr.lines().map_while(Result::ok).collect::<Vec<_>>());
    // For a good second, in which nothing else takes its time.
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(1500) {
        stdin.write_all(b"SELECT 1;\n").unwrap();
        thread::sleep(Duration::from_millis(10));
    }
    drop(stdin);
    let (code, stdout, _) = ended(child.wait_with_output().unwrap());
    let seen = seen.join().unwrap();
    assert!(seen.len() == 1 && seen[0].starts_with("0.0 MB, ") && seen[0].ends_with(" statements"), "{seen:?}");
    assert!(code == 0 && stdout.starts_with("loaded `standard input` into `log`: "), "{stdout}");
}

#[test]
fn the_status_is_that_of_each_migration_and_the_exit_status_whether_all_are_applied() {
    let folder = configured();
    write(&folder, "migrations/001_a.sql", "CREATE TABLE a (n INT);");
    write(&folder, "migrations/002_longer.sql", "CREATE TABLE b (n INT);");
    let head = "main (sqlite:var/main.db):\n";
    let tail = "log (sqlite:log.db): it has no `migrations`\n";
    let pending = format!("{head}  001_a       pending\n  002_longer  pending\n{tail}");
    assert_eq!(db(&folder, &["status"]), (1, pending, String::new()));
    assert!(!folder.path().join("var").exists() && !folder.path().join("log.db").exists());

    write(&folder, "log.db", "");
    let (code, _, stderr) = ended(rhaid(&folder).args(["call", "/"]).output().unwrap());
    assert_eq!(code, 0, "{stderr}");
    let connection = opened(&folder, "var/main.db");
    connection.execute("UPDATE rhaid_migrations SET applied_at = '2026-11-30T22:41:11Z'", []).unwrap();
    let applied = "  001_a       applied 2026-11-30T22:41:11Z\n  002_longer  applied 2026-11-30T22:41:11Z\n";
    assert_eq!(db(&folder, &["status"]), (0, format!("{head}{applied}{tail}"), String::new()));

    write(&folder, "migrations/001_a.sql", "CREATE TABLE a (n INT, m INT);");
    fs::rename(folder.path().join("migrations/002_longer.sql"), folder.path().join("migrations/003_c.sql")).unwrap();
    let found = "  001_a       changed: it was applied 2026-11-30T22:41:11Z, and its file is another now\n  \
                 002_longer  missing: it was applied 2026-11-30T22:41:11Z, and its file is not there\n  003_c       pending\n";
    assert_eq!(db(&folder, &["status", "--database", "main"]), (1, format!("{head}{found}"), String::new()));
    assert_eq!(number(&connection, "SELECT count(*) FROM rhaid_migrations"), 2);
    assert_eq!(db(&folder, &["status", "--database", "log"]), (0, tail.to_owned(), String::new()));

    write(&folder, "migrations/nameless.sql", "");
    let (code, stdout, stderr) = db(&folder, &["status"]);
    assert_eq!((code, stdout.as_str()), (78, ""));
    assert!(stderr.contains("nameless.sql` is not named as a migration"), "{stderr}");
    fs::remove_file(folder.path().join("migrations/nameless.sql")).unwrap();
    drop(connection);
    for end in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(folder.path().join(format!("var/main.db{end}")));
    }
    write(&folder, "var/main.db", "text ".repeat(100));
    let (code, stdout, stderr) = db(&folder, &["status"]);
    assert_eq!((code, stdout.as_str()), (71, tail));
    assert!(stderr.starts_with("rhaid: host.yaml:2:3: database `main`: the database file"), "{stderr}");
}

#[test]
fn migrations_may_follow_a_dump() {
    let folder = configured();
    write(&folder, "dump.sql", "CREATE TABLE a (n INT);\nINSERT INTO a VALUES (1);\n");
    write(&folder, "migrations/001_b.sql", "ALTER TABLE a ADD COLUMN m INT;");
    assert_eq!(db(&folder, &["load", "dump.sql", "--database", "main"]).0, 0);
    assert_eq!(db(&folder, &["status", "--database", "main"]).1, "main (sqlite:var/main.db):\n  001_b  pending\n");
    write(&folder, "log.db", "");
    assert_eq!(rhaid(&folder).args(["call", "/"]).output().unwrap().status.code(), Some(0));
    assert_eq!(number(&opened(&folder, "var/main.db"), "SELECT count(*) FROM a WHERE m IS NULL"), 1);
}

#[test]
fn what_is_made_is_the_users_of_the_configuration() {
    if !fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0) {
        eprintln!("skipped: only root can become another user");
        return;
    }
    let folder = configured();
    let nobody = 65534;
    fs::create_dir(folder.path().join("var")).unwrap();
    chown(folder.path().join("var"), Some(nobody), None).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let conf = fs::read_to_string(folder.path().join("host.yaml")).unwrap();
    write(&folder, "host.yaml", format!("{conf}user: nobody\n"));
    // Root's own: it is opened before.
    write(&folder, "dump.sql", "CREATE TABLE a (n INT);");
    fs::set_permissions(folder.path().join("dump.sql"), fs::Permissions::from_mode(0o600)).unwrap();
    let (code, _, stderr) = db(&folder, &["load", "dump.sql", "--database", "main"]);
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert_eq!(fs::metadata(folder.path().join("var/main.db")).unwrap().uid(), nobody);
    assert_eq!(db(&folder, &["status", "--database", "main"]).0, 0);
}
