//! What one statement can meet.

use std::fs;
use std::time::{Duration, Instant};

use crate::served::Served;
use crate::servers::{Database, Kind};

tests![
    a_lock_that_is_held_too_long_is_an_error,
    a_row_that_changed_since_takes_the_transaction_with_it,
    a_request_that_ran_out_of_time_leaves_no_trace,
    a_value_that_does_not_fit_is_an_error_of_its_column,
    a_million_rows_are_refused_before_they_are_all_there,
    a_row_that_has_no_room_is_not_waited_for,
];

/// A server with a path for each handler, on `database`.
fn serving(database: &Database, paths: &[(&str, &str)]) -> Served {
    let mut text = format!("listen: 1\ndatabases:\n  main: {}\nhosts:\n  default:\n    paths:\n", database.url());
    for (path, handler) in paths {
        let (timeout, handler) = handler.split_once('|').unwrap();
        text.push_str(&format!(
            "      {path}:\n        rhai.timeout: {timeout}\n        rhai.handler: |\n          |{handler}\n"
        ));
    }
    Served::configured(&text)
}

/// Keeps the row 1 of the table `a` locked for some seconds.
fn hold(seconds: u32) -> String {
    format!(
        "20s|env| {{ db::transaction(|tx| {{ tx.exec(\"UPDATE a SET b = b + 1 WHERE id = 1\"); \
         print(\"the row is held\"); sleep({seconds}); 0 }}); text(\"done\") }}"
    )
}

fn a_lock_that_is_held_too_long_is_an_error(kind: Kind) {
    let database = kind.shared().unwrap().fresh().unwrap();
    database.run("CREATE TABLE a (id INTEGER PRIMARY KEY, b INTEGER); INSERT INTO a VALUES (1, 0);").unwrap();
    let kinds = "20s|env| { try { db::exec(\"UPDATE a SET b = b + 10 WHERE id = 1\"); return text(\"none\"); } catch (e) { return text(e.kind); } }";
    let served = serving(&database, &[("/hold", &hold(7)), ("/kind", kinds)]);
    std::thread::scope(|scope| {
        let holding = scope.spawn(|| served.get("/hold"));
        served.printed("the row is held");
        let asked = Instant::now();
        assert_eq!(served.get("/kind"), (200, "busy".to_owned()));
        assert!(asked.elapsed() < Duration::from_secs(7), "{:?}", asked.elapsed());
        assert_eq!(holding.join().unwrap(), (200, "done".to_owned()));
    });
    assert_eq!(served.get("/kind"), (200, "none".to_owned()));
    assert_eq!(database.run("SELECT b FROM a"), Ok("11".to_owned()));
}

fn a_row_that_changed_since_takes_the_transaction_with_it(kind: Kind) {
    let database = kind.shared().unwrap().fresh().unwrap();
    database.run("CREATE TABLE a (id INTEGER PRIMARY KEY, b INTEGER); INSERT INTO a VALUES (1, 0);").unwrap();
    let strict = match kind {
        // MariaDB's default from 11.6 on. Where there is no such variable the row is changed, and nothing is refused.
        Kind::Mysql => "SET SESSION innodb_snapshot_isolation = ON",
        Kind::Postgres => "SET lock_timeout = 5000",
    };
    let change = format!(
        "20s|env| {{ let kind = \"changed\"; try {{ db::transaction(#{{isolation: \"repeatable read\"}}, |tx| {{ \
         try {{ tx.exec(\"{strict}\"); }} catch {{}} tx.value(\"SELECT b FROM a\"); print(\"it is read\"); sleep(1); \
         try {{ tx.exec(\"UPDATE a SET b = b + 1\"); }} catch (e) {{ kind = e.kind; }} \
         tx.exec(\"INSERT INTO a VALUES (2, 2)\"); }}); }} catch {{}} text(kind) }}"
    );
    let served = serving(&database, &[("/change", &change)]);
    std::thread::scope(|scope| {
        let changing = scope.spawn(|| served.get("/change"));
        served.printed("it is read");
        database.run("UPDATE a SET b = 10").unwrap();
        let outcome = (changing.join().unwrap().1, database.run("SELECT sum(b) FROM a").unwrap());
        let expected = [("busy", "10"), ("changed", "13")];
        assert!(expected.iter().any(|(kind, sum)| outcome == ((*kind).to_owned(), (*sum).to_owned())), "{outcome:?}");
    });
}

fn a_request_that_ran_out_of_time_leaves_no_trace(kind: Kind) {
    let database = kind.shared().unwrap().fresh().unwrap();
    database.run("CREATE TABLE a (id INTEGER PRIMARY KEY, b INTEGER); INSERT INTO a VALUES (1, 0), (2, 0);").unwrap();
    let blocked = "1s|env| { db::exec(\"UPDATE a SET b = b + 100 WHERE id = 1\"); text(\"done\") }";
    let both = "1s|env| { db::transaction(|tx| { tx.exec(\"UPDATE a SET b = b + 1000 WHERE id = 2\"); \
                tx.exec(\"UPDATE a SET b = b + 1000 WHERE id = 1\"); 0 }); text(\"done\") }";
    let free = "1s|env| text(db::value(\"SELECT b FROM a WHERE id = 2\").to_string())";
    let served = serving(&database, &[("/hold", &hold(4)), ("/blocked", blocked), ("/both", both), ("/free", free)]);
    std::thread::scope(|scope| {
        let holding = scope.spawn(|| served.get("/hold"));
        served.printed("the row is held");
        for path in ["/blocked", "/both"] {
            let asked = Instant::now();
            assert_eq!(served.get(path).0, 503);
            let took = asked.elapsed();
            assert!(took > Duration::from_millis(900) && took < Duration::from_millis(2500), "{path}: {took:?}");
        }
        assert_eq!(served.get("/free"), (200, "0".to_owned()), "others go on");
        assert_eq!(holding.join().unwrap(), (200, "done".to_owned()));
    });
    assert_eq!(database.run("SELECT sum(b) FROM a"), Ok("1".to_owned()));
    assert_eq!(served.get("/blocked").0, 200, "its connection is of use again");
    assert_eq!(database.run("SELECT sum(b) FROM a"), Ok("101".to_owned()));
}

fn a_value_that_does_not_fit_is_an_error_of_its_column(kind: Kind) {
    let database = kind.shared().unwrap().fresh().unwrap();
    database.run("CREATE TABLE a (name VARCHAR(3), number INTEGER, day DATE)").unwrap();
    let store = |column: &str, value: &str| {
        format!(
            "5s|env| {{ try {{ db::exec(\"INSERT INTO a ({column}) VALUES (?)\", [{value}]); return text(\"stored\"); }} \
             catch (e) {{ print(e.message); return text(e.kind); }} }}"
        )
    };
    let cases = [
        ("/long", store("name", "\"quite long\"")),
        ("/word", store("number", "\"secretly\"")),
        ("/big", store("number", "99999999999")),
        ("/day", store("day", "\"2020-02-31\"")),
    ];
    let paths: Vec<(&str, &str)> = cases.iter().map(|(path, handler)| (*path, handler.as_str())).collect();
    let fits = store("name", "\"abc\"");
    let served = serving(&database, &[paths, vec![("/fits", &fits)]].concat());
    for (path, _) in &cases {
        let (status, kind) = served.get(path);
        assert_eq!((status, ["value", "parameters"].contains(&kind.as_str())), (200, true), "{path}: {kind}");
    }
    assert_eq!(served.get("/fits"), (200, "stored".to_owned()));
    assert_eq!(database.run("SELECT count(*) FROM a"), Ok("1".to_owned()));
}

fn a_million_rows_are_refused_before_they_are_all_there(kind: Kind) {
    let database = kind.shared().unwrap().fresh().unwrap();
    let all = match kind {
        Kind::Mysql => "SELECT seq, repeat('x', 100) FROM seq_1_to_1000000",
        Kind::Postgres => "SELECT n, repeat('x', 100) FROM generate_series(1, 1000000) n",
    };
    let query = format!("20s|env| success(db::query(\"{all}\"))");
    let first = format!("20s|env| success(db::first(\"{all}\")[0])");
    let count = format!("20s|env| text(db::query(\"{all} LIMIT 5000\").len().to_string())");
    let served = serving(&database, &[("/all", &query), ("/first", &first), ("/some", &count)]);
    assert_eq!(served.get("/all").0, 500);
    let line = served.printed("max-rows");
    assert!(line.contains("100,000") || line.contains("100000"), "{line}");
    assert_eq!(served.get("/first").0, 200);
    assert_eq!(served.get("/some"), (200, "5000".to_owned()));
    is_small(&served, 200);
}

fn a_row_that_has_no_room_is_not_waited_for(kind: Kind) {
    let database = kind.shared().unwrap().fresh().unwrap();
    // 300 MB; MariaDB's values have 16 MiB at most.
    let row = match kind {
        Kind::Mysql => format!("SELECT {}", vec!["repeat('x', 15000000)"; 20].join(", ")),
        Kind::Postgres => "SELECT repeat('x', 300000000)".to_owned(),
    };
    let large = format!("20s|env| success(db::query(\"{row}\"))");
    let next = "20s|env| success(db::value(\"SELECT 1\"))";
    let served = serving(&database, &[("/large", &large), ("/next", next)]);
    assert_eq!(served.get("/large").0, 500);
    served.printed("max-memory");
    assert_eq!(served.get("/next").0, 200);
    // What comes fast enough is read in one go, into a buffer that doubles; it is not held three times over.
    is_small(&served, 850);
}

/// That the server has never held more megabytes.
fn is_small(served: &Served, most: u64) {
    let status = fs::read_to_string(format!("/proc/{}/status", served.process.id())).unwrap_or_default();
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    assert!(peak.is_none_or(|kilobytes| kilobytes < most * 1_000), "{peak:?} kB");
}
