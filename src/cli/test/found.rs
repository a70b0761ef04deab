//! Where the scripts of tests are.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::cli::configuration::USUAL;
use crate::server::Refusal;

const ENDING: &str = "_test.rhai";

/// Folders that hold what was built or what is kept while the app runs.
const SKIPPED: [&str; 2] = ["target", "var"];

/// The files of tests in `places`, or in the current folder, in the order of their names. A file that is named is taken
/// whatever it is called.
///
/// # Errors
/// If a place is not there or can't be read.
pub(super) fn files(places: &[PathBuf]) -> Result<Vec<PathBuf>, Refusal> {
    let mut files = Vec::new();
    if places.is_empty() {
        collect(Path::new(""), &mut files).map_err(|error| refused(Path::new("."), &error))?;
    }
    for place in places {
        let kind = fs::metadata(place).map_err(|error| refused(place, &error))?;
        if kind.is_dir() {
            collect(place, &mut files).map_err(|error| refused(place, &error))?;
        } else if !files.contains(place) {
            files.push(place.clone());
        }
    }
    Ok(files)
}

fn refused(place: &Path, error: &io::Error) -> Refusal {
    Refusal::System(format!("cannot look for tests in `{}`: {error}", place.display()))
}

/// Whether a folder has a configuration of its own: its tests are of another app.
fn is_project(folder: &Path) -> bool {
    // A project's folder `conf` is a part of it.
    let [inner, own] = USUAL.map(|it| folder.join(it).exists());
    inner || (own && !folder.ends_with("conf"))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let listed = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut entries = fs::read_dir(listed)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = folder.join(&name);
        // Links are not followed: they may lead in a circle, or to where others keep their tests.
        if entry.file_type()?.is_dir() {
            if !name.starts_with('.') && !SKIPPED.contains(&name.as_str()) && !is_project(&path) {
                collect(&path, files)?;
            }
        } else if name.ends_with(ENDING) && !name.starts_with('.') && !files.contains(&path) {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_found_below_but_not_where_things_are_built_or_hidden_nor_those_of_another_project() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "b_test.rhai",
            "a/b/c_test.rhai",
            "a/app.rhai",
            "target/x_test.rhai",
            "var/x_test.rhai",
            ".x/x_test.rhai",
            "a/.x_test.rhai",
            "c/host.yaml",
            "c/x_test.rhai",
            "d/conf/host.yaml",
            "d/x_test.rhai",
            "conf/host.yaml",
            "conf/d_test.rhai",
        ] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let below = |places: &[&str]| {
            let places: Vec<_> = places.iter().map(|it| folder.path().join(it)).collect();
            let files = files(&places).map_err(|_| ()).unwrap();
            files.iter().map(|it| it.strip_prefix(folder.path()).unwrap().display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(below(&[""]), ["a/b/c_test.rhai", "b_test.rhai", "conf/d_test.rhai"]);
        assert_eq!(below(&["c"]), ["c/x_test.rhai"]);
        assert_eq!(below(&["a/app.rhai", "a", "a/b"]), ["a/app.rhai", "a/b/c_test.rhai"]);
        assert!(files(&[folder.path().join("none")]).is_err());
    }
}
