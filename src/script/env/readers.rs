//! `int float bool string date datetime list` of fields: the value in its type, or a 400 that names
//! the field.

use rhai::{Dynamic, Engine, EvalAltResult, NativeCallContext};

use super::Fields;
use crate::script::raise::Wrong;
use crate::script::rule::{Kind, Rule, Unfit};

type Outcome = Result<Dynamic, Box<EvalAltResult>>;

/// Registers a reader for each type, and `list`.
pub(super) fn register(engine: &mut Engine) {
    for kind in Kind::ALL {
        engine
            .register_fn(kind.name(), move |context: NativeCallContext, fields: Fields, name: &str| {
                read(&context, &fields, name, &Rule::plain(kind, false))
            })
            .register_fn(kind.name(), move |context: NativeCallContext, fields: Fields, name: &str, more: Dynamic| {
                let mut rule = Rule::plain(kind, false);
                match more.as_map_ref() {
                    Ok(options) => rule = own(&context, rule.with(&options))?,
                    // For an absent field only: one that is there and doesn't fit is the client's mistake.
                    Err(_) => rule.default = Some(more.clone()),
                }
                read(&context, &fields, name, &rule)
            });
    }
    engine
        .register_fn("list", |context: NativeCallContext, fields: Fields, name: &str| {
            read(&context, &fields, name, &Rule::plain(Kind::String, true))
        })
        .register_fn("list", |context: NativeCallContext, fields: Fields, name: &str, items: Dynamic| {
            read(&context, &fields, name, &own(&context, Rule::list(items))?)
        });
}

/// A rule that can't be is the script's mistake.
fn own(context: &NativeCallContext, rule: Result<Rule, String>) -> Result<Rule, Box<EvalAltResult>> {
    rule.map_err(|message| Wrong::Server(message).raise(context))
}

fn read(context: &NativeCallContext, fields: &Fields, name: &str, rule: &Rule) -> Outcome {
    let checked = fields.checked(name, rule).map_err(|wrong| wrong.raise(context))?;
    checked.map_err(|message| Wrong::bad_request(message).raise(context))
}

impl Fields {
    /// The value of a field as the rule has it, or what is wrong with it, for the client.
    ///
    /// # Errors
    /// If it is read from the body and that is malformed or too large, or if the script has to stop.
    pub(in crate::script) fn checked(&self, name: &str, rule: &Rule) -> Result<Result<Dynamic, String>, Wrong> {
        let value = if rule.is_list { self.list(name)? } else { self.value(name)? };
        let Some(value) = value else { return Ok(rule.absent(name)) };
        match rule.check(name, &value) {
            Ok(value) => Ok(Ok(value)),
            Err(Unfit::Told(message)) => Ok(Err(message)),
            Err(Unfit::Stopped(stop)) => Err(stop.into()),
        }
    }
}
