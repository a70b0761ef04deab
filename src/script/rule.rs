//! What a parameter must be: its type, its bounds, whether it may be absent. It is made once, when
//! a script declares it, and knows nothing of where the value comes from.

use std::fmt::Write;

use rhai::{Array, Dynamic, ImmutableString};

mod kind;
mod pattern;
mod read;
mod schema;
#[cfg(test)]
mod tests;

pub(super) use kind::Kind;

use super::decimal::Decimal;
use crate::fiber::{self, Stop};
use pattern::Pattern;

/// What a parameter must be.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    /// The type; of a list that of its items.
    pub kind: Kind,
    pub is_list: bool,
    /// Whether a value must be there. Without one `default` counts; where that is `None`, too, a
    /// list is empty and anything else `()`.
    pub is_required: bool,
    pub default: Option<Dynamic>,
    /// The least and the greatest value, in the rule's type.
    pub min: Option<Dynamic>,
    pub max: Option<Dynamic>,
    /// The only values, in the rule's type; all, if there are none.
    pub values: Vec<Dynamic>,
    /// How many characters a text has.
    pub length: Span,
    /// How many items a list has.
    pub items: Span,
    pub pattern: Option<Pattern>,
    /// Whether an empty text counts as none: a form sends one for a field that was left empty.
    pub empty_is_absent: bool,
    /// What it is for.
    pub summary: Option<ImmutableString>,
}

/// How many there may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub min: Option<usize>,
    pub max: Option<usize>,
}

/// How much of a value that doesn't fit goes into the message.
const SHOWN: usize = 64;
/// Longest text in bytes that has to match a pattern, where no `max_length` is declared.
const LONGEST: usize = 64 << 10;

/// Why there is no value.
#[derive(Debug)]
pub(super) enum Unfit {
    /// It does not fit; the message is for the client.
    Told(String),
    /// The script has to stop.
    Stopped(Stop),
}

impl From<String> for Unfit {
    fn from(message: String) -> Unfit {
        Unfit::Told(message)
    }
}

impl From<Stop> for Unfit {
    fn from(stop: Stop) -> Unfit {
        Unfit::Stopped(stop)
    }
}

impl Rule {
    /// Any value of a type, or a list of them; it must be there, a list may be empty.
    pub fn plain(kind: Kind, is_list: bool) -> Rule {
        Rule {
            kind,
            is_list,
            is_required: !is_list,
            default: None,
            min: None,
            max: None,
            values: Vec::new(),
            length: Span::default(),
            items: Span::default(),
            pattern: None,
            empty_is_absent: false,
            summary: None,
        }
    }

    /// The value in the rule's type; dates and times are normalized texts.
    ///
    /// # Errors
    /// If it does not fit; the message calls the parameter `name`. If the script has to stop: others get
    /// their turn between the items of a list and while a long text is matched.
    pub fn check(&self, name: &str, value: &Dynamic) -> Result<Dynamic, Unfit> {
        if self.empty_is_absent && value.as_immutable_string_ref().is_ok_and(|text| text.is_empty()) {
            return Ok(self.absent(name)?);
        }
        if !self.is_list {
            return self.fit(value)?.ok_or_else(|| self.misfit(&format!("`{name}`"), value).into());
        }
        let Ok(items) = value.as_array_ref() else {
            // A list of one comes as what it holds.
            let item = self.fit(value)?.ok_or_else(|| self.misfit(&format!("`{name}`"), value))?;
            return Ok(self.counted(name, vec![item])?);
        };
        let fit = |(index, item)| -> Result<Dynamic, Unfit> {
            fiber::slice()?;
            self.fit(item)?.ok_or_else(|| self.misfit(&format!("item {} of `{name}`", index + 1), item).into())
        };
        let items = items.iter().enumerate().map(fit).collect::<Result<Array, Unfit>>()?;
        Ok(self.counted(name, items)?)
    }

    /// The value of a parameter that isn't there.
    ///
    /// # Errors
    /// If it must be.
    pub fn absent(&self, name: &str) -> Result<Dynamic, String> {
        match &self.default {
            Some(default) => Ok(default.clone()),
            None if self.is_required => Err(format!("`{name}` is missing, expected {}", self.expected())),
            None if self.is_list => self.counted(name, Array::new()),
            None => Ok(Dynamic::UNIT),
        }
    }

    /// What a message says that the rule expects.
    pub fn expected(&self) -> String {
        let one = self.expected_item();
        let plain = self.kind.expected();
        match self.is_list {
            false => one,
            true if one == plain => format!("a list of {}", self.kind.expected_items()),
            true => format!("a list whose items are each {one}"),
        }
    }

    /// One value in the rule's type.
    fn fit(&self, value: &Dynamic) -> Result<Option<Dynamic>, Stop> {
        let Some(value) = self.kind.read(value) else { return Ok(None) };
        let is_in = self.min.as_ref().is_none_or(|min| self.kind.compare(&value, min).is_ge())
            && self.max.as_ref().is_none_or(|max| self.kind.compare(&value, max).is_le())
            && (self.values.is_empty() || self.values.iter().any(|it| is_same(it, &value)));
        let has_form = || {
            let Ok(text) = value.as_immutable_string_ref() else { return Ok(true) };
            match &self.pattern {
                _ if self.is_too_long(&text) || !self.length.holds(|| text.chars().count()) => Ok(false),
                Some(pattern) => pattern.matches(&text),
                None => Ok(true),
            }
        };
        Ok((is_in && has_form()?).then(|| value.clone()))
    }

    /// Whether a text is longer than a pattern is tried on, unless the script says how long it may be.
    fn is_too_long(&self, text: &str) -> bool {
        text.len() > LONGEST && self.pattern.is_some() && self.length.max.is_none()
    }

    fn counted(&self, name: &str, items: Array) -> Result<Dynamic, String> {
        if self.items.holds(|| items.len()) {
            return Ok(items.into());
        }
        let found = if items.len() == 1 { "1 item".into() } else { format!("{} items", items.len()) };
        Err(format!("`{name}` has {found}, expected {}", self.items.shown("item")))
    }

    fn misfit(&self, what: &str, value: &Dynamic) -> String {
        let is_item = what.starts_with("item ");
        let is_list = self.is_list && !is_item && !value.is_string();
        let expected = if is_list { self.expected() } else { self.expected_item() };
        let beyond = match value.as_immutable_string_ref() {
            Ok(text) if self.is_too_long(&text) => format!(", which is longer than {LONGEST} bytes"),
            _ if self.kind == Kind::Int && kind::is_beyond(value) => ", which is out of range".to_owned(),
            _ => String::new(),
        };
        format!("{what} is `{}`{beyond}, expected {expected}", shown(value))
    }

    fn expected_item(&self) -> String {
        if !self.values.is_empty() {
            return alternatives(&self.values);
        }
        let mut expected = self.kind.expected().to_owned();
        // Writing to a string does not fail.
        let _ = match (&self.min, &self.max, self.kind) {
            (None, None, _) => Ok(()),
            (Some(min), Some(max), Kind::Date | Kind::Datetime) => write!(expected, ", from {min} to {max}"),
            (Some(min), None, Kind::Date | Kind::Datetime) => write!(expected, ", not before {min}"),
            (None, Some(max), Kind::Date | Kind::Datetime) => write!(expected, ", not after {max}"),
            (Some(min), Some(max), _) => write!(expected, " from {min} to {max}"),
            (Some(min), None, _) => write!(expected, " of at least {min}"),
            (None, Some(max), _) => write!(expected, " of at most {max}"),
        };
        if self.length != Span::default() {
            let _ = write!(expected, " of {}", self.length.shown("character"));
        }
        if let Some(pattern) = &self.pattern {
            let _ = write!(expected, " that matches `{}`", pattern.source);
        }
        expected
    }
}

impl Span {
    /// Counts only where there is a bound.
    fn holds(self, count: impl FnOnce() -> usize) -> bool {
        if self == Span::default() {
            return true;
        }
        let count = count();
        self.min.is_none_or(|min| count >= min) && self.max.is_none_or(|max| count <= max)
    }

    fn shown(self, what: &str) -> String {
        let many = |count| if count == 1 { what.to_owned() } else { format!("{what}s") };
        match (self.min, self.max) {
            (Some(min), Some(max)) if min == max => format!("{min} {}", many(min)),
            (Some(min), Some(max)) => format!("{min} to {max} {}", many(max)),
            (Some(min), None) => format!("at least {min} {}", many(min)),
            (None, max) => format!("at most {} {}", max.unwrap_or(0), many(max.unwrap_or(0))),
        }
    }
}

/// Whether two values of one type are the same.
fn is_same(left: &Dynamic, right: &Dynamic) -> bool {
    match (left.as_int(), right.as_int(), left.as_float(), right.as_float()) {
        (Ok(left), Ok(right), ..) => left == right,
        (.., Ok(left), Ok(right)) => left.total_cmp(&right).is_eq(),
        _ => match (left.as_immutable_string_ref(), right.as_immutable_string_ref()) {
            (Ok(left), Ok(right)) => *left == *right,
            _ => left.as_bool().is_ok_and(|it| right.as_bool() == Ok(it)),
        },
    }
}

/// `a`, `b` or `c`.
fn alternatives(values: &[Dynamic]) -> String {
    let quoted: Vec<String> = values.iter().map(|it| format!("`{it}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

/// The value as the client wrote it, cut where it is long.
fn shown(value: &Dynamic) -> String {
    let text = if value.is_unit() {
        "null".into()
    } else if value.is_map() {
        "{…}".into()
    } else if value.is_array() {
        "[…]".into()
    } else if let Some(number) = value.read_lock::<Decimal>() {
        number.to_string()
    } else {
        value.to_string()
    };
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
