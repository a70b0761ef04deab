//! Files that change while the server runs.

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::served::Served;

const CONF: &str =
    "listen: 80\nwatch: ON\nhosts:\n  default:\n    paths:\n      /:\n        rhai.handler-file: a.rhai\n";

fn script(number: usize) -> String {
    format!("import \"b\" as b;\n|env| text(`{number} ${{b::number()}}`)\n")
}

fn module(number: usize) -> String {
    format!("fn number() {{ {number} }}\n")
}

fn served(conf: &str) -> Served {
    served_with(conf, &[])
}

fn served_with(conf: &str, arguments: &[&str]) -> Served {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("host.yaml"), conf).unwrap();
    fs::write(folder.path().join("a.rhai"), script(0)).unwrap();
    fs::write(folder.path().join("b.rhai"), module(0)).unwrap();
    fs::write(folder.path().join("free.yaml"), conf.replace("listen: 80", "listen: 127.0.0.1:0")).unwrap();
    let served = Served::listening_free_with(folder, arguments);
    assert_eq!(served.get("/"), (200, "0 0".to_owned()));
    served
}

/// Puts a new file in the place of the old one. Truncating it would not do here: on a busy disk it can stay empty for
/// longer than a file is waited for that is being written.
fn save(served: &Served, file: &str, text: &str) {
    let path = served.folder.path().join(file);
    let aside = path.with_extension("new");
    fs::write(&aside, text).unwrap();
    fs::rename(&aside, &path).unwrap();
}

#[test]
fn a_file_is_named_as_the_command_line_names_it() {
    let served = served(CONF);
    save(&served, "free.yaml", &CONF.replace("listen: 80", "listen: 127.0.0.1:0\nlimit-request-body: 1 MB"));
    let line = served.printed("generation 2 is served");
    assert!(line.contains("reloaded, since `free.yaml` has changed"), "{line}");
}

/// Asks again and again over one connection, and gives each answer's numbers to `each`, with what `floor` was before
/// the request was sent.
fn ask<F>(served: &Served, end: &AtomicBool, floor: impl Fn() -> F, mut each: impl FnMut(F, usize, usize)) {
    ask_for_text(served, end, floor, |before, body| {
        let (first, second) = body.split_once(' ').unwrap();
        each(before, first.parse().unwrap(), second.parse().unwrap());
    });
}

/// The same, of the whole answer.
fn ask_for_text<F>(served: &Served, end: &AtomicBool, floor: impl Fn() -> F, mut each: impl FnMut(F, &str)) {
    let stream = served.connect();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    while !end.load(Ordering::Acquire) {
        // The machine has two cores, and others run on it.
        thread::sleep(Duration::from_millis(2));
        let before = floor();
        stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let (mut line, mut length) = (String::new(), 0);
        reader.read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 200"), "{line} {}", served.printed("ERROR a.rhai"));
        loop {
            line.clear();
            reader.read_line(&mut line).unwrap();
            if line == "\r\n" {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        each(before, &String::from_utf8(body).unwrap());
    }
}

/// Ends who asks when the saving ends, in one way or another.
struct Ending<'e>(&'e AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[test]
fn every_answer_is_of_a_valid_generation_and_none_of_an_older_one_than_was_seen_before() {
    let served = served(CONF);
    let (end, scripts, modules) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let answers = AtomicUsize::new(0);
    thread::scope(|scope| {
        let _ending = Ending(&end);
        for _ in 0..4 {
            scope.spawn(|| {
                // What anybody has seen, nobody who asks later falls behind any more.
                let floor = || (scripts.load(Ordering::Acquire), modules.load(Ordering::Acquire));
                ask(&served, &end, floor, |(oldest, oldest_module), script, module| {
                    assert!(
                        script >= oldest && module >= oldest_module,
                        "{script} {module} after {oldest} {oldest_module}"
                    );
                    assert!(script % 5 != 4 && module % 5 != 4, "{script} {module} was never valid");
                    scripts.fetch_max(script, Ordering::AcqRel);
                    modules.fetch_max(module, Ordering::AcqRel);
                    answers.fetch_add(1, Ordering::Relaxed);
                });
            });
        }
        let begin = Instant::now();
        let mut number = 0;
        while begin.elapsed() < Duration::from_secs(4) {
            number += 1;
            let (file, text) = if number % 2 == 0 { ("a.rhai", script(number)) } else { ("b.rhai", module(number)) };
            // Every fifth is broken.
            let text = if number % 5 == 4 { text.replace(['|', '{'], "(") } else { text };
            save(&served, file, &text);
            thread::sleep(Duration::from_millis(120));
        }
        save(&served, "a.rhai", &script(1000));
        save(&served, "b.rhai", &module(1000));
        let saved = Instant::now();
        while served.get("/").1 != "1000 1000" {
            assert!(saved.elapsed() < Duration::from_secs(30), "the last save is not served: {}", served.get("/").1);
            thread::sleep(Duration::from_millis(5));
        }
    });
    assert!(answers.load(Ordering::Relaxed) > 100 && scripts.load(Ordering::Acquire) == 1000);
    served.printed("not reloaded, though ");
}

/// The next number of a random series (SplitMix64).
fn random(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (mixed ^ (mixed >> 31)) % below
}

/// A seed of `RHAID_SEED`, or another each time.
fn seed() -> u64 {
    let clock = || std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(1, |it| it.subsec_nanos().into());
    std::env::var("RHAID_SEED").map_or_else(|_| clock(), |it| it.parse().unwrap())
}

#[test]
fn whatever_is_saved_in_whichever_order_every_answer_is_of_a_valid_generation() {
    let seed = seed();
    println!("again with RHAID_SEED={seed}");
    // The configuration says a number as well, by what it calls the host that answers.
    let configuration = |number: usize| {
        let conf = CONF.replace("listen: 80", "listen: 127.0.0.1:0");
        conf.replace(
            "        rhai.handler-file",
            &format!("        rhai.settings: {{n: {number}}}\n        rhai.handler-file"),
        )
    };
    let script = |number: usize| {
        format!("import \"b\" as b;\n|env| text(`{} {number}`)\n", "${b::number()}.${config::get(\"n\")}")
    };
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("free.yaml", configuration(0)), ("a.rhai", script(0)), ("b.rhai", module(0))] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let served = Served::listening_free(folder);
    // What was saved and is valid, for each of the three files; and what was seen of it by anybody.
    let valid: [Mutex<HashSet<usize>>; 3] = std::array::from_fn(|_| Mutex::new([0].into()));
    let seen: [AtomicUsize; 3] = Default::default();
    let (end, answers) = (AtomicBool::new(false), AtomicUsize::new(0));
    let check = |floor: [usize; 3], body: &str| {
        let numbers: Vec<usize> = body.split(['.', ' ']).map(|it| it.parse().unwrap()).collect();
        for (index, number) in numbers.iter().enumerate() {
            assert!(valid[index].lock().unwrap().contains(number), "{body}: {number} was never valid (seed {seed})");
            assert!(*number >= floor[index], "{body} after {floor:?} (seed {seed})");
            seen[index].fetch_max(*number, Ordering::AcqRel);
        }
        answers.fetch_add(1, Ordering::Relaxed);
    };
    thread::scope(|scope| {
        let _ending = Ending(&end);
        for _ in 0..4 {
            scope.spawn(|| {
                let floor = || std::array::from_fn(|index| seen[index].load(Ordering::Acquire));
                ask_for_text(&served, &end, floor, check);
            });
        }
        let (mut state, begin) = (seed, Instant::now());
        for number in 1.. {
            let is_last = begin.elapsed() > Duration::from_secs(3);
            let files = if is_last { vec![0, 1, 2] } else { vec![usize::try_from(random(&mut state, 3)).unwrap()] };
            for file in files {
                let (name, text) = match file {
                    0 => ("b.rhai", module(number)),
                    1 => ("free.yaml", configuration(number)),
                    _ => ("a.rhai", script(number)),
                };
                let text = match random(&mut state, 4) {
                    0 if !is_last => text.replace(['|', '{', '['], "("),
                    _ => {
                        valid[file].lock().unwrap().insert(number);
                        text
                    }
                };
                match random(&mut state, 2) {
                    0 => fs::write(served.folder.path().join(name), text).unwrap(),
                    _ => save(&served, name, &text),
                }
            }
            if is_last {
                let (wanted, saved) = (format!("{number}.{number} {number}"), Instant::now());
                while served.get("/").1 != wanted {
                    assert!(saved.elapsed() < Duration::from_secs(30), "{wanted} is not served (seed {seed})");
                    thread::sleep(Duration::from_millis(5));
                }
                break;
            }
            thread::sleep(Duration::from_millis(random(&mut state, 150)));
        }
    });
    assert!(answers.load(Ordering::Relaxed) > 100, "seed {seed}");
}

#[test]
fn without_watching_only_the_signal_takes_changes_up() {
    for (watch, arguments) in [("watch: OFF", &[][..]), ("watch: ON", &["--no-watch"])] {
        let served = served_with(&CONF.replace("watch: ON", watch), arguments);
        fs::write(served.folder.path().join("a.rhai"), script(1)).unwrap();
        thread::sleep(Duration::from_millis(500));
        assert_eq!(served.get("/").1, "0 0");
        served.signal("HUP");
        served.printed("reloaded, since SIGHUP was received: generation 2 is served");
        assert_eq!(served.get("/").1, "1 0");
    }
}

#[test]
fn what_needs_a_restart_is_said_and_the_rest_is_taken_up() {
    let served = served(CONF);
    let conf = CONF.replace("listen: 80", "listen: 127.0.0.1:0\nuser: root\nserver-name: other");
    fs::write(served.folder.path().join("free.yaml"), conf).unwrap();
    let line = served.printed("needs a restart");
    assert!(line.contains("`user`"), "{line}");
    served.printed("generation 2 is served");
    // As it was at the start: nothing is left to be done.
    fs::write(served.folder.path().join("free.yaml"), CONF.replace("listen: 80", "listen: 127.0.0.1:0")).unwrap();
    let line = served.printed("");
    assert!(line.contains("generation 3 is served"), "{line}");
}

#[test]
fn what_is_refused_again_and_again_takes_no_memory() {
    let served = served(&CONF.replace("watch: ON", "watch: OFF"));
    let memory = || {
        let status = fs::read_to_string(format!("/proc/{}/status", served.process.id())).unwrap_or_default();
        let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:")).map(str::to_owned);
        line.and_then(|it| it.trim().trim_end_matches(" kB").parse::<u64>().ok())
    };
    save(&served, "free.yaml", &CONF.replace("listen: 80", "lisen: 80"));
    let refuse = |times: usize| {
        for _ in 0..times {
            served.signal("HUP");
            served.printed("not reloaded, though");
        }
        memory()
    };
    let (Some(before), Some(after)) = (refuse(10), refuse(40)) else { return };
    assert!(after < before + 6000, "from {before} kB to {after} kB");
}
