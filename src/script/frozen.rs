//! `freeze(value)`: a list or a map that never changes, so that calls share it where they would have copies.

use std::fmt;
use std::rc::Rc;

use rhai::{Array, Blob, Dynamic, FnPtr, Identifier, Map};

use super::decimal::Decimal;
use super::raise::Wrong;
use super::rows::{Row, Rows};
use crate::fiber::{self, Stop};

mod methods;

pub(super) use methods::register;

/// Lists in lists that can be frozen; as many as JSON may have.
const MAX_DEPTH: usize = 128;

/// A list or a map with all that is in it; a copy of it is the same one.
#[derive(Clone)]
pub struct Frozen(Rc<Kept>);

struct Kept {
    inner: Inner,
    /// How deep it is nested: counted once, since what is in it may be in it many times.
    levels: usize,
}

/// What is frozen. The lists and maps in it are frozen ones of their own, so that a look-up copies nothing.
pub(super) enum Inner {
    List(Array),
    Map(Map),
}

/// Why a value can't be frozen.
#[derive(Debug)]
pub(super) enum Unfit {
    /// Something in it changes; where, and what it is.
    Changes {
        path: String,
        kind: String,
    },
    /// It is nested too deeply.
    Deep,
    Stopped(Stop),
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfit::Changes { path, kind } if path.is_empty() => {
                write!(f, "a value of the type `{kind}` can't be frozen")
            }
            Unfit::Changes { path, kind } => write!(f, "`{path}` has the type `{kind}`, which can't be frozen"),
            Unfit::Deep => write!(f, "what is nested more than {MAX_DEPTH} levels deep can't be frozen"),
            Unfit::Stopped(stop) => write!(f, "stopped: {stop:?}"),
        }
    }
}

/// Freezes a value. What never changes stays as it is: numbers, texts, rows.
pub(super) fn freeze(value: Dynamic) -> std::result::Result<Dynamic, Unfit> {
    frozen(value, MAX_DEPTH)
}

fn frozen(value: Dynamic, depth: usize) -> std::result::Result<Dynamic, Unfit> {
    fiber::tick().map_err(Unfit::Stopped)?;
    // What a closure captured is a shared cell.
    let value = value.flatten();
    if value.is_map() {
        let depth = depth.checked_sub(1).ok_or(Unfit::Deep)?;
        let member = |(key, value): (Identifier, Dynamic)| match frozen(value, depth) {
            Ok(value) => Ok((key, value)),
            Err(unfit) => Err(unfit.within(&key)),
        };
        let map = value.cast::<Map>().into_iter().map(member).collect::<std::result::Result<Map, _>>()?;
        let levels = levels(map.values());
        return Ok(Dynamic::from(Frozen(Rc::new(Kept { inner: Inner::Map(map), levels }))));
    }
    if value.is_array() {
        let depth = depth.checked_sub(1).ok_or(Unfit::Deep)?;
        let item = |(index, value)| frozen(value, depth).map_err(|unfit| unfit.within(&format!("[{index}]")));
        let list = value.cast::<Array>().into_iter().enumerate().map(item);
        let list = list.collect::<std::result::Result<Array, _>>()?;
        let levels = levels(list.iter());
        return Ok(Dynamic::from(Frozen(Rc::new(Kept { inner: Inner::List(list), levels }))));
    }
    if let Some(levels) = value.read_lock::<Frozen>().map(|it| it.0.levels) {
        return if levels > depth { Err(Unfit::Deep) } else { Ok(value) };
    }
    let stays = value.is_unit()
        || value.is_bool()
        || value.is_int()
        || value.is_float()
        || value.is_char()
        || value.is_string()
        || value.is::<Decimal>()
        || value.is::<Rows>()
        || value.is::<Row>()
        || value.is::<Blob>();
    if stays { Ok(value) } else { Err(Unfit::Changes { path: String::new(), kind: short_name(&value) }) }
}

/// How deep what holds these values is nested.
fn levels<'a>(values: impl Iterator<Item = &'a Dynamic>) -> usize {
    1 + values.map(|it| it.read_lock::<Frozen>().map_or(0, |it| it.0.levels)).max().unwrap_or(0)
}

fn short_name(value: &Dynamic) -> String {
    if value.is::<FnPtr>() {
        return "Fn".into();
    }
    let name = value.type_name();
    name.rsplit("::").next().unwrap_or(name).into()
}

impl Unfit {
    fn within(self, step: &str) -> Unfit {
        let Unfit::Changes { path, kind } = self else { return self };
        let dot = if path.is_empty() || path.starts_with('[') { "" } else { "." };
        Unfit::Changes { path: format!("{step}{dot}{path}"), kind }
    }
}

impl From<Unfit> for Wrong {
    fn from(unfit: Unfit) -> Wrong {
        match unfit {
            Unfit::Stopped(stop) => stop.into(),
            other => Wrong::Server(other.to_string()),
        }
    }
}

impl Frozen {
    pub(super) fn inner(&self) -> &Inner {
        &self.0.inner
    }

    /// The items of a list; `None` of a map.
    pub fn list(&self) -> Option<&[Dynamic]> {
        match &self.0.inner {
            Inner::List(list) => Some(list),
            Inner::Map(_) => None,
        }
    }

    /// The members of a map; `None` of a list.
    pub fn map(&self) -> Option<&Map> {
        match &self.0.inner {
            Inner::Map(map) => Some(map),
            Inner::List(_) => None,
        }
    }

    fn len(&self) -> usize {
        match &self.0.inner {
            Inner::List(list) => list.len(),
            Inner::Map(map) => map.len(),
        }
    }

    /// The same as values that can be changed.
    ///
    /// # Errors
    /// If the script has to stop.
    pub fn thaw(&self) -> std::result::Result<Dynamic, Stop> {
        fiber::tick()?;
        Ok(match &self.0.inner {
            Inner::List(list) => Dynamic::from_array(list.iter().map(thawed).collect::<std::result::Result<_, _>>()?),
            Inner::Map(map) => {
                let member = |(key, value): (&Identifier, &Dynamic)| Ok((key.clone(), thawed(value)?));
                Dynamic::from_map(map.iter().map(member).collect::<std::result::Result<_, _>>()?)
            }
        })
    }
}

/// A value for who takes it apart: a frozen one as what can be changed, all else as it is.
pub(super) fn plain(value: Dynamic) -> std::result::Result<Dynamic, Stop> {
    let frozen = value.read_lock::<Frozen>().map(|it| it.clone());
    frozen.map_or(Ok(value), |it| it.thaw())
}

fn thawed(value: &Dynamic) -> std::result::Result<Dynamic, Stop> {
    fiber::tick()?;
    match value.read_lock::<Frozen>() {
        Some(frozen) => frozen.thaw(),
        None => Ok(value.clone()),
    }
}
