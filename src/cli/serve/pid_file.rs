//! The file with the number of the process.

use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use nix::unistd::geteuid;

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
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match (&mut *current, path) {
            // It would be removed under its old name.
            (Some(file), Some(path)) if is_same(&file.0, path) => path.clone_into(&mut file.0),
            (current, path) => *current = path.map(PidFile::write).transpose()?,
        }
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

/// Whether both are names of one file.
fn is_same(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| path.symlink_metadata().ok().map(|it| (it.dev(), it.ino()));
    identity(one).is_some_and(|it| identity(other) == Some(it))
}

fn put(path: &Path) -> io::Result<()> {
    // What somebody else has put there is replaced, never written through: the folder may be the user's that root becomes.
    let is_trusted = |it: &Metadata| it.uid() == 0 || it.uid() == geteuid().as_raw();
    if path.symlink_metadata().is_ok_and(|it| !it.is_file() && is_trusted(&it)) {
        // A link or a device is written to as it is.
        return fs::write(path, content());
    }
    let aside = path.with_added_extension("new");
    // Left by a process that was killed; where it can't be removed the next step says so.
    let _ = fs::remove_file(&aside);
    File::create_new(&aside)?.write_all(content().as_bytes())?;
    fs::rename(&aside, path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{lchown, symlink};

    use super::*;

    #[test]
    fn a_file_stays_when_it_is_named_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("sub")).unwrap();
        let (path, other) = (folder.path().join("a.pid"), folder.path().join("sub/../a.pid"));
        let file = SharedPidFile::write(Some(&path)).unwrap();
        file.move_to(Some(&other)).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), content());
        file.move_to(Some(&folder.path().join("b.pid"))).unwrap();
        assert!(!path.exists());
        file.remove();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn nothing_is_written_through_a_link_that_lies_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let [path, aside, precious] = ["a.pid", "a.pid.new", "precious"].map(|it| folder.path().join(it));
        fs::write(&precious, "precious").unwrap();
        symlink(&precious, &aside).unwrap();
        drop(SharedPidFile::write(Some(&path)).unwrap());
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    }

    #[test]
    fn a_link_is_followed_if_nobody_else_made_it() {
        let folder = tempfile::tempdir().unwrap();
        let [path, target] = ["a.pid", "target"].map(|it| folder.path().join(it));
        fs::write(&target, "").unwrap();
        symlink(&target, &path).unwrap();
        let file = SharedPidFile::write(Some(&path)).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), content());
        file.remove();
        fs::write(&target, "precious").unwrap();
        symlink(&target, &path).unwrap();
        // Only root can make one that is another's.
        if lchown(&path, Some(65534), None).is_err() {
            return;
        }
        let _file = SharedPidFile::write(Some(&path)).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
        assert_eq!(fs::read_to_string(&path).unwrap(), content());
    }
}
