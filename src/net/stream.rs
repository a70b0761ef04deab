//! The two kinds of sockets, as one.

use std::io;
use std::net::{TcpListener as StdTcpListener, TcpStream as StdTcpStream};
use std::os::unix::net::{UnixListener as StdUnixListener, UnixStream as StdUnixStream};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

use super::file::SocketFile;
use crate::http::Endpoint;

/// A socket that listens. Clones are the same.
#[derive(Debug)]
pub enum Bound {
    /// On a port.
    Tcp(StdTcpListener),
    /// On a file, which is removed when the last clone is dropped.
    Unix(StdUnixListener, Arc<SocketFile>),
}

impl Bound {
    /// The same socket once more.
    ///
    /// # Errors
    /// If there are no file descriptors left.
    pub fn try_clone(&self) -> io::Result<Bound> {
        Ok(match self {
            Bound::Tcp(listener) => Bound::Tcp(listener.try_clone()?),
            Bound::Unix(listener, file) => Bound::Unix(listener.try_clone()?, Arc::clone(file)),
        })
    }

    /// Where it listens, as people write it: `http://127.0.0.1:8080/`, `unix:/run/rhaid.sock`.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn address(&self) -> io::Result<String> {
        Ok(match self {
            Bound::Tcp(listener) => match listener.local_addr()? {
                // Nobody can ask for all addresses; this one is among them.
                all if all.ip().is_unspecified() => format!("http://localhost:{}/", all.port()),
                one => format!("http://{one}/"),
            },
            Bound::Unix(_, file) => format!("unix:{}", file.path().display()),
        })
    }
}

/// A socket that this worker listens on.
pub(super) enum Listener {
    Tcp(TcpListener),
    /// The file stays for as long as somebody listens.
    Unix(UnixListener, #[expect(dead_code, reason = "kept for its end")] Arc<SocketFile>),
}

impl Listener {
    pub fn new(bound: Bound) -> io::Result<Listener> {
        Ok(match bound {
            Bound::Tcp(listener) => Listener::Tcp(TcpListener::from_std(listener)?),
            Bound::Unix(listener, file) => Listener::Unix(UnixListener::from_std(listener)?, file),
        })
    }

    pub async fn accept(&self) -> io::Result<Stream> {
        match self {
            Listener::Tcp(listener) => listener.accept().await.map(|(stream, _)| Stream::Tcp(stream)),
            Listener::Unix(listener, _) => listener.accept().await.map(|(stream, _)| Stream::Unix(stream)),
        }
    }
}

/// A connection that is on its way from one worker to another.
pub(super) enum Parcel {
    Tcp(StdTcpStream),
    Unix(StdUnixStream),
}

/// The byte stream of a connection.
pub enum Stream {
    /// Over the Internet.
    Tcp(TcpStream),
    /// On this machine.
    Unix(UnixStream),
}

impl Stream {
    pub(super) fn pack(self) -> io::Result<Parcel> {
        Ok(match self {
            Stream::Tcp(stream) => Parcel::Tcp(stream.into_std()?),
            Stream::Unix(stream) => Parcel::Unix(stream.into_std()?),
        })
    }

    pub(super) fn unpack(parcel: Parcel) -> io::Result<Stream> {
        Ok(match parcel {
            Parcel::Tcp(stream) => Stream::Tcp(TcpStream::from_std(stream)?),
            Parcel::Unix(stream) => Stream::Unix(UnixStream::from_std(stream)?),
        })
    }

    /// The client's end, and ours.
    pub(super) fn ends(&self) -> io::Result<(Endpoint, Endpoint)> {
        Ok(match self {
            Stream::Tcp(stream) => (stream.peer_addr()?.into(), stream.local_addr()?.into()),
            Stream::Unix(stream) => {
                let local = stream.local_addr()?;
                (Endpoint::Unix(None), Endpoint::Unix(local.as_pathname().map(Into::into)))
            }
        })
    }

    /// Sends what is written at once, for latency matters more than the number of packets.
    pub(super) fn hurry(&self) {
        if let Stream::Tcp(stream) = self {
            // Where it can't be set it does no harm.
            let _ = stream.set_nodelay(true);
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Stream::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_write_vectored(context, parts),
            Stream::Unix(stream) => Pin::new(stream).poll_write_vectored(context, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Stream::Unix(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Unix(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
