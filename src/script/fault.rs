//! Errors that native functions raise: one way for all, with the place of the call.

use rhai::{Dynamic, EvalAltResult, NativeCallContext};

use crate::fiber::Stop;

/// What native functions give.
pub type Result<T> = std::result::Result<T, Box<EvalAltResult>>;

/// An error with a message or another value, at the place of the call. `catch` sees the value.
#[must_use]
pub fn raise(call: &NativeCallContext, value: impl Into<Dynamic>) -> Box<EvalAltResult> {
    EvalAltResult::ErrorRuntime(value.into(), call.call_position()).into()
}

/// Why the script was stopped, if it was.
pub(super) fn stop_of(error: &EvalAltResult) -> Option<Stop> {
    match innermost(error) {
        EvalAltResult::ErrorTerminated(token, _) => token.read_lock::<Stop>().map(|it| *it),
        _ => None,
    }
}

/// The innermost error; its position is in the source that it happened in.
pub(super) fn innermost(error: &EvalAltResult) -> &EvalAltResult {
    match error {
        EvalAltResult::ErrorInFunctionCall(_, _, inner, _) | EvalAltResult::ErrorInModule(_, inner, _) => {
            innermost(inner)
        }
        _ => error,
    }
}
