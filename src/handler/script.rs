//! Handlers that are Rhai scripts: where their text comes from.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

mod development;
mod page;
mod running;

use running::Running;

use super::{Building, Handler, Inherited, Kind, Plan, Workshop};
use crate::directive::{Node, Problem, Problems};
use crate::fiber::{self, Label};
use crate::script::{self, Context, Modules, Source};

/// `rhai.handler`: the script stands in the configuration.
pub const INLINE: Kind = Kind {
    name: "rhai.handler",
    summary: "Answers with the script that follows; its value is a closure, a router or a map with `handle`, or it \
              defines `fn handle(env)`.",
    example: "rhai.handler: |\n  |env| [200, #{\"content-type\": \"text/plain\"}, [\"Hello!\\n\"]]",
    read: inline,
};

/// `rhai.handler-file`: the script is a file.
pub const FILE: Kind = Kind {
    name: "rhai.handler-file",
    summary: "Answers with the script in a file, as `rhai.handler`; the path is relative to the current folder.",
    example: "rhai.handler-file: handlers/hello.rhai",
    read: file,
};

/// A script to compile on each worker.
#[derive(Debug)]
pub struct Script {
    pub source: Source,
    /// It with what it imports, read when the settings of its path are known.
    modules: OnceLock<Arc<Modules>>,
}

impl Plan for Script {
    fn files(&self, inherited: &Inherited) -> Vec<PathBuf> {
        let modules = self.modules(inherited);
        [&*self.source.path].into_iter().chain(modules.paths()).map(Path::to_owned).collect()
    }

    fn looked_for(&self, inherited: &Inherited) -> Vec<PathBuf> {
        self.modules(inherited).looked_for().map(Path::to_owned).collect()
    }

    fn is_api(&self) -> bool {
        true
    }

    fn build<'a>(&'a self, workshop: &'a Workshop<'a>) -> Building<'a> {
        Box::pin(async move { Ok(Box::new(self.start(workshop).await?) as Box<dyn Handler>) })
    }
}

impl Script {
    fn new(source: Source) -> Script {
        Script { source, modules: OnceLock::new() }
    }

    fn modules(&self, inherited: &Inherited) -> Arc<Modules> {
        let gather = || Arc::new(Modules::gather(&self.source, &inherited.script.module_path));
        self.modules.get_or_init(gather).clone()
    }

    /// Compiles and starts the script, within the limits of its path.
    async fn start(&self, workshop: &Workshop<'_>) -> Result<Running, String> {
        let settings = &workshop.inherited.script;
        let context = Context {
            shapes: Default::default(),
            envelope: workshop.envelope.clone(),
            auth: workshop.inherited.auth.clone(),
            software: workshop.software.into(),
            hidden: workshop.hidden.clone(),
            settings: workshop.inherited.values.to_script(),
            values: workshop.inherited.values.clone(),
            databases: workshop.databases.clone(),
            closures: Default::default(),
        };
        let modules = self.modules(workshop.inherited);
        let load = || {
            let functions = workshop.functions.clone();
            script::Script::load(workshop.engines, modules, workshop.library, settings, context, functions)
        };
        let label = Label { script: &self.source.name, ..Label::default() };
        let loaded = fiber::run_named(label, settings.start_limits(), load).await;
        let loaded =
            loaded.map_err(|_| format!("{}: a native function panicked while the script started", self.source.name))?;
        Ok(Running {
            script: loaded.map_err(|trace| trace.to_string())?,
            limits: settings.limits(),
            envelope: workshop.envelope.clone(),
            auth: workshop.inherited.auth.clone(),
            body_limit: workshop.body_limit,
            body_patience: workshop.body_patience,
            redaction: workshop.redaction.clone(),
            development: settings.development,
        })
    }
}

fn inline(value: &Node) -> Result<Arc<dyn Plan>, Problems> {
    const EXPECTED: &str = "a script";
    const HINT: &str = "put `|` after `rhai.handler:` and the script on the next line, indented";
    let text = match value.text_as(EXPECTED) {
        Ok(text) if names_a_file(text) => {
            let hint = format!("the script in a file is `rhai.handler-file: {}`", text.trim());
            return Err(value.expected(EXPECTED).hint(hint).into());
        }
        Ok(text) if !text.trim().is_empty() => text,
        // A script that begins with `[`, `{` or `#` is a list, a mapping or a comment for YAML.
        _ => return Err(value.expected(EXPECTED).hint(HINT).into()),
    };
    let place = value.text_place();
    let source = Source {
        name: place.file.display().to_string(),
        path: place.file,
        text: text.into(),
        line: place.line,
        indent: place.indent,
    };
    Ok(Arc::new(Script::new(source)))
}

/// Whether it can only be meant as the path of a script.
fn names_a_file(text: &str) -> bool {
    let text = text.trim();
    text.ends_with(".rhai") && !text.contains(|it: char| it.is_whitespace() || "(|;\"'`".contains(it))
}

fn file(value: &Node) -> Result<Arc<dyn Plan>, Problems> {
    let path = value.existing_file()?;
    let text = fs::read_to_string(&path).map_err(|error| -> Problem { value.cannot_open(&path, &error) })?;
    let source = Source { name: path.display().to_string(), path, text: text.into(), line: 1, indent: 0 };
    Ok(Arc::new(Script::new(source)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directive::parse;

    fn read(kind: &Kind, text: &str) -> Result<Arc<dyn Plan>, Problems> {
        (kind.read)(&parse(Path::new("conf/host.yaml"), text)?.entries()?.remove(0).1)
    }

    fn message(kind: &Kind, text: &str) -> String {
        read(kind, text).unwrap_err().to_string()
    }

    #[test]
    fn an_inline_script_knows_its_place_in_the_configuration() {
        let plan = read(&INLINE, "rhai.handler: |\n  // `${x}`\n  |env| 1\n").unwrap();
        let source = Source {
            name: "conf/host.yaml".into(),
            path: "conf/host.yaml".into(),
            text: "// `${x}`\n|env| 1\n".into(),
            line: 2,
            indent: 2,
        };
        assert_eq!(format!("{plan:?}"), format!("{:?}", Script::new(source)));
        assert_eq!(plan.files(&Inherited::default()), [Path::new("conf/host.yaml")]);
    }

    #[test]
    fn what_yaml_takes_for_something_else_is_told_to_move() {
        let hint = "\nhint: put `|` after `rhai.handler:` and the script on the next line, indented";
        let expected = "conf/host.yaml:1:15: `rhai.handler` is a list, expected a script\n  \
                        1 | rhai.handler: [200, {}, []]\n    |               ^";
        assert_eq!(message(&INLINE, "rhai.handler: [200, {}, []]"), format!("{expected}{hint}"));
        let expected = "conf/host.yaml:1:1: `rhai.handler` has no value, expected a script\n  \
                        1 | rhai.handler: #{handle: x}\n    | ^^^^^^^^^^^^";
        assert_eq!(message(&INLINE, "rhai.handler: #{handle: x}"), format!("{expected}{hint}"));
    }

    #[test]
    fn a_script_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.rhai");
        fs::write(&path, "|env| 1").unwrap();
        let text = format!("rhai.handler-file: {}", path.display());
        let plan = read(&FILE, &text).unwrap();
        let name = path.display().to_string();
        let source = Source { name, path: path.clone(), text: "|env| 1".into(), line: 1, indent: 0 };
        assert_eq!(format!("{plan:?}"), format!("{:?}", Script::new(source)));
        assert_eq!(plan.files(&Inherited::default()), std::slice::from_ref(&path));
        fs::write(&path, b"\xff").unwrap();
        let message = read(&FILE, &text).unwrap_err().0[0].message().to_owned();
        assert_eq!(message, format!("`rhai.handler-file` is `{}`, which is not UTF-8", path.display()));
    }

    #[test]
    fn a_missing_script_file_is_a_mistake() {
        let text = message(&FILE, "rhai.handler-file: nowhere/at/all.rhai");
        let expected = "conf/host.yaml:1:20: `rhai.handler-file` is `nowhere/at/all.rhai`, which does not exist\n  \
                        1 | rhai.handler-file: nowhere/at/all.rhai\n    |                    ^^^^^^^^^^^^^^^^^^^\n\
                        hint: paths are relative to the current folder, `";
        assert!(text.starts_with(expected), "{text}");
    }
}
