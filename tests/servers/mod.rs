//! Private MariaDB and PostgreSQL servers for the tests; they know nothing of rhaid, nor of servers that the machine runs.
//!
//! Each test process starts its own, when the first test asks: in a temporary folder, on a free port of the loopback
//! address and on a Unix socket. They end with the process, however that ends.

use std::fmt;
use std::sync::OnceLock;

mod account;
mod data;
mod database;
mod keeper;
mod port;
mod programs;
mod server;
mod tls;

pub use database::Database;
pub use port::free_port;
pub use server::{Options, Server};
pub use tls::Certificates;

/// A database server that is a program of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Mysql,
    Postgres,
}

impl Kind {
    /// Both.
    pub const ALL: [Kind; 2] = [Kind::Mysql, Kind::Postgres];

    /// Why this machine can't run it; None where it can.
    pub fn missing(self) -> Option<String> {
        programs::find(self).err()
    }

    /// The server that the tests of this process share, started with the first call.
    ///
    /// # Errors
    /// If it isn't installed or did not start; each call says so.
    pub fn shared(self) -> Result<&'static Server, String> {
        static SHARED: [OnceLock<Result<Server, String>>; 2] = [OnceLock::new(), OnceLock::new()];
        let server = SHARED[self as usize].get_or_init(|| Server::start(self, &Options::default()));
        server.as_ref().map_err(String::clone)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Mysql => "mysql",
            Kind::Postgres => "postgres",
        })
    }
}

/// Whether a server that isn't installed is a failure (`RHAID_TEST_SERVERS=required`) and no reason to skip a test.
pub fn are_required() -> bool {
    std::env::var_os("RHAID_TEST_SERVERS").is_some_and(|value| value == "required")
}
