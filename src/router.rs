//! Which of many things a request is for: by host, by the longest path prefix, by route pattern.
//! What the things are it does not know.

mod hosts;
mod paths;
mod pattern;
mod table;
mod target;

pub use hosts::{HostName, Hosts, Matching};
pub use paths::Paths;
pub use pattern::{Captures, Pattern, end_of_segments};
pub use table::Table;
pub use target::{Target, decode, without_dots};
