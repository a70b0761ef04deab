//! `router()`: what a script declares of its routes and of the functions around them.

use std::cell::{RefCell, RefMut};
use std::rc::Rc;

use rhai::{Array, Dynamic, Engine, FnPtr, Map, NativeCallContext};

use super::fault::{Result, raise};
use super::library::pinned;
use crate::router::Pattern;

mod course;
mod declaration;
mod describe;
mod sealed;

pub use describe::{Many, Operation, Parameter, Success};
pub(super) use sealed::Routes;

use declaration::Declaration;

/// Methods that a router has a function for, in lower case as that function is called.
const METHODS: [&str; 7] = ["get", "post", "put", "patch", "delete", "head", "options"];

/// The router that a script builds, or a group in one. Copies are the same.
#[derive(Clone)]
pub(super) struct Router {
    built: Rc<RefCell<Built>>,
    /// The scope that what is declared belongs to: 0 is the router's own.
    scope: usize,
}

struct Built {
    scopes: Vec<Scope>,
    /// Routes and mounts in their order.
    entries: Vec<Entry>,
    /// Whether the script has started: routes that come later would never be found.
    is_sealed: bool,
}

/// A router's own functions, or a group's.
#[derive(Default)]
struct Scope {
    /// The scope around it; the router's own is around itself.
    parent: usize,
    /// What stands before its patterns, from the router on; empty or with a `/` at its beginning only.
    prefix: String,
    before: Vec<FnPtr>,
    after: Vec<FnPtr>,
    not_found: Option<FnPtr>,
    rescue: Option<FnPtr>,
}

enum Entry {
    Route { scope: usize, verb: Verb, pattern: String, declared: Option<Rc<Declaration>>, handler: FnPtr },
    Mount { scope: usize, prefix: String, router: Router },
}

/// Which requests a route is for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verb {
    /// All but OPTIONS: that comes without an API key, and is answered by the routes that there are.
    Any,
    /// Those of one method, as it stands in requests.
    One(String),
}

/// Makes `router()` known to scripts. The functions take the router by value: a reference would
/// lock the script's variable while a group is declared.
pub(super) fn register(engine: &mut Engine) {
    engine.register_type_with_name::<Router>("Router");
    engine.register_fn("router", Router::new);
    let verbs = METHODS.map(|name| (name, Verb::One(name.to_ascii_uppercase())));
    for (name, verb) in verbs.into_iter().chain([("any", Verb::Any)]) {
        let same = verb.clone();
        engine.register_fn(name, move |call: NativeCallContext, router: Router, pattern: &str, handler: FnPtr| {
            router.add(&call, vec![verb.clone()], pattern, None, &own(&call, handler))
        });
        engine.register_fn(
            name,
            move |call: NativeCallContext, router: Router, pattern: &str, declared: Map, handler: FnPtr| {
                router.add(&call, vec![same.clone()], pattern, Some(&declared), &own(&call, handler))
            },
        );
    }
    engine.register_fn(
        "route",
        |call: NativeCallContext, router: Router, methods: Dynamic, pattern: &str, handler: FnPtr| {
            router.add(&call, verbs_of(&call, methods)?, pattern, None, &own(&call, handler))
        },
    );
    engine.register_fn(
        "route",
        |call: NativeCallContext, router: Router, methods: Dynamic, pattern: &str, declared: Map, handler: FnPtr| {
            router.add(&call, verbs_of(&call, methods)?, pattern, Some(&declared), &own(&call, handler))
        },
    );
    engine.register_fn("before", |call: NativeCallContext, router: Router, filter: FnPtr| {
        let filter = own(&call, filter);
        router.change(&call, |scope| {
            scope.before.push(filter);
            Ok(())
        })
    });
    engine.register_fn("after", |call: NativeCallContext, router: Router, filter: FnPtr| {
        let filter = own(&call, filter);
        router.change(&call, |scope| {
            scope.after.push(filter);
            Ok(())
        })
    });
    engine.register_fn("not_found", |call: NativeCallContext, router: Router, handler: FnPtr| {
        let handler = own(&call, handler);
        router.change(&call, |scope| once(&mut scope.not_found, handler, "not_found"))
    });
    engine.register_fn("rescue", |call: NativeCallContext, router: Router, handler: FnPtr| {
        let handler = own(&call, handler);
        router.change(&call, |scope| once(&mut scope.rescue, handler, "rescue"))
    });
    engine.register_fn("group", |call: NativeCallContext, router: Router, prefix: &str, declare: FnPtr| {
        router.group(&call, prefix, &declare)
    });
    engine.register_fn("group", |call: NativeCallContext, router: Router, declare: FnPtr| {
        router.group(&call, "/", &declare)
    });
    engine.register_fn("mount", |call: NativeCallContext, router: Router, prefix: &str, inner: Router| {
        router.mount(&call, prefix, inner)
    });
}

/// The function, to be found again where the router is used: it may be declared in a module.
fn own(call: &NativeCallContext, function: FnPtr) -> FnPtr {
    match (call.call_source(), call.tag()) {
        (Some(file), Some(tag)) => pinned(function, file, tag),
        _ => function,
    }
}

impl Router {
    fn new() -> Router {
        let built = Built { scopes: vec![Scope::default()], entries: Vec::new(), is_sealed: false };
        Router { built: Rc::new(RefCell::new(built)), scope: 0 }
    }

    fn add(
        self,
        call: &NativeCallContext,
        verbs: Vec<Verb>,
        pattern: &str,
        declared: Option<&Map>,
        handler: &FnPtr,
    ) -> Result<Router> {
        let mut built = self.open(call)?;
        // Only what surrounds the router in the end is not checked here.
        let parsed =
            Pattern::below(&built.scopes[self.scope].prefix, pattern).map_err(|message| raise(call, message))?;
        let names: Vec<_> = parsed.names().collect();
        let declared = declared.map(|it| Declaration::of(it, &names).map(Rc::new)).transpose();
        let declared = declared.map_err(|message| raise(call, message))?;
        for verb in verbs {
            let (scope, pattern, handler) = (self.scope, pattern.to_owned(), handler.clone());
            built.entries.push(Entry::Route { scope, verb, pattern, declared: declared.clone(), handler });
        }
        drop(built);
        Ok(self)
    }

    fn change(
        self,
        call: &NativeCallContext,
        change: impl FnOnce(&mut Scope) -> std::result::Result<(), String>,
    ) -> Result<Router> {
        let changed = change(&mut self.open(call)?.scopes[self.scope]);
        changed.map_err(|message| raise(call, message)).map(|()| self)
    }

    fn group(self, call: &NativeCallContext, prefix: &str, declare: &FnPtr) -> Result<Router> {
        let mut built = self.open(call)?;
        let prefix = built.scopes[self.scope].below(prefix).map_err(|message| raise(call, message))?;
        let group = Router { built: self.built.clone(), scope: built.scopes.len() };
        built.scopes.push(Scope { parent: self.scope, prefix, ..Scope::default() });
        drop(built);
        let _: Dynamic = declare.call_within_context(call, (group,))?;
        Ok(self)
    }

    fn mount(self, call: &NativeCallContext, prefix: &str, inner: Router) -> Result<Router> {
        if inner.scope != 0 {
            return Err(raise(call, "a group is mounted, expected a router"));
        }
        if inner.holds(&self) {
            return Err(raise(call, "a router is mounted in itself"));
        }
        let mut built = self.open(call)?;
        let prefix = built.scopes[self.scope].below(prefix).map_err(|message| raise(call, message))?;
        built.entries.push(Entry::Mount { scope: self.scope, prefix, router: inner });
        drop(built);
        Ok(self)
    }

    fn open(&self, call: &NativeCallContext) -> Result<RefMut<'_, Built>> {
        let built = self.built.borrow_mut();
        if built.is_sealed {
            return Err(raise(call, "routes are declared when the script starts, not in a handler"));
        }
        Ok(built)
    }

    /// Whether a router is this one or mounted in it.
    fn holds(&self, other: &Router) -> bool {
        Rc::ptr_eq(&self.built, &other.built)
            || self.built.borrow().entries.iter().any(|entry| match entry {
                Entry::Mount { router, .. } => router.holds(other),
                Entry::Route { .. } => false,
            })
    }
}

impl Scope {
    /// The prefix of what is grouped or mounted here.
    fn below(&self, prefix: &str) -> std::result::Result<String, String> {
        let joined = format!("{}{}", self.prefix, prefix.strip_suffix('/').unwrap_or(prefix));
        if joined.is_empty() && prefix == "/" {
            return Ok(joined);
        }
        let pattern = Pattern::parse(if prefix.starts_with('/') { &joined } else { prefix })?;
        if pattern.suffixes().is_empty() && !prefix.contains('*') {
            return Ok(joined);
        }
        Err(format!(
            "the prefix `{prefix}` has a suffix or `*`, expected one such as `/admin` or `/companies/:company`"
        ))
    }
}

fn once(place: &mut Option<FnPtr>, handler: FnPtr, name: &str) -> std::result::Result<(), String> {
    match place.replace(handler) {
        None => Ok(()),
        Some(_) => Err(format!("`{name}` is declared twice for the same router or group")),
    }
}

/// One method or a list of them.
fn verbs_of(call: &NativeCallContext, methods: Dynamic) -> Result<Vec<Verb>> {
    let methods = if methods.is_array() { methods.cast::<Array>() } else { vec![methods] };
    let verb = |method: Dynamic| -> std::result::Result<Verb, String> {
        let name = method
            .into_immutable_string()
            .map_err(|found| format!("the method is of the type `{found}`, expected a string"))?;
        if http::Method::from_bytes(name.as_bytes()).is_err() {
            return Err(format!("the method {name:?} is not a token (RFC 9110 §9.1)"));
        }
        let upper = name.to_ascii_uppercase();
        if *name != upper && METHODS.iter().any(|it| it.eq_ignore_ascii_case(&name)) {
            return Err(format!("the method is `{name}`, expected `{upper}`: methods tell upper from lower case"));
        }
        Ok(Verb::One(name.into()))
    };
    methods.into_iter().map(|it| verb(it).map_err(|message| raise(call, message))).collect::<Result<_>>()
}

impl Verb {
    fn takes(&self, method: &str) -> bool {
        match self {
            Verb::Any => method != "OPTIONS",
            Verb::One(own) => own == method,
        }
    }
}
