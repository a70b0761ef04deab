//! The env as a script sees it, on a plain engine and real requests.

use std::cell::RefCell;
use std::io::Write;
use std::net::SocketAddr;

use super::*;
use crate::http::{Arrived, Connection, Id, Upload};
use crate::script::json::{self, Shapes};
use crate::script::raise::Refusal;

mod body;
mod fields;
mod files;
mod keys;
mod readers;
mod semantics;

/// A request with these header lines and this body, on `/api` of a host `default`.
struct Asked {
    target: &'static str,
    headers: Vec<(&'static str, &'static [u8])>,
    body: Option<Vec<u8>>,
}

fn get(target: &'static str) -> Asked {
    Asked { target, headers: Vec::new(), body: None }
}

fn post(content_type: &'static str, body: impl Into<Vec<u8>>) -> Asked {
    let headers = vec![("content-type", content_type.as_bytes())];
    Asked { target: "/api?page=2&from=query", headers, body: Some(body.into()) }
}

impl Asked {
    fn header(mut self, name: &'static str, value: &'static str) -> Asked {
        self.headers.push((name, value.as_bytes()));
        self
    }

    fn request(self) -> Request {
        let mut builder = ::http::Request::builder().uri(self.target);
        for (name, value) in self.headers {
            builder = builder.header(name, value);
        }
        let upload = self.body.map_or(Upload::None, |body| Upload::Here(Arrived::Memory(body.into())));
        Request {
            head: builder.body(()).unwrap().into_parts().0,
            connection: Rc::new(Connection::new(
                "192.0.2.7:50123".parse::<SocketAddr>().unwrap(),
                "[::ffff:127.0.0.1]:8080".parse::<SocketAddr>().unwrap(),
                1,
            )),
            server_name: "default".into(),
            script_name: "/api".into(),
            path_info: 4,
            id: Id(0xabc),
            upload: RefCell::new(upload),
            identity: std::cell::OnceCell::new(),
            variables: RefCell::default(),
            journal: Default::default(),
        }
    }

    fn env(self) -> Env {
        Env::new(Rc::new(self.request()), "rhaid/1".into(), 1 << 20)
    }

    /// The script's value as JSON, or its error.
    fn eval(self, script: &str) -> String {
        eval(&self.env(), script)
    }
}

fn engine() -> Engine {
    let mut engine = Engine::new();
    register(&mut engine);
    crate::script::decimal::register(&mut engine);
    engine
}

fn eval(env: &Env, script: &str) -> String {
    let mut scope = rhai::Scope::new();
    scope.push("env", env.clone());
    let value = match engine().eval_with_scope::<Dynamic>(&mut scope, script) {
        Ok(value) => value,
        Err(error) => return shown(*error),
    };
    let mut out = Vec::new();
    match json::write(&mut out, &value, &Shapes::default()) {
        Ok(()) => String::from_utf8(out).unwrap(),
        Err(fault) => format!("fault: {fault}"),
    }
}

/// `STATUS MESSAGE @COLUMN` for the client's fault, else the message.
fn shown(error: EvalAltResult) -> String {
    let column = error.position().position().map_or_else(|| "?".into(), |column| column.to_string());
    let value = match error {
        EvalAltResult::ErrorRuntime(value, _) => value,
        EvalAltResult::ErrorTerminated(token, _) if token.is::<Refusal>() => {
            let refusal = token.cast::<Refusal>();
            return format!("{} {} @{column}", refusal.status, refusal.message);
        }
        other => return other.to_string(),
    };
    match value.try_cast_result::<Map>() {
        Ok(map) => format!("{} {} @{column}", map["status"], map["message"]),
        Err(value) => format!("{value} @{column}"),
    }
}

fn file(body: &[u8]) -> Upload {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(body).unwrap();
    Upload::Here(Arrived::File(file, body.len() as u64))
}
