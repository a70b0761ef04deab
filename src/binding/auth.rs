//! `auth::`: the API key of a request, as the configuration's `auth.api-key` names it.

use rhai::{Dynamic, FuncRegistration, Module, NativeCallContext};

use super::{Binding, Function};
use crate::auth::Presented;
use crate::script::{Context, Env, Result, Wrong};

pub(super) const BINDING: Binding = Binding {
    name: "auth",
    summary: "the API key of a request, where the path's `auth.api-key` looks for it",
    functions: &[
        Function {
            signature: "require(env)",
            summary: "the row that the request's key stands for; without a key the request ends with 401. For paths whose key is not `required`",
            example: "auth::require(env).name → \"example\"",
        },
        Function {
            signature: "key(env)",
            summary: "the key as the client sent it, good or not, or `()`",
            example: "auth::key(env) → \"secret\"",
        },
    ],
    register,
};

fn register(module: &mut Module) {
    FuncRegistration::new("require").set_into_module(module, |call: NativeCallContext, env: Env| require(&call, &env));
    FuncRegistration::new("key").set_into_module(module, |call: NativeCallContext, env: Env| {
        Context::with(&call, |context| match context.auth.presented(&env.request().head) {
            Presented::Key(key) => Dynamic::from(key.as_str().to_owned()),
            Presented::None | Presented::Unreadable => Dynamic::UNIT,
        })
    });
}

fn require(call: &NativeCallContext, env: &Env) -> Result<Dynamic> {
    let found = env.auth();
    // A browser asks by OPTIONS, without a key, whether it may send one.
    if !found.is_unit() || env.request().head.method == http::Method::OPTIONS {
        return Ok(found);
    }
    let is_on = Context::with(call, |context| context.auth.api_key.is_some())?;
    let wrong = if is_on {
        Wrong::Client(401, "Need api key".to_owned())
    } else {
        Wrong::Server("the path has no `auth.api-key`\nhint: give it one in the configuration, with `required: OFF` where the script asks".to_owned())
    };
    Err(wrong.raise(call))
}
