//! What is never served: scripts, the configuration, databases.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files that SQLite keeps beside a database.
const BESIDE: &[&[u8]] = &[b"-wal", b"-shm", b"-journal"];

/// What editors add to the names of what they save or replace.
const LEFT_OVER: &[&str] = &["~", "#", ".swp", ".swo", ".swx", ".bak", ".orig", ".old", ".save", ".tmp"];

/// Paths that are served by nobody.
#[derive(Debug)]
pub struct Hidden(Vec<PathBuf>);

impl Hidden {
    /// Hides `paths`, which need not exist: a database may be made later.
    pub fn new(paths: Vec<PathBuf>) -> Hidden {
        Hidden(paths)
    }

    /// Whether the file that was asked for by `path`, is in truth `real`, and has `metadata`, is not
    /// to be seen.
    pub fn has(&self, path: &Path, real: &Path, metadata: &Metadata) -> bool {
        is_script(path) || is_script(real) || self.is_one(metadata) || self.is_beside_one(real)
    }

    /// Compared by inode when it is asked for, so that another name, a link, or letters of another
    /// case don't help, and a file that was replaced since is known.
    fn is_one(&self, metadata: &Metadata) -> bool {
        let is_same = |hidden: Metadata| hidden.dev() == metadata.dev() && hidden.ino() == metadata.ino();
        self.0.iter().any(|hidden| fs::metadata(hidden).is_ok_and(is_same))
    }

    fn is_beside_one(&self, real: &Path) -> bool {
        let name = real.file_name().unwrap_or_default().as_encoded_bytes();
        let Some(base) = BESIDE.iter().find_map(|suffix| name.strip_suffix(*suffix)) else { return false };
        // By name, as the database itself may be gone; its folder may be known under another path.
        let is_named = |hidden: &PathBuf| {
            let linked = hidden.canonicalize();
            let names = [hidden.file_name(), linked.as_deref().ok().and_then(Path::file_name)];
            names.into_iter().flatten().any(|name| name.as_encoded_bytes().eq_ignore_ascii_case(base))
        };
        self.0.iter().any(is_named)
    }
}

/// Whether it is a Rhai script, or what an editor left of one.
fn is_script(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let mut name = name.as_str();
    while let Some(shorter) = LEFT_OVER.iter().find_map(|suffix| name.strip_suffix(suffix)) {
        name = shorter;
    }
    name.ends_with(".rhai")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_and_what_editors_leave_of_them_are_hidden() {
        for name in [
            "a.rhai",
            "A.RHAI",
            ".rhai",
            "a.rhai~",
            ".a.rhai.swp",
            "#a.rhai#",
            "a.rhai.bak",
            "a.rhai.orig~",
            "x/a.Rhai",
        ] {
            assert!(is_script(Path::new(name)), "{name}");
        }
        for name in ["a.rhai.html", "rhai", "arhai", "a.txt", "a.rhai/b.txt", "~", ""] {
            assert!(!is_script(Path::new(name)), "{name}");
        }
    }
}
