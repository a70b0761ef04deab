//! The one way in which natives raise errors: with the position of the call that failed.
//!
//! Rhai loses the position of its own system errors on their way up, and an error of a native that
//! is called through a namespace has none to begin with. A runtime error that was given the call's
//! position keeps it.

use std::fmt;

use rhai::{Dynamic, EvalAltResult, ImmutableString, Map, NativeCallContext, Position};

use super::fault::StoppedAt;
use crate::fiber::Stop;

/// Why a native can't do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// The client's fault: the request is answered with this status and message.
    Client(u16, String),
    /// The client's fault, of the kind that ends the request: no `catch` of the script sees it.
    Malformed(u16, String),
    /// The script's or the machine's fault: 500, and the message goes to the log.
    Server(String),
    /// The script has to stop; this can't be caught by it.
    Stopped(Stop),
}

/// What a request is answered with that ends at a malformed part of itself.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) message: String,
}

impl From<Stop> for Wrong {
    fn from(stop: Stop) -> Wrong {
        Wrong::Stopped(stop)
    }
}

impl Wrong {
    /// What the client sent does not fit: 400.
    pub fn bad_request(message: impl Into<String>) -> Wrong {
        Wrong::Client(400, message.into())
    }

    /// What the client sent can't be read at all: 400.
    pub fn malformed(message: impl Into<String>) -> Wrong {
        Wrong::Malformed(400, message.into())
    }

    /// Makes an error of it that is raised where `context` was called: `#{status, message}` for
    /// the client's fault, the message as a string for the script's.
    pub fn raise(self, context: &NativeCallContext) -> Box<EvalAltResult> {
        let position = context.call_position();
        match self {
            Wrong::Stopped(stop) if stop != Stop::CannotWait => {
                // Rhai puts the place of each call around it in the place of its own.
                let source = context.call_source().unwrap_or_default().into();
                EvalAltResult::ErrorTerminated(Dynamic::from(StoppedAt { stop, source, position }), position).into()
            }
            wrong => wrong.raise_at(position),
        }
    }

    /// The same for where there is no context.
    #[cold]
    pub fn raise_at(self, position: Position) -> Box<EvalAltResult> {
        let value = match self {
            Wrong::Client(status, message) => Dynamic::from_map(Map::from([
                ("status".into(), i64::from(status).into()),
                ("message".into(), message.into()),
            ])),
            Wrong::Server(message) => ImmutableString::from(message).into(),
            Wrong::Malformed(status, message) => {
                return EvalAltResult::ErrorTerminated(Dynamic::from(Refusal { status, message }), position).into();
            }
            Wrong::Stopped(Stop::CannotWait) => {
                "nothing that waits can be done here, only while a request is served".into()
            }
            Wrong::Stopped(stop) => return EvalAltResult::ErrorTerminated(Dynamic::from(stop), position).into(),
        };
        EvalAltResult::ErrorRuntime(value, position).into()
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::Client(_, message) | Wrong::Malformed(_, message) | Wrong::Server(message) => f.write_str(message),
            Wrong::Stopped(stop) => write!(f, "stopped: {stop:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rhai::Engine;

    fn raised(wrong: Wrong) -> (Dynamic, rhai::Position) {
        let mut engine = Engine::new();
        engine.register_fn("fails", move |context: NativeCallContext| -> Result<(), Box<EvalAltResult>> {
            Err(wrong.clone().raise(&context))
        });
        match *engine.run("let x = 1;\n  fails();").unwrap_err() {
            EvalAltResult::ErrorRuntime(value, position) => (value, position),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn the_clients_fault_is_a_map_with_its_status_at_the_call() {
        let (value, position) = raised(Wrong::bad_request("no"));
        let map = value.cast::<Map>();
        assert_eq!(map["status"].as_int(), Ok(400));
        assert_eq!(map["message"].clone().into_string().as_deref(), Ok("no"));
        assert_eq!((position.line(), position.position()), (Some(2), Some(3)));
    }

    #[test]
    fn a_stop_is_not_caught_by_the_script() {
        let mut engine = Engine::new();
        engine.register_fn("fails", |context: NativeCallContext| -> Result<(), Box<EvalAltResult>> {
            Err(Wrong::from(Stop::Memory).raise(&context))
        });
        let error = engine.run("try { fails(); } catch { }").unwrap_err();
        assert!(matches!(*error, EvalAltResult::ErrorTerminated(..)), "{error}");
    }

    #[test]
    fn any_other_fault_is_its_message_at_the_call() {
        let (value, position) = raised(Wrong::Server("full".into()));
        assert_eq!(value.into_string().as_deref(), Ok("full"));
        assert_eq!(position.line(), Some(2));
    }
}
