//! The sockets of the addresses that a configuration names: which of them are there already, which are to be bound,
//! and which are to be closed.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Weak};

use super::addresses::{Moment, Wanted, refusal};
use crate::config::{Listen, SocketFile};
use crate::net::{self, Access, Bound, Granted, Heirloom, Role};

/// The sockets of a server, for all of its workers.
#[derive(Default)]
pub struct Sockets {
    open: Vec<Opened>,
    /// Those of what is not served yet.
    next: Next,
    /// Those that workers listen on until nobody waits there any more.
    closing: Vec<Weak<Bound>>,
    is_over: bool,
}

/// An address with its sockets: a name such as `localhost` may have several.
#[derive(Clone)]
struct Opened {
    listen: Listen,
    sockets: Vec<Arc<Bound>>,
}

#[derive(Default)]
struct Next {
    open: Vec<Opened>,
    bound: Vec<Arc<Bound>>,
    granted: Vec<Granted>,
}

impl Sockets {
    /// The addresses that are listened at.
    pub(super) fn listens(&self) -> Vec<Listen> {
        self.open.iter().map(|it| it.listen.clone()).collect()
    }

    /// The sockets that are listened on, or will be first, as people write their addresses.
    pub(super) fn addresses(&self) -> Vec<String> {
        let opened = if self.open.is_empty() { &self.next.open } else { &self.open };
        // One whose address the system does not say is none.
        unique(opened).iter().filter_map(|it| it.address().ok()).collect()
    }

    /// The sockets that are listened on, for another process.
    pub(super) fn heirlooms(&self) -> io::Result<Vec<Heirloom>> {
        let is_chosen = |bound: &Arc<Bound>| {
            let any_port = |it: &&Opened| matches!(&it.listen, Listen::Tcp(address) if address.port == 0);
            self.open.iter().filter(any_port).any(|it| it.sockets.iter().any(|it| it.id() == bound.id()))
        };
        let role = |bound: &Arc<Bound>| if is_chosen(bound) { Role::AnyPort } else { Role::Named };
        unique(&self.open).iter().map(|it| Heirloom::of(it, role(it))).collect()
    }

    /// Binds what is not there yet of `wanted`. Nothing else changes before [`Sockets::take_up`].
    ///
    /// # Errors
    /// If an address is taken or not ours; the message names it. What is bound by then waits for
    /// [`Sockets::forget`], too.
    pub(super) fn prepare(&mut self, wanted: Vec<Wanted>, moment: Moment) -> Result<(), String> {
        if self.is_over {
            return Err("the server ends".to_owned());
        }
        for Wanted { listen, addresses } in wanted {
            let sockets = match &listen {
                Listen::Unix(file) => self.file(file).map(|it| vec![it]),
                Listen::Tcp(_) => match self.open.iter().find(|it| it.listen == listen) {
                    Some(same) => Ok(same.sockets.clone()),
                    None => self.ports(&addresses),
                },
            };
            let sockets = sockets.map_err(|error| {
                let is_ours = addresses.iter().any(|it| !self.overlapping(*it).is_empty());
                refusal(&listen, &error, moment, is_ours)
            })?;
            self.next.open.push(Opened { listen, sockets });
        }
        // What came to an address that all addresses include now goes on coming to its own socket.
        let kept = self.ours().into_iter().filter(|it| !is_in(&self.next.open, it));
        let kept: Vec<_> = kept.filter(|it| it.port().is_some_and(|port| self.covering(port).is_some())).collect();
        for bound in kept {
            if let Some(covering) = bound.port().and_then(|port| self.covering(port)) {
                self.next.open[covering].sockets.push(bound);
            }
        }
        Ok(())
    }

    /// Goes over to what was prepared.
    pub(super) fn take_up(&mut self) -> net::Sockets {
        let next = std::mem::take(&mut self.next);
        next.granted.into_iter().for_each(Granted::keep);
        let closing = std::mem::take(&mut self.closing).into_iter().filter_map(|it| it.upgrade());
        let (back, closing): (Vec<_>, Vec<_>) = closing.partition(|it| is_in(&next.open, it));
        back.iter().for_each(|it| it.welcome_newcomers());
        self.closing = closing.iter().map(Arc::downgrade).collect();
        let old = std::mem::replace(&mut self.open, next.open);
        let closing = unique(&old).into_iter().filter(|it| !is_in(&self.open, it)).collect();
        self.close(closing)
    }

    /// Closes what was prepared, which is not to be.
    pub(super) fn forget(&mut self) -> net::Sockets {
        let next = std::mem::take(&mut self.next);
        self.close(next.bound)
    }

    /// Closes everything as soon as the workers have ended, and binds nothing any more.
    pub(super) fn end(&mut self) {
        *self = Sockets { is_over: true, ..Sockets::default() };
    }

    fn close(&mut self, closing: Vec<Arc<Bound>>) -> net::Sockets {
        closing.iter().for_each(|it| it.refuse_newcomers());
        self.closing.retain(|it| it.strong_count() > 0);
        self.closing.extend(closing.iter().map(Arc::downgrade));
        net::Sockets { open: unique(&self.open), closing }
    }

    /// The sockets that this process listens on.
    fn ours(&self) -> Vec<Arc<Bound>> {
        let mut ours = unique(&self.open);
        ours.extend(unique(&self.next.open));
        ours.extend(self.next.bound.iter().cloned());
        ours.extend(self.closing.iter().filter_map(Weak::upgrade));
        ours
    }

    /// The place in `next` of the address that includes this one.
    fn covering(&self, address: SocketAddr) -> Option<usize> {
        let covers = |bound: &Arc<Bound>| bound.port().is_some_and(|all| includes(all, address));
        self.next.open.iter().position(|it| it.sockets.iter().any(covers))
    }

    fn overlapping(&self, address: SocketAddr) -> Vec<Arc<Bound>> {
        let overlaps = |it: &Arc<Bound>| it.port().is_some_and(|own| includes(own, address) || includes(address, own));
        self.ours().into_iter().filter(overlaps).collect()
    }

    /// The sockets of a name's addresses, which may have one of each family; a family that the machine does not have
    /// does not matter beside one that it has.
    fn ports(&mut self, addresses: &[SocketAddr]) -> io::Result<Vec<Arc<Bound>>> {
        let (mut sockets, mut missing) = (Vec::new(), None);
        for address in addresses {
            match self.port(*address) {
                Ok(bound) => sockets.push(bound),
                Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => missing = Some(error),
                Err(error) => return Err(error),
            }
        }
        match missing {
            Some(error) if sockets.is_empty() => Err(error),
            _ => Ok(sockets),
        }
    }

    fn port(&mut self, address: SocketAddr) -> io::Result<Arc<Bound>> {
        let overlapping = self.overlapping(address);
        if let Some(same) = overlapping.iter().find(|it| it.port() == Some(address)) {
            return Ok(same.clone());
        }
        // As nginx does: who listens at all addresses listens at each.
        if let Some(covering) = self.covering(address) {
            let covers = |it: &&Arc<Bound>| it.port().is_some_and(|all| includes(all, address));
            if let Some(all) = self.next.open[covering].sockets.iter().find(covers) {
                return Ok(all.clone());
            }
        }
        let ours: Vec<&Bound> = overlapping.iter().map(|it| &**it).collect();
        let bound = match net::bind(address) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && !ours.is_empty() => {
                net::bind_beside(address, &ours)
            }
            // All addresses of a machine without IPv6.
            Err(error)
                if address.is_ipv6() && address.ip().is_unspecified() && error.kind() != io::ErrorKind::AddrInUse =>
            {
                net::bind((Ipv4Addr::UNSPECIFIED, address.port()).into())
            }
            bound => bound,
        };
        let bound = Arc::new(bound?);
        self.next.bound.push(bound.clone());
        Ok(bound)
    }

    fn file(&mut self, file: &SocketFile) -> io::Result<Arc<Bound>> {
        let access = Access { owner: file.owner, group: file.group, permission: file.permission };
        let same = self.open.iter().find(|it| matches!(&it.listen, Listen::Unix(old) if old.path == file.path));
        if let Some(Opened { listen: Listen::Unix(old), sockets }) = same
            && let Some(bound) = sockets.first()
        {
            if let Some(there) = bound.file().filter(|_| old != file) {
                self.next.granted.push(there.grant(access)?);
            }
            return Ok(bound.clone());
        }
        let ours = self.ours();
        if let Some(same) = ours.iter().filter_map(|it| it.file()).find(|it| it.is_at(&file.path)) {
            let name = same.path().display();
            return Err(io::Error::other(format!("this server listens there already, as `unix:{name}`")));
        }
        let bound = Arc::new(net::bind_file(&file.path, access)?);
        self.next.bound.push(bound.clone());
        Ok(bound)
    }
}

/// Whether who listens at `all` takes connections to `one`, too.
fn includes(all: SocketAddr, one: SocketAddr) -> bool {
    let is_wide = all.ip().is_unspecified() && (all.is_ipv6() || one.is_ipv4());
    all.port() == one.port() && (all == one || is_wide)
}

fn is_in(opened: &[Opened], bound: &Arc<Bound>) -> bool {
    opened.iter().flat_map(|it| &it.sockets).any(|it| it.id() == bound.id())
}

/// Each socket once, though several addresses may share it.
fn unique(opened: &[Opened]) -> Vec<Arc<Bound>> {
    let mut all: Vec<Arc<Bound>> = Vec::new();
    for bound in opened.iter().flat_map(|it| &it.sockets) {
        if !all.iter().any(|it| it.id() == bound.id()) {
            all.push(bound.clone());
        }
    }
    all
}
