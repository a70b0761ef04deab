//! Where a request comes from and where it arrived.

use std::cell::Cell;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

/// One end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// An address and a port.
    Internet(SocketAddr),
    /// A unix socket, which has neither: the file, where it is ours.
    Unix(Option<Rc<Path>>),
}

impl Endpoint {
    /// The address; a unix socket has none.
    pub fn ip(&self) -> Option<IpAddr> {
        match self {
            Endpoint::Internet(address) => Some(address.ip()),
            Endpoint::Unix(_) => None,
        }
    }

    /// The port; a unix socket has none.
    pub fn port(&self) -> Option<u16> {
        match self {
            Endpoint::Internet(address) => Some(address.port()),
            Endpoint::Unix(_) => None,
        }
    }
}

impl From<SocketAddr> for Endpoint {
    /// An IPv4 address that an IPv6 socket took is the IPv4 address.
    fn from(address: SocketAddr) -> Endpoint {
        Endpoint::Internet(SocketAddr::new(address.ip().to_canonical(), address.port()))
    }
}

impl fmt::Display for Endpoint {
    /// The address without a port, as `REMOTE_ADDR` has it; `localhost` for a unix socket, as in h2o.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Internet(address) => address.ip().fmt(f),
            Endpoint::Unix(_) => f.write_str("localhost"),
        }
    }
}

/// A connection, with its two ends.
#[derive(Debug)]
pub struct Connection {
    /// The client's end.
    pub remote: Endpoint,
    /// What the client connected to.
    pub local: Endpoint,
    /// Number of the connection, unique for each run of the server.
    pub id: u64,
    /// When it was accepted.
    pub opened: Instant,
    /// How many requests came over it.
    pub requests: Cell<u64>,
    /// When the first byte of the request in flight came, where somebody wants to know.
    pub began: Cell<Option<Instant>>,
}

impl Connection {
    /// A connection that was accepted just now.
    pub fn new(remote: impl Into<Endpoint>, local: impl Into<Endpoint>, id: u64) -> Connection {
        let (remote, local) = (remote.into(), local.into());
        Connection { remote, local, id, opened: Instant::now(), requests: Cell::new(0), began: Cell::new(None) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_shows_its_address() {
        let internet = |text: &str| Endpoint::from(text.parse::<SocketAddr>().unwrap());
        for (end, shown, port) in [
            (internet("192.0.2.7:80"), "192.0.2.7", Some(80)),
            (internet("[::ffff:192.0.2.7]:80"), "192.0.2.7", Some(80)),
            (internet("[::1]:81"), "::1", Some(81)),
            (Endpoint::Unix(None), "localhost", None),
        ] {
            assert_eq!((end.to_string().as_str(), end.port()), (shown, port));
            assert_eq!(end.ip().is_some(), port.is_some());
        }
    }
}
