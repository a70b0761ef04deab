//! What only scripts of tests can call: requests to the app, and assertions. It does not know who
//! answers the requests.

mod answer;
mod assertions;
mod difference;
mod requests;

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;

use bytes::Bytes;

use super::Function;
use crate::script::forms;

/// Answers a request.
pub type Ask = Rc<dyn Fn(http::Request<Bytes>) -> Answering>;

/// An answer that is awaited.
pub type Answering = Pin<Box<dyn Future<Output = io::Result<http::Response<Bytes>>>>>;

/// The functions, for the reference. The examples are asked of an app whose `/` gives `[1, 2]` as JSON, echoes what is
/// posted to it, and whose other paths are not found.
pub const TESTING: &[Function] = &[
    Function {
        signature: "get(path[, headers]), delete(path[, headers]), head(path[, headers]), options(path[, headers])",
        summary: "asks for a path and gives the answer: `status` (an integer), `headers` (each by its name in any letter \
                  case: its value, or `()`), `body` (a text; a blob where it is no UTF-8), `json` (what the body is as JSON)",
        example: "get(\"/\").json → [1,2]",
    },
    Function {
        signature: "post(path[, body[, headers]]), put(path[, body[, headers]]), patch(path[, body[, headers]])",
        summary: "sends a body: a map or an array as JSON with its content type, a string or a blob as it is",
        example: "post(\"/\", #{a: 1}).json.a → 1",
    },
    Function {
        signature: "request(method, path[, options])",
        summary: "any method; the options are `#{headers, body}`",
        example: "request(\"POST\", \"/\", #{body: \"x\", headers: #{\"content-type\": \"text/plain\"}}).body → \"x\"",
    },
    Function {
        signature: "assert(condition[, message])",
        summary: "fails the test unless the condition is true",
        example: "assert(1 < 2, \"one is less\") → null",
    },
    Function {
        signature: "assert_eq(left, right)",
        summary: "fails the test unless both are the same as JSON, or for `==`; it shows both",
        example: "assert_eq(get(\"/\").json, [1, 2]) → null",
    },
    Function {
        signature: "assert_status(answer, status)",
        summary: "fails the test unless the answer has the status; it shows the answer",
        example: "assert_status(get(\"/none\"), 404) → null",
    },
    Function {
        signature: "assert_error(closure)",
        summary: "fails the test unless the closure throws; gives what was thrown",
        example: "assert_error(|| { throw \"no\" }) → \"no\"",
    },
];

/// The names of the functions, for suggestions.
pub fn names() -> impl Iterator<Item = String> {
    TESTING.iter().flat_map(|it| forms(it.signature)).map(|(name, _)| name.to_owned())
}

/// Makes the functions known to an engine; their requests go to `ask`.
pub fn register(ask: Ask) -> impl Fn(&mut rhai::Engine) {
    move |engine| {
        answer::register(engine);
        requests::register(engine, &ask);
        assertions::register(engine);
    }
}
