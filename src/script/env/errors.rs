//! `rack.errors`: what a script writes goes to the error log with the request's number.

use std::rc::Rc;

use rhai::{Array, Dynamic, Engine, EvalAltResult, ImmutableString, NativeCallContext};

use crate::http::Request;

/// Where a script of this request writes its errors.
#[derive(Clone)]
pub(super) struct Errors(Rc<Request>);

impl Errors {
    pub fn new(request: Rc<Request>) -> Errors {
        Errors(request)
    }

    fn write(&self, text: &str) {
        for line in text.lines() {
            self.0.report(line);
        }
    }
}

pub(super) fn register(engine: &mut Engine) {
    engine
        .register_type_with_name::<Errors>("Errors")
        .register_fn("write", |context: NativeCallContext, errors: Errors, value: Dynamic| -> Outcome<i64> {
            let text = shown(&context, value)?;
            errors.write(&text);
            Ok(i64::try_from(text.len()).unwrap_or(i64::MAX))
        })
        .register_fn("puts", |context: NativeCallContext, errors: Errors, value: Dynamic| -> Outcome<()> {
            errors.write(&shown(&context, value)?);
            Ok(())
        })
        .register_fn("puts", |context: NativeCallContext, errors: Errors, values: Array| -> Outcome<()> {
            for value in values {
                errors.write(&shown(&context, value)?);
            }
            Ok(())
        })
        .register_fn("flush", |errors: Errors| errors)
        .register_fn("to_string", |_: Errors| "rack.errors")
        .register_fn("to_debug", |_: Errors| "rack.errors");
}

type Outcome<T> = Result<T, Box<EvalAltResult>>;

fn shown(context: &NativeCallContext, value: Dynamic) -> Outcome<ImmutableString> {
    if value.is_string() {
        return Ok(value.into_immutable_string().unwrap_or_default());
    }
    context.call_native_fn("to_string", (value,))
}
