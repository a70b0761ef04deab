//! A mistake of the operator: where it stands, what stands there, and the way out.

use std::fmt;
use std::path::{Path, PathBuf};

use super::yaml::At;

/// One mistake, printed as `file:line:column: message` with an excerpt and a hint.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    file: PathBuf,
    /// The order in which the files were read.
    rank: usize,
    /// Boxed, for a `Result` is as large as its error.
    excerpt: Option<Box<Excerpt>>,
    message: String,
    hint: Option<String>,
    /// The file or folder that would mend it if it came, or changed.
    awaited: Option<Box<Path>>,
}

#[derive(Clone, Debug, PartialEq)]
struct Excerpt {
    at: At,
    line: String,
    /// Characters to underline.
    width: usize,
}

impl Problem {
    /// A mistake that is a whole file's.
    pub fn in_file(file: &Path, message: impl Into<String>) -> Problem {
        let (message, file) = (message.into(), file.to_owned());
        Problem { file, rank: 0, excerpt: None, message, hint: None, awaited: None }
    }

    /// A mistake in `text`, which is `file`'s; line and column count from 1, the column in characters.
    pub fn in_text(file: &Path, text: &str, (line, column): (usize, usize), width: usize, message: String) -> Problem {
        Problem::at(file, text.lines().nth(line - 1).unwrap_or_default(), At { line, column }, width, message)
    }

    pub(super) fn at(file: &Path, line: &str, at: At, width: usize, message: String) -> Problem {
        let excerpt = Excerpt { at, line: line.to_owned(), width };
        Problem { excerpt: Some(Box::new(excerpt)), ..Problem::in_file(file, message) }
    }

    pub(super) fn ranked(self, rank: usize) -> Problem {
        Problem { rank, ..self }
    }

    /// Adds the way out, printed after `hint:`.
    pub fn hint(self, hint: impl Into<String>) -> Problem {
        Problem { hint: Some(hint.into()), ..self }
    }

    /// Says that it is about the file or folder `path`: that one may come, or become another.
    pub fn about(self, path: &Path) -> Problem {
        Problem { awaited: Some(path.into()), ..self }
    }

    /// The same mistake without what stands in its line, which may be a secret, or stand beside one.
    pub fn masked(mut self) -> Problem {
        if let Some(excerpt) = &mut self.excerpt {
            excerpt.line = " ".repeat(excerpt.at.column.saturating_sub(1)) + "***";
            excerpt.width = 3;
        }
        self
    }

    /// What is wrong, without place, excerpt and hint.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(excerpt) = &self.excerpt {
            write!(f, ":{}:{}", excerpt.at.line, excerpt.at.column)?;
        }
        write!(f, ": {}", without_passwords(&self.message))?;
        if let Some(excerpt) = &self.excerpt {
            write!(f, "{excerpt}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

/// The longest part of a line that is shown.
const LINE: usize = 120;

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line.trim().is_empty() {
            return Ok(());
        }
        // A tab is shown as one space, so that the caret comes to stand below its character.
        let shown = |it: char| if it.is_control() { ' ' } else { it };
        let column = self.at.column - 1;
        let skipped = column.saturating_sub(LINE - 20);
        let line: String = without_passwords(&self.line).chars().map(shown).skip(skipped).take(LINE).collect();
        let (before, column) = if skipped > 0 { ("…", column - skipped + 1) } else { ("", column) };
        let after = if self.line.chars().count() > skipped + LINE { "…" } else { "" };
        let number = self.at.line.to_string();
        write!(f, "\n  {number} | {before}{line}{after}")?;
        let width = self.width.min(LINE.saturating_sub(column)).max(1);
        write!(f, "\n  {:1$} | ", "", number.len())?;
        write!(f, "{:column$}{}", "", "^".repeat(width))
    }
}

impl std::error::Error for Problem {}

/// The text with stars for names and passwords in URLs, one for each character: a mistake may stand
/// beside one in its line.
fn without_passwords(text: &str) -> String {
    let mut hidden = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(scheme) = rest.find("://") {
        let (before, after) = rest.split_at(scheme + 3);
        hidden.push_str(before);
        let end = after.find(|it: char| it.is_whitespace() || "/?#\"'`".contains(it)).unwrap_or(after.len());
        let host = after[..end].rfind('@').unwrap_or(0);
        hidden.extend(after[..host].chars().map(|_| '*'));
        rest = &after[host..];
    }
    without_parameters(&(hidden + rest))
}

/// The text with stars for what follows `password=`, as it may in the URL of a database.
fn without_parameters(text: &str) -> String {
    const NAME: &str = "password=";
    let mut hidden = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(NAME).filter(|at| rest[..*at].ends_with(['?', '&'])) {
        let (before, after) = rest.split_at(at + NAME.len());
        hidden.push_str(before);
        let end = after.find(|it: char| it.is_whitespace() || "&#\"'`".contains(it)).unwrap_or(after.len());
        hidden.extend(after[..end].chars().map(|_| '*'));
        rest = &after[end..];
    }
    hidden + rest
}

/// Mistakes that were found together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// The files and folders that the mistakes are about.
    pub fn awaited(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().filter_map(|it| it.awaited.as_deref())
    }

    /// Adds the mistakes of `result`, or returns its value.
    pub fn check<T>(&mut self, result: Result<T, impl Into<Problems>>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(problems) => {
                self.0.extend(problems.into().0);
                None
            }
        }
    }

    /// `value` if there are no mistakes, otherwise all of them, each once, in the order of the files.
    ///
    /// What is used at several places through an alias or an include is wrong only once.
    ///
    /// # Errors
    /// If there are mistakes.
    pub fn or<T>(mut self, value: T) -> Result<T, Problems> {
        if self.0.is_empty() {
            return Ok(value);
        }
        let at = |it: &Problem| it.excerpt.as_ref().map(|it| it.at);
        self.0.sort_by(|a, b| (a.rank, at(a), &a.message).cmp(&(b.rank, at(b), &b.message)));
        self.0.dedup();
        Err(self)
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Problems {
        Problems(vec![problem])
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// How many characters from `column` (from 1) on belong to the value that begins there; `raw` is its source text.
pub(super) fn extent(line: &str, column: usize, raw: Option<&str>) -> usize {
    let rest: String = line.chars().skip(column - 1).collect();
    if let Some(raw) = raw
        && !raw.is_empty()
        && rest.starts_with(raw)
    {
        return raw.chars().count();
    }
    match rest.chars().next() {
        Some('|' | '>' | '[' | '{') | None => 1,
        Some(quote @ ('"' | '\'')) => quoted(&rest, quote),
        Some(_) => {
            let ends = [" #", ": "].iter().filter_map(|end| rest.find(end));
            let rest = &rest[..ends.min().unwrap_or(rest.len())];
            rest.trim_end().trim_end_matches(':').chars().count().max(1)
        }
    }
}

fn quoted(rest: &str, quote: char) -> usize {
    let mut chars = rest.chars().enumerate().skip(1).peekable();
    while let Some((index, it)) = chars.next() {
        let escapes =
            if quote == '"' { it == '\\' } else { it == quote && chars.peek().is_some_and(|it| it.1 == quote) };
        if escapes {
            chars.next();
        } else if it == quote {
            return index + 1;
        }
    }
    rest.trim_end().chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(line: usize, column: usize, text: &str) -> Problem {
        Problem::in_text(Path::new("conf/host.yaml"), text, (line, column), 2, "no".into())
    }

    #[test]
    fn a_problem_shows_its_line_and_the_way_out() {
        let shown = problem(12, 4, &format!("{}a: xy\n", "\n".repeat(11))).hint("do not").to_string();
        assert_eq!(shown, "conf/host.yaml:12:4: no\n  12 | a: xy\n     |    ^^\nhint: do not");
    }

    #[test]
    fn a_file_as_a_whole_has_no_line() {
        assert_eq!(Problem::in_file(Path::new("a.yaml"), "is empty").to_string(), "a.yaml: is empty");
    }

    #[test]
    fn the_caret_stands_below_its_character_also_after_tabs_and_umlauts() {
        assert_eq!(problem(1, 5, "ä:\t xy").to_string(), "conf/host.yaml:1:5: no\n  1 | ä:  xy\n    |     ^^");
    }

    #[test]
    fn a_password_in_the_line_of_a_mistake_is_not_shown() {
        let line = "{url: 'mysql://né:s@cret@host/name', x: 1} # a@b http://host/@";
        let shown = problem(1, 38, line).to_string();
        let expected = "{url: 'mysql://*********@host/name', x: 1} # a@b http://host/@";
        assert_eq!(shown.lines().nth(1).unwrap(), format!("  1 | {expected}"));
        let line = problem(1, 8, "main: 'postgres://h/a?user=u&password=né&sslmode=x' # &password=").to_string();
        let expected = "main: 'postgres://h/a?user=u&password=**&sslmode=x' # &password=";
        assert_eq!(line.lines().nth(1).unwrap(), format!("  1 | {expected}"));
        let message = Problem::in_file(Path::new("a"), "found `postgres://u:p@h`").to_string();
        assert_eq!(message, "a: found `postgres://***@h`");
    }

    #[test]
    fn a_long_line_is_cut_around_the_mistake() {
        let shown = problem(1, 301, &format!("{}xy{}", "-".repeat(300), "+".repeat(300))).to_string();
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[1], format!("  1 | …{}xy{}…", "-".repeat(100), "+".repeat(18)));
        assert_eq!(lines[2], format!("    | {}^^", " ".repeat(101)));
    }

    #[test]
    fn problems_are_printed_once_each_in_file_order() {
        let text = "a: b\nc: d\n";
        let mut problems = Problems::default();
        problems.0.extend([problem(2, 1, text), problem(1, 1, text), problem(2, 1, text)]);
        problems.0.push(problem(1, 1, text).ranked(1));
        let lines: Vec<String> = problems.or(()).unwrap_err().0.iter().map(|it| it.to_string()[..16].into()).collect();
        assert_eq!(lines, ["conf/host.yaml:1", "conf/host.yaml:2", "conf/host.yaml:1"]);
    }

    #[test]
    fn the_extent_of_a_value_ends_with_it() {
        assert_eq!(extent("a: 10 MBs # c", 4, Some("10 MBs")), 6);
        assert_eq!(extent("a: 'it''s' # c", 4, Some("it's")), 7);
        assert_eq!(extent(r#"a: "b\"c" # c"#, 4, Some("b\"c")), 6);
        assert_eq!(extent("a: !env X # c", 4, Some("X")), 6);
        assert_eq!(extent("key:", 1, None), 3);
        assert_eq!(extent("key: v", 1, None), 3);
        assert_eq!(extent("a: |", 4, Some("script\n")), 1);
    }
}
