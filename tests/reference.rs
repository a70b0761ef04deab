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
