//! Which configuration is meant, and what is wrong with it.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::binding;
use crate::config::{self, Config, Overrides};
use crate::generation::{Generation, Purpose};
use crate::reload::Sources;
use crate::script::Engines;
use crate::server::Refusal;

/// Where a configuration is looked for that the command line does not name: in a folder like
/// rhaid's own, and in one that holds nothing else.
pub(super) const USUAL: [&str; 2] = ["conf/host.yaml", "host.yaml"];

/// A configuration that is to be looked at, and who waits for what is wrong with it.
type Check = (Box<Config>, Sender<Vec<String>>);

/// Reads the configuration that was named, or the one that is found.
///
/// # Errors
/// With all mistakes of the file and its scripts; or if there is none.
pub(super) fn read(named: Option<&Path>, overrides: &Overrides) -> Result<Config, Refusal> {
    let path = locate(named)?;
    config::read(&path, overrides).map_err(|mistaken| {
        let mut problems = vec![mistaken.problems.to_string()];
        problems.extend(mistaken.rest.iter().flat_map(|it| script_problems(it)));
        Refusal::Configuration(problems.join("\n"))
    })
}

/// Reads once more, while the server runs.
///
/// # Errors
/// With all mistakes, and the files that were read, or should be there.
pub(super) fn reread(named: Option<&Path>, overrides: &Overrides) -> Result<Config, (String, Sources)> {
    let path = locate(named).map_err(|refusal| match refusal {
        Refusal::Configuration(message) | Refusal::System(message) => (message, Sources::default()),
    })?;
    config::read(&path, overrides).map_err(|mistaken| {
        let sources = Sources::of_mistaken(&mistaken);
        let mut problems = vec![mistaken.problems.to_string()];
        problems.extend(mistaken.rest.into_iter().flat_map(script_problems_aside));
        (problems.join("\n"), sources)
    })
}

/// The configuration that was named, or the one that is found.
///
/// # Errors
/// If there is none.
pub(super) fn locate(named: Option<&Path>) -> Result<PathBuf, Refusal> {
    named.map_or_else(find, |it| Ok(it.to_owned()))
}

fn find() -> Result<PathBuf, Refusal> {
    let found = USUAL.iter().map(PathBuf::from).find(|it| it.exists());
    found.ok_or_else(|| {
        let folder = std::env::current_dir().unwrap_or_default();
        let [first, second] = USUAL;
        Refusal::Configuration(format!(
            "no configuration: there is neither `{first}` nor `{second}` in `{}`\n\
             hint: name one with `--conf FILE`, or another folder to start in with `--chdir DIR`; \
             `rhaid new DIR` writes a small project",
            folder.display()
        ))
    })
}

/// The mistakes that only show when the scripts are compiled and started.
pub(super) fn script_problems(config: &Config) -> Vec<String> {
    problems_with(config, &Engines::new([binding::register as _]))
}

fn problems_with(config: &Config, engines: &Engines) -> Vec<String> {
    let built = tokio::runtime::LocalRuntime::new()
        .map(|runtime| runtime.block_on(Generation::build(config, engines, Purpose::Test, None)));
    match built {
        Ok(built) => built.err().unwrap_or_default(),
        Err(error) => vec![error.to_string()],
    }
}

/// The same while the server runs, on a thread of its own: none can be in two runtimes. There is one for all reloads,
/// since engines live as long as the process.
fn script_problems_aside(config: Box<Config>) -> Vec<String> {
    static ASIDE: Mutex<Option<Sender<Check>>> = Mutex::new(None);
    let mut aside = ASIDE.lock().unwrap_or_else(PoisonError::into_inner);
    let checks = aside.get_or_insert_with(|| {
        let (checks, asked) = channel::<Check>();
        // Where there is no thread to be had nobody receives, which is said below.
        let _ = thread::Builder::new().name("check".to_owned()).spawn(move || {
            let engines = Engines::new([binding::register as _]);
            for (config, answer) in asked {
                let _ = answer.send(problems_with(&config, &engines));
            }
        });
        checks
    });
    let (answer, answered) = channel();
    // What could not be sent is dropped here, and with it the other end.
    drop(checks.send((config, answer)));
    answered.recv().unwrap_or_else(|_| {
        // Another one next time.
        *aside = None;
        vec!["the scripts can't be started: the thread panicked".to_owned()]
    })
}
