//! Requests that are in flight while the generation changes: each ends on the one that it began with, whole.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use super::served::Served;

/// More than the buffers of a connection hold.
const LARGE: usize = 24 << 20;

const CONF: &str = "listen: 127.0.0.1:0
num-threads: 2
databases: {main: 'sqlite::memory:'}
hosts:
  default:
    paths:
      /upload: {rhai.handler-file: upload.rhai}
      /compute: {rhai.handler-file: compute.rhai}
      /query: {rhai.handler-file: query.rhai}
      /wait: {rhai.handler-file: wait.rhai}
      /file: {rhai.handler-file: file.rhai}
";

/// A handler that says the number of its generation, for each of the paths.
fn scripts(number: usize) -> [(&'static str, String); 5] {
    let count =
        "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 2000000) SELECT count(*) FROM c";
    [
        ("upload.rhai", format!("|env| text(`{number} ${{env.body.len()}}`)")),
        ("compute.rhai", format!("|env| {{ let n = 0; for i in 0..3000000 {{ n += i; }} text(\"{number}\") }}")),
        ("query.rhai", format!("|env| {{ db::value(\"{count}\"); text(\"{number}\") }}")),
        ("wait.rhai", format!("|env| {{ sleep(1); text(\"{number}\") }}")),
        ("file.rhai", format!("|env| {{ let reply = file(\"large.bin\"); reply.header(\"x-number\", \"{number}\") }}")),
    ]
}

fn begin(served: &Served, head: &str) -> TcpStream {
    let mut stream = served.connect();
    write!(stream, "{head}\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    stream
}

fn rest(mut stream: TcpStream) -> (String, Vec<u8>) {
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).unwrap();
    let end = reply.windows(4).position(|it| it == b"\r\n\r\n").expect("a head and a body");
    let body = reply.split_off(end + 4);
    (String::from_utf8(reply).unwrap(), body)
}

#[test]
fn what_is_in_flight_ends_on_the_generation_that_it_began_with() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("free.yaml"), CONF).unwrap();
    fs::write(folder.path().join("large.bin"), vec![b'x'; LARGE]).unwrap();
    let save = |folder: &std::path::Path, number| {
        scripts(number).iter().for_each(|(name, text)| fs::write(folder.join(name), text).unwrap());
    };
    save(folder.path(), 1);
    let served = Served::listening_free(folder);
    let mut upload = begin(&served, "POST /upload HTTP/1.1\r\nContent-Length: 10");
    upload.write_all(b"12345").unwrap();
    let others = ["/compute", "/query", "/wait", "/file"].map(|it| begin(&served, &format!("GET {it} HTTP/1.1")));
    // The heads have to be read before the change; nothing says that they were.
    thread::sleep(Duration::from_millis(300));
    save(served.folder.path(), 2);
    served.printed("generation 2 is served");
    upload.write_all(b"67890").unwrap();
    assert_eq!(rest(upload).1, b"1 10");
    let [compute, query, wait, file] = others.map(rest);
    for (name, (head, body)) in [("compute", compute), ("query", query), ("wait", wait)] {
        assert!(head.starts_with("HTTP/1.1 200"), "{name}: {head}");
        assert_eq!(String::from_utf8(body).unwrap(), "1", "{name}");
    }
    assert!(file.0.contains("x-number: 1\r\n") && file.1.len() == LARGE, "{}: {} bytes", file.0, file.1.len());
    assert_eq!(rest(begin(&served, "GET /wait HTTP/1.1")).1, b"2");
}
