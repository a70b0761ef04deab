//! The command line: what is found without being named, and what is said of mistakes and for help.

use std::fs;

use crate::served::rhaid;

const HELLO: &str = "\
listen: 1
hosts:
  default:
    paths:
      /:
        rhai.handler: |
          |env| text(\"hello\")
";

/// Exit status, standard output, standard error.
fn run(arguments: &[&str]) -> (i32, String, String) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("host.yaml"), HELLO).unwrap();
    let output = rhaid(&folder).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_configuration_is_found_where_it_usually_is() {
    let folder = tempfile::tempdir().unwrap();
    let asked = || {
        let output = rhaid(&folder).arg("-t").output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, stderr) = asked();
    let expected = "no configuration: there is neither `conf/host.yaml` nor `host.yaml` in `";
    assert!(code == Some(78) && stderr.starts_with(expected), "{stderr}");
    assert!(stderr.contains("`--conf FILE`") && stderr.contains("`rhaid new DIR`"), "{stderr}");
    fs::write(folder.path().join("host.yaml"), HELLO).unwrap();
    assert_eq!(asked(), (Some(0), String::new()));
    fs::create_dir(folder.path().join("conf")).unwrap();
    fs::write(folder.path().join("conf/host.yaml"), "listen: 1\n").unwrap();
    let (code, stderr) = asked();
    assert!(code == Some(78) && stderr.starts_with("conf/host.yaml: `hosts` is missing"), "{stderr}");
}

#[test]
fn a_mistake_on_the_command_line_exits_with_2_and_a_suggestion() {
    for (arguments, part) in [
        (&["tset"][..], "a similar subcommand exists: 'test'"),
        (&["host.yaml"], "tip: `--conf host.yaml` names a configuration"),
        (&["--listen", "x:y"], "expected a port such as `8080`"),
        (&["--lisen", "80"], "a similar argument exists: '--listen'"),
        (&["-t", "call", "/"], "`--test` is for serving"),
        (&["--listen", "0", "test"], "`--listen` is for serving"),
        (&["--connect"], "--test"),
    ] {
        let (code, stdout, stderr) = run(arguments);
        assert_eq!((code, stdout.as_str()), (2, ""), "{stderr}");
        assert!(stderr.contains(part), "{arguments:?}: {stderr}");
    }
}

#[test]
fn every_command_has_a_help_that_fits_the_screen() {
    for arguments in [
        &["--help"][..],
        &["call", "--help"],
        &["new", "--help"],
        &["test", "--help"],
        &["reference", "--help"],
        &["-h"],
        &["help"],
    ] {
        let (code, stdout, _) = run(arguments);
        assert_eq!(code, 0, "{arguments:?}");
        assert!(stdout.contains("Usage: rhaid"), "{stdout}");
        let long = stdout.lines().find(|it| it.chars().count() > 100);
        assert_eq!(long, None, "{arguments:?}");
    }
}

#[test]
fn the_reference_is_printed_and_written_for_editors() {
    let (code, stdout, stderr) = run(&["reference"]);
    let reference = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/REFERENCE.md")).unwrap();
    assert_eq!((code, stdout, stderr.as_str()), (0, reference, ""));

    let folder = tempfile::tempdir().unwrap();
    let output = rhaid(&folder).args(["reference", "--definitions", "a/b"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "wrote definition files for editors to `a/b`\n");
    assert!(fs::read_to_string(folder.path().join("a/b/db.d.rhai")).unwrap().contains("module db;"));
    let output = rhaid(&folder).args(["reference", "--definitions", "a/b/db.d.rhai"]).output().unwrap();
    assert_eq!(output.status.code(), Some(71));
}
