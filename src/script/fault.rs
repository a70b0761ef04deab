//! Errors that native functions raise: one way for all, with the place of the call.

use rhai::{Dynamic, EvalAltResult, ImmutableString, NativeCallContext, Position};

use crate::fiber::Stop;

/// What native functions give.
pub type Result<T> = std::result::Result<T, Box<EvalAltResult>>;

/// An error with a message or another value, at the place of the call. `catch` sees the value.
#[must_use]
pub fn raise(call: &NativeCallContext, value: impl Into<Dynamic>) -> Box<EvalAltResult> {
    EvalAltResult::ErrorRuntime(value.into(), call.call_position()).into()
}

/// A stop that a native was met by, or that came out of a module: Rhai would forget where it was.
#[derive(Clone, Debug)]
pub(super) struct StoppedAt {
    pub(super) stop: Stop,
    /// The name of the file.
    pub(super) source: ImmutableString,
    pub(super) position: Position,
}

/// Why the script was stopped, if it was.
pub(super) fn stop_of(error: &EvalAltResult) -> Option<Stop> {
    match innermost(error) {
        EvalAltResult::ErrorTerminated(token, _) => {
            token.read_lock::<Stop>().map(|it| *it).or_else(|| stopped_at(error).map(|it| it.stop))
        }
        _ => None,
    }
}

/// Where the script was stopped, if that is known.
pub(super) fn stopped_at(error: &EvalAltResult) -> Option<StoppedAt> {
    match innermost(error) {
        EvalAltResult::ErrorTerminated(token, _) => token.read_lock::<StoppedAt>().map(|it| it.clone()),
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

/// `return` and `exit` end a script with a value: `exit` from a callback too, which Rhai wraps like an error of the
/// function that called it.
pub(super) fn returned(result: Result<Dynamic>) -> Result<Dynamic> {
    match result.map_err(|error| *error) {
        Ok(value) | Err(EvalAltResult::Return(value, _) | EvalAltResult::Exit(value, _)) => Ok(value),
        Err(error) => match innermost(&error) {
            EvalAltResult::Exit(value, _) => Ok(value.clone()),
            _ => Err(error.into()),
        },
    }
}

/// Whether a function's name is that of a closure, which Rhai makes up.
pub(super) fn is_closure(name: &str) -> bool {
    name.starts_with("anon$")
}

/// What begins the name of a function that another file was given: `__of_2__shout` is the `shout` of
/// the file with the number 2.
pub(super) const PINNED: &str = "__of_";

/// A function's name as its own file has it.
pub(super) fn plain_name(name: &str) -> &str {
    name.strip_prefix(PINNED).and_then(|it| it.split_once("__")).map_or(name, |it| it.1)
}

/// An error on its way out of a module, with the call that led there. Those that nobody catches
/// must stay as they are; where they were raised is kept in them.
#[cold]
pub(super) fn left(error: EvalAltResult, name: &str, source: &str, call: Position) -> Box<EvalAltResult> {
    match error {
        EvalAltResult::ErrorTerminated(token, at) => {
            let placed = match token.read_lock::<Stop>().map(|it| *it) {
                Some(stop) => Dynamic::from(StoppedAt { stop, source: source.into(), position: at }),
                None => token,
            };
            EvalAltResult::ErrorTerminated(placed, call).into()
        }
        EvalAltResult::ErrorStackOverflow(_) => EvalAltResult::ErrorStackOverflow(call).into(),
        error if error.is_system_exception() || error.is_pseudo_error() => error.into(),
        error => EvalAltResult::ErrorInFunctionCall(plain_name(name).to_owned(), source.to_owned(), error.into(), call)
            .into(),
    }
}
