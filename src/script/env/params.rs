//! `env.params`: path, query and body as one; the first that has a name wins.

use std::collections::HashSet;

use rhai::{Array, Dynamic, Identifier, ImmutableString, Map};

use super::body::Content;
use super::fields::{Entries, Source};
use super::{Env, Fields};
use crate::fiber::{self, Stop};
use crate::script::raise::Wrong;

impl Env {
    /// `env.params`, to be read natively.
    pub fn params(&self) -> Fields {
        Fields::new(Source::Params(self.clone()))
    }

    /// What the body has of names and values: the fields of a form, the members of a JSON object.
    pub fn body_members(&self) -> Fields {
        Fields::new(Source::Body(self.clone()))
    }

    /// Makes these what `env.params` says of their names, whatever the request says; `()` is absent.
    pub fn set_checked(&self, values: Vec<(ImmutableString, Dynamic)>) {
        let mut checked = self.0.checked.borrow_mut();
        if !checked.is_empty() || !values.is_empty() {
            *checked = values;
        }
    }

    fn checked(&self, name: &str) -> Option<Dynamic> {
        let checked = self.0.checked.borrow();
        checked.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone())
    }

    /// The body is read only if neither path nor query has the name.
    pub(super) fn param(&self, name: &str) -> Result<Option<Dynamic>, Wrong> {
        if let Some(value) = self.checked(name) {
            return Ok(Some(value).filter(|it| !it.is_unit()));
        }
        if let Some(value) = self.0.path.borrow().value(name).or_else(|| self.query().value(name)) {
            return Ok(Some(value));
        }
        self.body_param(name)
    }

    pub(super) fn body_param(&self, name: &str) -> Result<Option<Dynamic>, Wrong> {
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
        if let Some(value) = self.checked(name) {
            return Ok(Some(value).filter(|it| !it.is_unit()));
        }
        if let Some(found) = listed(self.0.path.borrow().all(name)).or_else(|| listed(self.query().all(name))) {
            return Ok(Some(found));
        }
        self.body_list(name)
    }

    pub(super) fn body_list(&self, name: &str) -> Result<Option<Dynamic>, Wrong> {
        match self.content() {
            Content::Form | Content::Multipart => Ok(listed(self.form()?.fields.all(name))),
            Content::Json => Ok(member(self.json()?, name)),
            Content::Other => Ok(None),
        }
    }

    pub(super) fn param_entries(&self) -> Result<Entries, Wrong> {
        let checked = self.0.checked.borrow().clone();
        let mut seen: HashSet<_> = checked.iter().map(|(name, _)| name.clone()).collect();
        // Nothing is borrowed while others have their turn.
        let path = self.0.path.borrow().clone();
        let mut entries: Entries = checked.into_iter().filter(|(_, value)| !value.is_unit()).collect();
        for part in [path.entries()?, self.query().entries()?, self.body_entries()?] {
            for (name, value) in part {
                fiber::tick()?;
                if seen.insert(name.clone()) {
                    entries.push((name, value));
                }
            }
        }
        Ok(entries)
    }

    pub(super) fn body_entries(&self) -> Result<Entries, Wrong> {
        Ok(match self.content() {
            Content::Form | Content::Multipart => self.form()?.fields.entries()?,
            Content::Json => members(self.json()?)?,
            Content::Other => Entries::new(),
        })
    }
}

fn listed(all: Array) -> Option<Dynamic> {
    (!all.is_empty()).then(|| all.into())
}

fn member(json: &Dynamic, name: &str) -> Option<Dynamic> {
    json.read_lock::<Map>()?.get(name).cloned()
}

/// Only an object has members.
fn members(json: &Dynamic) -> Result<Entries, Stop> {
    let Some(map) = json.read_lock::<Map>() else { return Ok(Entries::new()) };
    let member = |(name, value): (&Identifier, &Dynamic)| {
        fiber::tick()?;
        Ok((name.as_str().into(), value.clone()))
    };
    map.iter().map(member).collect()
}
