//! What functions of bytes take from a script: a string or a blob.

use rhai::{Blob, Dynamic, NativeCallContext};

use super::kind::kind;
use crate::script::{Result, raise};

/// Gives the bytes of a string or a blob to `read`.
///
/// # Errors
/// If it is neither.
pub(super) fn of<T>(call: &NativeCallContext, value: &Dynamic, read: impl FnOnce(&[u8]) -> T) -> Result<T> {
    if let Ok(text) = value.as_immutable_string_ref() {
        return Ok(read(text.as_bytes()));
    }
    if let Some(blob) = value.read_lock::<Blob>() {
        return Ok(read(&blob));
    }
    Err(raise(call, format!("expected a string or a blob, found a value of the type `{}`", kind(value))))
}
