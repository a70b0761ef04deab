//! Where a change would show: for each folder the names in it that matter.
//!
//! A file can change because a folder above it is replaced, or a symbolic link on the way: every step from the root to it
//! is a name in a folder, and the folders are followed by what they are, not by what they are called, since the system
//! knows a folder that is watched under two names by the last one only.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use super::sources::{Sources, is_source};
use crate::directive::Pattern;

/// Links on the way to a file; the system follows no more either.
const LINKS: u32 = 40;
/// Permissions of a folder in which everybody makes files, such as `/tmp`.
const EVERYBODYS: u32 = 0o1002;

/// The folders, without links in their paths, and what matters in them.
#[derive(Debug, Default)]
pub(super) struct Interest {
    folders: BTreeMap<PathBuf, Names>,
    /// The files, which may be written to by other names that they have: in a container one is mounted by itself.
    files: BTreeSet<PathBuf>,
}

#[derive(Debug, Default)]
struct Names {
    exact: BTreeSet<OsString>,
    /// Whether new files may matter that nothing has named.
    has_sources: bool,
    /// Whether every name may matter: a pattern looks into the folder.
    has_all: bool,
    /// Whether the way to something ends here, since the next step is not there.
    is_end: bool,
}

impl Interest {
    /// Where the sources are, or would be.
    pub(super) fn of(sources: &Sources) -> Interest {
        let mut interest = Interest::default();
        for file in &sources.files {
            let real = interest.follow(file);
            interest.files.extend(real.filter(|it| it.is_file()));
        }
        for folder in &sources.folders {
            if let Some(real) = interest.follow(folder) {
                interest.folders.entry(real).or_default().has_sources = true;
            }
        }
        for pattern in &sources.patterns {
            interest.look_into(pattern);
            let found = pattern.files().unwrap_or_default();
            found.iter().for_each(|file| drop(interest.follow(file)));
        }
        interest
    }

    /// Notes the folders that a pattern looks into: each that its steps but the last lead to.
    fn look_into(&mut self, pattern: &Pattern) {
        let steps: Vec<_> = Path::new(&pattern.written).components().collect();
        for count in 0..steps.len() {
            let way: PathBuf = steps[..count].iter().collect();
            for folder in pattern.folders(&way) {
                if let Some(real) = self.follow(&folder) {
                    self.folders.entry(real).or_default().has_all = true;
                }
            }
        }
    }

    /// The files.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(PathBuf::as_path)
    }

    /// The folders to be watched. In those of everybody's so much happens that they are left out where something below
    /// them alone could be replaced.
    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        let is_wanted = |(folder, names): &(&PathBuf, &Names)| {
            names.has_sources
                || names.has_all
                || names.is_end
                || fs::metadata(folder).is_ok_and(|it| it.mode() & EVERYBODYS != EVERYBODYS)
        };
        self.folders.iter().filter(is_wanted).map(|(folder, _)| folder.as_path())
    }

    /// Whether it matters what happens to a path.
    pub(super) fn concerns(&self, path: &Path) -> bool {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return false };
        self.folders.get(folder).is_some_and(|names| names.has(name))
    }

    /// Notes each step to a path. Gives what it is in truth, if it is there.
    fn follow(&mut self, path: &Path) -> Option<PathBuf> {
        self.walk(&std::path::absolute(path).ok()?, &mut 0)
    }

    fn walk(&mut self, path: &Path, links: &mut u32) -> Option<PathBuf> {
        let mut at = PathBuf::from("/");
        for component in path.components() {
            match component {
                Component::Normal(name) => {
                    let names = self.folders.entry(at.clone()).or_default();
                    names.exact.insert(name.to_owned());
                    let next = at.join(name);
                    match fs::symlink_metadata(&next) {
                        Err(_) => {
                            names.is_end = true;
                            return None;
                        }
                        Ok(metadata) if metadata.is_symlink() => {
                            *links += 1;
                            let target = fs::read_link(&next).ok().filter(|_| *links <= LINKS)?;
                            at = self.walk(&at.join(target), links)?;
                        }
                        Ok(_) => at = next,
                    }
                }
                Component::ParentDir => {
                    at.pop();
                }
                Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            }
        }
        Some(at)
    }
}

impl Names {
    fn has(&self, name: &OsStr) -> bool {
        self.has_all || self.exact.contains(name) || (self.has_sources && is_source(name))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn of_files(file: PathBuf) -> Sources {
        let folders = file.parent().into_iter().map(Path::to_owned).collect();
        Sources { files: [file].into(), folders, ..Sources::default() }
    }

    #[test]
    fn every_step_to_a_file_matters_and_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("app/v1/handlers")).unwrap();
        symlink("v1", root.join("app/live")).unwrap();
        fs::write(root.join("app/v1/handlers/a.rhai"), "1").unwrap();
        let file = root.join("app/live/handlers/a.rhai");
        let interest = Interest::of(&of_files(file));
        for (path, matters) in [
            ("app", true),
            ("app/live", true),
            ("app/v1", true),
            ("app/v1/handlers", true),
            ("app/v1/handlers/a.rhai", true),
            ("app/v1/handlers/a.rhai~", false),
            ("app/v1/handlers/new.rhai", true),
            ("app/v1/handlers/.new.rhai", false),
            ("app/v2", false),
            ("other.rhai", false),
            ("app/live/handlers/a.rhai", false),
        ] {
            assert_eq!(interest.concerns(&root.join(path)), matters, "{path}");
        }
        let folders: Vec<_> = interest.folders().filter_map(|it| it.strip_prefix(&root).ok()).collect();
        assert_eq!(folders, ["", "app", "app/v1", "app/v1/handlers"].map(Path::new));
    }

    #[test]
    fn what_is_not_there_is_waited_for_where_it_would_begin() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let interest = Interest::of(&of_files(root.join("a/b/c.rhai")));
        assert!(interest.concerns(&root.join("a")) && !interest.concerns(&root.join("a/b")));
        assert!(interest.folders().any(|it| it == root));
    }

    #[test]
    fn links_in_a_circle_lead_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        symlink("b", root.join("a")).unwrap();
        symlink("a", root.join("b")).unwrap();
        let interest = Interest::of(&of_files(root.join("a")));
        assert!(interest.concerns(&root.join("a")) && interest.concerns(&root.join("b")));
    }
}
