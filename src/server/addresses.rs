//! The addresses that are wanted, as the system knows them, and why one is not to be had.

use std::io;
use std::net::{Ipv6Addr, SocketAddr, ToSocketAddrs};

use crate::config::{Address, Config, Listen};

/// An address that shall be listened at.
pub(super) struct Wanted {
    pub(super) listen: Listen,
    /// Those that it stands for, each once; none where it is a file, or is listened at already.
    pub(super) addresses: Vec<SocketAddr>,
}

/// Whether a server begins, or takes up another configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    Start,
    /// The server has become another user at its start.
    ReloadAsUser,
    Reload,
}

impl Moment {
    /// That of a reload.
    pub(super) fn of_reload(config: &Config) -> Moment {
        if config.process.user.is_some() { Moment::ReloadAsUser } else { Moment::Reload }
    }
}

/// What a configuration wants, other than what is listened at already: nobody is asked for names that are known.
///
/// # Errors
/// If a name has no address.
pub(super) fn wanted(config: &Config, known: &[Listen]) -> Result<Vec<Wanted>, String> {
    let one = |listen: Listen| {
        let addresses = match &listen {
            _ if known.contains(&listen) => Vec::new(),
            Listen::Unix(_) => Vec::new(),
            // One socket for both families where there is IPv6.
            Listen::Tcp(Address { host: None, port }) => vec![(Ipv6Addr::UNSPECIFIED, *port).into()],
            Listen::Tcp(Address { host: Some(host), port }) => {
                let found = (host.as_str(), *port).to_socket_addrs();
                let found = found.map_err(|error| refusal(&listen, &error, Moment::Start, false))?;
                let mut addresses = Vec::new();
                for address in found {
                    if !addresses.contains(&address) {
                        addresses.push(address);
                    }
                }
                addresses
            }
        };
        Ok(Wanted { listen, addresses })
    };
    config.addresses().into_iter().map(one).collect()
}

/// Why an address is not listened at; `is_ours` if this server has the port already, at other addresses.
pub(super) fn refusal(listen: &Listen, error: &io::Error, moment: Moment, is_ours: bool) -> String {
    let hint = match (error.kind(), moment) {
        (io::ErrorKind::AddrInUse, _) if is_ours => {
            "the server listens at this port already, at other addresses, and may not do so twice; a restart takes it up"
        }
        (io::ErrorKind::AddrInUse, _) => {
            "another process listens there; `listen` or `--listen` can name another address"
        }
        (io::ErrorKind::PermissionDenied, Moment::ReloadAsUser) => {
            "the server has become the `user` of its configuration, who may not do this; a restart takes it up"
        }
        (io::ErrorKind::PermissionDenied, _) if matches!(listen, Listen::Unix(_)) => "",
        (io::ErrorKind::PermissionDenied, _) => "ports below 1024 are for root or the capability CAP_NET_BIND_SERVICE",
        (io::ErrorKind::AddrNotAvailable, _) => "this machine does not have the address",
        _ => "",
    };
    let hint = if hint.is_empty() { String::new() } else { format!("\nhint: {hint}") };
    format!("cannot listen on {listen}: {error}{hint}")
}
