//! What a test says must be so.

use rhai::{Dynamic, EvalAltResult, FnPtr, INT, NativeCallContext};

use super::answer::Answer;
use super::difference::{difference, shown};
use crate::script::{Result, raise};

pub(super) fn register(engine: &mut rhai::Engine) {
    engine.register_fn("assert", |call: NativeCallContext, condition: bool| {
        if condition { Ok(()) } else { Err(raise(&call, "the assertion does not hold".to_owned())) }
    });
    engine.register_fn("assert", |call: NativeCallContext, condition: bool, message: &str| {
        if condition { Ok(()) } else { Err(raise(&call, format!("the assertion does not hold: {message}"))) }
    });
    engine.register_fn("assert_eq", |call: NativeCallContext, left: Dynamic, right: Dynamic| {
        difference(&call, &left, &right).map_or(Ok(()), |message| Err(raise(&call, message)))
    });
    engine.register_fn("assert_status", |call: NativeCallContext, answer: Answer, status: INT| {
        if INT::from(answer.status()) == status {
            return Ok(());
        }
        Err(raise(&call, format!("the status is {}, expected {status}\n{answer}", answer.status())))
    });
    engine.register_fn("assert_error", |call: NativeCallContext, body: FnPtr| {
        match body.call_within_context::<Dynamic>(&call, ()) {
            Ok(value) => {
                let value = shown(&call, &value);
                Err(raise(&call, format!("nothing was thrown, the closure gave {value}")))
            }
            Err(error) => thrown(error),
        }
    });
}

/// What `catch` would see of an error; a limit that was hit is passed on.
fn thrown(error: Box<EvalAltResult>) -> Result<Dynamic> {
    match *error {
        EvalAltResult::ErrorInFunctionCall(_, _, inner, _) => thrown(inner),
        EvalAltResult::ErrorRuntime(value, _) => Ok(value),
        EvalAltResult::ErrorTerminated(..) => Err(error),
        other => Ok(other.to_string().into()),
    }
}
