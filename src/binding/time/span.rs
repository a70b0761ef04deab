//! Spans of time as scripts write them: a map of units, a text, or seconds.

use jiff::{SignedDuration, Span};
use rhai::{Dynamic, INT, Map};

use super::moment::short;
use crate::binding::kind::kind;
use crate::directive::suggest;

/// A span as it is added: months, then days, then exact time. More than one where their signs differ, since
/// a span of jiff's has one sign.
pub(super) type Spans = Vec<Span>;

/// The units of a map: what each is in months, days or milliseconds.
const UNITS: &[(&str, usize, INT)] = &[
    ("years", 0, 12),
    ("months", 0, 1),
    ("weeks", 1, 7),
    ("days", 1, 1),
    ("hours", 2, 3_600_000),
    ("minutes", 2, 60_000),
    ("seconds", 2, 1000),
    ("milliseconds", 2, 1),
];

/// Reads a span.
///
/// # Errors
/// If it is none; the message says what one is.
pub(super) fn read(value: &Dynamic) -> Result<Spans, String> {
    if let Ok(map) = value.as_map_ref() {
        return of_map(&map);
    }
    let span = if let Ok(text) = value.as_immutable_string_ref() {
        text.parse().map_err(|_| expected(&format!("`{}`", short(&text))))
    } else if let Ok(seconds) = value.as_int() {
        Span::new().try_seconds(seconds).map_err(|_| expected(&format!("`{seconds}`")))
    } else if let Ok(seconds) = value.as_float() {
        let duration = SignedDuration::try_from_secs_f64(seconds);
        duration.and_then(Span::try_from).map_err(|_| expected(&format!("`{seconds}`")))
    } else {
        Err(expected(&format!("a value of the type `{}`", kind(value))))
    };
    Ok(vec![span?])
}

fn of_map(map: &Map) -> Result<Spans, String> {
    let mut sums = [0; 3];
    for (name, value) in map {
        let Some((_, kind, worth)) = UNITS.iter().find(|(unit, ..)| unit == name) else {
            let hint = suggest(name, UNITS.iter().map(|(unit, ..)| *unit));
            let hint = hint.map(|it| format!("\nhint: did you mean `{it}`?")).unwrap_or_default();
            return Err(format!("`{}` is no unit of time, expected `years` to `milliseconds`{hint}", short(name)));
        };
        let number = value.as_int().map_err(|_| format!("`{name}` is `{value}`, expected a whole number"))?;
        let sum = number.checked_mul(*worth).and_then(|it| it.checked_add(sums[*kind]));
        sums[*kind] = sum.ok_or_else(|| too_many(name, number))?;
    }
    let [months, days, milliseconds] = sums;
    let signs = sums.map(INT::signum);
    let one_sign = !(signs.contains(&1) && signs.contains(&-1));
    let parts = if one_sign { vec![sums] } else { vec![[months, 0, 0], [0, days, 0], [0, 0, milliseconds]] };
    let span = |[months, days, milliseconds]: [INT; 3]| {
        let span = Span::new().try_months(months).and_then(|it| it.try_days(days));
        span.and_then(|it| it.try_milliseconds(milliseconds)).map_err(|_| "the span of time is too long".to_owned())
    };
    parts.into_iter().map(span).collect()
}

fn too_many(name: &str, number: INT) -> String {
    format!("`{name}` is `{number}`, which is too many")
}

fn expected(found: &str) -> String {
    format!("{found} is no span of time, expected one such as `#{{days: 1, hours: -2}}`, `\"1h30m\"` or seconds")
}
