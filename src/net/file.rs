//! Unix sockets as files: who may connect, what was left over, and their end.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::sys::stat::{Mode, umask};

use super::stream::Bound;

/// Whom a socket belongs to, and who may connect.
#[derive(Clone, Copy, Debug, Default)]
pub struct Access {
    /// Number of the user; `None` is the one that the process runs as.
    pub owner: Option<u32>,
    /// Number of the group.
    pub group: Option<u32>,
    /// As of a file; `None` is what the process gives to files.
    pub permission: Option<u32>,
}

/// The file of a socket that this process listens on.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    /// The device and number of its inode, for somebody may have put another there.
    inode: (u64, u64),
}

impl SocketFile {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|it| (it.dev(), it.ino()) == self.inode) {
            // A process that is no longer root may not be able to; the next one replaces it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Listens on the file `path`. A socket on which nobody listens is replaced.
///
/// # Errors
/// If somebody listens there, if the file is no socket, or if it can't be made as `access` says.
pub fn bind_file(path: &Path, access: Access) -> io::Result<Bound> {
    clear(path)?;
    // Until it belongs to whom it shall, nobody else may connect.
    let usual = access.permission.map(|_| umask(Mode::from_bits_truncate(0o177)));
    let bound = UnixListener::bind(path);
    if let Some(usual) = usual {
        umask(usual);
    }
    let listener = bound?;
    let metadata = fs::symlink_metadata(path)?;
    let file = SocketFile { path: path.to_owned(), inode: (metadata.dev(), metadata.ino()) };
    if access.owner.is_some() || access.group.is_some() {
        chown(path, access.owner, access.group)?;
    }
    if let Some(permission) = access.permission {
        fs::set_permissions(path, fs::Permissions::from_mode(permission))?;
    }
    listener.set_nonblocking(true)?;
    Ok(Bound::Unix(listener, Arc::new(file)))
}

/// Removes what a process left behind that did not end by itself.
pub(super) fn clear(path: &Path) -> io::Result<()> {
    let Ok(metadata) = fs::symlink_metadata(path) else { return Ok(()) };
    if !metadata.file_type().is_socket() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is a file that is no socket"));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        _ => Err(io::ErrorKind::AddrInUse.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_socket_is_there_for_as_long_as_it_is_listened_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sock");
        let bound = bind_file(&path, Access { permission: Some(0o620), ..Access::default() }).unwrap();
        assert_eq!(mode(&path), 0o620);
        assert_eq!(bound.address().unwrap(), format!("unix:{}", path.display()));
        let other = bound.try_clone().unwrap();
        drop(bound);
        assert_eq!(bind_file(&path, Access::default()).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(other);
        assert!(!path.exists());
    }

    #[test]
    fn what_nobody_listens_on_is_replaced_and_a_file_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sock");
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        drop(bind_file(&path, Access::default()).unwrap());
        fs::write(&path, "precious").unwrap();
        assert_eq!(bind_file(&path, Access::default()).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    }

    #[test]
    fn the_socket_of_a_successor_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sock");
        let bound = bind_file(&path, Access::default()).unwrap();
        fs::remove_file(&path).unwrap();
        let successor = bind_file(&path, Access::default()).unwrap();
        drop(bound);
        assert!(path.exists());
        drop(successor);
        assert!(!path.exists());
    }
}
