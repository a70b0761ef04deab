//! What the files were like at a moment, to be compared with another.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::sources::{Sources, folder, is_source};

/// What the files hold. Two are the same if nothing has changed that a generation could show.
#[derive(Clone, Debug, Default)]
pub struct Fingerprint(BTreeMap<PathBuf, Content>);

/// What a file holds.
#[derive(Clone, Copy, Debug)]
struct Content {
    /// None if it is not there, or can't be read.
    hash: Option<u64>,
    /// What the system said of it when it was read, if that tells whether it is the same later.
    stamp: Option<Stamp>,
}

/// Device, inode, length, and when it was changed.
type Stamp = (u64, u64, u64, (i64, i64), (i64, i64));

/// A file that has changed so short a time ago may change once more without the system's clock showing it.
const RACY: Duration = Duration::from_secs(2);

impl PartialEq for Content {
    fn eq(&self, other: &Content) -> bool {
        self.hash == other.hash
    }
}

impl PartialEq for Fingerprint {
    fn eq(&self, other: &Fingerprint) -> bool {
        self.0 == other.0
    }
}

impl Fingerprint {
    /// Reads the files, but for those that are `known` and can't have changed since.
    pub fn take(sources: &Sources, known: &Fingerprint) -> Fingerprint {
        let mut paths = sources.files.clone();
        for folder in &sources.folders {
            let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.file_name());
            let names = names.filter(|it| is_source(it));
            // As it is named elsewhere: a file with two names would be read twice.
            paths.extend(names.map(|it| if folder == Path::new(".") { it.into() } else { folder.join(it) }));
        }
        // One that can't be looked into is said to be so when it is read.
        paths.extend(sources.patterns.iter().flat_map(|it| it.files().unwrap_or_default()));
        let content = |path: &PathBuf| content(path, known.0.get(path));
        Fingerprint(paths.into_iter().map(|path| (path.clone(), content(&path))).collect())
    }

    /// The first file that is not as it was in `earlier`.
    pub fn changed_since<'f>(&'f self, earlier: &'f Fingerprint) -> Option<&'f Path> {
        // As a rule nothing has, and to compare in order is cheaper than to look each one up.
        if self == earlier {
            return None;
        }
        let names = self.0.keys().chain(earlier.0.keys());
        names.filter(|it| self.0.get(*it) != earlier.0.get(*it)).min().map(PathBuf::as_path)
    }

    /// Whether a file is empty now that was not in `earlier`: somebody is writing it anew, most likely.
    pub fn has_emptied(&self, earlier: &Fingerprint) -> bool {
        let empty = Some(hash(b""));
        let had_text =
            |path: &PathBuf| matches!(earlier.0.get(path), Some(it) if it.hash.is_some() && it.hash != empty);
        self.0.iter().any(|(path, content)| content.hash == empty && had_text(path))
    }

    /// Those of its files alone that `sources` still has.
    #[must_use]
    pub fn of(mut self, sources: &Sources) -> Fingerprint {
        let found: BTreeSet<PathBuf> = sources.patterns.iter().flat_map(|it| it.files().unwrap_or_default()).collect();
        let is_below = |path: &Path| path.file_name().is_some_and(is_source) && sources.folders.contains(&folder(path));
        self.0.retain(|path, _| sources.files.contains(path) || found.contains(path) || is_below(path));
        self
    }

    /// The first file that was changed after `time`, by the clock of its file system.
    pub fn changed_after(&self, time: SystemTime) -> Option<&Path> {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let since = (i64::try_from(since.as_secs()).unwrap_or(i64::MAX), i64::from(since.subsec_nanos()));
        let is_later = |path: &&PathBuf| fs::metadata(path).is_ok_and(|it| (it.ctime(), it.ctime_nsec()) > since);
        self.0.keys().find(is_later).map(PathBuf::as_path)
    }
}

fn content(path: &Path, known: Option<&Content>) -> Content {
    let stamp = fs::metadata(path)
        .ok()
        .map(|it| (it.dev(), it.ino(), it.len(), (it.mtime(), it.mtime_nsec()), (it.ctime(), it.ctime_nsec())));
    if let Some(known) = known.filter(|it| it.stamp.is_some() && it.stamp == stamp) {
        return *known;
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    // Looked at before it was read: what changes meanwhile has another later.
    let stamp = stamp.filter(|(.., changed)| {
        let changed = u64::try_from(changed.0).unwrap_or_default();
        Duration::from_secs(changed) + RACY < now
    });
    // Of a folder that is named it matters that it is there.
    let hash = if path.is_dir() { Some(hash(b"/")) } else { fs::read(path).ok().map(|bytes| hash(&bytes)) };
    Content { hash, stamp }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(sources: &Sources) -> Fingerprint {
        Fingerprint::take(sources, &Fingerprint::default())
    }

    fn sources(folder: &Path, files: &[&str]) -> Sources {
        let files = files.iter().map(|it| folder.join(it)).collect();
        Sources { files, folders: [folder.to_owned()].into(), ..Sources::default() }
    }

    #[test]
    fn a_change_is_one_of_content_or_of_names() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a.rhai"), "1").unwrap();
        let sources = sources(folder.path(), &["a.rhai", "keys"]);
        let first = take(&sources);
        fs::write(at("b.rhai.tmp"), "1").unwrap();
        fs::write(at(".a.rhai"), "1").unwrap();
        fs::write(at("#a.rhai"), "1").unwrap();
        fs::write(at("a.rhai"), "1").unwrap();
        assert_eq!(take(&sources).changed_since(&first), None);
        for (name, content) in [("a.rhai", "2"), ("b.rhai", "1"), ("keys", "1")] {
            let before = take(&sources);
            fs::write(at(name), content).unwrap();
            assert_eq!(take(&sources).changed_since(&before), Some(at(name).as_path()));
        }
        let before = take(&sources);
        fs::remove_file(at("b.rhai")).unwrap();
        assert_eq!(take(&sources).changed_since(&before), Some(at("b.rhai").as_path()));
    }

    #[test]
    fn a_file_that_was_emptied_is_told_from_one_that_always_was() {
        let folder = tempfile::tempdir().unwrap();
        let sources = sources(folder.path(), &["a.rhai", "b.rhai"]);
        fs::write(folder.path().join("a.rhai"), "1").unwrap();
        fs::write(folder.path().join("b.rhai"), "").unwrap();
        let before = take(&sources);
        assert!(!before.has_emptied(&before));
        fs::write(folder.path().join("new.rhai"), "").unwrap();
        assert!(!take(&sources).has_emptied(&before), "a new file is nobody's loss");
        fs::write(folder.path().join("a.rhai"), "").unwrap();
        assert!(take(&sources).has_emptied(&before));
    }

    #[test]
    fn a_file_is_read_again_only_if_it_may_have_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.rhai");
        let sources = sources(folder.path(), &["a.rhai"]);
        fs::write(&path, "1").unwrap();
        let first = take(&sources);
        assert!(first.0[&path].stamp.is_none(), "it has changed just now");
        // Of the same length, and within the same tick of the clock.
        fs::write(&path, "2").unwrap();
        let second = Fingerprint::take(&sources, &first);
        assert_eq!(second.changed_since(&first), Some(path.as_path()));
        std::thread::sleep(RACY + Duration::from_millis(1100));
        let third = Fingerprint::take(&sources, &second);
        assert!(third == second && third.0[&path].stamp.is_some());
        fs::write(&path, "3").unwrap();
        assert!(Fingerprint::take(&sources, &third) != third);
    }
}
