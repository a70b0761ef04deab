//! Unix sockets that the user of the process alone may connect to, whoever else may write to the folder that they lie in.

use std::io;
use std::os::unix::net::UnixListener;
use std::path::Path;

use super::file::{Access, SocketFile, bind_file};

/// A socket that listens on a file, which is removed when this is dropped.
#[derive(Debug)]
pub struct Private {
    listener: UnixListener,
    _file: SocketFile,
}

impl Private {
    /// Listens on the file `path`, or takes what was inherited, for the user `owner` alone, or the one that the process
    /// runs as. A socket on which nobody listens is replaced.
    ///
    /// # Errors
    /// If somebody listens there, if the file is no socket, or if the folder can't be written to.
    pub fn bind(path: &Path, owner: Option<u32>) -> io::Result<Private> {
        let access = Access { owner, group: None, permission: Some(0o600) };
        let bound = bind_file(path, access)?.into_file();
        let (listener, file) = bound.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Private { listener, _file: file })
    }

    /// The same socket once more, to be watched by a runtime; the file lives no longer than `self`.
    ///
    /// # Errors
    /// If there are no file descriptors left.
    pub fn listener(&self) -> io::Result<UnixListener> {
        self.listener.try_clone()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
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
        // Who tidies `/tmp` up leaves alone what the system knows by its name: systemd-tmpfiles(8).
        assert_eq!(private.listener().unwrap().local_addr().unwrap().as_pathname(), Some(path.as_path()));
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
