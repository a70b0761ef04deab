//! The files that `!file` names: one, or those that a pattern finds.

use std::path::{Path, PathBuf};

use glob::MatchOptions;

use super::existing::reason;
use super::node::Value;
use super::{Kind, Node, Problem};

/// Which files are included: those in a folder, or below it, whose names match.
///
/// Hidden files are found only by a pattern that begins with a dot, as in a shell.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pattern {
    /// What it is relative to.
    pub folder: PathBuf,
    /// As it stands in the file.
    pub written: String,
}

impl Pattern {
    /// What `written` means in a file of `folder`; `None` if it is no pattern.
    pub(super) fn new(folder: &Path, written: &str) -> Option<Pattern> {
        let is_one = written.contains(['*', '?', '[']) && !folder.join(written).exists();
        is_one.then(|| Pattern { folder: folder.to_owned(), written: written.to_owned() })
    }

    /// The folders that so many steps of it lead to.
    pub fn folders(&self, way: &Path) -> Vec<PathBuf> {
        let found = glob::glob(&self.in_its_folder(way)).into_iter().flatten().flatten();
        found.filter(|it| it.is_dir()).collect()
    }

    /// The files that match, in the order of their names.
    ///
    /// # Errors
    /// As the end of a sentence, if it is no good pattern or a folder can't be read.
    pub fn files(&self) -> Result<Vec<PathBuf>, String> {
        let options =
            MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };
        let found = glob::glob_with(&self.in_its_folder(Path::new(&self.written)), options);
        let found = found.map_err(|error| format!("is no pattern of files: {}", error.msg))?;
        let mut files = Vec::new();
        for file in found {
            let file = file
                .map_err(|error| format!("looks into `{}`, which {}", error.path().display(), reason(error.error())))?;
            if !file.is_dir() {
                files.push(file);
            }
        }
        files.sort();
        Ok(files)
    }

    /// A pattern as it is from here. The folder's own name is none of the operator's pattern.
    fn in_its_folder(&self, pattern: &Path) -> String {
        let folder = PathBuf::from(glob::Pattern::escape(&self.folder.to_string_lossy()));
        folder.join(pattern).to_string_lossy().into_owned()
    }
}

/// The values of several files as one: mappings have all their keys, lists all their items. Without
/// any file it is a mapping of nothing, so that there may be none.
pub fn joined(including: &Node, files: Vec<Node>) -> Result<Value, Problem> {
    let files: Vec<Node> = files.into_iter().filter(|it| it.kind() != Kind::Null).collect();
    let Some(first) = files.first().map(Node::kind) else { return Ok(Value::Mapping(Vec::new())) };
    if let Some(scalar) = files.iter().find(|it| it.kind() == Kind::Scalar) {
        let message =
            format!("{} is a single value, expected a mapping or a list: there may be several files", file(scalar));
        return Err(including.problem(message));
    }
    if let Some(other) = files.iter().find(|it| it.kind() != first) {
        let what = |node: &Node| if node.kind() == Kind::Mapping { "a mapping" } else { "a list" };
        let (one, other) = (&files[0], other);
        let message = format!("{} is {} and {} is {}", file(one), what(one), file(other), what(other));
        return Err(including.problem(format!("{message}, expected all files to be the one or the other")));
    }
    Ok(match first {
        Kind::Mapping => Value::Mapping(files.iter().flat_map(|it| it.entries().unwrap_or_default()).collect()),
        _ => Value::Sequence(files.iter().flat_map(Node::items).collect()),
    })
}

fn file(node: &Node) -> String {
    format!("`{}`", node.text_place().file.display())
}
