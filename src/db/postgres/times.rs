//! PostgreSQL's dates and times in their binary format, counted from 2000.

use std::fmt::Write as _;

use jiff::Span;
use jiff::civil::Date;

const MICROS: i64 = 1_000_000;
const DAY: i64 = 86_400 * MICROS;

/// `2014-02-08`; `infinity` has no date. Years beyond 9999 are written as PostgreSQL does.
pub fn date(days: i32) -> String {
    match days {
        i32::MAX => "infinity".to_owned(),
        i32::MIN => "-infinity".to_owned(),
        _ => {
            let (year, month, day) = civil(days.into());
            written(year, month, day)
        }
    }
}

/// `2014-02-08T16:54:50.25`, with `zone` at its end.
pub fn timestamp(micros: i64, zone: &str) -> String {
    match micros {
        i64::MAX => "infinity".to_owned(),
        i64::MIN => "-infinity".to_owned(),
        _ => {
            let (year, month, day) = civil(micros.div_euclid(DAY));
            format!("{}T{}{zone}", written(year, month, day), time(micros.rem_euclid(DAY)))
        }
    }
}

/// `16:54:50.25`, also `24:00:00`.
pub fn time(micros: i64) -> String {
    let seconds = micros / MICROS;
    let mut text = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    fraction(&mut text, micros % MICROS);
    text
}

/// `+01:00`, for so many seconds west of Greenwich.
pub fn offset(west: i32) -> String {
    let (sign, seconds) = if west > 0 { ('-', west) } else { ('+', -west) };
    let mut text = format!("{sign}{:02}:{:02}", seconds / 3600, seconds / 60 % 60);
    if seconds % 60 != 0 {
        let _ = write!(text, ":{:02}", seconds % 60);
    }
    text
}

/// `P1Y2M3DT4H5M6.5S` (ISO 8601), each part with its own sign; none at all is `PT0S`.
pub fn interval(months: i32, days: i32, micros: i64) -> String {
    let mut text = "P".to_owned();
    let mut part = |number: i64, unit: char| {
        if number != 0 {
            let _ = write!(text, "{number}{unit}");
        }
    };
    part((months / 12).into(), 'Y');
    part((months % 12).into(), 'M');
    part(days.into(), 'D');
    if micros == 0 {
        if text == "P" {
            text.push_str("T0S");
        }
        return text;
    }
    text.push('T');
    let (hours, rest) = (micros / (3600 * MICROS), micros % (3600 * MICROS));
    let (minutes, rest) = (rest / (60 * MICROS), rest % (60 * MICROS));
    if hours != 0 {
        let _ = write!(text, "{hours}H");
    }
    if minutes != 0 {
        let _ = write!(text, "{minutes}M");
    }
    if rest != 0 {
        let sign = if rest < 0 { "-" } else { "" };
        let _ = write!(text, "{sign}{}", (rest / MICROS).abs());
        fraction(&mut text, (rest % MICROS).abs());
        text.push('S');
    }
    text
}

fn fraction(text: &mut String, micros: i64) {
    if micros != 0 {
        let digits = format!("{micros:06}");
        let _ = write!(text, ".{}", digits.trim_end_matches('0'));
    }
}

fn written(year: i64, month: i8, day: i8) -> String {
    // Before the year 1 there is no year 0 in what people write.
    if year > 0 { format!("{year:04}-{month:02}-{day:02}") } else { format!("{:04}-{month:02}-{day:02} BC", 1 - year) }
}

/// Year, month and day of so many days after 2000-01-01. PostgreSQL's years go beyond those of the
/// library, and the calendar repeats itself every 400 years.
fn civil(days: i64) -> (i64, i8, i8) {
    const DAYS: i64 = 146_097;
    let span = Span::new().days(days.rem_euclid(DAYS));
    let date = Date::constant(2000, 1, 1).checked_add(span).unwrap_or(Date::constant(2000, 1, 1));
    (i64::from(date.year()) + 400 * days.div_euclid(DAYS), date.month(), date.day())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A moment as `timestamptz` sends it, for tests of the other way.
    fn micros(text: &str) -> i64 {
        let moment: jiff::Timestamp = text.parse().unwrap();
        let epoch: jiff::Timestamp = "2000-01-01T00:00:00Z".parse().unwrap();
        let since: jiff::SignedDuration = moment.duration_since(epoch);
        i64::try_from(since.as_micros()).unwrap()
    }

    #[test]
    fn moments_are_written_to_the_microsecond_and_without_trailing_zeros() {
        assert_eq!(timestamp(0, ""), "2000-01-01T00:00:00");
        for text in
            ["2014-02-08T16:54:50.25Z", "1969-12-31T23:59:59.999999Z", "0001-01-01T00:00:00Z", "9999-12-30T00:00:00Z"]
        {
            assert_eq!(timestamp(micros(text), "Z"), text);
        }
        assert_eq!((timestamp(i64::MAX, "Z").as_str(), timestamp(i64::MIN, "")), ("infinity", "-infinity".to_owned()));
    }

    #[test]
    fn dates_reach_as_far_as_postgresqls() {
        assert_eq!(
            (date(0), date(-1), date(60)),
            ("2000-01-01".to_owned(), "1999-12-31".to_owned(), "2000-03-01".to_owned())
        );
        // 4714-11-24 BC and 5874897-12-31, its first and last.
        assert_eq!((date(-2_451_545), date(2_145_031_948)), ("4714-11-24 BC".to_owned(), "5874897-12-31".to_owned()));
        assert_eq!((date(i32::MAX), date(i32::MIN)), ("infinity".to_owned(), "-infinity".to_owned()));
    }

    #[test]
    fn times_offsets_and_intervals_are_iso_8601() {
        assert_eq!((time(0), time(DAY)), ("00:00:00".to_owned(), "24:00:00".to_owned()));
        assert_eq!(
            (offset(-3600), offset(19_800), offset(-1)),
            ("+01:00".to_owned(), "-05:30".to_owned(), "+00:00:01".to_owned())
        );
        assert_eq!(interval(0, 0, 0), "PT0S");
        assert_eq!(interval(14, 3, 14_706_500_000), "P1Y2M3DT4H5M6.5S");
        assert_eq!(interval(-14, 3, -500_000), "P-1Y-2M3DT-0.5S");
    }
}
