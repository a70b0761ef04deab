//! The error log: what the server and its scripts have to say to the operator, one event a line.

use std::env;
use std::io;
use std::path::PathBuf;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use jiff::Timestamp;
use tracing::level_filters::LevelFilter;

use crate::directive::{self, Directive, Kind, Level, Node, Problems, Repeat};
use crate::fiber;
use crate::log_file::{self, Form, LogFile};

mod event;
mod listener;
mod overheard;

use listener::Listener;
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
    /// How an event is written.
    pub form: Form,
}

impl Settings {
    /// Whether who reads the standard error output expects JSON there.
    pub fn has_stderr_for_json(&self) -> bool {
        self.path.is_none() && self.form == Form::Json
    }
}

impl directive::Settings for Settings {
    const DIRECTIVES: &'static [Directive<Settings>] = &[Directive {
        name: "error-log",
        levels: &[Level::Global],
        repeat: Repeat::Once,
        summary: "Path of the file that errors and the messages of scripts are appended to, or a mapping of `path` and `format` (`text` or `json`: an object on each line, with the request's id as `request`); the standard error output by default.",
        example: "error-log: {path: error.log, format: json}",
        apply: |settings, node| {
            *settings = read(node)?;
            Ok(())
        },
    }];
}

fn read(node: &Node) -> Result<Settings, Problems> {
    if node.kind() != Kind::Mapping {
        return Ok(Settings { path: Some(log_file::path(node)?), form: Form::Text });
    }
    let (mut settings, mut problems) = (Settings::default(), Problems::default());
    for (name, value) in node.fields(&["path", "format"])? {
        if name == "path" {
            settings.path = problems.check(log_file::path(&value));
        } else {
            let json = problems.check(value.one_of(&["text", "json"])) == Some("json");
            settings.form = if json { Form::Json } else { Form::Text };
        }
    }
    problems.or(settings)
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

/// The log of the process.
static LOG: RwLock<Option<Log>> = RwLock::new(None);

/// Where events go.
#[derive(Clone, Debug)]
struct Log {
    file: LogFile,
    form: Form,
}

/// An error log that is open, and not in use yet.
#[derive(Debug)]
pub struct Prepared {
    log: Log,
    /// The same file for the last words of a process that can't wait for its threads. They are no JSON.
    last_words: Option<PathBuf>,
}

/// Keeps the error log going; what is still to be written when it is dropped is waited for.
#[derive(Debug)]
pub struct Guard(());

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(log) = &*current() {
            log.file.flush(PATIENCE);
        }
    }
}

/// Opens an error log.
///
/// # Errors
/// If the file can't be opened.
pub fn open(settings: &Settings) -> io::Result<Prepared> {
    let file = match &settings.path {
        Some(path) => LogFile::open(path, settings.form)?,
        None => LogFile::stderr(settings.form)?,
    };
    let last_words = match (&settings.path, settings.form) {
        (Some(path), Form::Text) => Some(path.clone()),
        _ => None,
    };
    Ok(Prepared { log: Log { file, form: settings.form }, last_words })
}

impl Prepared {
    /// Sends the events there from now on.
    pub fn put_in_place(self) {
        *LOG.write().unwrap_or_else(PoisonError::into_inner) = Some(self.log);
        fiber::log_to(self.last_words.as_deref());
    }
}

/// Sends the events of the whole process to the error log, from the level that the environment
/// variable `RHAID_LOG` names, else from `info`.
///
/// # Errors
/// If the file can't be opened, or if the process has an error log already.
pub fn install(settings: &Settings) -> io::Result<Guard> {
    open(settings)?.put_in_place();
    let level = level();
    let log = Listener::new(level, |event| {
        if let Some(log) = &*current() {
            log.send(event);
        }
    });
    tracing::subscriber::set_global_default(log).map_err(io::Error::other)?;
    if level.is_none() {
        let wanted = env::var(LEVEL).unwrap_or_default();
        tracing::warn!("`{LEVEL}` is `{wanted}`, expected `off`, `error`, `warn`, `info`, `debug` or `trace`");
    }
    Ok(Guard(()))
}

fn current() -> RwLockReadGuard<'static, Option<Log>> {
    LOG.read().unwrap_or_else(PoisonError::into_inner)
}

impl Log {
    fn send(&self, event: &tracing::Event<'_>) {
        self.file.send(event::lines(self.form, Timestamp::now(), event).into_bytes());
    }
}

/// The least level that is logged; `None` if the environment names none that there is.
fn level() -> Option<LevelFilter> {
    let wanted = env::var(LEVEL).ok().filter(|it| !it.is_empty());
    wanted.map_or(Some(LevelFilter::INFO), |it| it.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directive::apply;
    use std::fs;

    fn logged(level: LevelFilter, events: impl FnOnce()) -> String {
        logged_as(Form::Text, level, events)
    }

    fn logged_as(form: Form, level: LevelFilter, events: impl FnOnce()) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("error.log");
        let file = LogFile::open(&path, form).unwrap();
        let log = Log { file: file.clone(), form };
        tracing::subscriber::with_default(Listener::new(Some(level), move |event| log.send(event)), events);
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
    fn an_event_is_one_line_of_json_whatever_is_in_it() {
        let evil = "a.rhai:4:1: \"x\\\n   4 | x\r\n\u{1b}[2J\u{85}\u{2028}é\0";
        let log = logged_as(Form::Json, LevelFilter::INFO, || {
            tracing::error!(request = %"00ff", status = 500, more = -1, late = true, agent = evil, name = ?"q", "{evil}");
            tracing::info!("plain");
        });
        let events: Vec<serde_json::Value> = log.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
        assert!(!log.contains(|it: char| it != '\n' && (it.is_control() || it == '\u{2028}')), "{log}");
        let time = events[0]["time"].as_str().unwrap();
        assert!(time.ends_with('Z') && time.len() == 24, "{time}");
        let expected = serde_json::json!({
            "time": time, "level": "ERROR", "message": evil, "request": "00ff", "status": 500, "more": -1,
            "late": true, "agent": evil, "name": "\"q\"",
        });
        assert_eq!((events.len(), &events[0]), (2, &expected));
        assert_eq!((&events[1]["level"], &events[1]["message"]), (&"INFO".into(), &"plain".into()));
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
        let read = |text: &str| apply(Settings::default(), text);
        let settings = |path: Option<&str>, form| Ok(Settings { path: path.map(PathBuf::from), form });
        assert_eq!(read("error-log: error.log"), settings(Some("error.log"), Form::Text));
        assert_eq!(read("error-log: {path: e, format: JSON}"), settings(Some("e"), Form::Json));
        assert_eq!(read("error-log: {format: json}"), settings(None, Form::Json));
        let mistakes = read("error-log: {path: '', format: xml}").unwrap_err();
        assert!(mistakes.contains("expected the path of a file"), "{mistakes}");
        assert!(mistakes.contains("`format` is `xml`, expected `text` or `json`"), "{mistakes}");
    }
}
