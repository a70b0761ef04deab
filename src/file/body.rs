//! The bytes of a file, as a body.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::http::Body;

/// Up to as many bytes are read by the worker, at once.
const SMALL: u64 = 64 << 10;

/// As many are read at a time of a larger file, by another thread.
const CHUNK: u64 = 128 << 10;

/// Gives the bytes of `file` from `from` to before `to`.
///
/// # Errors
/// If they can't be read, or are no longer there.
pub fn body(file: File, from: u64, to: u64) -> io::Result<Body> {
    if to - from <= SMALL {
        return Ok(Body::Full(read(&file, from, to - from)?));
    }
    Ok(Body::Stream(Box::pin(Chunks { file: Arc::new(file), next: from, end: to, reading: None })))
}

/// Reads exactly `length` bytes: the length has been promised to the client.
fn read(file: &File, from: u64, length: u64) -> io::Result<Bytes> {
    let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    file.read_exact_at(&mut bytes, from)?;
    Ok(bytes.into())
}

/// A file that is read as fast as the client takes it.
struct Chunks {
    file: Arc<File>,
    /// Where the chunk begins that is read now, or next.
    next: u64,
    end: u64,
    reading: Option<JoinHandle<io::Result<Bytes>>>,
}

impl http_body::Body for Chunks {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let length = CHUNK.min(self.end - self.next);
        if length == 0 {
            return Poll::Ready(None);
        }
        let (file, from) = (Arc::clone(&self.file), self.next);
        let reading = self.reading.get_or_insert_with(|| spawn_blocking(move || read(&file, from, length)));
        let read = ready!(Pin::new(reading).poll(context)).unwrap_or_else(|error| Err(io::Error::other(error)));
        self.reading = None;
        // After an error there is nothing more: the connection ends, and the client sees that it got
        // less than was promised.
        self.next = if read.is_ok() { from + length } else { self.end };
        Poll::Ready(Some(read.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.next == self.end
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.end - self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::io::Write;

    fn file(length: usize) -> (File, Vec<u8>) {
        let content: Vec<u8> = (0..length).map(|index| (index % 251) as u8).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&content).unwrap();
        (file, content)
    }

    fn collect(mut body: Body) -> io::Result<Vec<u8>> {
        let all = async {
            let mut all = Vec::new();
            while let Some(frame) = poll_fn(|context| http_body::Body::poll_frame(Pin::new(&mut body), context)).await {
                all.extend_from_slice(&frame?.into_data().unwrap());
            }
            Ok(all)
        };
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(all)
    }

    #[test]
    fn a_large_file_comes_in_chunks() {
        let (file, content) = file(300_000);
        let body = body(file, 1, 299_999).unwrap();
        assert!(matches!(body, Body::Stream(_)));
        assert_eq!(body.len(), Some(299_998));
        assert!(collect(body).unwrap() == content[1..299_999]);
    }

    #[test]
    fn a_small_part_is_read_at_once() {
        let (file, content) = file(300_000);
        let body = body(file, 200_000, 265_536).unwrap();
        assert!(matches!(&body, Body::Full(bytes) if bytes[..] == content[200_000..265_536]));
    }

    #[test]
    fn a_file_that_got_shorter_ends_with_an_error() {
        let (shorter, _) = file(200_000);
        assert_eq!(collect(body(shorter, 0, 300_000).unwrap()).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        let (shorter, _) = file(10);
        assert!(body(shorter, 0, 20).is_err());
    }
}
