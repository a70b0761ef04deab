//! The body of a request: how it arrives, and how much of it may.

use std::fmt;
use std::fs::File;
use std::future::poll_fn;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::time::Duration;

use bytes::{Bytes, BytesMut};

use super::Stream;

/// A larger body goes to a temporary file.
const IN_MEMORY: usize = 1 << 20;

/// The body of a request, before and after it was read.
#[derive(Default)]
pub enum Upload {
    /// The request has none.
    #[default]
    None,
    /// It has not been read.
    Coming(Stream),
    /// It has been read to its end.
    Here(Arrived),
}

/// A body that was read to its end.
#[derive(Debug)]
pub enum Arrived {
    /// Up to 1 MiB is kept in memory.
    Memory(Bytes),
    /// More lies in a temporary file without a name; its length in bytes.
    File(File, u64),
}

/// Why a body was not taken.
#[derive(Debug)]
pub enum Refused {
    /// It is, or says that it is, longer than the limit (RFC 9110 §15.5.14).
    TooLarge,
    /// Nothing came for too long.
    TooSlow,
    /// The client sent nonsense or went away.
    Broken(io::Error),
    /// The temporary file cannot be written.
    NoRoom(io::Error),
}

impl Upload {
    /// Reads the body to its end; of one that was read already this does nothing.
    ///
    /// # Errors
    /// If it is longer than `limit` bytes (counted while it comes), if nothing comes for `patience`,
    /// if the client breaks off, or if the temporary file can't be written.
    pub async fn arrive(&mut self, limit: u64, patience: Duration) -> Result<(), Refused> {
        let Upload::Coming(stream) = self else { return Ok(()) };
        if stream.size_hint().lower() > limit {
            return Err(Refused::TooLarge);
        }
        let mut store = Store::Memory(BytesMut::new());
        let mut length = 0;
        loop {
            let frame = poll_fn(|context| stream.as_mut().poll_frame(context));
            let Some(frame) = tokio::time::timeout(patience, frame).await.map_err(|_| Refused::TooSlow)? else { break };
            let Ok(bytes) = frame.map_err(Refused::Broken)?.into_data() else { continue };
            length += bytes.len() as u64;
            if length > limit {
                return Err(Refused::TooLarge);
            }
            store.add(&bytes).map_err(Refused::NoRoom)?;
        }
        *self = Upload::Here(store.close(length).map_err(Refused::NoRoom)?);
        Ok(())
    }

    /// Length in bytes of a body that was read; `None` where the request has none.
    pub fn len(&self) -> Option<u64> {
        match self {
            Upload::None | Upload::Coming(_) => None,
            Upload::Here(Arrived::Memory(bytes)) => Some(bytes.len() as u64),
            Upload::Here(Arrived::File(_, length)) => Some(*length),
        }
    }

    /// Whether there is no body, or one of no bytes.
    pub fn is_empty(&self) -> bool {
        matches!(self, Upload::None) || self.len() == Some(0)
    }

    /// Fills `into` with the bytes that stand from byte `at` on in a body that was read.
    ///
    /// # Errors
    /// If there are not so many, or if the temporary file can't be read.
    pub fn read_at(&mut self, at: u64, into: &mut [u8]) -> io::Result<()> {
        match self {
            Upload::Here(Arrived::File(file, _)) => {
                file.seek(SeekFrom::Start(at))?;
                file.read_exact(into)
            }
            Upload::Here(Arrived::Memory(bytes)) => {
                let start = usize::try_from(at).unwrap_or(usize::MAX);
                let part = bytes.get(start..).and_then(|rest| rest.get(..into.len()));
                into.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
            Upload::None | Upload::Coming(_) if into.is_empty() => Ok(()),
            Upload::None | Upload::Coming(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// All bytes of a body that was read, where they are in memory.
    pub fn in_memory(&self) -> Option<Bytes> {
        match self {
            Upload::None => Some(Bytes::new()),
            Upload::Here(Arrived::Memory(bytes)) => Some(bytes.clone()),
            Upload::Coming(_) | Upload::Here(Arrived::File(..)) => None,
        }
    }
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Upload::None => f.write_str("None"),
            Upload::Coming(_) => f.write_str("Coming"),
            Upload::Here(arrived) => f.debug_tuple("Here").field(arrived).finish(),
        }
    }
}

enum Store {
    Memory(BytesMut),
    File(File),
}

impl Store {
    fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Store::Memory(held) = self {
            if held.len() + bytes.len() <= IN_MEMORY {
                held.extend_from_slice(bytes);
                return Ok(());
            }
            // Written by the worker itself: a write to the page cache takes less time than a turn
            // of another thread would.
            let mut file = tempfile::tempfile()?;
            file.write_all(held)?;
            *self = Store::File(file);
        }
        match self {
            Store::File(file) => file.write_all(bytes),
            Store::Memory(_) => Ok(()),
        }
    }

    fn close(self, length: u64) -> io::Result<Arrived> {
        match self {
            Store::Memory(bytes) => Ok(Arrived::Memory(bytes.freeze())),
            Store::File(mut file) => {
                file.seek(SeekFrom::Start(0))?;
                Ok(Arrived::File(file, length))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Body;

    fn read(parts: usize, limit: u64) -> Result<Upload, Refused> {
        let body = Body::from(vec![b'x'; parts]);
        let mut upload = Upload::Coming(Box::pin(body));
        tokio::runtime::LocalRuntime::new().unwrap().block_on(upload.arrive(limit, Duration::from_secs(1)))?;
        Ok(upload)
    }

    #[test]
    fn a_body_up_to_the_limit_arrives_and_a_longer_one_does_not() {
        assert_eq!(read(10, 10).unwrap().in_memory().unwrap(), "xxxxxxxxxx");
        assert!(matches!(read(11, 10), Err(Refused::TooLarge)));
    }

    #[test]
    fn a_large_body_lies_in_a_file() {
        let upload = read(IN_MEMORY + 1, u64::MAX).unwrap();
        assert!(matches!(upload, Upload::Here(Arrived::File(..))));
        assert_eq!(upload.len(), Some(IN_MEMORY as u64 + 1));
        assert!(upload.in_memory().is_none());
    }

    #[test]
    fn any_part_is_read_wherever_it_lies() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        for arrived in [Arrived::Memory("0123456789".into()), Arrived::File(file, 10)] {
            let mut upload = Upload::Here(arrived);
            for (at, count, expected) in [(0, 10, "0123456789"), (7, 3, "789"), (2, 2, "23"), (10, 0, "")] {
                let mut bytes = vec![0; count];
                upload.read_at(at, &mut bytes).unwrap();
                assert_eq!(bytes, expected.as_bytes());
            }
            assert!(upload.read_at(8, &mut [0; 3]).is_err());
        }
        assert!(Upload::None.read_at(0, &mut []).is_ok());
        assert!(Upload::None.read_at(0, &mut [0]).is_err());
    }
}
