//! Listening sockets that this process was given by whoever started it: systemd, or the process that it replaces.

#![allow(unsafe_code)]

use std::env;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::unistd::dup2_stderr;
use socket2::{Socket, Type};

use super::file::{SocketFile, is_same_file, share};

/// What a process says to the one that replaces it (see [`Bequest`](super::Bequest)): its own number, file descriptors
/// for the answer and for the standard error output, and the sockets with what they are for.
pub(super) const OWN: &str = "RHAID_INHERITED";

/// What systemd says to a service that it has bound sockets for: sd_listen_fds(3).
const SYSTEMD: [&str; 3] = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"];

/// The first file descriptor that systemd gives, and the least one that is nothing else.
const FIRST: RawFd = 3;

/// What is said to a predecessor when it is no longer needed.
pub(super) const READY: u8 = b'r';

/// The sockets that nobody has asked for yet.
static GIVEN: Mutex<Vec<Given>> = Mutex::new(Vec::new());

/// What a socket is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// An address that the configuration names.
    Named,
    /// Port 0 of the configuration: the system has chosen.
    AnyPort,
    /// Something other than requests.
    Private,
}

impl Role {
    pub(super) const ALL: [(char, Role); 3] = [('n', Role::Named), ('a', Role::AnyPort), ('p', Role::Private)];
}

struct Given {
    socket: Socket,
    role: Role,
    /// Somebody else cares for the file of the socket.
    is_file_foreign: bool,
}

/// The process that this one is to replace; it waits to be told.
#[derive(Debug)]
pub struct Predecessor {
    answer: UnixStream,
    stderr: OwnedFd,
}

impl Predecessor {
    /// Says that this process serves, so that the other ends. What is written to the standard error output goes where
    /// the other's goes; until now it was the other who read it.
    ///
    /// # Errors
    /// If the other has ended meanwhile.
    pub fn relieve(mut self) -> io::Result<()> {
        let told = dup2_stderr(&self.stderr).map_err(io::Error::from).and_then(|()| self.answer.write_all(&[READY]));
        share(false);
        told
    }
}

/// Takes the sockets over that the environment names, so that [`bind`](super::bind) and [`bind_file`](super::bind_file)
/// find them; the environment does not name them any more then. To be called first of all: before there is another
/// thread, and before a file is opened.
///
/// # Errors
/// If the environment names what is no listening socket.
pub fn adopt() -> io::Result<Option<Predecessor>> {
    let own = env::var(OWN).ok();
    let [id, count, _] = SYSTEMD.map(|name| env::var(name).ok());
    for name in [OWN].into_iter().chain(SYSTEMD) {
        if env::var_os(name).is_some() {
            // SAFETY: there is no other thread yet that could read the environment meanwhile.
            unsafe { env::remove_var(name) };
        }
    }
    // Whoever inherited the variables by way of another program is not meant.
    if id.is_some_and(|it| it == std::process::id().to_string()) {
        let count: RawFd = count
            .and_then(|it| it.parse().ok())
            .filter(|it| (0..1024).contains(it))
            .ok_or_else(|| named(SYSTEMD[1]))?;
        for number in FIRST..FIRST + count {
            let given = Given { socket: socket(number)?, role: Role::Named, is_file_foreign: true };
            lock().push(given);
        }
    }
    let Some((parent, rest)) = own.as_deref().and_then(|it| it.split_once(' ')) else { return Ok(None) };
    if parent != parent_id().to_string() {
        return Ok(None);
    }
    let mut words = rest.split(' ');
    let mut number = || words.next().and_then(|it| it.parse().ok()).ok_or_else(|| named(OWN));
    // Until it is relieved, what it listens on must outlive this process.
    share(true);
    let (answer, stderr) = (owned(number()?)?, owned(number()?)?);
    for word in words {
        let (number, letters) = word.split_at(word.find(|it: char| !it.is_ascii_digit()).unwrap_or(word.len()));
        let role = Role::ALL.iter().find(|(letter, _)| letters.starts_with(*letter)).map(|it| it.1);
        let (Ok(number), Some(role)) = (number.parse(), role) else { return Err(named(OWN)) };
        let given = Given { socket: socket(number)?, role, is_file_foreign: letters.ends_with('f') };
        lock().push(given);
    }
    Ok(Some(Predecessor { answer: answer.into(), stderr }))
}

/// Where the sockets for requests listen that nobody has asked for yet, as `listen` names it.
pub fn addresses() -> Vec<String> {
    let given = lock();
    let for_requests = given.iter().filter(|it| it.role != Role::Private);
    for_requests.filter_map(|it| it.place()).map(|place| place.to_string()).collect()
}

/// Closes what nobody has asked for, and gives its addresses. The file of a socket goes as well, unless it is somebody
/// else's.
pub fn close_rest() -> Vec<String> {
    let given = std::mem::take(&mut *lock());
    let mut closed = Vec::new();
    for it in given {
        let place = it.place();
        if it.role != Role::Private {
            closed.extend(place.as_ref().map(Place::to_string));
        }
        if let Some(Place::Unix(path)) = place
            && !it.is_file_foreign
        {
            drop(SocketFile::found(&path, false));
        }
    }
    closed
}

/// The socket that was given for an address.
pub(super) fn port(wanted: SocketAddr) -> Option<TcpListener> {
    let mut given = lock();
    let find = |fits: &dyn Fn(SocketAddr, Role) -> bool| {
        given.iter().position(|it| matches!(it.place(), Some(Place::Tcp(address)) if fits(address, it.role)))
    };
    // Where there is no IPv6, all addresses are those of IPv4; systemd may have been told so elsewhere, too.
    let all = SocketAddr::from((Ipv4Addr::UNSPECIFIED, wanted.port()));
    let is_all = wanted.is_ipv6() && wanted.ip().is_unspecified();
    let chosen = |address: SocketAddr, wanted: SocketAddr, role| role == Role::AnyPort && address.ip() == wanted.ip();
    let found = if wanted.port() == 0 {
        find(&|it, role| chosen(it, wanted, role)).or_else(|| find(&|it, role| is_all && chosen(it, all, role)))
    } else {
        find(&|it, _| it == wanted).or_else(|| find(&|it, _| is_all && it == all))
    };
    found.map(|at| given.swap_remove(at).socket.into())
}

/// The socket that was given for a file, which may have another name for it; and whether its file is somebody else's.
pub(super) fn file(wanted: &Path) -> Option<(UnixListener, bool)> {
    let mut given = lock();
    let fits = |it: &Given| matches!(it.place(), Some(Place::Unix(path)) if is_same_file(&path, wanted));
    let Given { socket, is_file_foreign, .. } = given.iter().position(fits).map(|at| given.swap_remove(at))?;
    Some((socket.into(), is_file_foreign))
}

enum Place {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Tcp(all) if all.is_ipv6() && all.ip().is_unspecified() => write!(f, "{}", all.port()),
            Place::Tcp(address) => address.fmt(f),
            Place::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl Given {
    fn place(&self) -> Option<Place> {
        let address = self.socket.local_addr().ok()?;
        address.as_socket().map(Place::Tcp).or_else(|| address.as_pathname().map(|it| Place::Unix(it.to_owned())))
    }
}

fn lock() -> MutexGuard<'static, Vec<Given>> {
    GIVEN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn socket(number: RawFd) -> io::Result<Socket> {
    let no_listener = |why: &str| io::Error::other(format!("the inherited file descriptor {number} is {why}"));
    let socket = Socket::from(owned(number)?);
    if socket.r#type().map_err(|_| no_listener("no socket"))? != Type::STREAM {
        return Err(no_listener("no stream socket"));
    }
    let address = socket.local_addr()?;
    if address.as_socket().is_none() && address.as_pathname().is_none() {
        return Err(no_listener("bound to neither a port nor a file"));
    }
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn owned(number: RawFd) -> io::Result<OwnedFd> {
    let refused =
        |error: io::Error| io::Error::new(error.kind(), format!("the inherited file descriptor {number}: {error}"));
    // SAFETY: it is only asked for flags, which fails if it is none.
    if number < FIRST || unsafe { libc::fcntl(number, libc::F_GETFD) } < 0 {
        return Err(refused(io::Error::from_raw_os_error(libc::EBADF)));
    }
    // SAFETY: it is open, and nobody in this process knows of it: it was opened before the process began, was left open
    // for it alone, and each is named once in a variable that is read once.
    let owned = unsafe { OwnedFd::from_raw_fd(number) };
    fcntl(&owned, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).map_err(|error| refused(error.into()))?;
    Ok(owned)
}

fn named(variable: &str) -> io::Error {
    io::Error::other(format!("the environment variable `{variable}` does not name file descriptors"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As if it had been given.
    fn give(socket: impl Into<Socket>, role: Role) {
        lock().push(Given { socket: socket.into(), role, is_file_foreign: false });
    }

    #[test]
    fn a_socket_is_found_by_its_address_once() {
        let named = TcpListener::bind("127.0.0.1:0").unwrap();
        let chosen = TcpListener::bind("127.0.0.1:0").unwrap();
        let (first, second) = (named.local_addr().unwrap(), chosen.local_addr().unwrap());
        give(named, Role::Named);
        give(chosen, Role::AnyPort);
        let (any, none): (SocketAddr, SocketAddr) = ("127.0.0.1:0".parse().unwrap(), "127.0.0.2:0".parse().unwrap());
        assert!(port(none).is_none());
        assert_eq!(port(any).unwrap().local_addr().unwrap(), second);
        assert!(port(any).is_none(), "who has a name is not anybody's");
        assert_eq!(port(first).unwrap().local_addr().unwrap(), first);
        assert!(port(first).is_none());
    }

    #[test]
    fn a_file_is_found_by_any_name_and_goes_if_nobody_wants_it() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a.sock", "b.sock"].map(|it| folder.path().join(it));
        give(UnixListener::bind(&a).unwrap(), Role::Named);
        give(UnixListener::bind(&b).unwrap(), Role::Private);
        let other_name = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path(), &other_name).unwrap();
        assert!(file(&other_name.join("c.sock")).is_none());
        assert!(file(&other_name.join("a.sock")).is_some());
        close_rest();
        assert!(a.exists() && !b.exists());
    }
}
