//! The form that a request brings, in either of its two forms, checked when it is first read.

use std::borrow::Cow;
use std::rc::Rc;

use percent_encoding::percent_decode_str;
use rhai::Dynamic;

use super::body::Content;
use super::fields::Pairs;
use super::file::File;
use super::input::Input;
use super::multipart::{self, Part, Window};
use super::{Env, target};
use crate::fiber;
use crate::script::raise::Wrong;

/// Longest field of a form in parts that is no file, in bytes.
const FIELD: u64 = 1 << 20;

/// Bytes of an encoded form that are decoded before others get their turn.
const PIECE: usize = 256 << 10;

/// The fields and the files of a form.
pub(super) struct Form {
    pub fields: Rc<Pairs>,
    pub files: Rc<Pairs>,
}

impl Env {
    /// No fields and no files, where the body is no form.
    pub(super) fn form(&self) -> Result<&Form, Wrong> {
        if let Some(form) = self.0.form.get() {
            return Ok(form);
        }
        let form = match self.content() {
            Content::Form => Form { fields: self.read_encoded()?, files: Pairs::none() },
            Content::Multipart => self.read_parts()?,
            Content::Json | Content::Other => Form { fields: Pairs::none(), files: Pairs::none() },
        };
        Ok(self.0.form.get_or_init(|| form))
    }

    /// `application/x-www-form-urlencoded`.
    fn read_encoded(&self) -> Result<Rc<Pairs>, Wrong> {
        let bytes = self.received().all()?;
        let text = std::str::from_utf8(&bytes)
            .map_err(|error| Wrong::malformed(format!("the form is not UTF-8 at byte {}", error.valid_up_to())))?;
        if let Some(place) = memchr::memchr(0, &bytes) {
            return Err(Wrong::malformed(format!("the form has a NUL byte at byte {place}")));
        }
        let mut pairs = Vec::new();
        for pair in text.split('&') {
            // A few megabytes make many times as much of pairs.
            fiber::tick()?;
            if !pair.is_empty() {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                pairs.push((decoded(name)?.into(), decoded(value)?.into()));
            }
        }
        Ok(Pairs::parameters(pairs))
    }

    /// `multipart/form-data`: fields are read, files stay where they are.
    fn read_parts(&self) -> Result<Form, Wrong> {
        let received = self.received();
        received.check()?;
        // As with the other kinds: some clients name the type of a body that they don't send.
        if received.len() == 0 {
            return Ok(Form { fields: Pairs::none(), files: Pairs::none() });
        }
        let boundary = multipart::boundary(self.content_type())?;
        let mut window = Window::new(received.len(), |at, into: &mut [u8]| received.fill(at, into));
        let (mut fields, mut files) = (Vec::new(), Vec::new());
        multipart::walk(&boundary, &mut window, |part, window| {
            match &part.head.filename {
                None => fields.push((part.head.name.as_str().into(), text(&part, window)?.into())),
                // A page sends it for a field that was left empty.
                Some(filename) if filename.is_empty() && part.length == 0 => {}
                Some(_) => {
                    let input = Input::part(received.clone(), part.start, part.length);
                    files.push((part.head.name.as_str().into(), Dynamic::from(File::new(part.head, input))));
                }
            }
            Ok(())
        })?;
        Ok(Form { fields: Pairs::parameters(fields), files: Pairs::parameters(files) })
    }
}

/// A name or a value as it was before it was encoded. One of many megabytes is decoded in pieces, so
/// that others get their turn.
fn decoded(text: &str) -> Result<String, Wrong> {
    let mut out = String::new();
    let mut rest = text;
    loop {
        let (piece, behind) = rest.split_at(piece(rest));
        target::check_encoding("the form", piece).map_err(Wrong::malformed)?;
        let spaced = if piece.contains('+') { Cow::Owned(piece.replace('+', " ")) } else { Cow::Borrowed(piece) };
        out.push_str(&percent_decode_str(&spaced).decode_utf8_lossy());
        if behind.is_empty() {
            return Ok(out);
        }
        fiber::slice()?;
        rest = behind;
    }
}

/// Length of the piece of an encoded text that is decoded first: it ends before what begins a
/// character, unless no text does so.
fn piece(text: &str) -> usize {
    // The longest character is four times `%XX`.
    const LONGEST: usize = 12;
    if text.len() <= PIECE {
        return text.len();
    }
    let bytes = text.as_bytes();
    let begins = |place: &usize| match bytes[*place] {
        b'%' => !matches!(bytes.get(place + 1), Some(b'8' | b'9' | b'a' | b'b' | b'A' | b'B')),
        _ => !bytes[place - 2..*place].contains(&b'%') && text.is_char_boundary(*place),
    };
    let mut places = (PIECE - LONGEST..=PIECE).rev();
    // What has no such place is malformed, and said to be so wherever it is divided.
    let is_encoded = |place: &usize| bytes[*place] == b'%';
    places.clone().find(begins).or_else(|| places.find(is_encoded)).unwrap_or_else(|| text.floor_char_boundary(PIECE))
}

fn text<R: FnMut(u64, &mut [u8]) -> Result<(), Wrong>>(part: &Part, window: &mut Window<R>) -> Result<String, Wrong> {
    let name = &part.head;
    let length = usize::try_from(part.length).ok().filter(|_| part.length <= FIELD);
    let length =
        length.ok_or_else(|| Wrong::Malformed(413, format!("{name} of the form is longer than {FIELD} bytes")))?;
    let bytes = window.bytes(part.start, length)?;
    if let Some(place) = memchr::memchr(0, bytes) {
        return Err(Wrong::malformed(format!("{name} of the form has a NUL byte at byte {place}")));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        Wrong::malformed(format!("{name} of the form is not UTF-8 at byte {}", error.valid_up_to()))
    })?;
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> String {
        percent_decode_str(&text.replace('+', " ")).decode_utf8().unwrap().into_owned()
    }

    #[test]
    fn a_long_value_is_the_same_in_pieces() {
        for unit in ["a", "+", "%41", "%C3%A9", "é", "%e2%82%ac", "€", "%F0%9F%98%80", "😀", "a%2541+%c3%a9é=%25"]
        {
            for before in 0..14 {
                let text = ["x".repeat(before), unit.repeat(2 * PIECE / unit.len() + 3)].concat();
                assert!(decoded(&text).unwrap() == whole(&text), "{before} before {unit}");
            }
        }
    }

    #[test]
    fn what_is_wrong_in_a_long_value_is_found_in_any_piece() {
        for (wrong, message) in [
            ("%zz", "the form has a bad percent-encoding at `%zz`"),
            ("%00", "the form has a NUL byte at `%00`"),
            ("%B3", "the form is not UTF-8 at `%B3`"),
            ("%C3+", "the form is not UTF-8 at `%C3`"),
        ] {
            for place in (PIECE - 15..PIECE + 15).chain([0, 2 * PIECE]) {
                let text = ["a".repeat(place), wrong.into(), "b".repeat(PIECE)].concat();
                assert_eq!(decoded(&text).unwrap_err().to_string(), message, "{place}");
            }
            assert_eq!(decoded(&wrong.repeat(PIECE)).unwrap_err().to_string(), message);
        }
        assert!(decoded(&format!("{}%4", "a".repeat(2 * PIECE))).is_err());
    }
}
