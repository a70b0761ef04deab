//! A server that is asked what it does, and to reload.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use super::served::Served;

const CONF: &str = "listen: 127.0.0.1:0\npid-file: var/rhaid.pid\nwatch: OFF\nhosts:\n  default:\n    paths:\n      /:\n        \
                    rhai.handler-file: a.rhai\n";

/// Waits until it is so.
fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// What `rhaid status --json` prints.
fn status(folder: &Path) -> serde_json::Value {
    let (code, printed, message) = outcome(folder, &["status", "--json"]);
    if code == 0 { serde_json::from_str(&printed).unwrap() } else { message.into() }
}

fn served(conf: &str) -> Served {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("var")).unwrap();
    fs::write(folder.path().join("free.yaml"), conf).unwrap();
    fs::write(folder.path().join("a.rhai"), "|env| text(\"1\")").unwrap();
    Served::listening_free(folder)
}

fn ask(folder: &Path, arguments: &[&str]) -> Output {
    let rhaid = env!("CARGO_BIN_EXE_rhaid");
    Command::new(rhaid).args(arguments).args(["--conf", "free.yaml"]).current_dir(folder).output().unwrap()
}

/// The exit code, and what was printed on the standard output and error output.
fn outcome(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = ask(folder, arguments);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_reload_says_what_came_of_it() {
    let served = served(CONF);
    let folder = served.folder.path();
    fs::write(folder.join("a.rhai"), "|env| text(\"2\")").unwrap();
    assert_eq!(outcome(folder, &["reload"]), (0, "generation 2 is served\n".into(), String::new()));
    assert_eq!(served.get("/").1, "2");
    fs::write(folder.join("a.rhai"), "|env| text(\"3\"").unwrap();
    let (code, printed, mistakes) = outcome(folder, &["reload"]);
    assert_eq!((code, printed.as_str()), (78, ""));
    assert!(mistakes.starts_with("a.rhai:1:15: "), "{mistakes}");
    let (_, _, same) = outcome(folder, &["--test"]);
    assert_eq!(mistakes, same);
    assert_eq!(served.get("/").1, "2");
    let (code, printed, _) = outcome(folder, &["status"]);
    assert!(
        code == 0 && printed.contains("  REFUSED      ") && printed.contains(same.lines().next().unwrap()),
        "{printed}"
    );
    // A configuration that can't be read at all names no pid file.
    fs::write(folder.join("free.yaml"), "listen: [\n").unwrap();
    let (code, _, mistakes) = outcome(folder, &["reload"]);
    assert!(code == 78 && mistakes.starts_with("free.yaml:"), "{code} {mistakes}");
    fs::write(folder.join("free.yaml"), CONF).unwrap();
    fs::write(folder.join("a.rhai"), "|env| text(\"4\")").unwrap();
    assert_eq!(outcome(folder, &["reload"]).0, 0);
    assert_eq!(served.get("/").1, "4");
    assert!(!outcome(folder, &["status"]).1.contains("REFUSED"));
}

#[test]
fn the_socket_is_its_users_alone_and_ends_with_the_server() {
    let served = served(CONF);
    let folder = served.folder.path().to_owned();
    let socket = folder.join("var/rhaid.sock");
    assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    served.signal("TERM");
    wait("the socket is still there", || !socket.exists());
    let (code, _, message) = outcome(&folder, &["status"]);
    assert_eq!(code, 71);
    assert!(
        message.contains("no server of `free.yaml` is running: there is none at `var/rhaid.sock` or `"),
        "{message}"
    );
    assert_eq!(outcome(&folder, &["reload"]).0, 71);
}

#[test]
fn without_a_pid_file_the_server_is_found_by_its_configuration() {
    let served = served(&CONF.replace("pid-file: var/rhaid.pid\n", ""));
    let folder = served.folder.path();
    assert_eq!(outcome(folder, &["reload"]), (0, "generation 2 is served\n".into(), String::new()));
    let (code, printed, _) = outcome(folder, &["status", "--json"]);
    assert!(code == 0 && printed.contains(&format!("\"pid\": {}", served.process.id())), "{printed}");
}

#[test]
fn a_server_is_found_whose_configuration_is_gone() {
    let served = served(&CONF.replace("pid-file: var/rhaid.pid\n", ""));
    let folder = served.folder.path();
    fs::remove_file(folder.join("free.yaml")).unwrap();
    assert_eq!(status(folder)["pid"], served.process.id());
    let (code, _, mistakes) = outcome(folder, &["reload"]);
    assert!(code == 78 && mistakes.contains("free.yaml"), "{code} {mistakes}");
}

#[test]
fn a_folder_that_others_may_write_to_is_said_to_be_one() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("free.yaml"), CONF.replace("pid-file: var/rhaid.pid\n", "")).unwrap();
    let own = folder.path().join(format!("rhaid-{}", fs::metadata(folder.path()).unwrap().uid()));
    fs::create_dir(&own).unwrap();
    fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_rhaid"));
    command.args(["status", "--conf", "free.yaml"]).current_dir(folder.path()).env("TMPDIR", folder.path());
    let output = command.output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    let expected =
        format!("no server of `free.yaml` is running: `{}` is not a folder of this user alone\n", own.display());
    assert!(output.status.code() == Some(71) && message.contains(&expected), "{message}");
}

#[test]
fn who_asks_nonsense_or_nothing_disturbs_nobody() {
    let served = served(CONF);
    let folder = served.folder.path();
    let socket = folder.join("var/rhaid.sock");
    // Some who say nothing, more than are listened to at a time, and some who never take the answer.
    let mut silent: Vec<UnixStream> = (0..24).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    silent.iter_mut().take(4).for_each(|it| it.write_all(b"status\n").unwrap());
    for nonsense in [&b"\n"[..], b"nonsense\n", &[0xff; 100], &[b'x'; 1 << 20]] {
        // It may be cut off before it has sent everything.
        let _ = UnixStream::connect(&socket).unwrap().write_all(nonsense);
    }
    drop(UnixStream::connect(&socket).unwrap());
    assert_eq!(outcome(folder, &["reload"]).0, 0);
    assert_eq!(served.get("/").0, 200);
    drop(silent);
}

#[test]
fn what_was_answered_is_counted() {
    let served = served(CONF);
    let folder = served.folder.path();
    for _ in 0..3 {
        served.get("/");
    }
    wait("not all is counted", || {
        let status = status(folder);
        status["requests"] == 3 && status["answers"]["2xx"] == 3 && status["connections"] == 0
    });
}

/// A server beside the one that a test is about, ended with the test.
struct Second(Child);

impl Drop for Second {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_second_server_of_a_configuration_is_asked_when_the_first_has_ended() {
    let first = served(CONF);
    let folder = first.folder.path().to_owned();
    let log = folder.join("second.log");
    let mut command = Command::new(env!("CARGO_BIN_EXE_rhaid"));
    command.args(["--conf", "free.yaml"]).current_dir(&folder).stderr(File::create(&log).unwrap());
    let second = Second(command.spawn().unwrap());
    wait("the second does not start", || fs::read_to_string(&log).unwrap().contains(" serves "));
    // The log is written by a thread of its own.
    let said = "ask another server of this configuration at `";
    wait("the second does not say it", || fs::read_to_string(&log).unwrap().contains(said));
    assert_eq!(status(&folder)["pid"], first.process.id());
    // Of all the places at once.
    assert_eq!(fs::read_to_string(&log).unwrap().matches("WARN").count(), 1);
    first.signal("TERM");
    wait("the second is not asked", || status(&folder)["pid"] == second.0.id());
}

#[test]
fn a_socket_that_was_left_behind_or_serves_requests_is_not_in_the_way() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("var")).unwrap();
    let socket = folder.path().join("var/rhaid.sock");
    drop(UnixListener::bind(&socket).unwrap());
    let conf = CONF.replace("rhai.handler-file: a.rhai", "file.dir: var");
    fs::write(folder.path().join("free.yaml"), &conf).unwrap();
    let mut server = Served::listening_free(folder);
    let folder = server.folder.path().to_owned();
    assert_eq!(status(&folder)["pid"], server.process.id());
    server.signal("TERM");
    server.process.wait().unwrap();
    // Requests come in at the very file.
    let conf = conf.replace("127.0.0.1:0", "unix:var/rhaid.sock");
    fs::write(folder.join("free.yaml"), conf).unwrap();
    let log = folder.join("other.log");
    let mut command = Command::new(env!("CARGO_BIN_EXE_rhaid"));
    command.args(["--conf", "free.yaml"]).current_dir(&folder).stderr(File::create(&log).unwrap());
    let other = Second(command.spawn().unwrap());
    wait("it is not asked", || status(&folder)["pid"] == other.0.id());
    assert!(!fs::read_to_string(&log).unwrap().contains("WARN"));
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream.write_all(b"GET /none HTTP/1.0\r\n\r\n").unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    assert!(reply.contains(" 404 Not Found\r\n"), "{reply}");
}

#[test]
fn who_deploys_by_a_link_finds_the_server_behind_it() {
    let folder = tempfile::tempdir().unwrap();
    for release in ["1", "2"] {
        fs::create_dir(folder.path().join(release)).unwrap();
        let script = format!("rhai.handler: '|env| text(\"{release}\")'");
        let conf = CONF.replace("pid-file: var/rhaid.pid\n", "").replace("rhai.handler-file: a.rhai", &script);
        fs::write(folder.path().join(release).join("host.yaml"), conf).unwrap();
    }
    let link = |release: &str| {
        symlink(release, folder.path().join("new")).unwrap();
        fs::rename(folder.path().join("new"), folder.path().join("current")).unwrap();
    };
    link("1");
    symlink("current/host.yaml", folder.path().join("free.yaml")).unwrap();
    let place = folder.path().to_owned();
    let reload = |conf: &str| {
        let rhaid = env!("CARGO_BIN_EXE_rhaid");
        let output = Command::new(rhaid).args(["reload", "--conf", conf]).current_dir(&place).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    symlink("2", folder.path().join("new")).unwrap();
    let served = Served::listening_free(folder);
    assert_eq!(served.get("/").1, "1");
    assert_eq!(reload("1/host.yaml"), (Some(0), "generation 2 is served\n".to_owned()));
    fs::rename(place.join("new"), place.join("current")).unwrap();
    assert_eq!(reload("free.yaml"), (Some(0), "generation 3 is served\n".to_owned()));
    assert_eq!(served.get("/").1, "2");
}

#[test]
fn a_server_that_became_another_user_is_asked_by_both() {
    if !fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0) {
        eprintln!("skipped: only root can become another user");
        return;
    }
    let nobody = 65534;
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("var")).unwrap();
    chown(folder.path().join("var"), Some(nobody), None).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.path().join("free.yaml"), format!("user: nobody\n{CONF}")).unwrap();
    fs::write(folder.path().join("a.rhai"), "|env| text(\"1\")").unwrap();
    let mut served = Served::listening_free(folder);
    let folder = served.folder.path().to_owned();
    let socket = folder.join("var/rhaid.sock");
    let metadata = fs::metadata(&socket).unwrap();
    assert_eq!((metadata.uid(), metadata.permissions().mode() & 0o777), (nobody, 0o600));
    assert_eq!(status(&folder)["pid"], served.process.id());
    assert_eq!(outcome(&folder, &["reload"]).0, 0);
    served.signal("TERM");
    assert!(served.process.wait().unwrap().success());
    assert!(!socket.exists());
}

#[test]
fn what_others_let_listen_in_its_place_is_not_believed() {
    let is_root = fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0);
    if !is_root {
        eprintln!("skipped: only root can give a socket away");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    fs::create_dir(folder.path().join("var")).unwrap();
    fs::write(folder.path().join("free.yaml"), CONF).unwrap();
    fs::write(folder.path().join("a.rhai"), "|env| ()").unwrap();
    let socket = folder.path().join("var/rhaid.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o777)).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut asked = [0; 7];
            let _ = stream.read_exact(&mut asked).and_then(|()| stream.write_all(b"{\"generation\":7}\n"));
        }
    });
    let ask = |user: u32| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rhaid"));
        command.args(["reload", "--conf", "free.yaml"]).current_dir(folder.path());
        let output = std::os::unix::process::CommandExt::uid(&mut command, user).output();
        output.ok().and_then(|it| it.status.code())
    };
    chown(&socket, Some(4711), None).unwrap();
    // Where the program can't be run by others there is nothing to see.
    if ask(4711) == Some(0) {
        assert_eq!(ask(65534), Some(71));
    }
}

/// Takes seconds, while another thread than the one that answers is at work.
const SLOW: &str = "CREATE TABLE n AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 6000000) \
                    SELECT count(*) AS n FROM c;";

/// A server whose next reload takes seconds, and a file that is there when it has begun.
fn slow() -> (Served, PathBuf) {
    let served = served(CONF);
    let folder = served.folder.path();
    fs::create_dir(folder.join("migrations")).unwrap();
    fs::write(folder.join("migrations/001_slow.sql"), SLOW).unwrap();
    let databases = "databases: {main: {url: 'sqlite:var/a.db', migrations: migrations}}\n";
    fs::write(folder.join("free.yaml"), format!("{databases}{CONF}")).unwrap();
    let begun = folder.join("var/a.db");
    (served, begun)
}

#[test]
fn who_asks_while_another_reload_is_under_way_gets_the_outcome_of_a_later_one() {
    let (served, begun) = slow();
    let folder = served.folder.path();
    thread::scope(|scope| {
        let first = scope.spawn(|| outcome(folder, &["reload"]));
        wait("the migration does not begin", || begun.exists());
        fs::write(folder.join("a.rhai"), "|env| (").unwrap();
        // Those who ask and go away take nobody's place.
        for _ in 0..40 {
            UnixStream::connect(folder.join("var/rhaid.sock")).unwrap().write_all(b"reload\n").unwrap();
        }
        assert_eq!(status(folder)["generation"], 1, "the reload is still under way");
        let (code, _, mistakes) = outcome(folder, &["reload"]);
        assert!(code == 78 && mistakes.starts_with("a.rhai:1:"), "{code} {mistakes}");
        assert_eq!(first.join().unwrap(), (0, "generation 2 is served\n".to_owned(), String::new()));
    });
}

#[test]
fn who_waits_for_a_reload_when_the_server_ends_is_told_so() {
    let (served, begun) = slow();
    let folder = served.folder.path();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| outcome(folder, &["reload"]));
        wait("the migration does not begin", || begun.exists());
        served.signal("TERM");
        let (code, _, message) = waiting.join().unwrap();
        assert!(code == 71 && message.contains("it ended before it answered"), "{code} {message}");
    });
}
