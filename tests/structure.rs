//! Checks of the source itself: the order of the modules, who may name which crate, sizes, `unsafe`, `unwrap`.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::fs;
use std::path::{Path, PathBuf};

/// The modules from the lowest up: each uses only those before it (ARCHITECTURE.md).
const ORDER: &[&str] = &[
    "memory",
    "http",
    "fiber",
    "router",
    "directive",
    "log_file",
    "error_log",
    "status",
    "net",
    "envelope",
    "file",
    "db",
    "auth",
    "access_log",
    "filter",
    "reply",
    "script",
    "binding",
    "openapi",
    "handler",
    "config",
    "generation",
    "reload",
    "server",
    "reference",
    "cli",
    "main",
];

/// The crates that have owners, so that replacing one is a change of one module.
const OWNERS: &[(&str, &[&str])] = &[
    ("rhai", &["script", "binding"]),
    ("corosensei", &["fiber"]),
    ("hyper", &["net"]),
    ("rusqlite", &["db"]),
    ("sqlx", &["db"]),
    ("serde_yaml", &["directive"]),
    ("clap", &["cli"]),
    ("notify", &["reload"]),
];

/// The modules that may say `unsafe`: the allocator, the coroutines, inherited sockets and signals.
const UNSAFE: &[&str] = &["memory", "fiber", "net"];

const LONGEST: usize = 500;
const LONG: usize = 350;
const MEDIAN: usize = 150;
const MAIN: usize = 60;

/// A source file below `src/`, other than those that hold tests.
struct Source {
    /// Below the project's folder.
    path: String,
    /// The first part of its place in `src/`: `db` for `src/db/rows.rs`.
    module: String,
    /// Everything.
    text: String,
    /// Without tests, comments and the content of literals; lines stay where they were.
    code: String,
    /// How many lines stand before the tests.
    lines: usize,
}

#[test]
fn the_order_has_each_module_as_architecture_has_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let listed: Vec<&str> =
        text.lines().filter_map(|it| it.strip_prefix("| `")?.split_once('`')).map(|it| it.0).collect();
    let ordered: Vec<&str> = ORDER.iter().copied().filter(|it| *it != "main").collect();
    assert_eq!(listed, ordered, "ARCHITECTURE.md lists other modules");
    let mut there: Vec<String> = sources().into_iter().map(|it| it.module).filter(|it| it != "lib").collect();
    there.sort_unstable();
    there.dedup();
    let mut known: Vec<&str> = ORDER.to_vec();
    known.sort_unstable();
    assert_eq!(there, known, "`src/` has other modules");
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    collect(&root.join("src"), &mut paths);
    paths.sort();
    let source = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let relative = path.strip_prefix(root).unwrap();
        let module = relative.iter().nth(1).unwrap().to_str().unwrap().trim_end_matches(".rs").to_owned();
        let path = relative.display().to_string();
        let tested = without_tests(&text);
        let (lines, code) = (tested.lines().count(), bare(tested));
        Source { path, module, lines, code, text }
    };
    let tests: Vec<PathBuf> = paths.iter().flat_map(|path| test_modules(path)).collect();
    let holds_tests =
        |path: &Path| tests.iter().any(|module| path.starts_with(module) || path == module.with_extension("rs"));
    paths.iter().filter(|path| !holds_tests(path)).map(source).collect()
}

/// The modules that the file at `path` declares for its tests alone, without their `.rs`.
fn test_modules(path: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(path).unwrap();
    let is_root = path.file_name().is_some_and(|name| name == "lib.rs" || name == "main.rs" || name == "mod.rs");
    let folder = if is_root { path.parent().unwrap().to_owned() } else { path.with_extension("") };
    test_items(&text).filter_map(|(_, item)| Some(folder.join(module(item)?.strip_suffix(';')?))).collect()
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
}

/// The text before its tests, which stand at the end of a file.
fn without_tests(text: &str) -> &str {
    // A single test-only item further up does not end the file: what ends it is the module.
    let module = test_items(text).find(|(_, item)| module(item).is_some_and(|rest| rest.ends_with('{')));
    &text[..module.map_or(text.len(), |(start, _)| start)]
}

/// Where each `#[cfg(test)]` stands, and the first line of what it is about.
fn test_items(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices("#[cfg(test)]").map(|(start, _)| {
        let item = text[start..].lines().skip(1).find(|line| !line.trim_start().starts_with("#["));
        (start, item.unwrap_or_default().trim())
    })
}

/// What follows `mod `, if `item` is a module.
fn module(item: &str) -> Option<&str> {
    match item.strip_prefix("pub") {
        Some(public) => public.split_once("mod ").filter(|(scope, _)| !scope.contains("fn ")).map(|(_, rest)| rest),
        None => item.strip_prefix("mod "),
    }
}

/// `text` with spaces for comments and for what stands in literals.
fn bare(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let before = at.checked_sub(1).map_or(b' ', |it| bytes[it]);
        let is_word = before.is_ascii_alphanumeric() || before == b'_';
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with('"') {
            quoted(rest, '"')
        } else if rest.starts_with("b'") && !is_word {
            1 + quoted(&rest[1..], '\'')
        } else if rest.starts_with('\'') && is_char(rest) {
            quoted(rest, '\'')
        } else if (rest.starts_with("r\"") || rest.starts_with("r#")) && (!is_word || before == b'b') {
            raw(rest)
        } else {
            0
        };
        if length == 0 {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        }
        out[at..at + length].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        at += length;
    }
    String::from_utf8(out).unwrap()
}

/// Whether the quote begins a character rather than a lifetime.
fn is_char(rest: &str) -> bool {
    let mut characters = rest.chars().skip(1);
    characters.next() == Some('\\') || characters.next() == Some('\'')
}

/// Length of the literal between two `quote`s that `rest` begins with.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, character) in rest.char_indices().skip(1) {
        if character == quote && !escaped {
            return at + character.len_utf8();
        }
        escaped = character == '\\' && !escaped;
    }
    rest.len()
}

/// Length of the raw string that `rest` begins with, or 0 for a raw identifier.
fn raw(rest: &str) -> usize {
    let hashes = rest[1..].bytes().take_while(|byte| *byte == b'#').count();
    if rest.as_bytes().get(1 + hashes) != Some(&b'"') {
        return 0;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    rest[hashes + 2..].find(&end).map_or(rest.len(), |at| hashes + 2 + at + end.len())
}

/// The names of our modules that `code` uses, each with its line: after `crate::`, also in a group.
fn uses(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for root in ["crate::", "rhaid::"] {
        for (at, _) in code.match_indices(root) {
            if is_continued(code, at) {
                continue;
            }
            let line = code[..at].matches('\n').count() + 1;
            let rest = &code[at + root.len()..];
            let names = match rest.strip_prefix('{') {
                Some(group) => top_level(group),
                None => vec![rest],
            };
            found.extend(names.iter().map(|name| (line, word(name).to_owned())));
        }
    }
    found
}

/// The parts of a `{…}` group between its own commas.
fn top_level(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => {
                parts.push(group[start..at].trim());
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(group[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts
}

fn word(text: &str) -> &str {
    let end = text.find(|character: char| !character.is_alphanumeric() && character != '_');
    &text[..end.unwrap_or(text.len())]
}

/// Whether the word at `at` is the end of a longer one or of a path.
fn is_continued(code: &str, at: usize) -> bool {
    code[..at].chars().next_back().is_some_and(|it| it.is_alphanumeric() || it == '_' || it == ':' || it == '$')
}

/// The lines on which `code` names the crate: `name::…`, `use name;`, `use name as …`.
fn names_crate(code: &str, name: &str) -> Vec<usize> {
    let is_named = |(at, _): &(usize, &str)| {
        let (before, after) = (code[..*at].trim_end(), &code[at + name.len()..]);
        let is_used = before.ends_with("use") || before.ends_with("extern crate");
        // `::rhai::` names the crate too, `script::rhai` does not.
        let is_root = !is_continued(code, *at) || (before.ends_with("::") && !is_continued_path(before));
        is_root && (after.starts_with("::") || (is_used && word(after).is_empty()))
    };
    code.match_indices(name).filter(is_named).map(|(at, _)| code[..at].matches('\n').count() + 1).collect()
}

fn is_continued_path(before: &str) -> bool {
    let before = before.strip_suffix("::").unwrap_or(before);
    before.chars().next_back().is_some_and(|it| it.is_alphanumeric() || it == '_' || it == '>')
}

/// The lines on which a word stands alone.
fn lines_with(code: &str, wanted: &str) -> Vec<usize> {
    let alone = |(at, _): &(usize, &str)| !is_continued(code, *at) && word(&code[at + wanted.len()..]).is_empty();
    code.match_indices(wanted).filter(alone).map(|(at, _)| code[..at].matches('\n').count() + 1).collect()
}

#[track_caller]
fn assert_none(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn modules_use_only_those_before_them() {
    let rank = |name: &str| ORDER.iter().position(|it| *it == name);
    let mut wrong = Vec::new();
    for source in sources() {
        let Some(own) = rank(&source.module) else { continue };
        for (line, name) in uses(&source.code) {
            if rank(&name).is_some_and(|it| it > own) {
                wrong.push(format!(
                    "{}:{line}: `{}` uses `{name}`, which comes after it in the order of the modules",
                    source.path, source.module
                ));
            }
        }
    }
    assert_none(&wrong);
}

#[test]
fn every_module_has_its_place_in_the_order() {
    let unknown = |source: &Source| source.module != "lib" && !ORDER.contains(&source.module.as_str());
    let message = |source: Source| format!("{}: `{}` is not in the order of the modules", source.path, source.module);
    assert_none(&sources().into_iter().filter(unknown).map(message).collect::<Vec<_>>());
}

#[test]
fn a_crate_is_named_only_by_its_owners() {
    let mut wrong = Vec::new();
    for source in sources() {
        for (name, owners) in OWNERS {
            if owners.contains(&source.module.as_str()) {
                continue;
            }
            for line in names_crate(&source.code, name) {
                let owners = owners.join("` and `");
                wrong.push(format!("{}:{line}: the crate `{name}` is named only in `{owners}`", source.path));
            }
        }
    }
    assert_none(&wrong);
}

#[test]
fn unsafe_stands_only_where_it_may() {
    let mut wrong = Vec::new();
    for source in sources().iter().filter(|source| !UNSAFE.contains(&source.module.as_str())) {
        for line in lines_with(&source.code, "unsafe") {
            wrong.push(format!("{}:{line}: `unsafe` stands only in `{}`", source.path, UNSAFE.join("`, `")));
        }
    }
    assert_none(&wrong);
}

#[test]
fn files_are_short() {
    let sources = sources();
    let mut wrong = Vec::new();
    for source in &sources {
        if source.lines > LONGEST {
            wrong.push(format!("{}: {} lines without tests, at most {LONGEST}", source.path, source.lines));
        }
        if source.module == "main" && source.lines >= MAIN {
            wrong.push(format!("{}: {} lines, it must be under {MAIN}", source.path, source.lines));
        }
    }
    let mut lengths: Vec<usize> = sources.iter().map(|source| source.lines).collect();
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    if median > MEDIAN {
        wrong.push(format!("src: half of the files have {median} lines or more, the median is at most {MEDIAN}"));
    }
    let long: Vec<&Source> = sources.iter().filter(|source| source.lines > LONG).collect();
    if long.len() * 10 > sources.len() {
        let names: Vec<String> = long.iter().map(|source| format!("{} ({})", source.path, source.lines)).collect();
        let count = sources.len();
        wrong.push(format!("src: nine of ten files have at most {LONG} lines, but of {count}: {}", names.join(", ")));
    }
    assert_none(&wrong);
}

#[test]
fn every_module_opens_with_what_it_is_for() {
    let silent = |source: &Source| !source.text.starts_with("//! ");
    let message = |source: Source| format!("{}:1: a module opens with a `//!` sentence", source.path);
    assert_none(&sources().into_iter().filter(silent).map(message).collect::<Vec<_>>());
}

#[test]
fn nothing_is_unwrapped_outside_tests() {
    let mut wrong = Vec::new();
    for source in sources() {
        for (at, _) in source.code.match_indices(".unwrap()") {
            let line = source.code[..at].matches('\n').count() + 1;
            let path = &source.path;
            wrong.push(format!("{path}:{line}: no `unwrap()` outside tests, `expect` with the reason or `?`"));
        }
    }
    assert_none(&wrong);
}

#[test]
fn the_checks_see_what_they_look_for() {
    let code = bare(
        "//! crate::server\nuse crate::{db::{Row, Pool}, server as s};\nlet a = \"crate::cli\"; // rhai::Engine\n\
         fn f<'a>(c: char) { crate::net::x(); c == '\"'; script::rhai::y(); }\nuse rhai;\nuse ::rhai::Engine;\n\
         let r = r#\"rhai::\"unsafe\"#; unsafe {}\n",
    );
    let names: Vec<(usize, String)> = uses(&code);
    let names: Vec<(usize, &str)> = names.iter().map(|(line, name)| (*line, name.as_str())).collect();
    assert_eq!(names, [(2, "db"), (2, "server"), (4, "net")]);
    assert_eq!(names_crate(&code, "rhai"), [5, 6]);
    assert_eq!(lines_with(&code, "unsafe"), [7]);
    let start = "a\n#[cfg(test)]\nmod trial;\n#[cfg(test)]\nfn b() {}\n";
    assert_eq!(without_tests(&format!("{start}#[cfg(test)]\n#[rustfmt::skip]\npub(crate) mod tests {{\n}}\n")), start);
    assert_eq!(test_items(start).filter_map(|(_, item)| module(item)).collect::<Vec<_>>(), ["trial;"]);
}
