//! Numbers, sizes, durations and switches as people write them.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::suggest::{alternatives, suggest};
use super::{Node, Problem};

/// Bytes for each unit of a size: 1000 and its powers, with an `i` 1024 and its powers.
const SIZES: &[(&str, u64)] = &[
    ("", 1),
    ("b", 1),
    ("k", 1000),
    ("kb", 1000),
    ("ki", 1 << 10),
    ("kib", 1 << 10),
    ("m", 1_000_000),
    ("mb", 1_000_000),
    ("mi", 1 << 20),
    ("mib", 1 << 20),
    ("g", 1_000_000_000),
    ("gb", 1_000_000_000),
    ("gi", 1 << 30),
    ("gib", 1 << 30),
    ("t", 1_000_000_000_000),
    ("tb", 1_000_000_000_000),
    ("ti", 1 << 40),
    ("tib", 1 << 40),
];

/// Nanoseconds for each unit of a duration.
const DURATIONS: &[(&str, u64)] = &[
    ("", 1_000_000_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

impl Node {
    /// `ON` or `OFF` in any letter case and nothing else, as in h2o.
    ///
    /// # Errors
    /// If it is anything else.
    pub fn on_off(&self) -> Result<bool, Problem> {
        let text = self.text_as("`ON` or `OFF`")?;
        match text.to_lowercase().as_str() {
            "on" => Ok(true),
            "off" => Ok(false),
            "true" | "yes" | "y" | "1" | "enabled" => Err(self.expected("`ON` or `OFF`").hint("write `ON`")),
            "false" | "no" | "n" | "0" | "none" | "disabled" => Err(self.expected("`ON` or `OFF`").hint("write `OFF`")),
            _ => Err(self.expected("`ON` or `OFF`")),
        }
    }

    /// Whether it is the word `OFF` in any letter case.
    pub fn is_off(&self) -> bool {
        self.is_scalar() && self.text().is_ok_and(|it| it.eq_ignore_ascii_case("off"))
    }

    /// A whole number within `bounds`.
    ///
    /// # Errors
    /// If it is anything else; nothing may follow the digits.
    pub fn integer(&self, bounds: RangeInclusive<u64>) -> Result<u64, Problem> {
        let expected = match (*bounds.start(), *bounds.end()) {
            (0, u64::MAX) => "a whole number".to_owned(),
            (low, u64::MAX) => format!("a whole number from {low} on"),
            (low, high) => format!("a whole number from {low} to {high}"),
        };
        let text = self.text_as(&expected)?;
        let digits = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
        let number = text.parse().ok().filter(|number| digits && bounds.contains(number));
        number.ok_or_else(|| self.expected(&expected))
    }

    /// Bytes: `1024`, `10 MB` (10^7), `10 MiB`.
    ///
    /// # Errors
    /// If it is not a size.
    pub fn size(&self) -> Result<u64, Problem> {
        let expected = "a size such as `10 MB`";
        size(self.text_as(expected)?).ok_or_else(|| self.expected(expected))
    }

    /// A duration: a plain number is seconds, `500ms`, `30s`, `1.5m`, `2h`, `1d`.
    ///
    /// # Errors
    /// If it is not a duration.
    pub fn duration(&self) -> Result<Duration, Problem> {
        let expected = "a duration such as `30s`";
        duration(self.text_as(expected)?).ok_or_else(|| self.expected(expected))
    }

    /// One of `words`, in any letter case.
    ///
    /// # Errors
    /// If it is none of them; the message suggests one.
    pub fn one_of(&self, words: &[&'static str]) -> Result<&'static str, Problem> {
        let expected = alternatives(words);
        let text = self.text_as(&expected)?;
        if let Some(word) = words.iter().find(|it| it.eq_ignore_ascii_case(text)) {
            return Ok(word);
        }
        let problem = self.expected(&expected);
        Err(match suggest(text, words.iter().copied()) {
            Some(word) => problem.hint(format!("did you mean `{word}`?")),
            None => problem,
        })
    }
}

/// The bytes of a size; `None` if it isn't one or no whole number of bytes.
fn size(text: &str) -> Option<u64> {
    let (number, divisor, unit) = quantity(text, SIZES)?;
    let bytes = number.checked_mul(unit.into())?;
    if bytes % divisor == 0 { u64::try_from(bytes / divisor).ok() } else { None }
}

fn duration(text: &str) -> Option<Duration> {
    let (number, divisor, unit) = quantity(text, DURATIONS)?;
    let nanoseconds = number.checked_mul(unit.into())? / divisor;
    u64::try_from(nanoseconds).ok().map(Duration::from_nanos)
}

/// A decimal number as a whole one and the power of ten that divides it, and the worth of the unit after it.
fn quantity(text: &str, units: &[(&str, u64)]) -> Option<(u128, u128, u64)> {
    let end = text.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.trim_start_matches(' ').to_ascii_lowercase();
    let (_, worth) = units.iter().find(|(name, _)| *name == unit)?;
    let (whole, fraction) = match number.split_once('.') {
        Some((_, "")) => return None,
        Some(parts) => parts,
        None => (number, ""),
    };
    if whole.is_empty() || fraction.len() > 9 {
        return None;
    }
    let number = format!("{whole}{fraction}").parse().ok()?;
    Some((number, 10_u128.pow(u32::try_from(fraction.len()).ok()?), *worth))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::parse;
    use super::*;

    /// The value of the only entry of a file.
    fn node(text: &str) -> Node {
        let root = parse(Path::new("host.yaml"), text).unwrap();
        root.entries().unwrap().remove(0).1
    }

    fn message<T: std::fmt::Debug>(result: Result<T, Problem>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("1024", 1024),
            ("0", 0),
            ("1k", 1000),
            ("10 MB", 10_000_000),
            ("10MB", 10_000_000),
            ("10 MiB", 10 << 20),
            ("64 ki", 64 << 10),
            ("1.5 kB", 1500),
            ("0.5 GiB", 1 << 29),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "MB", "10 MBs", "-1", "+1", "1 2", "1.", ".5", "1.2.3", "0.5", "1e3", "0x10", "20000000 TB"] {
            assert_eq!(size(text), None, "{text}");
        }
    }

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, milliseconds) in [
            ("30", 30_000),
            ("0.25", 250),
            ("500ms", 500),
            ("30s", 30_000),
            ("30 s", 30_000),
            ("1.5m", 90_000),
            ("2h", 7_200_000),
            ("1d", 86_400_000),
        ] {
            assert_eq!(duration(text), Some(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "s", "5 sx", "-5", "1m30s", "5.", "99999999999999d"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[test]
    fn a_bad_size_says_what_a_size_is() {
        let expected = "host.yaml:1:21: `limit-request-body` is `10 MBs`, expected a size such as `10 MB`\n  \
                        1 | limit-request-body: 10 MBs # much\n    |                     ^^^^^^";
        assert_eq!(message(node("limit-request-body: 10 MBs # much").size()), expected);
    }

    #[test]
    fn a_bad_duration_says_what_a_duration_is() {
        let expected = "host.yaml:1:15: `rhai.timeout` is `soon`, expected a duration such as `30s`\n  \
                        1 | rhai.timeout: soon\n    |               ^^^^";
        assert_eq!(message(node("rhai.timeout: soon").duration()), expected);
    }

    #[test]
    fn only_on_and_off_are_switches() {
        assert_eq!(node("a: On").on_off(), Ok(true));
        assert_eq!(node("a: oFF").on_off(), Ok(false));
        let expected = "host.yaml:1:4: `a` is `true`, expected `ON` or `OFF`\n  \
                        1 | a: true\n    |    ^^^^\nhint: write `ON`";
        assert_eq!(message(node("a: true").on_off()), expected);
        let expected = "host.yaml:1:1: `a` has no value, expected `ON` or `OFF`\n  1 | a:\n    | ^";
        assert_eq!(message(node("a:").on_off()), expected);
    }

    #[test]
    fn only_the_word_is_off() {
        assert!(node("a: off").is_off());
        assert!(!node("a: [OFF]").is_off() && !node("a:").is_off() && !node("a: ON").is_off());
    }

    #[test]
    fn a_whole_number_has_bounds_and_nothing_after_it() {
        assert_eq!(node("a: 8080").integer(0..=65535), Ok(8080));
        let problem = |text: &str, bounds| node(text).integer(bounds).unwrap_err().message().to_owned();
        assert_eq!(problem("a: 70000", 0..=65535), "`a` is `70000`, expected a whole number from 0 to 65535");
        assert_eq!(problem("a: 10abc", 1..=u64::MAX), "`a` is `10abc`, expected a whole number from 1 on");
        assert_eq!(problem("a: -1", 0..=u64::MAX), "`a` is `-1`, expected a whole number");
        assert_eq!(problem("a: +1", 0..=u64::MAX), "`a` is `+1`, expected a whole number");
        assert_eq!(problem("a: [1]", 0..=u64::MAX), "`a` is a list, expected a whole number");
        assert_eq!(problem("a: {b: 1}", 0..=u64::MAX), "`a` is a mapping, expected a whole number");
    }

    #[test]
    fn a_wrong_word_gets_a_suggestion() {
        assert_eq!(node("escape: JSON").one_of(&["apache", "json"]), Ok("json"));
        let expected = "host.yaml:1:9: `escape` is `jsno`, expected `apache` or `json`\n  \
                        1 | escape: jsno\n    |         ^^^^\nhint: did you mean `json`?";
        assert_eq!(message(node("escape: jsno").one_of(&["apache", "json"])), expected);
    }
}
