//! Everything that one reading of the files gives, on one worker: it never changes, and a request
//! is served by one generation from first to last.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use http::HeaderValue;

use crate::access_log::Logs;
use crate::auth::Redaction;
use crate::binding;
use crate::config::{self, Config};
use crate::db::Databases;
use crate::envelope;
use crate::file::Hidden;
use crate::filter::Filters;
use crate::handler::{Chain, Inherited, Workshop};
use crate::http::{Connection, Emit, Endpoint, Id, Journal, Mask, Request, Upload};
use crate::router::{HostName, Paths, Target};
use crate::script::{self, Engines, Library};

mod document;
mod listeners;

use listeners::Listeners;

/// What a worker serves.
pub struct Generation {
    /// The `Server` header.
    pub server: HeaderValue,
    hosts: Listeners,
    databases: Rc<Databases>,
    /// Where all hosts are strict, what is for none of them.
    nowhere: Host,
    watches_first_bytes: bool,
}

struct Host {
    paths: Paths<Rc<Site>>,
    fallback: Rc<Site>,
}

/// What serves a path, or what is on no path of a host.
pub struct Site {
    /// What answers there.
    pub chain: Chain,
    /// The form of the errors there.
    pub envelope: envelope::Settings,
    /// Where requests there are logged.
    pub logs: Logs,
    /// What is done to the answers there.
    pub filters: Option<Filters>,
    server_name: Rc<str>,
    script_name: Rc<str>,
    variables: Vec<(String, String)>,
    emit: Emit,
    mask: Rc<dyn Mask>,
}

/// What a generation is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To serve.
    Serve,
    /// To see whether it can be built, or what it answers: no log file is made.
    Test,
}

impl Generation {
    /// Builds what the configuration describes: scripts are compiled and started, on fibers. The pools of databases
    /// that are as they were in an `old` one are kept.
    ///
    /// # Errors
    /// All scripts and files that are no good, each ready to be read.
    pub async fn build(
        config: &Config,
        engines: &Engines,
        purpose: Purpose,
        old: Option<&Generation>,
    ) -> Result<Generation, Vec<String>> {
        let process = &config.process;
        let redaction = Arc::new(Redaction::gather(config.inherited().map(|it| &it.auth)));
        let shared = Shared {
            engines,
            library: Library::default(),
            databases: Rc::new(Databases::after(&config.databases, process.num_threads, old.map(|it| &*it.databases))),
            functions: binding::names().chain(script::names()).collect(),
            mask: Rc::new(redaction.clone()),
            redaction,
            hidden: Rc::new(Hidden::new(config.secrets().collect::<BTreeSet<_>>().into_iter().collect())),
            purpose,
        };
        let mut problems = Vec::new();
        let mut hosts = Vec::new();
        for host in &config.hosts {
            // Without one the configuration is refused already.
            let name = HostName::parse(&host.key).unwrap_or_default();
            let server_name: Rc<str> = host.key.as_str().into();
            let mut paths = Vec::new();
            for path in &host.paths {
                match shared.site(config, &name, server_name.clone(), path).await {
                    Ok(site) => paths.push((path.key.clone(), Rc::new(site))),
                    Err(more) => problems.extend(more),
                }
            }
            match shared.nowhere(server_name, &host.inherited) {
                Ok(fallback) => {
                    hosts.push((name, host.matching, Rc::new(Host { paths: Paths::new(paths), fallback })));
                }
                Err(problem) => problems.push(problem),
            }
        }
        let nowhere = shared.nowhere("".into(), &config.inherited);
        let nowhere = nowhere.map(|fallback| Host { paths: Paths::new(Vec::new()), fallback });
        let server = HeaderValue::from_str(&process.server_name)
            .map_err(|_| vec![format!("`server-name` is {:?}, which is no header value", process.server_name)])?;
        let nowhere = nowhere.map_err(|problem| problems.push(problem));
        if let (Ok(nowhere), true) = (nowhere, problems.is_empty()) {
            if purpose == Purpose::Serve {
                config.store.hold();
            }
            let watches_first_bytes = config.inherited().any(|it| it.access_log.needs().first_byte);
            let databases = shared.databases;
            return Ok(Generation {
                server,
                hosts: Listeners::new(config, hosts),
                databases,
                nowhere,
                watches_first_bytes,
            });
        }
        // What several paths share is no good once.
        let mut seen = HashSet::new();
        problems.retain(|it| seen.insert(it.clone()));
        Err(problems)
    }

    /// Whether a log writes when the first byte of a request came.
    pub fn watches_first_bytes(&self) -> bool {
        self.watches_first_bytes
    }

    /// What serves a path of a host, and where `PATH_INFO` begins in the path; `local` is where the connection was taken.
    pub fn site(&self, authority: &str, local: &Endpoint, path: &str) -> (Rc<Site>, usize) {
        self.hosts.find(authority, local).unwrap_or(&self.nowhere).site(path)
    }
}

impl Host {
    fn site(&self, path: &str) -> (Rc<Site>, usize) {
        let found = self.paths.find(&Target::new(path));
        found.map_or_else(|| (self.fallback.clone(), 0), |(site, path_info)| (site.clone(), path_info))
    }
}

impl Site {
    /// A request as the handlers there see it; `path_info` is where `PATH_INFO` begins in its path.
    pub fn request(
        &self,
        head: http::request::Parts,
        path_info: usize,
        upload: Upload,
        connection: Rc<Connection>,
        id: Id,
    ) -> Request {
        Request {
            head,
            connection,
            server_name: self.server_name.clone(),
            script_name: self.script_name.clone(),
            path_info,
            id,
            upload: RefCell::new(upload),
            identity: OnceCell::new(),
            variables: RefCell::new(self.variables.clone()),
            journal: Journal::new(self.emit, Some(self.mask.clone())),
        }
    }
}

/// Where the errors of a path's requests go.
fn emit(inherited: &Inherited, logs: &Logs) -> Emit {
    match (inherited.request_errors.emit, logs.needs.errors) {
        (true, false) => Emit::Log,
        (true, true) => Emit::Both,
        (false, true) => Emit::Access,
        (false, false) => Emit::Nowhere,
    }
}

/// What all sites of a generation are made with.
struct Shared<'a> {
    engines: &'a Engines,
    library: Library,
    databases: Rc<Databases>,
    functions: Rc<[String]>,
    redaction: Arc<Redaction>,
    mask: Rc<dyn Mask>,
    hidden: Rc<Hidden>,
    purpose: Purpose,
}

impl Shared<'_> {
    async fn site(
        &self,
        config: &Config,
        host: &HostName,
        server_name: Rc<str>,
        path: &config::Path,
    ) -> Result<Site, Vec<String>> {
        let inherited = &path.inherited;
        let has_keys = inherited.auth.api_key.is_some();
        let is_api = has_keys || path.handlers.iter().any(|it| it.is_api());
        let envelope = if is_api { inherited.envelope.clone() } else { envelope::Settings::plain() };
        let workshop = Workshop {
            engines: self.engines,
            host,
            library: &self.library,
            inherited,
            envelope: &envelope,
            databases: &self.databases,
            functions: &self.functions,
            redaction: &self.redaction,
            body_limit: config.process.limit_request_body,
            body_patience: config.process.request_io_timeout,
            software: &config.process.server_name,
            hidden: &self.hidden,
        };
        let (mut handlers, mut problems) = (Vec::new(), Vec::new());
        for plan in &path.handlers {
            // Requests on the worker wait for one script at most, not for all of them.
            tokio::task::yield_now().await;
            match plan.build(&workshop).await {
                Ok(handler) => handlers.push(handler),
                Err(problem) => problems.push(problem),
            }
        }
        let logs = self.logs(inherited).map_err(|problem| vec![problem])?;
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut chain = Chain::new(handlers, envelope.clone());
        if has_keys {
            chain = chain.guarded(inherited.auth.clone(), self.databases.clone(), inherited.script.limits());
        }
        let script_name = path.key.trim_end_matches('/');
        if let Some(info) = &inherited.openapi.info {
            chain = chain.described(info, script_name, &inherited.auth);
        }
        Ok(self.finished(inherited, server_name, script_name, chain, envelope, logs))
    }

    /// What answers at no path of a host.
    fn nowhere(&self, server_name: Rc<str>, inherited: &Inherited) -> Result<Rc<Site>, String> {
        let (envelope, logs) = (envelope::Settings::plain(), self.logs(inherited)?);
        let chain = Chain::new(Vec::new(), envelope.clone());
        Ok(Rc::new(self.finished(inherited, server_name, "", chain, envelope, logs)))
    }

    /// A chain with what is done around it.
    fn finished(
        &self,
        inherited: &Inherited,
        server_name: Rc<str>,
        script_name: &str,
        chain: Chain,
        envelope: envelope::Settings,
        logs: Logs,
    ) -> Site {
        Site {
            server_name,
            script_name: script_name.into(),
            chain,
            envelope,
            emit: emit(inherited, &logs),
            mask: self.mask.clone(),
            logs,
            filters: filters(inherited),
            variables: inherited.variables.effective(),
        }
    }

    fn logs(&self, inherited: &Inherited) -> Result<Logs, String> {
        match self.purpose {
            Purpose::Serve => inherited.access_log.open(&self.redaction).map_err(|error| error.to_string()),
            Purpose::Test => Ok(Logs::default()),
        }
    }
}

fn filters(inherited: &Inherited) -> Option<Filters> {
    Filters::new(&inherited.documents, &inherited.expires, &inherited.headers, &inherited.cors)
}
