//! Bytes as text and back: base64, base64 for URLs, hexadecimal digits.

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use rhai::{Blob, Dynamic, FuncRegistration, Module, NativeCallContext};

use super::{PIECE, bytes, turn};
use crate::binding::limit::room;
use crate::script::{Result, Wrong, raise};

/// Reads what others have written with padding and without.
const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const READ_STANDARD: GeneralPurpose = GeneralPurpose::new(&STANDARD, LENIENT);
const READ_URL_SAFE: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, LENIENT);

pub(super) fn register(module: &mut Module) {
    for (name, form) in [("base64_encode", "base64"), ("base64url_encode", "base64url"), ("hex_encode", "hex")] {
        FuncRegistration::new(name).set_into_module(module, move |call: NativeCallContext, data: Dynamic| {
            bytes::of(&call, &data, |data| formed(&call, data, form))?
        });
    }
    for (name, engine) in [("base64_decode", READ_STANDARD), ("base64url_decode", READ_URL_SAFE)] {
        FuncRegistration::new(name).set_into_module(module, move |call: NativeCallContext, text: &str| {
            room(&call, text.len())?;
            engine
                .decode(text)
                .map_err(|error| raise(&call, format!("the text is not {}: {}", of(name), lower(&error))))
        });
    }
    FuncRegistration::new("hex_decode").set_into_module(module, |call: NativeCallContext, text: &str| {
        room(&call, text.len())?;
        base16ct::mixed::decode_vec(text)
            .map_err(|_| raise(&call, "expected hexadecimal digits, two for each byte".to_owned()))
    });
}

/// Bytes in the form that a script asked for.
pub(super) fn formed(call: &NativeCallContext, data: impl AsRef<[u8]> + Into<Blob>, form: &str) -> Result<Dynamic> {
    room(call, data.as_ref().len().saturating_mul(2))?;
    Ok(match form {
        "hex" => text(call, data.as_ref(), |piece, out| out.push_str(&base16ct::lower::encode_string(piece)))?,
        "base64" => text(call, data.as_ref(), |piece, out| BASE64_STANDARD.encode_string(piece, out))?,
        "base64url" => text(call, data.as_ref(), |piece, out| BASE64_URL_SAFE_NO_PAD.encode_string(piece, out))?,
        "raw" => Dynamic::from_blob(data.into()),
        _ => {
            let expected = "expected `hex`, `base64`, `base64url` or `raw`";
            return Err(raise(call, format!("the form is `{form}`, {expected}")));
        }
    })
}

/// A text that is written piece by piece; each has a number of bytes that three go into, as base64 has it.
fn text(call: &NativeCallContext, data: &[u8], write: impl Fn(&[u8], &mut String)) -> Result<Dynamic> {
    let mut out = String::with_capacity(data.len().saturating_mul(2));
    for piece in data.chunks(PIECE) {
        write(piece, &mut out);
        turn(piece).map_err(|stop| Wrong::from(stop).raise(call))?;
    }
    Ok(out.into())
}

fn of(name: &str) -> &'static str {
    if name == "base64_decode" { "base64" } else { "base64 for URLs" }
}

fn lower(error: &base64::DecodeError) -> String {
    let text = error.to_string().trim_end_matches('.').to_owned();
    let mut characters = text.chars();
    characters.next().map(|it| it.to_ascii_lowercase()).into_iter().chain(characters).collect()
}
