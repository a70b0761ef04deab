//! What a route declares of itself: its parameters, which are checked before its handler runs, and
//! words about it for readers of the API's description.

use rhai::{Array, Dynamic, EvalAltResult, ImmutableString, Map, Position};

use crate::directive::suggest;
use crate::fiber;
use crate::script::env::{Env, Fields};
use crate::script::raise::Wrong;
use crate::script::reply::described;
use crate::script::rule::Rule;

/// What a declaration may say, sorted.
const KEYS: [&str; 7] = ["body", "deprecated", "description", "params", "response", "summary", "tags"];

/// The second argument of `app.get("/", #{…}, handler)`.
#[derive(Clone, Debug, Default)]
pub(in crate::script) struct Declaration {
    /// Of the path and the query, and of the body where `body` is empty.
    pub params: Vec<(ImmutableString, Rule)>,
    /// Fields of a form or members of a JSON object.
    pub body: Vec<(ImmutableString, Rule)>,
    pub response: Option<Response>,
    pub summary: Option<ImmutableString>,
    pub description: Option<ImmutableString>,
    pub tags: Vec<ImmutableString>,
    pub is_deprecated: bool,
}

/// What a route answers when all is well.
#[derive(Clone, Debug)]
pub(in crate::script) enum Response {
    /// A body of a media type.
    Media(ImmutableString),
    /// An object in the envelope, or a list of them.
    Data { fields: Vec<(ImmutableString, Rule)>, is_list: bool },
}

impl Declaration {
    /// Reads a declaration of a route whose pattern has these names.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of(map: &Map, names: &[&str]) -> Result<Declaration, String> {
        let mut declared = Declaration::default();
        for (key, value) in map {
            match key.as_str() {
                "params" => declared.params = rules("params", value, |name| names.contains(&name))?,
                "body" => declared.body = rules("body", value, |_| false)?,
                "response" => declared.response = Some(response(value)?),
                "summary" => declared.summary = Some(text(key, value)?),
                "description" => declared.description = Some(text(key, value)?),
                "tags" => declared.tags = tags(value)?,
                "deprecated" => {
                    let flag = value.as_bool();
                    declared.is_deprecated = flag.map_err(|_| misfit(key, value, "`true` or `false`"))?;
                }
                unknown => {
                    let near = suggest(unknown, KEYS).map_or_else(
                        || format!("it may have `{}`", KEYS.join("`, `")),
                        |near| format!("did you mean `{near}`?"),
                    );
                    return Err(format!("a route's declaration has no `{unknown}`\nhint: {near}"));
                }
            }
        }
        match declared.params.iter().find(|(name, _)| declared.body.iter().any(|(other, _)| name == other)) {
            Some((name, _)) => Err(format!("`{name}` is declared in `params` and in `body`, expected one of them")),
            None => Ok(declared),
        }
    }

    /// Checks the request's parameters and gives `env.params` the values.
    ///
    /// # Errors
    /// All that does not fit, at once.
    pub fn check(&self, env: &Env) -> Result<(), Box<EvalAltResult>> {
        if self.params.is_empty() && self.body.is_empty() {
            return Ok(());
        }
        let mut checked = Vec::with_capacity(self.params.len() + self.body.len());
        let mut faults = Vec::new();
        let parts = [(&self.params, env.params()), (&self.body, env.body_members())];
        for (rules, fields) in parts {
            check(rules, &fields, &mut checked, &mut faults).map_err(raise)?;
        }
        if faults.is_empty() {
            env.set_checked(checked);
            return Ok(());
        }
        Err(refused(faults))
    }
}

type Named = Vec<(ImmutableString, Dynamic)>;

fn check(
    rules: &[(ImmutableString, Rule)],
    fields: &Fields,
    checked: &mut Named,
    faults: &mut Named,
) -> Result<(), Wrong> {
    for (name, rule) in rules {
        // Where a body has many fields, all of them are looked through.
        fiber::slice()?;
        match fields.checked(name, rule)? {
            Ok(value) => checked.push((name.clone(), value)),
            Err(message) => faults.push((name.clone(), message.into())),
        }
    }
    Ok(())
}

fn raise(wrong: Wrong) -> Box<EvalAltResult> {
    wrong.raise_at(Position::NONE)
}

/// 400 with all faults in one message; for `rescue` each by its name, too.
#[cold]
fn refused(faults: Named) -> Box<EvalAltResult> {
    let messages: Vec<_> = faults.iter().map(|(_, message)| message.to_string()).collect();
    let params: Map = faults.into_iter().map(|(name, message)| (name.as_str().into(), message)).collect();
    let thrown = Map::from([
        ("status".into(), 400_i64.into()),
        ("message".into(), messages.join("; ").into()),
        ("params".into(), params.into()),
    ]);
    EvalAltResult::ErrorRuntime(thrown.into(), Position::NONE).into()
}

fn rules(
    key: &str,
    value: &Dynamic,
    is_in_path: impl Fn(&str) -> bool,
) -> Result<Vec<(ImmutableString, Rule)>, String> {
    let Ok(map) = value.as_map_ref() else {
        return Err(misfit(key, value, "a map such as `#{id: \"int\"}`"));
    };
    let rule = |name: &str, declared: &Dynamic| -> Result<(ImmutableString, Rule), String> {
        let mut rule = Rule::of(declared).map_err(|message| format!("the parameter `{name}`: {message}"))?;
        let says = |key: &str| declared.as_map_ref().ok().and_then(|it| it.get(key).cloned());
        let required = says("required");
        if is_in_path(name) {
            let is_free = required.as_ref().is_some_and(|it| it.as_bool() == Ok(false)) || rule.default.is_some();
            if is_free || rule.is_list {
                let found = if rule.is_list { "a list" } else { "optional" };
                return Err(format!(
                    "the parameter `{name}`: it is {found}, expected one value that is always there, as it is part of the path"
                ));
            }
        } else if required.as_ref().is_none() {
            // What a client may leave out is the rule, unlike for readers, which ask for one value.
            rule.is_required = false;
        } else if rule.default.is_some() && required.is_some_and(|it| it.as_bool() == Ok(true)) {
            return Err(format!("the parameter `{name}`: it is required and has a default, expected one of them"));
        }
        Ok((name.into(), rule))
    };
    map.iter().map(|(name, declared)| rule(name, declared)).collect()
}

fn response(value: &Dynamic) -> Result<Response, String> {
    const EXPECTED: &str = "a media type such as `\"text/html\"`, a map of fields, or such a map in a list";
    if let Ok(media) = value.as_immutable_string_ref() {
        return match media.split_once('/') {
            Some((kind, rest)) if !kind.is_empty() && !rest.is_empty() => Ok(Response::Media(media.clone())),
            _ => Err(misfit("response", value, EXPECTED)),
        };
    }
    let array = value.as_array_ref();
    let (declared, is_list) = match array.as_deref().map(Vec::as_slice) {
        Ok([fields]) if fields.is_map() => (fields, true),
        Err(_) if value.is_map() => (value, false),
        _ => return Err(misfit("response", value, EXPECTED)),
    };
    let mut fields = rules("response", declared, |_| false)?;
    for (name, rule) in &mut fields {
        // What is answered is there, unless it is said that it may not be.
        let says = declared
            .as_map_ref()
            .ok()
            .and_then(|it| it.get(name.as_str())?.as_map_ref().ok()?.get("required").cloned());
        rule.is_required = says.is_none_or(|it| it.as_bool() != Ok(false));
    }
    Ok(Response::Data { fields, is_list })
}

fn tags(value: &Dynamic) -> Result<Vec<ImmutableString>, String> {
    const EXPECTED: &str = "a list of texts such as `[\"projects\"]`";
    let Ok(tags) = value.as_array_ref().map(|it| Array::clone(&it)) else {
        return Err(misfit("tags", value, EXPECTED));
    };
    tags.into_iter().map(|it| it.into_immutable_string().map_err(|_| misfit("tags", value, EXPECTED))).collect()
}

fn text(key: &str, value: &Dynamic) -> Result<ImmutableString, String> {
    value.as_immutable_string_ref().map(|it| it.clone()).map_err(|_| misfit(key, value, "a text"))
}

fn misfit(key: &str, value: &Dynamic, expected: &str) -> String {
    format!("`{key}` is {}, expected {expected}", described(value))
}
