//! A compiled script and its call, through Rhai's internals: the one place that uses them.
//!
//! `EvalContext::call_fn_raw` with kept state takes a fifth fewer instructions than `FnPtr::call`,
//! and it is the only way in which imports and `global::` constants work inside handlers.

use std::cell::RefCell;

use rhai::{
    AST, Array, Caches, Dynamic, EvalAltResult, EvalContext, Expr, FnPtr, GlobalRuntimeState, ImmutableString, Map,
    Position, Scope, StaticVec, StmtBlock,
};

use super::fault::Result;

/// States of calls that a script keeps.
const KEPT_STATES: usize = 64;

/// A script whose top level has run.
pub(super) struct Program {
    engine: &'static rhai::Engine,
    global: GlobalRuntimeState,
    states: RefCell<Vec<CallState>>,
}

/// What a call needs beside its arguments; kept, since a fresh one resolves each function anew.
struct CallState {
    global: GlobalRuntimeState,
    caches: Caches,
    scope: Scope<'static>,
}

/// A function of a script with what it captured.
#[derive(Clone, Debug)]
pub(super) struct Function {
    name: ImmutableString,
    captured: Vec<Dynamic>,
}

impl Program {
    /// Runs the top level of a script once. Gives its value beside the program.
    ///
    /// # Errors
    /// What the top level raised.
    pub(super) fn load(engine: &'static rhai::Engine, ast: &AST, tag: Dynamic) -> Result<(Program, Dynamic)> {
        let mut global = engine.new_global_runtime_state();
        global.lib.push(ast.shared_lib().clone());
        global.source = ast.source().map(Into::into);
        global.tag = tag;
        let statements = ast.statements().iter().cloned();
        let block = Expr::Stmt(Box::new(StmtBlock::new(statements, Position::NONE, Position::NONE)));
        let (mut caches, mut scope) = (Caches::new(), Scope::new());
        // Without rewinding the scope, imports and constants stay in `global`.
        #[allow(deprecated, reason = "Rhai marks its volatile interface so; the version is pinned")]
        let value = EvalContext::new(engine, &mut global, &mut caches, &mut scope, None)
            .eval_expression_tree_raw(&(&block).into(), false);
        let value = match value.map_err(|error| *error) {
            Ok(value) | Err(EvalAltResult::Return(value, _) | EvalAltResult::Exit(value, _)) => value,
            Err(error) => return Err(error.into()),
        };
        Ok((Program { engine, global, states: RefCell::default() }, value))
    }

    /// Calls a function of the script. Each call has its own copy of what the function captured.
    pub(super) fn call(&self, function: &Function, argument: Dynamic) -> Result<Dynamic> {
        self.call_with(function, None, argument)
    }

    /// Calls a function with `this` bound.
    pub(super) fn call_method(&self, function: &Function, this: &mut Dynamic, argument: Dynamic) -> Result<Dynamic> {
        self.call_with(function, Some(this), argument)
    }

    fn call_with(&self, function: &Function, this: Option<&mut Dynamic>, argument: Dynamic) -> Result<Dynamic> {
        let mut state = self.states.borrow_mut().pop().unwrap_or_else(|| CallState {
            global: self.global.clone(),
            caches: Caches::new(),
            scope: Scope::new(),
        });
        state.global.num_operations = 0;
        state.global.level = 0;
        let is_method = this.is_some();
        let mut own: StaticVec<Dynamic> = function.captured.iter().map(private_copy).collect();
        own.push(argument);
        let mut arguments: StaticVec<&mut Dynamic> = this.into_iter().chain(own.iter_mut()).collect();
        let result = EvalContext::new(self.engine, &mut state.global, &mut state.caches, &mut state.scope, None)
            .call_fn_raw(&function.name, false, is_method, &mut arguments);
        // Not reached after a panic: the state is unsound then and goes.
        let mut states = self.states.borrow_mut();
        if states.len() < KEPT_STATES {
            states.push(state);
        }
        match result {
            Err(error) if matches!(*error, EvalAltResult::Exit(..)) => match *error {
                EvalAltResult::Exit(value, _) => Ok(value),
                _ => Ok(Dynamic::UNIT),
            },
            result => result,
        }
    }
}

impl Function {
    /// A function by its name in the script.
    pub(super) fn named(name: &str) -> Function {
        Function { name: name.into(), captured: Vec::new() }
    }

    /// The function that a value points to.
    pub(super) fn of(pointer: &FnPtr) -> Function {
        Function { name: pointer.fn_name().into(), captured: pointer.curry().iter().map(private_copy).collect() }
    }
}

/// A copy that shares nothing with its original: captured variables are shared cells otherwise,
/// and two requests in flight would see each other's changes.
pub(super) fn private_copy(value: &Dynamic) -> Dynamic {
    let value = value.flatten_clone();
    if value.is_fnptr() {
        let mut pointer = value.cast::<FnPtr>();
        for captured in pointer.iter_curry_mut() {
            *captured = private_copy(captured);
        }
        return pointer.into();
    }
    if value.is_array() {
        let array = value.cast::<Array>();
        let copy = if array.iter().any(may_share) { array.iter().map(private_copy).collect() } else { array };
        return copy.into();
    }
    if value.is_map() {
        let map = value.cast::<Map>();
        let shares = map.values().any(may_share);
        let copy = |map: Map| map.iter().map(|(key, value)| (key.clone(), private_copy(value))).collect();
        return Dynamic::from_map(if shares { copy(map) } else { map });
    }
    value
}

fn may_share(value: &Dynamic) -> bool {
    value.is_shared() || value.is_fnptr() || value.is_map() || value.is_array()
}
