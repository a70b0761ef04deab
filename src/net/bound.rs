//! Sockets that listen: one for all workers, from the moment it is bound until the last of them has let go of it.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicU64, Ordering};

use socket2::{Domain, Protocol, SockRef, Socket, Type};

use super::file::SocketFile;
use super::inherited;
use super::newcomers;
use super::stream::Parcel;

/// Connections that wait for `accept`.
pub(super) const BACKLOG: i32 = 4096;

/// Tells sockets apart; a file descriptor's number would be given again.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// A socket that listens.
#[derive(Debug)]
pub struct Bound {
    id: u64,
    kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// On a port.
    Tcp(TcpListener),
    /// On a file, which is removed with it.
    Unix(UnixListener, SocketFile),
}

/// Binds and listens, or takes what was inherited. An unspecified IPv6 address takes IPv4 connections too.
///
/// # Errors
/// If the address is taken or not ours.
pub fn bind(address: SocketAddr) -> io::Result<Bound> {
    if let Some(given) = inherited::port(address) {
        newcomers::welcome(&given);
        return Ok(Bound::new(Kind::Tcp(given)));
    }
    listen(&prepare(address)?, address)
}

/// [`bind`] on a port that `ours` listen at already, at addresses that overlap with this one: both take connections
/// then, the more specific one those to its own address. `SO_REUSEPORT` is on for just this moment, so that a port that
/// others have is still found to be taken.
///
/// # Errors
/// As [`bind`]; and if `ours` were bound by another user, or the system does not do it for sockets that were bound before.
pub fn bind_beside(address: SocketAddr, ours: &[&Bound]) -> io::Result<Bound> {
    let share = |is_shared: bool| {
        for bound in ours {
            if let Kind::Tcp(listener) = &bound.kind {
                SockRef::from(listener).set_reuse_port(is_shared)?;
            }
        }
        Ok::<(), io::Error>(())
    };
    let socket = prepare(address)?;
    socket.set_reuse_port(true)?;
    let bound = share(true).and_then(|()| listen(&socket, address));
    share(false)?;
    socket.set_reuse_port(false)?;
    bound
}

fn prepare(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn listen(socket: &Socket, address: SocketAddr) -> io::Result<Bound> {
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(Bound::new(Kind::Tcp(socket.try_clone()?.into())))
}

impl Bound {
    pub(super) fn new(kind: Kind) -> Bound {
        Bound { id: NEXT_ID.fetch_add(1, Ordering::Relaxed), kind }
    }

    /// Its number, which no other socket of this process has had.
    pub fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The address and port that it was bound to; `None` for a file.
    pub fn port(&self) -> Option<SocketAddr> {
        match &self.kind {
            Kind::Tcp(listener) => listener.local_addr().ok(),
            Kind::Unix(..) => None,
        }
    }

    /// The file that it listens on.
    pub fn file(&self) -> Option<&SocketFile> {
        match &self.kind {
            Kind::Tcp(_) => None,
            Kind::Unix(_, file) => Some(file),
        }
    }

    /// The socket and its file, which is there for as long as it is kept; `None` for a port.
    pub fn into_file(self) -> Option<(UnixListener, SocketFile)> {
        match self.kind {
            Kind::Tcp(_) => None,
            Kind::Unix(listener, file) => Some((listener, file)),
        }
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        match &self.kind {
            Kind::Tcp(listener) => listener.as_fd(),
            Kind::Unix(listener, _) => listener.as_fd(),
        }
    }

    /// Where it listens, as people write it: `http://127.0.0.1:8080/`, `unix:/run/rhaid.sock`.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn address(&self) -> io::Result<String> {
        Ok(match &self.kind {
            Kind::Tcp(listener) => match listener.local_addr()? {
                // Nobody can ask for all addresses; this one is among them.
                all if all.ip().is_unspecified() => format!("http://localhost:{}/", all.port()),
                one => format!("http://{one}/"),
            },
            Kind::Unix(_, file) => format!("unix:{}", file.path().display()),
        })
    }

    /// Begins no handshake any more, so that its queue gets empty: those under way come to their end.
    pub fn refuse_newcomers(&self) {
        match &self.kind {
            Kind::Tcp(listener) => newcomers::refuse(listener),
            Kind::Unix(_, file) => file.remove(),
        }
    }

    /// Takes newcomers again; a client that was refused meanwhile tries once more within a second.
    pub fn welcome_newcomers(&self) {
        if let Kind::Tcp(listener) = &self.kind {
            newcomers::welcome(listener);
        }
    }

    /// A connection that waits already.
    pub(super) fn take(&self) -> io::Result<Parcel> {
        match &self.kind {
            Kind::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                Ok(Parcel::Tcp(stream))
            }
            Kind::Unix(listener, _) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                Ok(Parcel::Unix(stream))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn overlapping_addresses_are_bound_beside_each_other_and_the_specific_one_takes_its_own() {
        let all = bind("0.0.0.0:0".parse().unwrap()).unwrap();
        let port = all.port().unwrap().port();
        let one = SocketAddr::from(([127, 0, 0, 1], port));
        assert_eq!(bind(one).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        let specific = bind_beside(one, &[&all]).unwrap();
        let _client = TcpStream::connect(one).unwrap();
        assert!(specific.take().is_ok());
        assert_eq!(all.take().err().unwrap().kind(), io::ErrorKind::WouldBlock);
        drop(all);
        let all = bind_beside(SocketAddr::from(([0, 0, 0, 0], port)), &[&specific]).unwrap();
        drop(specific);
        let _client = TcpStream::connect(one).unwrap();
        assert!(all.take().is_ok());
        // To others the port is taken.
        assert_eq!(bind(one).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn newcomers_are_kept_out_until_they_are_welcome_again() {
        let bound = bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = bound.port().unwrap();
        let _queued = TcpStream::connect(address).unwrap();
        bound.refuse_newcomers();
        let wait = std::time::Duration::from_millis(100);
        let kept_out = TcpStream::connect_timeout(&address, wait).unwrap_err();
        assert_eq!(kept_out.kind(), io::ErrorKind::TimedOut);
        assert!(bound.take().is_ok(), "what was there before is still there");
        assert_eq!(bound.take().err().unwrap().kind(), io::ErrorKind::WouldBlock);
        bound.welcome_newcomers();
        let _client = TcpStream::connect(address).unwrap();
        assert!(bound.take().is_ok());
    }
}
