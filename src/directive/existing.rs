//! Files and folders that a value names and that must exist.

use std::io;
use std::path::{Path, PathBuf};

use super::{Node, Problem, suggest};

impl Node {
    /// The path of a file that exists, relative to the current folder.
    ///
    /// # Errors
    /// If there is none; the message says so if it lies beside the configuration.
    pub fn existing_file(&self) -> Result<PathBuf, Problem> {
        let path = PathBuf::from(self.text_as("the path of a file")?);
        match path.metadata() {
            Ok(it) if it.is_dir() => Err(self.unusable(&path, "is a folder, expected a file")),
            Ok(_) => Ok(path),
            Err(error) => Err(self.cannot_open(&path, &error)),
        }
    }

    /// The path of a folder that exists, relative to the current folder.
    ///
    /// # Errors
    /// As [`Node::existing_file`].
    pub fn existing_folder(&self) -> Result<PathBuf, Problem> {
        let path = PathBuf::from(self.text_as("the path of a folder")?);
        match path.metadata() {
            Ok(it) if it.is_dir() => Ok(path),
            Ok(_) => Err(self.unusable(&path, "is a file, expected a folder")),
            Err(error) => Err(self.cannot_open(&path, &error)),
        }
    }

    /// The mistake that `path`, which this value names, can't be opened or read.
    pub fn cannot_open(&self, path: &Path, error: &io::Error) -> Problem {
        let problem = self.unusable(path, &reason(error));
        if error.kind() != io::ErrorKind::NotFound {
            return problem;
        }
        let beside = self.file().parent().map(|it| it.join(path)).filter(|it| it != path && it.exists());
        problem.hint(match (beside, neighbour(path)) {
            (Some(beside), _) => {
                let beside = beside.display();
                format!("there is `{beside}`, but paths are relative to the current folder, {}", current_folder())
            }
            (None, Some(near)) => format!("did you mean `{}`?", near.display()),
            (None, None) => format!("paths are relative to the current folder, {}", current_folder()),
        })
    }

    fn unusable(&self, path: &Path, reason: &str) -> Problem {
        let text = self.text().unwrap_or_default();
        self.problem(format!("`{}` is `{text}`, which {reason}", self.name())).about(path)
    }
}

/// Why a file can't be had, as the end of a sentence that begins with the file.
pub(super) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "does not exist".into(),
        io::ErrorKind::PermissionDenied => "may not be read (permission denied)".into(),
        io::ErrorKind::IsADirectory => "is a folder, expected a file".into(),
        io::ErrorKind::InvalidData => "is not UTF-8".into(),
        _ => {
            let text = error.to_string();
            let text = text.split(" (os error").next().unwrap_or_default();
            format!("cannot be read: {}", text.to_lowercase())
        }
    }
}

/// The file of the same folder that has nearly this name.
fn neighbour(path: &Path) -> Option<PathBuf> {
    let folder = path.parent()?;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = folder.read_dir().ok()?.flatten();
    let names: Vec<String> = entries.filter_map(|it| it.file_name().into_string().ok()).collect();
    let near = suggest(path.file_name()?.to_str()?, names.iter().map(String::as_str))?;
    Some(path.with_file_name(near))
}

fn current_folder() -> String {
    std::env::current_dir().map_or_else(|_| "which is gone".into(), |it| format!("`{}`", it.display()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::parse;
    use super::*;

    fn value(file: &Path, text: &str) -> Node {
        parse(file, text).unwrap().entries().unwrap().remove(0).1
    }

    #[test]
    fn a_file_that_lies_beside_the_configuration_is_pointed_out() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("only_here.rhai"), "").unwrap();
        let conf = folder.path().join("host.yaml");
        let folder = folder.path().display();
        let expected = format!(
            "{folder}/host.yaml:1:4: `a` is `only_here.rhai`, which does not exist\n  1 | a: only_here.rhai\n    |    \
             ^^^^^^^^^^^^^^\nhint: there is `{folder}/only_here.rhai`, but paths are relative to the current folder, {}",
            current_folder()
        );
        assert_eq!(value(&conf, "a: only_here.rhai").existing_file().unwrap_err().to_string(), expected);
    }

    #[test]
    fn a_file_with_nearly_this_name_is_suggested() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("projects.rhai"), "").unwrap();
        let path = folder.path().join("project.rhai");
        let problem = value(Path::new("host.yaml"), &format!("a: {}", path.display())).existing_file().unwrap_err();
        let hint = format!("hint: did you mean `{}`?", folder.path().join("projects.rhai").display());
        assert_eq!(problem.to_string().lines().last(), Some(hint.as_str()));
    }

    #[test]
    fn a_folder_is_no_file_and_a_file_no_folder() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x");
        fs::write(&file, "").unwrap();
        let node = |path: &Path| value(Path::new("host.yaml"), &format!("a: {}", path.display()));
        let message = format!("`a` is `{}`, which is a folder, expected a file", folder.path().display());
        assert_eq!(node(folder.path()).existing_file().unwrap_err().message(), message);
        let message = format!("`a` is `{}`, which is a file, expected a folder", file.display());
        assert_eq!(node(&file).existing_folder().unwrap_err().message(), message);
        assert_eq!(node(&file).existing_file(), Ok(file));
        assert_eq!(node(folder.path()).existing_folder(), Ok(folder.path().to_owned()));
    }
}
