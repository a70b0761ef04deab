//! The addresses that `listen` names.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use crate::directive::{Kind, Node, Problems};
use crate::http::Endpoint;

/// An address to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen {
    /// A name or an IP address, IPv6 without brackets; `None` is every interface.
    pub host: Option<String>,
    /// 0 lets the system choose.
    pub port: u16,
}

impl Listen {
    /// Reads `8080`, `localhost:8080`, `*:8080` or `[::1]:8080`.
    pub fn parse(text: &str) -> Option<Listen> {
        let Some((host, port)) = text.rsplit_once(':') else {
            return Some(Listen { host: None, port: number(text)? });
        };
        // Without brackets nobody knows which colon is the last of an IPv6 address.
        if host.contains(':') && !host.starts_with('[') {
            return None;
        }
        Some(Listen { host: interface(host)?, port: number(port)? })
    }

    /// Adds addresses; one that is named twice is one, as in h2o.
    pub(super) fn add(all: &mut Vec<Listen>, more: impl IntoIterator<Item = Listen>) {
        for address in more {
            if !all.contains(&address) {
                all.push(address);
            }
        }
    }

    /// Whether a connection to `local` was taken here, as far as its port and an address tell: nobody
    /// is asked for the addresses of a name.
    pub fn takes(&self, local: Endpoint) -> bool {
        let Some(ip) = local.ip() else { return false };
        let fits = |host: &String| match host.parse::<IpAddr>() {
            Ok(own) => own.is_unspecified() || own.to_canonical() == ip,
            Err(_) => host != "localhost" || ip.is_loopback(),
        };
        Some(self.port) == local.port() && self.host.as_ref().is_none_or(fits)
    }

    /// The addresses of a directive's value: a port, an address, a mapping, or a list of them.
    ///
    /// # Errors
    /// All mistakes at once.
    pub(super) fn read(value: &Node) -> Result<Vec<Listen>, Problems> {
        let mut problems = Problems::default();
        let items = value.items();
        if items.is_empty() {
            problems.0.push(value.problem("`listen` is empty, expected at least one address"));
        }
        let addresses = items.iter().filter_map(|it| problems.check(item(it))).collect();
        problems.or(addresses)
    }
}

fn item(value: &Node) -> Result<Listen, Problems> {
    const EXPECTED: &str = "a port or an address such as `8080`, `127.0.0.1:8080` or `[::1]:8080`";
    if value.kind() != Kind::Mapping {
        let text = value.text_as(EXPECTED)?;
        return Listen::parse(text).ok_or_else(|| value.expected(EXPECTED).into());
    }
    let mut problems = Problems::default();
    let (mut host, mut port) = (None, None);
    for (name, value) in value.fields(&["host", "port"])? {
        if name == "port" {
            port = Some(problems.check(value.integer(0..=65535)).unwrap_or_default());
            continue;
        }
        const EXPECTED: &str = "a name or an IP address";
        let read = value.text_as(EXPECTED).and_then(|text| interface(text).ok_or_else(|| value.expected(EXPECTED)));
        host = problems.check(read).flatten();
    }
    if port.is_none() {
        problems.0.push(value.lacks("port"));
    }
    let port = port.and_then(|it| u16::try_from(it).ok()).unwrap_or_default();
    problems.or(Listen { host, port })
}

/// `Some(None)` is every interface, `None` is a mistake.
fn interface(text: &str) -> Option<Option<String>> {
    if text == "*" {
        return Some(None);
    }
    let bare = text.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(text);
    let is_name = |it: &str| it.bytes().all(|it| it.is_ascii_alphanumeric() || b"-._".contains(&it));
    let is_address = bare.parse::<Ipv6Addr>().is_ok();
    let fits = if bare == text { is_address || (!text.is_empty() && is_name(text)) } else { is_address };
    fits.then(|| Some(bare.to_owned()))
}

fn number(text: &str) -> Option<u16> {
    // `u16::from_str` takes a leading plus sign.
    if text.starts_with('+') { None } else { text.parse().ok() }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Some(host) if host.contains(':') => write!(f, "[{host}]:{}", self.port),
            Some(host) => write!(f, "{host}:{}", self.port),
            None => write!(f, "*:{}", self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::directive::parse;

    fn read(text: &str) -> Result<Vec<String>, String> {
        let value = parse(Path::new("host.yaml"), text).unwrap().entries().unwrap().remove(0).1;
        let read = Listen::read(&value).map_err(|it| it.to_string())?;
        Ok(read.iter().map(Listen::to_string).collect())
    }

    #[test]
    fn an_address_has_many_forms() {
        for (text, expected) in [
            ("8080", "*:8080"),
            ("0", "*:0"),
            ("localhost:80", "localhost:80"),
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("'*:80'", "*:80"),
            ("'[::1]:80'", "[::1]:80"),
            ("{port: 80}", "*:80"),
            ("{host: 127.0.0.1, port: 80}", "127.0.0.1:80"),
            ("{HOST: '::1', port: 80}", "[::1]:80"),
            ("{host: '[::1]', port: 80}", "[::1]:80"),
        ] {
            assert_eq!(read(&format!("listen: {text}")), Ok(vec![expected.into()]), "{text}");
        }
        assert_eq!(read("listen: [80, 'a:81', {port: 82}]"), Ok(["*:80", "a:81", "*:82"].map(str::to_owned).to_vec()));
    }

    #[test]
    fn a_connection_is_told_by_its_port_and_address() {
        let takes = |text: &str, local: &str| {
            let local: std::net::SocketAddr = local.parse().unwrap();
            Listen::parse(text).unwrap().takes(local.into())
        };
        for (text, local) in [
            ("80", "192.0.2.1:80"),
            ("0.0.0.0:80", "192.0.2.1:80"),
            ("192.0.2.1:80", "192.0.2.1:80"),
            ("192.0.2.1:80", "[::ffff:192.0.2.1]:80"),
            ("[::1]:80", "[::1]:80"),
            ("localhost:80", "127.0.0.1:80"),
            ("example.com:80", "192.0.2.1:80"),
        ] {
            assert!(takes(text, local), "{text} {local}");
        }
        for (text, local) in
            [("80", "192.0.2.1:81"), ("192.0.2.2:80", "192.0.2.1:80"), ("localhost:80", "192.0.2.1:80")]
        {
            assert!(!takes(text, local), "{text} {local}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in ["x", ":80", "::1", "::1:80", "a b:80", "[x]:80", "80:", "-1", "+1", "65536", "a:65536", "[]:80"] {
            assert_eq!(Listen::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_mistake_says_what_an_address_is() {
        let expected = "host.yaml:1:9: `listen` is `80 80`, expected a port or an address such as `8080`, \
                        `127.0.0.1:8080` or `[::1]:8080`\n  1 | listen: 80 80\n    |         ^^^^^";
        assert_eq!(read("listen: 80 80"), Err(expected.into()));
        let expected = "\
host.yaml:2:5: `listen` lacks `port`
  2 |   - host: a b
    |     ^^^^
host.yaml:2:11: `host` is `a b`, expected a name or an IP address
  2 |   - host: a b
    |           ^^^
host.yaml:3:11: `port` is `x`, expected a whole number from 0 to 65535
  3 |   - port: x
    |           ^";
        assert_eq!(read("listen:\n  - host: a b\n  - port: x\n"), Err(expected.into()));
    }
}
