//! A file that came with a form: what the client says of it, and its bytes, which stay in the
//! request's body until a script reads them.

use std::rc::Rc;

use rhai::{Dynamic, Engine, ImmutableString};

use super::input::{self, Input};
use super::multipart::Head;

/// An uploaded file; it is read like `rack.input`.
#[derive(Clone)]
pub(super) struct File {
    said: Rc<Said>,
    input: Input,
}

/// What the client says; none of it can be relied on.
struct Said {
    name: ImmutableString,
    filename: ImmutableString,
    content_type: Dynamic,
}

impl File {
    pub fn new(head: Head, input: Input) -> File {
        let said = Said {
            name: head.name.into(),
            filename: head.filename.unwrap_or_default().into(),
            content_type: head.content_type.map_or(Dynamic::UNIT, Into::into),
        };
        File { said: Rc::new(said), input }
    }
}

impl AsRef<Input> for File {
    fn as_ref(&self) -> &Input {
        &self.input
    }
}

pub(super) fn register(engine: &mut Engine) {
    engine
        .register_type_with_name::<File>("File")
        .register_get("name", |file: &mut File| file.said.name.clone())
        .register_get("filename", |file: &mut File| file.said.filename.clone())
        .register_get("content_type", |file: &mut File| file.said.content_type.clone())
        .register_get("size", |file: &mut File| i64::try_from(file.input.len()).unwrap_or(i64::MAX))
        .register_fn("to_string", |file: File| format!("file `{}`", file.said.filename))
        .register_fn("to_debug", |file: File| format!("file `{}`", file.said.filename));
    input::register_reading::<File>(engine);
}
