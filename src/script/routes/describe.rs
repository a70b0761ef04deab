//! What routes say of themselves, for descriptions of an API that know no scripts.

use rhai::ImmutableString;
use serde_json::Value;

use super::Verb;
use super::declaration::{Declaration, Response};
use super::sealed::Routes;
use crate::router::Pattern;
use crate::script::rule::Rule;

/// What a route is for, and how it is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// As requests have it.
    pub method: String,
    /// Below the path of the configuration, with names in braces: `/projects/{id}`.
    pub path: String,
    /// What may be there or not at the end of the path, each with its dot.
    pub suffixes: Vec<String>,
    /// In the order of the path.
    pub in_path: Vec<Parameter>,
    /// Parameters of the query; where there is no [`Operation::body`], of a form as well.
    pub in_query: Vec<Parameter>,
    /// Fields of a form or members of a JSON object.
    pub body: Vec<Parameter>,
    /// What it answers when all is well.
    pub success: Success,
    /// One line.
    pub summary: Option<String>,
    /// As many as it takes.
    pub description: Option<String>,
    /// What it belongs to, where it says so.
    pub tags: Vec<String>,
    /// Whether it should not be used any more.
    pub is_deprecated: bool,
}

/// A parameter of a route.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// As the route names it.
    pub name: String,
    /// A JSON Schema.
    pub schema: Value,
    /// Whether it must be there.
    pub is_required: bool,
    /// What it is for.
    pub summary: Option<String>,
}

/// What a route answers when all is well.
#[derive(Clone, Debug, PartialEq)]
pub enum Success {
    /// It does not say: the envelope with anything in it.
    Anything,
    /// A body of a media type.
    Media(String),
    /// The envelope with an object, or a list of such objects.
    Data(Vec<Parameter>, Many),
}

/// How many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Many {
    /// One.
    One,
    /// A list.
    List,
}

impl Routes {
    /// What the routes say of themselves, in their order; one for all methods as those that are common.
    pub(in crate::script) fn operations(&self) -> Vec<Operation> {
        let of = |(index, route): (usize, &super::sealed::Route)| {
            let methods: Vec<&str> = match route.verb() {
                Verb::Any => vec!["GET", "POST", "PUT", "PATCH", "DELETE"],
                Verb::One(method) => vec![method],
            };
            let none = Declaration::default();
            let declared = route.declared.as_deref().unwrap_or(&none);
            methods.into_iter().map(|it| operation(it, self.pattern(index), declared)).collect::<Vec<_>>()
        };
        self.routes.iter().enumerate().flat_map(of).collect()
    }
}

fn operation(method: &str, pattern: &Pattern, declared: &Declaration) -> Operation {
    let names: Vec<&str> = pattern.names().collect();
    let is_in_path = |name: &str| names.contains(&name);
    let in_path = |name: &&str| match declared.params.iter().find(|(other, _)| other == *name) {
        Some((name, rule)) => Parameter { is_required: true, ..parameter(name, rule) },
        None => Parameter {
            name: (*name).to_owned(),
            schema: serde_json::json!({"type": "string"}),
            is_required: true,
            summary: None,
        },
    };
    let others = declared.params.iter().filter(|(name, _)| !is_in_path(name));
    let owned = |text: &Option<ImmutableString>| text.as_ref().map(ToString::to_string);
    Operation {
        method: method.to_owned(),
        path: pattern.template(),
        suffixes: pattern.suffixes().to_vec(),
        in_path: names.iter().map(in_path).collect(),
        in_query: others.map(|(name, rule)| parameter(name, rule)).collect(),
        body: declared.body.iter().map(|(name, rule)| parameter(name, rule)).collect(),
        success: match &declared.response {
            None => Success::Anything,
            Some(Response::Media(media)) => Success::Media(media.to_string()),
            Some(Response::Data { fields, is_list }) => {
                let many = if *is_list { Many::List } else { Many::One };
                Success::Data(fields.iter().map(|(name, rule)| parameter(name, rule)).collect(), many)
            }
        },
        summary: owned(&declared.summary),
        description: owned(&declared.description),
        tags: declared.tags.iter().map(ToString::to_string).collect(),
        is_deprecated: declared.is_deprecated,
    }
}

fn parameter(name: &str, rule: &Rule) -> Parameter {
    Parameter {
        name: name.to_owned(),
        schema: rule.schema(),
        is_required: rule.is_required,
        summary: rule.summary.as_ref().map(ToString::to_string),
    }
}
