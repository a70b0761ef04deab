//! The files that `!file` names: one, or those that a pattern finds.

use std::path::{Path, PathBuf};

use glob::{MatchOptions, Pattern};

use super::existing::reason;
use super::node::Value;
use super::{Kind, Node, Problem};

/// The files that match `written`, which stands in a file of `folder`, in the order of their names;
/// `None` if it is no pattern.
///
/// Hidden files are found only by a pattern that begins with a dot, as in a shell.
pub fn matching(folder: &Path, written: &str) -> Option<Result<Vec<PathBuf>, String>> {
    if !written.contains(['*', '?', '[']) || folder.join(written).exists() {
        return None;
    }
    Some(find(folder, written))
}

fn find(folder: &Path, written: &str) -> Result<Vec<PathBuf>, String> {
    // The folder's own name is none of the operator's pattern.
    let mut pattern = PathBuf::from(Pattern::escape(&folder.to_string_lossy()));
    pattern.push(written);
    let options =
        MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };
    let found = glob::glob_with(&pattern.to_string_lossy(), options);
    let found = found.map_err(|error| format!("is no pattern of files: {}", error.msg))?;
    let mut files = Vec::new();
    for file in found {
        let file =
            file.map_err(|error| format!("looks into `{}`, which {}", error.path().display(), reason(error.error())))?;
        if !file.is_dir() {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
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
