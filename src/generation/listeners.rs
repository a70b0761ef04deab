//! The hosts of each address: all of them, or those that have it for themselves.

use std::rc::Rc;

use super::Host;
use crate::config::{Config, Listen};
use crate::http::Endpoint;
use crate::router::{HostName, Hosts, Matching};

/// The port that is meant where there is none, as on a unix socket.
const HTTP: u16 = 80;

/// The hosts of a generation by the addresses that they are served at.
pub(super) struct Listeners {
    all: Hosts<Rc<Host>>,
    /// h2o's `listen` of a host: nobody else is found there.
    own: Vec<(Listen, Hosts<Rc<Host>>)>,
}

impl Listeners {
    /// `hosts` are the configuration's, in its order.
    pub(super) fn new(config: &Config, hosts: Vec<(HostName, Matching, Rc<Host>)>) -> Listeners {
        let own = config.addresses().into_iter().filter(|it| !config.process.listen.contains(it));
        let with_hosts = |listen: Listen| {
            let theirs = config.hosts.iter().zip(&hosts).filter(|(it, _)| it.listen.contains(&listen));
            let theirs = theirs.map(|(_, it)| it.clone()).collect();
            (listen, Hosts::new(theirs))
        };
        let own = own.map(with_hosts).collect();
        Listeners { all: Hosts::new(hosts), own }
    }

    /// The host for an authority of a connection that was taken at `local`; `None` if all are strict.
    pub(super) fn find(&self, authority: &str, local: &Endpoint) -> Option<&Host> {
        let own = self.own.iter().find(|(listen, _)| listen.takes(local));
        let hosts = own.map_or(&self.all, |(_, hosts)| hosts);
        hosts.find(authority, local.port().unwrap_or(HTTP)).map(|it| &**it)
    }

    /// The host with this key.
    pub(super) fn named(&self, key: &str) -> Option<&Host> {
        self.all.iter().find(|it| &*it.fallback.server_name == key).map(|it| &**it)
    }
}
