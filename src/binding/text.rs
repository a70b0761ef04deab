//! `text::`: what an API does with texts and Rhai has not.

use rhai::{Array, FLOAT, FuncRegistration, INT, ImmutableString, Module, NativeCallContext};

use super::limit::{room, step};
use super::{Binding, Function};
use crate::script::{Result, html_reference, raise};

/// Most digits after the point that `fixed` gives.
const MOST_DIGITS: INT = 100;

pub(super) const BINDING: Binding = Binding {
    name: "text",
    summary: "functions of texts; each gives a new text and changes none. Lengths are in characters",
    functions: &[
        Function {
            signature: "escape_html(text)",
            summary: "the text for HTML, in elements and in quoted attributes",
            example: "text::escape_html(\"<a href='x'>\\\"&\\\"</a>\") → \"&lt;a href=&#39;x&#39;&gt;&quot;&amp;&quot;&lt;/a&gt;\"",
        },
        Function {
            signature: "slug(text)",
            summary: "the text for a URL: lower-case ASCII letters, digits and single dashes; other scripts are transcribed",
            example: "text::slug(\"Älter & schöner: 2 Tage\") → \"alter-schoner-2-tage\"",
        },
        Function {
            signature: "truncate(text, length[, ending])",
            summary: "at most so many characters; where some are cut off the last is `…`, or as many as `ending` has",
            example: "[text::truncate(\"Grüße\", 3), text::truncate(\"Grüße\", 5), text::truncate(\"Grüße\", 3, \"\")] → [\"Gr…\",\"Grüße\",\"Grü\"]",
        },
        Function {
            signature: "trim(text)",
            summary: "the text without white space at its ends",
            example: "text::trim(\"  a b\\n\") → \"a b\"",
        },
        Function {
            signature: "trim_start(text)",
            summary: "the text without white space at its beginning",
            example: "text::trim_start(\"  a \") → \"a \"",
        },
        Function {
            signature: "trim_end(text)",
            summary: "the text without white space at its end",
            example: "text::trim_end(\"  a \") → \"  a\"",
        },
        Function {
            signature: "pad_start(text, length[, filling])",
            summary: "at least so many characters, filled up at the beginning with spaces or with `filling`",
            example: "text::pad_start(\"7\", 3, \"0\") → \"007\"",
        },
        Function {
            signature: "pad_end(text, length[, filling])",
            summary: "at least so many characters, filled up at the end",
            example: "text::pad_end(\"ab\", 4) + \"|\" → \"ab  |\"",
        },
        Function {
            signature: "repeat(text, count)",
            summary: "the text so many times",
            example: "text::repeat(\"ab\", 3) → \"ababab\"",
        },
        Function {
            signature: "lines(text)",
            summary: "the lines, without their ends (`\\n` or `\\r\\n`)",
            example: "text::lines(\"a\\r\\nb\\n\\nc\") → [\"a\",\"b\",\"\",\"c\"]",
        },
        Function {
            signature: "join(list, separator)",
            summary: "one text of a list's values, as `to_string` shows each",
            example: "text::join([1, \"b\", 2.5], \", \") → \"1, b, 2.5\"",
        },
        Function {
            signature: "fixed(number, digits)",
            summary: "a number with so many digits after the point, rounded",
            example: "[text::fixed(2.345, 2), text::fixed(7, 2)] → [\"2.35\",\"7.00\"]",
        },
    ],
    register,
};

fn register(module: &mut Module) {
    FuncRegistration::new("escape_html")
        .set_into_module(module, |call: NativeCallContext, text: &str| escape_html(&call, text));
    FuncRegistration::new("slug").set_into_module(module, |call: NativeCallContext, text: &str| {
        // A character becomes several letters at most.
        room(&call, text.len().saturating_mul(4))?;
        Ok(slug::slugify(text)) as Result<_>
    });
    for (name, trim) in
        [("trim", str::trim as fn(&str) -> &str), ("trim_start", str::trim_start), ("trim_end", str::trim_end)]
    {
        FuncRegistration::new(name).set_into_module(module, move |call: NativeCallContext, text: &str| {
            room(&call, text.len())?;
            Ok(ImmutableString::from(trim(text))) as Result<_>
        });
    }
    FuncRegistration::new("truncate")
        .set_into_module(module, |call: NativeCallContext, text: &str, length: INT| truncate(&call, text, length, "…"));
    FuncRegistration::new("truncate")
        .set_into_module(module, |call: NativeCallContext, text: &str, length: INT, ending: &str| {
            truncate(&call, text, length, ending)
        });
    for (name, side) in [("pad_start", Side::Start), ("pad_end", Side::End)] {
        FuncRegistration::new(name).set_into_module(module, move |call: NativeCallContext, text: &str, length: INT| {
            pad(&call, text, length, " ", side)
        });
        FuncRegistration::new(name)
            .set_into_module(module, move |call: NativeCallContext, text: &str, length: INT, with: &str| {
                pad(&call, text, length, with, side)
            });
    }
    FuncRegistration::new("repeat").set_into_module(module, |call: NativeCallContext, text: &str, count: INT| {
        let count = whole(&call, count, "the count")?;
        room(&call, text.len().saturating_mul(count))?;
        Ok(text.repeat(count)) as Result<_>
    });
    FuncRegistration::new("lines").set_into_module(module, |call: NativeCallContext, text: &str| -> Result<Array> {
        text.lines()
            .map(|line| {
                step(&call)?;
                Ok(line.into())
            })
            .collect()
    });
    FuncRegistration::new("join")
        .set_into_module(module, |call: NativeCallContext, list: Array, separator: &str| join(&call, list, separator));
    FuncRegistration::new("fixed")
        .set_into_module(module, |call: NativeCallContext, number: FLOAT, digits: INT| fixed(&call, number, digits));
    FuncRegistration::new("fixed").set_into_module(module, |call: NativeCallContext, number: INT, digits: INT| {
        let point = if digits > 0 { "." } else { "" };
        Ok(format!("{number}{point}{}", "0".repeat(places(&call, digits)?))) as Result<_>
    });
}

#[derive(Clone, Copy)]
enum Side {
    Start,
    End,
}

fn escape_html(call: &NativeCallContext, text: &str) -> Result<String> {
    // The longest reference has six characters.
    let special = text.bytes().filter(|it| b"&<>\"'".contains(it)).count();
    room(call, text.len() + special * 5)?;
    let mut out = String::with_capacity(text.len() + special * 5);
    for character in text.chars() {
        match html_reference(character) {
            Some(reference) => out.push_str(reference),
            None => out.push(character),
        }
    }
    Ok(out)
}

fn truncate(call: &NativeCallContext, text: &str, length: INT, ending: &str) -> Result<String> {
    let length = whole(call, length, "the length")?;
    room(call, text.len())?;
    if text.chars().nth(length).is_none() {
        return Ok(text.to_owned());
    }
    let kept = length.saturating_sub(ending.chars().count());
    Ok(text.chars().take(kept).chain(ending.chars().take(length - kept)).collect())
}

fn pad(call: &NativeCallContext, text: &str, length: INT, with: &str, side: Side) -> Result<String> {
    let missing = whole(call, length, "the length")?.saturating_sub(text.chars().count());
    if with.is_empty() && missing > 0 {
        return Err(raise(call, "the text to fill up with is empty".to_owned()));
    }
    room(call, text.len().saturating_add(missing.saturating_mul(4)))?;
    let filling = with.chars().cycle().take(missing);
    Ok(match side {
        Side::Start => filling.chain(text.chars()).collect(),
        Side::End => text.chars().chain(filling).collect(),
    })
}

fn join(call: &NativeCallContext, list: Array, separator: &str) -> Result<String> {
    let mut out = String::new();
    for (place, value) in list.into_iter().enumerate() {
        if place > 0 {
            room(call, separator.len())?;
            out.push_str(separator);
        }
        let text = match value.is_string() {
            true => value.into_immutable_string().unwrap_or_default(),
            // Native types know their text.
            false => call.call_native_fn("to_string", (value,))?,
        };
        step(call)?;
        room(call, text.len())?;
        out.push_str(&text);
    }
    Ok(out)
}

fn fixed(call: &NativeCallContext, number: FLOAT, digits: INT) -> Result<String> {
    let places = places(call, digits)?;
    // Half away from zero, as people round: 2.345 is 2.35, though the nearest float is a little less.
    let shortest = number.to_string();
    let text = match shortest.parse::<bigdecimal::BigDecimal>() {
        Ok(exact) => exact
            .with_scale_round(i64::try_from(places).unwrap_or(0), bigdecimal::RoundingMode::HalfUp)
            .to_plain_string(),
        Err(_) => return Err(raise(call, format!("{number} has no digits"))),
    };
    Ok(text)
}

fn places(call: &NativeCallContext, digits: INT) -> Result<usize> {
    usize::try_from(digits)
        .ok()
        .filter(|_| digits <= MOST_DIGITS)
        .ok_or_else(|| raise(call, format!("expected 0 to {MOST_DIGITS} digits, found {digits}")))
}

fn whole(call: &NativeCallContext, number: INT, name: &str) -> Result<usize> {
    usize::try_from(number).map_err(|_| raise(call, format!("{name} is {number}, expected 0 or more")))
}
