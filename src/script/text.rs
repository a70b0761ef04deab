//! The text of a value, as `to_string`, interpolation and logs show it.
//!
//! Rhai's own makes the text of a list of a thousand times the same large string in one step, and
//! goes as deep as the value is nested; here each part is counted, and what is too deep is left out.

use std::fmt::Write;

use rhai::{Array, Dynamic, ImmutableString, Map};

use super::decimal::Decimal;
use super::frozen::{Frozen, Inner};
use super::rows::{Row, Rows};
use crate::fiber::{self, Stop};

/// Lists in lists that are shown; `…` stands for deeper ones.
const DEPTH: usize = 64;
/// Names under which Rhai looks for the text of a list or a map.
const NAMES: [&str; 4] = ["print", "to_string", "debug", "to_debug"];

/// Puts bounded texts of lists and maps in the place of Rhai's.
pub(super) fn register(engine: &mut rhai::Engine) {
    for name in NAMES {
        engine.register_fn(name, |array: &mut Array| counted(|out| list(out, array, DEPTH, &mut fiber::tick)));
        engine.register_fn(name, |map: &mut Map| counted(|out| entries(out, map, DEPTH, &mut fiber::tick)));
        engine.register_fn(name, |frozen: Frozen| {
            counted(|out| part(out, &Dynamic::from(frozen), DEPTH, &mut fiber::tick))
        });
    }
}

/// The text of a value for a message: its beginning, where it is long.
pub(super) fn short(value: &Dynamic) -> String {
    const MOST: usize = 1000;
    let mut out = String::new();
    if let Ok(text) = value.as_immutable_string_ref() {
        out.extend(text.chars().take(MOST));
        if out.len() < text.len() {
            out.push('…');
        }
        return out;
    }
    let mut parts = 0;
    let mut few = || {
        parts += 1;
        if parts > MOST / 4 { Err(Stop::Memory) } else { Ok(()) }
    };
    if part(&mut out, value, DEPTH, &mut few).is_err() || out.len() > MOST {
        out = out.chars().take(MOST).collect();
        out.push('…');
    }
    out
}

/// Where the script has to stop the text ends, and the script at its next step: of an error here
/// Rhai would make its own text instead.
fn counted(write: impl FnOnce(&mut String) -> Result<(), Stop>) -> ImmutableString {
    let mut out = String::new();
    let _ = write(&mut out);
    out.into()
}

type Count<'a> = &'a mut dyn FnMut() -> Result<(), Stop>;

fn part(out: &mut String, value: &Dynamic, depth: usize, count: Count<'_>) -> Result<(), Stop> {
    count()?;
    if let Ok(text) = value.as_immutable_string_ref() {
        // What is there already may be copied to make room for more.
        fiber::room(out.len() + text.len())?;
        // Writing to a string does not fail.
        let _ = write!(out, "{:?}", text.as_str());
    } else if let Ok(array) = value.as_array_ref() {
        list(out, &array, depth, count)?;
    } else if let Ok(map) = value.as_map_ref() {
        entries(out, &map, depth, count)?;
    } else if let Ok(character) = value.as_char() {
        out.push(character);
    } else if let Some(number) = value.read_lock::<Decimal>() {
        let _ = write!(out, "{}", *number);
    } else if let Some(frozen) = value.read_lock::<Frozen>() {
        match frozen.inner() {
            Inner::List(array) => list(out, array, depth, count)?,
            Inner::Map(map) => entries(out, map, depth, count)?,
        }
    } else if let Some(text) = value.read_lock::<Rows>().map(|it| it.text()) {
        out.push_str(&text);
    } else if let Some(text) = value.read_lock::<Row>().map(|it| it.text()) {
        out.push_str(&text);
    } else if value.is_unit() || value.is_bool() || value.is_int() || value.is_float() {
        let _ = write!(out, "{value:?}");
    } else {
        // The name of a type without the path that it has in Rust.
        out.push_str(value.type_name().rsplit("::").next().unwrap_or_default());
    }
    Ok(())
}

fn list(out: &mut String, array: &Array, depth: usize, count: Count<'_>) -> Result<(), Stop> {
    if depth == 0 {
        out.push_str("[…]");
        return Ok(());
    }
    out.push('[');
    for (index, value) in array.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        part(out, value, depth - 1, count)?;
    }
    out.push(']');
    Ok(())
}

fn entries(out: &mut String, map: &Map, depth: usize, count: Count<'_>) -> Result<(), Stop> {
    if depth == 0 {
        out.push_str("#{…}");
        return Ok(());
    }
    out.push_str("#{");
    for (index, (name, value)) in map.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        let _ = write!(out, "{name:?}: ");
        part(out, value, depth - 1, count)?;
    }
    out.push('}');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(script: &str) -> String {
        let mut engine = rhai::Engine::new();
        register(&mut engine);
        engine.eval::<ImmutableString>(script).unwrap().into()
    }

    #[test]
    fn lists_and_maps_are_shown_as_rhai_shows_them() {
        for script in ["[1, 2.5, \"x\\n\", 'c', true, ()]", "#{a: [1], b: #{c: \"d\"}}", "[]", "#{}"] {
            let own = rhai::Engine::new().eval::<ImmutableString>(&format!("{script}.to_string()")).unwrap();
            assert_eq!(text(&format!("{script}.to_string()")), own, "{script}");
            assert_eq!(text(&format!("let value = {script}; `${{value}}`")), own, "{script}");
        }
    }

    #[test]
    fn what_is_nested_too_deeply_is_left_out() {
        let text = text("let a = []; for i in 0..100 { a = [a]; } a.to_string()");
        assert_eq!(text, format!("{}[…]{}", "[".repeat(DEPTH), "]".repeat(DEPTH)));
    }

    #[test]
    fn a_message_shows_the_beginning_of_what_is_long() {
        let long = Dynamic::from("x".repeat(5000));
        assert_eq!(short(&long), "x".repeat(1000) + "…");
        let many: Array = (0..10_000_i64).map(Dynamic::from).collect();
        let shown = short(&many.into());
        assert!(shown.starts_with("[0, 1, 2") && shown.ends_with('…') && shown.len() < 1100, "{shown}");
    }
}
