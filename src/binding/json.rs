//! `json::`: JSON text and values.

use rhai::{Blob, Dynamic, FuncRegistration, ImmutableString, Module, NativeCallContext};

use super::{Binding, Function};
use crate::script::{Context, Result, Wrong, parse_json, write_json};

pub(super) const BINDING: Binding = Binding {
    name: "json",
    summary: "JSON text and values; integers are exact, `1.0` stays `1.0`",
    functions: &[
        Function {
            signature: "parse(text)",
            summary: "the value of a JSON text; a string or a blob. An error names line and column",
            example: "json::parse(`{\"b\": [1, 2.0, null], \"a\": 18446744073709551615}`) → {\"a\":18446744073709551615,\"b\":[1,2.0,null]}",
        },
        Function {
            signature: "text(value)",
            summary: "a value as JSON text. What JSON has not (NaN, functions) is an error that names its path",
            example: "json::text(#{foo: \"bar\"}) → \"{\\\"foo\\\":\\\"bar\\\"}\"",
        },
    ],
    register,
};

fn register(module: &mut Module) {
    FuncRegistration::new("parse")
        .set_into_module(module, |call: NativeCallContext, text: &str| parse(&call, text.as_bytes()));
    FuncRegistration::new("parse").set_into_module(module, |call: NativeCallContext, text: Blob| parse(&call, &text));
    FuncRegistration::new("text")
        .set_into_module(module, |call: NativeCallContext, value: Dynamic| text(&call, &value));
}

fn parse(call: &NativeCallContext, text: &[u8]) -> Result<Dynamic> {
    parse_json(text).map_err(|unread| Wrong::from(unread).raise(call))
}

fn text(call: &NativeCallContext, value: &Dynamic) -> Result<ImmutableString> {
    let mut out = Vec::with_capacity(64);
    Context::with(call, |context| write_json(&mut out, value, &context.shapes))?
        .map_err(|fault| Wrong::from(fault).raise(call))?;
    Ok(String::from_utf8(out).expect("JSON is UTF-8").into())
}
