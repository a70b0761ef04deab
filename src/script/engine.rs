//! The Rhai engine of a worker, with its guards.

use std::cell::RefCell;
use std::collections::HashMap;

use rhai::{Dynamic, OptimizationLevel};

use super::parsed::Kept;
use super::{builtins, cookie, decimal, env, file, frozen, library, makers, reply, routes, rows, text};
use crate::fiber;

/// Deepest nesting of expressions at the top level and in functions; with it and 64 call levels
/// the worst legal script uses 2.4 MiB of a fiber's 4 MiB stack.
pub(super) const EXPRESSION_DEPTHS: (usize, usize) = (64, 32);

/// Adds native functions to an engine.
pub type Register = fn(&mut rhai::Engine);

/// What adds native functions, with what it knows.
type Natives = Box<dyn Fn(&mut rhai::Engine)>;

/// The engines of a worker: one for each depth of calls that the configuration names, since Rhai
/// has that limit for each engine. They live as long as the process: a reload replaces scripts.
pub struct Engines {
    bindings: Vec<Natives>,
    by_call_levels: RefCell<HashMap<usize, &'static rhai::Engine>>,
    /// What their scripts were parsed from.
    pub(super) kept: Kept,
}

impl Engines {
    /// Engines with the native functions of `bindings`.
    pub fn new(bindings: impl IntoIterator<Item = Register>) -> Engines {
        let bindings = bindings.into_iter().map(|it| Box::new(it) as _).collect();
        Engines { bindings, by_call_levels: RefCell::default(), kept: Kept::default() }
    }

    /// These engines with more native functions, which may know something.
    #[must_use]
    pub fn and(mut self, register: impl Fn(&mut rhai::Engine) + 'static) -> Engines {
        self.bindings.push(Box::new(register));
        self
    }

    /// The engine that allows so many nested calls.
    pub(super) fn with_call_levels(&self, levels: usize) -> &'static rhai::Engine {
        let mut engines = self.by_call_levels.borrow_mut();
        engines.entry(levels).or_insert_with(|| Box::leak(Box::new(self.build(levels))))
    }

    fn build(&self, levels: usize) -> rhai::Engine {
        let mut engine = rhai::Engine::new();
        engine.set_max_call_levels(levels);
        engine.set_max_expr_depths(EXPRESSION_DEPTHS.0, EXPRESSION_DEPTHS.1);
        engine.set_strict_variables(true);
        // The interner costs more than it saves where strings come from requests.
        engine.set_max_strings_interned(0);
        // The order of keys is learned from the script as it was written; `load` optimizes then.
        engine.set_optimization_level(OptimizationLevel::None);
        engine.set_module_resolver(rhai::module_resolvers::DummyModuleResolver::new());
        #[allow(deprecated, reason = "Rhai marks its volatile interface so; the version is pinned")]
        engine.on_missing_function(|name, arguments, is_method, context| {
            library::call_closure(name, arguments, is_method, &context)
        });
        engine.on_progress(|_| fiber::tick().err().map(Dynamic::from));
        builtins::replace(&mut engine);
        decimal::register(&mut engine);
        env::register(&mut engine);
        rows::register(&mut engine);
        frozen::register(&mut engine);
        text::register(&mut engine);
        reply::register(&mut engine);
        makers::register(&mut engine);
        cookie::register(&mut engine);
        file::register(&mut engine);
        routes::register(&mut engine);
        for register in &self.bindings {
            register(&mut engine);
        }
        engine
    }
}
