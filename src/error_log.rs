//! The error log: what the server and its scripts have to say to the operator, one event a line.

use std::env;
use std::fmt::{self, Debug, Write};
use std::fs::OpenOptions;
use std::io;
use std::os::fd::IntoRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::directive::{self, Directive, Level, Repeat};
use crate::fiber;
use crate::log_file::{self, LogFile};

mod overheard;

pub use overheard::overheard;

/// Names the least level that is logged: `off`, `error`, `warn`, `info`, `debug` or `trace`.
const LEVEL: &str = "RHAID_LOG";

/// How long the end of the process waits for the disk.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where the error log goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The file that is appended to; the standard error output where there is none.
    pub path: Option<PathBuf>,
}

impl directive::Settings for Settings {
    const DIRECTIVES: &'static [Directive<Settings>] = &[Directive {
        name: "error-log",
        levels: &[Level::Global],
        repeat: Repeat::Once,
        summary: "Path of the file that errors and the messages of scripts are appended to; the standard error output by default.",
        example: "error-log: error.log",
        apply: |settings, node| {
            settings.path = Some(log_file::path(node)?);
            Ok(())
        },
    }];
}

/// Whether what goes wrong with a request is in the error log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestErrors {
    /// Otherwise it is only where an access log has `%{error}x`.
    pub emit: bool,
}

impl Default for RequestErrors {
    fn default() -> RequestErrors {
        RequestErrors { emit: true }
    }
}

impl directive::Settings for RequestErrors {
    const DIRECTIVES: &'static [Directive<RequestErrors>] = &[Directive {
        name: "error-log.emit-request-errors",
        levels: &[Level::Global, Level::Host, Level::Path],
        repeat: Repeat::Once,
        summary: "Whether the errors of requests (what scripts fail with, what they write to `rack.errors`) are in the error log; with `OFF` they are only where an access log has `%{error}x`. What scripts log by `print` and `log::` is there all the same. Default: `ON`.",
        example: "error-log.emit-request-errors: OFF",
        apply: |settings, node| {
            settings.emit = node.on_off()?;
            Ok(())
        },
    }];
}

/// Keeps the error log going; what is still to be written when it is dropped is waited for.
#[derive(Debug)]
pub struct Guard(LogFile);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.flush(PATIENCE);
    }
}

/// Sends the events of the whole process to the error log, from the level that the environment
/// variable `RHAID_LOG` names, else from `info`.
///
/// # Errors
/// If the file can't be opened, or if the process has an error log already.
pub fn install(settings: &Settings) -> io::Result<Guard> {
    let file = settings.path.as_deref().map_or_else(LogFile::stderr, |path: &Path| LogFile::open(path))?;
    if let Some(path) = &settings.path {
        // For the last words of a process that can't wait for its threads: never closed.
        fiber::log_to(OpenOptions::new().append(true).open(path)?.into_raw_fd());
    }
    let level = level();
    let log = Log { file: file.clone(), level: level.unwrap_or(LevelFilter::INFO) };
    tracing::subscriber::set_global_default(log).map_err(io::Error::other)?;
    if level.is_none() {
        let wanted = env::var(LEVEL).unwrap_or_default();
        tracing::warn!("`{LEVEL}` is `{wanted}`, expected `off`, `error`, `warn`, `info`, `debug` or `trace`");
    }
    Ok(Guard(file))
}

/// The least level that is logged; `None` if the environment names none that there is.
fn level() -> Option<LevelFilter> {
    let wanted = env::var(LEVEL).ok().filter(|it| !it.is_empty());
    wanted.map_or(Some(LevelFilter::INFO), |it| it.parse().ok())
}

/// Writes events; spans, which rhaid does not use, cost nothing and say nothing.
///
/// The registry of tracing-subscriber keeps books on spans that nobody would read.
struct Log {
    file: LogFile,
    level: LevelFilter,
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= self.level
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level)
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.file.send(line(Timestamp::now(), event).into_bytes());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// `2026-11-30T16:54:50.123Z ERROR message key=value`, then the other lines of the message.
fn line(now: Timestamp, event: &Event<'_>) -> String {
    format!("{now:.3} {}\n", text(event))
}

/// A line without its time and its end.
fn text(event: &Event<'_>) -> String {
    let mut parts = Parts::default();
    event.record(&mut parts);
    let mut line = format!("{} ", event.metadata().level());
    let (first, rest) = parts.message.split_once('\n').unwrap_or((&parts.message, ""));
    escape_into(&mut line, first);
    // The fields stand on the first line, so that a search for a request's id finds it.
    line.push_str(&parts.fields);
    for continued in rest.lines() {
        line.push('\n');
        // An excerpt is indented already. What begins at the margin could pass for an event.
        if !continued.is_empty() && !continued.starts_with(' ') {
            line.push_str("  ");
        }
        escape_into(&mut line, continued);
    }
    line
}

/// The message of an event as it came, and its fields as they are written.
#[derive(Default)]
struct Parts {
    message: String,
    fields: String,
}

impl Visit for Parts {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.take(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.take(field, &format!("{value:?}"));
    }
}

impl Parts {
    fn take(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.message.push_str(value);
            return;
        }
        self.fields.push(' ');
        self.fields.push_str(field.name());
        self.fields.push('=');
        if !value.is_empty() && !value.contains([' ', '"', '=']) {
            return escape_into(&mut self.fields, value);
        }
        // Quoted, as a value could otherwise claim to be several fields.
        self.fields.push('"');
        escape_into(&mut self.fields, &value.replace('\\', "\\\\").replace('"', "\\\""));
        self.fields.push('"');
    }
}

/// Writes `text` so that it stays on its line and cannot steer a terminal.
fn escape_into(line: &mut String, text: &str) {
    for character in text.chars() {
        // Neither fails: a string takes all that memory has room for.
        let _ = match character {
            '\t' => line.write_char('\t'),
            control if control.is_control() => write!(line, "\\x{:02x}", u32::from(control)),
            separator @ ('\u{2028}' | '\u{2029}') => write!(line, "{}", separator.escape_unicode()),
            other => line.write_char(other),
        };
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("file", &self.file).field("level", &self.level).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directive::apply;
    use std::fs;

    fn logged(level: LevelFilter, events: impl FnOnce()) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("error.log");
        let file = LogFile::open(&path).unwrap();
        tracing::subscriber::with_default(Log { file: file.clone(), level }, events);
        assert!(file.flush(PATIENCE));
        fs::read_to_string(path).unwrap()
    }

    /// The lines without their times, which must be there.
    fn timeless(log: &str) -> String {
        let time = regex::Regex::new(r"(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ").unwrap();
        time.replace_all(log, "TIME ").into_owned()
    }

    #[test]
    fn an_event_is_a_line_with_time_level_message_and_fields() {
        let log = logged(LevelFilter::INFO, || {
            tracing::error!(request = %"00ff", status = 500, "no function `{}`", "db::frist");
            tracing::debug!("not said");
        });
        assert_eq!(timeless(&log), "TIME ERROR no function `db::frist` request=00ff status=500\n");
    }

    #[test]
    fn a_message_keeps_its_lines_and_their_indentation() {
        let log = logged(LevelFilter::INFO, || {
            tracing::warn!(request = 7, "{}", "a.rhai:4:1: broken\n   4 | x\n     | ^\n\nhint: mend it");
        });
        let expected = "TIME WARN a.rhai:4:1: broken request=7\n   4 | x\n     | ^\n\n  hint: mend it\n";
        assert_eq!(timeless(&log), expected);
    }

    #[test]
    fn a_client_can_not_forge_a_line_or_a_field() {
        let log = logged(LevelFilter::INFO, || {
            let evil = "x\r\n2026-01-01T00:00:00.000Z ERROR forged\u{1b}[2J\u{85}\u{2028}";
            tracing::info!(agent = evil, path = "/a b=\"c\"", name = ?"q\n", empty = "", "{evil}");
        });
        let expected = concat!(
            "TIME INFO x\\x0d",
            r#" agent="x\x0d\x0a2026-01-01T00:00:00.000Z ERROR forged\x1b[2J\x85\u{2028}""#,
            r#" path="/a b=\"c\"" name="\"q\\n\"" empty="""#,
            "\n  2026-01-01T00:00:00.000Z ERROR forged\\x1b[2J\\x85\\u{2028}\n",
        );
        assert_eq!(timeless(&log), expected);
    }

    #[test]
    fn the_level_decides_what_is_logged() {
        let log = logged(LevelFilter::DEBUG, || {
            tracing::debug!("said");
            tracing::trace!("not said");
        });
        assert_eq!(timeless(&log), "TIME DEBUG said\n");
        assert_eq!(logged(LevelFilter::OFF, || tracing::error!("not said")), "");
    }

    #[test]
    fn the_directive_names_the_file() {
        let settings = apply(Settings::default(), "error-log: error.log").unwrap();
        assert_eq!(settings.path, Some(PathBuf::from("error.log")));
    }
}
