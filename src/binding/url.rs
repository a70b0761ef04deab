//! `url::`: addresses and their parts.

use std::fmt::Write;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rhai::{Array, Dynamic, EvalAltResult, FuncRegistration, ImmutableString, Map, Module, NativeCallContext};
use url::Url;

use super::kind::kind;
use super::limit::{room, step};
use super::{Binding, Function};
use crate::script::{Decimal, Frozen, Result, raise};

/// All but the unreserved characters (RFC 3986 §2.3).
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

pub(super) const BINDING: Binding = Binding {
    name: "url",
    summary: "addresses and their parts, by the URL standard of browsers (WHATWG)",
    functions: &[
        Function {
            signature: "encode(text)",
            summary: "the text as a part of a path or of a query: all but letters, digits and `-._~` percent-encoded",
            example: "url::encode(\"a b/ü?\") → \"a%20b%2F%C3%BC%3F\"",
        },
        Function {
            signature: "decode(text)",
            summary: "the text without percent-encoding; a `+` stays one",
            example: "url::decode(\"a%20b%2F%C3%BC+\") → \"a b/ü+\"",
        },
        Function {
            signature: "query(map)",
            summary: "a query without its `?`, of strings, numbers and booleans; a list repeats its name, `()` leaves it out",
            example: "url::query(#{q: \"a b&c\", page: 2, tag: [\"x\", \"y\"], none: ()}) → \"page=2&q=a+b%26c&tag=x&tag=y\"",
        },
        Function {
            signature: "parse_query(text)",
            summary: "a query as a map: strings, and lists of them for names that are repeated",
            example: "url::parse_query(\"?q=a+b%26c&tag=x&tag=y\") → {\"q\":\"a b&c\",\"tag\":[\"x\",\"y\"]}",
        },
        Function {
            signature: "parse(url)",
            summary: "the parts of an absolute URL, `()` for those that it has not; the port is the scheme's where none is given",
            example: "url::parse(\"https://example.com/a%20b?q=1#top\") → {\"fragment\":\"top\",\"host\":\"example.com\",\"password\":null,\"path\":\"/a%20b\",\"port\":443,\"query\":\"q=1\",\"scheme\":\"https\",\"username\":null}",
        },
        Function {
            signature: "join(base, reference)",
            summary: "where a reference on the page `base` leads to",
            example: "url::join(\"https://example.com/a/b?q\", \"../c\") → \"https://example.com/c\"",
        },
    ],
    register,
};

fn register(module: &mut Module) {
    FuncRegistration::new("encode").set_into_module(module, |call: NativeCallContext, text: &str| {
        room(&call, text.len().saturating_mul(3))?;
        Ok(utf8_percent_encode(text, COMPONENT).to_string()) as Result<_>
    });
    FuncRegistration::new("decode").set_into_module(module, |call: NativeCallContext, text: &str| decode(&call, text));
    FuncRegistration::new("query").set_into_module(module, |call: NativeCallContext, map: Map| query(&call, &map));
    FuncRegistration::new("query").set_into_module(module, |call: NativeCallContext, frozen: Frozen| {
        let map = frozen.map().ok_or_else(|| raise(&call, "expected a map, found a frozen list".to_owned()))?;
        query(&call, map)
    });
    FuncRegistration::new("parse_query")
        .set_into_module(module, |call: NativeCallContext, text: &str| parse_query(&call, text));
    FuncRegistration::new("parse")
        .set_into_module(module, |call: NativeCallContext, text: &str| Ok(parts(&parsed(&call, text)?)) as Result<_>);
    FuncRegistration::new("join").set_into_module(module, |call: NativeCallContext, base: &str, reference: &str| {
        let base = parsed(&call, base)?;
        room(&call, reference.len().saturating_mul(3))?;
        let joined = base.join(reference);
        joined
            .map(String::from)
            .map_err(|error| raise(&call, format!("`{}` is no reference: {error}", short(reference))))
    });
}

fn decode(call: &NativeCallContext, text: &str) -> Result<ImmutableString> {
    room(call, text.len())?;
    let bytes = text.as_bytes();
    let is_bad = |at: usize| {
        let digits = bytes.get(at + 1..at + 3);
        bytes[at] == b'%' && !digits.is_some_and(|it| it.iter().all(u8::is_ascii_hexdigit))
    };
    if (0..bytes.len()).any(is_bad) {
        return Err(raise(call, format!("`{}` has a `%` without two hexadecimal digits", short(text))));
    }
    let decoded = percent_encoding::percent_decode_str(text).decode_utf8();
    let decoded = decoded.map_err(|_| raise(call, format!("`{}` is not UTF-8 when it is decoded", short(text))))?;
    Ok(decoded.as_ref().into())
}

fn query(call: &NativeCallContext, map: &Map) -> Result<String> {
    let mut out = form_urlencoded::Serializer::new(String::new());
    for (name, value) in map {
        if let Some(frozen) = value.read_lock::<Frozen>() {
            let list = frozen.list().ok_or_else(|| unfit(call, name, value))?;
            for item in list {
                pair(call, &mut out, name, item)?;
            }
        } else if let Ok(list) = value.as_array_ref() {
            for item in list.iter() {
                pair(call, &mut out, name, item)?;
            }
        } else {
            pair(call, &mut out, name, value)?;
        }
    }
    Ok(out.finish())
}

fn pair(
    call: &NativeCallContext,
    out: &mut form_urlencoded::Serializer<'_, String>,
    name: &str,
    value: &Dynamic,
) -> Result<()> {
    step(call)?;
    if let Ok(text) = value.as_immutable_string_ref() {
        room(call, text.len().saturating_mul(3))?;
        out.append_pair(name, &text);
        return Ok(());
    }
    if value.is_unit() {
        return Ok(());
    }
    let mut text = String::new();
    let written = if let Ok(number) = value.as_int() {
        write!(text, "{number}")
    } else if let Ok(flag) = value.as_bool() {
        write!(text, "{flag}")
    } else if let Ok(character) = value.as_char() {
        write!(text, "{character}")
    } else if let Some(number) = value.read_lock::<Decimal>() {
        write!(text, "{}", *number)
    } else if value.is_float() {
        // With its point, as scripts show it.
        write!(text, "{value}")
    } else {
        return Err(unfit(call, name, value));
    };
    written.expect("a string takes every character");
    out.append_pair(name, &text);
    Ok(())
}

fn unfit(call: &NativeCallContext, name: &str, value: &Dynamic) -> Box<EvalAltResult> {
    let expected = "a string, a number, a boolean or a list of them";
    raise(call, format!("`{name}` has the type `{}`, expected {expected}", kind(value)))
}

fn parse_query(call: &NativeCallContext, text: &str) -> Result<Map> {
    let mut map = Map::new();
    for (name, value) in form_urlencoded::parse(text.strip_prefix('?').unwrap_or(text).as_bytes()) {
        step(call)?;
        let value = Dynamic::from(ImmutableString::from(value.as_ref()));
        let Some(known) = map.get_mut(name.as_ref()) else {
            map.insert(name.as_ref().into(), value);
            continue;
        };
        if !known.is_array() {
            *known = Dynamic::from_array(Array::from([known.take()]));
        }
        known.as_array_mut().expect("it was made one").push(value);
    }
    Ok(map)
}

fn parts(url: &Url) -> Map {
    let text = |it: Option<&str>| it.map_or(Dynamic::UNIT, Into::into);
    Map::from_iter([
        ("scheme".into(), url.scheme().into()),
        ("username".into(), text(Some(url.username()).filter(|it| !it.is_empty()))),
        ("password".into(), text(url.password())),
        ("host".into(), text(url.host_str())),
        ("port".into(), url.port_or_known_default().map_or(Dynamic::UNIT, |it| i64::from(it).into())),
        ("path".into(), url.path().into()),
        ("query".into(), text(url.query())),
        ("fragment".into(), text(url.fragment())),
    ])
}

fn parsed(call: &NativeCallContext, text: &str) -> Result<Url> {
    room(call, text.len().saturating_mul(3))?;
    Url::parse(text).map_err(|error| {
        // It may hold a password.
        let shown = match text.split_once('@') {
            Some(_) => "the text".to_owned(),
            None => format!("`{}`", short(text)),
        };
        let hint = match error {
            url::ParseError::RelativeUrlWithoutBase => "\nhint: a URL begins with its scheme, such as `https://`",
            _ => "",
        };
        raise(call, format!("{shown} is no URL: {error}{hint}"))
    })
}

/// The beginning of a text for a message.
fn short(text: &str) -> String {
    let mut out: String = text.chars().take(60).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    out
}
