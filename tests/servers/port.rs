//! Ports of the loopback address.

use std::io;
use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

/// A port of the loopback address that nobody listens on.
///
/// Not port 0: what it gives is of the range that the connections of other tests take theirs from,
/// and would often be gone when the server asks for it.
///
/// # Errors
/// If none is free.
pub fn free_port() -> io::Result<u16> {
    const FIRST: u16 = 12_000;
    const COUNT: u16 = 20_000;
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Two runs at the same time begin at different places.
    let start = std::process::id().wrapping_mul(997) % u32::from(COUNT);
    for _ in 0..1000 {
        let offset = (start + u32::from(NEXT.fetch_add(1, Ordering::Relaxed))) % u32::from(COUNT);
        let port = FIRST + u16::try_from(offset).expect("the offset is less than COUNT");
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    Err(io::ErrorKind::AddrInUse.into())
}
