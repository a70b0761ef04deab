//! The options of a native function: a map whose keys are known and whose values are checked.

use rhai::{Dynamic, INT, ImmutableString, Map};

use super::reply::described;
use crate::directive::suggest;

/// The options of a function, for messages named as it is called.
pub(super) struct Options<'a> {
    function: &'static str,
    map: &'a Map,
}

impl<'a> Options<'a> {
    /// Reads `map`, which may have the keys `known`.
    ///
    /// # Errors
    /// If it has another.
    pub(super) fn of(function: &'static str, map: &'a Map, known: &[&'static str]) -> Result<Options<'a>, String> {
        match map.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(Options { function, map }),
            Some(key) => {
                let hint = suggest(key, known.iter().copied()).map(|it| format!("\nhint: did you mean `{it}`?"));
                Err(format!("`{function}` has no option `{key}`{}", hint.unwrap_or_default()))
            }
        }
    }

    /// The value of an option; `()` is as if it were absent.
    pub(super) fn value(&self, name: &str) -> Option<&'a Dynamic> {
        self.map.get(name).filter(|it| !it.is_unit())
    }

    /// What was found in the place of what an option takes.
    pub(super) fn mistake(&self, name: &str, found: &Dynamic, expected: &str) -> String {
        format!("the option `{name}` of `{}` is {}, expected {expected}", self.function, described(found))
    }

    /// # Errors
    /// If it is no string.
    pub(super) fn text(&self, name: &str, expected: &str) -> Result<Option<ImmutableString>, String> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let text = value.as_immutable_string_ref().map_err(|_| self.mistake(name, value, expected))?;
        Ok(Some(text.clone()))
    }

    /// # Errors
    /// If it is no integer.
    pub(super) fn int(&self, name: &str, expected: &str) -> Result<Option<INT>, String> {
        let Some(value) = self.value(name) else { return Ok(None) };
        value.as_int().map(Some).map_err(|_| self.mistake(name, value, expected))
    }

    /// Absent is `false`.
    ///
    /// # Errors
    /// If it is neither `true` nor `false`.
    pub(super) fn flag(&self, name: &str) -> Result<bool, String> {
        let Some(value) = self.value(name) else { return Ok(false) };
        value.as_bool().map_err(|_| self.mistake(name, value, "`true` or `false`"))
    }
}
