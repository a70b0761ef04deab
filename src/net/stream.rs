//! The two kinds of sockets, as one.

use std::io;
use std::net::TcpStream as StdTcpStream;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

use super::bound::{Bound, Kind};
use crate::http::Endpoint;

/// A socket that this worker listens on.
pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    pub fn new(bound: &Bound) -> io::Result<Listener> {
        Ok(match bound.kind() {
            Kind::Tcp(listener) => Listener::Tcp(TcpListener::from_std(listener.try_clone()?)?),
            Kind::Unix(listener, _) => Listener::Unix(UnixListener::from_std(listener.try_clone()?)?),
        })
    }

    pub async fn accept(&self) -> io::Result<Stream> {
        match self {
            Listener::Tcp(listener) => listener.accept().await.map(|(stream, _)| Stream::Tcp(stream)),
            Listener::Unix(listener) => listener.accept().await.map(|(stream, _)| Stream::Unix(stream)),
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
