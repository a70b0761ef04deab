//! REFERENCE.md says what the tables say.

use std::fs;
use std::path::Path;

#[test]
fn the_reference_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("REFERENCE.md");
    let expected = rhaid::reference::text();
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &expected).expect("REFERENCE.md can be written");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    let different = found.lines().zip(expected.lines()).position(|(found, expected)| found != expected);
    let line = different.unwrap_or(found.lines().count().min(expected.lines().count())) + 1;
    assert!(found == expected, "REFERENCE.md:{line} is not current; `UPDATE=1 cargo test --test reference` writes it");
}

/// Those that are whole scripts; others are parts of one.
#[test]
fn scripts_of_the_reference_start() {
    let text = rhaid::reference::text();
    let scripts: Vec<_> = text
        .split("```rhai\n")
        .skip(1)
        .filter_map(|it| it.split("```").next())
        .filter(|it| it.starts_with("let app = router();"))
        .collect();
    assert!(!scripts.is_empty());
    for script in scripts {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let at = |name: &str| folder.path().join(name);
        let conf = "listen: 127.0.0.1:0\ndatabases: {main: 'sqlite::memory:'}\nhosts: {default: {paths: {/: {\
                    auth.api-key: {query: key, sql: 'SELECT 1 WHERE ? = 1'}, rhai.handler-file: app.rhai}}}}\n";
        fs::write(at("host.yaml"), conf).expect("a file can be written");
        fs::write(at("app.rhai"), script).expect("a file can be written");
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_rhaid"));
        let output = command.args(["-t", "--conf", "host.yaml"]).current_dir(folder.path()).output();
        let output = output.expect("the program can be started");
        assert!(output.status.success(), "{script}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}
