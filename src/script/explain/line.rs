//! The line of a script at which something is wrong.

use rhai::Position;

use crate::script::source::Source;

/// The line of a place: what stands before it, and from it on.
pub(super) struct Line<'s> {
    pub(super) before: &'s str,
    pub(super) after: &'s str,
}

impl<'s> Line<'s> {
    /// The word that begins at the place.
    pub(super) fn word(&self) -> &'s str {
        let end = self.after.find(|it: char| !it.is_alphanumeric() && it != '_');
        &self.after[..end.unwrap_or(self.after.len())]
    }

    pub(super) fn of(source: &'s Source, position: Position) -> Line<'s> {
        let line = position.line().and_then(|it| source.text.lines().nth(it - 1)).unwrap_or_default();
        let column = position.position().unwrap_or(1).saturating_sub(1);
        let split = line.char_indices().nth(column).map_or(line.len(), |it| it.0);
        Line { before: &line[..split], after: &line[split..] }
    }
}
