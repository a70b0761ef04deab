//! The access log: a line for each request, gathered by each worker and written by nobody that
//! serves requests.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::auth::Redaction;
use crate::directive::{self, Directive, Level, Node, Problem, Problems, Repeat};
use crate::log_file::{self, LogFile};

mod clock;
mod escape;
mod field;
mod format;
mod record;
mod specifier;

use clock::Clock;
use escape::Escape;
use format::{COMBINED, Format};
pub use record::{Needs, Record, Times};
pub use specifier::SPECIFIERS;

/// A worker hands on what it has gathered when it is as long as this, in bytes.
const FULL: usize = 64 << 10;

/// Room for the line that makes a buffer full.
const LINE: usize = 4 << 10;

/// Where a request's line goes to: the logs of all levels add up, as h2o's do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The logs, outer levels first.
    pub logs: Vec<Destination>,
}

/// One `access-log`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The file that is appended to.
    pub path: PathBuf,
    format: Arc<Format>,
}

impl directive::Settings for Settings {
    const DIRECTIVES: &'static [Directive<Settings>] = &[Directive {
        name: "access-log",
        levels: &[Level::Global, Level::Host, Level::Path],
        repeat: Repeat::AddsUp,
        summary: "Path of a file that gets a line for each request, or a mapping of `path`, `format` (h2o's specifiers; the combined format by default) and `escape` (`apache` or `json`); adds to the logs of outer levels; `/dev/null` adds none.",
        example: "access-log: {path: access.log, escape: json, format: '{\"at\": \"%{%FT%T%z}t\", \"request\": \"%r\", \"status\": %s, \"seconds\": %{duration}x, \"id\": \"%{request-id}x\"}'}",
        apply: |settings, node| {
            settings.logs.extend(read(node)?);
            Ok(())
        },
    }];
}

/// A path, or a mapping that names it.
fn read(node: &Node) -> Result<Option<Destination>, Problems> {
    let combined = |escape| Format::parse(COMBINED, escape).map_err(|it| problem(node, it));
    if node.kind() != directive::Kind::Mapping {
        let format = combined(Escape::Apache)?;
        return Ok(path(node)?.map(|path| Destination { path, format: Arc::new(format) }));
    }
    let fields = node.fields(&["path", "format", "escape"])?;
    let field = |name: &str| fields.iter().find(|it| it.0 == name).map(|it| &it.1);
    let mut problems = Problems::default();
    let path = match field("path") {
        Some(value) => problems.check(path(value)).flatten(),
        None => {
            problems.0.push(node.lacks("path"));
            None
        }
    };
    let escape = field("escape").and_then(|value| problems.check(escape(value))).unwrap_or_default();
    let format = match field("format") {
        Some(value) => problems.check(format(value, escape)),
        None => problems.check(combined(escape)),
    };
    problems.or(path.zip(format).map(|(path, format)| Destination { path, format: Arc::new(format) }))
}

fn path(node: &Node) -> Result<Option<PathBuf>, Problem> {
    let path = node.text_as("the path of a file")?;
    if path.starts_with('|') {
        return Err(node
            .expected("the path of a file")
            .hint("a named pipe (`mkfifo`) that a command reads from does the same as `| COMMAND`"));
    }
    // What nobody can read is not even made.
    if path == "/dev/null" {
        return Ok(None);
    }
    log_file::path(node).map(Some)
}

fn escape(node: &Node) -> Result<Escape, Problem> {
    const EXPECTED: &str = "`apache` or `json`";
    match node.text_as(EXPECTED)?.to_ascii_lowercase().as_str() {
        "apache" => Ok(Escape::Apache),
        "json" => Ok(Escape::Json),
        _ => Err(node.expected(EXPECTED)),
    }
}

fn format(node: &Node, escape: Escape) -> Result<Format, Problem> {
    let text = node.text_as("a format such as `%h \"%r\" %s`")?;
    Format::parse(text, escape).map_err(|mistake| problem(node, mistake))
}

fn problem(node: &Node, mistake: specifier::Mistake) -> Problem {
    let problem = node.problem(mistake.message);
    mistake.hint.into_iter().fold(problem, Problem::hint)
}

impl Settings {
    /// What must be noted of a request for its logs.
    pub fn needs(&self) -> Needs {
        self.logs.iter().fold(Needs::default(), |needs, log| needs.and(log.format.needs()))
    }

    /// Opens the files, for all workers.
    ///
    /// # Errors
    /// If one can't be opened; the message names it.
    pub fn open(&self, redaction: &Arc<Redaction>) -> io::Result<Logs> {
        let open = |destination: &Destination| {
            let file = LogFile::open(&destination.path, destination.format.form())?;
            Ok(Log { file, format: Arc::clone(&destination.format), redaction: Arc::clone(redaction) })
        };
        let logs = self.logs.iter().map(open).collect::<io::Result<_>>()?;
        Ok(Logs { logs, needs: self.needs() })
    }
}

/// The open logs of a path.
#[derive(Clone, Debug, Default)]
pub struct Logs {
    logs: Arc<[Log]>,
    /// What must be noted of a request.
    pub needs: Needs,
}

#[derive(Debug)]
struct Log {
    file: LogFile,
    format: Arc<Format>,
    redaction: Arc<Redaction>,
}

impl Logs {
    /// Whether nothing is logged, so that nothing need be recorded.
    pub fn is_empty(&self) -> bool {
        self.logs.is_empty()
    }
}

/// The lines that a worker has gathered, for each file.
///
/// Dropping it hands them on.
#[derive(Debug, Default)]
pub struct Buffers {
    clock: Clock,
    files: Vec<Buffer>,
}

#[derive(Debug)]
struct Buffer {
    file: LogFile,
    lines: Vec<u8>,
}

impl Buffers {
    /// Adds the line of a request to all `logs`.
    pub fn write(&mut self, logs: &Logs, record: &Record<'_>) {
        self.clock.tick();
        for log in logs.logs.iter() {
            // A worker has few files, mostly one: nothing is faster to search than a short list.
            let index = self.files.iter().position(|buffer| buffer.file.is_same(&log.file)).unwrap_or_else(|| {
                self.files.push(Buffer { file: log.file.clone(), lines: Vec::new() });
                self.files.len() - 1
            });
            let buffer = &mut self.files[index];
            log.format.write(&mut buffer.lines, record, &mut self.clock, &log.redaction);
            if buffer.lines.len() >= FULL {
                buffer.file.send(std::mem::replace(&mut buffer.lines, Vec::with_capacity(FULL + LINE)));
            }
        }
    }

    /// Hands on all that was gathered; to be called once a second, and before the worker ends.
    pub fn flush_all(&mut self) {
        // A file that had nothing since the last time may belong to a configuration that is gone:
        // its buffer is made again if it is needed.
        self.files.retain(|buffer| !buffer.lines.is_empty());
        for buffer in &mut self.files {
            // A copy of just its size: few lines should not hold the room of many while they wait.
            buffer.file.send(buffer.lines.as_slice().into());
            buffer.lines.clear();
        }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        self.flush_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access_log::format::tests::Sample;
    use crate::auth;
    use crate::directive::{Settings as _, apply};
    use std::fs;
    use std::time::Duration;

    const PATIENCE: Duration = Duration::from_secs(20);

    fn logs(settings: &Settings) -> Logs {
        settings.open(&Arc::new(Redaction::gather(&[auth::Settings::default()]))).unwrap()
    }

    #[test]
    fn logs_of_the_levels_add_up_and_share_a_file_that_is_named_twice() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let outer = apply(Settings::default(), &format!("access-log: {}", path("a"))).unwrap();
        let inner = apply(outer, &format!("access-log: {{path: {}}}", path("b"))).unwrap();
        let innermost = apply(inner, &format!("access-log: {}", path("./a"))).unwrap();
        let logs = logs(&innermost);
        let mut buffers = Buffers::default();
        Sample::default().record(|record| buffers.write(&logs, record));
        assert_eq!(buffers.files.len(), 2);
        buffers.flush_all();
        for log in logs.logs.iter() {
            assert!(log.file.flush(PATIENCE));
        }
        let lines = |name| fs::read_to_string(path(name)).unwrap().lines().count();
        assert_eq!((lines("a"), lines("b")), (2, 1));
    }

    #[test]
    fn nothing_is_logged_to_dev_null() {
        let settings = apply(Settings::default(), "access-log: /dev/null").unwrap();
        assert_eq!(settings, Settings::default());
        let settings = apply(settings, "access-log: {path: /dev/null}").unwrap();
        assert!(logs(&settings).is_empty());
    }

    #[test]
    fn a_full_buffer_is_handed_on_and_the_rest_by_the_timer_or_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.log");
        let logs = logs(&apply(Settings::default(), &format!("access-log: {}", path.display())).unwrap());
        let file = logs.logs[0].file.clone();
        let written = || {
            assert!(file.flush(PATIENCE));
            fs::read(&path).unwrap().len()
        };
        let mut buffers = Buffers::default();
        let write = |buffers: &mut Buffers| Sample::default().record(|record| buffers.write(&logs, record));
        write(&mut buffers);
        let line = buffers.files[0].lines.len();
        assert_eq!(written(), 0);
        for _ in 0..FULL / line {
            write(&mut buffers);
        }
        let full = (FULL / line + 1) * line;
        assert_eq!(written(), full);
        write(&mut buffers);
        buffers.flush_all();
        assert_eq!(written(), full + line);
        write(&mut buffers);
        drop(buffers);
        assert_eq!(written(), full + 2 * line);
    }

    #[test]
    fn a_file_that_is_no_longer_written_to_is_let_go() {
        let folder = tempfile::tempdir().unwrap();
        let logs =
            logs(&apply(Settings::default(), &format!("access-log: {}", folder.path().join("a").display())).unwrap());
        let mut buffers = Buffers::default();
        Sample::default().record(|record| buffers.write(&logs, record));
        buffers.flush_all();
        buffers.flush_all();
        assert!(buffers.files.is_empty());
    }

    #[test]
    fn a_file_that_can_not_be_opened_is_named() {
        let destination = Destination {
            path: "/nowhere/a.log".into(),
            format: Arc::new(Format::parse(COMBINED, Escape::Apache).unwrap()),
        };
        let settings = Settings { logs: vec![destination] };
        let error = settings.open(&Arc::default()).unwrap_err();
        assert!(error.to_string().contains("`/nowhere/a.log`"), "{error}");
    }

    #[test]
    fn commands_unknown_keys_and_a_missing_path_are_mistakes() {
        let mistakes = |text: &str| apply(Settings::default(), text).unwrap_err();
        assert!(mistakes("access-log: '| rotatelogs'").contains("mkfifo"));
        assert!(mistakes("access-log: {paht: a}").contains("paht"));
        assert!(mistakes("access-log: {}").contains("lacks `path`"));
    }

    #[test]
    fn the_example_is_without_a_mistake() {
        assert_eq!(apply(Settings::default(), Settings::DIRECTIVES[0].example).unwrap().logs.len(), 1);
    }
}
