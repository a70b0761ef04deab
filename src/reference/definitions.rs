//! Definition files (`*.d.rhai`) for editors, as Rhai's language server reads them: what scripts can call, with the
//! words of the tables. The types of parameters are those that the engine was given.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::{fs, io};

use crate::binding::testing::TESTING;
use crate::binding::{self, BINDINGS, Binding};
use crate::script::{Engines, KEYS, MAKERS, Role, Signature, forms};

/// Writes the files into `folder`, which is made if it is not there: `rhaid.d.rhai` for functions without a namespace,
/// methods and properties, and one file for each namespace.
///
/// # Errors
/// If a file can't be written.
pub fn definitions(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (name, text) in files() {
        fs::write(folder.join(name), text)?;
    }
    Ok(())
}

/// Names and texts of the files.
fn files() -> Vec<(String, String)> {
    let signatures = Engines::new([binding::register as _]).signatures();
    let namespace = |it: &Binding| (format!("{}.d.rhai", it.name), namespace(it, &signatures));
    let global = [("rhaid.d.rhai".to_owned(), global(&signatures))];
    global.into_iter().chain(BINDINGS.iter().map(namespace)).collect()
}

fn namespace(binding: &Binding, signatures: &[Signature]) -> String {
    let mut out = String::new();
    documented(&mut out, &format!("`{}::`: {}", binding.name, binding.summary));
    let _ = writeln!(out, "module {};", binding.name);
    for function in binding.functions {
        for (name, parameters) in forms(function.signature) {
            out.push('\n');
            documented(&mut out, function.summary);
            example(&mut out, &function.example.replacen(" → ", " // → ", 1));
            function_of(&mut out, name, &parameters, binding.name, signatures);
        }
    }
    out
}

fn global(signatures: &[Signature]) -> String {
    let mut out = String::from("module static;\n\n");
    documented(
        &mut out,
        "What a handler gets. Its keys, which are `()` where the request has not what they stand for:",
    );
    for key in KEYS {
        let _ = writeln!(out, "/// - `env[\"{}\"]`: {}", key.name, key.summary);
    }
    out.push_str("type Env = ...;\n");
    for name in ["Fields", "Router", "Reply", "Rows", "Row", "Decimal", "Frozen"] {
        let _ = writeln!(out, "\ntype {name} = ...;");
    }
    for key in KEYS.iter().filter(|it| it.name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')) {
        out.push('\n');
        documented(&mut out, key.summary);
        let _ = writeln!(out, "fn get {}(env: Env);", key.name);
    }
    for maker in MAKERS {
        for (name, parameters) in forms(maker.signature) {
            out.push('\n');
            documented(&mut out, maker.summary);
            example(&mut out, &maker.example.replacen(" → ", " // → ", 1));
            function_of(&mut out, name, &parameters, "", signatures);
        }
    }
    for function in TESTING {
        for (name, parameters) in forms(function.signature) {
            out.push('\n');
            documented(&mut out, &format!("in tests: {}", function.summary));
            example(&mut out, &function.example.replacen(" → ", " // → ", 1));
            function_of(&mut out, name, &parameters, "", &[]);
        }
    }
    let made: BTreeSet<&str> = MAKERS.iter().flat_map(|it| forms(it.signature)).map(|(name, _)| name).collect();
    for it in signatures.iter().filter(|it| it.namespace.is_empty() && !made.contains(it.name.as_str())) {
        out.push('\n');
        let names = ["value", "a", "b", "c", "d", "e", "f", "g"];
        let parameters: Vec<String> =
            it.parameters.iter().zip(names).map(|(of, name)| format!("{name}: {of}")).collect();
        let role = match it.role {
            Role::Function => "",
            Role::Getter => "get ",
            Role::Setter => "set ",
        };
        let _ = writeln!(out, "fn {role}{}({});", it.name, parameters.join(", "));
    }
    out
}

/// The declaration of a function whose parameters have names in the tables and types in the engine.
fn function_of(out: &mut String, name: &str, parameters: &[&str], namespace: &str, signatures: &[Signature]) {
    let is_it =
        |it: &&Signature| it.namespace == namespace && it.name == name && it.parameters.len() == parameters.len();
    let same: Vec<&Signature> = signatures.iter().filter(is_it).collect();
    let typed = |(place, parameter): (usize, &&str)| {
        let types: BTreeSet<&str> = same.iter().map(|it| it.parameters[place]).collect();
        let any = types.is_empty() || types.contains("?");
        let types = if any { "?".to_owned() } else { types.into_iter().collect::<Vec<_>>().join(" | ") };
        format!("{parameter}: {types}")
    };
    let parameters: Vec<String> = parameters.iter().enumerate().map(typed).collect();
    let _ = writeln!(out, "fn {name}({});", parameters.join(", "));
}

fn documented(out: &mut String, text: &str) {
    for line in text.lines() {
        let _ = writeln!(out, "/// {line}");
    }
}

fn example(out: &mut String, code: &str) {
    out.push_str("///\n/// ```rhai\n");
    documented(out, code);
    out.push_str("/// ```\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_file_for_each_namespace_and_one_for_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("editor/definitions");
        definitions(&inner).unwrap();
        let mut names: Vec<_> =
            fs::read_dir(&inner).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        let mut expected: Vec<_> = BINDINGS.iter().map(|it| format!("{}.d.rhai", it.name)).collect();
        expected.push("rhaid.d.rhai".into());
        expected.sort();
        assert_eq!(names, expected);
    }

    /// The language server's parser is not to be had from a registry; what it reads is what Rhai reads, but for the
    /// header, types, and a semicolon in the place of a body.
    #[test]
    fn each_line_is_one_that_an_editor_can_read() {
        let engine = rhai::Engine::new();
        let reads = |code: &str| engine.compile(code).is_ok();
        for (file, text) in files() {
            let header =
                format!("module {};", if file == "rhaid.d.rhai" { "static" } else { file.trim_end_matches(".d.rhai") });
            assert!(text.lines().any(|it| it == header), "{file} lacks `{header}`");
            for line in text.lines().filter(|it| !it.starts_with("///") && !it.is_empty() && *it != header) {
                if let Some(of_type) = line.strip_prefix("type ") {
                    let (name, rest) = of_type.split_once(" = ").unwrap();
                    assert!(reads(&format!("let {name} = 1;")) && rest == "...;", "{file}: {line}");
                    continue;
                }
                let (head, rest) = line.strip_prefix("fn ").and_then(|it| it.split_once('(')).expect(line);
                let name = head.trim_start_matches("get ").trim_start_matches("set ");
                let parameters = rest.strip_suffix(");").expect(line).split(", ").filter(|it| !it.is_empty());
                let parameters: Vec<_> = parameters.map(|it| it.split_once(": ").expect(line).0).collect();
                let function = format!("fn {name}({}) {{}}", parameters.join(", "));
                assert!(reads(&function), "{file}: {line}");
            }
        }
    }

    #[test]
    fn a_function_has_its_words_its_example_and_its_types() {
        let files = files();
        let text = |name: &str| &files.iter().find(|(it, _)| it == name).unwrap().1;
        let expected = "/// keeps a value, for ever or for so many seconds\n///\n/// ```rhai\n\
                        /// store::set(\"b\", \"x\", 60); store::get(\"b\") // → \"x\"\n/// ```\n\
                        fn set(key: String, value: ?, seconds: ?);\n";
        assert!(text("store.d.rhai").contains(expected), "{}", text("store.d.rhai"));
        let global = text("rhaid.d.rhai");
        assert!(global.contains("fn fail(status: int, message: String);\n"), "{global}");
        let auth = "/// whom the request's API key belongs to, or `()`\nfn get auth(env: Env);\n";
        assert!(global.contains(auth), "{global}");
        assert!(global.contains("fn before(value: Router, a: FnPtr);\n"), "{global}");
    }
}
