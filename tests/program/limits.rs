//! How many requests at a time, and how long clients may take.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use crate::served::Served;

const SLOW: &str = "\
listen: 1
max-requests: 2
http1-request-timeout: 1s
http1-request-io-timeout: 1s
hosts:
  default:
    paths:
      /slow:
        rhai.handler: |
          |env| { print(\"slow began\"); sleep(2); text(\"slow\") }
      /body:
        rhai.handler: |
          |env| text(env.body)
";

/// All that comes until the connection is closed.
fn rest(mut stream: impl Read) -> String {
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply
}

#[test]
fn more_requests_than_may_be_in_flight_get_503() {
    // Two workers have one each, and the next connection goes to one of them.
    let server = Served::configured(SLOW);
    let ask = || {
        let mut stream = server.connect();
        write!(stream, "GET /slow HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
        stream
    };
    let busy = [ask(), ask()];
    for _ in 0..2 {
        server.printed("slow began");
    }
    let reply = rest(ask()).to_lowercase();
    assert!(
        reply.starts_with("http/1.1 503 service unavailable\r\n") && reply.contains("\r\nretry-after: 1\r\n"),
        "{reply}"
    );
    for stream in busy {
        assert!(rest(stream).starts_with("HTTP/1.1 200 OK\r\n"));
    }
    assert!(rest(ask()).starts_with("HTTP/1.1 200 OK\r\n"));
}

#[test]
fn a_client_that_is_slow_is_let_go() {
    let server = Served::configured(SLOW);
    let began = Instant::now();
    let mut head = server.connect();
    write!(head, "GET /body HTTP/1.1\r\nHo").unwrap();
    let idle = server.connect();
    let mut body = server.connect();
    write!(body, "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n123").unwrap();
    assert!(rest(body).starts_with("HTTP/1.1 408 Request Timeout\r\n"));
    assert_eq!((rest(head), rest(idle)), (String::new(), String::new()));
    assert!(began.elapsed() < Duration::from_secs(9), "ten seconds are the default");
}

#[test]
fn a_body_may_take_its_time_as_long_as_it_moves() {
    let server = Served::configured(SLOW);
    let mut body = server.connect();
    write!(body, "POST /body HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 4\r\n\r\n").unwrap();
    for byte in ["1", "2", "3", "4"] {
        std::thread::sleep(Duration::from_millis(500));
        write!(body, "{byte}").unwrap();
    }
    assert!(rest(body).ends_with("\r\n\r\n1234"));
}

#[test]
fn a_body_larger_than_the_memory_of_a_script_can_be_read_in_parts_only() {
    let server = Served::configured(
        "\
listen: 1
rhai.max-memory: 1 MB
rhai.max-operations: 100000000
hosts:
  default:
    paths:
      /text:
        rhai.handler: |
          |env| text(env.body)
      /input:
        rhai.handler: |
          |env| text(env[\"rack.input\"].read())
      /form:
        rhai.handler: |
          |env| text(env.form.a)
      /json:
        rhai.handler: |
          |env| json(env.json)
      /parts:
        rhai.handler: |
          |env| {
              let input = env[\"rack.input\"];
              let count = 0;
              loop {
                  let part = input.read(100000);
                  if part == () { break }
                  count += part.len();
              }
              text(`${count} of ${env.CONTENT_LENGTH}`)
          }
      /unread:
        rhai.handler: |
          |env| text(\"not read\")
",
    );
    // The second lies in memory, the first in a file.
    for length in [3_000_000, 1_020_000] {
        let ask = |target: &str, content_type: &str, frame: (&str, &str)| {
            let filling = "x".repeat(length - frame.0.len() - frame.1.len());
            let (status, body) =
                server.send("POST", target, content_type, [frame.0, &filling, frame.1].concat().as_bytes());
            (status, String::from_utf8(body).unwrap())
        };
        let refused = (413, "{\"status\":\"Fail\",\"error_message\":\"Request body too large\"}".to_owned());
        assert_eq!(ask("/text", "text/plain", ("", "")), refused);
        assert_eq!(ask("/input", "text/plain", ("", "")), refused);
        assert_eq!(ask("/form", "application/x-www-form-urlencoded", ("a=", "")), refused);
        assert_eq!(ask("/json", "application/json", ("\"", "\"")), refused);
        assert_eq!(ask("/parts", "text/plain", ("", "")), (200, format!("{length} of {length}")));
        assert_eq!(ask("/unread", "text/plain", ("", "")), (200, "not read".to_owned()));
    }
    assert_eq!(server.send("POST", "/text", "text/plain", b"x"), (200, b"x".to_vec()));
}

#[test]
fn a_head_that_is_too_long_is_refused_and_others_are_served() {
    let server = Served::configured(SLOW);
    let ask = |target: &str, field: &str| {
        let mut stream = server.connect();
        // The server may answer and leave before it has read all.
        let _ = write!(stream, "GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Long: {field}\r\n\r\n");
        let mut reply = String::new();
        let _ = stream.read_to_string(&mut reply);
        reply.lines().next().unwrap_or_default().to_owned()
    };
    let (long, longer) = ("x".repeat(60_000), "x".repeat(400_000));
    assert_eq!(ask("/body", &long), "HTTP/1.1 200 OK");
    assert_eq!(ask("/body", &longer), "HTTP/1.1 431 Request Header Fields Too Large");
    assert_eq!(ask("/body", ""), "HTTP/1.1 200 OK");
}
