//! The run of the tests: for each a fresh database, an app built on it, and a fiber.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use super::report::Report;
use crate::binding::{self, testing};
use crate::config::Config;
use crate::db::{Databases, Throwaway};
use crate::error_log::overheard;
use crate::fiber::{self, Limits};
use crate::file::Hidden;
use crate::http::Id;
use crate::script::{self, Context, Engines, Settings, Source, Suite};
use crate::server::{Local, Refusal};

/// Runs the tests of all files one after the other, and prints what becomes of them.
///
/// # Errors
/// If the app can't be built, or the migrations can't be applied.
pub(super) fn run_all(config: Config, files: &[PathBuf], filter: &str) -> Result<Report, Refusal> {
    let system = |error: std::io::Error| Refusal::System(error.to_string());
    let runtime = tokio::runtime::LocalRuntime::new().map_err(system)?;
    let throwaway = overheard(|_| {}, || Throwaway::new(&config.databases));
    let throwaway = throwaway.map_err(|error| Refusal::Configuration(error.to_string()))?;
    let mut bench = Bench::new(config, throwaway);
    let mut report = Report::new(std::io::stdout());
    for file in files {
        let name = |test: &str| format!("{}: {test}", file.display());
        let suite = match bench.load(file) {
            Ok(suite) => suite,
            Err(why) => {
                report.add(format!("{}", file.display()), Err(why), Vec::new());
                continue;
            }
        };
        for test in suite.tests() {
            if !name(test).contains(filter) {
                report.leave_out();
                continue;
            }
            let (outcome, log) = bench.run(&runtime, &suite, test)?;
            report.add(name(test), outcome, log);
        }
    }
    report.close();
    Ok(report)
}

/// What tests are run with.
struct Bench {
    config: Config,
    throwaway: Throwaway,
    /// Of the app's scripts.
    engines: Engines,
    /// Of the tests, whose requests go to `app`.
    testing: Engines,
    app: Rc<RefCell<Option<Rc<Local>>>>,
    settings: Settings,
    functions: Rc<[String]>,
}

impl Bench {
    fn new(config: Config, throwaway: Throwaway) -> Bench {
        let app: Rc<RefCell<Option<Rc<Local>>>> = Rc::default();
        let ask = {
            let app = app.clone();
            Rc::new(move |request| -> testing::Answering {
                let app = app.borrow().clone().expect("a test runs when its app is there");
                Box::pin(async move { app.ask(request).await })
            })
        };
        let bindings = || Engines::new([binding::register as _]);
        let host = config.hosts.iter().find(|it| !it.paths.is_empty()).or(config.hosts.first());
        Bench {
            settings: host.map(|it| it.inherited.script.clone()).unwrap_or_default(),
            functions: binding::names().chain(script::names()).chain(testing::names()).collect(),
            engines: bindings(),
            testing: bindings().and(testing::register(ask)),
            app,
            config,
            throwaway,
        }
    }

    fn load(&self, file: &Path) -> Result<Suite, String> {
        let name = file.display().to_string();
        let text = fs::read_to_string(file).map_err(|error| format!("`{name}` can't be read: {error}"))?;
        let source = Source { name, path: file.to_owned(), text: text.into(), line: 1, indent: 0 };
        let suite = Suite::load(&self.testing, source, &self.settings, self.functions.clone());
        suite.map_err(|trace| trace.to_string())
    }

    /// Runs one test; gives its outcome and what was logged meanwhile.
    fn run(
        &mut self,
        runtime: &tokio::runtime::LocalRuntime,
        suite: &Suite,
        test: &str,
    ) -> Result<(Result<(), String>, Vec<String>), Refusal> {
        let configuration = |message: String| Refusal::Configuration(message);
        let fresh = self.throwaway.fresh().map_err(|error| configuration(error.to_string()))?;
        self.config.databases = fresh.settings.clone();
        binding::forget_store();
        let log: Arc<Mutex<Vec<String>>> = Arc::default();
        let hear = {
            let log = log.clone();
            // The test itself is no request, and has no number.
            move |line: String| {
                let line = line.replace(&format!(" request={}", Id(0)), "");
                log.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
        };
        let limits = Suite::limits(&self.settings);
        let outcome = overheard(hear, || {
            runtime.block_on(async {
                let app = Local::build(&self.config, &self.engines).await;
                let app = app.map_err(|problems| configuration(problems.join("\n")))?;
                self.app.replace(Some(Rc::new(app)));
                let outcome = on_fiber(limits, suite, test, self.context()).await;
                self.app.replace(None);
                Ok(outcome)
            })
        })?;
        let log = std::mem::take(&mut *log.lock().unwrap_or_else(PoisonError::into_inner));
        Ok((outcome, log))
    }

    fn context(&self) -> Context {
        Context {
            shapes: Default::default(),
            closures: Default::default(),
            envelope: Default::default(),
            auth: Default::default(),
            software: self.config.process.server_name.as_str().into(),
            hidden: Rc::new(Hidden::new(self.config.secrets().collect())),
            settings: self.config.inherited.values.to_script(),
            values: self.config.inherited.values.clone(),
            databases: Rc::new(Databases::new(&self.config.databases, 1)),
        }
    }
}

async fn on_fiber(limits: Limits, suite: &Suite, test: &str, context: Context) -> Result<(), String> {
    match fiber::run(limits, || suite.run(test, context)).await {
        Ok(outcome) => outcome.map_err(|trace| trace.to_string()),
        Err(_) => Err(format!("`{test}`: a native function panicked")),
    }
}
