//! The conditions of a request: whether the client has the file already (RFC 9110 §13), and which
//! part of it it wants (§14).

use std::time::{SystemTime, UNIX_EPOCH};

use http::HeaderMap;
use http::header::{
    AsHeaderName, ETAG, HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE,
    LAST_MODIFIED, RANGE,
};

/// What names one state of a file.
#[derive(Debug)]
pub struct Validators {
    /// With its quotes; strong.
    pub etag: String,
    /// In whole seconds, as HTTP has no others.
    pub modified: SystemTime,
}

/// What the conditions come to.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Send,
    NotModified,
    Failed,
}

/// What a client wants of a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Part {
    Whole,
    /// From the first to before the second byte.
    Range(u64, u64),
    /// Nothing that is there.
    Unsatisfiable,
}

impl Validators {
    /// Of a file that was changed at `modified` and is `length` bytes long. The tag is strong, so
    /// that a download can be resumed; it holds the time as finely as the file system knows it, h2o's
    /// whole seconds miss two changes in one.
    pub fn new(modified: SystemTime, length: u64) -> Validators {
        let since = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        // A time in the future must not be said (RFC 9110 §8.8.2.1), one before 1970 can't be.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let seconds = std::time::Duration::from_secs(since.min(now).as_secs());
        Validators { etag: format!("\"{:x}-{length:x}\"", since.as_nanos()), modified: UNIX_EPOCH + seconds }
    }

    /// Those that `headers` name, where they do.
    #[must_use]
    pub fn or_those_of(mut self, headers: &HeaderMap) -> Validators {
        if let Some(etag) = headers.get(ETAG).and_then(|it| it.to_str().ok()) {
            self.etag = etag.to_owned();
        }
        self.modified = date(headers, LAST_MODIFIED).unwrap_or(self.modified);
        self
    }

    /// Weighs the conditions in the order of RFC 9110 §13.2.2.
    pub fn judge(&self, headers: &HeaderMap) -> Verdict {
        if headers.contains_key(IF_MATCH) {
            if !tags(headers, IF_MATCH).any(|tag| tag == "*" || self.is_strongly(tag)) {
                return Verdict::Failed;
            }
        } else if date(headers, IF_UNMODIFIED_SINCE).is_some_and(|date| self.modified > date) {
            return Verdict::Failed;
        }
        let is_known = if headers.contains_key(IF_NONE_MATCH) {
            // Weak comparison: a proxy that compressed the file marks the tag as weak.
            tags(headers, IF_NONE_MATCH).any(|tag| tag == "*" || opaque(tag) == opaque(&self.etag))
        } else {
            date(headers, IF_MODIFIED_SINCE).is_some_and(|date| self.modified <= date)
        };
        if is_known { Verdict::NotModified } else { Verdict::Send }
    }

    fn is_strongly(&self, tag: &str) -> bool {
        tag == self.etag && !tag.starts_with("W/")
    }

    /// Finds the part of a file of `length` bytes that `Range` names.
    ///
    /// Several ranges at once, other units and what can't be read get the whole file, which is
    /// allowed (RFC 9110 §14.2).
    pub fn part(&self, headers: &HeaderMap, length: u64) -> Part {
        let mut values = headers.get_all(RANGE).iter();
        let (Some(range), None) = (values.next(), values.next()) else { return Part::Whole };
        let is_current = headers.get(IF_RANGE).is_none_or(|value| {
            value.to_str().is_ok_and(|tag| self.is_strongly(tag)) || date(headers, IF_RANGE) == Some(self.modified)
        });
        if is_current {
            range.to_str().ok().and_then(|text| parse(text, length)).unwrap_or(Part::Whole)
        } else {
            Part::Whole
        }
    }
}

/// A tag without its mark of weakness.
fn opaque(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}

fn parse(text: &str, length: u64) -> Option<Part> {
    let (unit, range) = text.split_once('=')?;
    let (first, last) = range.trim().split_once('-')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let part = |from: u64, to: u64| if from < to { Part::Range(from, to) } else { Part::Unsatisfiable };
    if first.is_empty() {
        // The last bytes. An empty file has none, which no Content-Range can say: all of it is sent.
        let count = number(last)?;
        return if length == 0 && count > 0 { None } else { Some(part(length.saturating_sub(count), length)) };
    }
    let first = number(first)?;
    let last = if last.is_empty() { u64::MAX } else { number(last)? };
    if last < first {
        return None;
    }
    Some(part(first, last.saturating_add(1).min(length)))
}

/// A number of any size: what is larger than any file is as good as the largest.
fn number(digits: &str) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(u64::MAX))
}

/// The tags of a list, each with its quotes and, if it is weak, its `W/`; a comma may stand in one.
fn tags(headers: &HeaderMap, name: impl AsHeaderName) -> impl Iterator<Item = &str> {
    headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).flat_map(|list| {
        let mut rest = list;
        std::iter::from_fn(move || {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            let quote = rest.find(['"', ',']).filter(|at| rest[*at..].starts_with('"'));
            let end = match quote {
                Some(open) => rest[open + 1..].find('"').map_or(rest.len(), |close| open + close + 2),
                None => rest.find(',').unwrap_or(rest.len()),
            };
            let (tag, after) = rest.split_at(end);
            rest = after;
            (!tag.is_empty()).then(|| tag.trim_end())
        })
    })
}

/// A date that can't be read is as if it weren't there.
fn date(headers: &HeaderMap, name: HeaderName) -> Option<SystemTime> {
    httpdate::parse_http_date(headers.get(name)?.to_str().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const DATE: &str = "Sun, 09 Sep 2001 01:46:40 GMT";
    const LATER: &str = "Sun, 09 Sep 2001 01:46:41 GMT";
    const EARLIER: &str = "Sun, 09 Sep 2001 01:46:39 GMT";
    const ETAG: &str = "\"de0b6b3aebfcd0f-a\"";

    fn validators() -> Validators {
        Validators::new(UNIX_EPOCH + Duration::new(1_000_000_000, 123_456_783), 10)
    }

    fn headers(lines: &[(&str, &str)]) -> HeaderMap {
        lines.iter().map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap())).collect()
    }

    fn judge(lines: &[(&str, &str)]) -> Verdict {
        validators().judge(&headers(lines))
    }

    #[test]
    fn a_state_of_a_file_has_a_tag_and_a_date() {
        let validators = validators();
        assert_eq!(validators.etag, ETAG);
        assert_eq!(httpdate::fmt_http_date(validators.modified), DATE);
        let odd = Validators::new(UNIX_EPOCH - Duration::from_secs(1), 0);
        assert_eq!((odd.etag.as_str(), odd.modified), ("\"0-0\"", UNIX_EPOCH));
        let future = SystemTime::now() + Duration::from_secs(1000);
        assert!(Validators::new(future, 0).modified <= SystemTime::now());
    }

    #[test]
    fn a_client_that_has_the_file_gets_304() {
        for list in [ETAG, "*", "\"x\", W/\"de0b6b3aebfcd0f-a\"", "\"a,b\",,\"de0b6b3aebfcd0f-a\" , \"y\""] {
            assert_eq!(judge(&[("if-none-match", list)]), Verdict::NotModified, "{list}");
        }
        for list in ["\"x\"", "", "\"", "de0b6b3aebfcd0f-a", "\"x,\"de0b6b3aebfcd0f-a\""] {
            assert_eq!(judge(&[("if-none-match", list)]), Verdict::Send, "{list}");
        }
        assert_eq!(judge(&[("if-none-match", "\"x\""), ("if-none-match", ETAG)]), Verdict::NotModified);
        assert_eq!(judge(&[("if-modified-since", DATE)]), Verdict::NotModified);
        assert_eq!(judge(&[("if-modified-since", LATER)]), Verdict::NotModified);
        assert_eq!(judge(&[("if-modified-since", EARLIER)]), Verdict::Send);
        assert_eq!(judge(&[("if-modified-since", "yesterday")]), Verdict::Send);
        assert_eq!(judge(&[("if-modified-since", LATER), ("if-none-match", "\"x\"")]), Verdict::Send);
    }

    #[test]
    fn a_client_that_wants_another_state_gets_412() {
        assert_eq!(judge(&[("if-match", "\"x\"")]), Verdict::Failed);
        assert_eq!(judge(&[("if-match", &format!("W/{ETAG}"))]), Verdict::Failed);
        assert_eq!(judge(&[("if-match", ETAG)]), Verdict::Send);
        assert_eq!(judge(&[("if-match", "*")]), Verdict::Send);
        assert_eq!(judge(&[("if-unmodified-since", EARLIER)]), Verdict::Failed);
        assert_eq!(judge(&[("if-unmodified-since", DATE)]), Verdict::Send);
        assert_eq!(judge(&[("if-match", ETAG), ("if-unmodified-since", EARLIER)]), Verdict::Send);
        assert_eq!(judge(&[("if-match", ETAG), ("if-none-match", ETAG)]), Verdict::NotModified);
    }

    #[test]
    fn a_weak_tag_of_the_files_own_is_good_for_not_modified_alone() {
        let own = validators().or_those_of(&headers(&[("etag", "W/\"7\""), ("last-modified", EARLIER)]));
        let judge = |name, value| own.judge(&headers(&[(name, value)]));
        assert_eq!(judge("if-none-match", "\"7\""), Verdict::NotModified);
        assert_eq!(judge("if-none-match", "W/\"7\""), Verdict::NotModified);
        assert_eq!(judge("if-match", "W/\"7\""), Verdict::Failed);
        assert_eq!(judge("if-modified-since", EARLIER), Verdict::NotModified);
        assert_eq!(own.part(&headers(&[("range", "bytes=0-0"), ("if-range", "W/\"7\"")]), 10), Part::Whole);
    }

    #[test]
    fn a_range_is_a_part_of_the_file() {
        let part = |range: &str, length| validators().part(&headers(&[("range", range)]), length);
        for (range, expected) in [
            ("bytes=0-0", Part::Range(0, 1)),
            ("bytes=2-4", Part::Range(2, 5)),
            ("BYTES= 2-4", Part::Range(2, 5)),
            ("bytes=5-", Part::Range(5, 10)),
            ("bytes=5-99999999999999999999999", Part::Range(5, 10)),
            ("bytes=-3", Part::Range(7, 10)),
            ("bytes=-99", Part::Range(0, 10)),
            ("bytes=10-", Part::Unsatisfiable),
            ("bytes=99999999999999999999999-", Part::Unsatisfiable),
            ("bytes=-0", Part::Unsatisfiable),
            ("bytes=4-2", Part::Whole),
            ("bytes=0-1,3-4", Part::Whole),
            ("bytes=-", Part::Whole),
            ("bytes=", Part::Whole),
            ("bytes=a-b", Part::Whole),
            ("bytes=+1-2", Part::Whole),
            ("lines=0-1", Part::Whole),
            ("bytes", Part::Whole),
        ] {
            assert_eq!(part(range, 10), expected, "{range}");
        }
        assert_eq!(part("bytes=0-", 0), Part::Unsatisfiable);
        assert_eq!(part("bytes=-5", 0), Part::Whole);
        let twice = headers(&[("range", "bytes=0-1"), ("range", "bytes=2-3")]);
        assert_eq!(validators().part(&twice, 10), Part::Whole);
    }

    #[test]
    fn a_range_of_another_state_is_the_whole_file() {
        let part =
            |condition: &str| validators().part(&headers(&[("range", "bytes=0-0"), ("if-range", condition)]), 10);
        assert_eq!(part(ETAG), Part::Range(0, 1));
        assert_eq!(part(DATE), Part::Range(0, 1));
        for other in ["\"x\"", LATER, EARLIER, &format!("W/{ETAG}"), "nonsense"] {
            assert_eq!(part(other), Part::Whole, "{other}");
        }
    }
}
