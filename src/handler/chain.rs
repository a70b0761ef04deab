//! The handlers of a path, one after the other, behind the path's API key.

use std::cell::OnceCell;
use std::rc::Rc;
use std::time::Instant;

use http::{HeaderMap, HeaderName, StatusCode, header};

use super::{Handler, Outcome, Visit, label};
use crate::auth::{self, Cache, Denied, Key};
use crate::db::{self, Databases, Row, Value};
use crate::envelope;
use crate::fiber::{self, Limits, Stop};
use crate::http::{Request, Response};
use crate::openapi::{self, Pages};

/// Whom a request's key stands for: what [`Request::identity`] holds.
pub type Identity = auth::Found<Row>;

/// What answers the requests of one path.
pub struct Chain {
    handlers: Vec<Box<dyn Handler>>,
    guard: Option<Guard>,
    pages: Option<Pages>,
    envelope: envelope::Settings,
}

/// The check of API keys before the handlers.
struct Guard {
    auth: auth::Settings,
    databases: Rc<Databases>,
    limits: Limits,
    cache: Option<Cache<Identity>>,
}

impl Chain {
    /// `envelope` is the form of the errors that the chain itself answers.
    pub fn new(handlers: Vec<Box<dyn Handler>>, envelope: envelope::Settings) -> Chain {
        Chain { handlers, guard: None, pages: None, envelope }
    }

    /// The chain behind a check of API keys, which may take as much as a script.
    #[must_use]
    pub fn guarded(mut self, auth: auth::Settings, databases: Rc<Databases>, limits: Limits) -> Chain {
        let cache = auth.cache().map(Cache::new);
        self.guard = Some(Guard { auth, databases, limits, cache });
        self
    }

    /// The chain with a description of its routes.
    #[must_use]
    pub fn described(mut self, info: &openapi::Info, script_name: &str, auth: &auth::Settings) -> Chain {
        let operations: Vec<_> = self.handlers.iter().flat_map(|it| it.operations()).collect();
        self.pages = Some(Pages::new(info, script_name, auth, &self.envelope, &operations));
        self
    }

    /// Answers a request: 404 where all handlers pass.
    pub async fn answer(&self, request: &Rc<Request>) -> Response {
        // Before the key is looked at what is public, behind it the rest.
        if let Some(response) = self.pages.as_ref().and_then(|it| it.answer(request, self.guard.is_none())) {
            return response;
        }
        if let Some(guard) = &self.guard {
            // Apart, for who needs no key moves this future all the same.
            match Box::pin(guard.identify(request)).await {
                Ok(None) => {}
                Ok(Some(found)) => {
                    // Nobody else sets it.
                    let _ = request.identity.set(found);
                }
                Err(denied) => return guard.refuse(request, &denied, &self.envelope),
            }
            if let Some(response) = self.pages.as_ref().and_then(|it| it.answer(request, true)) {
                return response;
            }
        }
        let visit = Visit { request: request.clone(), env: OnceCell::new() };
        let mut carried: Option<Box<HeaderMap>> = None;
        for handler in &self.handlers {
            match handler.handle(&visit).await {
                Outcome::Answer(response) => return with(response, carried),
                Outcome::Pass(headers) => {
                    let headers = match carried.take() {
                        Some(before) => carry(*before, headers),
                        None => headers,
                    };
                    carried = Some(Box::new(headers));
                }
            }
        }
        with(self.envelope.error_response(StatusCode::NOT_FOUND, None), carried)
    }
}

impl Guard {
    /// Whom the request's key stands for. The database is asked on a fiber, as scripts do.
    async fn identify(&self, request: &Request) -> Result<Option<Rc<Identity>>, Denied<db::Error>> {
        let Some(key) = self.auth.ask(&request.head)? else { return Ok(None) };
        if let Some(found) = self.cache.as_ref().and_then(|it| it.find(&key, Instant::now())) {
            return Ok(Some(found));
        }
        let found = Rc::new(self.look_up(request, &key).await?);
        if let Some(cache) = &self.cache {
            cache.remember(&key, found.clone(), Instant::now());
        }
        Ok(Some(found))
    }

    async fn look_up(&self, request: &Request, key: &Key) -> Result<Identity, Denied<db::Error>> {
        let find = || {
            self.auth.find(key, |sql, database, key| self.databases.database(database)?.first(sql, &[Value::from(key)]))
        };
        if self.auth.database().is_none() {
            return find();
        }
        fiber::run_named(label(request, "auth.api-key"), self.limits, find)
            .await
            .unwrap_or_else(|_| Err(Denied::Failed(db::Error::new(db::Kind::Other, "the look-up panicked"))))
    }

    fn refuse(&self, request: &Request, denied: &Denied<db::Error>, envelope: &envelope::Settings) -> Response {
        let Denied::Failed(error) = denied else { return self.auth.deny(denied, envelope) };
        let message = format!("an API key can't be looked up: {error}");
        let placed = self.auth.problem(message.clone()).map(|it| it.to_string());
        request.report(placed.as_deref().unwrap_or(&message));
        if error.kind.is_temporary() {
            return envelope.unavailable();
        }
        let late = error.kind == db::Kind::Stopped(Stop::Time);
        let status = if late { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::INTERNAL_SERVER_ERROR };
        envelope.error_response(status, None)
    }
}

/// Headers of which those of several handlers add up: a cookie is not the less set for another one.
const ADDED: [HeaderName; 3] = [header::LINK, header::SET_COOKIE, header::VARY];

/// A response with the headers that came with a 399.
fn with(mut response: Response, carried: Option<Box<HeaderMap>>) -> Response {
    if let Some(carried) = carried {
        let own = std::mem::take(response.headers_mut());
        *response.headers_mut() = carry(*carried, own);
    }
    response
}

/// The headers of a handler with those that came before it, but for those that it has itself.
fn carry(mut before: HeaderMap, own: HeaderMap) -> HeaderMap {
    for name in own.keys().filter(|name| !ADDED.contains(name)) {
        before.remove(name);
    }
    for (name, value) in &own {
        before.append(name, value.clone());
    }
    before
}
