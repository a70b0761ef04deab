//! Unix sockets as files: who may connect, what was left over, and their end.

use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::stat::{Mode, fchmod, umask};
use nix::unistd::{Gid, Uid};
use socket2::{Domain, SockAddr, Socket, Type};

use super::bound::{BACKLOG, Bound, Kind};
use super::inherited;

/// Whether another process listens on the same sockets, whose files stay then.
static IS_SHARED: AtomicBool = AtomicBool::new(false);

/// The device and the number of a file.
type Inode = (u64, u64);

/// Whom a socket belongs to, and who may connect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Number of the user; `None` is the one that the process runs as.
    pub owner: Option<u32>,
    /// Number of the group.
    pub group: Option<u32>,
    /// As of a file; `None` is what the process gives to files.
    pub permission: Option<u32>,
}

impl Access {
    /// What of it a file does not have yet: whoever gave it may be somebody who can't do so again.
    fn that_lacks(self, path: &Path) -> io::Result<Access> {
        let metadata = fs::symlink_metadata(path)?;
        Ok(Access {
            owner: self.owner.filter(|it| *it != metadata.uid()),
            group: self.group.filter(|it| *it != metadata.gid()),
            permission: self.permission.filter(|it| *it != metadata.mode() & 0o777),
        })
    }
}

/// The file of a socket that this process listens on.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    /// For somebody may have put another there.
    inode: Inode,
    is_removed: AtomicBool,
    /// Whoever started this process made it, and cares for it.
    is_foreign: bool,
}

/// Another access to a file that is there already; it is as before when this is dropped without having been kept.
#[derive(Debug)]
pub struct Granted {
    path: PathBuf,
    inode: Inode,
    before: Option<Access>,
}

impl SocketFile {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is the file that is found at `path`, which may be another name of it.
    pub fn is_at(&self, path: &Path) -> bool {
        !self.is_removed.load(Ordering::Relaxed)
            && fs::symlink_metadata(path).is_ok_and(|it| (it.dev(), it.ino()) == self.inode)
    }

    /// The file at `path`, on which a socket of this process listens.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn found(path: &Path, is_foreign: bool) -> io::Result<SocketFile> {
        let metadata = fs::symlink_metadata(path)?;
        let inode = (metadata.dev(), metadata.ino());
        Ok(SocketFile { path: path.to_owned(), inode, is_removed: AtomicBool::new(false), is_foreign })
    }

    /// Whether it stays, since whoever started this process made it.
    pub(super) fn is_foreign(&self) -> bool {
        self.is_foreign
    }

    /// Removes it, so that nobody connects any more.
    pub(super) fn remove(&self) {
        let is_ours = !self.is_foreign && !is_shared();
        if is_ours && self.is_at(&self.path) {
            // A process that is no longer root may not be able to; the next one replaces it.
            let _ = fs::remove_file(&self.path);
        }
        // The number of the inode may be given to another file.
        self.is_removed.store(true, Ordering::Relaxed);
    }

    /// Gives others access to it, as [`bind_file`] would.
    ///
    /// # Errors
    /// If the system does not let it, or if the file was removed.
    pub fn grant(&self, access: Access) -> io::Result<Granted> {
        let metadata = fs::symlink_metadata(&self.path)?;
        let before = Access {
            owner: Some(metadata.uid()),
            group: Some(metadata.gid()),
            permission: Some(metadata.mode() & 0o777),
        };
        let granted = Granted { path: self.path.clone(), inode: self.inode, before: Some(before) };
        let usual = || {
            let mask = umask(Mode::from_bits_truncate(0o077));
            umask(mask);
            0o777 & !mask.bits()
        };
        apply(
            &self.path,
            self.inode,
            Access {
                owner: access.owner.or(Some(Uid::effective().as_raw())),
                group: access.group.or(Some(Gid::effective().as_raw())),
                permission: access.permission.or_else(|| Some(usual())),
            },
        )?;
        Ok(granted)
    }
}

impl Granted {
    /// Leaves it so.
    pub fn keep(mut self) {
        self.before = None;
    }
}

impl Drop for Granted {
    fn drop(&mut self) {
        if let Some(Err(error)) = self.before.map(|before| apply(&self.path, self.inode, before)) {
            tracing::error!("`{}` does not belong to whom it did: {error}", self.path.display());
        }
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Listens on the file `path`, or takes what was inherited. A socket on which nobody listens is replaced.
///
/// # Errors
/// If somebody listens there, if the file is no socket, or if it can't be made as `access` says.
pub fn bind_file(path: &Path, access: Access) -> io::Result<Bound> {
    if let Some((given, is_foreign)) = inherited::file(path) {
        let file = SocketFile::found(path, is_foreign)?;
        apply(path, file.inode, access.that_lacks(path)?)?;
        return Ok(Bound::new(Kind::Unix(given, file)));
    }
    clear(path)?;
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    if access.permission.is_some() {
        // Until it belongs to whom it shall, nobody else may connect. Linux makes the file as the socket is; elsewhere
        // there is a moment. The process's mask, which does it everywhere, is that of its other threads, too.
        let _ = fchmod(&socket, Mode::from_bits_truncate(0o600));
    }
    socket.bind(&SockAddr::unix(path)?)?;
    let file = SocketFile::found(path, false)?;
    socket.listen(BACKLOG)?;
    apply(path, file.inode, access)?;
    socket.set_nonblocking(true)?;
    Ok(Bound::new(Kind::Unix(socket.into(), file)))
}

fn apply(path: &Path, inode: Inode, access: Access) -> io::Result<()> {
    if access == Access::default() { Ok(()) } else { give(path, inode, access) }
}

/// The owner first: who is no longer the owner can't say who may connect, but root, who alone can give files away.
///
/// Who may write to the folder may put a link or another file in the place of the socket at any moment, and must not come by
/// that file so: what is opened is the very file, as which a socket can be without a connection, and it goes by its number.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn give(path: &Path, inode: Inode, access: Access) -> io::Result<()> {
    let file = fs::File::options().read(true).custom_flags(libc::O_PATH | libc::O_NOFOLLOW).open(path)?;
    check(&file.metadata()?, inode)?;
    // The system calls that take such a file itself are newer than systems that are in use.
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    if access.owner.is_some() || access.group.is_some() {
        chown(&path, access.owner, access.group)?;
    }
    access.permission.map_or(Ok(()), |it| fs::set_permissions(&path, Permissions::from_mode(it)))
}

/// The owner first, as above; here a link is not followed.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn give(path: &Path, inode: Inode, access: Access) -> io::Result<()> {
    use nix::fcntl::AT_FDCWD;
    use nix::sys::stat::{FchmodatFlags, fchmodat};
    check(&fs::symlink_metadata(path)?, inode)?;
    if access.owner.is_some() || access.group.is_some() {
        std::os::unix::fs::lchown(path, access.owner, access.group)?;
    }
    let Some(permission) = access.permission else { return Ok(()) };
    let permission = Mode::from_bits_truncate(libc::mode_t::try_from(permission).unwrap_or(0o600));
    Ok(fchmodat(AT_FDCWD, path, permission, FchmodatFlags::NoFollowSymlink)?)
}

fn check(metadata: &Metadata, inode: Inode) -> io::Result<()> {
    let is_it = metadata.file_type().is_socket() && (metadata.dev(), metadata.ino()) == inode;
    if is_it { Ok(()) } else { Err(io::Error::other("another file has come in the place of the socket")) }
}

/// Says from now on whether another process listens on the same sockets.
pub(super) fn share(is_shared: bool) {
    IS_SHARED.store(is_shared, Ordering::Relaxed);
}

/// Whether another process listens on the same sockets.
fn is_shared() -> bool {
    IS_SHARED.load(Ordering::Relaxed)
}

/// Whether both are the same file, whatever their names.
pub(super) fn is_same_file(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| fs::symlink_metadata(path).ok().map(|it| (it.dev(), it.ino()));
    identity(one).is_some_and(|it| identity(other) == Some(it))
}

/// Removes what a process left behind that did not end by itself.
fn clear(path: &Path) -> io::Result<()> {
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
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

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
        assert_eq!(bind_file(&path, Access::default()).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(bound);
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

    #[test]
    fn another_access_can_be_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sock");
        let bound = bind_file(&path, Access { permission: Some(0o600), ..Access::default() }).unwrap();
        let open = Access { permission: Some(0o666), ..Access::default() };
        let granted = bound.file().unwrap().grant(open).unwrap();
        assert_eq!(mode(&path), 0o666);
        drop(granted);
        assert_eq!(mode(&path), 0o600);
        bound.file().unwrap().grant(open).unwrap().keep();
        assert_eq!(mode(&path), 0o666);
        bound.file().unwrap().grant(Access::default()).unwrap().keep();
        let other = folder.path().join("b.sock");
        let _usual = bind_file(&other, Access::default()).unwrap();
        assert_eq!(mode(&path), mode(&other));
    }

    #[test]
    fn a_link_in_the_place_of_a_socket_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, precious) = (folder.path().join("a.sock"), folder.path().join("precious"));
        fs::write(&precious, "").unwrap();
        fs::set_permissions(&precious, Permissions::from_mode(0o600)).unwrap();
        let open = Access { permission: Some(0o666), ..Access::default() };
        let bound = bind_file(&path, open).unwrap();
        fs::remove_file(&path).unwrap();
        symlink(&precious, &path).unwrap();
        assert!(bound.file().unwrap().grant(open).is_err());
        assert_eq!(mode(&precious), 0o600);
        drop(bound);
        fs::remove_file(&path).unwrap();
        // Somebody swaps it between the steps.
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    if fs::symlink_metadata(&path).is_ok_and(|it| it.file_type().is_socket()) {
                        let _ = fs::remove_file(&path);
                        let _ = symlink(&precious, &path);
                    }
                }
            });
            for _ in 0..1000 {
                drop(bind_file(&path, open));
                let _ = fs::remove_file(&path);
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert_eq!(mode(&precious), 0o600);
    }
}
