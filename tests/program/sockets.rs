//! Unix sockets, and who the process is.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use crate::served::{Served, rhaid};

const WHO: &str = "\
hosts:
  default:
    access-log:
      path: access.log
      format: '%h %A %p %{remote}p'
    paths:
      /:
        rhai.handler: |
          |env| json([env.REMOTE_ADDR, env.REMOTE_PORT, env.SERVER_ADDR, env.SERVER_PORT, env.SERVER_NAME])
";

/// The reply's body.
fn ask(stream: &mut UnixStream) -> String {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(stream, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply.split_once("\r\n\r\n").expect("a head and a body").1.to_owned()
}

#[test]
fn a_unix_socket_serves_until_the_end() {
    for listen in ["listen: unix:a.sock\n", "listen:\n  type: unix\n  port: a.sock\n  permission: 0620\n"] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("host.yaml"), format!("{listen}{WHO}")).unwrap();
        let path = folder.path().join("a.sock");
        // Left behind by a process that was killed.
        drop(UnixListener::bind(&path).unwrap());
        let mut server = Served::listening(folder);
        assert!(server.line.contains("serves unix:a.sock with 2 threads"), "{}", server.line);
        assert!(fs::metadata(&path).unwrap().file_type().is_socket());
        if listen.contains("permission") {
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o620);
        }
        for _ in 0..4 {
            let body = ask(&mut UnixStream::connect(&path).unwrap());
            assert_eq!(body, r#"["localhost",null,"localhost",null,"default"]"#);
        }
        let taken = rhaid(&server.folder).args(["-c", "host.yaml"]).output().unwrap();
        let stderr = String::from_utf8(taken.stderr).unwrap();
        assert_eq!(taken.status.code(), Some(71));
        assert!(stderr.contains("cannot listen on unix:a.sock: "), "{stderr}");
        assert!(stderr.contains("hint: another process listens there"), "{stderr}");
        assert!(path.exists(), "a server that does not start must not remove another's socket");
        server.signal("TERM");
        assert!(server.process.wait().unwrap().success());
        assert!(!path.exists());
        let log = fs::read_to_string(server.folder.path().join("access.log")).unwrap();
        assert_eq!(log, "localhost localhost - -\n".repeat(4));
    }
}

#[test]
fn a_file_that_is_no_socket_is_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("host.yaml"), format!("listen: unix:precious\n{WHO}")).unwrap();
    fs::write(folder.path().join("precious"), "data").unwrap();
    let output = rhaid(&folder).args(["-c", "host.yaml"]).output().unwrap();
    assert_eq!(output.status.code(), Some(71));
    assert_eq!(fs::read_to_string(folder.path().join("precious")).unwrap(), "data");
}

#[test]
fn a_host_may_have_a_socket_of_its_own() {
    let host = |name: &str| {
        format!(
            "  {name}:\n    listen: unix:{name}.sock\n    paths: {{/: {{rhai.handler: '|env| text(env.SERVER_NAME)'}}}}\n"
        )
    };
    let folder = tempfile::tempdir().unwrap();
    let text = format!("listen: unix:all.sock\nhosts:\n{}{}", host("one"), host("two"));
    fs::write(folder.path().join("host.yaml"), text).unwrap();
    let server = Served::listening(folder);
    let ask = |name: &str| ask(&mut UnixStream::connect(server.folder.path().join(name)).unwrap());
    assert_eq!([ask("one.sock"), ask("two.sock"), ask("all.sock")], ["one", "two", "one"]);
}

/// Whether these tests are run by root, who alone can become somebody else.
fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0)
}

#[test]
fn root_becomes_the_user_when_the_logs_are_open() {
    if !is_root() {
        eprintln!("skipped: only root can become another user");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("migrations")).unwrap();
    fs::write(folder.path().join("migrations/001_a.sql"), "CREATE TABLE a (n INT);").unwrap();
    fs::create_dir(folder.path().join("var")).unwrap();
    let nobody = 65534;
    std::os::unix::fs::chown(folder.path().join("var"), Some(nobody), None).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let text = "\
listen: {type: unix, port: a.sock, owner: nobody, permission: 600}
user: nobody
error-log: error.log
databases:
  main: {url: 'sqlite:var/a.db', migrations: migrations}
";
    fs::write(folder.path().join("host.yaml"), format!("{text}{WHO}")).unwrap();
    let mut server = Served::listening(folder);
    let status = fs::read_to_string(format!("/proc/{}/status", server.process.id())).unwrap();
    let line = |name: &str| status.lines().find_map(|it| it.strip_prefix(name)).unwrap().trim().to_owned();
    assert_eq!(line("Uid:"), ["65534"; 4].join("\t"));
    assert_ne!(line("Gid:"), ["0"; 4].join("\t"));
    assert!(!line("Groups:").split(' ').any(|it| it == "0"), "{status}");
    let owner = |name: &str| fs::metadata(server.folder.path().join(name)).unwrap().uid();
    assert_eq!((owner("access.log"), owner("error.log"), owner("a.sock"), owner("var/a.db")), (0, 0, nobody, nobody));
    ask(&mut UnixStream::connect(server.folder.path().join("a.sock")).unwrap());
    // Every thread has given root up, the workers' too.
    for thread in fs::read_dir(format!("/proc/{}/task", server.process.id())).unwrap() {
        let status = fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
        assert!(status.contains("Uid:\t65534\t65534\t65534\t65534"), "{status}");
    }
    server.signal("TERM");
    assert!(server.process.wait().unwrap().success());
    assert_eq!(fs::read_to_string(server.folder.path().join("access.log")).unwrap().lines().count(), 1);
}

#[test]
fn who_is_not_root_is_told_so() {
    if !is_root() {
        eprintln!("skipped: only root can start as another user");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    fs::write(folder.path().join("host.yaml"), format!("listen: 127.0.0.1:0\nuser: root\n{WHO}")).unwrap();
    let mut command = rhaid(&folder);
    let output = std::os::unix::process::CommandExt::uid(&mut command, 65534).args(["-c", "host.yaml"]).output();
    let Ok(output) = output else {
        eprintln!("skipped: the program may not be run by another user here");
        return;
    };
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(71), "{stderr}");
    let expected = "cannot become the user `root`: only root can, and the process runs as the user 65534\nhint: ";
    assert!(stderr.contains(expected), "{stderr}");
}
