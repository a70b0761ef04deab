//! Names with their values, as a query, a form, a path, headers and cookies have them.

use std::collections::HashMap;
use std::rc::Rc;

use rhai::{Array, Dynamic, Engine, EvalAltResult, ImmutableString, Map, NativeCallContext};

use super::{Env, header};
use crate::fiber::{self, Stop};
use crate::http::Request;
use crate::script::raise::Wrong;

/// Fields of a request. `fields["name"]` and `fields.name` are the value, or `()`; where a name
/// is repeated, one value, and `fields.all("name")` has them all.
#[derive(Clone)]
pub struct Fields(Source);

/// Where fields are read from.
#[derive(Clone)]
pub(super) enum Source {
    Pairs(Rc<Pairs>),
    Headers(Rc<Request>),
    Params(Env),
    Body(Env),
}

/// Decoded names and values in the order in which they came.
pub(super) struct Pairs {
    pairs: Vec<(ImmutableString, Dynamic)>,
    names: Names,
}

/// What the names of fields mean.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    /// Parameters: the last of a name counts, as in Rack, and `tag[]` is `tag`, which is how some
    /// clients write one that is repeated.
    Parameters,
    /// Cookies: the first of a name counts.
    Cookies,
}

thread_local! {
    static NONE: Rc<Pairs> = Pairs::parameters([]);
}

/// Names, each once and in the order of their first coming, with the value that counts.
pub(super) type Entries = Vec<(ImmutableString, Dynamic)>;

impl Pairs {
    pub fn none() -> Rc<Pairs> {
        NONE.with(Rc::clone)
    }

    /// Parameters of a query, a form or a path; of a repeated one the last counts.
    pub fn parameters(pairs: impl IntoIterator<Item = (ImmutableString, Dynamic)>) -> Rc<Pairs> {
        let plain = |(name, value): (ImmutableString, Dynamic)| match name.strip_suffix("[]") {
            Some(plain) => (plain.into(), value),
            None => (name, value),
        };
        Rc::new(Pairs { pairs: pairs.into_iter().map(plain).collect(), names: Names::Parameters })
    }

    /// Cookies; of a repeated one the first counts.
    pub fn cookies(pairs: Vec<(ImmutableString, Dynamic)>) -> Rc<Pairs> {
        Rc::new(Pairs { pairs, names: Names::Cookies })
    }

    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    pub fn value(&self, name: &str) -> Option<Dynamic> {
        let mut values = self.of(name);
        if self.names == Names::Cookies { values.next() } else { values.next_back() }.cloned()
    }

    pub fn all(&self, name: &str) -> Array {
        self.of(name).cloned().collect()
    }

    fn of(&self, name: &str) -> impl DoubleEndedIterator<Item = &Dynamic> {
        let name = match self.names {
            Names::Parameters => name.strip_suffix("[]").unwrap_or(name),
            Names::Cookies => name,
        };
        self.pairs.iter().filter(move |(other, _)| other == name).map(|(_, value)| value)
    }

    /// Each name with the value that counts, in the order of their first coming.
    ///
    /// # Errors
    /// If the script has to stop: a form may have hundreds of thousands.
    pub fn entries(&self) -> Result<Entries, Stop> {
        let mut entries = Entries::new();
        let mut places = HashMap::new();
        for (name, value) in &self.pairs {
            fiber::tick()?;
            let place = *places.entry(name).or_insert(entries.len());
            if place == entries.len() {
                entries.push((name.clone(), value.clone()));
            } else if self.names == Names::Parameters {
                entries[place].1 = value.clone();
            }
        }
        Ok(entries)
    }
}

impl Fields {
    pub(super) fn new(source: Source) -> Fields {
        Fields(source)
    }

    /// The value that counts for `name`.
    pub(super) fn value(&self, name: &str) -> Result<Option<Dynamic>, Wrong> {
        match &self.0 {
            Source::Pairs(pairs) => Ok(pairs.value(name)),
            Source::Headers(request) => {
                let value = header::joined(&request.head.headers, &name.to_ascii_lowercase());
                Ok((!value.is_unit()).then_some(value))
            }
            Source::Params(env) => env.param(name),
            Source::Body(env) => env.body_param(name),
        }
    }

    fn all(&self, name: &str) -> Result<Array, Wrong> {
        match &self.0 {
            Source::Pairs(pairs) => Ok(pairs.all(name)),
            Source::Headers(request) => {
                let lines = request.head.headers.get_all(name.to_ascii_lowercase());
                Ok(lines.iter().map(|line| header::text(line).into()).collect())
            }
            Source::Params(env) | Source::Body(env) => env.all_params(name),
        }
    }

    /// All values of `name` as a list; `None` where there are none. What isn't a list in a JSON body
    /// stays what it is.
    pub(super) fn list(&self, name: &str) -> Result<Option<Dynamic>, Wrong> {
        match &self.0 {
            Source::Params(env) => return env.list_param(name),
            Source::Body(env) => return env.body_list(name),
            Source::Pairs(_) | Source::Headers(_) => {}
        }
        let all = self.all(name)?;
        Ok((!all.is_empty()).then(|| all.into()))
    }

    fn entries(&self) -> Result<Entries, Wrong> {
        match &self.0 {
            Source::Pairs(pairs) => Ok(pairs.entries()?),
            Source::Headers(request) => {
                let headers = &request.head.headers;
                let names = headers.keys().map(http::HeaderName::as_str);
                Ok(names.map(|name| (name.into(), header::joined(headers, name))).collect())
            }
            Source::Params(env) => env.param_entries(),
            Source::Body(env) => env.body_entries(),
        }
    }

    /// Each name with the value that counts.
    ///
    /// # Errors
    /// If they are read from the body and that is malformed or too large.
    pub fn to_map(&self) -> Result<Map, Wrong> {
        let member = |(name, value): (ImmutableString, Dynamic)| {
            fiber::tick()?;
            Ok((name.as_str().into(), value))
        };
        self.entries()?.into_iter().map(member).collect()
    }
}

/// `for name in fields`. A body that can't be read ends it with that error; its place is the loop's,
/// since Rhai gives an iterator no context.
impl IntoIterator for Fields {
    type Item = Outcome<ImmutableString>;
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        let names: Vec<Self::Item> = match self.entries() {
            Ok(entries) => entries.into_iter().map(|(name, _)| Ok(name)).collect(),
            Err(wrong) => vec![Err(wrong.raise_at(rhai::Position::NONE))],
        };
        names.into_iter()
    }
}

type Outcome<T> = Result<T, Box<EvalAltResult>>;

/// The methods take the fields by value, for what is said of the env's.
pub(super) fn register(engine: &mut Engine) {
    fn entries(context: &NativeCallContext, fields: &Fields) -> Outcome<Entries> {
        fields.entries().map_err(|wrong| wrong.raise(context))
    }
    engine
        .register_type_with_name::<Fields>("Fields")
        .register_iterator_result::<Fields, ImmutableString>()
        .register_indexer_get(|context: NativeCallContext, fields: &mut Fields, name: ImmutableString| {
            fields.value(&name).map(Option::unwrap_or_default).map_err(|wrong| wrong.raise(&context))
        })
        // Rhai has a number of this name on every value.
        .register_get("tag", |context: NativeCallContext, fields: &mut Fields| {
            fields.value("tag").map(Option::unwrap_or_default).map_err(|wrong| wrong.raise(&context))
        })
        .register_fn("all", |context: NativeCallContext, fields: Fields, name: &str| {
            fields.all(name).map_err(|wrong| wrong.raise(&context))
        })
        .register_fn("get", |context: NativeCallContext, fields: Fields, name: &str| {
            fields.value(name).map(Option::unwrap_or_default).map_err(|wrong| wrong.raise(&context))
        })
        .register_fn("get", |context: NativeCallContext, fields: Fields, name: &str, default: Dynamic| {
            fields.value(name).map(|value| value.unwrap_or(default)).map_err(|wrong| wrong.raise(&context))
        })
        .register_fn("contains", |context: NativeCallContext, fields: Fields, name: &str| {
            fields.value(name).map(|value| value.is_some()).map_err(|wrong| wrong.raise(&context))
        })
        .register_fn("keys", |context: NativeCallContext, fields: Fields| -> Outcome<Array> {
            Ok(entries(&context, &fields)?.into_iter().map(|(name, _)| name.into()).collect())
        })
        .register_fn("values", |context: NativeCallContext, fields: Fields| -> Outcome<Array> {
            Ok(entries(&context, &fields)?.into_iter().map(|(_, value)| value).collect())
        })
        .register_fn("len", |context: NativeCallContext, fields: Fields| -> Outcome<i64> {
            Ok(i64::try_from(entries(&context, &fields)?.len()).unwrap_or(i64::MAX))
        })
        .register_fn("to_map", |context: NativeCallContext, fields: Fields| {
            fields.to_map().map_err(|wrong| wrong.raise(&context))
        })
        .register_fn("to_string", |context: NativeCallContext, fields: Fields| shown(&context, &fields))
        .register_fn("to_debug", |context: NativeCallContext, fields: Fields| shown(&context, &fields));
}

/// The names alone: values may be keys, and what is printed is logged.
fn shown(context: &NativeCallContext, fields: &Fields) -> Outcome<String> {
    let entries = fields.entries().map_err(|wrong| wrong.raise(context))?;
    let names: Vec<&str> = entries.iter().map(|(name, _)| name.as_str()).collect();
    Ok(format!("fields {}", names.join(", ")))
}
