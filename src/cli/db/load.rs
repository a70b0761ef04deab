//! `rhaid db load`: a dump into a database.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;

use crate::cli::print;
use crate::config::Config;
use crate::db::{self, Failure, Progress};
use crate::server::{Refusal, assume};

/// Load a dump, or another file of SQL, into a database
///
/// Runs the file's statements one after the other, up to the first that fails, and applies no migrations. A file for SQLite
/// or PostgreSQL that has no transactions of its own is loaded whole or not at all. MySQL's `DELIMITER` and comments that
/// are code (`/*!…*/`) are followed; psql's commands and `COPY … FROM stdin` are not: `pg_dump --inserts` leaves them out.
/// Ends with 0 if all is loaded, 1 if a statement fails, 71 if the file or the database can't be opened, 78 for a mistake
/// in the configuration.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  rhaid db load dump.sql\n  gzip -dc dump.sql.gz | rhaid db load - --database main")]
pub(super) struct Load {
    /// The file; `-` is the standard input
    #[arg(value_name = "FILE")]
    file: String,

    /// The database, by its name in the configuration [default: the only one]
    #[arg(long, value_name = "NAME")]
    database: Option<String>,
}

/// Loads what the command line names.
pub(super) fn run(load: &Load, config: &Config) -> Result<ExitCode, Refusal> {
    let database = db::named(&config.databases, load.database.as_deref());
    let database = database.map_err(|error| Refusal::Configuration(error.to_string()))?;
    let Source { name, reader, length } = open(&load.file)?;
    // A file that is made is the user's then, as when the server makes it.
    config.process.user.as_ref().map(assume).transpose()?;
    let mut meter = Meter::new(length);
    let began = Instant::now();
    let outcome = db::load(database, &name, reader, |progress| meter.see(progress));
    meter.end();
    match outcome {
        Ok(Progress { statements, .. }) => {
            let noun = if statements == 1 { "statement" } else { "statements" };
            let seconds = began.elapsed().as_secs_f64();
            let text = format!("loaded `{name}` into `{}`: {statements} {noun} in {seconds:.2} s", database.name);
            print(&mut io::stdout(), &text);
            Ok(ExitCode::SUCCESS)
        }
        Err(Failure::Database(error)) => Err(Refusal::System(error.to_string())),
        Err(Failure::File(error)) => {
            print(&mut io::stderr(), &error.to_string());
            Ok(ExitCode::FAILURE)
        }
    }
}

/// What is loaded.
struct Source {
    name: String,
    reader: Box<dyn BufRead + Send>,
    /// In bytes, where that is known.
    length: Option<u64>,
}

/// Opens what the command line's name of a file stands for.
fn open(file: &str) -> Result<Source, Refusal> {
    const CHUNK: usize = 64 << 10;
    if file == "-" {
        let reader = BufReader::with_capacity(CHUNK, io::stdin());
        return Ok(Source { name: "standard input".to_owned(), reader: Box::new(reader), length: None });
    }
    let refused = |error: io::Error| Refusal::System(format!("cannot read `{file}`: {error}"));
    let opened = File::open(file).map_err(refused)?;
    let metadata = opened.metadata().map_err(refused)?;
    if metadata.is_dir() {
        return Err(Refusal::System(format!("`{file}` is a folder, expected a file of SQL")));
    }
    let length = metadata.is_file().then_some(metadata.len());
    let reader = BufReader::with_capacity(CHUNK, opened);
    Ok(Source { name: file.to_owned(), reader: Box::new(reader), length })
}

/// Shows once a second how far a load is, if it takes longer than that.
struct Meter {
    length: Option<u64>,
    shown: Instant,
    is_terminal: bool,
    /// Whether the line that the cursor is in shows it.
    is_open: bool,
}

impl Meter {
    const PACE: Duration = Duration::from_secs(1);

    fn new(length: Option<u64>) -> Meter {
        Meter { length, shown: Instant::now(), is_terminal: io::stderr().is_terminal(), is_open: false }
    }

    fn see(&mut self, progress: Progress) {
        if self.shown.elapsed() < Meter::PACE {
            return;
        }
        self.shown = Instant::now();
        let line = line(progress, self.length);
        if self.is_terminal {
            self.is_open = true;
            let _ = write!(io::stderr(), "\r\x1b[K{line}");
        } else {
            print(&mut io::stderr(), &line);
        }
    }

    /// Leaves a line of its own to what follows.
    fn end(&mut self) {
        if std::mem::take(&mut self.is_open) {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

fn line(progress: Progress, length: Option<u64>) -> String {
    let megabytes = |bytes: u64| format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10);
    let Progress { statements, bytes } = progress;
    let done = megabytes(bytes);
    match length.filter(|length| *length > 0) {
        Some(length) => {
            let percent = bytes.saturating_mul(100) / length;
            format!("{done} of {} ({percent} %), {statements} statements", megabytes(length))
        }
        None => format!("{done}, {statements} statements"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_bytes_per_cent_and_statements() {
        let progress = Progress { statements: 12, bytes: 1_250_000 };
        assert_eq!(line(progress, Some(5_000_000)), "1.2 MB of 5.0 MB (25 %), 12 statements");
        assert_eq!(line(progress, None), "1.2 MB, 12 statements");
        assert_eq!(line(progress, Some(0)), "1.2 MB, 12 statements");
    }
}
