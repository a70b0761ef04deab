//! The functions that make replies: `success`, `fail`, `json`, `text`, `html`, `redirect`,
//! `empty`; `file` and `cookie` are files of their own.

use bytes::Bytes;
use rhai::{Dynamic, INT, NativeCallContext};

use super::context::Context;
use super::fault::{Result, raise};
use super::json;
use super::raise::Wrong;
use crate::reply::{Reply, status};

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";

/// One maker, for the reference: signature, what it does, an example that is run by a test.
pub struct Maker {
    /// As it is called.
    pub signature: &'static str,
    /// What it makes.
    pub summary: &'static str,
    /// An expression, and after ` → ` the status and the body of the reply.
    pub example: &'static str,
}

/// All makers.
pub const MAKERS: &[Maker] = &[
    Maker {
        signature: "success(data)",
        summary: "200 with the data in the envelope",
        example: "success(#{id: 1}) → 200 {\"status\":\"Success\",\"data\":{\"id\":1}}",
    },
    Maker {
        signature: "fail(status, message)",
        summary: "a status with the message in the envelope",
        example: "fail(404, \"Project not found\") → 404 {\"status\":\"Fail\",\"error_message\":\"Project not found\"}",
    },
    Maker {
        signature: "json(value), json(status, value)",
        summary: "a value as JSON, without an envelope",
        example: "json(201, [1, 2.0, ()]) → 201 [1,2.0,null]",
    },
    Maker {
        signature: "text(string), text(status, string)",
        summary: "plain text",
        example: "text(\"hello\") → 200 hello",
    },
    Maker {
        signature: "html(string), html(status, string)",
        summary: "a page",
        example: "html(\"<h1>hello</h1>\") → 200 <h1>hello</h1>",
    },
    Maker {
        signature: "redirect(url), redirect(status, url)",
        summary: "302, or another status of 300 to 399, to a URL",
        example: "redirect(303, \"/projects\") → 303 ",
    },
    Maker {
        signature: "file(path), file(path, options)",
        summary: "a file, with Range and the conditions of the request; `#{root: \"uploads\"}` is the folder that the path \
                  stays in, `content_type` the type where the name does not say it, `download` is `true` or a name to \
                  save it under. 404 if there is none, or none that may be shown",
        example: "file(\"README.md\", #{download: true}) → 200 the file",
    },
    Maker {
        signature: "cookie(name, value), cookie(name, value, options)",
        summary: "a value for `set-cookie`; the options are `path domain max_age expires http_only secure same_site \
                  partitioned`",
        example: "[200, #{\"set-cookie\": cookie(\"theme\", \"dark\", #{path: \"/\"})}, \"saved\"] → 200 saved",
    },
    Maker {
        signature: "empty(), empty(status)",
        summary: "204, or another status, without a body",
        example: "empty() → 204 ",
    },
];

/// Names of the functions that are in no namespace, for suggestions.
pub fn names() -> impl Iterator<Item = String> {
    MAKERS.iter().map(|it| name_of(it.signature)).chain(["router", "freeze"]).map(str::to_owned)
}

/// The name in a signature, which is all before its parameters.
pub fn name_of(signature: &str) -> &str {
    signature.split('(').next().unwrap_or(signature)
}

/// The calls that a signature stands for, `name(a[, b])` for two: each its name and its parameters.
pub fn forms(signature: &str) -> Vec<(&str, Vec<&str>)> {
    let mut forms = Vec::new();
    for call in signature.split("), ") {
        let (name, parameters) = call.split_once('(').unwrap_or((call, ""));
        let parameters = parameters.trim_end_matches(')');
        let mut names = Vec::new();
        for optional in parameters.split('[') {
            let more = optional.trim_end_matches(']').split(',').map(str::trim).filter(|it| !it.is_empty());
            names.extend(more);
            forms.push((name, names.clone()));
        }
    }
    forms
}

/// Makes the makers known to scripts.
pub(super) fn register(engine: &mut rhai::Engine) {
    engine.register_fn("success", |call: NativeCallContext, data: Dynamic| success(&call, &data));
    engine.register_fn("fail", |call: NativeCallContext, code: INT, message: &str| fail(&call, code, message));
    engine.register_fn("json", |call: NativeCallContext, value: Dynamic| json_reply(&call, 200, &value));
    engine.register_fn("json", |call: NativeCallContext, code: INT, value: Dynamic| json_reply(&call, code, &value));
    engine.register_fn("redirect", |call: NativeCallContext, url: &str| redirect(&call, 302, url));
    engine.register_fn("redirect", |call: NativeCallContext, code: INT, url: &str| redirect(&call, code, url));
    engine.register_fn("empty", || Reply::empty(204));
    engine.register_fn("empty", |call: NativeCallContext, code: INT| {
        Ok(Reply::empty(checked(&call, code)?)) as Result<_>
    });
    for (name, content_type) in [("text", TEXT), ("html", HTML)] {
        engine.register_fn(name, move |body: &str| Reply::new(200, content_type, body.to_owned()));
        engine.register_fn(name, move |call: NativeCallContext, code: INT, body: &str| {
            Ok(Reply::new(checked(&call, code)?, content_type, body.to_owned())) as Result<_>
        });
    }
}

fn success(call: &NativeCallContext, data: &Dynamic) -> Result<Reply> {
    let body = Context::with(call, |context| context.envelope.success(|out| json::write(out, data, &context.shapes)))?;
    Ok(Reply::new(200, JSON, written(call, body)?))
}

fn fail(call: &NativeCallContext, code: INT, message: &str) -> Result<Reply> {
    let code = checked(call, code)?;
    Context::with(call, |context| Reply::new(code, context.envelope.fail_type(), context.envelope.fail(message)))
}

fn json_reply(call: &NativeCallContext, code: INT, value: &Dynamic) -> Result<Reply> {
    let code = checked(call, code)?;
    let body = Context::with(call, |context| {
        let mut body = Vec::with_capacity(128);
        json::write(&mut body, value, &context.shapes).map(|()| body)
    })?;
    Ok(Reply::new(code, JSON, written(call, body)?))
}

fn redirect(call: &NativeCallContext, code: INT, url: &str) -> Result<Reply> {
    if !(300..400).contains(&code) || code == INT::from(crate::reply::PASS) {
        return Err(raise(call, format!("a redirect has a status from 300 to 398, found {code}")));
    }
    // Other headers may have several lines; with two places to go to, who is to choose?
    if url.contains('\n') {
        return Err(raise(call, format!("the URL of a redirect has a line's end: {}", url.escape_debug())));
    }
    let mut reply = Reply::empty(checked(call, code)?);
    reply.add_header("location", url).map_err(|message| raise(call, message))?;
    Ok(reply)
}

fn checked(call: &NativeCallContext, code: INT) -> Result<u16> {
    status(code).map_err(|message| raise(call, message))
}

fn written(call: &NativeCallContext, body: std::result::Result<impl Into<Bytes>, json::Fault>) -> Result<Bytes> {
    body.map(Into::into).map_err(|fault| Wrong::from(fault).raise(call))
}
