//! JSON to a script's values and back: integers exact, floats with their point, never invalid.

mod parse;
mod shapes;
mod write;

pub use parse::{Unread, parse};
pub use shapes::Shapes;
pub use write::{Fault, write};
