//! A compiled script and its call, through Rhai's internals: the one place that uses them.
//!
//! Functions are evaluated with kept state, which takes a fifth fewer instructions than
//! `FnPtr::call`, and is the only way in which imports and `global::` constants work inside handlers.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
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
    functions: HashMap<ImmutableString, Rc<Definition>>,
    #[expect(clippy::vec_box, reason = "each call takes one out and puts it back: a pointer is moved, not the state")]
    states: RefCell<Vec<Box<CallState>>>,
}

/// A function as the script defines it.
struct Definition {
    parameters: Vec<ImmutableString>,
    start: Position,
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
        let functions = definitions(ast);
        Ok((Program { engine, global, has_closures, functions, states: RefCell::default() }, value))
    }

    /// How many arguments a function takes beside what it captured, and where it is defined; `None`
    /// if the script does not define it.
    pub(super) fn arity(&self, function: &Function) -> Option<(usize, Position)> {
        let definition = self.functions.get(&function.name)?;
        Some((definition.parameters.len().saturating_sub(function.captured.len()), definition.start))
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
        let definition = function.definition.get_or_init(|| self.functions.get(&function.name).cloned());
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

/// The functions of a script with their statements, which Rhai shows to those only who walk through
/// all: first the top level's, then those of functions, each below its own function in the text.
fn definitions(ast: &AST) -> HashMap<ImmutableString, Rc<Definition>> {
    let mut functions: Vec<_> = ast
        .iter_fn_def()
        .map(|it| {
            let (start, end) = (it.body.start_position(), it.body.end_position());
            (it.name.clone(), it.params.to_vec(), start, end, Vec::new())
        })
        .collect();
    let mut top_level = ast.statements().len();
    ast.walk(&mut |path: &[ASTNode<'_>]| {
        let [ASTNode::Stmt(statement)] = path else { return true };
        if top_level > 0 {
            top_level -= 1;
            return true;
        }
        let place = statement.position();
        // A body without braces is one statement; it has no end of its own.
        let is_around = |start: Position, end: Position| place == start || start <= place && place <= end;
        let around = functions.iter_mut().filter(|(_, _, start, end, _)| is_around(*start, *end));
        // A closure in a function lies within both.
        if let Some((.., statements)) = around.max_by_key(|(_, _, start, ..)| *start) {
            statements.push((*statement).clone());
        }
        true
    });
    let definition = |(name, parameters, start, _, statements)| {
        (name, Rc::new(Definition { parameters, start, body: block(statements) }))
    };
    functions.into_iter().map(definition).collect()
}

impl Function {
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
