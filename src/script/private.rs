//! Copies of values that share nothing: what a script captured is private to each of its calls.

use rhai::{Array, Dynamic, FnPtr, Map};

/// A copy that shares nothing with its original: captured variables are shared cells otherwise,
/// and two requests in flight would see each other's changes.
pub(super) fn private_copy(value: &Dynamic) -> Dynamic {
    let value = value.flatten_clone();
    if value.is_fnptr() {
        let mut pointer = value.cast::<FnPtr>();
        for captured in pointer.iter_curry_mut() {
            *captured = private_copy(captured);
        }
        return pointer.into();
    }
    if value.is_array() {
        let array = value.cast::<Array>();
        let copy = if array.iter().any(may_share) { array.iter().map(private_copy).collect() } else { array };
        return copy.into();
    }
    if value.is_map() {
        let map = value.cast::<Map>();
        let shares = map.values().any(may_share);
        let copy = |map: Map| map.iter().map(|(key, value)| (key.clone(), private_copy(value))).collect();
        return Dynamic::from_map(if shares { copy(map) } else { map });
    }
    value
}

/// Whether a closure is in a value.
pub(super) fn holds_closure(value: &Dynamic) -> bool {
    value.is_fnptr()
        || value.as_array_ref().is_ok_and(|it| it.iter().any(holds_closure))
        || value.as_map_ref().is_ok_and(|it| it.values().any(holds_closure))
}

fn may_share(value: &Dynamic) -> bool {
    value.is_shared() || value.is_fnptr() || value.is_map() || value.is_array()
}
