//! `cookie(name, value, options)`: what a `set-cookie` header takes, and `reply.cookie(…)`, which adds one.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rhai::{Dynamic, ImmutableString, Map, NativeCallContext};

use super::fault::{Result, raise};
use super::options::Options;
use crate::reply::{Cookie, Reply, SameSite};

const OPTIONS: &[&str] = &["domain", "expires", "http_only", "max_age", "partitioned", "path", "same_site", "secure"];

/// Makes `cookie` known to scripts.
pub(super) fn register(engine: &mut rhai::Engine) {
    engine.register_fn("cookie", |call: NativeCallContext, name: &str, value: Dynamic| {
        made(&call, name, &value, &Map::new())
    });
    engine.register_fn("cookie", |call: NativeCallContext, name: &str, value: Dynamic, options: Map| {
        made(&call, name, &value, &options)
    });
    engine.register_fn("cookie", |call: NativeCallContext, reply: &mut Reply, name: &str, value: Dynamic| {
        add(&call, reply, name, &value, &Map::new())
    });
    engine.register_fn(
        "cookie",
        |call: NativeCallContext, reply: &mut Reply, name: &str, value: Dynamic, options: Map| {
            add(&call, reply, name, &value, &options)
        },
    );
}

fn add(call: &NativeCallContext, reply: &mut Reply, name: &str, value: &Dynamic, options: &Map) -> Result<Reply> {
    let line = made(call, name, value, options)?;
    reply.add_header("set-cookie", &line).map_err(|message| raise(call, message))?;
    Ok(reply.clone())
}

fn made(call: &NativeCallContext, name: &str, value: &Dynamic, options: &Map) -> Result<ImmutableString> {
    header(name, value, options).map(Into::into).map_err(|message| raise(call, message))
}

fn header(name: &str, value: &Dynamic, map: &Map) -> std::result::Result<String, String> {
    let value = match value.as_immutable_string_ref() {
        Ok(text) => text.clone(),
        Err(_) if value.is_int() || value.is_bool() || value.is_char() => value.to_string().into(),
        Err(_) => {
            let found = super::reply::described(value);
            return Err(format!("the value of the cookie `{}` is {found}, expected a string", name.escape_debug()));
        }
    };
    let options = Options::of("cookie", map, OPTIONS)?;
    let path = options.text("path", "a path such as `/`")?;
    let domain = options.text("domain", "a host name")?;
    let same_site = options.text("same_site", EXPECTED_SITE)?;
    let same_site = match &same_site {
        Some(text) => Some(
            SameSite::parse(text)
                .ok_or_else(|| options.mistake("same_site", &Dynamic::from(text.clone()), EXPECTED_SITE))?,
        ),
        None => None,
    };
    let cookie = Cookie {
        name,
        value: &value,
        path: path.as_deref(),
        domain: domain.as_deref(),
        max_age: options.int("max_age", "seconds as an integer")?,
        expires: options.value("expires").map(|it| end(&options, it)).transpose()?,
        http_only: options.flag("http_only")?,
        secure: options.flag("secure")?,
        same_site,
        partitioned: options.flag("partitioned")?,
    };
    cookie.header()
}

const EXPECTED_SITE: &str = "`strict`, `lax` or `none`";

/// Seconds since 1970, or a date as HTTP has it.
fn end(options: &Options<'_>, value: &Dynamic) -> std::result::Result<SystemTime, String> {
    // Of years with four digits, as cookies have them.
    const LAST: i64 = 253_402_300_799;
    let expected = "seconds since 1970 or an HTTP date";
    let parsed = match value.as_int() {
        Ok(seconds) => u64::try_from(seconds.clamp(0, LAST)).ok().map(|it| UNIX_EPOCH + Duration::from_secs(it)),
        Err(_) => value.as_immutable_string_ref().ok().and_then(|text| httpdate::parse_http_date(&text).ok()),
    };
    parsed.ok_or_else(|| options.mistake("expires", value, expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cookie(script: &str) -> std::result::Result<String, String> {
        let mut engine = rhai::Engine::new();
        register(&mut engine);
        engine.eval::<ImmutableString>(script).map(Into::into).map_err(|error| error.to_string())
    }

    #[test]
    fn options_become_attributes() {
        for (script, expected) in [
            ("cookie(\"a\", \"x y\")", "a=x%20y"),
            ("cookie(\"a\", 5)", "a=5"),
            ("cookie(\"a\", \"\", #{max_age: 0, path: \"/\", secure: ()})", "a=; Path=/; Max-Age=0"),
            ("cookie(\"a\", 1, #{expires: 784111777})", "a=1; Expires=Sun, 06 Nov 1994 08:49:37 GMT"),
            (
                "cookie(\"a\", 1, #{expires: \"Sunday, 06-Nov-94 08:49:37 GMT\"})",
                "a=1; Expires=Sun, 06 Nov 1994 08:49:37 GMT",
            ),
            ("cookie(\"a\", 1, #{same_site: \"lax\", http_only: true})", "a=1; SameSite=Lax; HttpOnly"),
        ] {
            assert_eq!(cookie(script).as_deref(), Ok(expected), "{script}");
        }
    }

    #[test]
    fn a_wrong_option_is_named() {
        for (script, expected) in [
            ("cookie(\"a\", 1, #{maxage: 5})", "`cookie` has no option `maxage`\nhint: did you mean `max_age`?"),
            ("cookie(\"a\", 1, #{max_age: 1.5})", "the option `max_age` of `cookie` is `1.5`, expected seconds"),
            (
                "cookie(\"a\", 1, #{secure: \"yes\"})",
                "the option `secure` of `cookie` is the string \"yes\", expected `true`",
            ),
            (
                "cookie(\"a\", 1, #{same_site: \"lex\"})",
                "the option `same_site` of `cookie` is the string \"lex\", expected `strict`",
            ),
            (
                "cookie(\"a\", 1, #{expires: \"soon\"})",
                "the option `expires` of `cookie` is the string \"soon\", expected seconds",
            ),
            ("cookie(\"a\", 1, #{path: 1})", "the option `path` of `cookie` is `1`, expected a path"),
            ("cookie(\"a\", #{})", "the value of the cookie `a` is a map, expected a string"),
        ] {
            let message = cookie(script).unwrap_err();
            assert!(message.contains(expected), "{script}: {message}");
        }
    }
}
