use std::rc::Rc;

use super::*;
use crate::http::{Body, Connection, Id, Upload};
use http::Version;
use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use tempfile::TempDir;

fn request(method: &str, script_name: &str, target: &str, headers: &[(&str, &str)]) -> Rc<Request> {
    let mut head = http::Request::builder().method(method).uri(target).version(Version::HTTP_11);
    for (name, value) in headers {
        head = head.header(*name, *value);
    }
    let address: std::net::SocketAddr = "127.0.0.1:80".parse().unwrap();
    Rc::new(Request {
        head: head.body(()).unwrap().into_parts().0,
        connection: Rc::new(Connection::new(address, address, 1)),
        server_name: "default".into(),
        script_name: script_name.into(),
        path_info: script_name.len(),
        id: Id(1),
        upload: RefCell::new(Upload::None),
        identity: std::cell::OnceCell::new(),
        variables: RefCell::default(),
        journal: Default::default(),
    })
}

fn nothing() -> Rc<Hidden> {
    Rc::new(Hidden::new(Vec::new()))
}

/// `None` where the next handler shall answer.
fn ask_with(files: &Files, method: &str, target: &str, headers: &[(&str, &str)]) -> Option<Response> {
    let request = request(method, "", target, headers);
    match files.answer(&request) {
        Outcome::Answer(response) => Some(response),
        Outcome::Pass(_) => None,
    }
}

fn ask(files: &Files, target: &str) -> Option<Response> {
    ask_with(files, "GET", target, &[])
}

fn body(response: Response) -> String {
    match response.into_body() {
        Body::Empty => String::new(),
        Body::Full(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        Body::Stream(_) => String::from("(stream)"),
    }
}

fn served(files: &Files, target: &str) -> Option<String> {
    ask(files, target).map(|response| {
        assert_eq!(response.status(), 200, "{target}");
        body(response)
    })
}

/// A folder `site` with files, beside secrets.
fn site() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("site");
    for name in ["site/sub/deep", "site/bare", "site/conf", "other", "site-other"] {
        fs::create_dir_all(folder.path().join(name)).unwrap();
    }
    let files = [
        ("site/a.txt", "hello"),
        ("site/page.html", "<p>é"),
        ("site/data.json", "{}"),
        ("site/noext", "?"),
        ("site/a b.txt", "space"),
        ("site/.well-known", "dot"),
        ("site/sub/index.html", "index"),
        ("site/sub/deep/index.txt", "second"),
        ("site/bare/b.txt", "b"),
        ("site/h.rhai", "secret"),
        ("site/conf/host.yaml", "secret"),
        ("site/demo.db", "secret"),
        ("site/demo.db-wal", "secret"),
        ("site/demo.db-shm", "secret"),
        ("site/demo.db-journal", "secret"),
        ("site/open-wal", "open"),
        ("secret.txt", "secret"),
        ("other/secret.txt", "secret"),
        ("site-other/secret.txt", "secret"),
    ];
    for (name, content) in files {
        fs::write(folder.path().join(name), content).unwrap();
    }
    (folder, root)
}

fn index() -> Vec<String> {
    ["index.html", "index.htm", "index.txt"].map(String::from).to_vec()
}

fn dir(root: &Path) -> Files {
    let hidden = ["conf/host.yaml", "demo.db", "later.db"].map(|name| root.join(name)).to_vec();
    Files::dir(root.to_owned(), index(), Rc::new(Hidden::new(hidden)))
}

#[test]
fn a_file_is_served_with_type_length_and_validators() {
    let (_folder, root) = site();
    let response = ask(&dir(&root), "/page.html?x=1").unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/html; charset=utf-8");
    assert_eq!(response.headers()["content-length"], "5");
    assert_eq!(response.headers()["accept-ranges"], "bytes");
    assert!(response.headers()["etag"].to_str().unwrap().ends_with("-5\""));
    httpdate::parse_http_date(response.headers()["last-modified"].to_str().unwrap()).unwrap();
    assert_eq!(body(response), "<p>é");
    let kind = |target: &str| ask(&dir(&root), target).unwrap().headers()["content-type"].to_str().unwrap().to_owned();
    assert_eq!(kind("/a.txt"), "text/plain; charset=utf-8");
    assert_eq!(kind("/data.json"), "application/json");
    assert_eq!(kind("/noext"), "application/octet-stream");
}

#[test]
fn names_are_decoded_once_and_dots_are_ordinary() {
    let (_folder, root) = site();
    assert_eq!(served(&dir(&root), "/a%20b.txt").unwrap(), "space");
    assert_eq!(served(&dir(&root), "/sub/../%61.txt").unwrap(), "hello");
    assert_eq!(served(&dir(&root), "/.well-known").unwrap(), "dot");
    assert_eq!(served(&dir(&root), "//a.txt").unwrap(), "hello");
    assert_eq!(served(&dir(&root), "/a%2520b.txt"), None);
}

#[test]
fn hostile_paths_find_nothing() {
    let (folder, root) = site();
    symlink("../secret.txt", root.join("link.txt")).unwrap();
    symlink(folder.path().join("other"), root.join("link")).unwrap();
    symlink("h.rhai", root.join("script.txt")).unwrap();
    symlink("a.txt", root.join("a.rhai")).unwrap();
    symlink("conf/host.yaml", root.join("config.txt")).unwrap();
    fs::hard_link(root.join("demo.db"), root.join("hard.txt")).unwrap();
    fs::write(root.join("later.db"), "secret").unwrap();
    let long = format!("/{}", "a".repeat(300));
    let longer = "/a".repeat(3000);
    let targets = [
        "/../secret.txt",
        "/..%2fsecret.txt",
        "/%2e%2e/secret.txt",
        "/.%2e/secret.txt",
        "/%2e%2e%2fsecret.txt",
        "/sub/../../secret.txt",
        "/sub/..%2f..%2fsecret.txt",
        "/%252e%252e/secret.txt",
        "/....//secret.txt",
        "//../secret.txt",
        "/../site/a.txt",
        "/../site-other/secret.txt",
        "/..\\secret.txt",
        "/..%5csecret.txt",
        "/%c0%ae%c0%ae/secret.txt",
        "/etc/passwd",
        "//etc/passwd",
        "/%2fetc%2fpasswd",
        "/%2Fetc/passwd",
        "/proc/self/environ",
        "/a.txt%00",
        "/a.txt%00.html",
        "/%00",
        "/a.txt/",
        "/a.txt/x",
        "/a.txt/..%2fa.txt",
        "/a.txt/.",
        "/sub%2findex.html",
        "/nothing",
        "/nothing/",
        &long,
        &longer,
        "/link.txt",
        "/link/secret.txt",
        "/link/",
        "/link",
        "/h.rhai",
        "/H.rhai",
        "/h%2Erhai",
        "/h.rhai%20",
        "/h.rhai/",
        "/./h.rhai",
        "/sub/../h.rhai",
        "/script.txt",
        "/a.rhai",
        "/conf/host.yaml",
        "/conf/./host.yaml",
        "/config.txt",
        "/demo.db",
        "/demo.db-wal",
        "/demo.db-shm",
        "/demo.db-journal",
        "/demo.db%2dwal",
        "/hard.txt",
        "/later.db",
        "/bare",
        "/bare/",
        "/",
        "",
        "/bare/..",
        "/%",
        "/%zz",
        "/?/../secret.txt",
        "/A.TXT",
    ];
    let files = dir(&root);
    for target in targets {
        assert_eq!(served(&files, if target.is_empty() { "/" } else { target }), None, "{target}");
        assert!(ask_with(&files, "POST", if target.is_empty() { "/" } else { target }, &[]).is_none(), "POST {target}");
    }
}

#[test]
fn what_only_looks_hidden_is_served() {
    let (_folder, root) = site();
    fs::write(root.join("x.rhai.html"), "page").unwrap();
    symlink("a.txt", root.join("inner.txt")).unwrap();
    symlink(root.join("sub"), root.join("inner")).unwrap();
    assert_eq!(served(&dir(&root), "/open-wal").unwrap(), "open");
    assert_eq!(served(&dir(&root), "/x.rhai.html").unwrap(), "page");
    assert_eq!(served(&dir(&root), "/inner.txt").unwrap(), "hello");
    assert_eq!(served(&dir(&root), "/inner/").unwrap(), "index");
}

#[test]
fn sqlite_leaves_nothing_to_see_when_its_database_is_gone() {
    let (_folder, root) = site();
    fs::remove_file(root.join("demo.db")).unwrap();
    assert_eq!(served(&dir(&root), "/demo.db-wal"), None);
}

#[test]
fn a_root_that_is_a_link_may_be_swapped() {
    let (folder, root) = site();
    let current = folder.path().join("current");
    symlink(&root, &current).unwrap();
    let files = dir(&current);
    assert_eq!(served(&files, "/a.txt").unwrap(), "hello");
    fs::remove_file(&current).unwrap();
    fs::write(folder.path().join("other/a.txt"), "new").unwrap();
    symlink(folder.path().join("other"), &current).unwrap();
    assert_eq!(served(&files, "/a.txt").unwrap(), "new");
}

#[test]
fn a_folder_shows_its_first_index() {
    let (_folder, root) = site();
    assert_eq!(served(&dir(&root), "/sub/").unwrap(), "index");
    assert_eq!(served(&dir(&root), "/sub/deep/").unwrap(), "second");
    assert_eq!(served(&Files::dir(root.clone(), Vec::new(), nothing()), "/sub/"), None);
}

#[test]
fn a_folder_with_an_index_is_moved_to_its_slash() {
    let (_folder, root) = site();
    let location = |target: &str| {
        let response = ask(&dir(&root), target).unwrap();
        assert_eq!(response.status(), 301);
        response.headers()["location"].to_str().unwrap().to_owned()
    };
    assert_eq!(location("/sub"), "/sub/");
    assert_eq!(location("/sub?a=b&c"), "/sub/?a=b&c");
    assert_eq!(location("//sub/deep"), "/sub/deep/");
    let files = Files::dir(root.join("sub"), index(), nothing());
    let outcome = files.answer(&request("GET", "/my", "/my?q", &[]));
    let Outcome::Answer(response) = outcome else { panic!("an answer was expected") };
    assert_eq!(response.headers()["location"], "/my/?q");
}

#[test]
fn other_methods_are_refused_for_what_exists_and_passed_for_what_does_not() {
    let (_folder, root) = site();
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "BREW"] {
        let response = ask_with(&dir(&root), method, "/a.txt", &[]).unwrap();
        assert_eq!(response.status(), 405);
        assert_eq!(response.headers()["allow"], "GET, HEAD");
        assert_eq!(body(response), "method not allowed");
        assert!(ask_with(&dir(&root), method, "/nothing", &[]).is_none());
    }
    let files = dir(&root).with_errors(envelope::Settings::default());
    let response = ask_with(&files, "POST", "/a.txt", &[]).unwrap();
    assert_eq!(body(response), r#"{"status":"Fail","error_message":"Method not allowed"}"#);
}

#[test]
fn head_has_the_headers_of_get_and_no_body() {
    let (_folder, root) = site();
    let get = ask(&dir(&root), "/a.txt").unwrap();
    let head = ask_with(&dir(&root), "HEAD", "/a.txt", &[("range", "bytes=0-1")]).unwrap();
    assert_eq!((head.status(), head.headers()), (get.status(), get.headers()));
    assert_eq!(body(head), "");
}

#[test]
fn parts_and_conditions_are_answered() {
    let (_folder, root) = site();
    let files = dir(&root);
    let etag = ask(&files, "/a.txt").unwrap().headers()["etag"].to_str().unwrap().to_owned();
    let part = ask_with(&files, "GET", "/a.txt", &[("range", "bytes=1-2"), ("if-range", &etag)]).unwrap();
    assert_eq!(part.status(), 206);
    assert_eq!(part.headers()["content-range"], "bytes 1-2/5");
    assert_eq!(part.headers()["content-length"], "2");
    assert_eq!(body(part), "el");
    let none = ask_with(&files, "GET", "/a.txt", &[("range", "bytes=5-")]).unwrap();
    assert_eq!(none.status(), 416);
    assert_eq!(none.headers()["content-range"], "bytes */5");
    assert_eq!(body(none), "requested range not satisfiable");
    for method in ["GET", "HEAD"] {
        let known = ask_with(&files, method, "/a.txt", &[("if-none-match", &etag), ("range", "bytes=1-2")]).unwrap();
        assert_eq!(known.status(), 304);
        assert_eq!(known.headers()["etag"], etag.as_str());
        assert!(!known.headers().contains_key("content-type"));
        assert_eq!(body(known), "");
    }
    let failed = ask_with(&files, "GET", "/a.txt", &[("if-match", "\"x\"")]).unwrap();
    assert_eq!((failed.status().as_u16(), body(failed).as_str()), (412, "precondition failed"));
}

#[test]
fn a_change_of_the_file_changes_its_tag() {
    let (_folder, root) = site();
    let etag = || ask(&dir(&root), "/a.txt").unwrap().headers()["etag"].clone();
    let before = etag();
    fs::write(root.join("a.txt"), "hallo").unwrap();
    let changed = fs::metadata(root.join("a.txt")).unwrap().modified().unwrap() + std::time::Duration::from_nanos(100);
    File::options().write(true).open(root.join("a.txt")).unwrap().set_modified(changed).unwrap();
    assert_ne!(before, etag());
}

#[test]
fn a_large_file_is_streamed_and_an_empty_one_is_not() {
    let (_folder, root) = site();
    fs::write(root.join("large"), vec![b'x'; 70_000]).unwrap();
    fs::write(root.join("empty"), "").unwrap();
    let large = ask(&dir(&root), "/large").unwrap();
    assert_eq!(large.headers()["content-length"], "70000");
    assert_eq!(body(large), "(stream)");
    assert_eq!(served(&dir(&root), "/empty").unwrap(), "");
}

#[test]
fn what_is_no_file_is_absent_and_does_not_block() {
    let (_folder, root) = site();
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(root.join("pipe")).status().unwrap().success());
    assert_eq!(served(&dir(&root), "/socket"), None);
    assert_eq!(served(&dir(&root), "/pipe"), None);
    assert_eq!(served(&Files::dir(root.join("nothing"), index(), nothing()), "/a.txt"), None);
}

#[test]
fn a_file_that_may_not_be_read_gets_403() {
    let denied = io::Error::from(io::ErrorKind::PermissionDenied);
    let (_folder, root) = site();
    assert_eq!(dir(&root).failed(&request("GET", "", "/a.txt", &[]), &denied).status(), 403);
    assert_eq!(dir(&root).failed(&request("GET", "", "/a.txt", &[]), &io::Error::other("disk")).status(), 500);
    // Root reads everything: there the rest can't be seen.
    fs::set_permissions(root.join("a.txt"), fs::Permissions::from_mode(0o000)).unwrap();
    if File::open(root.join("a.txt")).is_err() {
        assert_eq!(ask(&dir(&root), "/a.txt").unwrap().status(), 403);
    }
}

#[test]
fn a_link_that_leads_nowhere_is_the_operators_mistake() {
    let (_folder, root) = site();
    symlink("loop", root.join("loop")).unwrap();
    symlink("gone", root.join("dangling")).unwrap();
    assert_eq!(ask(&dir(&root), "/loop").unwrap().status(), 500);
    assert_eq!(served(&dir(&root), "/dangling"), None);
}

#[test]
fn one_file_is_served_for_all_of_its_path() {
    let (_folder, root) = site();
    let files = Files::one(root.join("a.txt"), nothing());
    assert_eq!(served(&files, "/").unwrap(), "hello");
    assert_eq!(served(&files, "/x/../y").unwrap(), "hello");
    assert_eq!(served(&Files::one(root.join("nothing"), nothing()), "/"), None);
    assert_eq!(served(&Files::one(root.join("h.rhai"), nothing()), "/"), None);
    assert_eq!(served(&Files::one(root.join("demo.db"), Rc::new(Hidden::new(vec![root.join("demo.db")]))), "/"), None);
}
