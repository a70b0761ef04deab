//! Certificates of one's own, by the `openssl` command: an authority and a server that it vouches for.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use tempfile::TempDir;

use super::account;

/// An authority with a certificate of a server.
#[derive(Clone, Debug)]
pub struct Certificates {
    folder: Arc<TempDir>,
}

impl Certificates {
    /// Makes them for the server's `names`, such as `IP:127.0.0.1,DNS:localhost`.
    ///
    /// # Errors
    /// If `openssl` isn't installed or fails.
    pub fn make(names: &str) -> Result<Certificates, String> {
        let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
        let request = |more: &[&str]| openssl(folder.path(), &[&["req", "-x509"], &key[..], more].concat());
        request(&["-subj", "/CN=tests", "-days", "30", "-keyout", "ca-key.pem", "-out", "ca.pem"])?;
        let names = format!("subjectAltName={names}");
        request(
            &[
                &["-subj", "/CN=server", "-days", "30", "-CA", "ca.pem", "-CAkey", "ca-key.pem"][..],
                &["-addext", &names, "-addext", "basicConstraints=critical,CA:FALSE"],
                &["-keyout", "key.pem", "-out", "server.pem"],
            ]
            .concat(),
        )?;
        Ok(Certificates { folder: Arc::new(folder) })
    }

    /// The authority's certificate.
    pub fn authority(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// Copies what the server needs to its folder.
    pub(super) fn install(&self, folder: &Path) -> Result<(), String> {
        for name in ["ca.pem", "server.pem", "key.pem"] {
            let file = folder.join(name);
            let failed = |error: std::io::Error| format!("`{}`: {error}", file.display());
            fs::copy(self.folder.path().join(name), &file).map_err(failed)?;
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).map_err(failed)?;
            account::give(&file)?;
        }
        Ok(())
    }
}

fn openssl(folder: &Path, arguments: &[&str]) -> Result<(), String> {
    let done = Command::new("openssl").current_dir(folder).args(arguments).output();
    let done = done.map_err(|error| format!("`openssl` can't be run: {error}"))?;
    if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).into_owned()) }
}
