//! What a page for developers shows of an env. Nothing is read from the body for it.

use rhai::{Array, Dynamic, Map};

use super::Env;
use super::fields::Pairs;
use super::keys::{KEYS, Kind};
use crate::script::rows::Row;
use crate::script::text::short;

/// Values in values that are shown.
const DEPTH: usize = 6;

/// Members of a value that are shown.
const MEMBERS: usize = 100;

/// What stands for a value that is hidden.
const HIDDEN: &str = "***";

/// Names with their values as text, under a heading.
pub type Group = (&'static str, Vec<(String, String)>);

impl Env {
    /// The parameters, what scripts have set, and the fixed keys; `is_secret` says by its name what is hidden.
    pub fn overview(&self, is_secret: &dyn Fn(&str) -> bool) -> Vec<Group> {
        let shown = |name: &str, value: &Dynamic| {
            (
                name.to_owned(),
                if is_secret(name) { HIDDEN.to_owned() } else { short(&visible(value, is_secret, DEPTH)) },
            )
        };
        let pairs = |pairs: &Pairs| {
            pairs.entries().unwrap_or_default().iter().map(|(name, value)| shown(name, value)).collect::<Vec<_>>()
        };
        let mut groups = vec![("Path parameters", pairs(&self.0.path.borrow())), ("Query", pairs(self.query()))];
        groups.extend(self.0.form.get().map(|it| ("Form", pairs(&it.fields))));
        groups.extend(self.0.json.get().map(|it| ("JSON", vec![shown("body", it)])));
        let own = self.0.own.borrow().clone();
        groups.push(("Set by scripts", own.iter().map(|(name, value)| shown(name, value)).collect()));
        let keys = KEYS
            .iter()
            .filter(|it| it.kind == Kind::Rack && !it.name.starts_with("HTTP_") && !it.name.starts_with("rack."));
        let keys = keys.filter(|it| !matches!(it.name, "QUERY_STRING" | "REQUEST_URI") && !own.contains_key(it.name));
        let value = |name: &str| self.value(name).ok().filter(|it| !it.is_unit());
        let mut fixed: Vec<_> = keys.filter_map(|it| Some(shown(it.name, &value(it.name)?))).collect();
        fixed.extend(Some(self.auth()).filter(|it| !it.is_unit()).map(|it| shown("auth", &it)));
        groups.push(("Env", fixed));
        groups.retain(|(_, members)| !members.is_empty());
        groups
    }
}

impl Env {
    /// Texts of what was read or set that are secret by their names.
    pub fn secrets(&self, is_secret: &dyn Fn(&str) -> bool) -> Vec<String> {
        let own = self.0.own.borrow().clone();
        let own = own.iter().map(|(name, value)| (name.to_string(), value.clone())).collect::<Vec<_>>();
        let form = self.0.form.get().and_then(|it| it.fields.entries().ok()).unwrap_or_default();
        let form = form.into_iter().map(|(name, value)| (name.to_string(), value));
        let json = self.0.json.get().and_then(|it| it.as_map_ref().ok().map(|it| it.clone())).unwrap_or_default();
        let json = json.into_iter().map(|(name, value)| (name.to_string(), value));
        let all = own.into_iter().chain(form).chain(json);
        all.filter(|(name, _)| is_secret(name)).filter_map(|(_, value)| value.into_string().ok()).collect()
    }
}

/// A copy of a value in which what is secret by its name is hidden.
fn visible(value: &Dynamic, is_secret: &dyn Fn(&str) -> bool, depth: usize) -> Dynamic {
    if depth == 0 {
        return "…".into();
    }
    let member = |name: &str, value: &Dynamic| {
        if is_secret(name) { HIDDEN.into() } else { visible(value, is_secret, depth - 1) }
    };
    if let Ok(map) = value.as_map_ref() {
        let members = map.iter().take(MEMBERS).map(|(name, value)| (name.clone(), member(name, value)));
        return Dynamic::from_map(members.collect::<Map>());
    }
    if let Ok(list) = value.as_array_ref() {
        return list.iter().take(MEMBERS).map(|it| visible(it, is_secret, depth - 1)).collect::<Array>().into();
    }
    if let Some(row) = value.read_lock::<Row>() {
        let columns = row.names().take(MEMBERS).enumerate();
        let columns = columns.filter_map(|(at, name)| Some((name.into(), member(name, &row.at(at).ok()?))));
        return Dynamic::from_map(columns.collect::<Map>());
    }
    value.flatten_clone()
}
