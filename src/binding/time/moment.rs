//! A time as scripts write it: a text in one of three forms. What is computed from it has the form that it had, so that
//! times that are compared as texts stay comparable. It knows no scripts.

use std::fmt;

use jiff::civil::{Date, DateTime, Time};
use jiff::fmt::{rfc2822, strtime};
use jiff::tz::{self, TimeZone};
use jiff::{Error, Span, Timestamp, Unit, ZonedDateTime};

use crate::directive::suggest;

/// Times that are accepted, for messages.
const EXPECTED: &str = "a time such as `2014-02-08T16:54:50Z`, `2014-02-08T16:54:50` or `2014-02-08`";

/// A time in one of its forms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Moment {
    /// `2014-02-08T16:54:50Z`; other offsets are read as well.
    Instant(Timestamp),
    /// `2014-02-08T16:54:50`, as databases give it: UTC's, where it has to be one.
    Clock(DateTime),
    /// `2014-02-08`.
    Day(Date),
}

/// The parts of a time that others can be cut off from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Moment::Instant(timestamp) => timestamp.fmt(f),
            Moment::Clock(clock) => clock.fmt(f),
            Moment::Day(day) => day.fmt(f),
        }
    }
}

impl Moment {
    /// Reads a text.
    ///
    /// # Errors
    /// If it is no time; the message says what one is.
    pub fn parse(text: &str) -> Result<Moment, String> {
        // What has only a date is read as a date and time too.
        if !text.contains([':', 'T', 't'])
            && let Ok(day) = text.parse()
        {
            return Ok(Moment::Day(day));
        }
        text.parse()
            .map(Moment::Instant)
            .or_else(|_| text.parse().map(Moment::Clock))
            .or_else(|_| rfc2822::DateTimeParser::new().parse_timestamp(text).map(Moment::Instant))
            .map_err(|_| format!("`{}` is no time, expected {EXPECTED}", short(text)))
    }

    /// Reads a text of a form that `strptime` knows. A clock without a zone is `zone`'s, if one is given.
    ///
    /// # Errors
    /// If the text has not the form.
    pub fn parse_as(text: &str, form: &str, zone: Option<&TimeZone>) -> Result<Moment, String> {
        let unfit = |error: Error| format!("`{}` is not of the form `{}`: {error}", short(text), short(form));
        let parsed = strtime::parse(form, text).map_err(unfit)?;
        if let Ok(timestamp) = parsed.to_timestamp() {
            return Ok(Moment::Instant(timestamp));
        }
        let day = parsed.to_date().map_err(unfit)?;
        if parsed.hour().is_none() {
            return Ok(Moment::Day(day));
        }
        let clock = parsed.to_datetime().map_err(unfit)?;
        match zone {
            Some(zone) => {
                Ok(Moment::Instant(clock.to_zoned_datetime(zone.clone()).map_err(|it| it.to_string())?.timestamp()))
            }
            None => Ok(Moment::Clock(clock)),
        }
    }

    /// Seconds since 1970.
    pub fn of_unix(seconds: f64) -> Option<Moment> {
        let duration = jiff::SignedDuration::try_from_secs_f64(seconds).ok()?;
        Timestamp::from_duration(duration).ok().map(Moment::Instant)
    }

    fn clock(self) -> Option<DateTime> {
        match self {
            Moment::Instant(_) => None,
            Moment::Clock(clock) => Some(clock),
            Moment::Day(day) => Some(day.to_datetime(Time::midnight())),
        }
    }

    /// As an instant; a clock and a date are UTC's.
    pub fn instant(self) -> Result<Timestamp, String> {
        match (self, self.clock()) {
            (Moment::Instant(timestamp), _) => Ok(timestamp),
            (_, Some(clock)) => Ok(within(clock, TimeZone::UTC)?.timestamp()),
            (_, None) => Err(format!("`{self}` is no instant")),
        }
    }

    /// As it is in a zone.
    pub fn within(self, zone: TimeZone) -> Result<ZonedDateTime, String> {
        Ok(self.instant()?.to_zoned_datetime(zone))
    }

    /// What a clock in the zone shows, as an instant; an instant stays as it is.
    pub fn of_zone(self, zone: TimeZone) -> Result<Moment, String> {
        match self.clock() {
            None => Ok(self),
            Some(clock) => Ok(Moment::Instant(within(clock, zone)?.timestamp())),
        }
    }

    /// So much later. Days and what is longer are the calendar's in the zone.
    pub fn add(self, spans: &[Span], zone: TimeZone) -> Result<Moment, String> {
        let beyond = |_| format!("`{self}` and that span of time are beyond the years that there are");
        Ok(match (self, self.clock()) {
            (Moment::Instant(timestamp), _) => {
                let local = timestamp.to_zoned_datetime(zone);
                let later = spans.iter().try_fold(local, |it, span| it.checked_add(*span));
                Moment::Instant(later.map_err(beyond)?.timestamp())
            }
            (_, Some(clock)) => {
                let later = spans.iter().try_fold(clock, |it, span| it.checked_add(*span)).map_err(beyond)?;
                // A span of hours makes a clock of a date, unless they are whole days.
                let is_day = matches!(self, Moment::Day(_)) && later.time() == Time::midnight();
                if is_day { Moment::Day(later.date()) } else { Moment::Clock(later) }
            }
            (_, None) => self,
        })
    }

    /// The beginning of the hour, day, week (on Monday), … that it lies in.
    pub fn start_of(self, part: Part, zone: TimeZone) -> Result<Moment, String> {
        Ok(match self {
            Moment::Instant(timestamp) => {
                let local = timestamp.to_zoned_datetime(zone.clone());
                // Within an hour the offset counts, which a clock that is set back shows twice.
                let start = match part {
                    Part::Second | Part::Minute | Part::Hour => {
                        let unit = match part {
                            Part::Second => Unit::Second,
                            Part::Minute => Unit::Minute,
                            _ => Unit::Hour,
                        };
                        let round = jiff::ZonedDateTimeRound::new().smallest(unit).mode(jiff::RoundMode::Floor);
                        local.round(round).map_err(|it| it.to_string())?
                    }
                    _ => within(cut(local.datetime(), part)?, zone)?,
                };
                Moment::Instant(start.timestamp())
            }
            Moment::Clock(clock) => Moment::Clock(cut(clock, part)?),
            Moment::Day(day) => Moment::Day(cut(day.to_datetime(Time::midnight()), part)?.date()),
        })
    }

    /// Its text in a form that `strftime` knows.
    pub fn format(self, form: &str, zone: TimeZone) -> Result<String, String> {
        const LONGEST: usize = 1000;
        if form.len() > LONGEST {
            return Err(format!("the form has {} bytes, at most {LONGEST} are possible", form.len()));
        }
        strtime::format(form, &self.within(zone)?).map_err(|error| format!("`{}` is no form: {error}", short(form)))
    }
}

fn within(clock: DateTime, zone: TimeZone) -> Result<ZonedDateTime, String> {
    clock.to_zoned_datetime(zone).map_err(|_| format!("`{clock}` is beyond the times that there are"))
}

fn cut(clock: DateTime, part: Part) -> Result<DateTime, String> {
    let time = clock.time();
    let (date, time) = match part {
        Part::Second => (clock.date(), Time::constant(time.hour(), time.minute(), time.second(), 0)),
        Part::Minute => (clock.date(), Time::constant(time.hour(), time.minute(), 0, 0)),
        Part::Hour => (clock.date(), Time::constant(time.hour(), 0, 0, 0)),
        Part::Day => (clock.date(), Time::midnight()),
        Part::Week => {
            let days = Span::new().days(i64::from(clock.weekday().to_monday_zero_offset()));
            let monday = clock.date().checked_sub(days).map_err(|_| format!("`{clock}` has no such beginning"))?;
            (monday, Time::midnight())
        }
        Part::Month => (clock.date().first_of_month(), Time::midnight()),
        Part::Year => (clock.date().first_of_year(), Time::midnight()),
    };
    Ok(date.to_datetime(time))
}

/// The time zone of a name.
///
/// # Errors
/// If there is none; the message suggests one.
pub fn zone(name: &str) -> Result<TimeZone, String> {
    TimeZone::get(name).map_err(|_| {
        let names: Vec<String> = tz::TimeZoneDatabase::bundled().available().map(|it| it.to_string()).collect();
        let hint = match suggest(name, names.iter().map(String::as_str)) {
            Some(near) => format!("\nhint: did you mean `{near}`?"),
            None => String::new(),
        };
        format!("no time zone `{}`, expected a name such as `Europe/Vienna` or `UTC`{hint}", short(name))
    })
}

/// The beginning of a text for a message.
pub fn short(text: &str) -> String {
    let mut out: String = text.chars().take(60).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zones_are_in_the_program() {
        // A machine without /usr/share/zoneinfo has them all the same.
        assert!(tz::TimeZoneDatabase::bundled().get("Europe/Vienna").is_ok());
    }

    #[test]
    fn each_form_is_read_and_written_back() {
        for (text, shown) in [
            ("2014-02-08T16:54:50Z", "2014-02-08T16:54:50Z"),
            ("2014-02-08T16:54:50.500+01:00", "2014-02-08T15:54:50.5Z"),
            ("2014-02-08 16:54:50Z", "2014-02-08T16:54:50Z"),
            ("2014-02-08T16:54:50+01:00[Europe/Vienna]", "2014-02-08T15:54:50Z"),
            ("Sat, 08 Feb 2014 16:54:50 GMT", "2014-02-08T16:54:50Z"),
            ("2014-02-08 16:54:50", "2014-02-08T16:54:50"),
            ("2014-02-08T16:54:50.120", "2014-02-08T16:54:50.12"),
            ("2014-02-08", "2014-02-08"),
            ("0000-01-01", "0000-01-01"),
        ] {
            assert_eq!(Moment::parse(text).map(|it| it.to_string()).as_deref(), Ok(shown), "{text}");
        }
        for text in ["", "soon", "2014-02-30", "2014-02-08T25:00", "16:54", "1391878490", "2014"] {
            assert_eq!(Moment::parse(text), Err(format!("`{text}` is no time, expected {EXPECTED}")));
        }
    }
}
