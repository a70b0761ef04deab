//! Replies as scripts see them: a native value that can be indexed and changed like the triple
//! `[status, headers, body]`, and the triple itself.

use bytes::{Bytes, BytesMut};
use rhai::{Array, Blob, Dynamic, INT, ImmutableString, Map, NativeCallContext};

use super::fault::{Result, raise};
use super::frozen;
use crate::fiber;
use crate::reply::{Content, Reply, status};

/// What a triple has to be, for messages.
const EXPECTED: &str = "expected `[status, headers, body]` or a reply such as `json(value)`";

/// Said where a limit is hit while a reply is made; what is reported is the limit.
const STOPPED: &str = "the script has to stop";

/// Said of a reply that the memory of its script has no room for.
const TOO_LARGE: &str = "the reply is larger than `rhai.max-memory`";

/// Makes [`Reply`] known to scripts.
pub(super) fn register(engine: &mut rhai::Engine) {
    engine.register_type_with_name::<Reply>("Reply");
    engine.register_indexer_get(|call: NativeCallContext, reply: &mut Reply, index: INT| {
        part(reply, index).ok_or_else(|| raise(&call, format!("a reply has the parts 0 to 2, found {index}")))
    });
    engine.register_indexer_set(|call: NativeCallContext, reply: &mut Reply, index: INT, value: Dynamic| {
        change(reply, index, value).map_err(|message| raise(&call, message))
    });
    for (index, name) in [(0, "status"), (1, "headers"), (2, "body")] {
        engine.register_get_set(
            name,
            move |reply: &mut Reply| part(reply, index).unwrap_or_default(),
            move |call: NativeCallContext, reply: &mut Reply, value: Dynamic| -> Result<()> {
                change(reply, index, value).map_err(|message| raise(&call, message))
            },
        );
    }
    for name in ["to_string", "to_debug"] {
        engine.register_fn(name, |reply: &mut Reply| match &reply.body {
            Content::Bytes(bytes) => format!("[{}, …, {} bytes]", reply.status, bytes.len()),
            Content::File(_) => format!("[{}, …, a file]", reply.status),
        });
    }
    engine.register_fn("header", |call: NativeCallContext, reply: &mut Reply, name: &str, value: Dynamic| {
        replace_header(reply, name, &value).map_err(|message| raise(&call, message))?;
        Ok(reply.clone()) as Result<_>
    });
    engine.register_fn("==", |a: &mut Reply, b: Reply| *a == b);
    engine.register_fn("!=", |a: &mut Reply, b: Reply| *a != b);
    engine.register_fn("==", |_: &mut Reply, (): ()| false);
    engine.register_fn("!=", |_: &mut Reply, (): ()| true);
}

/// Whether a value is meant as a reply: filters that give one end the request.
pub(super) fn is_reply(value: &Dynamic) -> bool {
    value.is::<Reply>() || value.as_array_ref().is_ok_and(|it| it.len() == 3 && it[0].is_int())
}

/// Whether a value can only be meant as a reply, well-formed or not.
pub(super) fn is_meant_as_reply(value: &Dynamic) -> bool {
    value.is::<Reply>() || value.is_array() || value.as_map_ref().is_ok_and(|it| it.contains_key("status"))
}

/// The status that a value is.
pub(super) fn status_of(value: &Dynamic) -> std::result::Result<u16, String> {
    let code = value.as_int().map_err(|_| format!("the status is {}, expected an integer", described(value)))?;
    status(code)
}

/// The reply that a script's value is.
///
/// # Errors
/// What was found instead, for the log.
pub(super) fn from_value(value: Dynamic) -> std::result::Result<Reply, String> {
    if value.is::<Reply>() {
        return Ok(value.cast::<Reply>());
    }
    let plain = |value| frozen::plain(value).map_err(|_| STOPPED.to_owned());
    let value = plain(value)?;
    if value.is_unit() {
        let hint = "the last expression of a handler is its reply; the value of a `try` or `catch` block is lost, \
                    write `return` there";
        return Err(format!("the script returned `()`, {EXPECTED}\nhint: {hint}"));
    }
    if !value.is_array() {
        return Err(format!("the script returned {}, {EXPECTED}", described(&value)));
    }
    let [code, headers, body] = <[Dynamic; 3]>::try_from(value.cast::<Array>()).map_err(|triple| {
        let values = if triple.len() == 1 { "value" } else { "values" };
        format!("the script returned an array of {} {values}, {EXPECTED}", triple.len())
    })?;
    let mut reply = Reply::empty(status_of(&code)?);
    set_headers(&mut reply, plain(headers)?)?;
    set_body(&mut reply, plain(body)?)?;
    Ok(reply)
}

fn part(reply: &Reply, index: INT) -> Option<Dynamic> {
    match index {
        0 => Some(INT::from(reply.status).into()),
        1 => Some(headers_of(reply).into()),
        2 => Some(match &reply.body {
            Content::Bytes(bytes) => Dynamic::from(text_of(bytes)),
            // As a body of another reply it is the same file.
            Content::File(_) => Dynamic::from(Reply::of(reply.body.clone())),
        }),
        _ => None,
    }
}

fn change(reply: &mut Reply, index: INT, value: Dynamic) -> std::result::Result<(), String> {
    match index {
        0 => reply.status = status_of(&value)?,
        1 => {
            reply.headers.clear();
            set_headers(reply, value)?;
        }
        2 => set_body(reply, value)?,
        _ => return Err(format!("a reply has the parts 0 to 2, found {index}")),
    }
    Ok(())
}

/// A map of the headers; what has several lines has them joined by `\n`, as Rack has it.
fn headers_of(reply: &Reply) -> Map {
    let mut map = Map::new();
    for name in reply.headers.keys() {
        let lines: Vec<_> =
            reply.headers.get_all(name).iter().map(|it| String::from_utf8_lossy(it.as_bytes())).collect();
        map.insert(name.as_str().into(), lines.join("\n").into());
    }
    map
}

fn text_of(body: &Bytes) -> ImmutableString {
    String::from_utf8_lossy(body).as_ref().into()
}

/// Adds the headers of a map or of an array of pairs.
fn set_headers(reply: &mut Reply, headers: Dynamic) -> std::result::Result<(), String> {
    if let Ok(map) = headers.as_map_ref() {
        return map.iter().try_for_each(|(name, value)| set_header(reply, name, value));
    }
    let Ok(pairs) = headers.as_array_ref() else {
        return Err(format!("the headers are {}, expected a map or an array of `[name, value]`", described(&headers)));
    };
    for pair in pairs.iter() {
        match pair.as_array_ref().as_deref().map(Vec::as_slice) {
            Ok([name, value]) => {
                let name = name
                    .as_immutable_string_ref()
                    .map_err(|_| format!("the name of a header is {}, expected a string", described(name)))?;
                set_header(reply, &name, value)?;
            }
            _ => return Err(format!("one of the headers is {}, expected `[name, value]`", described(pair))),
        }
    }
    Ok(())
}

/// A header in the place of what it was; cookies are added to those that there are.
fn replace_header(reply: &mut Reply, name: &str, value: &Dynamic) -> std::result::Result<(), String> {
    if !name.eq_ignore_ascii_case("set-cookie") {
        reply.headers.remove(name);
    }
    set_header(reply, name, value)
}

fn set_header(reply: &mut Reply, name: &str, value: &Dynamic) -> std::result::Result<(), String> {
    if let Ok(text) = value.as_immutable_string_ref() {
        fiber::room(text.len()).map_err(|_| TOO_LARGE.to_owned())?;
        return reply.add_header(name, &text);
    }
    if let Ok(lines) = value.as_array_ref() {
        return lines.iter().try_for_each(|line| set_header(reply, name, line));
    }
    if value.is_unit() {
        return reply.add_header(name, "");
    }
    if value.is_int() || value.is_float() || value.is_bool() || value.is_char() {
        return reply.add_header(name, &value.to_string());
    }
    Err(format!("the value of the header `{name}` is {}, expected a string", described(value)))
}

/// Puts a body, or a file with the headers that go with it, into a reply.
fn set_body(reply: &mut Reply, body: Dynamic) -> std::result::Result<(), String> {
    if !body.is_array() && body.is::<Reply>() {
        return set_file(reply, body);
    }
    reply.body = Content::Bytes(body_from(body)?);
    Ok(())
}

#[cold]
fn set_file(reply: &mut Reply, body: Dynamic) -> std::result::Result<(), String> {
    let file = body.cast::<Reply>();
    if matches!(file.body, Content::Bytes(_)) {
        return part_from(Dynamic::from(file)).map(|_| ());
    }
    reply.take_body(file);
    Ok(())
}

fn body_from(body: Dynamic) -> std::result::Result<Bytes, String> {
    if !body.is_array() {
        return part_from(body);
    }
    let mut parts = body.cast::<Array>();
    if parts.len() == 1
        && let Some(only) = parts.pop()
    {
        return part_from(only);
    }
    // Many times the same string takes the memory of one, but what is joined does not.
    let length = parts.iter().filter_map(|it| it.as_immutable_string_ref().ok().map(|it| it.len())).sum();
    fiber::room(length).map_err(|_| TOO_LARGE.to_owned())?;
    let mut joined = BytesMut::with_capacity(length);
    for part in parts {
        // There may be a million of them, of which each may be a word.
        fiber::tick().map_err(|_| STOPPED.to_owned())?;
        joined.extend_from_slice(&part_from(part)?);
    }
    Ok(joined.freeze())
}

fn part_from(part: Dynamic) -> std::result::Result<Bytes, String> {
    if part.is_string() {
        return Ok(part
            .into_immutable_string()
            .map(|it| Bytes::from(it.into_owned().into_bytes()))
            .unwrap_or_default());
    }
    if part.is_blob() {
        return Ok(part.cast::<Blob>().into());
    }
    if part.is_unit() {
        return Ok(Bytes::new());
    }
    let found = described(&part);
    Err(format!(
        "the body is {found}, expected a string, a blob or an array of them\nhint: `json(value)` makes a reply of any value"
    ))
}

/// What a value is, for people: `the string "x"`, `a map`, `()`.
pub(super) fn described(value: &Dynamic) -> String {
    if value.is_unit() {
        return "`()`".to_owned();
    }
    if let Ok(text) = value.as_immutable_string_ref() {
        let short: String = text.chars().take(40).collect();
        let more = if short.len() < text.len() { "…" } else { "" };
        return format!("the string {short:?}{more}");
    }
    if value.is_int() || value.is_float() || value.is_bool() {
        return format!("`{value}`");
    }
    match value.type_name() {
        "array" => "an array".to_owned(),
        "map" => "a map".to_owned(),
        "Fn" => "a function".to_owned(),
        _ if value.is::<Reply>() => "a reply".to_owned(),
        // Without the path that the type has in Rust.
        name => format!("a value of the type `{}`", name.rsplit("::").next().unwrap_or(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(script: &str) -> std::result::Result<Reply, String> {
        let mut engine = rhai::Engine::new();
        register(&mut engine);
        from_value(engine.eval::<Dynamic>(script).unwrap())
    }

    #[test]
    fn headers_come_as_a_map_or_as_pairs() {
        for headers in ["#{\"X-A\": \"1\\n2\", \"x-b\": 3}", "[[\"x-a\", [\"1\", \"2\"]], [\"X-B\", \"3\"]]"] {
            let reply = reply(&format!("[201, {headers}, [\"a\", \"b\"]]")).unwrap();
            assert_eq!(reply.status, 201);
            assert_eq!(reply.headers.get_all("x-a").iter().collect::<Vec<_>>(), ["1", "2"]);
            assert_eq!(reply.headers["x-b"], "3");
            assert_eq!(reply.body, "ab".into());
        }
    }

    #[test]
    fn a_body_is_a_string_a_blob_an_array_or_nothing() {
        for (body, expected) in
            [("\"x\"", "x"), ("blob(2, 0x61)", "aa"), ("[]", ""), ("()", ""), ("[\"a\", blob(1, 0x62)]", "ab")]
        {
            assert_eq!(reply(&format!("[200, #{{}}, {body}]")).unwrap().body, expected.into(), "{body}");
        }
    }

    #[test]
    fn any_other_shape_is_named() {
        for (script, expected) in [
            ("()", "the script returned `()`, expected `[status, headers, body]` or a reply such as `json(value)`"),
            ("\"x\"", "the script returned the string \"x\", expected `[status"),
            ("[200]", "the script returned an array of 1 value, expected `[status"),
            ("[\"x\", #{}, []]", "the status is the string \"x\", expected an integer"),
            ("[200.5, #{}, []]", "the status is `200.5`, expected an integer"),
            ("[99, #{}, []]", "the status 99 is not within 200 to 999"),
            ("[200, \"x\", []]", "the headers are the string \"x\", expected a map"),
            ("[200, #{}, #{a: 1}]", "the body is a map, expected a string"),
            ("[200, #{}, 5]", "the body is `5`, expected a string"),
            ("[200, #{}, [\"a\", 5]]", "the body is `5`, expected a string"),
            ("[200, #{x: #{}}, []]", "the value of the header `x` is a map, expected a string"),
            ("[200, [1], []]", "one of the headers is `1`, expected `[name, value]`"),
        ] {
            let message = reply(script).unwrap_err();
            assert!(message.starts_with(expected), "{script}: {message}");
        }
    }
}
