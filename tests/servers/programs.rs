//! Where the servers' programs are: in `PATH`, or where Debian and others put them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::Kind;

/// What belongs to one server.
#[derive(Clone, Debug)]
pub struct Programs {
    pub server: PathBuf,
    /// Makes a folder of data.
    pub install: PathBuf,
    /// Runs SQL.
    pub client: PathBuf,
    /// What the server says of itself.
    pub version: String,
}

/// The programs of `kind`.
///
/// # Errors
/// With the one that isn't installed.
pub fn find(kind: Kind) -> Result<&'static Programs, String> {
    static FOUND: [OnceLock<Result<Programs, String>>; 2] = [OnceLock::new(), OnceLock::new()];
    FOUND[kind as usize].get_or_init(|| look(kind)).as_ref().map_err(String::clone)
}

fn look(kind: Kind) -> Result<Programs, String> {
    let [server, install, client] = match kind {
        Kind::Mysql => ["mariadbd", "mariadb-install-db", "mariadb"],
        Kind::Postgres => ["postgres", "initdb", "psql"],
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).chain(usual(kind)).collect();
    let server = program(server, &folders)?;
    // Those beside the server are of its version, and Debian's `psql` in PATH is a slow wrapper of the real one.
    let server = fs::canonicalize(&server).unwrap_or(server);
    let beside: Vec<PathBuf> = server.parent().map(Path::to_owned).into_iter().chain(folders).collect();
    let (install, client) = (program(install, &beside)?, program(client, &beside)?);
    let printed = Command::new(&server).arg("--version").output();
    let printed = printed.map_err(|error| format!("`{}` can't be run: {error}", server.display()))?;
    let version = String::from_utf8_lossy(&printed.stdout).trim().to_owned();
    Ok(Programs { server, install, client, version })
}

/// Folders that are not in everybody's `PATH`.
fn usual(kind: Kind) -> Vec<PathBuf> {
    match kind {
        Kind::Mysql => ["/usr/sbin", "/usr/local/sbin", "/usr/libexec"].map(PathBuf::from).to_vec(),
        Kind::Postgres => {
            let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
            let mut folders: Vec<PathBuf> = versions.map(|it| it.path()).collect();
            // The newest first.
            let number = |folder: &PathBuf| folder.file_name()?.to_str()?.parse::<u32>().ok();
            folders.sort_by_key(|folder| std::cmp::Reverse(number(folder)));
            folders.into_iter().map(|it| it.join("bin")).collect()
        }
    }
}

fn program(name: &str, folders: &[PathBuf]) -> Result<PathBuf, String> {
    let found = folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file());
    found.ok_or_else(|| format!("`{name}` is not installed"))
}
