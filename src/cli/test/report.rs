//! What is printed of tests: a line for each, then what failed, then how many.

use std::io::Write;
use std::time::{Duration, Instant};

/// What became of the tests so far.
pub(super) struct Report {
    out: Box<dyn Write + Send>,
    began: Instant,
    passed: usize,
    left_out: usize,
    failures: Vec<Failure>,
}

struct Failure {
    /// `file: test`.
    name: String,
    why: String,
    /// What went to the error log meanwhile.
    log: Vec<String>,
}

impl Report {
    /// A report that is printed to `out`.
    pub(super) fn new(out: impl Write + Send + 'static) -> Report {
        Report { out: Box::new(out), began: Instant::now(), passed: 0, left_out: 0, failures: Vec::new() }
    }

    /// A test that was not asked for.
    pub(super) fn leave_out(&mut self) {
        self.left_out += 1;
    }

    /// A test that was run.
    pub(super) fn add(&mut self, name: String, outcome: Result<(), String>, log: Vec<String>) {
        let word = if outcome.is_ok() { "ok" } else { "FAILED" };
        self.say(&format!("test {name} ... {word}\n"));
        match outcome {
            Ok(()) => self.passed += 1,
            Err(why) => self.failures.push(Failure { name, why, log }),
        }
    }

    /// Whether there were tests, and all passed.
    pub(super) fn is_success(&self) -> bool {
        self.failures.is_empty() && self.passed > 0
    }

    /// Says what failed, and how many there were of each.
    pub(super) fn close(&mut self) {
        let summary = self.summary(self.began.elapsed());
        self.say(&summary);
    }

    /// That nobody reads it is no fault.
    fn say(&mut self, text: &str) {
        let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
    }

    fn summary(&self, took: Duration) -> String {
        let mut text = String::new();
        if !self.failures.is_empty() {
            text.push_str("\nfailures:\n");
        }
        for failure in &self.failures {
            text.push_str(&format!("\n---- {}\n{}\n", failure.name, failure.why));
            if !failure.log.is_empty() {
                text.push_str("\n  logged meanwhile:\n");
            }
            for line in failure.log.iter().flat_map(|it| it.lines()) {
                text.push_str(&format!("  {line}\n"));
            }
        }
        let (passed, failed) = (self.passed, self.failures.len());
        let verdict = match (failed, passed) {
            (0, 0) => "no test was run",
            (0, _) => "ok",
            _ => "FAILED",
        };
        let left_out = if self.left_out > 0 { format!(", {} filtered out", self.left_out) } else { String::new() };
        let took = took.as_secs_f64();
        text.push_str(&format!(
            "\ntest result: {verdict}. {passed} passed, {failed} failed{left_out} in {took:.2} s\n"
        ));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_test_logged_is_shown_if_it_failed() {
        let mut report = Report::new(std::io::sink());
        report.add("a_test.rhai: test_a".into(), Ok(()), vec!["INFO quiet".into()]);
        report.add("a_test.rhai: test_b".into(), Err("a_test.rhai:1:2: no".into()), vec!["ERROR loud\n  1 | x".into()]);
        report.leave_out();
        let expected = "\nfailures:\n\n---- a_test.rhai: test_b\na_test.rhai:1:2: no\n\n  logged meanwhile:\n  ERROR loud\n    1 | x\n\n\
                        test result: FAILED. 1 passed, 1 failed, 1 filtered out in 0.50 s\n";
        assert_eq!(report.summary(Duration::from_millis(500)), expected);
        assert!(!report.is_success());
    }

    #[test]
    fn no_test_is_no_success() {
        let report = Report::new(std::io::sink());
        assert!(!report.is_success());
        assert_eq!(report.summary(Duration::ZERO), "\ntest result: no test was run. 0 passed, 0 failed in 0.00 s\n");
    }
}
