//! Tells systemd what becomes of the process, where it asks for it: sd_notify(3).

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;

use socket2::{Domain, SockAddr, Socket, Type};

/// The server serves.
pub(super) const READY: &str = "READY=1";
/// The server ends.
pub(super) const STOPPING: &str = "STOPPING=1";

/// Says `state`.
pub(super) fn tell(state: &str) {
    let Some(place) = env::var_os("NOTIFY_SOCKET").filter(|it| !it.is_empty()) else { return };
    if let Err(error) = send(place.as_bytes(), state) {
        tracing::warn!("systemd can't be told `{state}`: {error}");
    }
}

fn send(place: &[u8], state: &str) -> io::Result<()> {
    // A name that begins with `@` is no file's: the kernel wants a zero there.
    let place = place.strip_prefix(b"@").map_or_else(|| place.to_owned(), |name| [b"\0", name].concat());
    let socket = Socket::new(Domain::UNIX, Type::DGRAM, None)?;
    socket.send_to(state.as_bytes(), &SockAddr::unix(OsStr::from_bytes(&place))?)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use super::*;

    #[test]
    fn a_state_comes_to_the_socket_whether_it_is_a_file_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let mut buffer = [0; 64];
        let socket = UnixDatagram::bind(&path).unwrap();
        send(path.as_os_str().as_bytes(), READY).unwrap();
        let length = socket.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], READY.as_bytes());
        let name = format!("rhaid-test-{}", std::process::id());
        let abstracted = Socket::new(Domain::UNIX, Type::DGRAM, None).unwrap();
        abstracted.bind(&SockAddr::unix(format!("\0{name}")).unwrap()).unwrap();
        let socket = UnixDatagram::from(std::os::fd::OwnedFd::from(abstracted));
        send(format!("@{name}").as_bytes(), STOPPING).unwrap();
        let length = socket.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], STOPPING.as_bytes());
    }
}
