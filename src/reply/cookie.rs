//! A cookie as a `set-cookie` header has it, checked by the rules of RFC 6265bis.
//!
//! The `cookie` crate writes what it is given; the checks, which are most of this, would be needed all the same.

use std::fmt::Write;
use std::time::SystemTime;

use http::HeaderName;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

/// What a value can't have as it is (`cookie-octet`), and the `%` that decoding takes.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b',').add(b';').add(b'\\').add(b'%');
/// Name and value together; browsers ignore a cookie with more (RFC 6265bis §5.6).
const LONGEST: usize = 4096;
/// Browsers ignore an attribute that is longer.
const LONGEST_ATTRIBUTE: usize = 1024;

/// A cookie for a client to keep.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cookie<'a> {
    /// A token.
    pub name: &'a str,
    /// Any text: what a cookie can't have is percent-encoded.
    pub value: &'a str,
    /// The paths that it is sent to.
    pub path: Option<&'a str>,
    /// The host that it is sent to, with those below it.
    pub domain: Option<&'a str>,
    /// Seconds that it lasts; 0 or less ends it.
    pub max_age: Option<i64>,
    /// When it ends.
    pub expires: Option<SystemTime>,
    /// Whether scripts of pages don't see it.
    pub http_only: bool,
    /// Whether it is sent over TLS only.
    pub secure: bool,
    /// Whether other sites' requests carry it.
    pub same_site: Option<SameSite>,
    /// Whether it is kept apart for each site that embeds this one.
    pub partitioned: bool,
}

/// Which requests of other sites carry a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SameSite {
    /// None.
    Strict,
    /// Those that lead here.
    Lax,
    /// All.
    None,
}

impl SameSite {
    /// `strict`, `lax` or `none`, in letters of any case.
    pub fn parse(text: &str) -> Option<SameSite> {
        [SameSite::Strict, SameSite::Lax, SameSite::None].into_iter().find(|it| it.name().eq_ignore_ascii_case(text))
    }

    fn name(self) -> &'static str {
        match self {
            SameSite::Strict => "Strict",
            SameSite::Lax => "Lax",
            SameSite::None => "None",
        }
    }
}

impl Cookie<'_> {
    /// The value of a `set-cookie` header.
    ///
    /// # Errors
    /// What a browser would refuse it for, or read something else from.
    pub fn header(&self) -> Result<String, String> {
        self.check()?;
        let mut out = format!("{}={}", self.name, utf8_percent_encode(self.value, ENCODED));
        if out.len() > LONGEST {
            return Err(format!("the cookie `{}` has {} bytes, browsers keep up to {LONGEST}", self.name, out.len()));
        }
        for (name, value) in [("Domain", self.domain), ("Path", self.path)] {
            if let Some(value) = value {
                // Writing to a string does not fail.
                let _ = write!(out, "; {name}={value}");
            }
        }
        if let Some(seconds) = self.max_age {
            let _ = write!(out, "; Max-Age={seconds}");
        }
        if let Some(end) = self.expires {
            let _ = write!(out, "; Expires={}", httpdate::fmt_http_date(end));
        }
        if let Some(same_site) = self.same_site {
            let _ = write!(out, "; SameSite={}", same_site.name());
        }
        for (name, is_on) in [("HttpOnly", self.http_only), ("Secure", self.secure), ("Partitioned", self.partitioned)]
        {
            if is_on {
                let _ = write!(out, "; {name}");
            }
        }
        Ok(out)
    }

    fn check(&self) -> Result<(), String> {
        let name = self.name;
        if HeaderName::from_bytes(name.as_bytes()).is_err() {
            return Err(format!("the name of a cookie is {name:?}, expected a token such as `session`"));
        }
        if let Some(path) = self.path
            && !(path.starts_with('/') && is_attribute(path))
        {
            return Err(format!("the path of the cookie `{name}` is {path:?}, expected one such as `/app`"));
        }
        if let Some(domain) = self.domain
            && !(is_attribute(domain) && is_domain(domain))
        {
            return Err(format!("the domain of the cookie `{name}` is {domain:?}, expected one such as `example.com`"));
        }
        self.check_secure()
    }

    /// What browsers accept from a secure cookie only, which they judge without regard to letters' case.
    fn check_secure(&self) -> Result<(), String> {
        let name = self.name;
        let has_prefix = |prefix: &str| name.get(..prefix.len()).is_some_and(|it| it.eq_ignore_ascii_case(prefix));
        let is_host = has_prefix("__Host-") || has_prefix("__Host-Http-");
        let is_http = has_prefix("__Http-") || has_prefix("__Host-Http-");
        let needs = [
            (self.same_site == Some(SameSite::None), "`same_site: \"none\"`"),
            (self.partitioned, "`partitioned: true`"),
            (has_prefix("__Secure-") || is_host || is_http, "a name with this prefix"),
        ];
        if let Some((_, what)) = needs.iter().find(|(is_so, _)| *is_so && !self.secure) {
            return Err(format!("the cookie `{name}` is not `secure`, which {what} needs"));
        }
        if is_host && (self.path != Some("/") || self.domain.is_some()) {
            return Err(format!("the cookie `{name}` needs `path: \"/\"` and no `domain`, as its prefix says"));
        }
        if is_http && !self.http_only {
            return Err(format!("the cookie `{name}` is not `http_only`, which a name with this prefix needs"));
        }
        Ok(())
    }
}

fn is_attribute(text: &str) -> bool {
    text.len() <= LONGEST_ATTRIBUTE && text.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b';')
}

/// A host name, which may begin with a dot as it once had to.
fn is_domain(text: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    text.strip_prefix('.').unwrap_or(text).split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    const PLAIN: Cookie<'static> = Cookie {
        name: "sid",
        value: "1",
        path: None,
        domain: None,
        max_age: None,
        expires: None,
        http_only: false,
        secure: false,
        same_site: None,
        partitioned: false,
    };

    #[test]
    fn each_attribute_is_written() {
        assert_eq!(PLAIN.header().as_deref(), Ok("sid=1"));
        let full = Cookie {
            path: Some("/app"),
            domain: Some("example.com"),
            max_age: Some(-1),
            expires: Some(UNIX_EPOCH + Duration::from_secs(784_111_777)),
            http_only: true,
            secure: true,
            same_site: SameSite::parse("NONE"),
            partitioned: true,
            ..PLAIN
        };
        let expected = "sid=1; Domain=example.com; Path=/app; Max-Age=-1; Expires=Sun, 06 Nov 1994 08:49:37 GMT; \
                        SameSite=None; HttpOnly; Secure; Partitioned";
        assert_eq!(full.header().as_deref(), Ok(expected));
    }

    #[test]
    fn a_value_is_encoded_where_a_cookie_can_not_have_it() {
        let header = |value| Cookie { value, ..PLAIN }.header().unwrap();
        assert_eq!(header("a b;c,d\"e\\f%\r\nx"), "sid=a%20b%3Bc%2Cd%22e%5Cf%25%0D%0Ax");
        assert_eq!(header("é\0"), "sid=%C3%A9%00");
        assert_eq!(header("YWJj+/=="), "sid=YWJj+/==");
        assert_eq!(header(""), "sid=");
    }

    #[test]
    fn what_browsers_refuse_is_refused() {
        let long = "x".repeat(5000);
        for (cookie, expected) in [
            (Cookie { name: "", ..PLAIN }, "the name of a cookie is \"\", expected a token"),
            (Cookie { name: "a b", ..PLAIN }, "the name of a cookie is \"a b\""),
            (Cookie { name: "a=b", ..PLAIN }, "the name of a cookie is \"a=b\""),
            (Cookie { name: "a\r\nx", ..PLAIN }, "the name of a cookie is \"a\\r\\nx\""),
            (Cookie { value: &long, ..PLAIN }, "the cookie `sid` has 5004 bytes, browsers keep up to 4096"),
            (Cookie { path: Some("app"), ..PLAIN }, "the path of the cookie `sid` is \"app\""),
            (Cookie { path: Some("/a;Secure"), ..PLAIN }, "the path of the cookie `sid`"),
            (Cookie { path: Some("/a\r\nx: y"), ..PLAIN }, "the path of the cookie `sid`"),
            (Cookie { path: Some(&format!("/{long}")), ..PLAIN }, "the path of the cookie `sid`"),
            (Cookie { domain: Some("a b"), ..PLAIN }, "the domain of the cookie `sid` is \"a b\""),
            (Cookie { domain: Some("http://a"), ..PLAIN }, "the domain of the cookie `sid`"),
            (Cookie { domain: Some(""), ..PLAIN }, "the domain of the cookie `sid`"),
            (Cookie { same_site: Some(SameSite::None), ..PLAIN }, "the cookie `sid` is not `secure`, which `same_site"),
            (Cookie { partitioned: true, ..PLAIN }, "the cookie `sid` is not `secure`, which `partitioned: true`"),
            (Cookie { name: "__Secure-a", ..PLAIN }, "the cookie `__Secure-a` is not `secure`, which a name"),
            (Cookie { name: "__host-a", secure: true, ..PLAIN }, "the cookie `__host-a` needs `path: \"/\"`"),
            (
                Cookie { name: "__Host-a", secure: true, path: Some("/"), domain: Some("a.b"), ..PLAIN },
                "the cookie `__Host-a` needs `path: \"/\"` and no `domain`",
            ),
            (Cookie { name: "__Http-a", secure: true, ..PLAIN }, "the cookie `__Http-a` is not `http_only`"),
        ] {
            let message = cookie.header().unwrap_err();
            assert!(message.starts_with(expected), "{message}");
        }
        assert!(Cookie { name: "__Host-a", secure: true, path: Some("/"), ..PLAIN }.header().is_ok());
        assert!(Cookie { domain: Some(".example.com"), ..PLAIN }.header().is_ok());
    }
}
