//! The form that a request brings, in either of its two forms, checked when it is first read.

use std::rc::Rc;

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
            target::check_encoding("the form", pair).map_err(Wrong::malformed)?;
            for (name, value) in form_urlencoded::parse(pair.as_bytes()) {
                pairs.push((name.as_ref().into(), value.as_ref().into()));
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
