//! rhaid, the Rhai daemon: an HTTP host whose handlers are Rhai scripts.
//!
//! Each module uses only those before it.

pub mod memory;

pub mod http;

pub mod fiber;

pub mod router;

pub mod directive;

pub mod log_file;

pub mod error_log;

pub mod status;

pub mod net;

pub mod envelope;

pub mod file;

pub mod db;

pub mod auth;

pub mod access_log;

pub mod filter;

pub mod reply;

pub mod script;

pub mod binding;

pub mod openapi;

pub mod handler;

pub mod config;

pub mod generation;

pub mod reload;

pub mod server;

pub mod reference;

pub mod cli;
