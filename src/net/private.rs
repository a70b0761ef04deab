//! Unix sockets that the user of the process alone may connect to, whoever else may write to the folder that they lie in.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use super::file::{clear, is_shared};
use super::inherited;

/// A socket that listens on a file, which is removed when this is dropped.
#[derive(Debug)]
pub struct Private {
    listener: UnixListener,
    path: PathBuf,
    /// The device and number of its inode, for somebody may have put another there.
    inode: (u64, u64),
}

impl Private {
    /// Listens on the file `path`, or takes what was inherited, for the user `owner` alone, or the one that the process runs as. A socket on which
    /// nobody listens is replaced.
    ///
    /// # Errors
    /// If somebody listens there, if the file is no socket, or if the folder can't be written to.
    pub fn bind(path: &Path, owner: Option<u32>) -> io::Result<Private> {
        if let Some((listener, _)) = inherited::file(path) {
            let metadata = fs::symlink_metadata(path)?;
            return Ok(Private { listener, path: path.to_owned(), inode: (metadata.dev(), metadata.ino()) });
        }
        clear(path)?;
        let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Nobody can put a link in its place, nor connect, before it is whose it shall be; and the process's mask, which
        // is that of all its threads, stays as it is. As short as names of sockets have to be.
        let aside =
            tempfile::Builder::new().prefix(".r").permissions(Permissions::from_mode(0o700)).tempdir_in(folder)?;
        let made = aside.path().join("s");
        let listener = UnixListener::bind(&made)?;
        fs::set_permissions(&made, Permissions::from_mode(0o600))?;
        if owner.is_some() {
            chown(&made, owner, None)?;
        }
        listener.set_nonblocking(true)?;
        let metadata = fs::symlink_metadata(&made)?;
        fs::rename(&made, path)?;
        Ok(Private { listener, path: path.to_owned(), inode: (metadata.dev(), metadata.ino()) })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The same socket once more, to be watched by a runtime; the file lives no longer than `self`.
    ///
    /// # Errors
    /// If there are no file descriptors left.
    pub fn listener(&self) -> io::Result<UnixListener> {
        self.listener.try_clone()
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        if !is_shared() && fs::symlink_metadata(&self.path).is_ok_and(|it| (it.dev(), it.ino()) == self.inode) {
            // A process that is no longer root may not be able to; the next one replaces it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn it_is_its_users_alone_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sock");
        drop(UnixListener::bind(&path).unwrap());
        let private = Private::bind(&path, None).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        UnixStream::connect(&path).unwrap();
        assert_eq!(Private::bind(&path, None).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(private);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_no_socket_or_somebody_elses_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sock");
        fs::write(&path, "precious").unwrap();
        assert_eq!(Private::bind(&path, None).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        fs::remove_file(&path).unwrap();
        let private = Private::bind(&path, None).unwrap();
        fs::remove_file(&path).unwrap();
        let successor = Private::bind(&path, None).unwrap();
        drop(private);
        assert!(path.exists());
        drop(successor);
        assert!(!path.exists());
    }
}
