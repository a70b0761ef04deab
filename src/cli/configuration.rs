//! Which configuration is meant, and what is wrong with it.

use std::path::{Path, PathBuf};

use crate::binding;
use crate::config::{self, Config, Mistaken, Overrides};
use crate::generation::{Generation, Purpose};
use crate::reload::Sources;
use crate::script::Engines;
use crate::server::Refusal;

/// Where a configuration is looked for that the command line does not name: in a folder like
/// rhaid's own, and in one that holds nothing else.
pub(super) const USUAL: [&str; 2] = ["conf/host.yaml", "host.yaml"];

/// Reads the configuration that was named, or the one that is found.
///
/// # Errors
/// With all mistakes of the file and its scripts; or if there is none.
pub(super) fn read(named: Option<&Path>, overrides: &Overrides) -> Result<Config, Refusal> {
    let path = locate(named)?;
    config::read(&path, overrides).map_err(|mistaken| Refusal::Configuration(all_problems(&mistaken)))
}

/// Reads once more, while the server runs.
///
/// # Errors
/// With all mistakes, and the files that were read, or should be there.
pub(super) fn reread(named: Option<&Path>, overrides: &Overrides) -> Result<Config, (String, Sources)> {
    let path = locate(named).map_err(|refusal| match refusal {
        Refusal::Configuration(message) | Refusal::System(message) => (message, Sources::default()),
    })?;
    config::read(&path, overrides).map_err(|mistaken| (all_problems(&mistaken), Sources::of_mistaken(&mistaken)))
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

/// Everything that is wrong, in the scripts of what is left as well.
fn all_problems(mistaken: &Mistaken) -> String {
    let mut problems = vec![mistaken.problems.to_string()];
    problems.extend(mistaken.rest.iter().flat_map(|it| script_problems(it)));
    problems.join("\n")
}

/// The mistakes that only show when the scripts are compiled and started. Not to be called in a runtime: no thread can
/// be in two.
pub(super) fn script_problems(config: &Config) -> Vec<String> {
    thread_local! {
        // Engines live as long as the process: a server must not make others for each reload.
        static ENGINES: Engines = Engines::new([binding::register as _]);
    }
    let built = tokio::runtime::LocalRuntime::new().map(|runtime| {
        ENGINES.with(|engines| runtime.block_on(Generation::build(config, engines, Purpose::Test, None)))
    });
    match built {
        Ok(built) => built.err().unwrap_or_default(),
        Err(error) => vec![error.to_string()],
    }
}
