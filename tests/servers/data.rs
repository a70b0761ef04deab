//! A server's folder of data: made by its own program once for each version, then copied, as making it takes seconds.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::programs::Programs;
use super::{Kind, account};

/// Where copies are kept from one run to the next.
const CACHE: &str = env!("CARGO_TARGET_TMPDIR");

/// Size of InnoDB's log, which the server must be told as well.
pub const INNODB_LOG: &str = "--innodb-log-file-size=8M";

/// Makes the data of a new server in `data`, which is not there yet.
pub fn make(kind: Kind, programs: &Programs, data: &Path) -> Result<(), String> {
    let arguments = arguments(kind);
    let mut hasher = DefaultHasher::new();
    (&programs.version, &arguments).hash(&mut hasher);
    let cached = PathBuf::from(CACHE).join(format!("{kind}-{:016x}", hasher.finish()));
    // Another user's copy can't be read.
    if cached.is_dir() {
        match copy(&cached, data, account::give) {
            Ok(()) => return Ok(()),
            Err(_) => drop(fs::remove_dir_all(data)),
        }
    }
    install(kind, programs, &arguments, data)?;
    // Of several at the same time one wins; the others' are removed with their folders.
    if let Ok(folder) = tempfile::tempdir_in(CACHE) {
        let made = folder.path().join("data");
        copy(data, &made, |_| Ok(()))?;
        let _ = fs::rename(made, cached);
    }
    Ok(())
}

fn arguments(kind: Kind) -> Vec<&'static str> {
    match kind {
        Kind::Mysql => vec![
            "--no-defaults",
            "--auth-root-authentication-method=socket",
            "--skip-test-db",
            "--skip-name-resolve",
            "--innodb-buffer-pool-size=16M",
            "--innodb-flush-method=nosync",
            INNODB_LOG,
        ],
        Kind::Postgres => vec!["--username=postgres", "--encoding=UTF8", "--no-locale", "--no-sync", "--auth=trust"],
    }
}

fn install(kind: Kind, programs: &Programs, arguments: &[&str], data: &Path) -> Result<(), String> {
    let folder = data.parent().unwrap_or(data);
    let mut command = account::command(&programs.install, folder)?;
    command.args(arguments);
    match kind {
        Kind::Mysql => command.arg(format!("--datadir={}", data.display())),
        Kind::Postgres => command.arg(format!("--pgdata={}", data.display())),
    };
    let done = command.output().map_err(|error| format!("`{}` can't be run: {error}", programs.install.display()))?;
    if done.status.success() {
        return Ok(());
    }
    let printed = [done.stdout, done.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    Err(format!("`{}` ended with {}:\n{printed}", programs.install.display(), done.status))
}

/// Copies a folder with all that is in it and hands each new file to `own`.
fn copy(from: &Path, to: &Path, own: fn(&Path) -> Result<(), String>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("`{}` can't be copied: {error}", from.display());
    if from.is_dir() {
        fs::create_dir(to).map_err(failed)?;
        fs::set_permissions(to, fs::Permissions::from_mode(0o700)).map_err(failed)?;
        for entry in fs::read_dir(from).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            copy(&from.join(&name), &to.join(&name), own)?;
        }
    } else {
        fs::copy(from, to).map_err(failed)?;
    }
    own(to)
}
