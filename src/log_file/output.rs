//! What a log's lines are written to; a file is opened anew when another has come in its place.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Stderr, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often it is looked whether a file has been renamed or removed, while lines come.
const LOOK: Duration = Duration::from_secs(1);

/// What a log is written to.
pub(super) trait Output: Write + Send + 'static {
    /// Goes over to the file that has the name now, if it is another or `is_asked`; gives its identity then.
    fn renew(&mut self, is_asked: bool) -> Option<(u64, u64)> {
        let _ = is_asked;
        None
    }
}

impl Output for Stderr {}

/// A file that is appended to. What is no regular file is never opened again.
pub(super) struct Appended {
    file: File,
    path: PathBuf,
    /// Device and number of the inode.
    identity: (u64, u64),
    is_regular: bool,
    looked: Instant,
    has_failed: bool,
}

impl Appended {
    /// Opens a file, and makes it where it does not exist.
    ///
    /// # Errors
    /// The message names the path.
    pub(super) fn open(path: &Path) -> io::Result<Appended> {
        let named = |error: io::Error| {
            io::Error::new(error.kind(), format!("log file `{}` can't be opened: {error}", path.display()))
        };
        let file = OpenOptions::new().append(true).create(true).open(path).map_err(named)?;
        let metadata = file.metadata().map_err(named)?;
        // Relative to where the process was when it was opened.
        let path = std::path::absolute(path).map_err(named)?;
        let (identity, is_regular) = ((metadata.dev(), metadata.ino()), metadata.is_file());
        Ok(Appended { file, path, identity, is_regular, looked: Instant::now(), has_failed: false })
    }

    pub(super) fn identity(&self) -> (u64, u64) {
        self.identity
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn is_in_place(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|it| (it.dev(), it.ino()) == self.identity)
    }
}

impl Write for Appended {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Output for Appended {
    fn renew(&mut self, is_asked: bool) -> Option<(u64, u64)> {
        if !self.is_regular || !(is_asked || self.looked.elapsed() >= LOOK) {
            return None;
        }
        self.looked = Instant::now();
        if self.is_in_place() {
            return None;
        }
        match Appended::open(&self.path) {
            Ok(other) => {
                *self = other;
                Some(self.identity)
            }
            Err(error) => {
                // Said once for a row of failures.
                if !self.has_failed {
                    tracing::error!("{error}; its lines go on to the file that had the name before");
                }
                self.has_failed = true;
                None
            }
        }
    }
}
