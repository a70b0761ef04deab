//! The requests of a test.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Uri};
use rhai::{Blob, Dynamic, EvalAltResult, Map, NativeCallContext};

use super::Ask;
use super::answer::Answer;
use crate::fiber;
use crate::script::{Context, Result, Wrong, raise, write_json};

/// What is asked, beside method and path.
#[derive(Default)]
struct Options {
    headers: HeaderMap,
    body: Bytes,
}

pub(super) fn register(engine: &mut rhai::Engine, ask: &Ask) {
    for (name, method) in
        [("get", Method::GET), ("delete", Method::DELETE), ("head", Method::HEAD), ("options", Method::OPTIONS)]
    {
        let (asked, by) = (ask.clone(), method.clone());
        engine.register_fn(name, move |call: NativeCallContext, path: &str| {
            send(&call, &asked, &by, path, Options::default())
        });
        let asked = ask.clone();
        engine.register_fn(name, move |call: NativeCallContext, path: &str, headers: Map| {
            let headers = fields(&call, &headers)?;
            send(&call, &asked, &method, path, Options { headers, body: Bytes::new() })
        });
    }
    for (name, method) in [("post", Method::POST), ("put", Method::PUT), ("patch", Method::PATCH)] {
        let (asked, by) = (ask.clone(), method.clone());
        engine.register_fn(name, move |call: NativeCallContext, path: &str| {
            send(&call, &asked, &by, path, Options::default())
        });
        let (asked, by) = (ask.clone(), method.clone());
        engine.register_fn(name, move |call: NativeCallContext, path: &str, body: Dynamic| {
            let mut headers = HeaderMap::new();
            let body = content(&call, &body, &mut headers)?;
            send(&call, &asked, &by, path, Options { headers, body })
        });
        let asked = ask.clone();
        engine.register_fn(name, move |call: NativeCallContext, path: &str, body: Dynamic, headers: Map| {
            let mut headers = fields(&call, &headers)?;
            let body = content(&call, &body, &mut headers)?;
            send(&call, &asked, &method, path, Options { headers, body })
        });
    }
    let asked = ask.clone();
    engine.register_fn("request", move |call: NativeCallContext, by: &str, path: &str| {
        send(&call, &asked, &method(&call, by)?, path, Options::default())
    });
    let asked = ask.clone();
    engine.register_fn("request", move |call: NativeCallContext, by: &str, path: &str, options: Map| {
        send(&call, &asked, &method(&call, by)?, path, all(&call, &options)?)
    });
}

fn send(call: &NativeCallContext, ask: &Ask, method: &Method, path: &str, options: Options) -> Result<Answer> {
    let uri: Option<Uri> = path.parse().ok().filter(|_| path.starts_with('/'));
    let uri = uri.ok_or_else(|| {
        raise(
            call,
            format!(
                "the path is `{path}`, expected one such as `/projects?key=1`, with what is no ASCII percent-encoded"
            ),
        )
    })?;
    let mut request = http::Request::new(options.body);
    (*request.method_mut(), *request.uri_mut(), *request.headers_mut()) = (method.clone(), uri, options.headers);
    let answer = fiber::wait(ask(request)).map_err(|stop| Wrong::from(stop).raise(call))?;
    let asked = format!("{method} {path}");
    let answer = answer.map_err(|error| raise(call, format!("the answer to {asked} broke off: {error}")))?;
    Ok(Answer::new(asked, answer))
}

fn method(call: &NativeCallContext, text: &str) -> Result<Method> {
    Method::from_bytes(text.as_bytes()).map_err(|_| raise(call, format!("`{text}` is no method")))
}

fn all(call: &NativeCallContext, options: &Map) -> Result<Options> {
    let mut all = Options::default();
    // The headers first: one of them may say what the body is.
    if let Some(headers) = options.get("headers") {
        let map = headers
            .as_map_ref()
            .map_err(|found| raise(call, format!("`headers` is a value of the type `{found}`, expected a map")))?;
        all.headers = fields(call, &map)?;
    }
    if let Some(body) = options.get("body") {
        all.body = content(call, body, &mut all.headers)?;
    }
    match options.keys().find(|it| !matches!(it.as_str(), "headers" | "body")) {
        Some(other) => Err(raise(call, format!("there is no option `{other}`, expected `headers` or `body`"))),
        None => Ok(all),
    }
}

/// Headers as a map has them; the value of each is a text, a number, or an array for several lines.
fn fields(call: &NativeCallContext, map: &Map) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, value) in map {
        let key: HeaderName = name.parse().map_err(|_| raise(call, format!("`{name}` is no name of a header")))?;
        let lines = value.as_array_ref().map_or_else(|_| vec![value.clone()], |it| it.clone());
        for line in lines {
            let line = HeaderValue::from_str(&line.to_string())
                .map_err(|_| raise(call, format!("the header `{name}` can't have the value {line:?}")))?;
            headers.append(&key, line);
        }
    }
    Ok(headers)
}

/// A body, and its content type where it has one and the headers say none.
fn content(call: &NativeCallContext, body: &Dynamic, headers: &mut HeaderMap) -> Result<Bytes> {
    if body.is_unit() {
        return Ok(Bytes::new());
    }
    if let Ok(text) = body.as_immutable_string_ref() {
        return Ok(text.as_bytes().to_vec().into());
    }
    if let Some(blob) = body.read_lock::<Blob>() {
        return Ok(blob.clone().into());
    }
    let mut json = Vec::new();
    Context::with(call, |context| write_json(&mut json, body, &context.shapes))?
        .map_err(|fault| -> Box<EvalAltResult> { Wrong::from(fault).raise(call) })?;
    headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
    Ok(json.into())
}
