//! `rack.input`: the body as a stream that can be read in parts and from the start again.

use std::cell::Cell;
use std::io::{Read, Seek, SeekFrom};
use std::rc::Rc;

use rhai::{Blob, Dynamic, Engine, EvalAltResult, FnPtr, ImmutableString, NativeCallContext};

use super::refused;
use crate::http::{Arrived, Refused, Request, Upload};
use crate::script::raise::Wrong;

/// How much of a file is looked at in search of a line's end.
const LINE_STEP: u64 = 8 << 10;

/// The body and how far it has been read; clones read on where the others stopped.
#[derive(Clone)]
pub(super) struct Input(Rc<State>);

struct State {
    request: Rc<Request>,
    memory: u64,
    at: Cell<u64>,
    has_ended: Cell<bool>,
}

impl Input {
    pub fn new(request: Rc<Request>, memory: u64, has_ended: bool) -> Input {
        Input(Rc::new(State { request, memory, at: Cell::new(0), has_ended: Cell::new(has_ended) }))
    }

    /// From now on it can't be read.
    pub fn end(&self) {
        self.0.has_ended.set(true);
    }

    fn left(&self) -> Result<u64, Wrong> {
        if self.0.has_ended.get() {
            return Err(Wrong::Server("the request has ended, `rack.input` can't be read any more".into()));
        }
        let length = self.0.request.upload.borrow().len().unwrap_or(0);
        Ok(length.saturating_sub(self.0.at.get()))
    }

    /// At most `count` bytes from where reading has come to, without going on.
    fn peek(&self, count: u64) -> Result<Vec<u8>, Wrong> {
        let count = count.min(self.left()?);
        if count > self.0.memory {
            return Err(refused(Refused::TooLarge));
        }
        let (at, count) = (self.0.at.get(), usize::try_from(count).map_err(|_| refused(Refused::TooLarge))?);
        match &mut *self.0.request.upload.borrow_mut() {
            Upload::Here(Arrived::Memory(bytes)) => {
                Ok(bytes.iter().skip(usize::try_from(at).unwrap_or(usize::MAX)).take(count).copied().collect())
            }
            Upload::Here(Arrived::File(file, _)) => {
                let mut bytes = vec![0; count];
                let read = file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(&mut bytes));
                read.map_err(|error| refused(Refused::NoRoom(error)))?;
                Ok(bytes)
            }
            Upload::None | Upload::Coming(_) => Ok(Vec::new()),
        }
    }

    fn go_on(&self, bytes: &[u8]) {
        self.0.at.set(self.0.at.get() + bytes.len() as u64);
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
        let mut window = LINE_STEP;
        loop {
            let mut bytes = self.peek(window)?;
            let end = memchr::memchr(b'\n', &bytes).map(|place| place + 1);
            if end.is_some() || window >= left {
                bytes.truncate(end.unwrap_or(bytes.len()));
                self.go_on(&bytes);
                return Ok(self.text(bytes)?.into());
            }
            window *= 2;
        }
    }

    fn text(&self, bytes: Vec<u8>) -> Result<ImmutableString, Wrong> {
        let start = self.0.at.get() - bytes.len() as u64;
        String::from_utf8(bytes).map(Into::into).map_err(|error| {
            let place = start + error.utf8_error().valid_up_to() as u64;
            Wrong::malformed(format!("the body is not UTF-8 at byte {place}"))
        })
    }
}

/// The methods take it by value, for what is said of the env's.
pub(super) fn register(engine: &mut Engine) {
    type Outcome<T> = Result<T, Box<EvalAltResult>>;
    engine
        .register_type_with_name::<Input>("Input")
        .register_fn("read", |context: NativeCallContext, input: Input| {
            input.read_all().map_err(|wrong| wrong.raise(&context))
        })
        .register_fn("read", |context: NativeCallContext, input: Input, count: i64| {
            input.read(count).map_err(|wrong| wrong.raise(&context))
        })
        .register_fn("blob", |context: NativeCallContext, input: Input| -> Outcome<Blob> {
            let bytes = input.left().and_then(|left| input.peek(left)).map_err(|wrong| wrong.raise(&context))?;
            input.go_on(&bytes);
            Ok(bytes)
        })
        .register_fn("blob", |context: NativeCallContext, input: Input, count: i64| {
            input.blob(count).map_err(|wrong| wrong.raise(&context))
        })
        .register_fn("gets", |context: NativeCallContext, input: Input| {
            input.line().map_err(|wrong| wrong.raise(&context))
        })
        .register_fn("each", |context: NativeCallContext, input: Input, each: FnPtr| -> Outcome<()> {
            loop {
                let line = input.line().map_err(|wrong| wrong.raise(&context))?;
                if line.is_unit() {
                    return Ok(());
                }
                let _: Dynamic = each.call_within_context(&context, (line,))?;
            }
        })
        .register_fn("rewind", |input: Input| {
            input.0.at.set(0);
            input
        })
        .register_fn("to_string", |_: Input| "rack.input")
        .register_fn("to_debug", |_: Input| "rack.input");
}
