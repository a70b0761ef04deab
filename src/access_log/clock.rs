//! The time as access logs write it, formatted once a second.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::ZonedDateTime;

/// Knows the last second that was asked for.
#[derive(Debug, Default)]
pub struct Clock {
    second: Option<u64>,
    text: String,
}

impl Clock {
    /// `[02/Jan/2006:15:04:05 -0700]`, in the local zone.
    pub fn now(&mut self) -> &str {
        let second = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        if self.second != Some(second) {
            self.second = Some(second);
            self.text = ZonedDateTime::now().strftime("[%d/%b/%Y:%H:%M:%S %z]").to_string();
        }
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_written_as_apache_does() {
        let form = regex::Regex::new(r"^\[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\]$").unwrap();
        let mut clock = Clock::default();
        assert!(form.is_match(clock.now()), "{}", clock.now());
    }

    #[test]
    fn a_new_second_is_formatted_anew() {
        let mut clock = Clock { second: Some(1), text: String::from("old") };
        assert_ne!(clock.now(), "old");
        // Formatting twice within a second would be seen here, unless the second ends just now.
        let kept = (0..3).any(|_| {
            clock.now();
            clock.text.push('!');
            clock.now().ends_with('!')
        });
        assert!(kept);
    }
}
