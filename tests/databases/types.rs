//! Columns and parameters of every type: what REFERENCE.md says of them, on the database that it says it of.

use crate::served::Served;
use crate::servers::Kind;

tests![every_type_is_read_as_the_reference_says];

/// A row of the reference's tables: a column's type, a literal, what a script gets and what JSON has.
struct Row<'r> {
    declared: &'r str,
    literal: &'r str,
    script: &'r str,
    json: &'r str,
}

/// The rows of the table under the heading `title`.
fn rows(title: &str) -> Vec<Row<'static>> {
    let text = include_str!("../../REFERENCE.md");
    let (_, section) = text.split_once(&format!("\n### {title}\n\n| column | literal |")).unwrap();
    let lines = section.lines().skip(2).take_while(|line| line.starts_with('|'));
    let rows: Vec<_> = lines
        .map(|line| {
            let cells: Vec<_> =
                line.trim_matches('|').split(" | ").map(|it| it.trim_matches([' ']).trim_matches('`')).collect();
            let [declared, literal, script, json] = cells[..] else { panic!("{line}") };
            Row { declared: if declared == "none" { "" } else { declared }, literal, script, json }
        })
        .collect();
    assert!(rows.len() > 20, "{title}");
    rows
}

/// What the types need to be there.
fn preparation(title: &str) -> &'static str {
    match title {
        // Without it there are no zero dates.
        "MySQL and MariaDB" => "SET sql_mode = '';\n",
        "PostgreSQL" => {
            "CREATE TYPE mood AS ENUM ('sad', 'ok');\nCREATE DOMAIN positive AS integer CHECK (value > 0);\n\
             CREATE DOMAIN email AS text;\nCREATE TYPE pair AS (a integer, b text);\n"
        }
        _ => "",
    }
}

/// A table for each row of the reference's.
fn tables(title: &str) -> String {
    let tables = rows(title).into_iter().enumerate().map(|(number, Row { declared, literal, .. })| {
        format!("CREATE TABLE t{number} (v {declared});\nINSERT INTO t{number} VALUES ({literal});\n")
    });
    format!("{}{}", preparation(title), tables.collect::<String>())
}

const HANDLERS: &str = r#"
hosts:
  default:
    paths:
      /script:
        rhai.handler: |
          |env| {
              let v = db::value("SELECT v FROM t" + env.QUERY_STRING);
              text(if type_of(v) == "blob" { "blob of " + v.len() } else if v == () { "()" } else { type_of(v) + " " + v })
          }
      /json:
        rhai.handler: |
          |env| json(db::first("SELECT v FROM t" + env.QUERY_STRING))
      /error:
        rhai.handler: |
          |env| {
              try { db::query("SELECT v FROM t" + env.QUERY_STRING); } catch (e) { return text(`${e.kind}|${e.column}|${e.message}`); }
              text("none")
          }
"#;

fn every_type_is_read_as_the_reference_says(kind: Kind) {
    let database = kind.shared().unwrap().fresh().unwrap();
    let title = match kind {
        Kind::Mysql => "MySQL and MariaDB",
        Kind::Postgres => "PostgreSQL",
    };
    database.run(&tables(title)).unwrap();
    is_read(title, &database.url());
}

/// The same on SQLite, which needs no server.
pub fn sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("types.db");
    rusqlite::Connection::open(&file).unwrap().execute_batch(&tables("SQLite")).unwrap();
    is_read("SQLite", &format!("sqlite:{}", file.display()));
}

fn is_read(title: &str, url: &str) {
    let served = Served::configured(&format!("listen: 1\ndatabases:\n  main: {url}{HANDLERS}"));
    let mut wrong = Vec::new();
    for (number, Row { declared, literal, script, json }) in rows(title).into_iter().enumerate() {
        let mut is = |what: &str, got: String, expected: &str| {
            if got != expected {
                wrong.push(format!("{declared} {literal}: {what} is {got}, not {expected}"));
            }
        };
        if script == "an error" {
            is("the error", served.get(&format!("/error?{number}")).1, &unmapped(declared));
            continue;
        }
        is("the script's", served.get(&format!("/script?{number}")).1, script);
        let (status, body) = served.get(&format!("/json?{number}"));
        if status == 500 {
            is("its JSON", status.to_string(), json);
            served.printed("column `v` holds NaN or infinity, which JSON does not have");
        } else {
            is("its JSON", body, &format!("{{\"v\":{json}}}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Kind, column and message of the error for a type without a mapping.
fn unmapped(declared: &str) -> String {
    let hint = "hint: cast it in the statement, such as `column::text`";
    if declared.ends_with("multirange") {
        // The driver does not get so far as to know the columns.
        return format!("value||a column or a parameter is a multirange, which has no mapping\n{hint}");
    }
    let name = declared.split(['(', '[']).next().unwrap();
    format!("value|v|column `v` can't be read: its type `{name}` has no mapping\n{hint}")
}
