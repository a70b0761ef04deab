//! Origins as the configuration names them, and whether a request comes from one.

use http::header::{HeaderMap, HeaderValue, ORIGIN};

/// Which origins may read answers.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Origins {
    Any,
    Listed(Vec<Origin>),
}

/// A scheme, a host and a port; browsers send them in lower case, and the port only where it is not
/// the scheme's (Fetch, "byte-serializing a request origin").
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Exact(String),
    /// `https://*.example.com:81`: any number of labels between `https://` and `.example.com:81`.
    Below {
        scheme: String,
        end: String,
    },
}

impl Origins {
    /// What `Access-Control-Allow-Origin` says to a request with these headers. Without `Origin` it
    /// is no page's, but any origin is any also for caches.
    pub(super) fn allowed(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let listed = match self {
            Origins::Any => return Some(HeaderValue::from_static("*")),
            Origins::Listed(listed) => listed,
        };
        let origin = headers.get(ORIGIN)?;
        listed.iter().any(|it| it.is(origin.as_bytes())).then(|| origin.clone())
    }
}

impl Origin {
    /// Reads `https://example.com`, `http://localhost:3000` or `https://*.example.com`.
    ///
    /// # Errors
    /// The hint to what is wrong with it, if one is known.
    pub(super) fn parse(text: &str) -> Result<Origin, Option<String>> {
        let text = text.to_ascii_lowercase();
        let Some((scheme, rest)) = text.split_once("://") else {
            let is_host = !text.is_empty() && !text.contains('/');
            return Err(is_host.then(|| format!("with its scheme: `https://{text}`")));
        };
        let is_scheme = scheme.starts_with(|it: char| it.is_ascii_lowercase())
            && scheme.bytes().all(|it| it.is_ascii_alphanumeric() || b"+-.".contains(&it));
        if !is_scheme {
            return Err(None);
        }
        if let Some((authority, _)) = rest.split_once('/') {
            return Err(Some(format!("an origin has no path: `{scheme}://{authority}`")));
        }
        let (host, port) = match rest.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (rest, None),
        };
        if !port.is_none_or(|it| it.bytes().all(|it| it.is_ascii_digit()) && it.parse::<u16>().is_ok()) {
            return Err(None);
        }
        let own = if scheme == "https" { "443" } else { "80" };
        let port = port.filter(|it| *it != own).map(|it| format!(":{it}")).unwrap_or_default();
        let is_host = |it: &str| {
            let address = it.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
            let is_address = address.is_some_and(|it| it.parse::<std::net::Ipv6Addr>().is_ok());
            is_address
                || (!it.is_empty() && it.split('.').all(|label| !label.is_empty() && label.bytes().all(is_label)))
        };
        match host.strip_prefix("*.") {
            Some(parent) if is_host(parent) => {
                Ok(Origin::Below { scheme: format!("{scheme}://"), end: format!(".{parent}{port}") })
            }
            None if is_host(host) => Ok(Origin::Exact(format!("{scheme}://{host}{port}"))),
            _ if host.contains('*') => {
                Err(Some("`*` stands for labels at the beginning: `https://*.example.com`".into()))
            }
            _ => Err(None),
        }
    }

    fn is(&self, origin: &[u8]) -> bool {
        match self {
            Origin::Exact(text) => text.as_bytes() == origin,
            Origin::Below { scheme, end } => {
                let labels = origin.strip_prefix(scheme.as_bytes()).and_then(|it| it.strip_suffix(end.as_bytes()));
                // Nothing that could end the host before the name that is trusted.
                labels.is_some_and(|it| !it.is_empty() && it.iter().all(|it| is_label(*it) || *it == b'.'))
            }
        }
    }
}

fn is_label(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(text: &str, origin: &str) -> bool {
        Origin::parse(text).unwrap().is(origin.as_bytes())
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        assert!(is("https://example.com", "https://example.com"));
        assert!(is("HTTPS://Example.COM:443", "https://example.com"));
        assert!(is("http://localhost:3000", "http://localhost:3000"));
        assert!(is("http://[::1]:3000", "http://[::1]:3000"));
        assert!(is("http://[::1]", "http://[::1]"));
        for other in
            ["http://example.com", "https://example.com:8443", "https://a.example.com", "https://example.com.x"]
        {
            assert!(!is("https://example.com", other), "{other}");
        }
    }

    #[test]
    fn a_wildcard_stands_for_one_or_more_labels() {
        assert!(is("https://*.example.com", "https://a.example.com"));
        assert!(is("https://*.example.com", "https://a.b-1.example.com"));
        assert!(is("https://*.example.com:81", "https://a.example.com:81"));
        for other in [
            "https://example.com",
            "https://.example.com",
            "https://aexample.com",
            "http://a.example.com",
            "https://a.example.com:81",
            "https://evil.com/.example.com",
            "https://evil.com#.example.com",
            "https://evil.com:1.example.com",
            "null",
        ] {
            assert!(!is("https://*.example.com", other), "{other}");
        }
    }

    #[test]
    fn what_is_no_origin_gets_a_hint() {
        for (text, hint) in [
            ("example.com", Some("with its scheme: `https://example.com`")),
            ("https://example.com/", Some("an origin has no path: `https://example.com`")),
            ("https://example.com/app", Some("an origin has no path: `https://example.com`")),
            ("https://a.*.com", Some("`*` stands for labels at the beginning: `https://*.example.com`")),
            ("https://*", Some("`*` stands for labels at the beginning: `https://*.example.com`")),
            ("https://", None),
            ("https://a:b", None),
            ("https://a b", None),
            ("", None),
        ] {
            assert_eq!(Origin::parse(text), Err(hint.map(String::from)), "{text}");
        }
    }
}
