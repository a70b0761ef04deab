//! What an engine offers to scripts, as it was registered: names and types of parameters, for editors.

use std::any::TypeId;

use rhai::{Array, Blob, Dynamic, FnNamespace, FnPtr, FuncInfo, ImmutableString, Map};

use super::decimal::Decimal;
use super::engine::Engines;
use super::env::{Env, Fields};
use super::frozen::Frozen;
use super::routes::Router;
use super::rows::{Row, Rows};
use crate::reply::Reply;

/// A function as an engine has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Signature {
    /// What stands before `::`; empty for functions without a namespace, and for methods.
    pub namespace: String,
    /// What kind of function it is.
    pub role: Role,
    /// Its name, or the property's.
    pub name: String,
    /// Types of the parameters, as definition files name them; `?` is any.
    pub parameters: Vec<&'static str>,
}

/// How a function is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// `name(…)`.
    Function,
    /// `value.name`.
    Getter,
    /// `value.name = …`.
    Setter,
}

impl Engines {
    /// All functions that were registered beside Rhai's own, sorted; without operators and indexers.
    pub fn signatures(&self) -> Vec<Signature> {
        let engine = self.with_call_levels(64);
        let mut found = engine.collect_fn_metadata(None, |it| signature(&it), false);
        found.sort();
        found.dedup();
        found
    }
}

/// The names of the methods that a value has: `receiver` is its type as errors name it.
pub(super) fn methods(engine: &rhai::Engine, receiver: &str) -> Vec<String> {
    let method = |it: &FuncInfo<'_>| {
        let first = *it.metadata.param_types.first()?;
        let fits = first == TypeId::of::<Dynamic>() || type_name(first).eq_ignore_ascii_case(receiver);
        let found = signature(it)?;
        (found.role == Role::Function && found.namespace.is_empty() && fits).then_some(found.name)
    };
    engine.collect_fn_metadata(None, |it| method(&it), true)
}

fn signature(function: &FuncInfo<'_>) -> Option<Signature> {
    let metadata = function.metadata;
    let (role, name) = match metadata.name.split_once('$') {
        Some(("get", name)) => (Role::Getter, name),
        Some(("set", name)) => (Role::Setter, name),
        _ => (Role::Function, metadata.name.as_str()),
    };
    if ["print", "debug", "to_string", "to_debug"].contains(&name) {
        // Every value has them.
        return None;
    }
    let of_namespace = metadata.namespace == FnNamespace::Internal;
    rhai::is_valid_identifier(name).then(|| Signature {
        namespace: if of_namespace { function.namespace.to_string() } else { String::new() },
        role,
        name: name.to_owned(),
        parameters: metadata.param_types.iter().map(|it| type_name(*it)).collect(),
    })
}

/// A type as editors know it.
fn type_name(id: TypeId) -> &'static str {
    let named = [
        (TypeId::of::<ImmutableString>(), "String"),
        (TypeId::of::<i64>(), "int"),
        (TypeId::of::<f64>(), "float"),
        (TypeId::of::<bool>(), "bool"),
        (TypeId::of::<char>(), "char"),
        (TypeId::of::<Array>(), "Array"),
        (TypeId::of::<Map>(), "Map"),
        (TypeId::of::<Blob>(), "Blob"),
        (TypeId::of::<FnPtr>(), "FnPtr"),
        (TypeId::of::<Dynamic>(), "?"),
        (TypeId::of::<Env>(), "Env"),
        (TypeId::of::<Fields>(), "Fields"),
        (TypeId::of::<Router>(), "Router"),
        (TypeId::of::<Reply>(), "Reply"),
        (TypeId::of::<Rows>(), "Rows"),
        (TypeId::of::<Row>(), "Row"),
        (TypeId::of::<Decimal>(), "Decimal"),
        (TypeId::of::<Frozen>(), "Frozen"),
    ];
    named.iter().find(|(it, _)| *it == id).map_or("?", |(_, name)| name)
}
