//! The limits of a script's call.

use std::path::PathBuf;
use std::time::Duration;

use crate::directive::{self, Directive, Level, Problems, Repeat};

/// What one call of a script may use; inherited from level to level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Wall time from call to reply, waits included; for a stream to its first byte. Beyond it: 503.
    pub timeout: Duration,
    /// Operations of one call; more get 500.
    pub max_operations: u64,
    /// Functions that may call each other inside one another; more get 500.
    pub max_call_levels: usize,
    /// Bytes that one call may hold; more get 500.
    pub max_memory: u64,
    /// Folders that modules are imported from, beside the script's own.
    pub module_path: Vec<PathBuf>,
    /// Whether clients see what is wrong with a script.
    pub development: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            timeout: Duration::from_secs(5),
            max_operations: 100_000_000,
            max_call_levels: 64,
            max_memory: 64 << 20,
            module_path: Vec::new(),
            development: false,
        }
    }
}

const LEVELS: &[Level] = &[Level::Global, Level::Host, Level::Path];

impl directive::Settings for Settings {
    const DIRECTIVES: &'static [Directive<Settings>] = &[
        Directive {
            name: "rhai.timeout",
            levels: LEVELS,
            repeat: Repeat::Once,
            summary: "The time that a script may take from call to reply, waits included; beyond it the answer is 503. \
                      Default: `5s`.",
            example: "rhai.timeout: 500ms",
            apply: |settings, value| {
                settings.timeout = value.duration()?;
                if settings.timeout.is_zero() {
                    return Err(value.expected("a duration above zero, such as `5s`").into());
                }
                Ok(())
            },
        },
        Directive {
            name: "rhai.max-operations",
            levels: LEVELS,
            repeat: Repeat::Once,
            summary: "The operations that one call of a script may take; beyond them the answer is 500. \
                      Default: `100000000`.",
            example: "rhai.max-operations: 1000000",
            apply: |settings, value| {
                settings.max_operations = value.integer(1..=u64::MAX)?;
                Ok(())
            },
        },
        Directive {
            name: "rhai.max-call-levels",
            levels: LEVELS,
            repeat: Repeat::Once,
            summary: "How deep functions of a script may call each other; deeper calls are answered with 500. \
                      Default: `64`.",
            example: "rhai.max-call-levels: 100",
            apply: |settings, value| {
                // The stack of a call is limited as well, whatever this says.
                settings.max_call_levels = usize::try_from(value.integer(1..=1024)?).unwrap_or(usize::MAX);
                Ok(())
            },
        },
        Directive {
            name: "rhai.max-memory",
            levels: LEVELS,
            repeat: Repeat::Once,
            summary: "The memory that one call of a script may hold, from `1 MB` on; beyond it the answer is 500. Default: `64 MiB`.",
            example: "rhai.max-memory: 16 MiB",
            apply: |settings, value| {
                settings.max_memory = value.size()?;
                // The least script takes some 300 KiB: Rhai's own, and the copies of what it captured.
                if settings.max_memory < 1_000_000 {
                    return Err(value.expected("a size from `1 MB` on, such as `64 MiB`").into());
                }
                Ok(())
            },
        },
        Directive {
            name: "rhai.module-path",
            levels: LEVELS,
            repeat: Repeat::AddsUp,
            summary: "A folder, or a list of them, where scripts find what they `import`, after the folder of the \
                      importing file; relative to the current folder.",
            example: "rhai.module-path: handlers/lib",
            apply: |settings, value| {
                let mut problems = Problems::default();
                for folder in value.items() {
                    settings.module_path.extend(problems.check(folder.existing_folder()));
                }
                problems.or(())
            },
        },
        Directive {
            name: "rhai.development",
            levels: LEVELS,
            repeat: Repeat::Once,
            summary: "Whether a fault of a script is shown to the client: a page with message, source, calls, request and \
                      env, or JSON with `error` for who does not ask for HTML. Not for servers that others can reach. \
                      Default: `OFF`.",
            example: "rhai.development: ON",
            apply: |settings, value| {
                settings.development = value.on_off()?;
                Ok(())
            },
        },
    ];
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::directive::{Section, parse};

    fn settings(text: &str) -> Result<Settings, Problems> {
        let mut settings = Settings::default();
        let mut problems = Problems::default();
        for (key, value) in parse(Path::new("host.yaml"), text)?.entries()? {
            problems.check(settings.apply(key.name(), &value).expect("a directive of scripts"));
        }
        problems.or(settings)
    }

    #[test]
    fn every_limit_can_be_set() {
        let text = "rhai.timeout: 0.25\nrhai.max-operations: 7\nrhai.max-call-levels: 8\nrhai.max-memory: 1 MB\nrhai.module-path: [src, .]\nrhai.development: ON\n";
        let expected = Settings {
            timeout: Duration::from_millis(250),
            max_operations: 7,
            max_call_levels: 8,
            max_memory: 1_000_000,
            module_path: vec!["src".into(), ".".into()],
            development: true,
        };
        assert_eq!(settings(text), Ok(expected));
    }

    #[test]
    fn a_limit_that_no_script_keeps_is_a_mistake() {
        let text = "rhai.timeout: 0\nrhai.max-operations: 0\nrhai.max-call-levels: 5000\nrhai.max-memory: 256 KiB\n";
        let expected = "\
host.yaml:1:15: `rhai.timeout` is `0`, expected a duration above zero, such as `5s`
  1 | rhai.timeout: 0
    |               ^
host.yaml:2:22: `rhai.max-operations` is `0`, expected a whole number from 1 on
  2 | rhai.max-operations: 0
    |                      ^
host.yaml:3:23: `rhai.max-call-levels` is `5000`, expected a whole number from 1 to 1024
  3 | rhai.max-call-levels: 5000
    |                       ^^^^
host.yaml:4:18: `rhai.max-memory` is `256 KiB`, expected a size from `1 MB` on, such as `64 MiB`
  4 | rhai.max-memory: 256 KiB
    |                  ^^^^^^^";
        assert_eq!(settings(text).unwrap_err().to_string(), expected);
    }
}
