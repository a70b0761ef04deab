//! How a port that is to be closed gets an empty queue.
//!
//! Connections that lie in the queue of a socket when it is closed are reset by the kernel, and so are those whose
//! handshake is under way, which no `accept` shows. So first nobody may begin a handshake: a filter drops the packets
//! that would (SYN without ACK), and lets all others pass. Who is kept out so asks again after a second, and is refused
//! then, or taken where the address has come back meanwhile.

use std::net::TcpListener;

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn refuse(listener: &TcpListener) {
    use socket2::SockFilter;

    /// `ldb [13]`: the flags of the TCP header.
    const LOAD_FLAGS: SockFilter = SockFilter::new(0x30, 0, 0, 13);
    /// `and #0x12`: SYN and ACK.
    const SYN_AND_ACK: SockFilter = SockFilter::new(0x54, 0, 0, 0x12);
    /// `jeq #0x02, 0, 1`: SYN alone?
    const IS_SYN: SockFilter = SockFilter::new(0x15, 0, 1, 0x02);
    /// `ret #0`.
    const DROP: SockFilter = SockFilter::new(0x06, 0, 0, 0);
    /// `ret #-1`.
    const PASS: SockFilter = SockFilter::new(0x06, 0, 0, u32::MAX);

    let filter = [LOAD_FLAGS, SYN_AND_ACK, IS_SYN, DROP, PASS];
    if let Err(error) = socket2::SockRef::from(listener).attach_filter(&filter) {
        // The queue is taken all the same; what is lost is a handshake that is under way in that very moment.
        tracing::debug!("newcomers can't be kept out of a port that is closed: {error}");
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn welcome(listener: &TcpListener) {
    // There may be no filter: the socket comes from another process.
    if let Err(error) = socket2::SockRef::from(listener).detach_filter()
        && error.raw_os_error() != Some(libc::ENOENT)
    {
        tracing::error!("a port can't be opened again: {error}");
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn refuse(_: &TcpListener) {}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn welcome(_: &TcpListener) {}
