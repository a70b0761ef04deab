//! `time::`: points in time and the calendar.
//!
//! A time is a text, as databases give it and JSON carries it, and not a type of its own: what a script
//! reads, compares, stores and answers with needs no conversion. Texts of one form sort as their times do.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Unit, ZonedDateTime};
use rhai::{Dynamic, FuncRegistration, INT, Map, Module, NativeCallContext};

use super::kind::kind;
use super::{Binding, Function};
use crate::script::{Result, raise};

mod moment;
mod span;

use moment::{Moment, Part, zone};

pub(super) const BINDING: Binding = Binding {
    name: "time",
    summary: "times and the calendar. A time is a text: `2014-02-08T16:54:50Z`, or as databases have it `2014-02-08T16:54:50` \
              (taken as UTC's) and `2014-02-08`; numbers are seconds since 1970. Results have the form of what they come from, \
              so that they compare and sort as texts. Zones are named as in `Europe/Vienna`; without one it is UTC. A span is \
              `#{days: 1, hours: -2}`, a text such as `1h30m` or `P1M`, or seconds",
    functions: &[
        Function {
            signature: "now([zone])",
            summary: "the time, in whole seconds; with a zone as its clocks show it, with the offset",
            example: "time::now().len() → 20",
        },
        Function {
            signature: "today([zone])",
            summary: "the date",
            example: "time::today() == time::now().sub_string(0, 10) → true",
        },
        Function {
            signature: "unix([time])",
            summary: "whole seconds since 1970, of now or of a time",
            example: "[time::unix(\"2014-02-08T16:54:50Z\"), time::unix() > 1_700_000_000] → [1391878490,true]",
        },
        Function {
            signature: "unix_ms([time])",
            summary: "whole milliseconds since 1970",
            example: "time::unix_ms(\"1970-01-01T00:00:01.5Z\") → 1500",
        },
        Function {
            signature: "from_unix(seconds)",
            summary: "the time of so many seconds since 1970, whole or not",
            example: "[time::from_unix(1391878490), time::from_unix(0.25)] → [\"2014-02-08T16:54:50Z\",\"1970-01-01T00:00:00.25Z\"]",
        },
        Function {
            signature: "parse(text[, form[, zone]])",
            summary: "the time that a text says, which is any of the forms above, of RFC 3339 or of mails, or one that \
                      `strptime` reads by `form`: then with a zone it is that zone's clock",
            example: "[time::parse(\"2014-02-08 17:54:50+01:00\"), time::parse(\"8.2.2014 17:54\", \"%d.%m.%Y %H:%M\", \"Europe/Vienna\")] → [\"2014-02-08T16:54:50Z\",\"2014-02-08T16:54:00Z\"]",
        },
        Function {
            signature: "format(time, form[, zone])",
            summary: "the time in a form of `strftime`, such as `%d.%m.%Y %H:%M`",
            example: "time::format(\"2014-07-08T16:54:50Z\", \"%a %d.%m.%Y %H:%M\", \"Europe/Vienna\") → \"Tue 08.07.2014 18:54\"",
        },
        Function {
            signature: "add(time, span[, zone])",
            summary: "the time so much later; days, weeks, months and years are the calendar's in the zone",
            example: "[time::add(\"2024-01-31\", #{months: 1}), time::add(\"2014-02-08T16:54:50Z\", \"-1h30m\")] → [\"2024-02-29\",\"2014-02-08T15:24:50Z\"]",
        },
        Function {
            signature: "difference(from, to[, unit])",
            summary: "the time between, in seconds (with a fraction where there is one), or in whole `minutes`, `hours`, `days`, \
                      `weeks`, `months` or `years`; negative where `to` is earlier",
            example: "[time::difference(\"2024-01-31T00:00:00Z\", \"2024-01-31T00:01:30Z\"), time::difference(\"2000-02-29\", \"2024-02-28\", \"years\")] → [90,23]",
        },
        Function {
            signature: "start_of(time, part[, zone])",
            summary: "the beginning of the `second`, `minute`, `hour`, `day`, `week` (Monday), `month` or `year`",
            example: "[time::start_of(\"2014-02-08T16:54:50Z\", \"week\"), time::start_of(\"2014-07-08T23:00:00Z\", \"day\", \"Europe/Vienna\")] → [\"2014-02-03T00:00:00Z\",\"2014-07-08T22:00:00Z\"]",
        },
        Function {
            signature: "weekday(time[, zone])",
            summary: "1 for Monday to 7 for Sunday",
            example: "time::weekday(\"2014-02-08\") → 6",
        },
        Function {
            signature: "parts(time[, zone])",
            summary: "`#{year, month, day, hour, minute, second, weekday, day_of_year}`",
            example: "time::parts(\"2014-02-08T23:30:00Z\", \"Europe/Vienna\") → {\"day\":9,\"day_of_year\":40,\"hour\":0,\"minute\":30,\"month\":2,\"second\":0,\"weekday\":7,\"year\":2014}",
        },
        Function {
            signature: "in_zone(time, zone)",
            summary: "the time as clocks of a zone show it, with the offset",
            example: "time::in_zone(\"2014-07-08T16:54:50Z\", \"Asia/Kolkata\") → \"2014-07-08T22:24:50+05:30\"",
        },
        Function {
            signature: "from_zone(time, zone)",
            summary: "the time that clocks of a zone show, in UTC",
            example: "time::from_zone(\"2014-07-08T22:24:50\", \"Asia/Kolkata\") → \"2014-07-08T16:54:50Z\"",
        },
    ],
    register,
};

fn register(module: &mut Module) {
    FuncRegistration::new("now").set_into_module(module, || whole_now().to_string());
    FuncRegistration::new("now").set_into_module(module, |call: NativeCallContext, zone: &str| {
        with(&call, zone, |zone| offset_text(&whole_now().to_zoned_datetime(zone)))
    });
    FuncRegistration::new("today")
        .set_into_module(module, || Timestamp::now().to_zoned_datetime(TimeZone::UTC).date().to_string());
    FuncRegistration::new("today").set_into_module(module, |call: NativeCallContext, zone: &str| {
        with(&call, zone, |zone| Ok(Timestamp::now().to_zoned_datetime(zone).date().to_string()))
    });
    FuncRegistration::new("unix").set_into_module(module, || Timestamp::now().as_second());
    FuncRegistration::new("unix").set_into_module(module, |call: NativeCallContext, time: Dynamic| {
        said(&call, moment(&time).and_then(Moment::instant).map(|it| floor(it.as_nanosecond(), 1_000_000_000)))
    });
    FuncRegistration::new("unix_ms").set_into_module(module, || Timestamp::now().as_millisecond());
    FuncRegistration::new("unix_ms").set_into_module(module, |call: NativeCallContext, time: Dynamic| {
        said(&call, moment(&time).and_then(Moment::instant).map(|it| floor(it.as_nanosecond(), 1_000_000)))
    });
    FuncRegistration::new("from_unix").set_into_module(module, |call: NativeCallContext, seconds: Dynamic| {
        if !seconds.is_int() && !seconds.is_float() {
            return Err(raise(&call, format!("expected seconds, found `{}`", moment::short(&seconds.to_string()))));
        }
        said(&call, moment(&seconds).map(|it| it.to_string()))
    });
    FuncRegistration::new("parse").set_into_module(module, |call: NativeCallContext, text: &str| {
        said(&call, Moment::parse(text).map(|it| it.to_string()))
    });
    FuncRegistration::new("parse").set_into_module(module, |call: NativeCallContext, text: &str, form: &str| {
        said(&call, Moment::parse_as(text, form, None).map(|it| it.to_string()))
    });
    FuncRegistration::new("parse").set_into_module(
        module,
        |call: NativeCallContext, text: &str, form: &str, zone: &str| {
            with(&call, zone, |zone| Moment::parse_as(text, form, Some(&zone)).map(|it| it.to_string()))
        },
    );
    FuncRegistration::new("in_zone").set_into_module(module, |call: NativeCallContext, time: Dynamic, zone: &str| {
        with(&call, zone, |zone| offset_text(&moment(&time)?.within(zone)?))
    });
    FuncRegistration::new("from_zone").set_into_module(module, |call: NativeCallContext, time: Dynamic, zone: &str| {
        with(&call, zone, |zone| moment(&time)?.of_zone(zone).map(|it| it.to_string()))
    });
    FuncRegistration::new("difference")
        .set_into_module(module, |call: NativeCallContext, from: Dynamic, to: Dynamic| {
            said(&call, difference(&from, &to, "seconds"))
        });
    FuncRegistration::new("difference")
        .set_into_module(module, |call: NativeCallContext, from: Dynamic, to: Dynamic, unit: &str| {
            said(&call, difference(&from, &to, unit))
        });
    of_time(module, "weekday", |time, zone| Ok(INT::from(time.within(zone)?.weekday().to_monday_one_offset()).into()));
    of_time(module, "parts", |time, zone| Ok(Dynamic::from_map(parts(&time.within(zone)?))));
    of_time_and(module, "format", |time, form, zone| {
        let form = form.as_immutable_string_ref().map_err(|kind| format!("the form is of the type `{kind}`"))?;
        Ok(time.format(&form, zone)?.into())
    });
    of_time_and(module, "add", |time, span, zone| Ok(time.add(&span::read(span)?, zone)?.to_string().into()));
    of_time_and(module, "start_of", |time, part, zone| {
        let part = part.as_immutable_string_ref().map_err(|kind| format!("the part is of the type `{kind}`"))?;
        Ok(time.start_of(part_of(&part)?, zone)?.to_string().into())
    });
}

type Outcome<T> = std::result::Result<T, String>;

/// Registers a function of a time, in UTC or in a zone.
fn of_time(module: &mut Module, name: &str, act: fn(Moment, TimeZone) -> Outcome<Dynamic>) {
    FuncRegistration::new(name).set_into_module(module, move |call: NativeCallContext, time: Dynamic| {
        said(&call, moment(&time).and_then(|time| act(time, TimeZone::UTC)))
    });
    FuncRegistration::new(name).set_into_module(module, move |call: NativeCallContext, time: Dynamic, zone: &str| {
        with(&call, zone, |zone| act(moment(&time)?, zone))
    });
}

/// Registers a function of a time and something else, in UTC or in a zone.
fn of_time_and(module: &mut Module, name: &str, act: fn(Moment, &Dynamic, TimeZone) -> Outcome<Dynamic>) {
    FuncRegistration::new(name).set_into_module(
        module,
        move |call: NativeCallContext, time: Dynamic, other: Dynamic| {
            said(&call, moment(&time).and_then(|time| act(time, &other, TimeZone::UTC)))
        },
    );
    FuncRegistration::new(name).set_into_module(
        module,
        move |call: NativeCallContext, time: Dynamic, other: Dynamic, zone: &str| {
            with(&call, zone, |zone| act(moment(&time)?, &other, zone))
        },
    );
}

fn said<T>(call: &NativeCallContext, outcome: Outcome<T>) -> Result<T> {
    outcome.map_err(|message| raise(call, message))
}

fn with<T>(call: &NativeCallContext, name: &str, act: impl FnOnce(TimeZone) -> Outcome<T>) -> Result<T> {
    said(call, zone(name).and_then(act))
}

fn moment(value: &Dynamic) -> Outcome<Moment> {
    if let Ok(text) = value.as_immutable_string_ref() {
        return Moment::parse(&text);
    }
    let beyond = || format!("`{value}` seconds since 1970 are beyond the times that there are");
    if let Ok(seconds) = value.as_int() {
        return Timestamp::from_second(seconds).map(Moment::Instant).map_err(|_| beyond());
    }
    if let Ok(seconds) = value.as_float() {
        return Moment::of_unix(seconds).ok_or_else(beyond);
    }
    Err(format!("expected a time, found a value of the type `{}`", kind(value)))
}

fn whole_now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

/// RFC 3339, with the offset of the zone.
fn offset_text(time: &ZonedDateTime) -> Outcome<String> {
    jiff::fmt::strtime::format("%Y-%m-%dT%H:%M:%S%.f%:z", time).map_err(|error| error.to_string())
}

fn floor(nanoseconds: i128, unit: i128) -> INT {
    INT::try_from(nanoseconds.div_euclid(unit)).unwrap_or(INT::MAX)
}

fn difference(from: &Dynamic, to: &Dynamic, unit: &str) -> Outcome<Dynamic> {
    let (from, to) = (moment(from)?.instant()?, moment(to)?.instant()?);
    let duration = from.duration_until(to);
    let (from, to) = (from.to_zoned_datetime(TimeZone::UTC), to.to_zoned_datetime(TimeZone::UTC));
    let calendar = |unit| from.until((unit, &to)).map_err(|error| error.to_string());
    Ok(match unit {
        "second" | "seconds" if duration.subsec_nanos() == 0 => duration.as_secs().into(),
        "second" | "seconds" => duration.as_secs_f64().into(),
        "minute" | "minutes" => duration.as_mins().into(),
        "hour" | "hours" => duration.as_hours().into(),
        "day" | "days" => (duration.as_hours() / 24).into(),
        "week" | "weeks" => (duration.as_hours() / (24 * 7)).into(),
        "month" | "months" => INT::from(calendar(Unit::Month)?.get_months()).into(),
        "year" | "years" => INT::from(calendar(Unit::Year)?.get_years()).into(),
        _ => {
            let expected = "expected `seconds`, `minutes`, `hours`, `days`, `weeks`, `months` or `years`";
            return Err(format!("the unit is `{}`, {expected}", moment::short(unit)));
        }
    })
}

fn part_of(name: &str) -> Outcome<Part> {
    Ok(match name {
        "second" => Part::Second,
        "minute" => Part::Minute,
        "hour" => Part::Hour,
        "day" => Part::Day,
        "week" => Part::Week,
        "month" => Part::Month,
        "year" => Part::Year,
        _ => {
            let expected = "expected `second`, `minute`, `hour`, `day`, `week`, `month` or `year`";
            return Err(format!("the part is `{}`, {expected}", moment::short(name)));
        }
    })
}

fn parts(time: &ZonedDateTime) -> Map {
    Map::from_iter(
        [
            ("year", INT::from(time.year())),
            ("month", time.month().into()),
            ("day", time.date().day().into()),
            ("hour", time.time().hour().into()),
            ("minute", time.time().minute().into()),
            ("second", time.time().second().into()),
            ("weekday", time.weekday().to_monday_one_offset().into()),
            ("day_of_year", time.day_of_year().into()),
        ]
        .map(|(name, number)| (name.into(), number.into())),
    )
}
