//! The course of a request through a router: filters, handler, error handlers, filters of the reply.

use rhai::{Dynamic, EvalAltResult, Map};

use super::Routes;
use super::sealed::Found;
use crate::reply::Reply;
use crate::router::{end_of_segments, without_dots};
use crate::script::app::{Ended, Script};
use crate::script::env::Env;
use crate::script::fault::{Result, innermost};
use crate::script::private::private_copy;
use crate::script::program::Function;
use crate::script::reply::is_meant_as_reply;
use crate::script::trace::Trace;

struct Course<'a> {
    routes: &'a Routes,
    script: &'a Script,
    env: &'a Env,
    /// `PATH_INFO` without dot segments.
    path: &'a str,
    /// How many of its segments belong to `SCRIPT_NAME` now.
    mounted: usize,
    /// `SCRIPT_NAME` and `PATH_INFO`, where a script has set them, outside of what is mounted.
    outside: [Option<Dynamic>; 2],
    /// Faults that were answered all the same.
    faults: Vec<Trace>,
    /// The fault that became a plain 500 for the filters of the reply.
    failed: Option<Trace>,
}

impl Routes {
    /// Runs the filters and the first route that fits.
    pub(in crate::script) fn answer(&self, script: &Script, env: &Env) -> Ended {
        let request = env.request();
        let path = without_dots(request.path_info());
        let method = request.head.method.as_str();
        let found = self.find(method, &path);
        let mut course = Course {
            routes: self,
            script,
            env,
            path: &path,
            mounted: 0,
            outside: [None, None],
            faults: Vec::new(),
            failed: None,
        };
        let mut ended = course.run(found, method);
        course.go(0);
        ended = match (ended, course.failed.take()) {
            (Ended::Reply(reply), Some(trace)) => Ended::Filtered(trace, reply),
            (ended, failed) => {
                course.faults.extend(failed);
                ended
            }
        };
        if course.faults.is_empty() { ended } else { Ended::Reported(course.faults, Box::new(ended)) }
    }
}

impl<'a> Course<'a> {
    fn run(&mut self, found: Found, method: &str) -> Ended {
        let scope = match &found {
            Found::Route(index, _) => self.routes.routes[*index].scope,
            Found::OtherMethod(_, scope) | Found::Nothing(scope) => *scope,
        };
        let chain = &self.routes.scopes[scope].chain;
        let mut entered = chain.len();
        let ended = match found {
            // A browser asks by OPTIONS, without a key, what it may do: no filter must refuse that.
            Found::OtherMethod(allow, _) if method == "OPTIONS" => allowed(Reply::empty(204), &allow),
            Found::Route(index, captures) => {
                let route = &self.routes.routes[index];
                let params = route.names.iter().cloned().zip(captures.values);
                self.env.set_path_params(params.collect());
                self.env.set_formats(route.formats.as_ref(), captures.suffix);
                // An earlier script of the path may have checked others.
                self.env.set_checked(Vec::new());
                match self.enter(chain, &mut entered) {
                    Some(called) => self.settle(&chain[..entered], called),
                    None => {
                        let checked = route.declared.as_ref().map_or(Ok(()), |it| it.check(self.env));
                        let called = checked.and_then(|()| self.call(scope, &route.handler));
                        self.settle(chain, called)
                    }
                }
            }
            Found::OtherMethod(allow, _) => match self.enter(chain, &mut entered) {
                Some(called) => self.settle(&chain[..entered], called),
                None => allowed(self.script.refusal(405, None), &allow),
            },
            Found::Nothing(_) => match self.enter(chain, &mut entered) {
                Some(called) => self.settle(&chain[..entered], called),
                None => self.not_found(chain),
            },
        };
        self.leave(&chain[..entered], ended)
    }

    /// Runs the filters before the handler, from the outside in: what ends the request already, and
    /// how many scopes were entered then.
    fn enter(&mut self, chain: &[usize], entered: &mut usize) -> Option<Result<Dynamic>> {
        for (place, scope) in chain.iter().enumerate() {
            for filter in &self.routes.scopes[*scope].before {
                match self.call(*scope, filter) {
                    // Also a malformed reply: what a filter meant to refuse must not get through.
                    Ok(value) if !is_meant_as_reply(&value) => {}
                    called => {
                        *entered = place + 1;
                        return Some(called);
                    }
                }
            }
        }
        None
    }

    fn not_found(&mut self, chain: &'a [usize]) -> Ended {
        let routes = self.routes;
        for scope in chain.iter().rev() {
            if let Some(handler) = &routes.scopes[*scope].not_found {
                let called = self.call(*scope, handler);
                return self.settle(chain, called);
            }
        }
        Ended::Refused(404, None)
    }

    /// Lets the filters of the reply change it, from the inside out.
    fn leave(&mut self, chain: &[usize], mut ended: Ended) -> Ended {
        let routes = self.routes;
        for (place, scope) in chain.iter().enumerate().rev() {
            for filter in &routes.scopes[*scope].after {
                let reply = match self.reply(ended) {
                    Ok(reply) => reply,
                    Err(stopped) => return *stopped,
                };
                // Shared, so that what the filter does to it is seen here.
                let reply = Dynamic::from(reply).into_shared();
                self.go(routes.scopes[*scope].mounted);
                let called =
                    self.script.program().call_with_two(filter, [Dynamic::from(self.env.clone()), reply.clone()]);
                let called = called.map(|value| if is_meant_as_reply(&value) { value } else { reply });
                ended = self.settle(&chain[..=place], called.map(|it| it.flatten()));
            }
        }
        ended
    }

    /// The reply that an end comes to, or the end where it comes to none.
    fn reply(&mut self, ended: Ended) -> std::result::Result<Reply, Box<Ended>> {
        match ended {
            Ended::Reply(reply) => Ok(reply),
            Ended::Refused(status, message) => Ok(self.script.refusal(status, message.as_deref())),
            Ended::Failed(trace) => {
                self.faults.extend(self.failed.replace(trace));
                Ok(self.script.refusal(500, None))
            }
            Ended::Stopped(..) | Ended::Filtered(..) | Ended::Reported(..) => Err(ended.into()),
        }
    }

    /// How a call ended, with what the error handlers around it make of an error, from the inside out.
    fn settle(&mut self, chain: &[usize], called: Result<Dynamic>) -> Ended {
        let (ended, error) = match called {
            Ok(value) => (self.script.ended(value), None),
            Err(error) => (self.script.ended_by(&error), Some(error)),
        };
        if !matches!(ended, Ended::Refused(..) | Ended::Failed(_)) {
            return ended;
        }
        let routes = self.routes;
        for scope in chain.iter().rev() {
            let Some(rescue) = &routes.scopes[*scope].rescue else { continue };
            let told = self.told(&ended, error.as_deref());
            self.go(routes.scopes[*scope].mounted);
            let arguments = [Dynamic::from_map(told), Dynamic::from(self.env.clone())];
            let answer = match self.script.program().call_with_two(rescue, arguments) {
                // Not this one's.
                Ok(value) if value.is_unit() => continue,
                Ok(value) => self.script.ended(value),
                Err(error) => self.script.ended_by(&error),
            };
            let is_mended = match &answer {
                Ended::Reply(reply) => reply.status < 500,
                Ended::Refused(status, _) => *status < 500,
                _ => false,
            };
            if !is_mended {
                self.faults.push(match ended {
                    Ended::Failed(trace) => trace,
                    other => self.script.trace_of(&other, error.as_deref()),
                });
            }
            return answer;
        }
        ended
    }

    /// What an error handler is told: all that was thrown, with a message and the place.
    fn told(&self, ended: &Ended, error: Option<&EvalAltResult>) -> Map {
        let mut told = Map::new();
        if let Some(EvalAltResult::ErrorRuntime(thrown, _)) = error.map(innermost)
            && thrown.is_map()
        {
            told = private_copy(thrown).cast::<Map>();
        }
        let trace = self.script.trace_of(ended, error);
        if let Ended::Refused(status, _) = ended {
            told.insert("status".into(), i64::from(*status).into());
        }
        if !told.contains_key("message") {
            // The way out is for who wrote the script.
            let message = trace.message().split("\nhint: ").next().unwrap_or_default();
            told.insert("message".into(), message.into());
        }
        told.insert("place".into(), trace.place().into());
        told
    }

    fn call(&mut self, scope: usize, function: &Function) -> Result<Dynamic> {
        self.go(self.routes.scopes[scope].mounted);
        self.script.program().call(function, Dynamic::from(self.env.clone()))
    }

    /// Makes `SCRIPT_NAME` and `PATH_INFO` what they are where so many segments lead to.
    fn go(&mut self, mounted: usize) {
        if mounted == self.mounted {
            return;
        }
        if self.mounted == 0 {
            self.outside = ["SCRIPT_NAME", "PATH_INFO"].map(|key| self.env.replace(key, None));
        }
        self.mounted = mounted;
        let [name, info] = &self.outside;
        if mounted == 0 {
            self.env.replace("SCRIPT_NAME", name.clone());
            self.env.replace("PATH_INFO", info.clone());
            return;
        }
        let (taken, left) = self.path.split_at(end_of_segments(self.path, mounted));
        let name = name.as_ref().map_or_else(|| self.env.request().script_name.to_string(), ToString::to_string);
        self.env.replace("SCRIPT_NAME", Some((name + taken).into()));
        self.env.replace("PATH_INFO", Some(left.into()));
    }
}

fn allowed(mut reply: Reply, allow: &str) -> Ended {
    // Method names are tokens, or no request would have matched them.
    let _ = reply.add_header("allow", allow);
    Ended::Reply(reply)
}
