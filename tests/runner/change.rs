//! Changes of files: before the server starts they are simply made, after that as editors make them,
//! and the server has to say what it does about it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::case::Change;
use super::logs::PATIENCE;

/// How long nothing may be reported for what is no file of the generation.
const QUIET: Duration = Duration::from_millis(300);

/// What the server says when it has taken a change up, and when it has not.
const REPORTS: [&str; 2] = ["reloaded, since ", "not reloaded, though "];

/// Makes a change below `folder` before the server has started.
///
/// # Errors
/// If it can't be made.
pub fn make(folder: &Path, change: &Change, text: &str) -> Result<(), String> {
    match change {
        Change::File(path) | Change::Write(path) => write(&folder.join(path), text),
        Change::Remove(path) => remove(&folder.join(path)),
        Change::Link { path, target } => link(&folder.join(path), target),
    }
}

/// Makes a change below `folder` while the server runs, whose configuration and error logs these are, and waits
/// until it has been reported; for what is no file of the generation nothing may be.
///
/// # Errors
/// If it can't be made, or the report doesn't come, or comes.
pub fn make_live(folder: &Path, change: &Change, text: &str, conf: &str, logs: &[PathBuf]) -> Result<(), String> {
    let path = match change {
        Change::File(path) | Change::Write(path) | Change::Remove(path) | Change::Link { path, .. } => path,
    };
    let before = reports(folder, logs);
    match change {
        Change::File(path) => {
            let aside = beside(&folder.join(path));
            write(&aside, text)?;
            rename(&aside, &folder.join(path))?;
        }
        Change::Link { path, target } => {
            let aside = beside(&folder.join(path));
            link(&aside, target)?;
            rename(&aside, &folder.join(path))?;
        }
        Change::Write(_) | Change::Remove(_) => make(folder, change, text)?,
    }
    let deadline = Instant::now() + if belongs(path, conf) { PATIENCE } else { QUIET };
    while Instant::now() < deadline {
        match (reports(folder, logs) > before, belongs(path, conf)) {
            (true, true) => return Ok(()),
            (true, false) => return Err("a reload was reported, but this is no file of the generation".to_owned()),
            (false, _) => thread::sleep(Duration::from_millis(5)),
        }
    }
    if belongs(path, conf) { Err(format!("no reload was reported within {PATIENCE:?}")) } else { Ok(()) }
}

/// Whether the path is one that a generation is read from: by its name, or because the configuration names it.
fn belongs(path: &Path, conf: &str) -> bool {
    let name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
    let is_source = ["rhai", "yaml", "yml", "sql"].iter().any(|it| path.extension().is_some_and(|end| end == *it));
    (is_source && !name.starts_with(['.', '#'])) || conf.contains(&path.display().to_string())
}

/// How many reloads and refusals were reported so far.
fn reports(folder: &Path, logs: &[PathBuf]) -> usize {
    let text = |file: &PathBuf| fs::read_to_string(folder.join(file)).unwrap_or_default();
    logs.iter().map(text).map(|it| REPORTS.iter().map(|report| it.matches(report).count()).sum::<usize>()).sum()
}

/// Whether the last report is a refusal.
///
/// # Errors
/// If it is none.
pub fn refused(folder: &Path, logs: &[PathBuf]) -> Result<(), String> {
    let text: String = logs.iter().map(|it| fs::read_to_string(folder.join(it)).unwrap_or_default()).collect();
    let last = |report: &str| text.rfind(report);
    match (last(REPORTS[0]), last(REPORTS[1])) {
        (_, None) => Err("nothing was refused".to_owned()),
        (Some(taken), Some(refused)) if taken > refused => Err("the last change was taken up".to_owned()),
        _ => Ok(()),
    }
}

/// Writes a file, and the folders that it lies in.
///
/// # Errors
/// If the system refuses.
pub fn write(path: &Path, text: &str) -> Result<(), String> {
    make_parent(path)?;
    fs::write(path, text).map_err(|error| format!("`{}`: {error}", path.display()))
}

fn make_parent(path: &Path) -> Result<(), String> {
    let parent = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(|error| format!("`{}`: {error}", parent.display()))
}

fn remove(path: &Path) -> Result<(), String> {
    let is_folder = path.symlink_metadata().is_ok_and(|it| it.is_dir());
    let removed = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.map_err(|error| format!("`{}`: {error}", path.display()))
}

fn link(path: &Path, target: &Path) -> Result<(), String> {
    make_parent(path)?;
    symlink(target, path).map_err(|error| format!("`{}`: {error}", path.display()))
}

fn rename(from: &Path, to: &Path) -> Result<(), String> {
    make_parent(to)?;
    fs::rename(from, to).map_err(|error| format!("`{}`: {error}", to.display()))
}

/// Where something is made before it takes the place of `path`.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{name}.rhaid-case-new"))
}
