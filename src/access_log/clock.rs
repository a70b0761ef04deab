//! The time as access logs write it: taken once for a line, formatted once a second.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::ZonedDateTime;

/// `[02/Jan/2006:15:04:05 -0700]`, for `%t`.
pub const APACHE: &str = "[%d/%b/%Y:%H:%M:%S %z]";

/// Knows the time of the line that is being written, and how its second was formatted.
#[derive(Debug, Default)]
pub struct Clock {
    /// Since 1970.
    now: Duration,
    /// The formats that the current second was asked for in.
    texts: Vec<(String, String)>,
}

impl Clock {
    /// Looks at the time.
    pub fn tick(&mut self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        if now.as_secs() != self.now.as_secs() {
            self.texts.clear();
        }
        self.now = now;
    }

    /// The time since 1970.
    pub fn since_epoch(&self) -> Duration {
        self.now
    }

    /// The time in the local zone, in a format of `strftime` that [`check`] let through.
    pub fn formatted(&mut self, format: &str) -> &str {
        // There are one or two formats: nothing is faster to search than a short list.
        let index = self.texts.iter().position(|(known, _)| known == format).unwrap_or_else(|| {
            let text = jiff::fmt::strtime::format(format, &ZonedDateTime::now()).unwrap_or_default();
            self.texts.push((format.to_owned(), text));
            self.texts.len() - 1
        });
        &self.texts[index].1
    }
}

/// Whether `format` is one of `strftime`.
///
/// # Errors
/// Says what it is not.
pub fn check(format: &str) -> Result<(), String> {
    let text = |time: &ZonedDateTime| jiff::fmt::strtime::format(format, time).map_err(|error| error.to_string());
    let whole = ZonedDateTime::UNIX_EPOCH;
    let later = &whole + jiff::SignedDuration::from_nanos(123_456_789);
    // It is kept for a second.
    if text(&whole)? != text(&later)? {
        return Err("it has fractions of seconds, for which there are `%{msec_frac}t` and `%{usec_frac}t`".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_written_as_apache_does() {
        let form = regex::Regex::new(r"^\[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\]$").unwrap();
        let mut clock = Clock::default();
        clock.tick();
        assert!(form.is_match(clock.formatted(APACHE)), "{}", clock.formatted(APACHE));
        assert_eq!(clock.formatted("%Y").len(), 4);
        assert_eq!(clock.texts.len(), 2);
    }

    #[test]
    fn a_new_second_is_formatted_anew() {
        let old = vec![(APACHE.to_owned(), String::from("old"))];
        let mut clock = Clock { now: Duration::from_secs(1), texts: old };
        assert_eq!(clock.formatted(APACHE), "old");
        clock.tick();
        assert_ne!(clock.formatted(APACHE), "old");
    }

    #[test]
    fn a_format_is_checked() {
        for good in [APACHE, "%Y-%m-%dT%T%z", "%s", "%%", "plain"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        assert!(check("%").is_err() && check("%!").is_err());
        assert!(check("%H:%M:%S%.f").unwrap_err().contains("%{msec_frac}t"));
    }
}
