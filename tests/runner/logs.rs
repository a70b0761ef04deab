//! What a log got since somebody last looked.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::case::Pattern;
use super::compare;

/// How long a line may take to reach the file, normally.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// The files of one log and how far each was read.
#[derive(Debug)]
pub struct Log {
    files: Vec<(PathBuf, usize)>,
}

impl Log {
    /// A log in `files`, read from its beginning; relative names are below `folder`.
    pub fn new(folder: &Path, files: Vec<PathBuf>) -> Log {
        Log { files: files.into_iter().map(|file| (folder.join(file), 0)).collect() }
    }

    /// Waits until each pattern was logged, and goes on behind what there is then.
    ///
    /// # Errors
    /// With the patterns that are missing after `patience`, and what was logged instead.
    pub fn expect(&mut self, patterns: &[Pattern], patience: Duration) -> Result<(), String> {
        if self.files.is_empty() {
            return Err("the configuration names no file for this log".to_owned());
        }
        let deadline = Instant::now() + patience;
        loop {
            let (text, ends) = self.news();
            let missing = compare::missing(patterns, &text);
            if missing.is_empty() {
                for ((_, seen), end) in self.files.iter_mut().zip(ends) {
                    *seen = end;
                }
                return Ok(());
            }
            if Instant::now() > deadline {
                let missing: String = missing.iter().map(|pattern| format!("  - {pattern}\n")).collect();
                let text = if text.is_empty() { "  (nothing)".to_owned() } else { compare::indent(&text, "    ") };
                return Err(format!("not logged within {patience:?}:\n{missing}logged were:\n{text}"));
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// What was logged since, and where each file ends now.
    fn news(&self) -> (String, Vec<usize>) {
        let (mut text, mut ends) = (String::new(), Vec::new());
        for (file, seen) in &self.files {
            let bytes = fs::read(file).unwrap_or_default();
            text.push_str(&String::from_utf8_lossy(bytes.get(*seen..).unwrap_or_default()));
            ends.push(bytes.len());
        }
        (text, ends)
    }
}
