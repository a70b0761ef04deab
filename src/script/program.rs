//! A compiled script and its call, through Rhai's internals: the one place that uses them.
//!
//! Functions are evaluated with kept state, which takes a fifth fewer instructions than
//! `FnPtr::call`, and is the only way in which imports and `global::` constants work inside handlers.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use rhai::{
    AST, ASTNode, Array, Caches, Dynamic, EvalAltResult, EvalContext, Expr, FnPtr, GlobalRuntimeState, ImmutableString,
    Map, Position, Scope, Stmt, StmtBlock,
};

use super::fault::Result;

/// States of calls that a script keeps.
const KEPT_STATES: usize = 64;

/// A script whose top level has run.
pub(super) struct Program {
    engine: &'static rhai::Engine,
    global: GlobalRuntimeState,
    /// Whether a constant holds a closure: what that captured must not be seen by other calls.
    has_closures: bool,
    /// The script's functions, without its top level.
    functions: AST,
    #[expect(clippy::vec_box, reason = "each call takes one out and puts it back: a pointer is moved, not the state")]
    states: RefCell<Vec<Box<CallState>>>,
}

/// A function as the script defines it.
struct Definition {
    parameters: Vec<ImmutableString>,
    /// Its statements, to be evaluated as they are: a call through Rhai's own function would put its
    /// position, which is none, in the place of that where a limit was hit.
    body: Expr,
}

/// What a call needs beside its arguments; kept, since a fresh one resolves each function anew.
struct CallState {
    global: GlobalRuntimeState,
    caches: Caches,
    scope: Scope<'static>,
}

/// A function of a script with what it captured.
pub(super) struct Function {
    name: ImmutableString,
    captured: Vec<Dynamic>,
    /// Looked up at the first call.
    definition: OnceCell<Option<Rc<Definition>>>,
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
        let block = block(ast.statements().to_vec());
        let (mut caches, mut scope) = (Caches::new(), Scope::new());
        // Without rewinding the scope, imports and constants stay in `global`.
        #[allow(deprecated, reason = "Rhai marks its volatile interface so; the version is pinned")]
        let value = EvalContext::new(engine, &mut global, &mut caches, &mut scope, None)
            .eval_expression_tree_raw(&(&block).into(), false);
        let value = returned(value)?;
        let constants = global.constants.as_ref();
        let has_closures = constants.is_some_and(|it| it.borrow().values().any(holds_closure));
        let functions = ast.clone_functions_only();
        Ok((Program { engine, global, has_closures, functions, states: RefCell::default() }, value))
    }

    /// How many arguments a function takes beside what it captured, and where it is defined; `None`
    /// if the script does not define it. Of several with its name the one that takes the env counts.
    pub(super) fn arity(&self, function: &Function) -> Option<(usize, Position)> {
        let same_name = || self.functions.iter_fn_def().filter(|it| it.name == function.name);
        let definition =
            same_name().find(|it| it.params.len() == function.parameters()).or_else(|| same_name().next())?;
        Some((definition.params.len().saturating_sub(function.captured.len()), definition.body.start_position()))
    }

    /// The statements of a function. Rhai shows them to who walks through a whole script, and does
    /// not say whose they are, nor does their place: the optimizer moves statements. So the function
    /// is walked through in a script of its own.
    fn define(&self, function: &Function) -> Option<Rc<Definition>> {
        let is_it = |name: &str, count: usize| name == function.name && count == function.parameters();
        let mut found = self.functions.iter_fn_def().filter(|it| is_it(&it.name, it.params.len()));
        let parameters = found.next()?.params.to_vec();
        if found.next().is_some() {
            // One of them is for a certain type of `this`: they can't be told apart here.
            return None;
        }
        // Not `clone_functions_only_filtered`, which filters nothing in this version of Rhai.
        let mut alone = self.functions.clone();
        alone.retain_functions(|_, _, name, count| is_it(name, count));
        let mut statements = Vec::new();
        alone.walk(&mut |path: &[ASTNode<'_>]| {
            if let [ASTNode::Stmt(statement)] = path {
                statements.push((*statement).clone());
            }
            true
        });
        Some(Rc::new(Definition { parameters, body: block(statements) }))
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
        let mut state = self.states.borrow_mut().pop().unwrap_or_else(|| {
            Box::new(CallState { global: self.global.clone(), caches: Caches::new(), scope: Scope::new() })
        });
        state.global.num_operations = 0;
        state.global.level = 0;
        if self.has_closures {
            state.global.constants = self.global.constants.as_ref().map(|it| {
                let copies = it.borrow().iter().map(|(name, value)| (name.clone(), private_copy(value))).collect();
                Rc::new(RefCell::new(copies))
            });
        }
        let definition = function.definition.get_or_init(|| self.define(function));
        let definition = definition
            .as_ref()
            .ok_or_else(|| EvalAltResult::ErrorFunctionNotFound(format!("{} (Env)", function.name), Position::NONE))?;
        let arguments = function.captured.iter().map(private_copy).chain([argument]);
        state.scope.extend(definition.parameters.iter().cloned().zip(arguments));
        #[allow(deprecated, reason = "Rhai marks its volatile interface so; the version is pinned")]
        let result = EvalContext::new(self.engine, &mut state.global, &mut state.caches, &mut state.scope, this)
            .eval_expression_tree_raw(&(&definition.body).into(), true);
        state.scope.clear();
        // Not reached after a panic: the state is unsound then and goes.
        let mut states = self.states.borrow_mut();
        if states.len() < KEPT_STATES {
            states.push(state);
        }
        returned(result)
    }
}

/// `return` and `exit` end a script with a value.
fn returned(result: Result<Dynamic>) -> Result<Dynamic> {
    match result.map_err(|error| *error) {
        Ok(value) | Err(EvalAltResult::Return(value, _) | EvalAltResult::Exit(value, _)) => Ok(value),
        Err(error) => Err(error.into()),
    }
}

fn block(statements: Vec<Stmt>) -> Expr {
    Expr::Stmt(Box::new(StmtBlock::new(statements, Position::NONE, Position::NONE)))
}

impl Function {
    /// Parameters that it has to have: one for the env beside what it captured.
    fn parameters(&self) -> usize {
        self.captured.len() + 1
    }

    /// A function by its name in the script.
    pub(super) fn named(name: &str) -> Function {
        Function { name: name.into(), captured: Vec::new(), definition: OnceCell::new() }
    }

    /// How the script names it.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The function that a value points to.
    pub(super) fn of(pointer: &FnPtr) -> Function {
        let captured = pointer.curry().iter().map(private_copy).collect();
        Function { name: pointer.fn_name().into(), captured, definition: OnceCell::new() }
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

fn holds_closure(value: &Dynamic) -> bool {
    value.is_fnptr()
        || value.as_array_ref().is_ok_and(|it| it.iter().any(holds_closure))
        || value.as_map_ref().is_ok_and(|it| it.values().any(holds_closure))
}

fn may_share(value: &Dynamic) -> bool {
    value.is_shared() || value.is_fnptr() || value.is_map() || value.is_array()
}
