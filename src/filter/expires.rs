//! `expires`: how long answers may be kept by those who get them.

use std::time::Duration;

use http::header::CACHE_CONTROL;
use http::{HeaderValue, StatusCode};

use crate::directive::{self, Directive, Level, Node, Problem, Repeat};
use crate::http::Response;

/// How long answers may be kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `None`: nothing is said.
    pub max_age: Option<Duration>,
}

/// h2o's words with their seconds. h2o itself takes a month for 30 hours and a year for 30 years.
const UNITS: &[(&str, u64)] =
    &[("second", 1), ("minute", 60), ("hour", 3600), ("day", 86_400), ("month", 30 * 86_400), ("year", 365 * 86_400)];

impl directive::Settings for Settings {
    const DIRECTIVES: &'static [Directive<Settings>] = &[Directive {
        name: "expires",
        levels: &[Level::Global, Level::Host, Level::Path],
        repeat: Repeat::Once,
        summary: "How long answers may be kept: `cache-control: max-age=…` is added to those with the status 200, 201, \
                  204, 206, 301, 302, 303, 304 or 307 that have no `cache-control` of their own. `1 day`, `30 seconds`, \
                  `6 months` (of 30 days), `1 year`, or a duration such as `12h`; `OFF` says nothing. Default: `OFF`.",
        example: "expires: 1 day",
        apply: |settings, node| {
            settings.max_age = if node.is_off() { None } else { Some(read(node)?) };
            Ok(())
        },
    }];
}

fn read(node: &Node) -> Result<Duration, Problem> {
    let expected = "a time such as `1 day` or `OFF`";
    let text = node.text_as(expected)?;
    if let Some((number, unit)) = text.split_once(' ') {
        let unit = unit.trim().to_ascii_lowercase();
        let singular = unit.strip_suffix('s').unwrap_or(&unit);
        if let Some((_, seconds)) = UNITS.iter().find(|(name, _)| *name == singular) {
            let digits = !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
            let number = number.parse::<u64>().ok().filter(|_| digits);
            let seconds = number.and_then(|it| it.checked_mul(*seconds));
            return seconds.map(Duration::from_secs).ok_or_else(|| node.expected(expected));
        }
    }
    node.duration().map_err(|_| node.expected(expected))
}

impl Settings {
    /// The header that says it.
    pub fn header(&self) -> Option<HeaderValue> {
        let seconds = self.max_age?.as_secs();
        Some(HeaderValue::try_from(format!("max-age={seconds}")).expect("digits are a header's value"))
    }
}

/// Adds the header `value` where h2o does, and where nothing is said yet: what an answer says of
/// itself is not contradicted, as h2o does with `no-store, max-age=86400`.
pub(super) fn apply(value: &HeaderValue, response: &mut Response) {
    let is_kept = matches!(
        response.status(),
        StatusCode::OK
            | StatusCode::CREATED
            | StatusCode::NO_CONTENT
            | StatusCode::PARTIAL_CONTENT
            | StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::NOT_MODIFIED
            | StatusCode::TEMPORARY_REDIRECT
    );
    if is_kept {
        response.headers_mut().entry(CACHE_CONTROL).or_insert_with(|| value.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directive::apply;

    fn header(text: &str) -> Result<Option<String>, String> {
        let settings = apply(Settings::default(), &format!("expires: {text}"))?;
        Ok(settings.header().map(|it| it.to_str().unwrap().to_owned()))
    }

    #[test]
    fn times_are_read_as_h2o_writes_them_and_as_people_do() {
        for (text, seconds) in [
            ("1 second", 1),
            ("30 Seconds", 30),
            ("2 minutes", 120),
            ("1 hour", 3600),
            ("1 day", 86_400),
            ("1 month", 2_592_000),
            ("1 year", 31_536_000),
            ("12h", 43_200),
            ("5", 5),
        ] {
            assert_eq!(header(text), Ok(Some(format!("max-age={seconds}"))), "{text}");
        }
        assert_eq!(header("off"), Ok(None));
    }

    #[test]
    fn what_is_no_time_is_a_mistake() {
        for text in ["1 fortnight", "day", "-1 day", "1.5 days", "x days", "99999999999999999999 years", "[1 day]"] {
            let message = header(text).unwrap_err();
            assert!(message.contains(", expected a time such as `1 day` or `OFF`"), "{message}");
        }
    }
}
