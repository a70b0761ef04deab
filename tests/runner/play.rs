//! Plays one case from its first section to its last.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::case::{Case, Change, Section, Step};
use super::database::{self, Fresh};
use super::exchange::Exchange;
use super::logs::{Log, PATIENCE};
use super::server::{NotStarted, Server};
use super::update::Edit;
use super::variables::Variables;
use super::{change, compare, conf, parse, server, update};
use crate::servers;

/// What is done with a reply that is not the expected one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// It is a failure.
    Compare,
    /// It is written to the case file.
    Update,
}

/// Why a case did not come to its end.
#[derive(Debug)]
enum Stop {
    /// The port was taken between the choice and the start.
    PortTaken,
    Failed(String),
}

impl From<String> for Stop {
    fn from(message: String) -> Stop {
        Stop::Failed(message)
    }
}

impl From<&str> for Stop {
    fn from(message: &str) -> Stop {
        Stop::Failed(message.to_owned())
    }
}

/// Plays the case in `file` with a database of `kind`, in a folder and with a server of its own.
///
/// # Errors
/// With the place and all that helps to understand it, if something is not as the case says.
pub fn play(file: &Path, kind: Option<database::Kind>, mode: Mode) -> Result<(), String> {
    for _ in 0..5 {
        match attempt(file, kind, mode) {
            Ok(()) => return Ok(()),
            Err(Stop::PortTaken) => {}
            Err(Stop::Failed(message)) => return Err(message),
        }
    }
    Err(format!("{}: five ports in a row were taken by others", file.display()))
}

fn attempt(file: &Path, kind: Option<database::Kind>, mode: Mode) -> Result<(), Stop> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let port = servers::free_port().map_err(|error| format!("no free port: {error}"))?;
    let root = fs::canonicalize(folder.path()).map_err(|error| error.to_string())?;
    let database = kind.map(Fresh::create).transpose()?;
    let variables = Variables { port, folder: root, database_url: database.as_ref().map(Fresh::url) };
    let case = parse::parse(&text, &variables).map_err(|mistake| format!("{}:{mistake}", file.display()))?;
    let mut stage = Stage::new(&variables, database.as_ref(), mode);
    let done = stage.play(&case, file);
    if !stage.edits.is_empty() {
        fs::write(file, update::apply(&text, &stage.edits)).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    done
}

/// A case while it is played.
struct Stage<'a> {
    variables: &'a Variables,
    database: Option<&'a Fresh>,
    mode: Mode,
    running: Option<Running>,
    /// What `parallel` and `within` said about what follows.
    parallel: Option<usize>,
    within: Option<Duration>,
    edits: Vec<Edit>,
    /// The last request: the line of its section, and what it says.
    asked: Option<(usize, String)>,
}

/// The server and what is known of it.
struct Running {
    server: Server,
    exchange: Exchange,
    error_log: Log,
    error_logs: Vec<PathBuf>,
    access_log: Log,
}

impl<'a> Stage<'a> {
    fn new(variables: &'a Variables, database: Option<&'a Fresh>, mode: Mode) -> Stage<'a> {
        Stage { variables, database, mode, running: None, parallel: None, within: None, edits: Vec::new(), asked: None }
    }

    fn play(&mut self, case: &Case, file: &Path) -> Result<(), Stop> {
        for section in &case.sections {
            // What a missing line of the error log is missing from, its failure has shown already.
            let shows_log = !matches!(section.step, Step::Log(_));
            self.section(section).map_err(|stop| self.explain(stop, file, section.line, &case.rule, shows_log))?;
        }
        let last = case.sections.last().map_or(1, |section| section.line);
        self.leave().map_err(|message| self.explain(message.into(), file, last, &case.rule, true))
    }

    /// A failure with its place, the request that it is about, and what the server had to say.
    fn explain(&mut self, stop: Stop, file: &Path, line: usize, rule: &str, shows_log: bool) -> Stop {
        let Stop::Failed(message) = stop else { return stop };
        let mut message = format!("{}:{line}: {message}", file.display());
        let mut add = |title: &str, text: &str| {
            if !text.trim().is_empty() {
                message.push_str(&format!("\n{title}:\n{}", compare::indent(text, "    ")));
            }
        };
        if let Some((line, text)) = &self.asked {
            add(&format!("the request, of line {line}"), text.trim_end());
        }
        add("the rule", rule.trim());
        if let Some(status) = self.running.as_mut().and_then(|running| running.server.ended_by_now()) {
            add("the server has ended", &status.to_string());
        }
        let end = |text: &str| {
            let lines: Vec<&str> = text.lines().collect();
            lines[lines.len().saturating_sub(30)..].join("\n")
        };
        add("the server printed", &self.running.as_ref().map(|it| end(&it.server.printed())).unwrap_or_default());
        if shows_log {
            let logged = fs::read_to_string(self.variables.folder.join("error.log")).unwrap_or_default();
            add("the error log", &end(&logged));
        }
        Stop::Failed(message)
    }

    fn section(&mut self, section: &Section) -> Result<(), Stop> {
        let folder = self.variables.folder.clone();
        match &section.step {
            Step::Refused(patterns) => {
                let running = self.running()?;
                change::refused(&folder, &running.error_logs)?;
                Ok(running.error_log.expect(patterns, PATIENCE)?)
            }
            Step::Conf => {
                let text = conf::complete(&section.text, self.variables.port);
                Ok(self.change(&Change::File(conf::FILE.into()), &text)?)
            }
            Step::Change(change) => Ok(self.change(change, &section.text)?),
            Step::Database => match self.database {
                Some(database) => Ok(database.fill(&folder, &section.text)?),
                None => Err("no kind of database was chosen for this run".into()),
            },
            Step::Request(request) => {
                let parallel = self.parallel.take();
                self.asked = Some((section.line, section.text.lines().take(20).collect::<Vec<_>>().join("\n")));
                Ok(self.running()?.exchange.send(request, parallel)?)
            }
            Step::Reply(expected) => {
                let within = self.within.take();
                let replies = self.running()?.exchange.replies(within)?;
                let count = replies.len();
                for (index, reply) in replies.iter().enumerate() {
                    let differences = compare::reply(expected, reply);
                    if differences.is_empty() {
                        continue;
                    }
                    if self.mode == Mode::Update {
                        self.edits.push(update::edit(section, expected, reply, self.variables)?);
                        break;
                    }
                    let which = if count > 1 { format!("reply {} of {count}: ", index + 1) } else { String::new() };
                    return Err(format!("{which}not the expected reply\n{}", differences.join("\n")).into());
                }
                Ok(())
            }
            Step::Closed => {
                self.within = None;
                Ok(self.running()?.exchange.closed()?)
            }
            Step::Parallel(count) => {
                self.parallel = Some(*count);
                Ok(())
            }
            Step::Within(limit) => {
                self.within = Some(*limit);
                Ok(())
            }
            Step::Log(patterns) => Ok(self.running()?.error_log.expect(patterns, PATIENCE)?),
            Step::Access(patterns) => Ok(self.running()?.access_log.expect(patterns, PATIENCE)?),
            Step::Check { status, output } => {
                let (got, printed) = server::check(&folder)?;
                let mut differences = Vec::new();
                if got != *status {
                    differences.push(format!("exit status: expected {status}, got {got}"));
                }
                let difference = output.as_ref().and_then(|output| compare::output(output, &printed));
                differences.extend(difference.map(|it| format!("output:\n{it}")));
                if differences.is_empty() {
                    return Ok(());
                }
                differences.push(format!("`rhaid -t` printed:\n{}", compare::indent(&printed, "    ")));
                Err(differences.join("\n").into())
            }
        }
    }

    /// A change of a file, which a server that runs has to take up.
    fn change(&self, change: &Change, text: &str) -> Result<(), String> {
        let folder = &self.variables.folder;
        let Some(running) = &self.running else { return change::make(folder, change, text) };
        let conf = fs::read_to_string(folder.join(conf::FILE)).unwrap_or_default();
        change::make_live(folder, change, text, &conf, &running.error_logs)
    }

    /// The server, started if it isn't yet.
    fn running(&mut self) -> Result<&mut Running, Stop> {
        if self.running.is_none() {
            let Variables { folder, port, .. } = self.variables;
            let server = Server::start(folder, *port).map_err(|error| match error {
                NotStarted::PortTaken => Stop::PortTaken,
                NotStarted::Failed(message) => Stop::Failed(message),
            })?;
            let conf = fs::read_to_string(folder.join(conf::FILE)).unwrap_or_default();
            self.running = Some(Running {
                server,
                exchange: Exchange::new(*port),
                error_log: Log::new(folder, conf::error_logs(&conf)),
                error_logs: conf::error_logs(&conf),
                access_log: Log::new(folder, conf::access_logs(&conf)),
            });
        }
        Ok(self.running.as_mut().expect("it was started just now"))
    }

    /// What must hold when all sections are through.
    fn leave(&mut self) -> Result<(), String> {
        let Some(running) = &mut self.running else { return Ok(()) };
        running.exchange.finish()?;
        match running.server.ended() {
            Some(status) => Err(format!("the server ended before its case, with {status}")),
            None => Ok(()),
        }
    }
}
