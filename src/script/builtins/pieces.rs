//! Built-ins that make a list of the pieces of a text or a blob: of one byte they make a value that takes many.

use rhai::{Array, Blob, INT, ImmutableString};

use super::room;
use crate::script::fault::Result;

/// What one element of an array takes, with a short string in it.
const TEXT_BYTES: usize = 64;
/// What one element takes that is no text.
const VALUE_BYTES: usize = size_of::<rhai::Dynamic>();

/// Puts those that ask for room first in the place of Rhai's.
pub(super) fn register(engine: &mut rhai::Engine) {
    engine.register_fn("split", |text: &mut ImmutableString| {
        room(text.len().saturating_mul(TEXT_BYTES) / 2)?;
        Ok(text.split_whitespace().map(Into::into).collect()) as Result<Array>
    });
    engine.register_fn("split", |text: &mut ImmutableString, at: &str| forwards(text, at, INT::MAX));
    engine.register_fn("split", |text: &mut ImmutableString, at: char| {
        forwards(text, at.encode_utf8(&mut [0; 4]), INT::MAX)
    });
    engine.register_fn("split", |text: &mut ImmutableString, at: &str, most: INT| forwards(text, at, most));
    engine.register_fn("split", |text: &mut ImmutableString, at: char, most: INT| {
        forwards(text, at.encode_utf8(&mut [0; 4]), most)
    });
    engine.register_fn("split_rev", |text: &mut ImmutableString, at: &str| backwards(text, at, INT::MAX));
    engine.register_fn("split_rev", |text: &mut ImmutableString, at: char| {
        backwards(text, at.encode_utf8(&mut [0; 4]), INT::MAX)
    });
    engine.register_fn("split_rev", |text: &mut ImmutableString, at: &str, most: INT| backwards(text, at, most));
    engine.register_fn("split_rev", |text: &mut ImmutableString, at: char, most: INT| {
        backwards(text, at.encode_utf8(&mut [0; 4]), most)
    });
    engine.register_fn("to_chars", |text: &str| {
        room(text.chars().count().saturating_mul(VALUE_BYTES))?;
        Ok(text.chars().map(Into::into).collect()) as Result<Array>
    });
    engine.register_fn("to_array", |blob: &mut Blob| {
        room(blob.len().saturating_mul(VALUE_BYTES))?;
        Ok(blob.iter().map(|byte| INT::from(*byte).into()).collect()) as Result<Array>
    });
}

fn forwards(text: &ImmutableString, at: &str, most: INT) -> Result<Array> {
    let Some(most) = pieces(text, at, most)? else { return Ok(vec![text.clone().into()]) };
    Ok(text.splitn(most, at).map(Into::into).collect())
}

fn backwards(text: &ImmutableString, at: &str, most: INT) -> Result<Array> {
    let Some(most) = pieces(text, at, most)? else { return Ok(vec![text.clone().into()]) };
    Ok(text.rsplitn(most, at).map(Into::into).collect())
}

/// At most how many pieces there will be, for which there is room; `None` where the text stays whole.
fn pieces(text: &str, at: &str, most: INT) -> Result<Option<usize>> {
    if most <= 1 || text.is_empty() {
        return Ok(None);
    }
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let places = text.matches(at).take(most).count();
    if places == 0 {
        return Ok(None);
    }
    room((places + 1).min(most).saturating_mul(TEXT_BYTES))?;
    Ok(Some(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_those_of_rhai() {
        let (mut own, rhais) = (rhai::Engine::new(), rhai::Engine::new());
        register(&mut own);
        for script in [
            r#""a, b,c".split()"#,
            r#""a,b,,c".split(",")"#,
            r#""a,b,,c".split(',')"#,
            r#""a,b,,c".split(",", 2)"#,
            r#""a,b,,c".split(',', 3)"#,
            r#""a,b,,c".split(",", 0)"#,
            r#""a,b,,c".split_rev(",")"#,
            r#""a,b,,c".split_rev(',')"#,
            r#""a,b,,c".split_rev(",", 2)"#,
            r#""a,b,,c".split_rev(',', 9)"#,
            r#""abc".split("x")"#,
            r#""é b".split("")"#,
            r#""".split(",")"#,
            r#""é b".to_chars()"#,
            r#""".to_chars()"#,
            r#"blob(3, 200).to_array()"#,
        ] {
            let text = |engine: &rhai::Engine| format!("{:?}", engine.eval::<Array>(script).unwrap());
            assert_eq!(text(&own), text(&rhais), "{script}");
        }
    }
}
