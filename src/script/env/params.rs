//! `env.params`: path, query and body as one; the first that has a name wins.

use std::collections::HashSet;

use rhai::{Array, Dynamic, Map};

use super::Env;
use super::body::Content;
use super::fields::Entries;
use crate::script::raise::Wrong;

impl Env {
    /// The body is read only if neither path nor query has the name.
    pub(super) fn param(&self, name: &str) -> Result<Option<Dynamic>, Wrong> {
        if let Some(value) = self.0.path.borrow().value(name).or_else(|| self.query().value(name)) {
            return Ok(Some(value));
        }
        match self.content() {
            Content::Form | Content::Multipart => Ok(self.form()?.fields.value(name)),
            Content::Json => Ok(member(self.json()?, name)),
            Content::Other => Ok(None),
        }
    }

    /// All values of the part that wins; a JSON array counts as its items.
    pub(super) fn all_params(&self, name: &str) -> Result<Array, Wrong> {
        Ok(match self.list_param(name)? {
            None => Array::new(),
            Some(value) if value.is_array() => value.into_array().unwrap_or_default(),
            Some(value) => vec![value],
        })
    }

    /// All values of the part that wins as a list; a JSON member as it is.
    pub(super) fn list_param(&self, name: &str) -> Result<Option<Dynamic>, Wrong> {
        let list = |all: Array| (!all.is_empty()).then(|| all.into());
        if let Some(found) = list(self.0.path.borrow().all(name)).or_else(|| list(self.query().all(name))) {
            return Ok(Some(found));
        }
        match self.content() {
            Content::Form | Content::Multipart => Ok(list(self.form()?.fields.all(name))),
            Content::Json => Ok(member(self.json()?, name)),
            Content::Other => Ok(None),
        }
    }

    pub(super) fn param_entries(&self) -> Result<Entries, Wrong> {
        let body = match self.content() {
            Content::Form | Content::Multipart => self.form()?.fields.entries(),
            Content::Json => members(self.json()?),
            Content::Other => Entries::new(),
        };
        let mut seen = HashSet::new();
        let parts = [self.0.path.borrow().entries(), self.query().entries(), body];
        Ok(parts.into_iter().flatten().filter(|(name, _)| seen.insert(name.clone())).collect())
    }
}

fn member(json: &Dynamic, name: &str) -> Option<Dynamic> {
    json.read_lock::<Map>()?.get(name).cloned()
}

/// Only an object has members.
fn members(json: &Dynamic) -> Entries {
    let Some(map) = json.read_lock::<Map>() else { return Entries::new() };
    map.iter().map(|(name, value)| (name.as_str().into(), value.clone())).collect()
}
