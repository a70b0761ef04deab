//! Folders that come, go and are replaced while the server runs: a change in them is noticed wherever they lie.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::served::Served;

/// A server whose configuration lies in `conf/`, with these files beside it.
fn served(settings: &str, paths: &str, files: &[(&str, &str)]) -> Served {
    let folder = tempfile::tempdir().unwrap();
    let conf = format!("{settings}hosts:\n  default:\n    paths:\n{paths}");
    write(folder.path(), "conf/host.yaml", &conf);
    for (name, text) in files {
        write(folder.path(), name, text);
    }
    Served::start(folder, "conf/host.yaml")
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Waits for this answer to `target`; nothing but time tells that it does not come.
fn becomes(served: &Served, target: &str, answer: &str) {
    let begin = Instant::now();
    loop {
        let (_, body) = served.get(target);
        if body == answer {
            return;
        }
        assert!(begin.elapsed() < Duration::from_secs(10), "{target} gives {body:?}, not {answer:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

const SCRIPT: &str = "      /:\n        rhai.handler-file: srv/app/handlers/a.rhai\n";
const AT: &str = "srv/app/handlers/a.rhai";

#[test]
fn a_folder_that_was_deleted_is_followed_when_it_is_made_again() {
    let served = served("", SCRIPT, &[(AT, "|env| text(\"1\")")]);
    let folder = served.folder.path();
    for (number, gone) in ["srv/app/handlers", "srv/app", "srv"].into_iter().enumerate() {
        fs::remove_dir_all(folder.join(gone)).unwrap();
        served.printed("not reloaded, though ");
        served.printed("which does not exist");
        assert_eq!(served.get("/").0, 200);
        write(folder, AT, &format!("|env| text(\"{number} a\")"));
        becomes(&served, "/", &format!("{number} a"));
        write(folder, AT, &format!("|env| text(\"{number} b\")"));
        becomes(&served, "/", &format!("{number} b"));
    }
}

#[test]
fn a_folder_that_is_replaced_is_followed_however_far_up_it_lies() {
    let served = served("", SCRIPT, &[(AT, "|env| text(\"1\")")]);
    let folder = served.folder.path();
    for (number, (level, new)) in [
        ("srv/app/handlers", "srv/app/new/a.rhai"),
        ("srv/app", "srv/new/handlers/a.rhai"),
        ("srv", "new/app/handlers/a.rhai"),
    ]
    .into_iter()
    .enumerate()
    {
        write(folder, new, &format!("|env| text(\"{number} a\")"));
        let level = folder.join(level);
        let new = level.with_file_name("new");
        fs::rename(&level, level.with_file_name(format!("old{number}"))).unwrap();
        fs::rename(&new, &level).unwrap();
        becomes(&served, "/", &format!("{number} a"));
        write(folder, AT, &format!("|env| text(\"{number} b\")"));
        becomes(&served, "/", &format!("{number} b"));
    }
}

#[test]
fn a_replacement_with_the_same_content_is_followed_too() {
    let served = served("", SCRIPT, &[(AT, "|env| text(\"1\")"), ("srv/new/handlers/a.rhai", "|env| text(\"1\")")]);
    let srv = served.folder.path().join("srv");
    fs::rename(srv.join("app"), srv.join("old")).unwrap();
    fs::rename(srv.join("new"), srv.join("app")).unwrap();
    // Long enough for it to be looked at, and nothing is found.
    thread::sleep(Duration::from_millis(500));
    write(served.folder.path(), AT, "|env| text(\"2\")");
    becomes(&served, "/", "2");
}

#[test]
fn what_was_looked_for_in_vain_is_taken_up_when_it_comes() {
    let lines = [
        ("/own", "rhai.handler-file: srv/a/own.rhai"),
        ("/below", "rhai.handler-file: srv/b/below.rhai"),
        ("/path", "rhai.handler-file: srv/c/path.rhai"),
    ];
    let line = |(path, line): (&str, &str)| format!("      {path}:\n        {line}\n");
    let paths: String = lines.into_iter().map(line).collect();
    let scripts = ["srv/a/own.rhai", "srv/b/below.rhai", "srv/c/path.rhai"].map(|it| (it, "|env| text(\"1\")"));
    let more = [("modules/there.rhai", "")];
    let served = served("rhai.module-path: modules\n", &paths, &[&scripts[..], &more[..]].concat());
    let folder = served.folder.path();
    for (target, script, name, module) in [
        ("/own", "srv/a/own.rhai", "late", "srv/a/late.rhai"),
        ("/below", "srv/b/below.rhai", "lib/deep/late", "srv/b/lib/deep/late.rhai"),
        ("/path", "srv/c/path.rhai", "sub/late", "modules/sub/late.rhai"),
    ] {
        write(folder, script, &format!("import \"{name}\" as m;\n|env| text(m::word())"));
        served.printed("not reloaded, though ");
        served.printed(&format!("no module `{name}`"));
        assert_eq!(served.get(target).1, "1");
        write(folder, module, "fn word() { \"late\" }");
        becomes(&served, target, "late");
    }
}

#[test]
fn a_configuration_that_names_what_is_not_there_is_taken_up_when_it_comes() {
    let served = served("", SCRIPT, &[(AT, "|env| text(\"1\")")]);
    let folder = served.folder.path();
    let hash = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
    let conf = fs::read_to_string(folder.join("conf/host.yaml")).unwrap();
    for (number, (line, file, content)) in [
        ("      /0:\n        rhai.handler-file: there/x/a.rhai\n", "there/x/a.rhai", "|env| text(\"there\")"),
        ("      /1: !file ../more/x.yaml\n", "more/x.yaml", "rhai.handler: '|env| text(\"there\")'\n"),
        (
            "      /2:\n        auth.api-key: {query: key, keys-file: keys/list}\n        rhai.handler: '|env| text(\"there\")'\n",
            "keys/list",
            hash,
        ),
        (
            "      /3:\n        rhai.module-path: other\n        rhai.handler: 'import \"x\" as x; |env| text(x::word())'\n",
            "other/x.rhai",
            "fn word() { \"there\" }",
        ),
        ("      /4:\n        file.file: public/x.txt\n", "public/x.txt", "there"),
    ]
    .into_iter()
    .enumerate()
    {
        write(folder, "conf/host.yaml", &format!("{conf}{line}"));
        served.printed("not reloaded, though ");
        write(folder, file, content);
        becomes(&served, &format!("/{number}?key=foo"), "there");
    }
}

#[test]
fn files_that_a_pattern_of_includes_finds_are_taken_up() {
    let paths = "      /: !file ../sites/*/*.conf\n";
    let served = served("", paths, &[("sites/a/x.conf", "rhai.handler: '|env| text(\"1\")'\n")]);
    let folder = served.folder.path();
    becomes(&served, "/", "1");
    write(folder, "sites/b/y.conf", "server-nam: x\n");
    served.printed("not reloaded, though ");
    served.printed("server-nam");
    fs::remove_dir_all(folder.join("sites/b")).unwrap();
    served.printed("reloaded, since ");
    write(folder, "sites/a/x.conf", "rhai.handler: '|env| text(\"2\")'\n");
    becomes(&served, "/", "2");
    fs::create_dir(folder.join("sites/c")).unwrap();
    // It has to be seen before there is a file in it, or it would be seen with the file.
    thread::sleep(Duration::from_millis(300));
    write(folder, "sites/c/z.conf", "server-nam: x\n");
    served.printed("server-nam");
}

#[test]
fn a_file_that_is_written_by_another_name_is_taken_up() {
    let served = served("", SCRIPT, &[(AT, "|env| text(\"1\")")]);
    let folder = served.folder.path();
    fs::create_dir(folder.join("elsewhere")).unwrap();
    fs::hard_link(folder.join(AT), folder.join("elsewhere/b")).unwrap();
    write(folder, "srv/app/handlers/b.rhai", "");
    served.printed("reloaded, since ");
    // Long enough for it to wait for the next change.
    thread::sleep(Duration::from_millis(300));
    // In place, by a name that no folder of the generation has: as a file that is mounted into a container.
    fs::write(folder.join("elsewhere/b"), "|env| text(\"2\")").unwrap();
    becomes(&served, "/", "2");
}

/// Each directive that names a file which a generation reads: what it says is another when the file is.
#[test]
fn what_a_directive_names_is_taken_up_when_it_changes() {
    // Of `a` and `b`.
    let hashes = [
        "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
        "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d",
    ];
    let paths = "      /keys:\n        auth.api-key: {query: key, keys-file: k/list}\n        rhai.handler: '|env| text(\"in\")'\n      \
                 /inline: !file ../i/inline.conf\n      /deep:\n        rhai.handler-file: s/deep.rhai\n";
    let served = served(
        "rhai.module-path: m\n",
        paths,
        &[
            ("k/list", hashes[0]),
            ("i/inline.conf", "rhai.handler: '|env| text(\"1\")'\n"),
            ("s/deep.rhai", "import \"sub/x\" as x;\n|env| text(x::n())"),
            ("m/sub/x.rhai", "import \"../y\" as y;\nfn n() { y::n() }"),
            ("m/y.rhai", "fn n() { \"1\" }"),
        ],
    );
    becomes(&served, "/keys?key=a", "in");
    write(served.folder.path(), "k/list", hashes[1]);
    becomes(&served, "/keys?key=b", "in");
    assert_eq!(served.get("/keys?key=a").0, 401);
    write(served.folder.path(), "i/inline.conf", "rhai.handler: '|env| text(\"2\")'\n");
    becomes(&served, "/inline", "2");
    write(served.folder.path(), "m/y.rhai", "fn n() { \"2\" }");
    becomes(&served, "/deep", "2");
    // What is beside the script wins over the path.
    write(served.folder.path(), "s/sub/x.rhai", "fn n() { \"3\" }");
    becomes(&served, "/deep", "3");
}
