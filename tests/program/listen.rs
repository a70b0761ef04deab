//! What the process as a whole has, changed while it serves: where it listens, how many workers it has, its bounds.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::served::Served;

const HOSTS: &str = "\
hosts:
  default:
    access-log: access.log
    paths:
      /:
        rhai.handler: |
          |env| text(`hello`)
      /slow:
        rhai.handler: |
          |env| { print(\"slow began\"); sleep(1); text(\"slow\") }
";

/// A port that is free, as far as anybody knows.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A server with these directives above its hosts, which can be replaced.
fn served(top: &str) -> Served {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("host.yaml"), format!("{top}{HOSTS}")).unwrap();
    Served::as_configured(folder)
}

/// Replaces the configuration and waits for what comes of it: a line with `outcome`.
fn change(served: &Served, top: &str, outcome: &str) -> String {
    let path = served.folder.path().join("host.yaml");
    let aside = path.with_extension("new");
    fs::write(&aside, format!("{top}{HOSTS}")).unwrap();
    fs::rename(&aside, &path).unwrap();
    served.printed(outcome)
}

fn reload(served: &Served, top: &str) {
    change(served, top, "is served");
}

fn listening(port: u16) -> String {
    format!("num-threads: 2\nlisten: 127.0.0.1:{port}\n")
}

/// Asks on a connection that stays open if the server lets it, and gives the head and the body of the answer.
fn ask(stream: &mut (impl Read + Write), path: &str) -> io::Result<(String, String)> {
    write!(stream, "GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")?;
    answer(stream)
}

fn answer(stream: &mut impl Read) -> io::Result<(String, String)> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("cut after {head:?}")));
        }
    }
    let head = head.to_ascii_lowercase();
    let length = head.split("content-length: ").nth(1).unwrap().split('\r').next().unwrap().parse().unwrap();
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok((head, String::from_utf8(body).unwrap()))
}

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Connects to one port or the other until one takes it, and asks. Whoever is taken gets an answer.
fn ask_anew(ports: [u16; 2], turn: usize) -> io::Result<usize> {
    let mut tries = 0;
    let mut stream = loop {
        match TcpStream::connect(("127.0.0.1", ports[(turn + tries) % 2])) {
            Ok(stream) => break stream,
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused && tries < 3 => tries += 1,
            Err(error) => return Err(error),
        }
    };
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let (_, body) = ask(&mut stream, "/")?;
    stream.shutdown(Shutdown::Both)?;
    if body == "hello" { Ok(tries) } else { Err(io::Error::other(body)) }
}

#[test]
fn a_port_that_moves_back_and_forth_loses_nobody() {
    let ports = [free_port(), free_port()];
    let server = served(&listening(ports[0]));
    let (end, asked, refused) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let clients = |turn: usize| {
        let (mut turn, mut faults) = (turn, Vec::new());
        while !end.load(Ordering::Acquire) {
            match ask_anew(ports, turn) {
                // Both ports are not there at no time.
                Ok(tries) if tries < 2 => refused.fetch_add(tries, Ordering::Relaxed),
                Ok(_) => 0,
                Err(error) => {
                    faults.push(error.to_string());
                    0
                }
            };
            turn += 1;
            asked.fetch_add(1, Ordering::Relaxed);
        }
        faults
    };
    thread::scope(|scope| {
        let clients: Vec<_> = (0..6).map(|turn| scope.spawn(move || clients(turn))).collect();
        for round in 1..=12 {
            reload(&server, &listening(ports[round % 2]));
            // Some of them while the last one's port is still being closed, others later.
            thread::sleep(Duration::from_millis(if round % 4 == 0 { 1500 } else { 100 }));
        }
        end.store(true, Ordering::Release);
        for client in clients {
            assert_eq!(client.join().unwrap(), Vec::<String>::new());
        }
    });
    assert!(asked.load(Ordering::Relaxed) > 100);
    let begin = Instant::now();
    while TcpStream::connect(("127.0.0.1", ports[1])).is_ok() {
        assert!(begin.elapsed() < Duration::from_secs(10), "the port that is not configured is not closed");
    }
}

#[test]
fn an_unchanged_address_keeps_its_socket_and_a_new_one_is_added() {
    let ports = [free_port(), free_port()];
    let server = served(&listening(ports[0]));
    let inode = |port: u16| {
        let table = fs::read_to_string(format!("/proc/{}/net/tcp", server.process.id())).unwrap();
        let local = format!("0100007F:{port:04X} 00000000:0000 0A");
        table.lines().find(|it| it.contains(&local)).map(|it| it.split_whitespace().nth(9).unwrap().to_owned())
    };
    let before = inode(ports[0]).unwrap();
    let mut kept = connect(ports[0]);
    ask(&mut kept, "/").unwrap();
    reload(&server, &format!("num-threads: 2\nlisten:\n  - 127.0.0.1:{}\n  - 127.0.0.1:{}\n", ports[1], ports[0]));
    assert_eq!(inode(ports[0]), Some(before));
    assert_eq!(ask(&mut connect(ports[1]), "/").unwrap().1, "hello");
    let (head, _) = ask(&mut kept, "/").unwrap();
    assert!(!head.contains("connection: close"), "{head}");
}

#[test]
fn connections_of_a_removed_address_end_with_their_next_answer() {
    let ports = [free_port(), free_port()];
    let server = served(&listening(ports[0]));
    let (mut idle, mut busy) = (connect(ports[0]), connect(ports[0]));
    ask(&mut idle, "/").unwrap();
    write!(busy, "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    server.printed("slow began");
    reload(&server, &listening(ports[1]));
    for (answer, stream, expected) in
        [(ask(&mut idle, "/").unwrap(), &mut idle, "hello"), (answer(&mut busy).unwrap(), &mut busy, "slow")]
    {
        assert_eq!(answer.1, expected);
        assert!(answer.0.contains("connection: close"), "{}", answer.0);
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    }
}

#[test]
fn a_taken_port_refuses_all_and_is_taken_up_when_it_is_free() {
    let ports = [free_port(), free_port()];
    let server = served(&listening(ports[0]));
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = taken.local_addr().unwrap().port();
    let top = format!(
        "num-threads: 2\nlisten:\n  - 127.0.0.1:{}\n  - {{type: unix, port: a.sock}}\n  - 127.0.0.1:{other}\n",
        ports[1]
    );
    change(&server, &top, "not reloaded, though");
    server.printed(&format!("cannot listen on 127.0.0.1:{other}: "));
    server.printed("hint: another process listens there");
    assert_eq!(ask(&mut connect(ports[0]), "/").unwrap().1, "hello");
    assert!(!server.folder.path().join("a.sock").exists());
    let begin = Instant::now();
    while TcpStream::connect_timeout(&([127, 0, 0, 1], ports[1]).into(), Duration::from_millis(50)).is_ok() {
        assert!(begin.elapsed() < Duration::from_secs(10), "what was bound for it is closed");
    }
    drop(taken);
    server.signal("HUP");
    server.printed("generation 2 is served");
    for port in [ports[1], other] {
        assert_eq!(ask(&mut connect(port), "/").unwrap().1, "hello");
    }
    assert!(ask_socket(server.folder.path().join("a.sock")).is_ok());
}

fn ask_socket(path: PathBuf) -> io::Result<String> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    ask(&mut stream, "/").map(|it| it.1)
}

#[test]
fn a_wider_or_narrower_address_at_the_same_port_takes_over() {
    let port = free_port();
    let all = format!("num-threads: 2\nlisten: {port}\n");
    let server = served(&all);
    let end = AtomicBool::new(false);
    thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let mut asked = 0;
            while !end.load(Ordering::Acquire) {
                assert_eq!(ask(&mut connect(port), "/").unwrap().1, "hello");
                asked += 1;
            }
            asked
        });
        for top in
            [listening(port), all.clone(), listening(port).replace("127.0.0.1", "localhost"), listening(port), all]
        {
            reload(&server, &top);
            thread::sleep(Duration::from_millis(100));
        }
        end.store(true, Ordering::Release);
        assert!(asking.join().unwrap() > 10);
    });
    // Others find it taken.
    assert!(TcpListener::bind(("127.0.0.1", port)).is_err());
}

#[test]
fn a_unix_socket_moves_and_gets_another_permission() {
    let server = served("listen: {type: unix, port: a.sock, permission: 600}\n");
    let path = |name: &str| server.folder.path().join(name);
    let inode_and_mode = |name: &str| {
        let metadata = fs::metadata(path(name)).unwrap();
        (metadata.ino(), metadata.permissions().mode() & 0o777)
    };
    let (inode, mode) = inode_and_mode("a.sock");
    assert_eq!(mode, 0o600);
    reload(&server, "listen: {type: unix, port: a.sock, permission: 620}\n");
    assert_eq!(inode_and_mode("a.sock"), (inode, 0o620));
    // Refused for another reason, it stays as it was.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = taken.local_addr().unwrap();
    let top = format!("listen: [{{type: unix, port: a.sock, permission: 666}}, '{other}']\n");
    change(&server, &top, "not reloaded, though");
    assert_eq!(inode_and_mode("a.sock"), (inode, 0o620));
    let change = change(&server, "listen: unix:./a.sock\n", "cannot listen on unix");
    assert!(change.contains("unix:./a.sock: this server listens there already, as `unix:a.sock`"), "{change}");
    let (end, asked) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !end.load(Ordering::Acquire) {
                let gone = [io::ErrorKind::NotFound, io::ErrorKind::ConnectionRefused];
                match ask_socket(path("a.sock")).or_else(|_| ask_socket(path("b.sock"))) {
                    Ok(body) => assert_eq!(body, "hello"),
                    Err(error) => assert!(gone.contains(&error.kind()), "{error}"),
                }
                asked.fetch_add(1, Ordering::Relaxed);
            }
        });
        for _ in 0..3 {
            reload(&server, "listen: unix:b.sock\n");
            assert!(!path("a.sock").exists());
            reload(&server, "listen: unix:a.sock\n");
            assert!(!path("b.sock").exists());
        }
        end.store(true, Ordering::Release);
    });
    assert!(asked.load(Ordering::Relaxed) > 10);
    assert_eq!(ask_socket(path("a.sock")).unwrap(), "hello");
    server.signal("TERM");
    let begin = Instant::now();
    while path("a.sock").exists() {
        assert!(begin.elapsed() < Duration::from_secs(10), "the socket that came with a reload is left behind");
    }
}

/// The names of the threads that serve.
fn workers(server: &Served) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{}/task", server.process.id())).unwrap();
    let name = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).unwrap_or_default();
    let names = tasks.map(|it| name(it.unwrap()).trim().to_owned());
    let mut names: Vec<String> = names.filter(|it| it.starts_with("worker-")).collect();
    names.sort();
    names
}

/// Connects so often, and asks once on each connection.
fn connections(port: u16, number: usize) -> Vec<TcpStream> {
    let asked = |_| {
        let mut stream = connect(port);
        ask(&mut stream, "/").unwrap();
        stream
    };
    (0..number).map(asked).collect()
}

/// On how many of them the next answer is the last.
fn ending(streams: &mut [TcpStream]) -> usize {
    let is_last = |stream: &mut TcpStream| ask(stream, "/").unwrap().0.contains("connection: close");
    streams.iter_mut().map(is_last).filter(|it| *it).count()
}

#[test]
fn workers_come_and_go_and_connections_are_spread_over_those_that_stay() {
    let port = free_port();
    let with = |threads: usize| format!("num-threads: {threads}\nlisten: 127.0.0.1:{port}\n");
    let server = served(&with(1));
    let mut streams = connections(port, 2);
    reload(&server, &with(3));
    assert_eq!(workers(&server).len(), 3);
    streams.extend(connections(port, 4));
    assert_eq!(ending(&mut streams), 0);
    // Two on each. Who is in the midst of a request gets its answer.
    let mut busy = connect(port);
    write!(busy, "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    server.printed("slow began");
    reload(&server, &with(1));
    assert_eq!(ending(&mut streams), 4);
    assert_eq!(answer(&mut busy).unwrap().1, "slow");
    drop(busy);
    let begin = Instant::now();
    while workers(&server) != ["worker-0"] {
        assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", workers(&server));
        thread::sleep(Duration::from_millis(10));
    }
    let log = fs::read_to_string(server.folder.path().join("access.log")).unwrap();
    assert!(log.lines().count() >= 15, "{log}");
    assert_eq!(ask(&mut connect(port), "/").unwrap().1, "hello");
}

#[test]
fn a_refused_generation_leaves_as_many_workers_as_there_were() {
    let port = free_port();
    let with = |threads: usize| format!("num-threads: {threads}\nlisten: 127.0.0.1:{port}\n");
    let server = served(&with(2));
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let top = format!("{}  - {}\n", with(4).replace(" 127", "\n  - 127"), taken.local_addr().unwrap());
    change(&server, &top, "not reloaded, though");
    let begin = Instant::now();
    while workers(&server) != ["worker-0", "worker-1"] {
        assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", workers(&server));
        thread::sleep(Duration::from_millis(10));
    }
    reload(&server, &with(3));
    assert_eq!(workers(&server).len(), 3);
}

#[test]
fn bounds_are_taken_up() {
    let port = free_port();
    let with = |bounds: &str| format!("num-threads: 1\nlisten: 127.0.0.1:{port}\n{bounds}");
    let server = served(&with("http1-request-timeout: 1h\n"));
    let mut idle = connections(port, 2);
    reload(&server, &with("http1-request-timeout: 1h\nmax-connections: 2\nmax-requests: 1\n"));
    // The worker waits for one already; the bound holds from the next on.
    let _one_more = connections(port, 1);
    let mut waits = connect(port);
    write!(waits, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    waits.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    assert_eq!(waits.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    waits.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(idle[0], "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    server.printed("slow began");
    assert!(ask(&mut idle[1], "/").unwrap().0.starts_with("http/1.1 503 "));
    reload(&server, &with("http1-request-timeout: 1s\n"));
    assert_eq!(answer(&mut waits).unwrap().1, "hello");
    assert_eq!(answer(&mut idle[0]).unwrap().1, "slow");
    // One that was there before waits no longer than is said now.
    assert_eq!(idle[1].read(&mut [0]).unwrap(), 0);
}

#[test]
fn a_log_that_comes_with_a_reload_knows_when_first_bytes_came() {
    let port = free_port();
    let server = served(&listening(port));
    let mut stream = connections(port, 1).remove(0);
    let path = server.folder.path().join("host.yaml");
    let hosts = HOSTS.replace("access.log", "{path: times.log, format: '%{request-header-time}x'}");
    fs::write(&path, format!("{}{hosts}", listening(port))).unwrap();
    server.printed("is served");
    write!(stream, "GET / HTTP/1.1\r\n").unwrap();
    thread::sleep(Duration::from_millis(300));
    write!(stream, "Host: a\r\nConnection: close\r\n\r\n").unwrap();
    answer(&mut stream).unwrap();
    let begin = Instant::now();
    let line = loop {
        let log = fs::read_to_string(server.folder.path().join("times.log")).unwrap();
        if let Some(line) = log.lines().next() {
            break line.to_owned();
        }
        assert!(begin.elapsed() < Duration::from_secs(10), "nothing was logged");
        thread::sleep(Duration::from_millis(10));
    };
    assert!(line.parse::<f64>().unwrap() >= 0.25, "{line}");
}

#[test]
fn an_address_that_comes_back_before_it_was_let_go_of_is_opened_again_once() {
    let ports = [free_port(), free_port()];
    let server = served(&listening(ports[0]));
    for turn in 1..8 {
        let line = change(&server, &listening(ports[turn % 2]), "");
        assert!(line.contains("is served"), "{line}");
        assert_eq!(ask(&mut connect(ports[turn % 2]), "/").unwrap().1, "hello");
    }
    server.signal("TERM");
    let rest = server.rest();
    assert!(rest.iter().all(|it| !it.contains("ERROR")), "{rest:?}");
}

#[test]
fn who_is_about_to_ask_when_the_server_ends_gets_an_answer() {
    let port = free_port();
    let mut server = served(&format!("num-threads: 1\nmax-connections: 2\nlisten: 127.0.0.1:{port}\n"));
    let mut kept = connections(port, 1).remove(0);
    let mut fresh = connect(port);
    // There is no room for it: the system has taken it, and nobody else.
    let mut queued = connect(port);
    write!(queued, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    server.signal("TERM");
    server.printed("received SIGTERM");
    assert_eq!(answer(&mut queued).unwrap().1, "hello");
    for stream in [&mut kept, &mut fresh] {
        let (head, body) = ask(stream, "/").unwrap();
        assert_eq!(body, "hello");
        assert!(head.contains("connection: close"), "{head}");
    }
    assert!(server.process.wait().unwrap().success());
}

#[test]
fn a_reload_that_is_under_way_does_not_hold_the_end_up() {
    let port = free_port();
    let mut server = served(&listening(port));
    // Workers that are to leave still have somebody, and others come, when the end comes.
    reload(&server, &format!("num-threads: 4\nlisten: 127.0.0.1:{port}\n"));
    let mut streams = connections(port, 8);
    reload(&server, &format!("num-threads: 1\nlisten: 127.0.0.1:{port}\n"));
    let path = server.folder.path().join("host.yaml");
    fs::write(&path, format!("num-threads: 8\nlisten: 127.0.0.1:{}\n{HOSTS}", free_port())).unwrap();
    server.signal("HUP");
    server.signal("TERM");
    server.printed("received SIGTERM");
    let begin = Instant::now();
    for stream in &mut streams {
        assert_eq!(ask(stream, "/").unwrap().1, "hello");
    }
    assert!(server.process.wait().unwrap().success());
    assert!(begin.elapsed() < Duration::from_secs(5));
}

#[test]
fn what_only_root_may_bind_needs_a_restart_when_root_was_given_up() {
    let port = free_port();
    let first = fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start").unwrap_or_default();
    let is_root = fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0);
    if !is_root || first.trim() != "1024" {
        eprintln!("skipped: only root can start as another user and bind what that one may not");
        return;
    }
    let top = |listen: &str| format!("num-threads: 1\nuser: nobody\nlisten: [{listen}]\n");
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.path().join("host.yaml"), format!("{}{HOSTS}", top(&port.to_string()))).unwrap();
    let server = Served::as_configured(folder);
    for (listen, problem) in [
        ("1021".to_owned(), "cannot listen on *:1021: Permission denied"),
        // The port is bound by root, and a socket of another user's may not overlap with it.
        (format!("127.0.0.1:{port}"), "cannot listen on 127.0.0.1:"),
    ] {
        change(&server, &top(&listen), problem);
        server.printed("a restart takes it up");
        assert_eq!(ask(&mut connect(port), "/").unwrap().1, "hello");
    }
    reload(&server, &top(&format!("{port}, 127.0.0.1:{}", free_port())));
}
