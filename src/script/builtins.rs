//! Built-ins of Rhai that a request could hurt the server with, replaced or taken away.

use std::time::Duration;

use rhai::{Array, Blob, Dynamic, FLOAT, INT, ImmutableString, Map, NativeCallContext};
use tracing::Level;

use super::answering::{line_in_file, log};
use super::context::Context;
use super::fault::{Result, raise};
use super::json;
use super::raise::Wrong;
use crate::fiber;

mod order;
mod pieces;

/// Puts safe functions in the place of dangerous ones.
pub(super) fn replace(engine: &mut rhai::Engine) {
    // Both evaluate text that may come from a request.
    engine.disable_symbol("eval");
    engine.register_fn("parse_json", |context: NativeCallContext, text: &str| {
        json::parse(text.as_bytes()).map_err(|unread| Wrong::from(unread).raise(&context))
    });
    engine.register_fn("to_json", |context: NativeCallContext, value: &mut Dynamic| to_json(&context, value));
    // Rhai's own is for maps, and nearer for them than what takes any value.
    engine.register_fn("to_json", |context: NativeCallContext, map: &mut Map| {
        let value = Dynamic::from_map(std::mem::take(map));
        let text = to_json(&context, &value);
        *map = value.cast();
        text
    });
    order::register(engine);
    sized(engine);
    waiting(engine);
    output(engine);
}

fn to_json(context: &NativeCallContext, value: &Dynamic) -> Result<ImmutableString> {
    let mut text = Vec::new();
    let written = Context::with(context, |surroundings| json::write(&mut text, value, &surroundings.shapes))?;
    written.map_err(|fault| Wrong::from(fault).raise(context))?;
    Ok(String::from_utf8(text).expect("JSON is UTF-8").into())
}

/// Those that make a large value in one step: the size is checked before.
fn sized(engine: &mut rhai::Engine) {
    engine.register_fn("pad", |text: &mut ImmutableString, length: INT, with: char| {
        pad_string(text, length, with.encode_utf8(&mut [0; 4]))
    });
    engine.register_fn("pad", |text: &mut ImmutableString, length: INT, with: &str| pad_string(text, length, with));
    engine.register_fn("pad", |array: &mut Array, length: INT, with: Dynamic| {
        let more = missing(array.len(), length);
        room(more.saturating_mul(size_of::<Dynamic>()))?;
        array.reserve(more);
        for _ in 0..more {
            // Each copy of a list or a map takes memory of its own.
            step()?;
            array.push(with.clone());
        }
        Ok::<_, Box<rhai::EvalAltResult>>(())
    });
    engine.register_fn("pad", |blob: &mut Blob, length: INT, with: INT| {
        let more = missing(blob.len(), length);
        room(more)?;
        blob.extend(std::iter::repeat_n(byte(with), more));
        Ok::<_, Box<rhai::EvalAltResult>>(())
    });
    engine.register_fn("blob", |length: INT| new_blob(length, 0));
    engine.register_fn("blob", new_blob);
    for_replace(engine);
    pieces::register(engine);
    for_blobs(engine);
}

/// A byte of a blob that is no UTF-8 becomes a character of three.
fn for_blobs(engine: &mut rhai::Engine) {
    engine.register_fn("as_string", |blob: Blob| text_of("", &blob));
    engine.register_fn("+", |text: ImmutableString, blob: Blob| text_of(&text, &blob));
    engine.register_fn("+", |blob: Blob, text: &str| {
        let start = text_of("", &blob)?;
        room(start.len().saturating_add(text.len()))?;
        Ok(start + text) as Result<ImmutableString>
    });
    for name in ["+=", "append"] {
        engine.register_fn(name, |text: &mut ImmutableString, blob: Blob| {
            *text = text_of(text, &blob)?;
            Ok(()) as Result<()>
        });
    }
}

fn for_replace(engine: &mut rhai::Engine) {
    engine.register_fn("replace", |text: &mut ImmutableString, old: &str, new: &str| replace_all(text, old, new));
    engine.register_fn("replace", |text: &mut ImmutableString, old: char, new: char| {
        replace_all(text, old.encode_utf8(&mut [0; 4]), new.encode_utf8(&mut [0; 4]))
    });
    engine.register_fn("replace", |text: &mut ImmutableString, old: char, new: &str| {
        replace_all(text, old.encode_utf8(&mut [0; 4]), new)
    });
    engine.register_fn("replace", |text: &mut ImmutableString, old: &str, new: char| {
        replace_all(text, old, new.encode_utf8(&mut [0; 4]))
    });
}

/// `sleep` waits on the fiber, not in the thread.
fn waiting(engine: &mut rhai::Engine) {
    engine.register_fn("sleep", |context: NativeCallContext, seconds: INT| {
        #[expect(clippy::cast_precision_loss, reason = "nobody sleeps that long")]
        sleep(&context, seconds as FLOAT)
    });
    engine.register_fn("sleep", |context: NativeCallContext, seconds: FLOAT| sleep(&context, seconds));
}

fn sleep(context: &NativeCallContext, seconds: FLOAT) -> Result<()> {
    let duration = Duration::try_from_secs_f64(seconds)
        .map_err(|_| raise(context, format!("`sleep` takes seconds from 0 on, found {seconds}")))?;
    fiber::wait(tokio::time::sleep(duration)).map_err(|stop| Wrong::from(stop).raise(context))
}

/// `print` and `debug` go to the error log with the request's number.
fn output(engine: &mut rhai::Engine) {
    engine.on_print(|text| log(Level::INFO, text));
    engine.on_debug(|text, source, position| {
        let source = source.unwrap_or("script");
        let line = position.line().and_then(|it| line_in_file(source, it));
        let line = line.map(|it| format!(":{it}")).unwrap_or_default();
        log(Level::INFO, &format!("{source}{line}: {text}"));
    });
}

fn room(bytes: usize) -> Result<()> {
    fiber::room(bytes).map_err(|stop| Wrong::from(stop).raise_at(rhai::Position::NONE))
}

fn step() -> Result<()> {
    fiber::tick().map_err(|stop| Wrong::from(stop).raise_at(rhai::Position::NONE))
}

fn missing(length: usize, wanted: INT) -> usize {
    usize::try_from(wanted).unwrap_or(0).saturating_sub(length)
}

fn byte(value: INT) -> u8 {
    // Rhai's own `blob` takes the lowest eight bits as well.
    value.to_le_bytes()[0]
}

fn new_blob(length: INT, with: INT) -> Result<Blob> {
    let length = usize::try_from(length).unwrap_or(0);
    room(length)?;
    Ok(vec![byte(with); length])
}

fn pad_string(text: &mut ImmutableString, length: INT, with: &str) -> Result<()> {
    let more = missing(text.chars().count(), length);
    if more == 0 || with.is_empty() {
        return Ok(());
    }
    room(text.len().saturating_add(more.saturating_mul(4)))?;
    let mut padded = String::from(text.as_str());
    padded.extend(with.chars().cycle().take(more));
    *text = padded.into();
    Ok(())
}

fn replace_all(text: &mut ImmutableString, old: &str, new: &str) -> Result<()> {
    if old.is_empty() {
        return Ok(());
    }
    let places = text.matches(old).count();
    if places == 0 {
        return Ok(());
    }
    room((text.len() - places * old.len()).saturating_add(places.saturating_mul(new.len())))?;
    *text = text.replace(old, new).into();
    Ok(())
}

fn text_of(before: &str, blob: &[u8]) -> Result<ImmutableString> {
    room(before.len().saturating_add(blob.len().saturating_mul(6)))?;
    let mut text = String::from(before);
    text.push_str(&String::from_utf8_lossy(blob));
    Ok(text.into())
}

#[cfg(test)]
mod tests;
