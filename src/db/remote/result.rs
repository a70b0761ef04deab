//! Rows as they come over the network, one after another, within bounds.

use std::rc::Rc;

use super::Bounds;
use crate::db::error::Error;
use crate::db::rows::{self, Builder, Columns, Rows};
use crate::fiber;

/// What a row of a network's protocol may take beside its values, roughly.
const OVERHEAD: usize = 64;

/// How many rows are passed over, after one that could not be read, for the statement to end.
const PASSED: usize = 1_000;

/// Rows on their way to whoever reads them, up to the first that can't be read.
#[derive(Default)]
pub struct Stream {
    fault: Option<Error>,
    passed: usize,
}

impl Stream {
    /// Has a row read; whether the next one may come. A statement with too many rows left is cut off.
    pub fn row(&mut self, read: impl FnOnce() -> Result<(), Error>) -> bool {
        if self.fault.is_none() {
            self.fault = read().err();
            return true;
        }
        self.passed += 1;
        self.passed <= PASSED
    }

    /// # Errors
    /// That of the row that could not be read.
    pub fn end<T>(self, value: T) -> Result<T, Error> {
        self.fault.map_or(Ok(value), Err)
    }
}

/// The rows of a statement that runs.
pub struct Results {
    bounds: Bounds,
    builder: Option<Builder>,
    /// How many came.
    count: usize,
}

impl Results {
    /// None yet.
    pub fn new(bounds: Bounds) -> Results {
        Results { bounds, builder: None, count: 0 }
    }

    /// Where the next row goes, if it is kept; `columns` are asked for with the first.
    ///
    /// # Errors
    /// If there are more rows than the database may give, or the work has no memory left.
    pub fn next(&mut self, columns: impl FnOnce() -> Rc<Columns>) -> Result<Option<&mut Builder>, Error> {
        self.count += 1;
        let builder = self.builder.get_or_insert_with(|| Builder::new(columns()));
        if self.count > self.bounds.most {
            return Ok(None);
        }
        if self.count > self.bounds.max_rows {
            return Err(rows::too_many(self.bounds.max_rows));
        }
        fiber::room(OVERHEAD)?;
        builder.open_row();
        Ok(Some(builder))
    }

    /// The rows that were kept.
    pub fn finish(self) -> Rows {
        self.builder.unwrap_or_else(|| Builder::new(Rc::new(Columns::new(Vec::new())))).finish()
    }
}
