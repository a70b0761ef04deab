//! A file that may be shown to the public: whether it may, its bytes, and the response that it is under the conditions
//! of a request. It knows neither who asks for it nor how its path was found.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

mod body;
mod condition;
mod hidden;
mod reply;

pub use hidden::Hidden;
pub use reply::{content_type, reply, whole};

/// What a file of SQLite's begins with.
const SQLITE: &[u8; 16] = b"SQLite format 3\0";

/// Opens a file that may be shown, and whose real path lies in `root`. `None` if there is none.
///
/// Who can swap files for links while this looks at them can write in the folder, and may publish
/// what he likes.
///
/// # Errors
/// If it is there, but can't be read.
pub fn open(path: &Path, root: Option<&Path>, hidden: &Hidden) -> io::Result<Option<File>> {
    let Some(metadata) = present(path.metadata())? else { return Ok(None) };
    // A pipe or a device could keep the worker waiting for ever.
    if !metadata.is_file() {
        return Ok(None);
    }
    let Some(real) = present(path.canonicalize())? else { return Ok(None) };
    // The folder may itself be a link, and be swapped for another at any time.
    let is_inside = root.map_or(Ok(true), |root| root.canonicalize().map(|root| real.starts_with(root)))?;
    if !is_inside || hidden.has(path, &real, &metadata) {
        return Ok(None);
    }
    let Some(file) = present(File::open(&real))? else { return Ok(None) };
    // Databases that the configuration does not name are not for the public either.
    let mut start = [0; SQLITE.len()];
    let is_database = file.read_at(&mut start, 0)? == SQLITE.len() && start == *SQLITE;
    Ok(if is_database { None } else { Some(file) })
}

/// Turns the errors that say that there is no such file into `None`.
///
/// # Errors
/// All others.
pub fn present<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    use io::ErrorKind::{InvalidFilename, InvalidInput, NotADirectory, NotFound};
    match result {
        Err(error) if matches!(error.kind(), NotFound | NotADirectory | InvalidFilename | InvalidInput) => Ok(None),
        other => other.map(Some),
    }
}
