//! Every way in which editors and deployments change files: each is taken up soon, once, and no request fails meanwhile.
//!
//! `RHAID_BINARY=$PWD/target/release/rhaid RHAID_SAVES=50 cargo test --test program each_way -- --nocapture` prints how long it takes, of 50
//! tries each.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::served::Served;

/// How long a change may take on a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_secs(10);

const CONF: &str = "listen: 127.0.0.1:0\nhosts:\n  default:\n    paths:\n      /:\n        rhai.handler-file: SCRIPT\n";

struct Way {
    name: &'static str,
    /// The script, below the folder.
    script: &'static str,
    /// Makes what the first save needs.
    prepare: fn(&Path),
    /// Saves the text of a number.
    save: fn(&Path, usize),
}

fn text(number: usize) -> String {
    format!("|env| text(\"{number}\")\n{}", "// A line of some length.\n".repeat(20))
}

fn nothing(_: &Path) {}

fn run(folder: &Path, program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn git(folder: &Path, arguments: &[&str]) {
    let who = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
    run(folder, "git", &[&who[..], arguments].concat());
}

/// A folder with the script of a number in it, as a deployment makes one.
fn release(folder: &Path, name: &str, number: usize) {
    let handlers = folder.join(name).join("handlers");
    fs::create_dir_all(&handlers).unwrap();
    fs::write(handlers.join("a.rhai"), text(number)).unwrap();
}

const WAYS: &[Way] = &[
    Way {
        name: "vim: the old one aside, a new file, the old one removed",
        script: "app/a.rhai",
        prepare: nothing,
        save: |folder, number| {
            let at = |name: &str| folder.join("app").join(name);
            // It looks whether it may write into the folder.
            fs::write(at("4913"), "").unwrap();
            fs::remove_file(at("4913")).unwrap();
            fs::rename(at("a.rhai"), at("a.rhai~")).unwrap();
            fs::write(at("a.rhai"), text(number)).unwrap();
            fs::remove_file(at("a.rhai~")).unwrap();
        },
    },
    Way {
        name: "vim, backupcopy=yes: a copy aside, written in place",
        script: "app/a.rhai",
        prepare: nothing,
        save: |folder, number| {
            let at = |name: &str| folder.join("app").join(name);
            fs::write(at(".a.rhai.swp"), "swap").unwrap();
            fs::copy(at("a.rhai"), at("a.rhai~")).unwrap();
            fs::write(at("a.rhai"), text(number)).unwrap();
            fs::remove_file(at("a.rhai~")).unwrap();
            fs::remove_file(at(".a.rhai.swp")).unwrap();
        },
    },
    Way {
        name: "emacs: a lock, an autosave, the old one renamed to a backup",
        script: "app/a.rhai",
        prepare: nothing,
        save: |folder, number| {
            let at = |name: &str| folder.join("app").join(name);
            symlink("somebody@somewhere.1234", at(".#a.rhai")).unwrap();
            fs::write(at("#a.rhai#"), text(number)).unwrap();
            let _ = fs::remove_file(at("a.rhai~"));
            fs::rename(at("a.rhai"), at("a.rhai~")).unwrap();
            fs::write(at("a.rhai"), text(number)).unwrap();
            fs::remove_file(at("#a.rhai#")).unwrap();
            fs::remove_file(at(".#a.rhai")).unwrap();
        },
    },
    Way {
        name: "VS Code: truncated and written in place",
        script: "app/a.rhai",
        prepare: nothing,
        save: |folder, number| fs::write(folder.join("app/a.rhai"), text(number)).unwrap(),
    },
    Way {
        name: "sed -i",
        script: "app/a.rhai",
        prepare: nothing,
        save: |folder, number| {
            run(folder, "sed", &["-i", &format!("s/text(.*)/text(\"{number}\")/"), "app/a.rhai"]);
        },
    },
    Way {
        name: "written in place in two halves, open for 200 ms",
        script: "app/a.rhai",
        prepare: nothing,
        save: |folder, number| {
            let mut file = File::create(folder.join("app/a.rhai")).unwrap();
            let text = text(number);
            file.write_all(&text.as_bytes()[..15]).unwrap();
            thread::sleep(Duration::from_millis(200));
            file.write_all(&text.as_bytes()[15..]).unwrap();
        },
    },
    Way {
        name: "truncated, closed, written 200 ms later",
        script: "app/a.rhai",
        prepare: nothing,
        save: |folder, number| {
            drop(File::create(folder.join("app/a.rhai")).unwrap());
            thread::sleep(Duration::from_millis(200));
            OpenOptions::new()
                .append(true)
                .open(folder.join("app/a.rhai"))
                .unwrap()
                .write_all(text(number).as_bytes())
                .unwrap();
        },
    },
    Way {
        name: "renamed over",
        script: "app/a.rhai",
        prepare: nothing,
        save: |folder, number| {
            fs::write(folder.join("app/new"), text(number)).unwrap();
            fs::rename(folder.join("app/new"), folder.join("app/a.rhai")).unwrap();
        },
    },
    Way {
        name: "deleted and made again",
        script: "app/a.rhai",
        prepare: nothing,
        save: |folder, number| {
            fs::remove_file(folder.join("app/a.rhai")).unwrap();
            fs::write(folder.join("app/a.rhai"), text(number)).unwrap();
        },
    },
    Way {
        name: "git checkout of another commit",
        script: "app/a.rhai",
        prepare: |folder| git(&folder.join("app"), &["init", "-q"]),
        save: |folder, number| {
            // The commit is made in a work tree of its own: the checkout is what changes the file.
            let (app, other) = (folder.join("app"), folder.join("other"));
            if number == 1 {
                git(&app, &["add", "a.rhai"]);
                git(&app, &["commit", "-qm", "0"]);
                git(&app, &["worktree", "add", "-q", "--detach", "../other"]);
            }
            fs::write(other.join("a.rhai"), text(number)).unwrap();
            git(&other, &["commit", "-qam", "next"]);
            git(&other, &["branch", "-f", "next"]);
            git(&app, &["checkout", "-q", "--detach", "next"]);
        },
    },
    Way {
        name: "as rsync -a does it: a hidden file, its time set, renamed",
        script: "app/a.rhai",
        prepare: nothing,
        save: |folder, number| {
            let aside = folder.join("app/.a.rhai.Xy12Zw");
            fs::write(&aside, text(number)).unwrap();
            let time = std::time::SystemTime::now() - Duration::from_secs(86_400);
            File::options().write(true).open(&aside).unwrap().set_modified(time).unwrap();
            fs::rename(aside, folder.join("app/a.rhai")).unwrap();
        },
    },
    Way {
        name: "Kubernetes: the link `..data` swapped",
        script: "app/a.rhai",
        prepare: |folder| {
            let app = folder.join("app");
            fs::create_dir(app.join("..0")).unwrap();
            fs::rename(app.join("a.rhai"), app.join("..0/a.rhai")).unwrap();
            symlink("..0", app.join("..data")).unwrap();
            symlink("..data/a.rhai", app.join("a.rhai")).unwrap();
        },
        save: |folder, number| {
            let app = folder.join("app");
            let old = fs::read_link(app.join("..data")).unwrap();
            let new = format!("..{number}");
            fs::create_dir(app.join(&new)).unwrap();
            fs::write(app.join(&new).join("a.rhai"), text(number)).unwrap();
            symlink(&new, app.join("..data_tmp")).unwrap();
            fs::rename(app.join("..data_tmp"), app.join("..data")).unwrap();
            fs::remove_dir_all(app.join(old)).unwrap();
        },
    },
    Way {
        name: "a link to the release, two folders up, swapped",
        script: "live/handlers/a.rhai",
        prepare: |folder| {
            fs::rename(folder.join("live"), folder.join("release-0")).unwrap();
            symlink("release-0", folder.join("live")).unwrap();
        },
        save: |folder, number| {
            let name = format!("release-{number}");
            release(folder, &name, number);
            symlink(&name, folder.join("aside")).unwrap();
            fs::rename(folder.join("aside"), folder.join("live")).unwrap();
        },
    },
    Way {
        name: "a folder two levels up renamed away, another put in its place",
        script: "app/handlers/a.rhai",
        prepare: nothing,
        save: |folder, number| {
            release(folder, "app.new", number);
            let _ = fs::remove_dir_all(folder.join("app.old"));
            fs::rename(folder.join("app"), folder.join("app.old")).unwrap();
            fs::rename(folder.join("app.new"), folder.join("app")).unwrap();
        },
    },
    Way {
        name: "the scripts' folder deleted, made again",
        script: "app/handlers/a.rhai",
        prepare: nothing,
        save: |folder, number| {
            fs::remove_dir_all(folder.join("app")).unwrap();
            release(folder, "app", number);
        },
    },
];

/// A connection that asks again and again.
struct Client(BufReader<TcpStream>);

impl Client {
    fn new(served: &Served) -> Client {
        Client(BufReader::new(served.connect()))
    }

    fn ask(&mut self, way: &str) -> String {
        self.0.get_mut().write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let (mut line, mut length) = (String::new(), 0);
        self.0.read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 200"), "{way}: {line}");
        while line != "\r\n" {
            line.clear();
            self.0.read_line(&mut line).unwrap();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).unwrap();
        String::from_utf8(body).unwrap()
    }
}

fn served(way: &Way) -> Served {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join(way.script);
    fs::create_dir_all(script.parent().unwrap()).unwrap();
    fs::write(&script, text(0)).unwrap();
    (way.prepare)(folder.path());
    fs::write(folder.path().join("free.yaml"), CONF.replace("SCRIPT", way.script)).unwrap();
    Served::listening_free(folder)
}

/// How long each of so many saves took, from its end to the first new answer.
fn measured(way: &Way, tries: usize) -> Vec<Duration> {
    let served = served(way);
    let mut client = Client::new(&served);
    assert_eq!(client.ask(way.name), "0", "{}", way.name);
    let times = (1..=tries)
        .map(|number| {
            (way.save)(served.folder.path(), number);
            let saved = Instant::now();
            while client.ask(way.name) != number.to_string() {
                assert!(saved.elapsed() < PATIENCE, "{}: the save {number} is not served", way.name);
                thread::sleep(Duration::from_millis(1));
            }
            let took = saved.elapsed();
            // The next is another change, not the rest of this one.
            thread::sleep(Duration::from_millis(if tries > 2 { 100 } else { 0 }));
            took
        })
        .collect();
    served.signal("TERM");
    let reloads = served.rest().iter().filter(|it| it.contains(" reloaded, since ")).count();
    assert_eq!(reloads, tries, "{}: one reload for each save", way.name);
    times
}

#[test]
fn each_way_of_saving_is_taken_up() {
    let tries = std::env::var("RHAID_SAVES").ok().map(|it| it.parse().unwrap());
    if let Some(tries) = tries {
        println!("| way | median ms | longest ms |\n|---|---:|---:|");
        for way in WAYS {
            let mut times = measured(way, tries);
            times.sort();
            let (median, longest) = (times[times.len() / 2].as_millis(), times[times.len() - 1].as_millis());
            println!("| {} | {median} | {longest} |", way.name);
        }
        return;
    }
    thread::scope(|scope| WAYS.iter().for_each(|way| drop(scope.spawn(|| measured(way, 2)))));
}

#[test]
fn what_editors_leave_beside_a_script_reloads_nothing() {
    let served = served(&WAYS[3]);
    let at = |name: &str| served.folder.path().join("app").join(name);
    for name in ["4913", "a.rhai~", "#a.rhai#", ".a.rhai.swp", ".a.rhai.swx", "a.rhai.bak", "notes.txt"] {
        fs::write(at(name), "other").unwrap();
        fs::remove_file(at(name)).unwrap();
    }
    symlink("somebody@somewhere.1234", at(".#a.rhai")).unwrap();
    // What is saved without a change is none either.
    fs::write(at("a.rhai"), text(0)).unwrap();
    thread::sleep(Duration::from_millis(500));
    fs::write(at("a.rhai"), text(1)).unwrap();
    let line = served.printed("eload");
    assert!(line.contains("reloaded, since `app/a.rhai` has changed: generation 2 is served"), "{line}");
}
