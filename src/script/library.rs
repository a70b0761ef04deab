//! The modules that scripts import: compiled and run once on a worker, called by all of its scripts.
//!
//! A module has states of its own for its calls. Rhai would run its functions in the caller's, where
//! the cache of resolved functions mixes up those that two files give the same name, and a closure
//! that a module is given would see the module's functions and constants instead of its own.

use std::any::TypeId;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::{Rc, Weak};

use rhai::{
    Dynamic, EvalContext, FnPtr, FuncRegistration, ImmutableString, Module, NativeCallContext, RhaiFunc, Scope, Shared,
};

use super::context::Context;
use super::fault::{PINNED, Result, is_closure, left, plain_name};
use super::modules::Identity;
use super::parsed::Parsed;
use super::private::private_copy;
use super::program::Program;
use super::source::Source;
use super::values::Values;
use crate::envelope;

/// The modules of a worker, for one generation.
#[derive(Default)]
pub struct Library {
    loaded: RefCell<Vec<(Key, Rc<Loaded>)>>,
}

/// What a module depends on beside its text.
#[derive(PartialEq)]
pub(super) struct Key {
    pub(super) identity: Identity,
    /// Where names are looked for.
    pub(super) module_path: Vec<PathBuf>,
    /// The engine.
    pub(super) call_levels: usize,
    /// What its top level sees of the path: the words of its replies, and `config::`.
    pub(super) envelope: envelope::Settings,
    pub(super) values: Values,
}

/// A module whose top level has run.
pub(super) struct Loaded {
    pub(super) source: Source,
    pub(super) program: Rc<Program>,
    /// What scripts see of it.
    pub(super) module: Shared<Module>,
    /// What it was parsed from.
    pub(super) parsed: Rc<Parsed>,
    /// What it imports itself.
    pub(super) imports: Vec<Rc<Loaded>>,
}

impl Library {
    pub(super) fn get(&self, key: &Key) -> Option<Rc<Loaded>> {
        self.loaded.borrow().iter().find(|(it, _)| it == key).map(|(_, loaded)| loaded.clone())
    }

    pub(super) fn put(&self, key: Key, loaded: Rc<Loaded>) {
        self.loaded.borrow_mut().push((key, loaded));
    }
}

/// Which file each closure of a script and of its modules is of: Rhai knows it by name only, and
/// looks in the file that calls it. Empty where a script imports nothing.
#[derive(Default)]
pub struct Closures {
    by_name: RefCell<HashMap<ImmutableString, Weak<Program>>>,
    /// For functions with names, which several files may have.
    files: RefCell<Vec<Weak<Program>>>,
}

impl Closures {
    /// Adds the closures of a file. Gives the name of one that another file has as well: Rhai names
    /// them by text and place.
    pub(super) fn add(&self, program: &Rc<Program>) -> Option<ImmutableString> {
        let is_new = |it: &Weak<Program>| it.upgrade().is_none_or(|it| !Rc::ptr_eq(&it, program));
        if self.files.borrow().iter().all(is_new) {
            self.files.borrow_mut().push(Rc::downgrade(program));
        }
        let mut known = self.by_name.borrow_mut();
        let mut twice = None;
        for (name, _) in program.functions().filter(|(name, _)| is_closure(name)) {
            let other = known.insert(name.clone(), Rc::downgrade(program));
            if other.and_then(|it| it.upgrade()).is_some_and(|it| it.name() != program.name()) {
                twice = Some(name.clone());
            }
        }
        twice
    }

    /// The file of a closure, or of a function that [`pinned`] gave its name.
    pub(super) fn program_of(&self, name: &str) -> Option<Rc<Program>> {
        match name.strip_prefix(PINNED).and_then(|it| it.split_once("__")) {
            Some((number, _)) => self.files.borrow().get(number.parse::<usize>().ok()?)?.upgrade(),
            None if is_closure(name) => self.by_name.borrow().get(name)?.upgrade(),
            None => None,
        }
    }

    /// The number of the file that is named so, if it has a function `function`.
    fn file_with(&self, name: &str, function: &str) -> Option<usize> {
        let has_it = |it: &Weak<Program>| {
            it.upgrade().is_some_and(|it| it.name() == name && it.functions().any(|it| it.0 == function))
        };
        self.files.borrow().iter().position(has_it)
    }
}

/// A pointer to a function by its name as it can be handed to another file: Rhai would look for the
/// name there. `file` is where it comes from.
pub(super) fn pinned(pointer: FnPtr, file: &str, tag: &Dynamic) -> FnPtr {
    if pointer.is_anonymous() {
        return pointer;
    }
    let number = Context::of(tag).and_then(|it| it.closures.file_with(file, pointer.fn_name()));
    let name = number.map(|it| format!("{PINNED}{it}__{}", pointer.fn_name()));
    match name.and_then(|it| FnPtr::new(it).ok()) {
        Some(mut pinned) => {
            pinned.set_curry(pointer.curry().iter().cloned());
            pinned
        }
        None => pointer,
    }
}

fn pinned_value(value: Dynamic, file: &str, tag: &Dynamic) -> Dynamic {
    if value.is_fnptr() { pinned(value.cast(), file, tag).into() } else { value }
}

/// Calls a closure of another file, if `name` is that of one.
pub(super) fn call_closure(
    name: &str,
    arguments: &mut [&mut Dynamic],
    is_method: bool,
    context: &EvalContext<'_, '_, '_, '_, '_, '_>,
) -> Result<Option<Dynamic>> {
    if !is_closure(name) && !name.starts_with(PINNED) {
        return Ok(None);
    }
    let Some(program) = Context::of(context.tag()).and_then(|it| it.closures.program_of(name)) else { return Ok(None) };
    let (this, arguments) = match arguments {
        [this, rest @ ..] if is_method => (Some(&mut **this), rest),
        _ => (None, arguments),
    };
    let Some(definition) = program.closure(plain_name(name), arguments.len()) else { return Ok(None) };
    let arguments = arguments.iter_mut().map(|it| std::mem::take(*it));
    let result = program.enter(&definition, this, arguments, context.tag(), context.call_level());
    result.map(Some).map_err(|error| left(*error, name, &program.name(), rhai::Position::NONE))
}

/// What scripts see of a module: its functions, its constants, what it exports, and its imports.
pub(super) fn interface(
    program: &Rc<Program>,
    exports: &[(ImmutableString, ImmutableString)],
    variables: &Scope<'static>,
) -> Module {
    let mut module = Module::new();
    module.set_id(program.name());
    for (name, module_of) in program.imports() {
        if !name.is_empty() {
            module.set_sub_module(name.as_str(), module_of);
        }
    }
    // Not those that the program knows: Rhai notes constants for functions only, where there are some.
    for (name, _, value) in variables.iter().filter(|(_, is_constant, _)| *is_constant) {
        // What a closure captured would be shared between requests otherwise.
        module.set_var(name, private_copy(&value));
    }
    for (name, alias) in exports {
        if let Some(value) = variables.get_value::<Dynamic>(name) {
            module.set_var(alias.as_str(), private_copy(&value));
        }
    }
    for (name, count) in program.public_functions() {
        let function = native(program.clone(), name.clone(), count);
        let types = vec![TypeId::of::<Dynamic>(); count];
        module.set_fn_raw_with_options(FuncRegistration::new(name.as_str()), types, function);
    }
    module.build_index();
    module
}

/// A function of a module as Rhai calls native ones.
fn native(program: Rc<Program>, name: ImmutableString, count: usize) -> RhaiFunc {
    let definition = OnceCell::new();
    let call = move |context: Option<NativeCallContext<'_>>, arguments: &mut [&mut Dynamic]| {
        let context = context.expect("it is declared with a context");
        let definition = definition.get_or_init(|| program.define(&name, count));
        let Some(definition) = definition else {
            let message = format!("`{name}` is defined several times, for different types of `this`");
            return Err(super::fault::raise(&context, message));
        };
        let nothing = Dynamic::UNIT;
        let tag = context.tag().unwrap_or(&nothing);
        let caller = || context.call_source().unwrap_or_default();
        let arguments = arguments.iter_mut().map(|it| std::mem::take(*it)).map(|it| pinned_value(it, caller(), tag));
        let result = program.enter(definition, None, arguments, tag, context.call_level());
        let result = result.map(|value| pinned_value(value, &program.name(), tag));
        result.map_err(|error| left(*error, &name, &program.name(), context.call_position()))
    };
    RhaiFunc::Pure { func: Shared::new(call), has_context: true, is_pure: true, is_volatile: true }
}
