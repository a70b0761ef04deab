//! The program as a whole: the command, the process, the samples as they stand.
#![allow(clippy::unwrap_used)] // As in tests: Clippy does not see that the helpers here are part of them.

mod calls;
mod command_line;
mod control;
mod db;
mod folders;
mod in_flight;
mod limits;
mod listen;
mod logs;
mod process;
mod reload;
mod samples;
mod saving;
mod secrets;
mod served;
mod sockets;
mod tests;
mod upgrade;
