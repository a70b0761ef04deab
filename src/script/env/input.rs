//! The body, or a part of it, as a stream that can be read in parts and from the start again:
//! `rack.input`, and what is common to it and an uploaded file.

use std::cell::Cell;
use std::rc::Rc;

use rhai::{Blob, Dynamic, Engine, EvalAltResult, FnPtr, ImmutableString, NativeCallContext, Variant};

use super::received::Received;
use crate::script::raise::Wrong;

/// How much is looked at first in search of a line's end.
const LINE: u64 = 256;

/// Bytes of a body and how far they have been read; clones read on where the others stopped.
#[derive(Clone)]
pub(super) struct Input(Rc<State>);

struct State {
    body: Received,
    start: u64,
    length: u64,
    at: Cell<u64>,
}

impl Input {
    /// The whole body.
    pub fn whole(body: Received) -> Input {
        let length = body.len();
        Input::part(body, 0, length)
    }

    /// So many bytes of it from `start` on.
    pub fn part(body: Received, start: u64, length: u64) -> Input {
        Input(Rc::new(State { body, start, length, at: Cell::new(0) }))
    }

    /// Length in bytes, whether they were read or not.
    pub fn len(&self) -> u64 {
        self.0.length
    }

    fn left(&self) -> Result<u64, Wrong> {
        self.0.body.check()?;
        Ok(self.0.length.saturating_sub(self.0.at.get()))
    }

    /// At most `count` bytes from where reading has come to, without going on.
    fn peek(&self, count: u64) -> Result<Vec<u8>, Wrong> {
        let count = count.min(self.left()?);
        self.0.body.read(self.0.start + self.0.at.get(), count)
    }

    fn go_on(&self, bytes: &[u8]) {
        self.0.at.set(self.0.at.get() + bytes.len() as u64);
    }

    fn rewind(&self) {
        self.0.at.set(0);
    }

    fn read_all(&self) -> Result<ImmutableString, Wrong> {
        let bytes = self.peek(self.left()?)?;
        self.go_on(&bytes);
        self.text(bytes)
    }

    /// A character that `count` would split is left for the next time, unless it is the first.
    fn read(&self, count: i64) -> Result<Dynamic, Wrong> {
        let Some(count) = self.count(count)? else { return Ok(Dynamic::UNIT) };
        let mut bytes = self.peek(count)?;
        if let Err(error) = std::str::from_utf8(&bytes)
            && error.error_len().is_none()
        {
            bytes.truncate(error.valid_up_to());
            if bytes.is_empty() {
                bytes = self.first_character()?;
            }
        }
        self.go_on(&bytes);
        Ok(self.text(bytes)?.into())
    }

    fn first_character(&self) -> Result<Vec<u8>, Wrong> {
        let mut bytes = self.peek(4)?;
        let end = std::str::from_utf8(&bytes).map_or_else(|error| error.valid_up_to(), str::len);
        if let Some(character) = std::str::from_utf8(&bytes[..end]).ok().and_then(|text| text.chars().next()) {
            bytes.truncate(character.len_utf8());
        }
        Ok(bytes)
    }

    fn blob_all(&self) -> Result<Blob, Wrong> {
        let bytes = self.peek(self.left()?)?;
        self.go_on(&bytes);
        Ok(bytes)
    }

    fn blob(&self, count: i64) -> Result<Dynamic, Wrong> {
        let Some(count) = self.count(count)? else { return Ok(Dynamic::UNIT) };
        let bytes = self.peek(count)?;
        self.go_on(&bytes);
        Ok(Dynamic::from_blob(bytes))
    }

    /// How many bytes to read; `None` at the end, where Rack's `read(n)` has no value.
    fn count(&self, count: i64) -> Result<Option<u64>, Wrong> {
        let Ok(count) = u64::try_from(count) else {
            return Err(Wrong::Server(format!("`count` is {count}, expected 0 or more")));
        };
        let is_at_end = self.left()? == 0 && count > 0;
        Ok((!is_at_end).then_some(count))
    }

    /// The next line with its `\n`, which the last may lack; `()` at the end.
    fn line(&self) -> Result<Dynamic, Wrong> {
        let left = self.left()?;
        if left == 0 {
            return Ok(Dynamic::UNIT);
        }
        let mut window = LINE;
        loop {
            let mut bytes = self.peek(window)?;
            let end = memchr::memchr(b'\n', &bytes).map(|place| place + 1);
            if end.is_some() || window >= left {
                bytes.truncate(end.unwrap_or(bytes.len()));
                self.go_on(&bytes);
                return Ok(self.text(bytes)?.into());
            }
            window *= 4;
        }
    }

    fn text(&self, bytes: Vec<u8>) -> Result<ImmutableString, Wrong> {
        let start = self.0.start + self.0.at.get() - bytes.len() as u64;
        String::from_utf8(bytes).map(Into::into).map_err(|error| {
            let place = start + error.utf8_error().valid_up_to() as u64;
            Wrong::malformed(format!("the body is not UTF-8 at byte {place}"))
        })
    }
}

impl AsRef<Input> for Input {
    fn as_ref(&self) -> &Input {
        self
    }
}

pub(super) fn register(engine: &mut Engine) {
    engine
        .register_type_with_name::<Input>("Input")
        .register_fn("to_string", |_: Input| "rack.input")
        .register_fn("to_debug", |_: Input| "rack.input");
    register_reading::<Input>(engine);
}

/// Registers what is read as a stream. The methods take it by value, for what is said of the env's.
pub(super) fn register_reading<T: AsRef<Input> + Variant + Clone>(engine: &mut Engine) {
    type Outcome<T> = Result<T, Box<EvalAltResult>>;
    engine
        .register_fn("read", |context: NativeCallContext, input: T| {
            input.as_ref().read_all().map_err(|wrong| wrong.raise(&context))
        })
        .register_fn("read", |context: NativeCallContext, input: T, count: i64| {
            input.as_ref().read(count).map_err(|wrong| wrong.raise(&context))
        })
        .register_fn("blob", |context: NativeCallContext, input: T| -> Outcome<Blob> {
            input.as_ref().blob_all().map_err(|wrong| wrong.raise(&context))
        })
        .register_fn("blob", |context: NativeCallContext, input: T, count: i64| {
            input.as_ref().blob(count).map_err(|wrong| wrong.raise(&context))
        })
        .register_fn("gets", |context: NativeCallContext, input: T| {
            input.as_ref().line().map_err(|wrong| wrong.raise(&context))
        })
        .register_fn("each", |context: NativeCallContext, input: T, each: FnPtr| -> Outcome<()> {
            loop {
                let line = input.as_ref().line().map_err(|wrong| wrong.raise(&context))?;
                if line.is_unit() {
                    return Ok(());
                }
                let _: Dynamic = each.call_within_context(&context, (line,))?;
            }
        })
        .register_fn("rewind", |input: T| {
            input.as_ref().rewind();
            input
        });
}
