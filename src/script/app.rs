//! What a script's value is: the app that answers requests.

use std::rc::Rc;
use std::sync::Arc;

use http::StatusCode;
use rhai::{Dynamic, EvalAltResult, FnPtr, Position, Stmt};

use super::answering::Answering;
use super::context::Context;
use super::engine::Engines;
use super::env::Env;
use super::fault::{innermost, stop_of};
use super::library::Library;
use super::load::{self, Loading, Started};
use super::modules::Modules;
use super::parsed::Parsed;
use super::private::private_copy;
use super::program::{Function, Program};
use super::raise::Refusal;
use super::reply;
use super::routes::{Operation, Router, Routes};
use super::source::Sources;
use super::text::short;
use super::trace::Trace;
use super::{Settings, Source};
use crate::envelope::default_message;
use crate::fiber::{self, Limits, Stop, Waiting};
use crate::http::Request;
use crate::reply::Reply;

/// A script that has been compiled and started.
pub struct Script {
    modules: Arc<Modules>,
    #[expect(dead_code, reason = "kept for the next generation, most of whose scripts are the same")]
    parsed: Rc<Parsed>,
    program: Rc<Program>,
    app: App,
    context: Rc<Context>,
    functions: Rc<[String]>,
    max_memory: u64,
}

/// How a call of a script ended.
#[derive(Debug)]
pub enum Ended {
    /// With a reply, which may be the status 399.
    Reply(Reply),
    /// With a status and a message for the envelope, if it has one of its own.
    Refused(u16, Option<String>),
    /// A limit was hit.
    Stopped(Stop, Trace),
    /// The script failed.
    Failed(Trace),
    /// The script failed, and its filters made this of the plain 500.
    Filtered(Trace, Reply),
    /// As the last says, after these faults, which belong into the log.
    Reported(Vec<Trace>, Box<Ended>),
}

enum App {
    Closure(Function),
    Object(Dynamic, Function),
    Router(Routes),
}

impl Settings {
    /// What one call of a script may use.
    pub fn limits(&self) -> Limits {
        let memory = usize::try_from(self.max_memory).unwrap_or(usize::MAX);
        Limits { time: self.timeout, operations: self.max_operations, memory, waiting: Waiting::Allowed }
    }

    /// What the start of a script may use: as much, but nothing there waits.
    pub fn start_limits(&self) -> Limits {
        Limits { waiting: Waiting::Refused, ..self.limits() }
    }
}

impl Script {
    /// Compiles a script and runs its top level. To be called on a fiber with
    /// [`Settings::start_limits`]. `context.shapes` are learned here; modules are taken from `library`
    /// and put there; `functions` are the names of native functions, for suggestions.
    ///
    /// # Errors
    /// If the script does not compile, fails at its start, or has no app.
    pub fn load(
        engines: &Engines,
        modules: Arc<Modules>,
        library: &Library,
        settings: &Settings,
        context: Context,
        functions: Rc<[String]>,
    ) -> std::result::Result<Script, Trace> {
        let engine = engines.with_call_levels(settings.max_call_levels);
        let mut loading = Loading::new(engine, settings.max_call_levels, &modules, library, &engines.kept, &functions);
        let Started { program, value, parsed, context } = loading.start(context)?;
        let ast = &parsed.ast;
        let has_handle = ast.iter_functions().any(|it| it.name == "handle");
        let last = ast.statements().last().map_or(Position::NONE, Stmt::position);
        let source = modules.source(0).clone();
        let app = App::of(value, has_handle).map_err(|message| Trace::at(&source, last, message))?;
        app.check(&program).map_err(|(position, message)| {
            Trace::at(&source, if position.is_none() { last } else { position }, message)
        })?;
        // A copy that a limit cut short would lack what the script gave it.
        fiber::tick().map_err(|stop| Trace::at(&source, last, limit_message(stop, AT_ITS_START)))?;
        Ok(Script { modules, parsed, program, app, context, functions, max_memory: settings.max_memory })
    }

    /// Answers a request. To be called on a fiber with [`Settings::limits`].
    pub fn respond(&self, env: &Env) -> Ended {
        let _answering = Answering::begin(env.request(), self.source().line);
        let called = match &self.app {
            App::Closure(function) => self.program.call(function, Dynamic::from(env.clone())),
            App::Object(object, function) => {
                self.program.call_method(function, &mut private_copy(object), Dynamic::from(env.clone()))
            }
            App::Router(routes) => return routes.answer(self, env),
        };
        match called {
            Ok(value) => self.ended(value),
            Err(error) => self.ended_by(&error),
        }
    }

    /// The env of a request, for this and the later scripts of its path.
    pub fn env(&self, request: Rc<Request>) -> Env {
        Env::new(request, self.context.software.clone(), self.max_memory)
    }

    /// What the routes say of themselves, where the script is a router.
    pub fn operations(&self) -> Vec<Operation> {
        if let App::Router(routes) = &self.app { routes.operations() } else { Vec::new() }
    }

    /// Where the script stands, for messages.
    pub fn source(&self) -> &Source {
        self.modules.source(0)
    }

    fn trace(&self, error: &EvalAltResult) -> Trace {
        let names = |file: &str| load::names(&self.program, file, &self.functions);
        Trace::of_run(&self.sources(), error, &names, &|it| self.program.methods(it))
    }

    fn sources(&self) -> Sources {
        Sources::new(self.source(), self.modules.sources())
    }

    /// The script's functions, for who calls them.
    pub(super) fn program(&self) -> &Program {
        &self.program
    }

    /// The reply that an error with this status and message comes to.
    pub(super) fn refusal(&self, status: u16, message: Option<&str>) -> Reply {
        let Context { envelope, auth, .. } = &*self.context;
        let code = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let message = message.unwrap_or_else(|| default_message(code));
        let mut reply = Reply::new(status, envelope.fail_type(), envelope.fail(message));
        if code == StatusCode::UNAUTHORIZED {
            auth.challenge(&mut reply.headers);
        }
        reply
    }

    /// How a call ended that gave this value.
    pub(super) fn ended(&self, value: Dynamic) -> Ended {
        match reply::from_value(value) {
            Ok(reply) => Ended::Reply(reply),
            Err(message) => match fiber::tick() {
                Ok(()) => Ended::Failed(Trace::whole(self.source(), message)),
                Err(stop) => Ended::Stopped(stop, Trace::whole(self.source(), limit_message(stop, ""))),
            },
        }
    }

    /// What is to be read of an end that the script did not mean, where the error led to it.
    pub(super) fn trace_of(&self, ended: &Ended, error: Option<&EvalAltResult>) -> Trace {
        match (ended, error) {
            (Ended::Failed(trace) | Ended::Filtered(trace, _) | Ended::Stopped(_, trace), _) => trace.clone(),
            (Ended::Refused(status, message), _) => {
                let code = StatusCode::from_u16(*status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                let message = message.clone().unwrap_or_else(|| default_message(code).to_owned());
                match error {
                    Some(error) => Trace::of_stop(&self.sources(), error, message),
                    None => Trace::whole(self.source(), message),
                }
            }
            (Ended::Reply(_) | Ended::Reported(..), _) => Trace::whole(self.source(), String::new()),
        }
    }

    /// `throw` of a reply or of a map with a status ends the request with it; all else is a fault.
    pub(super) fn ended_by(&self, error: &EvalAltResult) -> Ended {
        if let Some(stop) = stop_of(error) {
            return Ended::Stopped(stop, Trace::of_stop(&self.sources(), error, limit_message(stop, "")));
        }
        let inner = innermost(error);
        if let EvalAltResult::ErrorStackOverflow(_) = inner {
            // A limit like the others, though Rhai itself keeps it: no error handler may go on from it.
            return Ended::Stopped(Stop::Stack, self.trace(error));
        }
        if let EvalAltResult::ErrorTerminated(token, _) = inner
            && let Some(refusal) = token.read_lock::<Refusal>()
        {
            return Ended::Refused(refusal.status, Some(refusal.message.clone()));
        }
        if let EvalAltResult::ErrorRuntime(thrown, _) = inner {
            if reply::is_reply(thrown)
                && let Ok(reply) = reply::from_value(thrown.clone())
            {
                return Ended::Reply(reply);
            }
            if let Ok(map) = thrown.as_map_ref()
                && let Some(code) = map.get("status")
            {
                return match reply::status_of(code) {
                    Ok(code) => Ended::Refused(code, map.get("message").map(short)),
                    Err(message) => {
                        Ended::Failed(self.trace(error).with_message(format!("a map was thrown: {message}")))
                    }
                };
            }
            if let Ok(map) = thrown.as_map_ref()
                && map.get("unavailable").is_some_and(|it| it.as_bool() == Ok(true))
            {
                return Ended::Failed(self.trace(error).of_unavailable());
            }
        }
        Ended::Failed(self.trace(error))
    }
}

impl App {
    fn of(value: Dynamic, has_handle: bool) -> std::result::Result<App, String> {
        let expected = "expected a closure `|env| …`, a router, a map with `handle`, or `fn handle(env)`";
        if value.is::<Router>() {
            return Routes::of(&value.cast::<Router>()).map(App::Router);
        }
        if let Some(pointer) = value.read_lock::<FnPtr>() {
            return Ok(App::Closure(Function::of(&pointer)));
        }
        if let Ok(map) = value.as_map_ref()
            && let Some(pointer) = map.get("handle").and_then(|it| it.read_lock::<FnPtr>())
        {
            return Ok(App::Object(private_copy(&value), Function::of(&pointer)));
        }
        if has_handle {
            return Ok(App::Closure(Function::named("handle")));
        }
        Err(format!("the script's value is {}, {expected}", reply::described(&value)))
    }

    /// Whether each function takes what it is called with.
    fn check(&self, program: &Program) -> std::result::Result<(), (Position, String)> {
        match self {
            App::Closure(function) | App::Object(_, function) => check_arity(program, function, &["env"]),
            App::Router(routes) => routes.functions().try_for_each(|(it, takes)| check_arity(program, it, takes)),
        }
    }
}

fn check_arity(program: &Program, function: &Function, takes: &[&str]) -> std::result::Result<(), (Position, String)> {
    match program.arity(function) {
        Some((count, _)) if count == takes.len() => Ok(()),
        Some((count, position)) => {
            let expected = match takes {
                [_] => "one: the env, as in",
                _ => "two, as in",
            };
            let names = takes.join(", ");
            let message = format!("the handler has {count} parameters, expected {expected} `|{names}| …`");
            Err((position, message))
        }
        None => Err((Position::NONE, format!("the script has no function `{}`", function.name()))),
    }
}

/// When a script was stopped, for [`limit_message`].
pub(super) const AT_ITS_START: &str = "at its start";

pub(super) fn limit_message(stop: Stop, when: &str) -> String {
    let what = match stop {
        Stop::Cancelled => "nobody waits for its answer any more",
        Stop::Time => "it took longer than `rhai.timeout`",
        Stop::Operations => "it took more steps than `rhai.max-operations`",
        Stop::Memory => "it held more memory than `rhai.max-memory`",
        Stop::Stack => "its calls are nested too deeply for the stack",
        Stop::CannotWait => "it waited where nothing can wait",
    };
    if when.is_empty() {
        format!("the script was stopped: {what}")
    } else {
        format!("the script was stopped {when}: {what}")
    }
}
