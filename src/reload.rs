//! Notices that the files of a generation have changed, in whichever way they were saved. It does
//! not know what is in them, nor what follows from a change.

mod fingerprint;
mod interest;
mod remote;
mod sources;
mod watch;

pub use fingerprint::Fingerprint;
pub use sources::Sources;
pub use watch::Watch;
