//! What stands in a file of SQL for the client that reads it: `DELIMITER` of MySQL's, and psql's own commands.

use std::io::BufRead;

use super::{Fault, Statements, form};
use crate::db::dialect::{Dialect, is_word};
use crate::db::error::{Error, Kind};

impl<R: BufRead> Statements<R> {
    /// Follows the command for a client that stands at `at` in the place of a statement, if one does
    /// that can be followed; gives where its line ends.
    pub(super) fn command(&mut self, at: usize) -> Result<Option<usize>, Fault> {
        let word = match self.dialect {
            Dialect::Sqlite => return Ok(None),
            Dialect::Mysql => "DELIMITER",
            Dialect::Postgres => "\\",
        };
        if !self.rest()[at..].get(..word.len()).is_some_and(|it| it.eq_ignore_ascii_case(word.as_bytes())) {
            return Ok(None);
        }
        let line = self.rest_of_line(at)?;
        let text = &self.rest()[at..line];
        if self.dialect == Dialect::Postgres {
            // They keep psql from following other commands, and are in all dumps since August 2025.
            let is_known = [&b"\\restrict"[..], b"\\unrestrict"].iter().any(|it| {
                text.strip_prefix(*it).is_some_and(|after| after.first().is_none_or(u8::is_ascii_whitespace))
            });
            return Ok(is_known.then_some(line));
        }
        let argument = &text[word.len()..];
        if argument.first().is_some_and(|byte| is_word(*byte)) {
            return Ok(None);
        }
        let argument = argument.split(u8::is_ascii_whitespace).find(|it| !it.is_empty()).unwrap_or_default();
        let argument = match argument {
            [quote @ (b'\'' | b'"' | b'`'), inner @ .., last] if quote == last => inner,
            _ => argument,
        };
        if argument.is_empty() || argument.contains(&b'\\') {
            let error = Error::new(Kind::Syntax, "`DELIMITER` has nothing after it that could end a statement");
            return Err(self.fault(at, error.hint("such as `DELIMITER //`, and `DELIMITER ;` after it")));
        }
        self.delimiter = argument.to_vec();
        Ok(Some(line))
    }

    /// Where the line of `at` ends.
    fn rest_of_line(&mut self, at: usize) -> Result<usize, Fault> {
        loop {
            let rest = self.rest();
            match memchr::memchr(b'\n', &rest[at..]) {
                Some(length) => return Ok(at + length + 1),
                None if self.is_at_end => return Ok(rest.len()),
                None => self.fill(rest.len() - at)?,
            }
        }
    }

    /// The mistake that a command for a client stands there.
    pub(super) fn client_command(&self, at: usize) -> Error {
        let rest = &self.rest()[at..];
        let length = 1 + rest[1..].iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
        form::psql(&String::from_utf8_lossy(&rest[..length]))
    }
}
