//! Keys and passwords are in no log, wherever a request brings them and whoever writes them.

use std::fs;
use std::io::{Read, Write};

use crate::served::Served;

const SECRET: &str = "s3cret-%2B-key";
/// As scripts see it.
const DECODED: &str = "s3cret-+-key";

/// What a script does with what it is given: each is a path.
const WAYS: &[(&str, &str)] = &[
    ("print", "print(all); text(\"ok\")"),
    ("debug", "debug(all); text(\"ok\")"),
    ("error", "log::error(all); text(\"ok\")"),
    ("warn", "log::warn([all]); text(\"ok\")"),
    ("info", "log::info(#{a: all}); text(\"ok\")"),
    ("trace", "log::trace(all); text(\"ok\")"),
    ("errors", "env[\"rack.errors\"].puts(all); text(\"ok\")"),
    ("throw", "throw all"),
    ("object", "throw #{status: 403, message: \"no\", all: all}"),
    ("file", "file(all)"),
    ("parse", "json::parse(all)"),
    ("call", "no_such(all)"),
    (
        "reply",
        "[200, #{\"location\": \"/?key=\" + env.query.key, \"set-cookie\": \"a=\" + all, \"x-own\": all, \"x-echo\": all}, []]",
    ),
    (
        "variable",
        "[399, #{\"x-fallthru-set-remote-user\": \"u\", \"x-fallthru-set-url\": \"http://a:\" + env.query.key + \"@h/\"}, []]",
    ),
];

fn configuration(error_log: &str) -> String {
    let mut text = format!(
        "\
listen: 1
error-log: {error_log}
access-log: combined.log
access-log:
  path: fields.log
  format: '%r|%q|%U|%V|%u|%{{authorization}}i|%{{x-api-key}}i|%{{x-own}}i|%{{referer}}i|%{{cookie}}i|%{{proxy-authorization}}i|%{{set-cookie}}o|%{{location}}o|%{{x-own}}o|%{{x-echo}}o|%{{URL}}e|%{{error}}x|'
access-log:
  path: fields.json
  escape: json
  format: '[\"%r\", \"%q\", \"%{{authorization}}i\", \"%{{x-own}}i\", \"%{{referer}}i\", \"%{{cookie}}i\", \"%{{location}}o\", \"%{{set-cookie}}o\", \"%{{x-own}}o\", \"%{{error}}x\"]'
hosts:
  default:
    auth.api-key:
      query: key
      header: X-Own
      bearer: ON
      required: OFF
      keys: [{}]
    paths:
",
        "0".repeat(64),
    );
    for (name, code) in WAYS {
        text.push_str(&format!(
            "      /{name}:\n        rhai.handler: |\n          |env| {{\n              \
             let all = `${{env.query.key}} ${{env.QUERY_STRING}} ${{env.HTTP_X_OWN}} ${{env.HTTP_AUTHORIZATION}} ${{env.HTTP_X_API_KEY}}`;\n              \
             {code}\n          }}\n"
        ));
    }
    text
}

#[test]
fn no_log_has_a_key_or_a_password() {
    for error_log in ["error.log", "{path: error.log, format: json}"] {
        let mut server = Served::configured(&configuration(error_log));
        for (name, _) in WAYS {
            // OPTIONS needs no key that is good.
            for method in ["OPTIONS", "GET"] {
                let mut stream = server.connect();
                write!(
                    stream,
                    "{method} /{name}/x?a=1&key={SECRET}&k%65y={SECRET} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\
                     X-Own: {DECODED}\r\nAuthorization: Bearer {DECODED}\r\nX-API-Key: {DECODED}\r\n\
                     Proxy-Authorization: Basic {DECODED}\r\nCookie: sid={DECODED}; other={DECODED}\r\n\
                     Referer: http://user:{DECODED}@a/?key={SECRET}\r\n\r\n"
                )
                .unwrap();
                let mut reply = String::new();
                stream.read_to_string(&mut reply).unwrap();
                assert!(method == "OPTIONS" || reply.starts_with("HTTP/1.1 401 "), "{reply}");
            }
        }
        server.signal("TERM");
        assert!(server.process.wait().unwrap().success());
        for file in ["error.log", "combined.log", "fields.log", "fields.json"] {
            let log = fs::read_to_string(server.folder.path().join(file)).unwrap();
            for secret in [SECRET, DECODED, "s3cret-"] {
                assert!(!log.contains(secret), "{file} has {secret}:\n{log}");
            }
            assert!(log.contains("***"), "{file}:\n{log}");
            if file == "error.log" {
                let said = log.lines().filter(|line| line.contains("***")).count();
                assert!(said >= WAYS.len() - 5, "{said} lines of {log}");
            } else {
                assert_eq!(log.lines().count(), 2 * WAYS.len(), "{log}");
            }
            if file == "fields.json" || error_log.contains("json") && file == "error.log" {
                for line in log.lines() {
                    serde_json::from_str::<serde_json::Value>(line).expect(line);
                }
            }
        }
    }
}
