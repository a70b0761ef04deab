//! What answers the requests of a path: the kinds of handlers, one file each.

use std::cell::OnceCell;
use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;

use crate::access_log;
use crate::auth::{self, Redaction};
use crate::db::Databases;
use crate::directive::{Entry, Level, Node, Problems, Repeat, Section, entries};
use crate::envelope;
use crate::error_log;
use crate::fiber::Label;
use crate::file::Hidden;
use crate::filter::{cors, documents, expires, headers};
use crate::http::{Request, Response};
use crate::openapi;
use crate::router::HostName;
use crate::script::{Engines, Env, Library, Operation, Settings as Limits, Values};

mod chain;
mod file;
mod redirect;
mod script;
mod status;
mod variables;

pub use chain::Chain;

/// One handler of a path's chain.
pub trait Handler {
    /// Answers a request, or passes it to the next handler of the path.
    fn handle<'a>(&'a self, visit: &'a Visit) -> Pin<Box<dyn Future<Output = Outcome> + 'a>>;

    /// What its routes say of themselves, if it has some.
    fn operations(&self) -> Vec<Operation> {
        Vec::new()
    }
}

/// What a handler made of a request.
#[derive(Debug)]
pub enum Outcome {
    /// The answer.
    Answer(Response),
    /// The next handler shall answer; these headers go with its answer (h2o's status 399).
    Pass(HeaderMap),
}

/// A request on its way through the handlers of its path.
pub struct Visit {
    /// The request.
    pub request: Rc<Request>,
    /// What scripts see of it, made by the first of them: later ones see what earlier ones set.
    pub env: OnceCell<Env>,
}

impl Drop for Visit {
    fn drop(&mut self) {
        // A script may keep its env for longer than the request, or in itself.
        if let Some(env) = self.env.get() {
            env.end();
        }
    }
}

/// What work for a request is called, in messages and in the last words of the process.
fn label<'a>(request: &'a Request, script: &'a str) -> Label<'a> {
    Label { request: request.id.0, script, method: request.head.method.as_str(), path: request.head.uri.path() }
}

/// What a path inherits from its host and the global level.
#[derive(Clone, Debug, Default)]
pub struct Inherited {
    /// Limits of scripts.
    pub script: Limits,
    /// Values for scripts.
    pub values: Values,
    /// API keys.
    pub auth: auth::Settings,
    /// The JSON that replies wear.
    pub envelope: envelope::Settings,
    /// Where requests are logged.
    pub access_log: access_log::Settings,
    /// Whether what goes wrong with requests is in the error log.
    pub request_errors: error_log::RequestErrors,
    /// How files are served.
    pub file: file::Settings,
    /// Variables of the env.
    pub variables: variables::Settings,
    /// Documents for errors.
    pub documents: documents::Settings,
    /// How long answers may be kept.
    pub expires: expires::Settings,
    /// Headers of answers.
    pub headers: headers::Settings,
    /// Which pages may read answers.
    pub cors: cors::Settings,
    /// Whether routes are described.
    pub openapi: openapi::Settings,
}

impl Inherited {
    /// Each feature's settings, for directives to be applied to.
    pub fn sections(&mut self) -> [&mut dyn Section; 13] {
        [
            &mut self.script,
            &mut self.values,
            &mut self.auth,
            &mut self.envelope,
            &mut self.access_log,
            &mut self.request_errors,
            &mut self.file,
            &mut self.variables,
            &mut self.documents,
            &mut self.expires,
            &mut self.headers,
            &mut self.cors,
            &mut self.openapi,
        ]
    }

    /// What a level inside this one begins with.
    #[must_use]
    pub fn enter(&self) -> Inherited {
        let mut inner = self.clone();
        inner.variables.enter();
        inner.documents.enter();
        inner
    }

    /// The directives of these settings.
    pub fn entries() -> Vec<Entry> {
        let tables = [
            entries::<Limits>(),
            entries::<Values>(),
            entries::<auth::Settings>(),
            entries::<envelope::Settings>(),
            entries::<access_log::Settings>(),
            entries::<error_log::RequestErrors>(),
            entries::<file::Settings>(),
            entries::<variables::Settings>(),
            entries::<documents::Settings>(),
            entries::<expires::Settings>(),
            entries::<headers::Settings>(),
            entries::<cors::Settings>(),
            entries::<openapi::Settings>(),
        ];
        tables.concat()
    }
}

/// A directive that puts a handler into its path's chain.
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// What it serves.
    pub summary: &'static str,
    /// A line for the reference.
    pub example: &'static str,
    /// Reads the directive's value, and the files that it names.
    pub read: fn(&Node) -> Result<Arc<dyn Plan>, Problems>,
}

impl Kind {
    /// The directive that adds a handler of this kind.
    pub const fn entry(&self) -> Entry {
        Entry {
            name: self.name,
            levels: &[Level::Path],
            repeat: Repeat::AddsUp,
            summary: self.summary,
            example: self.example,
        }
    }
}

/// All kinds of handlers.
pub const KINDS: &[Kind] =
    &[script::INLINE, script::FILE, file::FOLDER, file::SINGLE, redirect::REDIRECT, status::STATUS];

/// A handler as the configuration describes it: the same for all workers.
pub trait Plan: fmt::Debug + Send + Sync {
    /// The files that it was read from, by the settings of its path.
    fn files(&self, _: &Inherited) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Where files that it needs were looked for before they were found, or in vain.
    fn looked_for(&self, _: &Inherited) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Whether its path is an API: errors there wear the envelope.
    fn is_api(&self) -> bool {
        false
    }

    /// Makes the handler on a worker. The error is ready to be read.
    fn build<'a>(&'a self, workshop: &'a Workshop<'a>) -> Building<'a>;
}

/// A handler that is being made.
pub type Building<'a> = Pin<Box<dyn Future<Output = Result<Box<dyn Handler>, String>> + 'a>>;

/// What the handlers of a path are made with.
pub struct Workshop<'a> {
    /// The worker's engines.
    pub engines: &'a Engines,
    /// The host that the path is of.
    pub host: &'a HostName,
    /// The modules that the worker's scripts have imported.
    pub library: &'a Library,
    /// The settings of the path.
    pub inherited: &'a Inherited,
    /// The form of the path's errors.
    pub envelope: &'a envelope::Settings,
    /// The generation's databases.
    pub databases: &'a Rc<Databases>,
    /// Names of the native functions, for suggestions.
    pub functions: &'a Rc<[String]>,
    /// What logs must not show.
    pub redaction: &'a Arc<Redaction>,
    /// Largest body in bytes.
    pub body_limit: u64,
    /// How long nothing of a body may come.
    pub body_patience: Duration,
    /// `SERVER_SOFTWARE`.
    pub software: &'a str,
    /// Files that are never served.
    pub hidden: &'a Rc<Hidden>,
}
