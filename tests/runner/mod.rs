//! Plays case files (see CONTRIBUTING.md) against a server of their own; knows nothing of rhaid but its command line.

use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::{Completion, Trial};

pub mod case;
pub mod change;
pub mod compare;
pub mod conf;
pub mod database;
pub mod diff;
pub mod exchange;
pub mod logs;
pub mod parse;
pub mod play;
pub mod request;
pub mod server;
pub mod update;
pub mod variables;
pub mod wire;

use database::Availability;
use play::Mode;

/// The `.case` files below `folder`, in order of their names.
///
/// # Errors
/// If the folder can't be read or holds none: a misspelt folder must not pass for one without faults.
pub fn case_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    files.sort();
    if files.is_empty() {
        return Err(format!("`{}` holds no file that ends in `.case`", folder.display()));
    }
    Ok(files)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let unreadable = |error: std::io::Error| format!("the folder `{}` can't be read: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "case") {
            files.push(path);
        }
    }
    Ok(())
}

/// The test, or one for each kind of database, that the case file `file` below `folder` is.
pub fn trials(folder: &Path, file: PathBuf, mode: Mode) -> Vec<Trial> {
    let name = file.strip_prefix(folder).unwrap_or(&file).with_extension("").display().to_string();
    let kinds = fs::read_to_string(&file).map(|text| database::kinds(&text)).unwrap_or_default();
    if kinds.is_empty() {
        return vec![Trial::test(name, move || Ok(play::play(&file, None, mode)?))];
    }
    let several = kinds.len() > 1;
    let trial = |(index, kind): (usize, database::Kind)| {
        let (name, file) = (if several { format!("{name} [{kind}]") } else { name.clone() }, file.clone());
        // One file has one set of replies: the first database writes them, the others are compared.
        let mode = if index == 0 { mode } else { Mode::Compare };
        Trial::ignorable_test(name, move || match kind.availability() {
            Availability::Here => Ok(play::play(&file, Some(kind), mode).map(|()| Completion::Completed)?),
            Availability::Skipped(reason) => Ok(Completion::ignored_with(reason)),
            Availability::Required(reason) => Err(reason.into()),
        })
    };
    kinds.into_iter().enumerate().map(trial).collect()
}
