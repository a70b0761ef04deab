//! `log::`: lines in the error log, with the request's number.

use rhai::{Dynamic, FuncRegistration, ImmutableString, Module, NativeCallContext};
use tracing::Level;

use super::{Binding, Function};
use crate::script::{Result, log};

pub(super) const BINDING: Binding = Binding {
    name: "log",
    summary: "lines in the error log, each with the number of the request",
    functions: &[
        Function {
            signature: "error(value)",
            summary: "a line of the level ERROR",
            example: "log::error(\"it broke\") → null",
        },
        Function {
            signature: "warn(value)",
            summary: "a line of the level WARN",
            example: "log::warn(#{left: 3}) → null",
        },
        Function { signature: "info(value)", summary: "a line of the level INFO", example: "log::info(42) → null" },
        Function {
            signature: "trace(value)",
            summary: "a line of the level TRACE, written where the environment has `RHAID_LOG=trace`",
            example: "log::trace(\"here\") → null",
        },
    ],
    register,
};

fn register(module: &mut Module) {
    for (name, level) in
        [("error", Level::ERROR), ("warn", Level::WARN), ("info", Level::INFO), ("trace", Level::TRACE)]
    {
        FuncRegistration::new(name).set_into_module(
            module,
            move |call: NativeCallContext, value: Dynamic| -> Result<()> {
                // Native types know their text, as `print` shows it.
                let text: ImmutableString = call.call_native_fn("to_string", (value,))?;
                log(level, &text);
                Ok(())
            },
        );
    }
}
