//! What the native functions that a script calls know of the path that it serves.

use std::rc::Rc;

use rhai::{Dynamic, ImmutableString, Map, NativeCallContext};

use super::fault::{Result, raise};
use super::json::Shapes;
use super::library::Closures;
use super::values::Values;
use crate::auth;
use crate::db::Databases;
use crate::envelope;
use crate::file::Hidden;

/// The surroundings of a script. Rhai hands it to natives as the tag of the call.
pub struct Context {
    /// Order of the keys of maps, as the script's literals have it.
    pub shapes: Shapes,
    /// The words of the JSON envelope.
    pub envelope: envelope::Settings,
    /// How requests of the path show their API key.
    pub auth: auth::Settings,
    /// `SERVER_SOFTWARE`.
    pub software: ImmutableString,
    /// Files that no reply shows.
    pub hidden: Rc<Hidden>,
    /// The path's `rhai.settings`; lists and maps in them are frozen.
    pub settings: Map,
    /// What `settings` are made of.
    pub values: Values,
    /// The databases of the generation.
    pub databases: Rc<Databases>,
    /// The closures of the script and of the modules that it imports.
    pub closures: Closures,
}

impl Context {
    /// Gives the context of the running script to `read`.
    ///
    /// # Errors
    /// If the call does not come from a script of a path.
    pub fn with<T>(call: &NativeCallContext, read: impl FnOnce(&Context) -> T) -> Result<T> {
        // The pointer is copied, so that nothing is locked while `read` may be suspended.
        let context = call.tag().and_then(Context::of);
        let context = context.ok_or_else(|| raise(call, "this is only there for the scripts of a path".to_owned()))?;
        Ok(read(&context))
    }

    /// The context that is the tag of a call.
    pub(super) fn of(tag: &Dynamic) -> Option<Rc<Context>> {
        tag.read_lock::<Rc<Context>>().map(|it| Rc::clone(&it))
    }

    /// Whether two tags are the same context.
    pub(super) fn is_same(one: &Dynamic, other: &Dynamic) -> bool {
        match (one.read_lock::<Rc<Context>>(), other.read_lock::<Rc<Context>>()) {
            (Some(one), Some(other)) => Rc::ptr_eq(&one, &other),
            _ => false,
        }
    }
}
