//! Hosts by the authority of a request.

use std::fmt;

/// A host as the configuration names it: `name`, `name:port`, `*.name`, `*` or `default`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct HostName {
    name: Name,
    port: Option<u16>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
enum Name {
    /// One name, in lower case.
    Exact(String),
    /// `*.name`, kept as `.name`: any number of labels before it.
    Below(String),
    /// `*`
    #[default]
    Any,
}

impl HostName {
    /// Reads a key of `hosts`.
    ///
    /// # Errors
    /// What is wrong with it, for a message that names the key.
    pub fn parse(key: &str) -> Result<HostName, &'static str> {
        let (name, port) = split_port(key);
        let port = match port {
            None => None,
            Some(port) => Some(port.parse().map_err(|_| "expected a port from 0 to 65535 after the `:`")?),
        };
        let name = name.to_ascii_lowercase();
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._[]:".contains(&byte) || !byte.is_ascii();
        let plain = |name: &str| !name.is_empty() && name.bytes().all(allowed);
        let name = match name.strip_prefix('*') {
            Some("") => Name::Any,
            Some(rest) if rest.starts_with('.') && plain(rest) => Name::Below(rest.to_owned()),
            Some(_) => return Err("a `*` may only be the whole name or stand before a `.`"),
            None if plain(&name) => Name::Exact(name),
            None => {
                return Err("expected a name such as `example.com`, `example.com:8080`, `*.example.com` or `default`");
            }
        };
        Ok(HostName { name, port })
    }

    /// What the `*` of the name stands for in an authority that fits it: its first labels.
    pub fn wildcard<'a>(&self, authority: &'a str) -> Option<&'a str> {
        let (name, _) = split_port(authority);
        let name = name.strip_suffix('.').unwrap_or(name);
        match &self.name {
            Name::Below(end) if ends_with_ignore_case(name, end) => name.get(..name.len() - end.len()),
            Name::Any if !name.is_empty() => Some(name),
            _ => None,
        }
    }

    /// How well this name fits; a larger number is the better fit.
    fn fit(&self, name: &str, port: u16) -> Option<usize> {
        if self.port.is_some_and(|own| own != port) {
            return None;
        }
        let closeness = match &self.name {
            Name::Exact(own) if own.eq_ignore_ascii_case(name) => usize::MAX / 4,
            Name::Below(end) if ends_with_ignore_case(name, end) => end.len(),
            Name::Any => 0,
            Name::Exact(_) | Name::Below(_) => return None,
        };
        Some(closeness * 2 + usize::from(self.port.is_some()))
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Name::Exact(name) => f.write_str(name)?,
            Name::Below(end) => write!(f, "*{end}")?,
            Name::Any => f.write_str("*")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// Whether a host also answers what is for none (h2o's `strict-match`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Matching {
    /// It may have to.
    #[default]
    Loose,
    /// Only what is for it.
    Strict,
}

/// Things by host: an exact name goes before a wildcard, a longer wildcard before a shorter one,
/// a name with the port before one without. What fits none is for `default`, or else for the first,
/// of those that are not strict.
#[derive(Debug)]
pub struct Hosts<T> {
    hosts: Vec<(HostName, T)>,
    fallback: Option<usize>,
}

impl<T> Hosts<T> {
    /// Keeps the order of `hosts`.
    pub fn new(hosts: Vec<(HostName, Matching, T)>) -> Hosts<T> {
        let is_loose = |it: &(HostName, Matching, T)| it.1 == Matching::Loose;
        let is_default = |it: &(HostName, Matching, T)| is_loose(it) && it.0.name == Name::Exact("default".to_owned());
        let fallback = hosts.iter().position(is_default).or_else(|| hosts.iter().position(is_loose));
        Hosts { hosts: hosts.into_iter().map(|(name, _, it)| (name, it)).collect(), fallback }
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.hosts.iter().map(|(_, it)| it)
    }

    /// The host for an authority such as `example.com:8080`; without a port it is `default_port`.
    pub fn find(&self, authority: &str, default_port: u16) -> Option<&T> {
        if let ([(_, only)], Some(_)) = (self.hosts.as_slice(), self.fallback) {
            return Some(only);
        }
        let (name, port) = split_port(authority);
        let name = name.strip_suffix('.').unwrap_or(name);
        let port = port.map_or(Some(default_port), |it| it.parse().ok());
        let best = port.and_then(|port| {
            let fits =
                self.hosts.iter().enumerate().filter_map(|(index, (host, _))| Some((host.fit(name, port)?, index)));
            // Of equal fits, the first in the file.
            fits.min_by_key(|(fit, _)| std::cmp::Reverse(*fit))
        });
        best.map(|(_, index)| index).or(self.fallback).map(|index| &self.hosts[index].1)
    }
}

/// Splits `name:port`, also where the name is an IPv6 address in brackets.
fn split_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rfind(':') {
        Some(colon) if !authority[colon..].contains(']') && !authority[..colon].trim_end_matches(']').is_empty() => {
            let inside_brackets = authority.starts_with('[') && !authority[..colon].ends_with(']');
            if inside_brackets { (authority, None) } else { (&authority[..colon], Some(&authority[colon + 1..])) }
        }
        _ => (authority, None),
    }
}

fn ends_with_ignore_case(name: &str, end: &str) -> bool {
    let start = name.len().checked_sub(end.len());
    start.is_some_and(|start| start > 0 && name.as_bytes()[start..].eq_ignore_ascii_case(end.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hosts of these keys; `!` before one makes it strict.
    struct Keys(Hosts<&'static str>);

    fn hosts(keys: &[&'static str]) -> Keys {
        let host = |key: &'static str| match key.strip_prefix('!') {
            Some(key) => (HostName::parse(key).unwrap(), Matching::Strict, key),
            None => (HostName::parse(key).unwrap(), Matching::Loose, key),
        };
        Keys(Hosts::new(keys.iter().map(|key| host(key)).collect()))
    }

    impl Keys {
        fn find(&self, authority: &str, default_port: u16) -> &&'static str {
            self.0.find(authority, default_port).unwrap_or(&"nobody")
        }
    }

    #[test]
    fn a_strict_host_answers_only_what_is_for_it() {
        assert_eq!(*hosts(&["!a", "b"]).find("c", 80), "b");
        assert_eq!(*hosts(&["a", "!default"]).find("c", 80), "a");
        assert_eq!(*hosts(&["!a", "!b"]).find("c", 80), "nobody");
        assert_eq!(*hosts(&["!a", "!b"]).find("b", 80), "b");
        assert_eq!(*hosts(&["!a"]).find("c", 80), "nobody");
        assert_eq!(*hosts(&["!a"]).find("a:81", 80), "a");
        assert_eq!(*hosts(&["!*.x"]).find("a.x", 80), "*.x");
        assert_eq!(*hosts(&["!a"]).find("", 80), "nobody");
    }

    #[test]
    fn an_exact_name_goes_before_a_wildcard_whatever_their_order() {
        let hosts = hosts(&["*", "*.example", "*.wild.example", "a.wild.example"]);
        assert_eq!(*hosts.find("a.wild.example", 80), "a.wild.example");
        assert_eq!(*hosts.find("b.wild.example", 80), "*.wild.example");
        assert_eq!(*hosts.find("c.b.wild.example", 80), "*.wild.example");
        assert_eq!(*hosts.find("wild.example", 80), "*.example");
        assert_eq!(*hosts.find("elsewhere", 80), "*");
    }

    #[test]
    fn a_key_without_a_port_fits_any_port_and_one_with_it_only_its_own() {
        let hosts = hosts(&["other", "localhost:8080", "localhost"]);
        assert_eq!(*hosts.find("localhost:8080", 80), "localhost:8080");
        assert_eq!(*hosts.find("LOCALHOST:9000", 80), "localhost");
        assert_eq!(*hosts.find("localhost", 8080), "localhost:8080");
        assert_eq!(*hosts.find("localhost.", 1), "localhost");
    }

    #[test]
    fn what_fits_none_is_for_default_or_else_for_the_first() {
        assert_eq!(*hosts(&["a", "b"]).find("c", 80), "a");
        assert_eq!(*hosts(&["a", "default"]).find("c", 80), "default");
        assert_eq!(*hosts(&["a", "b"]).find("", 80), "a");
        assert_eq!(*hosts(&["a", "b"]).find("b:99999", 80), "a");
    }

    #[test]
    fn a_wildcard_stands_for_the_labels_that_it_replaces() {
        let wildcard = |key: &str, authority: &'static str| HostName::parse(key).unwrap().wildcard(authority);
        assert_eq!(wildcard("*.example.com:80", "A.b.example.com:80"), Some("A.b"));
        assert_eq!(wildcard("*.example.com", "a.example.com."), Some("a"));
        assert_eq!(wildcard("*.example.com", "example.com"), None);
        assert_eq!(wildcard("*", "a.example.com:80"), Some("a.example.com"));
        assert_eq!(wildcard("a.example.com", "a.example.com"), None);
    }

    #[test]
    fn an_address_in_brackets_keeps_its_colons() {
        let hosts = hosts(&["x", "[::1]", "[::1]:8080"]);
        assert_eq!(*hosts.find("[::1]:8080", 80), "[::1]:8080");
        assert_eq!(*hosts.find("[::1]", 80), "[::1]");
    }

    #[test]
    fn a_bad_key_is_refused() {
        for key in ["", "a b", "a*", "*a", "*.", "a:b", "a:70000", "a/b"] {
            assert!(key == "*." || HostName::parse(key).is_err(), "{key}");
        }
        assert_eq!(HostName::parse("*.Example.com:81").unwrap().to_string(), "*.example.com:81");
    }
}
