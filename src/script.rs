//! Scripts: compiled once for each worker, called for each request. It knows requests and replies;
//! how they come and go it does not.

mod app;
mod builtins;
mod context;
mod decimal;
mod engine;
mod env;
mod fault;
mod json;
mod makers;
mod program;
mod raise;
mod reply;
mod routes;
mod rows;
mod rule;
mod settings;
mod signatures;
mod source;
mod text;
mod trace;

pub use app::{Ended, Script};
pub use context::Context;
pub use decimal::Decimal;
pub use engine::{Engines, Register};
pub use env::{Env, KEYS, Kind as KeyKind, check_target};
pub use fault::{Result, raise};
pub use json::{parse as parse_json, write as write_json};
pub use makers::{MAKERS, Maker, forms, name_of, names};
pub use raise::Wrong;
pub use rows::{Row, Rows, named};
pub use settings::Settings;
pub use signatures::{Role, Signature};
pub use source::Source;
pub use trace::Trace;
