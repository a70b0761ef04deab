//! Which files a script imports and where they lie: found and read once, with the configuration, so
//! that all workers have the same. What they mean is not known here.
//!
//! A name is looked for beside the importing file, then in the folders of `rhai.module-path`. What
//! it leads to lies below the folder of the script, or below the folder of the path where it was
//! found; a symbolic link counts as the file that it leads to.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Component, Path, PathBuf};

use rhai::{Engine, OptimizationLevel};

use super::engine::EXPRESSION_DEPTHS;
use super::imports::imports;
use super::source::Source;
use crate::directive::suggest;

const EXTENSION: &str = ".rhai";

/// A script with the files that it imports, directly or not.
#[derive(Debug)]
pub struct Modules {
    module_path: Vec<PathBuf>,
    /// The script itself comes first.
    files: Vec<File>,
    /// Where names were looked for, also where there was nothing.
    looked_for: BTreeSet<PathBuf>,
}

#[derive(Debug)]
struct File {
    source: Source,
    /// What relative names begin at.
    folder: PathBuf,
    /// What they don't lead out of.
    root: PathBuf,
    identity: Identity,
    imports: HashMap<String, Result<usize, Fault>>,
}

/// What makes a module the same one, however it is reached: the file, and what it may import.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    root: PathBuf,
    file: PathBuf,
}

/// Why there is no module for a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl Modules {
    /// Finds and reads all that a script imports. Whatever is wrong is kept for who compiles it, and
    /// says so at its place.
    pub fn gather(script: &Source, module_path: &[PathBuf]) -> Modules {
        let folder = script.path.parent().unwrap_or(Path::new("")).to_owned();
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let identity = Identity { root: real(or_here(&folder)), file: real(&script.path) };
        let root = folder.clone();
        let own = File { source: script.clone(), folder, root, identity, imports: HashMap::new() };
        let mut modules =
            Modules { module_path: module_path.to_owned(), files: vec![own], looked_for: BTreeSet::new() };
        let mut next = 0;
        while next < modules.files.len() {
            for name in names(&modules.files[next].source.text) {
                let found = modules.find(next, &name);
                modules.files[next].imports.insert(name, found);
            }
            next += 1;
        }
        modules
    }

    /// The files that were read, without the script's own.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files[1..].iter().map(|it| &*it.source.path)
    }

    /// The places where imports were looked for: what comes to lie there may be what is meant.
    pub fn looked_for(&self) -> impl Iterator<Item = &Path> {
        self.looked_for.iter().map(PathBuf::as_path)
    }

    /// The text of a file; the script's own has the number 0.
    pub(super) fn source(&self, file: usize) -> &Source {
        &self.files[file].source
    }

    /// All texts, the script's own first.
    pub(super) fn sources(&self) -> impl Iterator<Item = &Source> {
        self.files.iter().map(|it| &it.source)
    }

    /// What a file is known by on a worker.
    pub(super) fn identity(&self, file: usize) -> (&Identity, &[PathBuf]) {
        (&self.files[file].identity, &self.module_path)
    }

    /// The file that is meant by a name in another.
    pub(super) fn imported(&self, by: usize, name: &str) -> Result<usize, Fault> {
        // A text that can't be parsed has no imports either.
        self.files[by].imports.get(name).cloned().unwrap_or_else(|| Err(Fault::new(format!("no module `{name}`"))))
    }

    fn find(&mut self, by: usize, name: &str) -> Result<usize, Fault> {
        if name.trim().is_empty() {
            return Err(Fault::new("`import` has an empty name"));
        }
        if Path::new(name).is_absolute() {
            let hint = "names are relative to the importing file or to a folder of `rhai.module-path`";
            return Err(Fault::new(format!("`{name}` is an absolute path, which can't be imported")).hint(hint));
        }
        let file = if name.ends_with(EXTENSION) { name.to_owned() } else { format!("{name}{EXTENSION}") };
        let importer = &self.files[by];
        let own = (importer.folder.clone(), importer.root.clone());
        let is_relative = name.starts_with("./") || name.starts_with("../");
        let path = self.module_path.iter().filter(|_| !is_relative).map(|it| (it.clone(), it.clone()));
        let places: Vec<_> = [own].into_iter().chain(path).collect();
        let mut looked = Vec::new();
        for (folder, root) in &places {
            let Some(path) = joined(folder, root, &file) else { continue };
            self.looked_for.insert(path.clone());
            match path.canonicalize() {
                Ok(real) if real.is_file() => return self.add(path, root, real),
                Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                    return Err(Fault::new(format!("`{}` can't be read: {error}", path.display())));
                }
                _ => looked.push(path),
            }
        }
        if looked.is_empty() {
            let root = or_here(&places[0].1).display().to_string();
            let hint = "a folder of `rhai.module-path` can be imported from as well";
            return Err(Fault::new(format!("`{name}` leads out of `{root}`")).hint(hint));
        }
        Err(missing(name, &looked))
    }

    fn add(&mut self, path: PathBuf, root: &Path, real: PathBuf) -> Result<usize, Fault> {
        let unreadable = |error: io::Error| Fault::new(format!("`{}` can't be read: {error}", path.display()));
        let real_root = or_here(root).canonicalize().map_err(unreadable)?;
        if !real.starts_with(&real_root) {
            let (path, root) = (path.display(), or_here(root).display());
            let hint = "a folder of `rhai.module-path` can be imported from as well";
            return Err(Fault::new(format!("`{path}` is a link that leads out of `{root}`")).hint(hint));
        }
        let identity = Identity { root: real_root, file: real };
        // Whichever way it was found first: a script has each file once.
        if let Some(index) = self.files.iter().position(|it| it.identity.file == identity.file) {
            return Ok(index);
        }
        let text = std::fs::read_to_string(&path).map_err(unreadable)?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let source =
            Source { name: path.display().to_string(), path: path.clone(), text: text.into(), line: 1, indent: 0 };
        self.files.push(File { source, folder, root: root.to_owned(), identity, imports: HashMap::new() });
        Ok(self.files.len() - 1)
    }
}

impl Fault {
    fn new(message: impl Into<String>) -> Fault {
        Fault { message: message.into(), hint: None }
    }

    fn hint(self, hint: impl Into<String>) -> Fault {
        Fault { hint: Some(hint.into()), ..self }
    }
}

/// The names that a text imports. One that can't be parsed has none: that is said when it is compiled.
fn names(text: &str) -> Vec<String> {
    if !text.contains("import") {
        return Vec::new();
    }
    let mut engine = Engine::new_raw();
    engine.set_optimization_level(OptimizationLevel::None);
    engine.set_max_expr_depths(EXPRESSION_DEPTHS.0, EXPRESSION_DEPTHS.1);
    let found = engine.compile(text).ok().and_then(|ast| imports(&ast).ok());
    found.unwrap_or_default().iter().map(|it| it.path.to_string()).collect()
}

/// `name` as seen from `folder`, without `.` and `..`; `None` if it leads out of `root`.
fn joined(folder: &Path, root: &Path, name: &str) -> Option<PathBuf> {
    let mut below: Vec<_> = folder.strip_prefix(root).ok()?.components().collect();
    for component in Path::new(name).components() {
        match component {
            Component::Normal(_) => below.push(component),
            Component::CurDir => {}
            Component::ParentDir => {
                below.pop()?;
            }
            _ => return None,
        }
    }
    Some(root.join(below.iter().collect::<PathBuf>()))
}

fn missing(name: &str, looked: &[PathBuf]) -> Fault {
    let places: Vec<String> = looked.iter().map(|it| format!("`{}`", it.display())).collect();
    let fault = match places.as_slice() {
        [only] => Fault::new(format!("no module `{name}`: {only} does not exist")),
        places => Fault::new(format!("no module `{name}`: there is none of {}", places.join(", "))),
    };
    let before = name.rfind('/').map_or("", |end| &name[..=end]);
    let folders = looked.iter().filter_map(|it| std::fs::read_dir(or_here(it.parent()?)).ok()).flatten().flatten();
    let stem = |it: std::fs::DirEntry| Some(it.file_name().to_str()?.strip_suffix(EXTENSION)?.to_owned());
    let there: Vec<String> = folders.filter_map(stem).map(|it| format!("{before}{it}")).collect();
    let wanted = name.strip_suffix(EXTENSION).unwrap_or(name);
    match suggest(wanted, there.iter().map(String::as_str)) {
        Some(near) => fault.hint(format!("did you mean `{near}`?")),
        None => fault,
    }
}

/// The empty path means the current folder, but the system doesn't take it.
fn or_here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Writes the files and gathers what `handlers/a.rhai` imports.
    fn gathered(files: &[(&str, &str)], module_path: &[&str]) -> (tempfile::TempDir, Modules) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let path = folder.path().join("handlers/a.rhai");
        let text = fs::read_to_string(&path).unwrap().into();
        let source = Source { name: "handlers/a.rhai".into(), path, text, line: 1, indent: 0 };
        let module_path: Vec<_> = module_path.iter().map(|it| folder.path().join(it)).collect();
        let modules = Modules::gather(&source, &module_path);
        (folder, modules)
    }

    fn paths(found: &(tempfile::TempDir, Modules)) -> Vec<String> {
        found.1.paths().map(|it| it.strip_prefix(found.0.path()).unwrap().display().to_string()).collect()
    }

    fn message(found: &(tempfile::TempDir, Modules), name: &str) -> String {
        let fault = found.1.imported(0, name).unwrap_err();
        let hint = fault.hint.map(|it| format!("; {it}")).unwrap_or_default();
        format!("{}{hint}", fault.message).replace(&format!("{}/", found.0.path().display()), "")
    }

    #[test]
    fn imports_of_imports_are_found_from_where_they_stand() {
        let found = gathered(
            &[
                ("handlers/a.rhai", "import \"lib/x\" as x; import \"b.rhai\" as b; import \"shared\" as s;"),
                ("handlers/b.rhai", ""),
                ("handlers/lib/x.rhai", "import \"y\" as y; import \"../b\" as b; import \"./z/../y\" as again;"),
                ("handlers/lib/y.rhai", "import \"deep/w\" as w;"),
                ("modules/shared.rhai", "import \"other\" as o;"),
                ("modules/other.rhai", ""),
                ("modules/deep/w.rhai", ""),
            ],
            &["modules"],
        );
        let expected = [
            "handlers/lib/x.rhai",
            "handlers/b.rhai",
            "modules/shared.rhai",
            "handlers/lib/y.rhai",
            "modules/other.rhai",
            "modules/deep/w.rhai",
        ];
        assert_eq!(paths(&found), expected);
    }

    #[test]
    fn nothing_outside_is_found() {
        let found = gathered(
            &[
                (
                    "handlers/a.rhai",
                    "import \"../out\" as a; import \"/etc/x\" as b; import \"link\" as c; import \"d/l\" as d;",
                ),
                ("out.rhai", ""),
            ],
            &[],
        );
        #[cfg(unix)]
        {
            let folder = found.0.path();
            std::os::unix::fs::symlink(folder.join("out.rhai"), folder.join("handlers/link.rhai")).unwrap();
            std::os::unix::fs::symlink(folder, folder.join("handlers/d")).unwrap();
        }
        let again = Modules::gather(found.1.source(0), &[]);
        let found = (found.0, again);
        assert_eq!(paths(&found), Vec::<String>::new());
        let root = found.0.path().join("handlers").display().to_string();
        let root = root.strip_prefix(&format!("{}/", found.0.path().display())).unwrap().to_owned();
        let way_out = "a folder of `rhai.module-path` can be imported from as well";
        assert_eq!(message(&found, "../out"), format!("`../out` leads out of `{root}`; {way_out}"));
        let absolute = "names are relative to the importing file or to a folder of `rhai.module-path`";
        assert_eq!(
            message(&found, "/etc/x"),
            format!("`/etc/x` is an absolute path, which can't be imported; {absolute}")
        );
        #[cfg(unix)]
        assert_eq!(
            message(&found, "link"),
            format!("`handlers/link.rhai` is a link that leads out of `handlers`; {way_out}")
        );
    }

    #[test]
    fn a_missing_module_names_where_it_was_looked_for() {
        let found = gathered(
            &[("handlers/a.rhai", "import \"lib/utl\" as a; import \"zzz\" as z;"), ("handlers/lib/util.rhai", "")],
            &["modules"],
        );
        let places = "`handlers/lib/utl.rhai`, `modules/lib/utl.rhai`";
        assert_eq!(
            message(&found, "lib/utl"),
            format!("no module `lib/utl`: there is none of {places}; did you mean `lib/util`?")
        );
        assert_eq!(message(&found, "zzz"), "no module `zzz`: there is none of `handlers/zzz.rhai`, `modules/zzz.rhai`");
    }

    #[test]
    fn a_file_is_one_module_however_it_is_named() {
        let found = gathered(
            &[
                (
                    "handlers/a.rhai",
                    "import \"b\" as b; import \"./b.rhai\" as c; import \"l/../b\" as d; import \"a\" as a;",
                ),
                ("handlers/b.rhai", "import \"a\" as a;"),
            ],
            &[],
        );
        assert_eq!(paths(&found), ["handlers/b.rhai"]);
        let files = [("handlers/a.rhai", "import \"lib/x\" as x; import \"x\" as y;"), ("handlers/lib/x.rhai", "")];
        let both_ways = gathered(&files, &["handlers/lib"]);
        assert_eq!(paths(&both_ways), ["handlers/lib/x.rhai"]);
        assert_eq!((found.1.imported(0, "a"), found.1.imported(1, "a")), (Ok(0), Ok(0)));
    }
}
