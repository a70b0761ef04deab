//! The file with the number of the process.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::server::Refusal;

/// The file, if there is one; all have the same.
#[derive(Clone, Debug)]
pub(super) struct SharedPidFile(Arc<Mutex<Option<PidFile>>>);

impl SharedPidFile {
    /// Writes it where one is named.
    ///
    /// # Errors
    /// If it can't be written.
    pub(super) fn write(path: Option<&Path>) -> Result<SharedPidFile, Refusal> {
        let file = path.map(PidFile::write).transpose().map_err(Refusal::System)?;
        Ok(SharedPidFile(Arc::new(Mutex::new(file))))
    }

    /// Has it elsewhere from now on, or nowhere; the old one goes.
    ///
    /// # Errors
    /// If it can't be written; the old one stays.
    pub(super) fn move_to(&self, path: Option<&Path>) -> Result<(), String> {
        let file = path.map(PidFile::write).transpose()?;
        let old = std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), file);
        drop(old);
        Ok(())
    }

    /// Removes it: the process ends.
    pub(super) fn remove(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// A file with the number of this process, removed when it is dropped.
#[derive(Debug)]
struct PidFile(PathBuf);

impl PidFile {
    /// Writes it, all at once: who reads it never sees half of it.
    fn write(path: &Path) -> Result<PidFile, String> {
        put(path).map_err(|error| format!("cannot write the pid file `{}`: {error}", path.display()))?;
        Ok(PidFile(path.to_owned()))
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        // Another process may have taken its place.
        if fs::read_to_string(&self.0).is_ok_and(|it| it == content()) {
            // Who is root no more may not be able to; it is no obstacle for the next.
            let _ = fs::remove_file(&self.0);
        }
    }
}

fn content() -> String {
    format!("{}\n", std::process::id())
}

fn put(path: &Path) -> io::Result<()> {
    if path.symlink_metadata().is_ok_and(|it| !it.is_file()) {
        // A link or a device is written to as it is.
        return fs::write(path, content());
    }
    let aside = path.with_added_extension("new");
    fs::write(&aside, content())?;
    fs::rename(&aside, path)
}
