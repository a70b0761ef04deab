//! What a script's author calls the type of a value.

use rhai::Dynamic;

/// The name of a value's type, for messages.
pub(super) fn kind(value: &Dynamic) -> &str {
    match value.type_name() {
        "i64" => "int",
        "f64" => "float",
        // Without the path that it has in Rust.
        name => name.rsplit("::").next().unwrap_or(name),
    }
}
