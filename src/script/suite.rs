//! A script of tests: functions `test_…`, each of which is run by itself. It does not know what they
//! test, nor what they can call beyond what all scripts can.

use std::rc::Rc;
use std::time::Duration;

use rhai::ImmutableString;

use super::context::Context;
use super::engine::Engines;
use super::library::Library;
use super::load::Loading;
use super::modules::Modules;
use super::parsed::Kept;
use super::trace::Trace;
use super::{Settings, Source};
use crate::fiber::{Limits, Waiting};

/// The function that runs before each test, where a script has one.
const SETUP: &str = "setup";
/// What the name of each test begins with.
const PREFIX: &str = "test_";
/// A test asks several times, and each request has a time-out of its own.
const TIME: Duration = Duration::from_secs(60);
/// What a script that was run to its end gives.
const DONE: &str = "done";

/// A script of tests that has been compiled.
pub struct Suite {
    engine: &'static rhai::Engine,
    settings: Settings,
    source: Source,
    has_setup: bool,
    tests: Vec<String>,
    functions: Rc<[String]>,
}

impl Suite {
    /// What one test may use: as much as a call of a handler, but for the time, which is a minute.
    pub fn limits(settings: &Settings) -> Limits {
        Limits { time: TIME, waiting: Waiting::Allowed, ..settings.limits() }
    }

    /// Compiles a script of tests, and runs nothing of it.
    ///
    /// # Errors
    /// If it does not compile, or if a test takes arguments.
    pub fn load(
        engines: &Engines,
        source: Source,
        settings: &Settings,
        functions: Rc<[String]>,
    ) -> Result<Suite, Trace> {
        let engine = engines.with_call_levels(settings.max_call_levels);
        let ast = engine.compile(&*source.text).map_err(|error| Trace::of_parse(&source, &error, &functions))?;
        let mut tests = Vec::new();
        let mut has_setup = false;
        for function in ast.iter_functions() {
            if function.name != SETUP && !function.name.starts_with(PREFIX) {
                continue;
            }
            if !function.params.is_empty() {
                let count = function.params.len();
                let plural = if count == 1 { "" } else { "s" };
                let message = format!("`{}` takes {count} argument{plural}, expected none", function.name);
                return Err(Trace::whole(&source, message));
            }
            if function.name == SETUP {
                has_setup = true;
            } else {
                tests.push(function.name.to_owned());
            }
        }
        // Rhai keeps functions in no order.
        tests.sort_by_cached_key(|name| (source.text.find(&format!("fn {name}(")), name.clone()));
        Ok(Suite { engine, settings: settings.clone(), source, has_setup, tests, functions })
    }

    /// The names of the tests, in the order of the file.
    pub fn tests(&self) -> &[String] {
        &self.tests
    }

    /// Runs the top level of the script, `setup`, and one test. To be called on a fiber with [`Suite::limits`].
    ///
    /// # Errors
    /// With the place where it failed.
    pub fn run(&self, test: &str, context: Context) -> Result<(), Trace> {
        let source = self.calling(test);
        let modules = Modules::gather(&source, &self.settings.module_path);
        let library = Library::default();
        let levels = self.settings.max_call_levels;
        let started =
            Loading::new(self.engine, levels, &modules, &library, &Kept::default(), &self.functions).start(context);
        let value = started.map_err(|trace| self.failed(test, trace))?.value;
        if value.is_string() && value.cast::<ImmutableString>() == DONE {
            return Ok(());
        }
        Err(Trace::whole(&self.source, format!("`return` or `exit` ended the script before `{test}` was done")))
    }

    /// The script with calls of its functions after its last line, so that its top level runs once and all places
    /// are those of the file.
    fn calling(&self, test: &str) -> Source {
        let setup = if self.has_setup { format!("{SETUP}();") } else { String::new() };
        // A line that has its end may be the last.
        let text = self.source.text.trim_end_matches('\n');
        Source { text: format!("{text}\n;{setup}{test}();\"{DONE}\"").into(), ..self.source.clone() }
    }

    /// The trace without the calls that were added, and with the words for a test.
    fn failed(&self, test: &str, trace: Trace) -> Trace {
        let message = trace.message().replace("the script was stopped at its start", &format!("`{test}` was stopped"));
        let message = message.replace("`rhai.timeout`", &format!("{TIME:?}"));
        let trace = trace.cut_at_the_end_of(&self.source);
        if message == trace.message() { trace } else { trace.with_message(message) }
    }
}
