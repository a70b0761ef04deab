//! Where a server is spoken to that runs already, and how: a line is asked, a line of JSON is answered, on a
//! unix socket that only its own user can connect to.
//!
//! The socket lies beside the pid file, and where none is named, or the configuration can't be read, in a folder of the
//! user's below that for temporary files, by a name that the configuration's path gives it.

use std::fs::{self, DirBuilder};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base16ct::lower;
use nix::unistd::geteuid;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::configuration;
use crate::config::{self, Overrides};
use crate::server::Refusal;

/// Asks for [`Snapshot`](crate::status::Snapshot).
pub(super) const STATUS: &str = "status";
/// Asks for a reload, and for its [`Outcome`].
pub(super) const RELOAD: &str = "reload";

/// What became of a reload.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Outcome {
    /// The number of the generation that is served now.
    Generation(u64),
    /// What is wrong with the files; the old generation goes on.
    Refused(String),
}

/// Where the socket beside a pid file is.
pub(super) fn beside(pid_file: &Path) -> PathBuf {
    pid_file.with_extension("sock")
}

/// Where the sockets of a configuration are that names no pid file: one by the path that leads to it, and where links are
/// part of that another by the file that it is now. A deployment may have led the link elsewhere since the server started.
///
/// # Errors
/// If there can be none, since the folder is not the user's alone.
pub(super) fn own(configuration: &Path) -> io::Result<Vec<PathBuf>> {
    let folder = std::env::temp_dir().join(format!("rhaid-{}", geteuid()));
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let metadata = fs::symlink_metadata(&folder)?;
    if !metadata.is_dir() || metadata.uid() != geteuid().as_raw() || metadata.mode() & 0o077 != 0 {
        let message = format!("`{}` is not a folder of this user alone", folder.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    let mut names = vec![std::path::absolute(configuration)?];
    // It may be gone while it is served.
    names.extend(configuration.canonicalize());
    names.dedup();
    let place = |name: &PathBuf| {
        let digest = Sha256::digest(name.as_os_str().as_encoded_bytes());
        folder.join(format!("{}.sock", lower::encode_string(&digest[..8])))
    };
    Ok(names.iter().map(place).collect())
}

/// Asks the server of a configuration, which `named` names.
///
/// # Errors
/// If no server answers in time; or if there is no configuration.
pub(super) fn ask<T: DeserializeOwned>(named: Option<&Path>, what: &str, patience: Duration) -> Result<T, Refusal> {
    let path = configuration::locate(named)?;
    let read = config::read(&path, &Overrides::default());
    let process = match &read {
        Ok(config) => Some(&config.process),
        Err(mistaken) => mistaken.rest.as_ref().map(|it| &it.process),
    };
    let mut places: Vec<PathBuf> = process.and_then(|it| it.pid_file.as_deref()).map(beside).into_iter().collect();
    let own = own(&path);
    places.extend(own.iter().flatten().cloned());
    let mut misunderstood = None;
    for place in &places {
        let Some(stream) = connect(place) else { continue };
        let failed = |error: &io::Error| {
            let late = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
            let why = if late { format!("no answer for {} s", patience.as_secs()) } else { error.to_string() };
            Refusal::System(format!("the server at `{}` can't be asked: {why}", place.display()))
        };
        match exchange(stream, what, patience) {
            Ok(answer) => return Ok(answer),
            // It may be somebody else's socket.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => misunderstood = Some(failed(&error)),
            Err(error) => return Err(failed(&error)),
        }
    }
    if let Some(refusal) = misunderstood {
        return Err(refusal);
    }
    let places: Vec<String> = places.iter().map(|it| format!("`{}`", it.display())).collect();
    let mut why = Vec::new();
    if !places.is_empty() {
        why.push(format!("there is none at {}", places.join(" or ")));
    }
    why.extend(own.err().map(|it| it.to_string()));
    Err(Refusal::System(format!(
        "no server of `{}` is running: {}\nhint: it is the same user's who runs the server, with the same `--conf`",
        path.display(),
        why.join("; ")
    )))
}

/// A connection to a server of this user's or of root's, if there is one; what others let listen there is not believed.
fn connect(place: &Path) -> Option<UnixStream> {
    let owner = fs::symlink_metadata(place).ok()?.uid();
    let user = geteuid();
    let is_trusted = user.is_root() || owner == 0 || owner == user.as_raw();
    UnixStream::connect(place).ok().filter(|_| is_trusted)
}

fn exchange<T: DeserializeOwned>(mut stream: UnixStream, what: &str, patience: Duration) -> io::Result<T> {
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    stream.write_all(format!("{what}\n").as_bytes())?;
    let mut line = String::new();
    if BufReader::new(stream).read_line(&mut line)? == 0 {
        return Err(io::Error::other("it ended before it answered"));
    }
    let foreign = |_| io::Error::new(io::ErrorKind::InvalidData, "it does not answer as this version of rhaid does");
    serde_json::from_str(&line).map_err(foreign)
}
