//! Keeps a server for as long as this process lives: a shell that ends it, and removes its folder, when our end of a pipe
//! is closed.
//!
//! A `Drop` is not enough: what is static is never dropped, and `kill -9` leaves no time for it. Nor is the kernel's
//! parent-death signal alone: it comes when the *thread* that started the server ends, which here is that of one test.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};

use super::account;

/// `$1` is the folder, `$2` the signal that ends the server, the rest its command.
///
/// A line that comes in is a signal to end it with, and the folder stays; the end of the input ends both.
const SCRIPT: &str = r#"
folder=$1 signal=$2
shift 2
if command -v setpriv >/dev/null; then set -- setpriv --pdeathsig KILL "$@"; fi
"$@" </dev/null >>"$folder/log" 2>&1 &
server=$!
echo $server
if read -r line; then signal=$line; else gone=$folder; fi
kill -s "$signal" $server
{ sleep 10; kill -s KILL $server; } >/dev/null &
late=$!
wait $server
kill $late
if [ -n "$gone" ]; then cd / && rm -rf "$gone"; fi
"#;

/// A server's process with its shell.
#[derive(Debug)]
pub struct Keeper {
    shell: Child,
    /// The server's process id.
    pub server: u32,
}

impl Keeper {
    /// Starts `command`, whose output goes to `log` in `folder`; it is ended by `signal` if nothing else ends it.
    pub fn start(folder: &Path, signal: &str, command: &[String]) -> Result<Keeper, String> {
        let mut shell = account::command(Path::new("/bin/sh"), folder)?;
        shell.args(["-c", SCRIPT, "keeper"]).arg(folder).arg(signal).args(command);
        // Ctrl-C at the terminal is for the tests; the shell has to see their end.
        shell.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut shell = shell.spawn().map_err(|error| format!("`/bin/sh` can't be run: {error}"))?;
        let mut line = String::new();
        let stdout = shell.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).map_err(|error| error.to_string())?;
        let server = line.trim().parse().map_err(|_| format!("the shell printed `{line}`, not a process id"))?;
        Ok(Keeper { shell, server })
    }

    /// Whether the server's process is there, and no zombie.
    pub fn is_running(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.server));
        let state = stat.map(|it| it.rsplit(") ").next().and_then(|rest| rest.chars().next()));
        // Without `/proc` nothing is known of it.
        !Path::new("/proc/self").exists() || state.is_ok_and(|it| it.is_some_and(|state| state != 'Z'))
    }

    /// Ends the server by `signal`, waits for its end and leaves its folder.
    pub fn stop(mut self, signal: &str) {
        if let Some(mut input) = self.shell.stdin.take() {
            let _ = writeln!(input, "{signal}");
        }
        let _ = self.shell.wait();
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}
