//! Which files a generation was read from, and where others may come to lie.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::config::{Config, Mistaken};
use crate::directive::Pattern;

/// Ends of the names of files that matter though nothing has named them yet: an import may find
/// them, or a folder of migrations.
const KNOWN: [&str; 4] = ["rhai", "yaml", "yml", "sql"];

/// The files that a generation was read from, and where others may come to lie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// Also those that were looked for in vain, and folders that should be there.
    pub(super) files: BTreeSet<PathBuf>,
    /// Those in which any file of a known kind matters.
    pub(super) folders: BTreeSet<PathBuf>,
    /// Whatever matches them matters.
    pub(super) patterns: BTreeSet<Pattern>,
}

impl Sources {
    /// Those of a configuration.
    pub fn of(config: &Config) -> Sources {
        let mut folders: BTreeSet<PathBuf> = config.files.iter().map(|it| folder(it)).collect();
        folders.extend(config.databases.databases.iter().filter_map(|it| it.migrations.clone()));
        let paths = config.hosts.iter().flat_map(|it| &it.paths);
        folders.extend(paths.flat_map(|it| it.inherited.script.module_path.iter().cloned()));
        let files = config.files.iter().chain(&config.looked_for).cloned().collect();
        Sources { files, folders, patterns: config.patterns.iter().cloned().collect() }
    }

    /// Those of one with mistakes, and what would mend them.
    pub fn of_mistaken(mistaken: &Mistaken) -> Sources {
        let mut sources = mistaken.rest.as_deref().map(Sources::of).unwrap_or_default();
        sources.files.extend(mistaken.files.iter().cloned());
        sources.files.extend(mistaken.problems.awaited().map(Path::to_owned));
        sources
    }

    /// With those of another: what a refused configuration names has to be watched as well.
    pub fn extend(&mut self, other: Sources) {
        self.files.extend(other.files);
        self.folders.extend(other.folders);
        self.patterns.extend(other.patterns);
    }

    /// Whether all of `other` are among these.
    pub fn cover(&self, other: &Sources) -> bool {
        other.files.is_subset(&self.files)
            && other.folders.is_subset(&self.folders)
            && other.patterns.is_subset(&self.patterns)
    }
}

/// The folder that a path lies in.
pub(super) fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Whether a file of this name that nothing has named may be one: editors' copies and hidden files aren't.
pub(super) fn is_source(name: &OsStr) -> bool {
    let is_known = Path::new(name).extension().and_then(OsStr::to_str).is_some_and(|it| KNOWN.contains(&it));
    is_known && !name.to_str().unwrap_or(".").starts_with(['.', '#'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_has_named_is_known_by_its_name() {
        for (name, expected) in
            [("new.rhai", true), ("x.yml", true), (".new.rhai", false), ("#a.rhai", false), ("a.rhai~", false)]
        {
            assert_eq!(is_source(OsStr::new(name)), expected, "{name}");
        }
    }
}
