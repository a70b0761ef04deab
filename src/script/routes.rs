//! `router()`: routes by method and pattern, with filters before them.

use std::cell::{RefCell, RefMut};
use std::rc::Rc;

use rhai::{Dynamic, EvalAltResult, FnPtr, NativeCallContext};

use super::env::Env;
use super::fault::{Result, raise};
use super::program::{Function, Program};
use super::reply::is_meant_as_reply;
use crate::reply::Reply;
use crate::router::{Captures, Pattern, without_dots};

/// Methods that a router has a function for, in lower case as that function is called.
const METHODS: [&str; 7] = ["get", "post", "put", "patch", "delete", "head", "options"];

/// The router that a script builds. Copies are the same router.
#[derive(Clone, Default)]
pub(super) struct Router(Rc<RefCell<Built>>);

#[derive(Default)]
struct Built {
    before: Vec<FnPtr>,
    routes: Vec<(String, Pattern, FnPtr)>,
    /// Whether the script has started: routes that come later would never be found.
    is_sealed: bool,
}

/// Makes `router()` known to scripts.
pub(super) fn register(engine: &mut rhai::Engine) {
    engine.register_type_with_name::<Router>("Router");
    engine.register_fn("router", Router::default);
    for method in METHODS {
        engine.register_fn(
            method,
            move |call: NativeCallContext, router: &mut Router, pattern: &str, handler: FnPtr| {
                router.add(&call, method.to_ascii_uppercase(), pattern, handler)
            },
        );
    }
    engine.register_fn(
        "route",
        |call: NativeCallContext, router: &mut Router, method: &str, pattern: &str, handler: FnPtr| {
            router.add(&call, method.to_owned(), pattern, handler)
        },
    );
    engine.register_fn("before", |call: NativeCallContext, router: &mut Router, filter: FnPtr| {
        router.open(&call)?.before.push(filter);
        Ok::<_, Box<EvalAltResult>>(router.clone())
    });
}

impl Router {
    fn add(&mut self, call: &NativeCallContext, method: String, pattern: &str, handler: FnPtr) -> Result<Router> {
        let pattern = Pattern::parse(pattern).map_err(|message| raise(call, message))?;
        self.open(call)?.routes.push((method, pattern, handler));
        Ok(self.clone())
    }

    fn open(&self, call: &NativeCallContext) -> Result<RefMut<'_, Built>> {
        let built = self.0.borrow_mut();
        if built.is_sealed {
            return Err(raise(call, "routes are declared when the script starts, not in a handler"));
        }
        Ok(built)
    }
}

/// A router that the top level has built: it changes no more.
pub(super) struct Routes {
    before: Vec<Function>,
    routes: Vec<Route>,
}

struct Route {
    method: String,
    pattern: Pattern,
    handler: Function,
}

/// What a router makes of a request.
pub(super) enum Dispatch {
    /// A filter's or a handler's value.
    Value(Dynamic),
    /// No pattern fits.
    NotFound,
    /// A pattern fits, but for other methods: those that `Allow` names.
    OtherMethod(String),
}

impl Routes {
    /// The routes that were declared, in their order.
    pub(super) fn of(router: &Router) -> Routes {
        let mut built = router.0.borrow_mut();
        built.is_sealed = true;
        let route = |(method, pattern, handler): &(String, Pattern, FnPtr)| Route {
            method: method.clone(),
            pattern: pattern.clone(),
            handler: Function::of(handler),
        };
        Routes {
            before: built.before.iter().map(Function::of).collect(),
            routes: built.routes.iter().map(route).collect(),
        }
    }

    /// All filters and handlers.
    pub(super) fn functions(&self) -> impl Iterator<Item = &Function> {
        self.before.iter().chain(self.routes.iter().map(|it| &it.handler))
    }

    /// Runs the filters and the first route that fits.
    pub(super) fn dispatch(&self, program: &Program, env: &Env) -> Result<Dispatch> {
        let request = env.request();
        let method = request.head.method.as_str();
        let path = without_dots(request.path_info());
        let own = self.matching(&path, method);
        if method == "OPTIONS" && own.is_none() {
            let allow = self.allowed(&path);
            return Ok(if allow.is_empty() { Dispatch::NotFound } else { Dispatch::Value(options(&allow)) });
        }
        for filter in &self.before {
            let value = program.call(filter, Dynamic::from(env.clone()))?;
            // Also a malformed one: what a filter meant to refuse must not get through.
            if is_meant_as_reply(&value) {
                return Ok(Dispatch::Value(value));
            }
        }
        if let Some((route, captures)) = own {
            env.set_path_params(captures.into_iter().map(|(name, value)| (name.into(), value)).collect());
            return program.call(&route.handler, Dynamic::from(env.clone())).map(Dispatch::Value);
        }
        let allow = self.allowed(&path);
        Ok(if allow.is_empty() { Dispatch::NotFound } else { Dispatch::OtherMethod(allow) })
    }

    /// The first route for the method; HEAD is answered by GET's where it has none of its own.
    fn matching<'r>(&'r self, path: &str, method: &str) -> Option<(&'r Route, Captures<'r>)> {
        let by = |method: &str, path: &str| {
            self.routes.iter().filter(|it| it.method == method).find_map(|it| Some((it, it.pattern.captures(path)?)))
        };
        let reads = matches!(method, "GET" | "HEAD");
        // `/projects/` is `/projects`, for reading only: a form sent there was meant for elsewhere.
        let shorter = Pattern::without_slash(path).filter(|_| reads);
        std::iter::once(path)
            .chain(shorter)
            .find_map(|path| by(method, path).or_else(|| if method == "HEAD" { by("GET", path) } else { None }))
    }

    /// The methods that the path has routes for, as `Allow` lists them; empty if none.
    fn allowed(&self, path: &str) -> String {
        let mut methods: Vec<&str> = Vec::new();
        let mut add = |method| {
            if !methods.contains(&method) {
                methods.push(method);
            }
        };
        for route in &self.routes {
            if route.pattern.captures(path).is_some() {
                add(&route.method);
                if route.method == "GET" {
                    add("HEAD");
                }
            }
        }
        if !methods.is_empty() && !methods.contains(&"OPTIONS") {
            methods.push("OPTIONS");
        }
        methods.join(", ")
    }
}

fn options(allow: &str) -> Dynamic {
    let mut reply = Reply::empty(204);
    // Method names are tokens, or no request would have matched them.
    let _ = reply.add_header("allow", allow);
    Dynamic::from(reply)
}
