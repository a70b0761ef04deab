//! `config::`: the values that the configuration has for the scripts of a path.

use rhai::{Dynamic, FuncRegistration, Module, NativeCallContext};

use super::{Binding, Function};
use crate::directive::suggest;
use crate::script::{Context, Result, raise};

pub(super) const BINDING: Binding = Binding {
    name: "config",
    summary: "the values of the path's `rhai.settings`; lists and mappings are frozen",
    functions: &[Function {
        signature: "get(name[, fallback])",
        summary: "the value of that name. Where the configuration has none, the fallback, or else an error that says so",
        example: "[config::get(\"greeting\"), config::get(\"mail\").port, config::get(\"none\", 7)] → [\"hello\",25,7]",
    }],
    register,
};

fn register(module: &mut Module) {
    FuncRegistration::new("get").set_into_module(module, |call: NativeCallContext, name: &str| {
        value(&call, name)?.ok_or_else(|| missing(&call, name))
    });
    FuncRegistration::new("get").set_into_module(module, |call: NativeCallContext, name: &str, fallback: Dynamic| {
        Ok(value(&call, name)?.unwrap_or(fallback)) as Result<_>
    });
}

fn value(call: &NativeCallContext, name: &str) -> Result<Option<Dynamic>> {
    Context::with(call, |context| context.settings.get(name).cloned())
}

fn missing(call: &NativeCallContext, name: &str) -> Box<rhai::EvalAltResult> {
    let near =
        Context::with(call, |context| suggest(name, context.settings.keys().map(|it| it.as_str())).map(str::to_owned));
    let hint = match near {
        Ok(Some(near)) => format!("did you mean `{near}`?"),
        _ => format!("add it to `rhai.settings`, or give a default: `config::get(\"{name}\", …)`"),
    };
    raise(call, format!("the configuration has no setting `{name}`\nhint: {hint}"))
}
