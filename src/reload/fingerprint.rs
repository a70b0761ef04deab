//! What the files were like at a moment, to be compared with another.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use crate::config::Config;

/// Ends of the names of files that matter though nothing has named them yet: a pattern may find
/// them, an import, or a folder of migrations.
const KNOWN: [&str; 4] = ["rhai", "yaml", "yml", "sql"];

/// The files that a generation was read from, and where others may come to lie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    files: BTreeSet<PathBuf>,
    folders: BTreeSet<PathBuf>,
}

impl Sources {
    /// Those of a configuration.
    pub fn of(config: &Config) -> Sources {
        let mut sources = Sources { files: config.files.iter().cloned().collect(), folders: BTreeSet::new() };
        sources.folders.extend(sources.files.iter().map(|it| folder(it)));
        sources.folders.extend(config.databases.databases.iter().filter_map(|it| it.migrations.clone()));
        let paths = config.hosts.iter().flat_map(|it| &it.paths);
        sources.folders.extend(paths.flat_map(|it| it.inherited.script.module_path.iter().cloned()));
        sources
    }

    /// With those of another: what a refused configuration names has to be watched as well.
    pub fn extend(&mut self, other: Sources) {
        self.files.extend(other.files);
        self.folders.extend(other.folders);
    }

    /// The folders in which something may change: also those that symbolic links on the way lie in,
    /// and lead to.
    pub(super) fn watched(&self) -> BTreeSet<PathBuf> {
        let mut watched = BTreeSet::new();
        for path in self.files.iter().chain(&self.folders) {
            for part in path.ancestors().filter(|it| it.is_symlink()) {
                watched.insert(folder(part));
                watched.extend(part.canonicalize().ok().as_deref().map(folder));
            }
        }
        watched.extend(self.folders.iter().cloned());
        watched
    }

    /// Whether a file of this name in one of the folders may matter.
    pub(super) fn concerns(&self, path: &Path) -> bool {
        let is_known = path.extension().and_then(OsStr::to_str).is_some_and(|it| KNOWN.contains(&it));
        let name = path.file_name();
        is_known
            || self.files.iter().any(|it| it.file_name() == name)
            || self.folders.iter().any(|it| it.file_name() == name)
            // The link that Kubernetes swaps, and whatever else is one.
            || path.is_symlink()
            || name.is_some_and(|it| it == "..data")
    }
}

fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// What the files hold. Two are the same if nothing has changed that a generation could show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint(BTreeMap<PathBuf, Option<u64>>);

impl Fingerprint {
    /// Reads the files.
    pub fn take(sources: &Sources) -> Fingerprint {
        let mut paths = sources.files.clone();
        for folder in &sources.folders {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path());
            paths.extend(entries.filter(|it| is_source(it)));
        }
        Fingerprint(paths.into_iter().map(|path| (path.clone(), content(&path))).collect())
    }

    /// The first file that is not as it was in `earlier`.
    pub fn changed_since<'f>(&'f self, earlier: &'f Fingerprint) -> Option<&'f Path> {
        let names = self.0.keys().chain(earlier.0.keys());
        names.filter(|it| self.0.get(*it) != earlier.0.get(*it)).min().map(PathBuf::as_path)
    }

    /// Whether a file is empty now that was not in `earlier`: somebody is writing it anew, most likely.
    pub fn has_emptied(&self, earlier: &Fingerprint) -> bool {
        let empty = Some(hash(b""));
        let had_text = |path: &PathBuf| matches!(earlier.0.get(path), Some(Some(content)) if Some(*content) != empty);
        self.0.iter().any(|(path, content)| *content == empty && had_text(path))
    }

    /// This, but for the files that `earlier` has too as they were then: what was read at that time may have
    /// changed meanwhile.
    #[must_use]
    pub fn since(mut self, earlier: &Fingerprint) -> Fingerprint {
        self.0.extend(earlier.0.iter().map(|(path, content)| (path.clone(), *content)));
        self
    }
}

/// Whether a file that nothing has named may be one: editors' copies and hidden files aren't.
fn is_source(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or(".");
    let is_known = path.extension().and_then(OsStr::to_str).is_some_and(|it| KNOWN.contains(&it));
    is_known && !name.starts_with(['.', '#'])
}

fn content(path: &Path) -> Option<u64> {
    fs::read(path).ok().map(|bytes| hash(&bytes))
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(folder: &Path, files: &[&str]) -> Sources {
        Sources { files: files.iter().map(|it| folder.join(it)).collect(), folders: [folder.to_owned()].into() }
    }

    #[test]
    fn a_change_is_one_of_content_or_of_names() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a.rhai"), "1").unwrap();
        let sources = sources(folder.path(), &["a.rhai", "keys"]);
        let first = Fingerprint::take(&sources);
        fs::write(at("b.rhai.tmp"), "1").unwrap();
        fs::write(at(".a.rhai"), "1").unwrap();
        fs::write(at("#a.rhai"), "1").unwrap();
        fs::write(at("a.rhai"), "1").unwrap();
        assert_eq!(Fingerprint::take(&sources).changed_since(&first), None);
        for (name, content) in [("a.rhai", "2"), ("b.rhai", "1"), ("keys", "1")] {
            let before = Fingerprint::take(&sources);
            fs::write(at(name), content).unwrap();
            assert_eq!(Fingerprint::take(&sources).changed_since(&before), Some(at(name).as_path()));
        }
        let before = Fingerprint::take(&sources);
        fs::remove_file(at("b.rhai")).unwrap();
        assert_eq!(Fingerprint::take(&sources).changed_since(&before), Some(at("b.rhai").as_path()));
    }

    #[test]
    fn a_file_that_was_emptied_is_told_from_one_that_always_was() {
        let folder = tempfile::tempdir().unwrap();
        let sources = sources(folder.path(), &["a.rhai", "b.rhai"]);
        fs::write(folder.path().join("a.rhai"), "1").unwrap();
        fs::write(folder.path().join("b.rhai"), "").unwrap();
        let before = Fingerprint::take(&sources);
        assert!(!before.has_emptied(&before));
        fs::write(folder.path().join("new.rhai"), "").unwrap();
        assert!(!Fingerprint::take(&sources).has_emptied(&before), "a new file is nobody's loss");
        fs::write(folder.path().join("a.rhai"), "").unwrap();
        assert!(Fingerprint::take(&sources).has_emptied(&before));
    }

    #[test]
    fn what_may_matter_is_known_by_its_name() {
        let sources = sources(Path::new("conf"), &["host.yaml", "keys"]);
        for (name, concerns) in
            [("new.rhai", true), ("keys", true), ("..data", true), ("access.log", false), ("4913", false)]
        {
            assert_eq!(sources.concerns(Path::new("conf").join(name).as_path()), concerns, "{name}");
        }
    }

    #[test]
    fn folders_of_links_are_watched_at_both_ends() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join("v1");
        fs::create_dir(&real).unwrap();
        fs::write(real.join("a.rhai"), "1").unwrap();
        let swapped = folder.path().join("live");
        std::os::unix::fs::symlink(&real, &swapped).unwrap();
        let watched = sources(&swapped, &["a.rhai"]).watched();
        assert!(watched.contains(folder.path()) && watched.contains(&swapped), "{watched:?}");
    }
}
