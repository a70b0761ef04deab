//! `multipart/form-data` (RFC 7578): where the parts of a form lie in a body, which is walked from
//! front to back through a window and never held as a whole.
//!
//! A crate (multer) was looked at: it takes in whatever has arrived before it looks for a boundary,
//! bounds neither the head of a part nor their number, and does not say where a form is malformed.

use memchr::memmem::{self, Finder};

use crate::fiber;
use crate::script::raise::Wrong;

mod head;
mod window;

pub(super) use head::{Head, parameter};
pub(super) use window::Window;

/// Most parts of a form; a form of a page has some dozens of fields.
const PARTS: usize = 1000;
/// Longest head of a part in bytes.
const HEAD: usize = 16 << 10;
/// Longest boundary in characters (RFC 2046 §5.1.1).
const BOUNDARY: usize = 70;

/// One part of a form.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub head: Head,
    /// Where its content begins in the body, and its length in bytes.
    pub start: u64,
    pub length: u64,
}

/// The boundary that a content type names.
///
/// # Errors
/// If it names none that there could be.
pub(super) fn boundary(content_type: &str) -> Result<String, Wrong> {
    let found = parameter(content_type, "boundary");
    match found {
        Some(boundary) if !boundary.is_empty() && boundary.len() <= BOUNDARY => Ok(boundary),
        _ => Err(Wrong::malformed("the content type of the form has no boundary of 1 to 70 characters")),
    }
}

/// Gives each part to `take` as soon as it was found, with the window that its content can be read
/// through.
///
/// # Errors
/// If the body is malformed, which the error places, or has too many parts; if the script has to
/// stop; and what `take` fails with.
pub(super) fn walk<R: FnMut(u64, &mut [u8]) -> Result<(), Wrong>>(
    boundary: &str,
    window: &mut Window<R>,
    mut take: impl FnMut(Part, &mut Window<R>) -> Result<(), Wrong>,
) -> Result<(), Wrong> {
    let delimiter = format!("\r\n--{boundary}");
    let finder = Finder::new(delimiter.as_bytes());
    let mut count = 0;
    // The first has no line before it, unless there is a preamble.
    let first = &delimiter.as_bytes()[2..];
    let mut at = if window.bytes(0, first.len())? == first {
        first.len() as u64
    } else {
        let found = window.find(&finder, 0)?;
        found.ok_or_else(|| malformed(0, "its boundary is nowhere"))? + delimiter.len() as u64
    };
    while let Some(head) = next_line(window, at)? {
        fiber::tick()?;
        count += 1;
        if count > PARTS {
            return Err(Wrong::Malformed(413, format!("the form has more than {PARTS} parts")));
        }
        let (head, start) = read_head(window, head)?;
        // An empty part may have no line of its own: the one before it then belongs to the boundary.
        let end = window.find(&finder, start - 2)?;
        let end = end.ok_or_else(|| malformed(window.length(), &format!("it ends inside of {head}")))?;
        at = end + delimiter.len() as u64;
        take(Part { head, start, length: end.saturating_sub(start) }, window)?;
    }
    Ok(())
}

/// Where the line behind a boundary, which ends at `at`, begins; `None` behind the last.
fn next_line<R: FnMut(u64, &mut [u8]) -> Result<(), Wrong>>(
    window: &mut Window<R>,
    at: u64,
) -> Result<Option<u64>, Wrong> {
    // Spaces may stand there, for old gateways (RFC 2046 §5.1.1); nobody sends many.
    const SPACES: usize = 64;
    let rest = window.bytes(at, SPACES)?;
    if rest.starts_with(b"--") {
        return Ok(None);
    }
    let spaces = rest.iter().take_while(|it| matches!(it, b' ' | b'\t')).count();
    if !rest[spaces..].starts_with(b"\r\n") {
        return Err(malformed(at, "behind the boundary stands neither a line's end nor `--`"));
    }
    Ok(Some(at + spaces as u64 + 2))
}

/// The head of a part that begins at `at`, and where its content does.
fn read_head<R: FnMut(u64, &mut [u8]) -> Result<(), Wrong>>(
    window: &mut Window<R>,
    at: u64,
) -> Result<(Head, u64), Wrong> {
    // With the line's end before it, so that a head without lines is seen, too.
    let bytes = window.bytes(at - 2, HEAD)?;
    let Some(end) = memmem::find(bytes, b"\r\n\r\n") else {
        return Err(if bytes.len() < HEAD {
            malformed(window.length(), "it ends inside of the head of a part")
        } else {
            malformed(at, "the head of a part is too long")
        });
    };
    let text = std::str::from_utf8(bytes.get(2..end).unwrap_or(b""));
    let head = text.map_err(|_| "the head of a part is not UTF-8".to_owned()).and_then(Head::parse);
    Ok((head.map_err(|what| malformed(at, &what))?, at - 2 + end as u64 + 4))
}

fn malformed(at: u64, what: &str) -> Wrong {
    Wrong::malformed(format!("the form is malformed at byte {at}: {what}"))
}

#[cfg(test)]
mod tests;
