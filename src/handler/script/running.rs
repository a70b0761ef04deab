//! A script as a handler: the body arrives, the script runs on a fiber, what it gives is answered.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{HeaderValue, StatusCode};

use super::development::Fault;
use crate::auth::{self, Redaction};
use crate::envelope;
use crate::fiber::{self, Limits, Stop};
use crate::handler::chain::Identity;
use crate::handler::{Handler, Outcome, Visit, label};
use crate::http::{Refused, Request, Response, Upload};
use crate::reply::{Content, PASS, Reply, Shown};
use crate::script::{Ended, Env, Operation, Row, Script, Trace, named};

/// A script that answers the requests of a path.
pub(super) struct Running {
    pub(super) script: Script,
    pub(super) limits: Limits,
    pub(super) envelope: envelope::Settings,
    pub(super) auth: auth::Settings,
    /// Largest body in bytes.
    pub(super) body_limit: u64,
    /// How long nothing of a body may come.
    pub(super) body_patience: Duration,
    pub(super) redaction: Arc<Redaction>,
    /// Whether the client sees faults.
    pub(super) development: bool,
}

impl Handler for Running {
    fn operations(&self) -> Vec<Operation> {
        self.script.operations()
    }

    fn handle<'a>(&'a self, visit: &'a Visit) -> Pin<Box<dyn Future<Output = Outcome> + 'a>> {
        Box::pin(async move {
            match self.run(visit).await {
                Ok(outcome) => outcome,
                Err(status) => Outcome::Answer(self.envelope.error_response(status, None)),
            }
        })
    }
}

impl Running {
    async fn run(&self, visit: &Visit) -> Result<Outcome, StatusCode> {
        let request = &visit.request;
        if matches!(*request.upload.borrow(), Upload::Coming(_)) {
            // Apart, for most requests have no body and move this future all the same.
            Box::pin(self.receive(request)).await?;
        }
        let env = visit.env.get_or_init(|| self.env(request));
        let label = label(request, &self.script.source().name);
        let mut ended = fiber::run_named(label, self.limits, || self.script.respond(env)).await;
        if let Ok(Ended::Reported(faults, last)) = ended {
            faults.iter().for_each(|trace| self.log(request, trace));
            ended = Ok(*last);
        }
        match ended {
            Ok(Ended::Reply(mut reply)) => {
                request.variables.borrow_mut().extend(reply.take_variables());
                if reply.status == PASS {
                    return Ok(Outcome::Pass(reply.headers));
                }
                Ok(Outcome::Answer(self.response(request, env, reply)))
            }
            Ok(Ended::Refused(status, message)) => Ok(Outcome::Answer(self.refusal(status, message.as_deref()))),
            Ok(Ended::Stopped(stop, trace)) => {
                let status = match stop {
                    Stop::Time => StatusCode::SERVICE_UNAVAILABLE,
                    _ => StatusCode::INTERNAL_SERVER_ERROR,
                };
                Ok(Outcome::Answer(self.fault(request, env, status, &trace)))
            }
            Ok(Ended::Failed(trace)) => {
                let status = match trace.is_unavailable() {
                    true => StatusCode::SERVICE_UNAVAILABLE,
                    false => StatusCode::INTERNAL_SERVER_ERROR,
                };
                Ok(Outcome::Answer(self.fault(request, env, status, &trace)))
            }
            Ok(Ended::Filtered(trace, mut reply)) => {
                request.variables.borrow_mut().extend(reply.take_variables());
                let fault = self.fault(request, env, StatusCode::INTERNAL_SERVER_ERROR, &trace);
                let answer = self.response(request, env, reply);
                Ok(Outcome::Answer(self.filtered(fault, answer)))
            }
            // There is one such only, which was taken apart.
            Ok(Ended::Reported(..)) => Err(StatusCode::INTERNAL_SERVER_ERROR),
            Err(panic) => {
                let message = panic.downcast_ref::<&str>().map(|it| (*it).to_owned());
                let message = message.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
                let trace = Trace::whole(self.script.source(), format!("a native function panicked: {message}"));
                Ok(Outcome::Answer(self.fault(request, env, StatusCode::INTERNAL_SERVER_ERROR, &trace)))
            }
        }
    }

    fn response(&self, request: &Request, env: &Env, reply: Reply) -> Response {
        match &reply.body {
            Content::Bytes(_) => reply.into_response(&request.head.method),
            Content::File(file) => self.file(request, env, &file.clone(), reply),
        }
    }

    fn file(&self, request: &Request, env: &Env, file: &Shown, reply: Reply) -> Response {
        file.respond(reply, &request.head, &self.envelope).unwrap_or_else(|error| {
            let trace = Trace::whole(self.script.source(), format!("the reply's file can't be sent: {error}"));
            self.fault(request, env, StatusCode::INTERNAL_SERVER_ERROR, &trace)
        })
    }

    /// Answers a fault of the script: the log has it all, the client the number to find it by.
    fn fault(&self, request: &Request, env: &Env, status: StatusCode, trace: &Trace) -> Response {
        self.log(request, trace);
        let mut response = if self.development {
            let (envelope, redaction) = (&self.envelope, &self.redaction);
            Fault { request, env, trace, status, envelope, redaction }.response()
        } else {
            self.envelope.error_response(status, None)
        };
        let id = HeaderValue::from_str(&request.id.to_string()).expect("a number is visible ASCII");
        response.headers_mut().insert("x-request-id", id);
        if trace.is_unavailable() {
            envelope::retry_later(&mut response);
        }
        response
    }

    /// What filters made of a fault's plain answer: developers get the fault all the same, with the filters' headers.
    fn filtered(&self, fault: Response, mut answer: Response) -> Response {
        let (mut head, body) = fault.into_parts();
        if self.development {
            *answer.status_mut() = head.status;
            *answer.body_mut() = body;
            answer.headers_mut().extend(head.headers);
        } else if let Some(id) = head.headers.remove("x-request-id") {
            answer.headers_mut().insert("x-request-id", id);
        }
        answer
    }

    fn env(&self, request: &Rc<Request>) -> Env {
        let env = self.script.env(request.clone());
        if let Some(identity) = request.identity.get().and_then(|it| it.downcast_ref::<Identity>()) {
            env.set_auth(match identity {
                auth::Found::Row(row) => Row::from(row.clone()).into(),
                auth::Found::Named(name) => named(name.as_deref()),
            });
        }
        env
    }

    /// Reads the body before the script runs, as h2o does: it is checked against the limit first.
    async fn receive(&self, request: &Request) -> Result<(), StatusCode> {
        // Taken out, so that nothing is borrowed while it comes.
        let mut upload = request.upload.take();
        let arrived = upload.arrive(self.body_limit, self.body_patience).await;
        request.upload.replace(upload);
        request.journal.received.set(Some(Instant::now()));
        arrived.map_err(|refused| match refused {
            Refused::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Refused::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Refused::Broken(error) => {
                tracing::info!(request = %request.id, "a body broke off: {error}");
                StatusCode::BAD_REQUEST
            }
            Refused::NoRoom(error) => {
                request.report(&format!("a body can't be kept: {error}"));
                StatusCode::INTERNAL_SERVER_ERROR
            }
        })
    }

    fn refusal(&self, status: u16, message: Option<&str>) -> Response {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = self.envelope.error_response(status, message);
        if status == StatusCode::UNAUTHORIZED {
            self.auth.challenge(response.headers_mut());
        }
        response
    }

    fn log(&self, request: &Request, trace: &Trace) {
        let target = request.head.uri.to_string();
        let target = self.redaction.redacted(&target);
        request.report(&format!("{trace}\n  request: {} {target} ({})", request.head.method, request.id));
    }
}

#[cfg(test)]
mod tests;
