//! What is behind `databases:` when it is a server: rhaid's program against private servers of MariaDB and PostgreSQL.
#![allow(clippy::unwrap_used)] // As in tests: Clippy does not see that all of this is tests.

use std::process::ExitCode;

use libtest_mimic::{Arguments, Completion, Trial};

/// `TESTS` of a module: its functions with their names.
macro_rules! tests {
    ($($test:ident),+ $(,)?) => {
        /// What is tested here.
        pub const TESTS: &[crate::Test] = &[$((stringify!($test), $test)),+];
    };
}

mod crowd;
mod private;
#[allow(dead_code, reason = "the tests of the program use the rest of it")]
#[path = "../program/served.rs"]
mod served;
#[path = "../servers/mod.rs"]
mod servers;
mod start;
mod statements;
mod types;

use servers::Kind;

/// A test of this name for each kind of server.
type Test = (&'static str, fn(Kind));

fn main() -> ExitCode {
    if let Some(kind) = private::held() {
        private::hold(kind);
    }
    if let Some((address, target)) = crowd::wanted() {
        crowd::ask_for_ever(&address, &target);
    }
    let tests = [private::TESTS, start::TESTS, statements::TESTS, types::TESTS, crowd::TESTS].concat();
    let trials = tests.iter().flat_map(|test| Kind::ALL.map(|kind| trial(test, kind)));
    let sqlite = Trial::test("every_type_is_read_as_the_reference_says [sqlite]", || {
        types::sqlite();
        Ok(())
    });
    let trials = trials.chain([sqlite]);
    let mut arguments = Arguments::from_args();
    // They mostly wait, as the cases do.
    arguments.test_threads.get_or_insert_with(|| std::thread::available_parallelism().map_or(4, |n| n.get().max(4)));
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

/// The test against `kind`; where that isn't installed, it is skipped with the reason, or fails if it is required.
fn trial((name, test): &Test, kind: Kind) -> Trial {
    let test = *test;
    Trial::ignorable_test(format!("{name} [{kind}]"), move || match kind.missing() {
        None => {
            test(kind);
            Ok(Completion::Completed)
        }
        Some(reason) if servers::are_required() => Err(reason.into()),
        Some(reason) => Ok(Completion::ignored_with(reason)),
    })
}
