//! Copies of values that share nothing: what a script captured is private to each of its calls.

use rhai::{Dynamic, FnPtr};

use crate::fiber;

/// A copy that shares nothing with its original: captured variables are shared cells otherwise,
/// and two requests in flight would see each other's changes.
pub(super) fn private_copy(value: &Dynamic) -> Dynamic {
    let mut copy = value.flatten_clone();
    separate(&mut copy);
    copy
}

/// Puts copies in the place of the shared cells in a value. It is walked through where it is: a copy at each
/// level would take memory by the square of the depth. Cells that are in a value many times become many copies, so
/// that there is no end to what a few could become: past the limit of memory nothing more is copied, and the
/// script is stopped at its next step.
fn separate(value: &mut Dynamic) {
    if fiber::room(0).is_err() {
        return;
    }
    if value.is_shared() {
        *value = value.flatten_clone();
    }
    if value.is_fnptr() {
        if let Some(mut pointer) = value.write_lock::<FnPtr>() {
            pointer.iter_curry_mut().for_each(separate);
        }
    } else if value.is_array() {
        if let Ok(mut array) = value.as_array_mut() {
            array.iter_mut().for_each(separate);
        }
    } else if let Ok(mut map) = value.as_map_mut() {
        map.values_mut().for_each(separate);
    }
}

/// Whether a closure is in a value.
pub(super) fn holds_closure(value: &Dynamic) -> bool {
    value.is_fnptr()
        || value.as_array_ref().is_ok_and(|it| it.iter().any(holds_closure))
        || value.as_map_ref().is_ok_and(|it| it.values().any(holds_closure))
}
