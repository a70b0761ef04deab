//! The byte stream between hyper and a connection, which notes when bytes move.

#![allow(unsafe_code)]

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::farewell::Farewell;
use super::live::Entry;
use super::stream::Stream;

/// Bytes that are written in one piece.
const SMALL: usize = 1024;

pub(super) struct Socket {
    pub(super) stream: Stream,
    pub(super) entry: Rc<Entry>,
    pub(super) farewell: Farewell,
}

impl Socket {
    fn noted(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Ready(Ok(_)) => self.entry.wrote(),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.entry.blocked(),
        }
        written
    }

    /// Whether the client is in the midst of a head that was refused, or has sent requests that are
    /// not answered any more.
    fn has_more(&mut self, context: &mut Context<'_>) -> bool {
        let mut space = [0; 1];
        let mut taken = ReadBuf::new(&mut space);
        let is_read = Pin::new(&mut self.stream).poll_read(context, &mut taken);
        let has_ended = is_read.is_ready() && taken.filled().is_empty();
        !has_ended && (self.entry.is_in_head() || !taken.filled().is_empty())
    }
}

impl Read for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        // SAFETY: the bytes are only written to, never made uninitialized again: `ReadBuf` takes
        // them as uninitialized and says how many it has filled.
        let read = unsafe {
            let mut filled = ReadBuf::uninit(buffer.as_mut());
            ready!(Pin::new(&mut self.stream).poll_read(context, &mut filled))?;
            filled.filled().len()
        };
        if read > 0 {
            self.entry.read();
        }
        // SAFETY: so many bytes were filled just now.
        unsafe { buffer.advance(read) };
        Poll::Ready(Ok(()))
    }
}

impl Write for Socket {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.noted(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // A head and a small body in one piece cost the kernel less than in two.
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let written = if length <= SMALL && parts.len() > 1 {
            let mut whole = [0; SMALL];
            let mut end = 0;
            for part in parts {
                whole[end..end + part.len()].copy_from_slice(part);
                end += part.len();
            }
            Pin::new(&mut self.stream).poll_write(context, &whole[..end])
        } else {
            Pin::new(&mut self.stream).poll_write_vectored(context, parts)
        };
        self.noted(written)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let socket = &mut *self;
        if !socket.farewell.has_begun() {
            if !socket.entry.has_unread() && socket.has_more(context) {
                socket.entry.leave_unread();
            }
            ready!(Pin::new(&mut socket.stream).poll_shutdown(context))?;
        }
        if socket.entry.has_unread() {
            ready!(socket.farewell.poll(&mut socket.stream, context));
        }
        Poll::Ready(Ok(()))
    }
}
