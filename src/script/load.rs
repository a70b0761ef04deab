//! How a script comes to life: it and the modules that it imports are compiled, then their top
//! levels run, each after those that it imports.

use std::rc::Rc;

use rhai::{Dynamic, EvalAltResult, OptimizationLevel, Position, Scope};

use super::app::{AT_ITS_START, limit_message};
use super::context::Context;
use super::fault::stop_of;
use super::imports::{self, Asked};
use super::json::Shapes;
use super::library::{Key, Library, Loaded, interface};
use super::modules::Modules;
use super::parsed::{Kept, Parsed};
use super::program::Program;
use super::source::{Source, Sources};
use super::trace::Trace;
use crate::fiber;

/// Deepest chain of imports: each is compiled on the stack of the one that imports it.
const DEEPEST: usize = 64;

/// A script and its modules, on the way.
pub(super) struct Loading<'a> {
    pub(super) engine: &'static rhai::Engine,
    pub(super) call_levels: usize,
    pub(super) modules: &'a Modules,
    pub(super) library: &'a Library,
    kept: &'a Kept,
    /// Names of native functions, for suggestions.
    pub(super) functions: &'a [String],
    /// By the number of the file.
    files: Vec<State>,
    /// In the order in which they run; the script itself is the last.
    order: Vec<usize>,
}

#[derive(Default)]
enum State {
    #[default]
    Unseen,
    Compiled(Box<Compiled>),
    Loaded(Rc<Loaded>),
}

struct Compiled {
    parsed: Rc<Parsed>,
    /// The import that led there first.
    by: Option<(usize, Position)>,
}

/// A script that has started.
pub(super) struct Started {
    pub(super) program: Rc<Program>,
    pub(super) value: Dynamic,
    pub(super) parsed: Rc<Parsed>,
    pub(super) context: Rc<Context>,
}

impl<'a> Loading<'a> {
    pub(super) fn new(
        engine: &'static rhai::Engine,
        call_levels: usize,
        modules: &'a Modules,
        library: &'a Library,
        kept: &'a Kept,
        functions: &'a [String],
    ) -> Loading<'a> {
        Loading { engine, call_levels, modules, library, kept, functions, files: Vec::new(), order: Vec::new() }
    }

    /// Compiles everything, and runs it with a context of the script's shapes.
    pub(super) fn start(&mut self, mut context: Context) -> Result<Started, Trace> {
        self.files.resize_with(self.modules.sources().count(), State::default);
        self.compile(&context, &mut Vec::new(), 0, None)?;
        context.shapes = Shapes::default();
        // The script's own literals come before those of its modules.
        for &file in self.order.iter().rev() {
            match &self.files[file] {
                State::Compiled(it) => context.shapes.add_all(&it.parsed.literals),
                State::Loaded(it) => learn(&mut context.shapes, it),
                State::Unseen => {}
            }
        }
        let context = Rc::new(context);
        for file in std::mem::take(&mut self.order).into_iter().filter(|it| *it != 0) {
            let loaded = match std::mem::take(&mut self.files[file]) {
                State::Compiled(compiled) => self.run_module(file, *compiled, &context)?,
                State::Loaded(loaded) => loaded,
                State::Unseen => continue,
            };
            if let Some(message) = adopt(&context, &loaded) {
                return Err(Trace::whole(&loaded.source, message));
            }
            self.files[file] = State::Loaded(loaded);
        }
        let State::Compiled(compiled) = std::mem::take(&mut self.files[0]) else {
            return Err(Trace::whole(self.modules.source(0), "the script is not there"));
        };
        let (program, value, _) = self.run(0, &compiled, &context)?;
        Ok(Started { program, value, parsed: compiled.parsed, context })
    }

    /// Compiles a file and what it imports, which goes first in the order.
    fn compile(
        &mut self,
        context: &Context,
        way: &mut Vec<(usize, Position)>,
        file: usize,
        by: Option<(usize, Position)>,
    ) -> Result<(), Trace> {
        if let Some(loaded) = self.library.get(&self.key(file, context)).filter(|_| file != 0) {
            self.files[file] = State::Loaded(loaded);
            self.order.push(file);
            return Ok(());
        }
        let source = self.modules.source(file);
        let parsed = self.parse(source).map_err(|trace| self.led(trace, way))?;
        for import in &parsed.imports {
            let failed = |message: String, hint: Option<String>| {
                let trace = Trace::token(source, import.position, import.path.chars().count() + 2, message);
                self.led(
                    match hint {
                        Some(hint) => trace.with_hint(hint),
                        None => trace,
                    },
                    way,
                )
            };
            let target = self.modules.imported(file, &import.path).map_err(|it| failed(it.message, it.hint))?;
            if let Some(start) = way.iter().position(|it| it.0 == target).or((target == file).then_some(way.len())) {
                let circle = way[start..].iter().map(|it| it.0).chain([file, target]);
                let names: Vec<&str> = circle.map(|it| self.modules.source(it).name.as_str()).collect();
                return Err(failed(format!("circular import: {}", names.join(" -> ")), None));
            }
            if way.len() >= DEEPEST {
                return Err(failed(format!("imports are nested deeper than {DEEPEST} files"), None));
            }
            if matches!(self.files[target], State::Unseen) {
                way.push((file, import.position));
                self.compile(context, way, target, Some((file, import.position)))?;
                way.pop();
            }
        }
        self.files[file] = State::Compiled(Box::new(Compiled { parsed, by }));
        self.order.push(file);
        Ok(())
    }

    /// What a text comes to, whatever its imports lead to.
    fn parse(&self, source: &Source) -> Result<Rc<Parsed>, Trace> {
        if let Some(parsed) = self.kept.find(self.call_levels, source) {
            return Ok(parsed);
        }
        let ast =
            self.engine.compile(&*source.text).map_err(|error| Trace::of_parse(source, &error, self.functions))?;
        let imports =
            imports::imports(&ast).map_err(|it| Trace::at(source, it.position, it.message).with_hint(it.hint))?;
        let is_imported = |name: &str| name == "global" || imports.iter().any(|it| it.alias == name);
        let is_known = |asked: &Asked| match asked {
            Asked::Namespace(name) => {
                let mut namespaces = self.functions.iter().filter_map(|it| it.split_once("::")).map(|it| it.0);
                is_imported(name) || namespaces.any(|it| it == name)
            }
            // What a module has is known when it has run.
            Asked::Function(name) => {
                let namespace = name.split_once("::").map_or("", |it| it.0);
                is_imported(namespace) || self.functions.contains(name)
            }
        };
        if let Some((position, asked)) = imports::unknown(&ast, &is_known) {
            return Err(Trace::of_unknown(source, position, &asked, self.functions));
        }
        let literals = Shapes::literals(&ast);
        let mut ast = self.engine.optimize_ast(&Scope::new(), ast, OptimizationLevel::Simple);
        // Optimized it has forgotten its source.
        ast.set_source(source.name.as_str());
        let parsed = Rc::new(Parsed { ast, imports, literals });
        self.kept.put(self.call_levels, source, &parsed);
        Ok(parsed)
    }

    fn run_module(&self, file: usize, compiled: Compiled, context: &Rc<Context>) -> Result<Rc<Loaded>, Trace> {
        let (program, _, variables) = self.run(file, &compiled, context)?;
        let module = interface(&program, &imports::exports(&compiled.parsed.ast), &variables);
        // A copy that a limit cut short would lack what the module gave it.
        fiber::tick().map_err(|stop| {
            self.led_to(&compiled, Trace::whole(self.modules.source(file), limit_message(stop, AT_ITS_START)))
        })?;
        let loaded = Rc::new(Loaded {
            source: self.modules.source(file).clone(),
            program,
            module: module.into(),
            imports: compiled.parsed.imports.iter().filter_map(|it| self.loaded(file, &it.path)).collect(),
            parsed: compiled.parsed,
        });
        self.library.put(self.key(file, context), loaded.clone());
        Ok(loaded)
    }

    /// Runs the top level of a file.
    fn run(
        &self,
        file: usize,
        compiled: &Compiled,
        context: &Rc<Context>,
    ) -> Result<(Rc<Program>, Dynamic, Scope<'static>), Trace> {
        let program = Rc::new(Program::new(self.engine, &compiled.parsed.ast, Dynamic::from(context.clone())));
        let source = self.modules.source(file);
        if self.modules.sources().nth(1).is_some() && context.closures.add(&program).is_some() {
            return Err(Trace::whole(source, SAME_CLOSURES));
        }
        for import in &compiled.parsed.imports {
            if let Some(loaded) = self.loaded(file, &import.path) {
                program.add_imported(&import.alias, &loaded.program);
            }
        }
        let ran = program.run(|name| self.loaded(file, name).map(|it| it.module.clone()));
        let (value, variables) = ran.map_err(|error| self.failed(file, compiled, &program, &error))?;
        Ok((program, value, variables))
    }

    fn failed(&self, file: usize, compiled: &Compiled, program: &Program, error: &EvalAltResult) -> Trace {
        let sources = Sources::new(self.modules.source(file), self.modules.sources());
        let trace = match stop_of(error) {
            Some(stop) => Trace::of_stop(&sources, error, limit_message(stop, AT_ITS_START)),
            None => Trace::of_run(&sources, error, &|source| names(program, source, self.functions), &|it| {
                program.methods(it)
            }),
        };
        self.led_to(compiled, trace)
    }

    /// The trace with the imports that led to a file.
    fn led_to(&self, compiled: &Compiled, trace: Trace) -> Trace {
        let mut way = Vec::new();
        let mut by = compiled.by;
        while let Some((importer, position)) = by {
            way.push((importer, position));
            by = match &self.files[importer] {
                State::Compiled(it) => it.by,
                _ => None,
            };
        }
        way.reverse();
        self.led(trace, &way)
    }

    /// The trace with the imports that led there.
    fn led(&self, trace: Trace, way: &[(usize, Position)]) -> Trace {
        way.iter().rev().fold(trace, |trace, (file, position)| trace.with_import(self.modules.source(*file), *position))
    }

    fn loaded(&self, by: usize, name: &str) -> Option<Rc<Loaded>> {
        match &self.files[self.modules.imported(by, name).ok()?] {
            State::Loaded(it) => Some(it.clone()),
            _ => None,
        }
    }

    fn key(&self, file: usize, context: &Context) -> Key {
        let (identity, module_path) = self.modules.identity(file);
        Key {
            identity: identity.clone(),
            module_path: module_path.to_vec(),
            call_levels: self.call_levels,
            envelope: context.envelope.clone(),
            values: context.values.clone(),
        }
    }
}

const SAME_CLOSURES: &str = "a closure here has the same text and place as one in another of the files that are \
                             imported together, and can't be told from it\nhint: move one of them by a line";

fn learn(shapes: &mut Shapes, loaded: &Loaded) {
    shapes.add_all(&loaded.parsed.literals);
    for import in &loaded.imports {
        learn(shapes, import);
    }
}

/// Makes the closures of a module, and of what it imports, known to a script.
fn adopt(context: &Context, loaded: &Loaded) -> Option<&'static str> {
    if context.closures.add(&loaded.program).is_some() {
        return Some(SAME_CLOSURES);
    }
    loaded.imports.iter().find_map(|it| adopt(context, it))
}

/// The names that a file could have meant.
pub(super) fn names(program: &Program, source: &str, native: &[String]) -> Vec<String> {
    native.iter().cloned().chain(program.names(source)).collect()
}
