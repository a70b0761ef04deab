//! Many clients at once: that vanish, whose database goes away, that must not see each other's rows.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::served::Served;
use crate::servers::{Database, Kind, Options, Server};

tests![
    a_server_that_comes_back_is_used_again_under_load,
    a_restart_that_nobody_saw_is_not_noticed,
    a_connection_that_is_not_needed_any_more_is_closed_in_good_order,
    clients_that_vanish_take_no_connection_with_them,
    companies_never_see_each_others_rows,
];

/// Says that this program is to be a crowd of clients: address and target.
const CROWD: &str = "RHAID_TEST_CROWD";

/// Where this program is to send a crowd of requests, if it is.
pub fn wanted() -> Option<(String, String)> {
    let place = std::env::var(CROWD).ok()?;
    place.split_once(' ').map(|(address, target)| (address.to_owned(), target.to_owned()))
}

/// Asks over 50 connections until it is killed; says so when all have had a reply.
pub fn ask_for_ever(address: &str, target: &str) -> ! {
    let answered = &Mutex::new(0);
    std::thread::scope(|scope| {
        for _ in 0..50 {
            scope.spawn(move || {
                let mut stream = TcpStream::connect(address).unwrap();
                let request = format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n");
                let mut buffer = [0; 4096];
                for count in 0.. {
                    stream.write_all(request.as_bytes()).unwrap();
                    if stream.read(&mut buffer).unwrap() == 0 {
                        return;
                    }
                    if count == 0 {
                        let mut answered = answered.lock().unwrap();
                        *answered += 1;
                        if *answered == 50 {
                            println!("all were answered");
                        }
                    }
                }
            });
        }
    });
    std::process::exit(1);
}

/// A crowd in a process of its own, of whom each has had a reply.
fn crowd(served: &Served, target: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(CROWD, format!("{} {target}", served.address)).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line.trim(), "all were answered");
    child
}

fn serving(settings: &str, handler: &str) -> Served {
    Served::configured(&format!(
        "listen: 1\ndatabases:\n  main: {settings}\nhosts:\n  default:\n    paths:\n      /:\n        rhai.handler: |\n          {handler}\n"
    ))
}

/// The signals for an end at once and for one in good order, with connections open.
fn ends(kind: Kind) -> [&'static str; 2] {
    match kind {
        Kind::Mysql => ["KILL", "TERM"],
        // SIGTERM waits for the clients to go.
        Kind::Postgres => ["KILL", "INT"],
    }
}

/// One request and how it went.
#[derive(Debug)]
struct Asked {
    at: Instant,
    took: Duration,
    status: u16,
}

fn a_server_that_comes_back_is_used_again_under_load(kind: Kind) {
    let mut server = Server::start(kind, &Options::default()).unwrap();
    let database = server.fresh().unwrap();
    let served = serving(&database.url(), "|env| success(db::value(\"SELECT 1\"))");
    for signal in ends(kind) {
        let (stop, asked) = (&AtomicBool::new(false), &Mutex::new(Vec::new()));
        let (served, began) = (&served, Instant::now());
        let wait = |until: &dyn Fn(&Vec<Asked>) -> bool, what: &str| {
            let deadline = Instant::now() + Duration::from_secs(20);
            while !until(&asked.lock().unwrap()) {
                assert!(Instant::now() < deadline, "{what}: {:?}", asked.lock().unwrap().last());
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        // It is set whatever happens, or the scope would wait for ever.
        struct Stop<'a>(&'a AtomicBool);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let (away, back) = std::thread::scope(|scope| {
            let _stop = Stop(stop);
            for _ in 0..8 {
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        let at = Instant::now();
                        let status = served.get("/").0;
                        asked.lock().unwrap().push(Asked { at, took: at.elapsed(), status });
                    }
                });
            }
            wait(&|asked| asked.len() > 100, "before");
            let away = Instant::now();
            server.stop(signal);
            let gone = Instant::now();
            wait(&|asked| asked.iter().filter(|it| it.at > gone).count() > 20, "away");
            server.start_again().unwrap();
            let back = Instant::now();
            wait(&|asked| asked.iter().filter(|it| it.at > back).count() > 200, "back");
            (away, back)
        });
        let asked = asked.lock().unwrap();
        let wrong: Vec<String> = asked
            .iter()
            .filter(|it| match it.status {
                200 => false,
                // What was in flight when it went away, and what came before it was back.
                503 => it.at + it.took < away || it.at > back,
                _ => true,
            })
            .map(|it| format!("{} after {:?}, {:?} long", it.status, it.at - began, it.took))
            .collect();
        assert!(
            wrong.is_empty(),
            "{signal} at {:?}, back at {:?}: {} of {}: {:?}",
            away - began,
            back - began,
            wrong.len(),
            asked.len(),
            &wrong[..wrong.len().min(5)]
        );
        assert!(asked.iter().any(|it| it.status == 503));
        let slowest = asked.iter().map(|it| it.took).max().unwrap();
        assert!(slowest < Duration::from_secs(6), "{slowest:?}");
    }
}

fn a_restart_that_nobody_saw_is_not_noticed(kind: Kind) {
    let mut server = Server::start(kind, &Options::default()).unwrap();
    let database = server.fresh().unwrap();
    let served = serving(&database.url(), "|env| success(db::value(\"SELECT 1\"))");
    for signal in ends(kind) {
        // On both workers.
        for _ in 0..20 {
            assert_eq!(served.get("/").0, 200);
        }
        server.stop(signal);
        server.start_again().unwrap();
        for number in 0..20 {
            assert_eq!(served.get("/").0, 200, "{signal}, request {number}");
        }
    }
}

fn a_connection_that_is_not_needed_any_more_is_closed_in_good_order(kind: Kind) {
    let server = Server::start(kind, &Options::default()).unwrap();
    let database = server.fresh().unwrap();
    let statement = match kind {
        Kind::Mysql => "SET @a = 1",
        Kind::Postgres => "SET search_path TO public",
    };
    let served = serving(
        &format!("{{url: '{}', max-connections: 2, idle-timeout: 1s}}", database.url()),
        &format!("|env| {{ db::exec(\"{statement}\"); success(db::value(\"SELECT 1\")) }}"),
    );
    for _ in 0..10 {
        assert_eq!(served.get("/").0, 200);
    }
    let deadline = Instant::now() + Duration::from_secs(10);
    while connections(kind, &database) > 0 {
        assert!(Instant::now() < deadline, "{} connections", connections(kind, &database));
        std::thread::sleep(Duration::from_millis(50));
    }
    if kind == Kind::Mysql {
        let aborted =
            "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'ABORTED_CLIENTS'";
        assert_eq!(database.obey(aborted), Ok("0".to_owned()));
    }
}

fn clients_that_vanish_take_no_connection_with_them(kind: Kind) {
    let database = kind.shared().unwrap().fresh().unwrap();
    let sleep = match kind {
        Kind::Mysql => "SELECT SLEEP(0.02)",
        Kind::Postgres => "SELECT pg_sleep(0.02)::text",
    };
    let served = serving(
        &format!("{{url: '{}', max-connections: 5}}", database.url()),
        &format!("|env| {{ db::value(\"{sleep}\"); text(\"slept\") }}"),
    );
    for round in 0..10 {
        let mut crowd = crowd(&served, "/");
        crowd.kill().unwrap();
        let asked = Instant::now();
        assert_eq!(served.get("/"), (200, "slept".to_owned()), "round {round}");
        let took = asked.elapsed();
        assert!(took < Duration::from_secs(3), "round {round}: {took:?}");
        crowd.wait().unwrap();
    }
    let deadline = Instant::now() + Duration::from_secs(10);
    while connections(kind, &database) > 5 {
        assert!(Instant::now() < deadline, "{} connections of 5", connections(kind, &database));
    }
}

/// How many connections the database's user has.
fn connections(kind: Kind, database: &Database) -> usize {
    let (table, column) = match kind {
        Kind::Mysql => ("information_schema.processlist", "user"),
        Kind::Postgres => ("pg_stat_activity", "usename"),
    };
    let count = database.obey(&format!("SELECT count(*) FROM {table} WHERE {column} = '{}'", database.name));
    count.unwrap().parse().unwrap()
}

fn companies_never_see_each_others_rows(kind: Kind) {
    let database = kind.shared().unwrap().fresh().unwrap();
    database
        .run(
            "CREATE TABLE companies (id INTEGER PRIMARY KEY, api VARCHAR(20)); INSERT INTO companies VALUES (1, 'k1'), (2, 'k2');
             CREATE TABLE projects (id INTEGER PRIMARY KEY, company_id INTEGER);
             INSERT INTO projects VALUES (10, 1), (11, 1), (20, 2), (21, 2);",
        )
        .unwrap();
    let served = Served::configured(&format!(
        "listen: 1\ndatabases:\n  main: {{url: '{}', max-connections: 6}}\nhosts:\n  default:\n    paths:\n      /:\n        \
         auth.api-key: {{query: key, sql: SELECT id FROM companies WHERE api = ?}}\n        rhai.handler: |\n          \
         |env| success(db::query(\"SELECT id FROM projects WHERE company_id = ? ORDER BY id\", [env.auth.id]))\n",
        database.url()
    ));
    let until = Instant::now() + Duration::from_secs(3);
    let counts: Vec<usize> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..20)
            .map(|number| {
                let (company, served) = (1 + number % 2, &served);
                scope.spawn(move || {
                    let own =
                        format!("{{\"status\":\"Success\",\"data\":[{{\"id\":{company}0}},{{\"id\":{company}1}}]}}");
                    let mut count = 0;
                    while Instant::now() < until {
                        assert_eq!(served.get(&format!("/?key=k{company}")), (200, own.clone()));
                        count += 1;
                    }
                    count
                })
            })
            .collect();
        clients.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
}
