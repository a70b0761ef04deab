//! `rhaid test`: runs the scripts of tests against the app, on throwaway databases.

mod found;
mod report;
mod run;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::print;
use crate::config::Config;
use crate::server::{Refusal, on_a_thread};

/// Run the tests of the handlers: functions `test_…` in files `*_test.rhai`
///
/// Each test gets an app of its own in this process, with fresh databases to which the migrations were applied: the
/// configured databases are never opened. A function `setup` runs before each test. Tests ask with `get("/path")`,
/// `post("/path", #{name: "x"})`, `put patch delete head options request`, and fail by `assert(…)`, `assert_eq(…, …)`,
/// `assert_status(answer, 200)` or any error; `db::` is the test's database. Ends with 0 if all tests passed, 1 if not or
/// if there is none, 78 for a mistake in the configuration.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  fn test_a_note_is_kept() {\n      assert_status(post(\"/notes\", #{text: \"milk\"}), 201);\n      \
                        assert_eq(get(\"/notes\").json.data[0].text, \"milk\");\n  }"
)]
pub(super) struct Test {
    /// Files of tests, or folders that are searched for them, but for those below that have a
    /// configuration of their own; without any the current folder
    #[arg(value_name = "FILE OR FOLDER")]
    places: Vec<PathBuf>,

    /// Only tests with this in their name
    #[arg(long, value_name = "NAME")]
    filter: Option<String>,
}

/// Runs what the command line names.
pub(super) fn run(test: &Test, config: Config) -> Result<ExitCode, Refusal> {
    let system = |error: io::Error| Refusal::System(error.to_string());
    let files = found::files(&test.places)?;
    if files.is_empty() {
        let place = match test.places.as_slice() {
            [] => "in this folder or those below it".to_owned(),
            places => {
                format!("in {}", places.iter().map(|it| format!("`{}`", it.display())).collect::<Vec<_>>().join(", "))
            }
        };
        print(&mut io::stderr(), &format!("no tests: there is no file `*_test.rhai` {place}"));
        return Ok(ExitCode::FAILURE);
    }
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    let filter = test.filter.as_deref().unwrap_or_default();
    let outcome = on_a_thread(|| run::run_all(config, &files, filter)).map_err(system)??;
    Ok(if outcome.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
