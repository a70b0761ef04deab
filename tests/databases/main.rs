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

mod private;
#[allow(dead_code, unused_imports, reason = "the cases use the rest of it")]
#[path = "../servers/mod.rs"]
mod servers;

use servers::Kind;

/// A test of this name for each kind of server.
type Test = (&'static str, fn(Kind));

fn main() -> ExitCode {
    if let Some(kind) = private::held() {
        private::hold(kind);
    }
    let trials = private::TESTS.iter().flat_map(|test| Kind::ALL.map(|kind| trial(test, kind)));
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
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
