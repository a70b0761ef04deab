//! What may stand as a key of `hosts` and of `paths`.

use std::net::Ipv6Addr;

use crate::directive::{Node, Problem};

/// Checks a key of `hosts`: a name, an address, `default`, `*` or `*.name`, each with or without a port.
pub(super) fn host(key: &Node) -> Result<String, Problem> {
    let text = key.text()?;
    if is_host(text) {
        return Ok(text.to_owned());
    }
    let message = format!("the host is `{text}`, expected a name such as `example.com` or `localhost:8080`");
    let problem = key.problem(message);
    let name = text.split("://").last().unwrap_or_default().split('/').next().unwrap_or_default();
    Err(if text.get(1..).is_some_and(|it| it.contains('*')) {
        problem.hint("`*` may stand at the beginning only: `*.example.com`")
    } else if name != text && is_host(name) {
        problem.hint(format!("did you mean `{name}`? Paths stand below `paths`"))
    } else if text.parse::<Ipv6Addr>().is_ok() {
        problem.hint(format!("did you mean `[{text}]`?"))
    } else {
        problem.hint("or `default`, `*`, `*.example.com`, `127.0.0.1:8080`, `[::1]:8080`")
    })
}

fn is_host(text: &str) -> bool {
    let (name, rest) = match text.strip_prefix('[').and_then(|it| it.split_once(']')) {
        Some((address, rest)) => (address, rest),
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let port = rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port);
    let bare = name.strip_prefix("*.").unwrap_or(name);
    let is_label = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_".contains(&it));
    let is_name = name == "*" || bare.split('.').all(is_label);
    port && if text.starts_with('[') { name.parse::<Ipv6Addr>().is_ok() } else { is_name }
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|it| it.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|it| it > 0)
}

/// Checks a key of `paths`: it begins with `/`.
pub(super) fn path(key: &Node) -> Result<String, Problem> {
    let text = key.text()?;
    if text.starts_with('/') {
        return Ok(text.to_owned());
    }
    Err(key
        .problem(format!("the path is `{text}`, expected one that begins with `/`"))
        .hint(format!("write `/{text}`")))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::directive::parse;

    fn message(check: fn(&Node) -> Result<String, Problem>, key: &str) -> String {
        let root = parse(Path::new("host.yaml"), &format!("{key}: x")).unwrap();
        check(&root.entries().unwrap()[0].0).unwrap_err().to_string()
    }

    #[test]
    fn a_host_is_a_name_with_or_without_a_port() {
        for text in [
            "default",
            "example.com",
            "localhost:8080",
            "127.0.0.1:80",
            "[::1]:80",
            "[::1]",
            "*",
            "*:80",
            "*.a.b",
            "*.a.b:80",
            "my_host-1",
        ] {
            assert!(is_host(text), "{text}");
        }
        for text in ["", ":80", "a:", "a:0", "a:65536", "a:+1", "a b", "a..b", ".a", "*a", "a.*", "[x]", "[::1", "::1"]
        {
            assert!(!is_host(text), "{text}");
        }
    }

    #[test]
    fn a_host_that_is_none_says_what_one_is() {
        let expected = |key: &str, text: &str, hint: &str| {
            format!(
                "host.yaml:1:1: the host is `{text}`, expected a name such as `example.com` or `localhost:8080`\n  \
                 1 | {key}: x\n    | {}\nhint: {hint}",
                "^".repeat(key.len())
            )
        };
        assert_eq!(
            message(host, "a.*"),
            expected("a.*", "a.*", "`*` may stand at the beginning only: `*.example.com`")
        );
        let hint = "did you mean `a.b:80`? Paths stand below `paths`";
        assert_eq!(message(host, "http://a.b:80/x"), expected("http://a.b:80/x", "http://a.b:80/x", hint));
        assert_eq!(message(host, "'::1'"), expected("'::1'", "::1", "did you mean `[::1]`?"));
        let hint = "or `default`, `*`, `*.example.com`, `127.0.0.1:8080`, `[::1]:8080`";
        assert_eq!(message(host, "a b"), expected("a b", "a b", hint));
    }

    #[test]
    fn a_path_begins_with_a_slash() {
        let expected = "host.yaml:1:1: the path is `api`, expected one that begins with `/`\n  1 | api: x\n    | ^^^\n\
                        hint: write `/api`";
        assert_eq!(message(path, "api"), expected);
    }
}
