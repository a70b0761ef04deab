//! `rhaid new`: a small project to begin with, which is `examples/new` of rhaid's source.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::print;
use crate::server::Refusal;

const FILES: [(&str, &str); 6] = [
    ("host.yaml", include_str!("../../examples/new/host.yaml")),
    ("handlers/app.rhai", include_str!("../../examples/new/handlers/app.rhai")),
    ("handlers/app_test.rhai", include_str!("../../examples/new/handlers/app_test.rhai")),
    ("migrations/001_notes.sql", include_str!("../../examples/new/migrations/001_notes.sql")),
    ("README.md", include_str!("../../examples/new/README.md")),
    (".gitignore", include_str!("../../examples/new/.gitignore")),
];

/// Write a small project: a configuration, a handler with a database, its tests
#[derive(Args, Debug)]
pub(super) struct New {
    /// The folder to write it to, which must be empty or not there yet
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Writes the project and says what comes next.
pub(super) fn run(new: &New) -> Result<ExitCode, Refusal> {
    let folder = &new.folder;
    let refused = |error: io::Error| Refusal::System(format!("cannot write to `{}`: {error}", folder.display()));
    if is_in_use(folder).map_err(refused)? {
        let message = format!("`{}` is not empty\nhint: name a folder that is not there yet", folder.display());
        return Err(Refusal::System(message));
    }
    for (name, text) in FILES {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap_or(folder)).and_then(|()| fs::write(&path, text)).map_err(refused)?;
    }
    let names: Vec<_> = FILES.iter().map(|(name, _)| *name).collect();
    let place = folder.display();
    print(&mut io::stdout(), &format!("wrote {} to `{place}`. Next:\n", names.join(", ")));
    let program = program();
    let go = if folder.as_os_str() == "." { String::new() } else { format!("  cd {}\n", quoted(&place.to_string())) };
    let serve = format!("{program:<width$}    # serves it on http://localhost:8080/notes", width = program.len() + 5);
    print(&mut io::stdout(), &format!("{go}  {program} test    # runs its tests\n  {serve}"));
    Ok(ExitCode::SUCCESS)
}

/// Whether something is there that is not an empty folder.
fn is_in_use(folder: &Path) -> io::Result<bool> {
    match fs::read_dir(folder) {
        Ok(mut entries) => Ok(entries.next().is_some()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// How the command is called: by its name where the shell found it, else by its path.
fn program() -> String {
    let called = env::args().next().unwrap_or_default();
    let path = env::current_exe().ok().filter(|_| called.contains('/'));
    path.map_or_else(|| "rhaid".to_owned(), |path| quoted(&path.display().to_string()))
}

/// A word for the shell.
fn quoted(word: &str) -> String {
    let is_plain = |it: char| it.is_alphanumeric() || "/._-+~".contains(it);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_example_is_written() {
        fn collect(folder: &Path, below: &Path, names: &mut Vec<String>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = below.join(path.file_name().unwrap());
                match path.is_dir() {
                    true if name == Path::new("var") => {}
                    true => collect(&path, &name, names),
                    false => names.push(name.display().to_string()),
                }
            }
        }
        let mut names = Vec::new();
        collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/new"), Path::new(""), &mut names);
        names.sort();
        let mut written = FILES.map(|(name, _)| name);
        written.sort_unstable();
        assert_eq!(names, written);
    }

    #[test]
    fn a_word_for_the_shell_is_quoted_where_it_must_be() {
        assert_eq!(quoted("/a/b-c.d"), "/a/b-c.d");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
