//! What a script sees of a request: Rack's and CGI's keys, and beside them what a person would ask
//! for. It answers from the request; what a script doesn't ask for is never built.

use std::cell::{Cell, OnceCell, RefCell};
use std::fmt;
use std::rc::Rc;

use rhai::{Array, Dynamic, Engine, EvalAltResult, ImmutableString, Map, NativeCallContext};

use super::raise::Wrong;
use crate::fiber;
use crate::http::{Refused, Request};

mod body;
mod cookies;
mod errors;
mod fields;
mod file;
mod form;
mod format;
mod header;
mod input;
mod keys;
mod multipart;
mod overview;
mod params;
mod readers;
mod received;
mod target;

pub use fields::Fields;
pub use format::Formats;
pub use keys::{KEYS, Kind};
pub use overview::Group;
pub use target::check as check_target;

use errors::Errors;
use fields::Pairs;
use form::Form;
use input::Input;
use received::Received;

/// A request as scripts see it. Clones are the same env: what one sets all see.
#[derive(Clone)]
pub struct Env(Rc<Inner>);

struct Inner {
    request: Rc<Request>,
    software: ImmutableString,
    memory: u64,
    /// What scripts have set; it is looked at first.
    own: RefCell<Map>,
    auth: RefCell<Dynamic>,
    path: RefCell<Rc<Pairs>>,
    /// The forms that the route can answer in, and the one that the path's suffix names.
    formats: RefCell<Option<(Rc<Formats>, Option<usize>)>>,
    /// What `env.params` says of names that the route declares.
    checked: RefCell<Vec<(ImmutableString, Dynamic)>>,
    query: OnceCell<Rc<Pairs>>,
    form: OnceCell<Form>,
    cookies: OnceCell<Rc<Pairs>>,
    json: OnceCell<Dynamic>,
    text: OnceCell<ImmutableString>,
    received: OnceCell<Received>,
    input: OnceCell<Input>,
    has_ended: Cell<bool>,
}

impl Env {
    /// Makes the env of a request whose body has arrived, one for all handlers of its path.
    /// `software` is `SERVER_SOFTWARE`; of the body at most `memory` bytes are read at once.
    pub fn new(request: Rc<Request>, software: ImmutableString, memory: u64) -> Env {
        Env(Rc::new(Inner {
            request,
            software,
            memory,
            own: RefCell::default(),
            auth: RefCell::new(Dynamic::UNIT),
            path: RefCell::new(Pairs::none()),
            formats: RefCell::default(),
            checked: RefCell::default(),
            query: OnceCell::new(),
            form: OnceCell::new(),
            cookies: OnceCell::new(),
            json: OnceCell::new(),
            text: OnceCell::new(),
            received: OnceCell::new(),
            input: OnceCell::new(),
            has_ended: Cell::new(false),
        }))
    }

    /// The request that it answers from.
    pub fn request(&self) -> &Rc<Request> {
        &self.0.request
    }

    /// `env.auth`: what a script set, or else what [`Env::set_auth`] did, or `()`.
    pub fn auth(&self) -> Dynamic {
        self.set_before("auth").unwrap_or_else(|| self.0.auth.borrow().clone())
    }

    /// Says whom the request's key belongs to.
    pub fn set_auth(&self, who: Dynamic) {
        *self.0.auth.borrow_mut() = who;
    }

    /// Makes these, decoded, the parameters of the path.
    pub fn set_path_params(&self, params: Vec<(ImmutableString, String)>) {
        if params.is_empty() && self.0.path.borrow().is_empty() {
            return;
        }
        let params = params.into_iter().map(|(name, value)| (name, value.into()));
        *self.0.path.borrow_mut() = Pairs::parameters(params);
    }

    /// Ends the request: from now on the body can't be read, and what scripts have set is gone
    /// (they may have set the env in itself, which would never be freed).
    pub fn end(&self) {
        self.0.has_ended.set(true);
        if let Some(received) = self.0.received.get() {
            received.end();
        }
        let own = self.0.own.take();
        let auth = self.0.auth.take();
        let is_flat = |it: &Dynamic| !(it.is_fnptr() || it.is_array() || it.is_map());
        if !own.is_empty() || !is_flat(&auth) {
            // As deeply nested as the script's memory allowed: a worker's own stack may be too short to free it.
            fiber::free(usize::try_from(self.0.memory).unwrap_or(usize::MAX), (own, auth));
        }
    }

    /// What `env[key]` is; `()` if there is no such key.
    ///
    /// # Errors
    /// If it is read from the body and that is malformed or too large.
    pub fn value(&self, key: &str) -> Result<Dynamic, Wrong> {
        if let Some(value) = self.set_before(key) {
            return Ok(value);
        }
        if let Some(known) = keys::find(key) {
            return (known.value)(self);
        }
        Ok(header::variable(&self.0.request, key))
    }

    /// Makes `value` what `env[key]` is, for the later handlers of the path too.
    pub fn set(&self, key: &str, value: Dynamic) {
        self.0.own.borrow_mut().insert(key.into(), value);
    }

    /// Makes `value` what `env[key]` is, or what the request says where it is `None`; gives what was set before.
    pub(super) fn replace(&self, key: &str, value: Option<Dynamic>) -> Option<Dynamic> {
        let mut own = self.0.own.borrow_mut();
        match value {
            Some(value) => own.insert(key.into(), value),
            None => own.remove(key),
        }
    }

    /// What a script or, in a variable, an earlier handler has set.
    #[inline]
    fn set_before(&self, key: &str) -> Option<Dynamic> {
        let own = self.0.own.borrow();
        if let Some(value) = own.get(key) {
            return Some(value.clone());
        }
        let variables = self.0.request.variables.borrow();
        variables.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.into())
    }

    /// All keys that are there, sorted, with their values; not the ones beside Rack's.
    fn to_map(&self) -> Result<Map, Wrong> {
        let mut map = Map::new();
        for key in KEYS.iter().filter(|key| key.kind == Kind::Rack) {
            map.insert(key.name.into(), (key.value)(self)?);
        }
        for (key, value) in header::variables(&self.0.request) {
            map.insert(key.into(), value);
        }
        for (key, value) in self.0.request.variables.borrow().iter() {
            map.insert(key.into(), value.into());
        }
        for (key, value) in self.0.own.borrow().iter() {
            map.insert(key.clone(), value.clone());
        }
        map.retain(|_, value| !value.is_unit());
        Ok(map)
    }

    fn received(&self) -> &Received {
        let request = &self.0.request;
        self.0.received.get_or_init(|| Received::new(request.clone(), self.0.memory, self.0.has_ended.get()))
    }
}

fn refused(refused: Refused) -> Wrong {
    match refused {
        Refused::TooLarge => Wrong::Client(413, "Request body too large".into()),
        Refused::TooSlow => Wrong::Client(408, "Request timeout".into()),
        Refused::Broken(error) => Wrong::bad_request(format!("the body broke off: {error}")),
        Refused::NoRoom(error) => Wrong::Server(format!("can't read the body's temporary file: {error}")),
    }
}

/// Names the request, without its query and headers: they may hold keys, and what is printed is logged.
impl fmt::Display for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "env of {} {}", self.0.request.head.method, self.0.request.head.uri.path())
    }
}

type Outcome<T> = Result<T, Box<EvalAltResult>>;

/// Registers the env and the types of its parts, with their methods.
pub fn register(engine: &mut Engine) {
    engine
        .register_type_with_name::<Env>("Env")
        .register_indexer_get(|context: NativeCallContext, env: &mut Env, key: ImmutableString| {
            env.value(&key).map_err(|wrong| wrong.raise(&context))
        })
        .register_indexer_set(|env: &mut Env, key: ImmutableString, value: Dynamic| env.set(&key, value))
        // Rhai has a number of this name on every value.
        .register_get_set(
            "tag",
            |env: &mut Env| env.set_before("tag").unwrap_or_default(),
            |env: &mut Env, value: Dynamic| env.set("tag", value),
        );
    // A property without a getter of its own is found by the indexer too, at twice the price.
    for key in KEYS {
        engine.register_get(key.name, |context: NativeCallContext, env: &mut Env| {
            let value = env.set_before(key.name).map_or_else(|| (key.value)(env), Ok);
            value.map_err(|wrong| wrong.raise(&context))
        });
    }
    for name in header::FREQUENT {
        engine.register_get(*name, |env: &mut Env| {
            env.set_before(name).unwrap_or_else(|| header::variable(&env.0.request, name))
        });
    }
    register_methods(engine);
    fields::register(engine);
    readers::register(engine);
    input::register(engine);
    file::register(engine);
    errors::register(engine);
}

/// The methods take the env by value: Rhai takes one that takes a reference for one that changes
/// it, and then writes back what was read.
fn register_methods(engine: &mut Engine) {
    fn map(context: &NativeCallContext, env: &Env) -> Outcome<Map> {
        env.to_map().map_err(|wrong| wrong.raise(context))
    }
    engine
        .register_fn("get", |context: NativeCallContext, env: Env, key: &str| {
            env.value(key).map_err(|wrong| wrong.raise(&context))
        })
        .register_fn("get", |context: NativeCallContext, env: Env, key: &str, default: Dynamic| -> Outcome<Dynamic> {
            let value = env.value(key).map_err(|wrong| wrong.raise(&context))?;
            Ok(if value.is_unit() { default } else { value })
        })
        .register_fn("set", |env: Env, key: &str, value: Dynamic| env.set(key, value))
        .register_fn("contains", |context: NativeCallContext, env: Env, key: &str| -> Outcome<bool> {
            env.value(key).map(|value| !value.is_unit()).map_err(|wrong| wrong.raise(&context))
        })
        .register_fn("to_map", |context: NativeCallContext, env: Env| map(&context, &env))
        .register_fn("keys", |context: NativeCallContext, env: Env| -> Outcome<Array> {
            Ok(map(&context, &env)?.into_keys().map(|key| key.as_str().into()).collect())
        })
        .register_fn("values", |context: NativeCallContext, env: Env| -> Outcome<Array> {
            Ok(map(&context, &env)?.into_values().collect())
        })
        .register_fn("len", |context: NativeCallContext, env: Env| -> Outcome<i64> {
            Ok(i64::try_from(map(&context, &env)?.len()).unwrap_or(i64::MAX))
        })
        .register_fn("to_string", |env: Env| env.to_string())
        .register_fn("to_debug", |env: Env| env.to_string())
        .register_fn("==", |left: Env, right: Env| Rc::ptr_eq(&left.0, &right.0))
        .register_fn("!=", |left: Env, right: Env| !Rc::ptr_eq(&left.0, &right.0));
}

#[cfg(test)]
mod tests;
