//! The text of a script and where it stands; it does not know whether it compiles.

use std::path::PathBuf;
use std::sync::Arc;

use rhai::Position;

/// A script as it was read, shared by the workers that compile it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The name of the file in messages.
    pub name: String,
    /// The file that holds the script: its own, or the configuration file.
    pub path: PathBuf,
    /// The script.
    pub text: Arc<str>,
    /// The line of the file on which the script begins, from 1.
    pub line: usize,
    /// Columns of the file before the script's; 0 for a script in a file of its own.
    pub indent: usize,
}

impl Source {
    /// `file:line:column` of a position in the script; only the file where there is none.
    pub fn place(&self, position: Position) -> String {
        match (position.line(), position.position()) {
            (Some(line), Some(column)) => {
                format!("{}:{}:{}", self.name, line + self.line - 1, column + self.indent)
            }
            (Some(line), None) => format!("{}:{}", self.name, line + self.line - 1),
            _ => self.name.clone(),
        }
    }

    /// The line of a position with a caret of `width` below it, each after a line break; empty
    /// where there is none.
    pub fn excerpt(&self, position: Position, width: usize) -> String {
        let Some((number, line)) = self.line(position) else { return String::new() };
        let line = shown(line, skipped(line, position));
        let label = (number + self.line - 1).to_string();
        let (margin, indent) = (" ".repeat(label.len()), " ".repeat(self.indent));
        let caret = self.caret(position, width);
        format!("\n  {label} | {indent}{line}\n  {margin} | {indent}{caret}")
    }

    /// What stands below the line of a position to point to `width` characters of it.
    pub(super) fn caret(&self, position: Position, width: usize) -> String {
        let line = self.line(position).map_or("", |it| it.1);
        let skipped = skipped(line, position);
        let column = position.position().unwrap_or(1).saturating_sub(1) - skipped;
        let before = line.chars().skip(skipped).take(column);
        let before: String = before.map(|it| if it == '\t' { '\t' } else { ' ' }).collect();
        let cut = if skipped > 0 { " " } else { "" };
        format!("{cut}{before}{}", "^".repeat(width.min(LINE.saturating_sub(column)).max(1)))
    }

    /// The line of a position with its number in the script.
    fn line(&self, position: Position) -> Option<(usize, &str)> {
        let number = position.line()?;
        let found = self.text.lines().nth(number - 1).map(|line| (number, line));
        // What ends too early is at its end.
        Some(found.unwrap_or_else(|| (self.text.lines().count().max(1), self.text.lines().last().unwrap_or_default())))
    }

    /// The lines around a position with their numbers in the file, and whether it is on the line.
    pub(super) fn around(&self, position: Position) -> Vec<(usize, String, bool)> {
        const BESIDE: usize = 6;
        let Some((line, _)) = self.line(position) else { return Vec::new() };
        let lines = self.text.lines().enumerate().skip(line.saturating_sub(BESIDE + 1)).take(2 * BESIDE + 1);
        let cut = |text, is_here| shown(text, if is_here { skipped(text, position) } else { 0 });
        lines.map(|(index, text)| (index + self.line, cut(text, index + 1 == line), index + 1 == line)).collect()
    }
}

/// The longest part of a line that is shown, in characters.
const LINE: usize = 200;

/// How many characters of a long line are left out before what is shown around a position.
fn skipped(line: &str, position: Position) -> usize {
    if line.len() <= LINE || line.chars().count() <= LINE {
        return 0;
    }
    position.position().unwrap_or(1).saturating_sub(1 + LINE / 2)
}

/// A line as it is shown: one of a script that a program has written may have thousands of characters.
fn shown(line: &str, skipped: usize) -> String {
    let before = if skipped > 0 { "…" } else { "" };
    let mut rest = line.chars().skip(skipped);
    let part: String = rest.by_ref().take(LINE).collect();
    let after = if rest.next().is_some() { "…" } else { "" };
    format!("{before}{part}{after}")
}

/// The texts that a script consists of: its own, and those of the modules that it imports.
#[derive(Clone, Debug)]
pub(super) struct Sources {
    pub(super) own: Source,
    others: Vec<Source>,
}

impl Sources {
    /// The texts `all`, of which one is the script's own.
    pub(super) fn new<'s>(own: &Source, all: impl Iterator<Item = &'s Source>) -> Sources {
        Sources { own: own.clone(), others: all.filter(|it| it.name != own.name).cloned().collect() }
    }

    /// The text of the file that Rhai names so.
    pub(super) fn named(&self, name: &str) -> &Source {
        self.others.iter().find(|it| it.name == name).unwrap_or(&self.own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_an_inline_script_is_a_place_in_the_configuration() {
        let source =
            Source { name: "host.yaml".into(), path: "host.yaml".into(), text: "1\n2".into(), line: 10, indent: 4 };
        assert_eq!(source.place(Position::new(2, 1)), "host.yaml:11:5");
        assert_eq!(source.excerpt(Position::new(2, 1), 1), "\n  11 |     2\n     |     ^");
    }

    #[test]
    fn a_long_line_is_cut_around_its_place() {
        let long = format!("\t{}wrong{}", "ä".repeat(10_000), "ö".repeat(10_000));
        let source = Source {
            name: "a.rhai".into(),
            path: "a.rhai".into(),
            text: format!("x\n{long}\ny").into(),
            line: 1,
            indent: 0,
        };
        for (column, width) in [(1, 1), (10_002, 5), (20_000, 1), (20_006, 5), (10_002, 10_000)] {
            let excerpt = source.excerpt(Position::new(2, column), width);
            let lines: Vec<&str> = excerpt.lines().collect();
            let [_, line, caret] = lines[..] else { panic!("{excerpt}") };
            assert!(line.chars().count() <= LINE + 8 && caret.chars().count() <= LINE + 8, "{excerpt}");
            let at = caret.chars().position(|it| it == '^').unwrap();
            assert_eq!(line.chars().nth(at), long.chars().nth(usize::from(column) - 1), "{excerpt}");
        }
        let around = source.around(Position::new(1, 1));
        assert!(around.iter().all(|it| it.1.chars().count() <= LINE + 2));
        let short = Source { text: "short".into(), ..source };
        assert_eq!(short.excerpt(Position::new(1, 2), 2), "\n  1 | short\n    |  ^^");
    }
}
