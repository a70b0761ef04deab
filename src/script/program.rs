//! A compiled script and its call, through Rhai's internals: the one place that uses them.
//!
//! Functions are evaluated with kept state, which takes a fifth fewer instructions than
//! `FnPtr::call`, and is the only way in which imports and `global::` constants work inside handlers.

mod contents;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use rhai::{
    AST, ASTNode, Caches, Dynamic, EvalAltResult, EvalContext, Expr, FnPtr, GlobalRuntimeState, ImmutableString,
    Position, Scope, Stmt, StmtBlock,
};

use super::context::Context;
use super::fault::{Result, left, plain_name, returned};
use super::private::{holds_closure, private_copy};

/// States of calls that a script keeps.
const KEPT_STATES: usize = 64;

/// A script that is compiled; its functions can be called, and its top level runs once.
pub(super) struct Program {
    engine: &'static rhai::Engine,
    /// Its top level.
    statements: Vec<Stmt>,
    /// What each call begins with; complete when the top level has run.
    global: RefCell<GlobalRuntimeState>,
    /// Whether a constant holds a closure: what that captured must not be seen by other calls.
    has_closures: Cell<bool>,
    /// The script's functions, without its top level.
    functions: AST,
    /// Those of its closures that other scripts call.
    closures: RefCell<HashMap<ImmutableString, Rc<Definition>>>,
    /// What it imports, by the names that it gave them.
    imported: RefCell<Vec<(ImmutableString, Rc<Program>)>>,
    #[expect(clippy::vec_box, reason = "each call takes one out and puts it back: a pointer is moved, not the state")]
    states: RefCell<Vec<Box<CallState>>>,
}

/// A function as the script defines it.
pub(super) struct Definition {
    name: ImmutableString,
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
    /// How many arguments it is called with.
    takes: usize,
    /// Looked up at the first call.
    definition: OnceCell<Option<Found>>,
}

/// A function's definition, and the module that it is of, unless it is of the script itself.
struct Found {
    module: Option<Rc<Program>>,
    definition: Rc<Definition>,
}

impl Program {
    /// A script whose top level has not run.
    pub(super) fn new(engine: &'static rhai::Engine, ast: &AST, tag: Dynamic) -> Program {
        let mut global = engine.new_global_runtime_state();
        global.lib.push(ast.shared_lib().clone());
        global.source = ast.source().map(Into::into);
        global.tag = tag;
        // Shared with the state that the top level runs in, so that functions that are called
        // meanwhile see what is there.
        global.constants = Some(Rc::default());
        Program {
            engine,
            statements: ast.statements().to_vec(),
            global: RefCell::new(global),
            has_closures: Cell::new(false),
            functions: ast.clone_functions_only(),
            closures: RefCell::default(),
            imported: RefCell::default(),
            states: RefCell::default(),
        }
    }

    /// Runs the top level, with the modules that `import` gives for its names. Gives its value, and
    /// the variables that are left.
    ///
    /// # Errors
    /// What the top level raised.
    pub(super) fn run(
        &self,
        import: impl Fn(&str) -> Option<rhai::Shared<rhai::Module>>,
    ) -> Result<(Dynamic, Scope<'static>)> {
        let mut global = self.global.borrow().clone();
        let (mut caches, mut scope) = (Caches::new(), Scope::new());
        let mut value = Ok(Dynamic::UNIT);
        // A module is put where its `import` stands: what follows knows it by its place among those
        // before it. Rhai's own statement would ask its resolver again.
        for part in self.statements.split_inclusive(|it| matches!(it, Stmt::Import(..))) {
            let (import_statement, rest) = match part.split_last() {
                Some((Stmt::Import(import, _), rest)) => (Some(import), rest),
                _ => (None, part),
            };
            if !rest.is_empty() {
                let block = block(rest.to_vec());
                // Without rewinding the scope, imports and constants stay in `global`.
                #[allow(deprecated, reason = "Rhai marks its volatile interface so; the version is pinned")]
                let result = EvalContext::new(self.engine, &mut global, &mut caches, &mut scope, None)
                    .eval_expression_tree_raw(&(&block).into(), false);
                value = result;
            }
            if value.is_err() {
                break;
            }
            if let Some(statement) = import_statement
                && let Expr::StringConstant(path, _) = &statement.0
                && let Some(module) = import(path)
            {
                global.push_import(statement.1.name.clone(), module.clone());
                self.global.borrow_mut().push_import(statement.1.name.clone(), module);
                // What was resolved before may mean something else now.
                caches = Caches::new();
                value = Ok(Dynamic::UNIT);
            }
        }
        let value = returned(value)?;
        let has_closures = global.constants.as_ref().is_some_and(|it| it.borrow().values().any(holds_closure));
        self.has_closures.set(has_closures);
        *self.global.borrow_mut() = global;
        // Those of calls that were made meanwhile lack what came later.
        self.states.borrow_mut().clear();
        Ok((value, scope))
    }

    /// How many arguments a function takes beside what it captured, and where it is defined; `None`
    /// if the script does not define it. Of several with its name the one that takes as many as it is called
    /// with counts.
    pub(super) fn arity(&self, function: &Function) -> Option<(usize, Position)> {
        if let Some(module) = self.module_of(&function.name) {
            // Its place would be read as one of this script.
            return module.arity(function).map(|(count, _)| (count, Position::NONE));
        }
        let name = plain_name(&function.name);
        let same_name = || self.functions.iter_fn_def().filter(|it| it.name == name);
        let definition =
            same_name().find(|it| it.params.len() == function.parameters()).or_else(|| same_name().next())?;
        Some((definition.params.len().saturating_sub(function.captured.len()), definition.body.start_position()))
    }

    /// A closure or another function of this script, which another one calls.
    pub(super) fn closure(&self, name: &str, count: usize) -> Option<Rc<Definition>> {
        let known = self.closures.borrow().get(name).filter(|it| it.parameters.len() == count).cloned();
        if known.is_some() {
            return known;
        }
        let definition = self.define(name, count)?;
        self.closures.borrow_mut().insert(definition.name.clone(), definition.clone());
        Some(definition)
    }

    /// The statements of a function. Rhai shows them to who walks through a whole script, and does
    /// not say whose they are, nor does their place: the optimizer moves statements. So the function
    /// is walked through in a script of its own.
    pub(super) fn define(&self, name: &str, count: usize) -> Option<Rc<Definition>> {
        let is_it = |other: &str, parameters: usize| other == name && parameters == count;
        let mut found = self.functions.iter_fn_def().filter(|it| is_it(&it.name, it.params.len()));
        let definition = found.next()?;
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
        let parameters = definition.params.to_vec();
        Some(Rc::new(Definition { name: definition.name.clone(), parameters, body: block(statements) }))
    }

    /// Calls a function of the script. Each call has its own copy of what the function captured.
    pub(super) fn call(&self, function: &Function, argument: Dynamic) -> Result<Dynamic> {
        self.call_with(function, None, [argument])
    }

    /// Calls a function that takes two arguments.
    pub(super) fn call_with_two(&self, function: &Function, arguments: [Dynamic; 2]) -> Result<Dynamic> {
        self.call_with(function, None, arguments)
    }

    /// Calls a function with `this` bound.
    pub(super) fn call_method(&self, function: &Function, this: &mut Dynamic, argument: Dynamic) -> Result<Dynamic> {
        self.call_with(function, Some(this), [argument])
    }

    fn call_with<const N: usize>(
        &self,
        function: &Function,
        this: Option<&mut Dynamic>,
        arguments: [Dynamic; N],
    ) -> Result<Dynamic> {
        let found = function.definition.get_or_init(|| self.find(function));
        let Some(Found { module, definition }) = found else {
            return Err(EvalAltResult::ErrorFunctionNotFound(format!("{} (Env)", function.name), Position::NONE).into());
        };
        let arguments = function.captured.iter().map(private_copy).chain(arguments);
        let Some(module) = module else {
            let mut state = self.state();
            state.global.level = 0;
            return returned(self.evaluate(state, definition, this, arguments));
        };
        let tag = self.global.borrow().tag.clone();
        let result = module.enter(definition, this, arguments, &tag, 0);
        returned(result.map_err(|error| left(*error, &definition.name, &module.name(), Position::NONE)))
    }

    /// Calls a function of this script from another one, whose `tag` the call has: it sees its own
    /// functions, imports and constants, as where it stands.
    pub(super) fn enter(
        &self,
        definition: &Definition,
        this: Option<&mut Dynamic>,
        arguments: impl Iterator<Item = Dynamic>,
        tag: &Dynamic,
        level: usize,
    ) -> Result<Dynamic> {
        if level > self.engine.max_call_levels() {
            return Err(EvalAltResult::ErrorStackOverflow(Position::NONE).into());
        }
        let mut state = self.state();
        state.global.level = level;
        if !Context::is_same(&state.global.tag, tag) {
            state.global.tag = tag.clone();
        }
        match self.evaluate(state, definition, this, arguments).map_err(|error| *error) {
            Err(EvalAltResult::Return(value, _)) => Ok(value),
            result => result.map_err(Box::new),
        }
    }

    fn state(&self) -> Box<CallState> {
        let kept = self.states.borrow_mut().pop();
        let mut state = kept.unwrap_or_else(|| {
            Box::new(CallState { global: self.global.borrow().clone(), caches: Caches::new(), scope: Scope::new() })
        });
        state.global.num_operations = 0;
        if self.has_closures.get() {
            state.global.constants = self.global.borrow().constants.as_ref().map(|it| {
                let copies = it.borrow().iter().map(|(name, value)| (name.clone(), private_copy(value))).collect();
                Rc::new(RefCell::new(copies))
            });
        }
        state
    }

    #[inline]
    fn evaluate(
        &self,
        mut state: Box<CallState>,
        definition: &Definition,
        this: Option<&mut Dynamic>,
        arguments: impl Iterator<Item = Dynamic>,
    ) -> Result<Dynamic> {
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
        result
    }

    fn find(&self, function: &Function) -> Option<Found> {
        let module = self.module_of(&function.name);
        let definition = module.as_deref().unwrap_or(self).define(plain_name(&function.name), function.parameters())?;
        Some(Found { module, definition })
    }

    /// The module that a function is of, unless it is of this script.
    fn module_of(&self, name: &str) -> Option<Rc<Program>> {
        if self.functions.iter_fn_def().any(|it| it.name == name) {
            return None;
        }
        let found = Context::of(&self.global.borrow().tag)?.closures.program_of(name)?;
        (!std::ptr::eq(self, &*found)).then_some(found)
    }
}

fn block(statements: Vec<Stmt>) -> Expr {
    Expr::Stmt(Box::new(StmtBlock::new(statements, Position::NONE, Position::NONE)))
}

impl Function {
    /// Parameters that it has to have: those that it is called with beside what it captured.
    fn parameters(&self) -> usize {
        self.captured.len() + self.takes
    }

    /// A function by its name in the script.
    pub(super) fn named(name: &str) -> Function {
        Function { name: name.into(), captured: Vec::new(), takes: 1, definition: OnceCell::new() }
    }

    /// How the script names it.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The function that a value points to; it takes the env.
    pub(super) fn of(pointer: &FnPtr) -> Function {
        let captured = pointer.curry().iter().map(private_copy).collect();
        Function { name: pointer.fn_name().into(), captured, takes: 1, definition: OnceCell::new() }
    }

    /// The same for one that takes two arguments.
    pub(super) fn of_two(pointer: &FnPtr) -> Function {
        Function { takes: 2, ..Function::of(pointer) }
    }
}
