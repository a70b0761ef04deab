//! Keeps keys out of logs.

use std::borrow::Cow;
use std::sync::Arc;

use http::header::{AUTHORIZATION, COOKIE, HeaderName, PROXY_AUTHORIZATION, REFERER, SET_COOKIE};
use http::request::Parts;

use super::{Settings, decode, is_secret};
use crate::http::Mask;

/// What stands in a log in place of a key.
const HIDDEN: &[u8] = b"***";

/// A shorter key is no secret, and hiding it would garble the log.
const LEAST_KEY: usize = 8;

/// The parameters and headers that carry keys, anywhere in a configuration, beside those whose names say so.
///
/// They are hidden everywhere, not only where their path asks for them: a client that errs in the
/// path still sends its key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redaction {
    parameters: Vec<String>,
    headers: Vec<HeaderName>,
}

impl Redaction {
    /// Gathers what all `auth.api-key` of a configuration name.
    pub fn gather<'a>(all: impl IntoIterator<Item = &'a Settings>) -> Redaction {
        let mut redaction = Redaction::default();
        for api_key in all.into_iter().filter_map(|settings| settings.api_key.as_deref()) {
            redaction.parameters.extend(api_key.query.clone());
            redaction.headers.extend(api_key.bearer.then_some(AUTHORIZATION));
            redaction.headers.extend(api_key.header.clone());
        }
        redaction.parameters.sort_unstable();
        redaction.parameters.dedup();
        redaction.headers.sort_unstable_by(|one, other| one.as_str().cmp(other.as_str()));
        redaction.headers.dedup();
        redaction
    }

    /// Whether the values of the parameter `name` are hidden: of those that a configuration names, and
    /// of those that are called a secret.
    pub fn hides_parameter(&self, name: &str) -> bool {
        is_secret(name) || self.parameters.iter().any(|it| plain(it) == plain(name))
    }

    /// The same of a header. Of cookies each value is hidden, and their names are not.
    pub fn hides(&self, name: &HeaderName) -> bool {
        let is_cookie = [COOKIE, SET_COOKIE].contains(name);
        self.headers.contains(name) || (!is_cookie && is_secret(name.as_str()))
    }

    /// Gives `target`, a request's, a Referer or another text that may be a URL, piece by piece with
    /// keys and passwords replaced by `***`.
    pub fn pieces(&self, target: &[u8], mut piece: impl FnMut(&[u8])) {
        let target = without_passwords(target);
        let query = memchr::memchr(b'?', &target).map_or(target.len(), |at| at + 1);
        piece(&target[..query]);
        self.query_pieces(&target[query..], piece);
    }

    /// Gives a text in which URLs may stand, as [`Redaction::pieces`] does: each ends where its word ends.
    pub fn text_pieces(&self, text: &[u8], mut piece: impl FnMut(&[u8])) {
        let ends = |byte: &u8| b" \t\r\n\"'`<>".contains(byte);
        for word in text.split_inclusive(ends) {
            let (word, end) = word.split_at(word.len() - usize::from(word.last().is_some_and(ends)));
            self.pieces(word, &mut piece);
            piece(end);
        }
    }

    /// Gives a query, without its `?`, as [`Redaction::pieces`] does.
    pub fn query_pieces(&self, query: &[u8], mut piece: impl FnMut(&[u8])) {
        let (mut start, mut done) = (0, 0);
        while start < query.len() {
            let end = memchr::memchr(b'&', &query[start..]).map_or(query.len(), |length| start + length);
            if let Some(equals) = memchr::memchr(b'=', &query[start..end])
                && self.hides_parameter(&name(&query[start..start + equals]))
            {
                piece(&query[done..=start + equals]);
                piece(HIDDEN);
                done = end;
            }
            start = end + 1;
        }
        if done < query.len() {
            piece(&query[done..]);
        }
    }

    /// Gives `target` with keys replaced by `***`: itself, where there are none.
    pub fn redacted<'a>(&self, target: &'a str) -> Cow<'a, str> {
        let mut hidden = Vec::with_capacity(target.len());
        self.pieces(target.as_bytes(), |piece| hidden.extend_from_slice(piece));
        if hidden == target.as_bytes() {
            return Cow::Borrowed(target);
        }
        Cow::Owned(String::from_utf8_lossy(&hidden).into_owned())
    }
}

impl Mask for Arc<Redaction> {
    fn masked(&self, head: &Parts, text: &str) -> Option<String> {
        let mut secrets = self.secrets(head);
        secrets.retain(|it| text.contains(it.as_str()));
        // One may be a part of another.
        secrets.sort_by_key(|it| std::cmp::Reverse(it.len()));
        let masked = secrets.iter().fold(Cow::Borrowed(text), |text, it| text.replace(it.as_str(), "***").into());
        let masked = String::from_utf8_lossy(&without_passwords(masked.as_bytes())).into_owned();
        (masked != text).then_some(masked)
    }
}

impl Redaction {
    /// What a request brings where keys stand, in every spelling; cookies, of which each may be one.
    fn secrets(&self, head: &Parts) -> Vec<String> {
        let mut secrets = Vec::new();
        self.add_of_query(head.uri.query().unwrap_or("").as_bytes(), &mut secrets);
        for (name, value) in &head.headers {
            let value = value.as_bytes();
            if *name == COOKIE {
                let cookies =
                    value.split(|byte| *byte == b';').filter_map(|it| it.splitn(2, |byte| *byte == b'=').nth(1));
                cookies.for_each(|it| add(it.trim_ascii(), &mut secrets));
            } else if self.hides(name) {
                // `Bearer TOKEN` and `Basic …`: the scheme is no secret.
                let credentials = memchr::memchr(b' ', value).map(|space| value[space..].trim_ascii());
                let has_scheme = [AUTHORIZATION, PROXY_AUTHORIZATION].contains(name) && credentials.is_some();
                if !has_scheme {
                    add(value, &mut secrets);
                }
                credentials.into_iter().for_each(|it| add(it, &mut secrets));
            } else if *name == REFERER
                && let Some(query) = memchr::memchr(b'?', value)
            {
                self.add_of_query(&value[query + 1..], &mut secrets);
            }
        }
        secrets
    }

    /// The keys of a query, decoded, and all that would be the same when it is decoded.
    fn add_of_query(&self, query: &[u8], secrets: &mut Vec<String>) {
        let pairs = || {
            let pairs = query.split(|byte| *byte == b'&');
            pairs.filter_map(|pair| memchr::memchr(b'=', pair).map(|equals| (&pair[..equals], &pair[equals + 1..])))
        };
        let hidden = pairs().filter(|(raw, _)| self.hides_parameter(&name(raw)));
        let keys: Vec<Vec<u8>> = hidden.map(|(_, value)| decode(value)).collect();
        if keys.is_empty() {
            return;
        }
        pairs().map(|(_, value)| value).filter(|it| keys.contains(&decode(it))).for_each(|it| add(it, secrets));
        keys.iter().for_each(|it| add(it, secrets));
    }
}

/// Adds a secret as a text would have it: what is no UTF-8 is shown in one of two ways.
fn add(secret: &[u8], secrets: &mut Vec<String>) {
    if secret.len() < LEAST_KEY {
        return;
    }
    secrets.push(String::from_utf8_lossy(secret).into_owned());
    if std::str::from_utf8(secret).is_err() {
        secrets.push(secret.iter().map(|byte| char::from(*byte)).collect());
    }
}

/// A parameter's name without `[]`: a script reads `key[]` as `key`.
fn plain(name: &str) -> &str {
    name.strip_suffix("[]").unwrap_or(name)
}

/// A parameter's name, decoded.
fn name(raw: &[u8]) -> Cow<'_, str> {
    if memchr::memchr2(b'%', b'+', raw).is_none() {
        return String::from_utf8_lossy(raw);
    }
    Cow::Owned(String::from_utf8_lossy(&decode(raw)).into_owned())
}

/// Takes the names and passwords out of URLs: `scheme://name:password@host`.
fn without_passwords(text: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'@', text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut hidden = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(scheme) = memchr::memmem::find(rest, b"://") {
        let (before, after) = rest.split_at(scheme + 3);
        hidden.extend_from_slice(before);
        let ends = |byte: &u8| b"/?#&\"'` \n".contains(byte);
        let authority = &after[..after.iter().position(ends).unwrap_or(after.len())];
        let host = memchr::memrchr(b'@', authority).unwrap_or(0);
        if host > 0 {
            hidden.extend_from_slice(HIDDEN);
        }
        rest = &after[host..];
    }
    hidden.extend_from_slice(rest);
    Cow::Owned(hidden)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;
    use crate::directive::apply;

    fn redaction() -> Redaction {
        let settings =
            |text: &str| apply(Settings::default(), &format!("auth.api-key: {{{text}, sql: 'SELECT ?'}}")).unwrap();
        let all = [
            settings("query: key"),
            settings("query: api key, header: X-API-Key"),
            settings("bearer: ON"),
            Settings::default(),
        ];
        Redaction::gather(&all)
    }

    #[test]
    fn values_of_the_parameters_that_carry_keys_are_hidden() {
        let redaction = redaction();
        for (target, expected) in [
            ("/p?key=secret", "/p?key=***"),
            ("/p?key=secret&a=b", "/p?key=***&a=b"),
            ("/p?a=b&key=secret&key=other&key=", "/p?a=b&key=***&key=***&key=***"),
            ("/p?a=b&k%65y=secret", "/p?a=b&k%65y=***"),
            ("/p?api+key=a=b&api%20key=c", "/p?api+key=***&api%20key=***"),
            ("http://host/p?&&key=secret#there", "http://host/p?&&key=***"),
            ("/p?key", "/p?key"),
            ("/key=open?monkey=open&Key=open", "/key=open?monkey=open&Key=open"),
            ("/p?", "/p?"),
            ("/p?key=secret?key=secret", "/p?key=***"),
            ("/p?é=1&key=é", "/p?é=1&key=***"),
        ] {
            assert_eq!(redaction.redacted(target), expected, "{target}");
        }
    }

    #[test]
    fn keys_in_a_text_end_with_their_word() {
        let redaction = redaction();
        for (text, expected) in [
            ("GET /p?key=secret (12) was no good & gone", "GET /p?key=*** (12) was no good & gone"),
            ("why? key=open", "why? key=open"),
            ("`/p?a=b&key=secret`, \"/?key=x&c\"\n/?key=y\n", "`/p?a=b&key=***`, \"/?key=***&c\"\n/?key=***\n"),
            ("http://a:b@c/?key=d http://e:f@g", "http://***@c/?key=*** http://***@g"),
            (" ", " "),
            ("", ""),
        ] {
            let mut hidden = Vec::new();
            redaction.text_pieces(text.as_bytes(), |piece| hidden.extend_from_slice(piece));
            assert_eq!(String::from_utf8(hidden).unwrap(), expected);
        }
    }

    #[test]
    fn passwords_before_a_host_are_hidden() {
        let redaction = Redaction::default();
        for (text, expected) in [
            ("http://name:secret@host/p?a=b", "http://***@host/p?a=b"),
            ("http://secret@host", "http://***@host"),
            ("/go?to=http://a:b@c/&or=postgres://d:e@f", "/go?to=http://***@c/&or=postgres://***@f"),
            ("http://a:b@c@host/", "http://***@host/"),
            ("http://host/@me?to=a@b", "http://host/@me?to=a@b"),
            ("a@b http://host", "a@b http://host"),
        ] {
            assert_eq!(redaction.redacted(text), expected, "{text}");
        }
    }

    #[test]
    fn a_target_without_a_key_is_left_as_it_is() {
        assert!(matches!(redaction().redacted("/p?a=b&c"), Cow::Borrowed("/p?a=b&c")));
        assert!(matches!(Redaction::default().redacted("/p?key=open"), Cow::Borrowed("/p?key=open")));
    }

    #[test]
    fn headers_that_carry_keys_are_hidden() {
        let redaction = redaction();
        assert!(redaction.hides(&AUTHORIZATION));
        assert!(redaction.hides(&HeaderName::from_static("x-api-key")));
        assert!(!redaction.hides(&http::header::REFERER));
        let redaction = Redaction::default();
        assert!(redaction.hides(&AUTHORIZATION) && redaction.hides(&HeaderName::from_static("x-api-key")));
    }

    #[test]
    fn what_a_request_brings_is_masked_wherever_it_was_put() {
        let redaction = Arc::new(redaction());
        for (target, header, text, expected) in [
            ("/?key=s3cret-key", ("a", ""), "it is s3cret-key", Some("it is ***")),
            (
                "/?key=s3cret%2Dkey&x=s%33cret-key",
                ("a", ""),
                "s3cret%2Dkey s%33cret-key s3cret-key",
                Some("*** *** ***"),
            ),
            ("/", ("authorization", "Bearer s3cret-key"), "Bearer s3cret-key", Some("Bearer ***")),
            ("/", ("authorization", "s3cret-key"), "s3cret-key", Some("***")),
            ("/", ("x-api-key", "s3cret-key"), "[s3cret-key]", Some("[***]")),
            ("/?key=s3cret-key", ("x-api-key", "s3cret-key-2"), "s3cret-key-2 s3cret-key", Some("*** ***")),
            ("/", ("a", ""), "mysql://u:p@h/ http://h", Some("mysql://***@h/ http://h")),
            ("/?key=short", ("a", ""), "short a@b", None),
            ("/?other=s3cret-key", ("cookie", "s3cret-key"), "s3cret-key", None),
        ] {
            let request = http::Request::get(target).header(header.0, header.1).body(()).unwrap();
            assert_eq!(redaction.masked(&request.into_parts().0, text).as_deref(), expected, "{target}");
        }
    }

    #[test]
    fn the_key_of_a_request_is_masked_in_every_spelling_of_its_query() {
        let redaction = Arc::new(redaction());
        for (query, text, expected) in [
            ("key=s3cret%2Dkey", "s3cret%2Dkey is s3cret-key", "*** is ***"),
            ("key=a%2Bb%2Fcdef==", "key=a%2Bb%2Fcdef== is a+b/cdef==", "key=*** is ***"),
            ("key=two+words", "two+words is two words", "*** is ***"),
            ("key=s3cret-key&other=s3cret%2Dkey", "s3cret%2Dkey", "***"),
            ("key=s3cret-key&key=another-key", "s3cret-key, another-key", "***, ***"),
            ("key%5B%5D=s3cret-key&key[]=another-key", "s3cret-key, another-key", "***, ***"),
            ("key=s3cret%FFkey", "s3cret%FFkey s3cret\u{FFFD}key s3cretÿkey", "*** *** ***"),
            ("key=schlüssel", "schlüssel", "***"),
            ("key=short", "short", "short"),
            ("other=s3cret-key", "s3cret-key", "s3cret-key"),
        ] {
            let request = http::Request::get(format!("/p?{query}")).body(()).unwrap();
            let masked = redaction.masked(&request.into_parts().0, text);
            assert_eq!(masked.as_deref().unwrap_or(text), expected, "{query}");
        }
    }

    #[test]
    fn the_keys_in_headers_are_masked_whatever_bytes_they_have() {
        let redaction = Arc::new(redaction());
        for (name, value, text, expected) in [
            ("x-api-key", "two words and more", "two words and more; words and more", "***; ***"),
            ("x-api-key", "schlüssel", "it is schlüssel", "it is ***"),
            ("x-api-key", "s3cret\u{FF}key", "s3cret\u{FF}key", "***"),
            ("authorization", "Bearer schlüssel", "Bearer schlüssel", "Bearer ***"),
            ("authorization", "Basic  czNjcmV0LWtleQ== ", "Basic  czNjcmV0LWtleQ==", "Basic  ***"),
            ("proxy-authorization", "Basic czNjcmV0LWtleQ==", "Basic czNjcmV0LWtleQ==", "Basic ***"),
            ("referer", "http://h/p?a=b&key=s3cret%2Dkey", "p?a=b&key=s3cret%2Dkey s3cret-key", "p?a=b&key=*** ***"),
            ("cookie", "a=b; sid=s3cret-key=; theme", "a=b; sid=s3cret-key=", "a=b; sid=***"),
            ("user-agent", "s3cret-key", "s3cret-key", "s3cret-key"),
        ] {
            let request = http::Request::get("/").header(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
            let masked = redaction.masked(&request.body(()).unwrap().into_parts().0, text);
            assert_eq!(masked.as_deref().unwrap_or(text), expected, "{name}: {value}");
        }
        let latin = HeaderValue::from_bytes(b"s3cret\xFFkey").unwrap();
        let request = http::Request::get("/").header("x-api-key", latin).body(()).unwrap();
        let masked = redaction.masked(&request.into_parts().0, "s3cret\u{FFFD}key s3cretÿkey");
        assert_eq!(masked.as_deref(), Some("*** ***"));
    }
}
