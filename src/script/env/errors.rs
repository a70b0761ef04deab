//! `rack.errors`: what a script writes goes to the error log with the request's number.

use std::any::TypeId;
use std::iter::{once, repeat_n};
use std::rc::Rc;

use rhai::{Array, Dynamic, Engine, EvalAltResult, ImmutableString, NativeCallContext};

use crate::fiber;
use crate::http::Request;
use crate::script::raise::Wrong;

/// Most values that `puts` takes beside each other, as functions of Rhai's have a fixed number; a
/// list may be longer.
const MOST: usize = 8;

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
        .register_fn("flush", |errors: Errors| errors)
        .register_fn("to_string", |_: Errors| "rack.errors")
        .register_fn("to_debug", |_: Errors| "rack.errors");
    for count in 0..=MOST {
        let types: Vec<TypeId> = once(TypeId::of::<Errors>()).chain(repeat_n(TypeId::of::<Dynamic>(), count)).collect();
        engine.register_raw_fn("puts", types, puts);
    }
}

/// Each value is a line, and each item of a list.
fn puts(context: NativeCallContext, arguments: &mut [&mut Dynamic]) -> Outcome<()> {
    let mut values = arguments.iter_mut();
    let Some(errors) = values.next().and_then(|it| it.read_lock::<Errors>().map(|it| it.clone())) else {
        return Ok(());
    };
    for value in values {
        let lines = value.clone().try_cast_result::<Array>().unwrap_or_else(|value| vec![value]);
        for line in lines {
            fiber::tick().map_err(|stop| Wrong::from(stop).raise(&context))?;
            errors.write(&shown(&context, line)?);
        }
    }
    Ok(())
}

type Outcome<T> = Result<T, Box<EvalAltResult>>;

fn shown(context: &NativeCallContext, value: Dynamic) -> Outcome<ImmutableString> {
    if value.is_string() {
        return Ok(value.into_immutable_string().unwrap_or_default());
    }
    context.call_native_fn("to_string", (value,))
}
