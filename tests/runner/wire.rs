//! HTTP/1.1 from the client's side, on a plain socket: no library's leniency hides what the server sent.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::compare;

/// A reply as it came.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// Without the frames of `Transfer-Encoding: chunked`.
    pub body: Vec<u8>,
    /// Whether another request can follow on the connection.
    pub keeps_alive: bool,
}

impl Reply {
    /// The values of a header's lines; `name` is in lower case.
    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers.iter().filter(move |(it, _)| it == name).map(|(_, value)| value.as_str())
    }
}

/// Why there is no reply.
#[derive(Debug, PartialEq)]
pub enum Lost {
    /// The connection ended before the first byte.
    Closed,
    /// Nothing more came after these bytes until time was up.
    Late { bytes: Vec<u8> },
    /// The connection ended after these bytes, or they are no reply.
    Broken { why: String, bytes: Vec<u8> },
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lost::Closed => f.write_str("the server closed the connection without a reply"),
            Lost::Late { bytes } if bytes.is_empty() => f.write_str("time was up, after no byte of a reply"),
            Lost::Late { bytes } => write!(f, "time was up, after these bytes:\n{}", compare::shown(bytes)),
            Lost::Broken { why, bytes } if bytes.is_empty() => write!(f, "{why}, after no byte of a reply"),
            Lost::Broken { why, bytes } => write!(f, "{why}, after these bytes:\n{}", compare::shown(bytes)),
        }
    }
}

/// A connection to the server and what was read from it but not yet taken.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// How the end of a body is found.
enum Framing {
    Length(usize),
    Chunked,
    UntilClose,
}

impl Connection {
    /// Connects to `port` on the loopback address.
    ///
    /// # Errors
    /// If nobody listens there.
    pub fn open(port: u16) -> io::Result<Connection> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(Duration::from_secs(10)))?;
        Ok(Connection { stream, buffer: Vec::new() })
    }

    /// Sends `bytes`. A server may answer and close before it has read them all (413), which shows in the reply.
    pub fn send(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    /// What has come that nobody asked for: bytes, or the end of the connection.
    pub fn unasked(&mut self) -> Unasked {
        if !self.buffer.is_empty() {
            return Unasked::Bytes(std::mem::take(&mut self.buffer));
        }
        let mut bytes = vec![0; 4096];
        let got = self.stream.set_nonblocking(true).and_then(|()| {
            let got = self.stream.read(&mut bytes);
            self.stream.set_nonblocking(false)?;
            got
        });
        match got {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Unasked::Nothing,
            Ok(0) | Err(_) => Unasked::End,
            Ok(length) => Unasked::Bytes(bytes[..length].to_vec()),
        }
    }

    /// Reads one reply; `head_only` where it answers HEAD. Interim replies (1xx) are passed over.
    ///
    /// # Errors
    /// If the connection ends, or `deadline` comes, before the reply's end.
    pub fn read_reply(&mut self, head_only: bool, deadline: Instant) -> Result<Reply, Lost> {
        loop {
            let end = loop {
                if let Some(end) = find(&self.buffer, b"\r\n\r\n", 0) {
                    break end;
                }
                self.fill(deadline)?;
            };
            let (mut reply, version) = self.head(end)?;
            if (100..200).contains(&reply.status) && reply.status != 101 {
                self.buffer.drain(..end + 4);
                continue;
            }
            let framing = if head_only || matches!(reply.status, 101 | 204 | 304) {
                Framing::Length(0)
            } else if reply.values("transfer-encoding").any(|value| value.eq_ignore_ascii_case("chunked")) {
                Framing::Chunked
            } else if let Some(length) = reply.values("content-length").next() {
                Framing::Length(length.parse().map_err(|_| self.broken("`content-length` is not a number"))?)
            } else {
                Framing::UntilClose
            };
            let connection = reply.values("connection").next().unwrap_or_default().to_ascii_lowercase();
            reply.keeps_alive = !matches!(framing, Framing::UntilClose)
                && connection != "close"
                && (version == "HTTP/1.1" || connection == "keep-alive");
            let (body, taken) = self.body(&framing, end + 4, deadline)?;
            reply.body = body;
            self.buffer.drain(..taken);
            return Ok(reply);
        }
    }

    /// Whether the connection ends before `deadline` without a byte.
    pub fn ends(&mut self, deadline: Instant) -> Result<(), Lost> {
        match self.fill(deadline) {
            Err(Lost::Closed) => Ok(()),
            Err(lost) => Err(lost),
            Ok(()) => Err(self.broken("the server answered")),
        }
    }

    fn head(&self, end: usize) -> Result<(Reply, String), Lost> {
        let head = String::from_utf8_lossy(&self.buffer[..end]);
        let mut lines = head.split("\r\n");
        let status_line = lines.next().unwrap_or_default();
        let mut words = status_line.split(' ');
        let version = words.next().unwrap_or_default();
        let status = words.next().filter(|it| it.len() == 3).and_then(|it| it.parse().ok());
        let (Some(status), true) = (status, version.starts_with("HTTP/1.")) else {
            return Err(self.broken("this is no HTTP/1 reply"));
        };
        let mut headers = Vec::new();
        for line in lines {
            let Some((name, value)) = line.split_once(':') else {
                return Err(self.broken("a header line has no colon"));
            };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        Ok((Reply { status, headers, body: Vec::new(), keeps_alive: true }, version.to_owned()))
    }

    /// The body that begins at `start` of the buffer, and where it ends there.
    fn body(&mut self, framing: &Framing, start: usize, deadline: Instant) -> Result<(Vec<u8>, usize), Lost> {
        match framing {
            Framing::Length(length) => {
                self.fill_to(start + length, deadline)?;
                Ok((self.buffer[start..start + length].to_vec(), start + length))
            }
            Framing::UntilClose => loop {
                match self.fill_once(deadline) {
                    Ok(0) => return Ok((self.buffer[start..].to_vec(), self.buffer.len())),
                    Ok(_) => {}
                    Err(error) => return Err(self.failed(&error)),
                }
            },
            Framing::Chunked => {
                let (mut body, mut at) = (Vec::new(), start);
                loop {
                    let line = self.line(at, deadline)?;
                    let size = String::from_utf8_lossy(&self.buffer[at..line]).into_owned();
                    let size = size.split(';').next().unwrap_or_default().trim();
                    let size = usize::from_str_radix(size, 16).map_err(|_| self.broken("a chunk has no size"))?;
                    at = line + 2;
                    if size == 0 {
                        break;
                    }
                    self.fill_to(at + size + 2, deadline)?;
                    body.extend_from_slice(&self.buffer[at..at + size]);
                    if self.buffer[at + size..at + size + 2] != *b"\r\n" {
                        return Err(self.broken("a chunk is longer than its size"));
                    }
                    at += size + 2;
                }
                // Trailer lines, if any, end with an empty one.
                loop {
                    let line = self.line(at, deadline)?;
                    let is_last = line == at;
                    at = line + 2;
                    if is_last {
                        return Ok((body, at));
                    }
                }
            }
        }
    }

    /// Where the line that begins at `start` ends.
    fn line(&mut self, start: usize, deadline: Instant) -> Result<usize, Lost> {
        loop {
            if let Some(end) = find(&self.buffer, b"\r\n", start) {
                return Ok(end);
            }
            self.fill(deadline)?;
        }
    }

    fn fill_to(&mut self, length: usize, deadline: Instant) -> Result<(), Lost> {
        while self.buffer.len() < length {
            self.fill(deadline)?;
        }
        Ok(())
    }

    fn fill(&mut self, deadline: Instant) -> Result<(), Lost> {
        match self.fill_once(deadline) {
            Ok(0) if self.buffer.is_empty() => Err(Lost::Closed),
            Ok(0) => Err(self.broken("the server closed the connection")),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::ConnectionReset && self.buffer.is_empty() => Err(Lost::Closed),
            Err(error) => Err(self.failed(&error)),
        }
    }

    fn fill_once(&mut self, deadline: Instant) -> io::Result<usize> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        let mut bytes = [0; 65536];
        let length = self.stream.read(&mut bytes)?;
        self.buffer.extend_from_slice(&bytes[..length]);
        Ok(length)
    }

    fn failed(&self, error: &io::Error) -> Lost {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Lost::Late { bytes: self.buffer.clone() },
            _ => self.broken(&format!("reading failed: {error}")),
        }
    }

    fn broken(&self, why: &str) -> Lost {
        Lost::Broken { why: why.to_owned(), bytes: self.buffer.clone() }
    }
}

/// What came without being asked for.
#[derive(Debug, PartialEq)]
pub enum Unasked {
    Nothing,
    End,
    Bytes(Vec<u8>),
}

fn find(bytes: &[u8], wanted: &[u8], start: usize) -> Option<usize> {
    let found = bytes.get(start..)?.windows(wanted.len()).position(|window| window == wanted)?;
    Some(start + found)
}
