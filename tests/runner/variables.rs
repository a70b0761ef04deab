//! `$PORT`, `$DIR` and `$DATABASE_URL`: what a case file can't know when it is written.

use std::path::PathBuf;

/// The values of one run of a case.
#[derive(Clone, Debug)]
pub struct Variables {
    /// Where the case's server listens on the loopback address.
    pub port: u16,
    /// The case's folder.
    pub folder: PathBuf,
    /// URL of the case's database, where it has one.
    pub database_url: Option<String>,
}

impl Variables {
    /// `text` with the values for the names; a name without a value stays.
    pub fn replace(&self, text: &str) -> String {
        let mut text =
            text.replace("$PORT", &self.port.to_string()).replace("$DIR", &self.folder.display().to_string());
        if let Some(url) = &self.database_url {
            text = text.replace("$DATABASE_URL", url);
        }
        text
    }

    /// `text` with the names for the values, so that an updated case passes on the next run too.
    pub fn restore(&self, text: &str) -> String {
        text.replace(&self.folder.display().to_string(), "$DIR").replace(&format!(":{}", self.port), ":$PORT")
    }
}
