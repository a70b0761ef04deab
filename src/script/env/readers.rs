//! `int float bool string` of fields: the value in its type, or a 400 that names the field.

use rhai::{Dynamic, Engine, EvalAltResult, NativeCallContext};

use super::Fields;
use crate::script::decimal::Decimal;
use crate::script::raise::Wrong;

/// A type that fields can be read as.
struct Reader {
    name: &'static str,
    expected: &'static str,
    /// `None` if the value doesn't fit.
    read: fn(&Dynamic) -> Option<Dynamic>,
}

const READERS: [Reader; 4] = [
    Reader { name: "int", expected: "an integer", read: int },
    Reader { name: "float", expected: "a number", read: float },
    Reader { name: "bool", expected: "`true` or `false`", read: bool },
    Reader { name: "string", expected: "a text", read: string },
];

/// How much of a value that doesn't fit goes into the message.
const SHOWN: usize = 64;

/// Registers each with and without a default, which is for an absent field only: one that is there
/// and doesn't fit is the client's mistake all the same.
pub(super) fn register(engine: &mut Engine) {
    type Outcome = Result<Dynamic, Box<EvalAltResult>>;
    for reader in &READERS {
        engine
            .register_fn(reader.name, |context: NativeCallContext, fields: Fields, name: &str| -> Outcome {
                let value = reader.value(&fields, name).map_err(|wrong| wrong.raise(&context))?;
                value.ok_or_else(|| {
                    Wrong::bad_request(format!("`{name}` is missing, expected {}", reader.expected)).raise(&context)
                })
            })
            .register_fn(reader.name, |context: NativeCallContext, fields: Fields, name: &str, default: Dynamic| {
                reader.value(&fields, name).map(|it| it.unwrap_or(default)).map_err(|wrong| wrong.raise(&context))
            });
    }
}

impl Reader {
    fn value(&self, fields: &Fields, name: &str) -> Result<Option<Dynamic>, Wrong> {
        let Some(value) = fields.value(name)? else { return Ok(None) };
        (self.read)(&value)
            .map(Some)
            .ok_or_else(|| Wrong::bad_request(format!("`{name}` is `{}`, expected {}", shown(&value), self.expected)))
    }
}

fn int(value: &Dynamic) -> Option<Dynamic> {
    if value.is_int() {
        return Some(value.clone());
    }
    let text = value.as_immutable_string_ref().ok()?;
    // A sign in front of it is `-` only: in a query `+` is a space.
    if text.starts_with('+') { None } else { text.parse::<i64>().ok().map(Dynamic::from_int) }
}

fn float(value: &Dynamic) -> Option<Dynamic> {
    if let Ok(number) = value.as_float() {
        return Some(number.into());
    }
    if let Ok(number) = value.as_int() {
        return Some((number as f64).into());
    }
    if let Some(number) = value.read_lock::<Decimal>() {
        return Some(number.to_float().into());
    }
    let text = value.as_immutable_string_ref().ok()?;
    // Rust's floats are also `inf`, `nan`, `+1`, `.5` and `5.`.
    let is_number =
        text.trim_start_matches('-').starts_with(|first: char| first.is_ascii_digit()) && !text.ends_with('.');
    let number = text.parse::<f64>().ok().filter(|number| is_number && number.is_finite())?;
    Some(number.into())
}

fn bool(value: &Dynamic) -> Option<Dynamic> {
    if value.is_bool() {
        return Some(value.clone());
    }
    // `on` is what a browser sends for a ticked box.
    match value.as_immutable_string_ref().ok()?.as_str() {
        "true" | "1" | "on" => Some(true.into()),
        "false" | "0" | "off" => Some(false.into()),
        _ => None,
    }
}

fn string(value: &Dynamic) -> Option<Dynamic> {
    value.is_string().then(|| value.clone())
}

/// The value as the client wrote it, cut where it is long.
fn shown(value: &Dynamic) -> String {
    let text = if value.is_unit() {
        "null".into()
    } else if value.is_map() {
        "{…}".into()
    } else if value.is_array() {
        "[…]".into()
    } else if let Some(number) = value.read_lock::<Decimal>() {
        number.to_string()
    } else {
        value.to_string()
    };
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
