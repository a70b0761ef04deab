//! The files of a configuration as one tree: includes, variables and merge keys resolved.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::existing::reason;
use super::node::{Source, Value};
use super::suggest::suggest;
use super::variables::{self, Environment};
use super::yaml::{self, Step, Text, Yaml};
use super::{Kind, Node, Pattern, Problem, Problems, include, syntax};

/// Keys whose values are scripts, which have `${…}` of their own.
const VERBATIM: &[&str] = &["rhai.handler"];

/// The tags that there are, without `!`.
const TAGS: &[&str] = &["file", "env"];

/// A configuration that was read; there may be mistakes in it that don't keep the rest from being checked.
#[derive(Debug)]
pub struct Loaded {
    /// The whole file, with what it includes.
    pub root: Node,
    /// What is wrong with the includes.
    pub problems: Problems,
    /// The file and all that it includes.
    pub files: Vec<PathBuf>,
    /// The patterns of includes: a file that comes to match one belongs to it.
    pub patterns: Vec<Pattern>,
}

/// Reads the file at `path` and what it includes.
///
/// # Errors
/// If the file can't be read or is not YAML.
pub fn load(path: &Path) -> Result<Loaded, Problem> {
    load_with(path, &variables::process)
}

fn load_with(path: &Path, environment: &Environment) -> Result<Loaded, Problem> {
    let mut loader = Loader::new(environment);
    let text = read(path).map_err(|reason| Problem::in_file(path, format!("the file {reason}")))?;
    let root = loader.file(path, text, "")?;
    let files = loader.sources.iter().map(|it| it.file.clone()).collect();
    Ok(Loaded { root, problems: loader.problems, files, patterns: loader.patterns })
}

/// Reads `text` as if it stood in `file`.
///
/// # Errors
/// If it is not YAML, or on mistakes of tags and merge keys.
pub fn parse(file: &Path, text: &str) -> Result<Node, Problems> {
    let mut loader = Loader::new(&variables::process);
    let root = loader.file(file, text.to_owned(), "")?;
    loader.problems.or(root)
}

/// The text of a file, or why it can't be had.
fn read(path: &Path) -> Result<String, String> {
    let text = fs::read_to_string(path).map_err(|error| reason(&error))?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

struct Loader<'a> {
    environment: &'a Environment,
    sources: Vec<Arc<Source>>,
    /// The files that are being read, each included by the one before it: what they are, and how they were named.
    including: Vec<(PathBuf, PathBuf)>,
    patterns: Vec<Pattern>,
    problems: Problems,
}

impl Loader<'_> {
    fn new(environment: &Environment) -> Loader<'_> {
        let problems = Problems::default();
        Loader { environment, sources: Vec::new(), including: Vec::new(), patterns: Vec::new(), problems }
    }

    /// The value that a file is; `name` is the key that includes it.
    fn file(&mut self, file: &Path, text: String, name: &str) -> Result<Node, Problem> {
        let known = self.sources.iter().find(|it| it.file == file && it.text == text).cloned();
        let source = known.unwrap_or_else(|| {
            let source = Arc::new(Source::new(file, text, self.sources.len()));
            self.sources.push(source.clone());
            source
        });
        if let Some(problem) = control_character(&source) {
            return Err(problem.ranked(source.rank));
        }
        let yaml = yaml::parse(&source.text)
            .map_err(|fault| syntax::problem(file, &source.text, &fault).ranked(source.rank))?;
        self.including.push((identity(file), file.to_owned()));
        let node = self.node(&source, yaml, Vec::new(), name);
        self.including.pop();
        Ok(node)
    }

    fn node(&mut self, source: &Arc<Source>, yaml: Yaml, path: Vec<Step>, name: &str) -> Node {
        let step = |step: Step| path.iter().copied().chain([step]).collect::<Vec<Step>>();
        let value = match yaml {
            Yaml::Null(_) => Value::Null,
            Yaml::Scalar(Text { source, at }) => {
                let verbatim = VERBATIM.contains(&name);
                let text = if verbatim { Ok(source.clone()) } else { variables::replace(&source, self.environment) };
                Value::Scalar { text, raw: source, at }
            }
            Yaml::Sequence(items) => {
                let items = items.into_iter().enumerate();
                Value::Sequence(items.map(|(index, it)| self.node(source, it, step(Step::Item(index)), name)).collect())
            }
            Yaml::Mapping(entries) => {
                let mut nodes = Vec::new();
                for (index, (key, value)) in entries.into_iter().enumerate() {
                    let Some(key) = self.key(source, key, step(Step::Key(index))) else { continue };
                    let value = self.node(source, value, step(Step::Value(index)), key.name());
                    nodes.push((key, value));
                }
                Value::Mapping(self.merge(nodes))
            }
            Yaml::Tagged(tag, inner) => return self.tagged(source, &tag, *inner, path, name),
        };
        Node::new(source, path, name, value)
    }

    /// A key, named after itself.
    fn key(&mut self, source: &Arc<Source>, yaml: Yaml, path: Vec<Step>) -> Option<Node> {
        let (Yaml::Scalar(Text { source: raw, at }) | Yaml::Null(Text { source: raw, at })) = yaml else {
            let key = Node::new(source, path, "", Value::Null);
            self.problems.0.push(key.problem("a key is a list, a mapping or tagged, expected a plain text"));
            return None;
        };
        let text = variables::replace(&raw, self.environment);
        let name = text.as_ref().unwrap_or(&raw).clone();
        Some(Node::new(source, path, &name, Value::Scalar { text, raw, at }))
    }

    fn tagged(&mut self, source: &Arc<Source>, tag: &str, inner: Yaml, path: Vec<Step>, name: &str) -> Node {
        // The tag `!` alone says in YAML that the value is what it looks like.
        if tag == "!" {
            return self.node(source, inner, path, name);
        }
        let node = self.node(source, inner, path.clone(), name);
        let result = match tag {
            "env" => node.text_as("the name of an environment variable after `!env`").map(|variable| {
                let text = variables::value(variable, self.environment);
                Node::new(source, path.clone(), name, Value::Scalar { text, raw: variable.to_owned(), at: node.at() })
            }),
            "file" => self.include(source, &node, &path, name),
            _ => {
                let problem = node.problem(format!("unknown tag `!{tag}`, expected `!file` or `!env`"));
                Err(match suggest(tag, TAGS.iter().copied()) {
                    Some(near) => problem.hint(format!("did you mean `!{near}`?")),
                    None => problem.hint("put a text that begins with `!` in quotes"),
                })
            }
        };
        result.unwrap_or_else(|problem| {
            self.problems.0.push(problem.clone());
            Node::new(source, path, name, Value::Faulty(problem))
        })
    }

    /// The value of the file or files that `!file` names, relative to the file in which it stands.
    fn include(&mut self, source: &Arc<Source>, node: &Node, path: &[Step], name: &str) -> Result<Node, Problem> {
        let written = node.text_as("the path of a file after `!file`")?;
        let folder = source.file.parent().unwrap_or(Path::new(""));
        let Some(pattern) = Pattern::new(folder, written) else {
            return self.include_one(node, &folder.join(written), name);
        };
        self.patterns.push(pattern.clone());
        let found =
            pattern.files().map_err(|reason| node.problem(format!("`!file` names `{written}`, which {reason}")))?;
        let mut files = Vec::new();
        for file in found {
            // A file of several that is no good doesn't keep the others from being checked.
            let included = self.include_one(node, &file, name);
            files.extend(included.map_err(|problem| self.problems.0.push(problem)));
        }
        let value = include::joined(node, files)?;
        Ok(Node::new(source, path.to_vec(), name, value))
    }

    fn include_one(&mut self, node: &Node, path: &Path, name: &str) -> Result<Node, Problem> {
        let written = node.text()?;
        let text = read(path).map_err(|reason| {
            let problem = node.problem(format!("`!file` names `{written}`, which {reason}"));
            let hint = format!("it is looked for as `{}`, relative to the file that includes it", path.display());
            problem.hint(hint).about(path)
        })?;
        let identity = identity(path);
        if let Some(first) = self.including.iter().position(|it| it.0 == identity) {
            let message = format!("`!file` names `{written}`, which is being read already and would include itself");
            let chain = self.including[first..].iter().map(|it| it.1.as_path()).chain([path]);
            let chain: Vec<_> = chain.map(|it| format!("`{}`", it.display())).collect();
            return Err(node.problem(message).hint(format!("the includes are {}", chain.join(", then "))));
        }
        self.file(path, text, name)
    }

    /// The entries with those of their `<<` in its place: local keys win, then what stands first in a list.
    fn merge(&mut self, entries: Vec<(Node, Node)>) -> Vec<(Node, Node)> {
        let is_merge = |key: &Node| key.name() == "<<";
        let mut taken: HashSet<String> =
            entries.iter().filter(|it| !is_merge(&it.0)).map(|it| it.0.name().to_owned()).collect();
        let mut merged = Vec::new();
        for (key, value) in entries {
            if !is_merge(&key) {
                merged.push((key, value));
                continue;
            }
            for origin in value.items() {
                if origin.kind() != Kind::Mapping {
                    if !origin.is_faulty() {
                        self.problems.0.push(origin.expected("a mapping or a list of mappings"));
                    }
                    continue;
                }
                // A key that repeats within one mapping keeps all its values.
                let new: Vec<_> = origin.entries().into_iter().flatten().collect();
                let new: Vec<_> = new.into_iter().filter(|it| !taken.contains(it.0.name())).collect();
                taken.extend(new.iter().map(|it| it.0.name().to_owned()));
                merged.extend(new);
            }
        }
        merged
    }
}

/// What tells whether two paths are the same file.
fn identity(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The parser refuses control characters too, but doesn't tell where they stand.
fn control_character(source: &Source) -> Option<Problem> {
    let refused = |it: char| it.is_control() && !matches!(it, '\t' | '\n' | '\r' | '\u{85}');
    for (index, line) in source.text.lines().enumerate() {
        if let Some((column, it)) = line.chars().enumerate().find(|(_, it)| refused(*it)) {
            let message = format!("found the control character U+{:04X}, expected text", u32::from(it));
            let place = (index + 1, column + 1);
            return Some(Problem::in_text(&source.file, &source.text, place, 1, message));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with these files; the first is read.
    fn loaded(files: &[(&str, &str)]) -> (tempfile::TempDir, Result<Loaded, Problem>) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let environment = |name: &str| (name == "PORT").then(|| "8080".to_owned());
        let loaded = load_with(&folder.path().join(files[0].0), &environment);
        (folder, loaded)
    }

    /// The tree with variables replaced, as text.
    fn shown(node: &Node) -> String {
        let each = |nodes: Vec<String>| nodes.join(", ");
        match node.kind() {
            Kind::Null => "-".into(),
            Kind::Scalar => node.text().map_or_else(|it| format!("<{}>", it.message()), str::to_owned),
            Kind::Sequence => format!("[{}]", each(node.items().iter().map(shown).collect())),
            Kind::Mapping => {
                let entries = node.entries().unwrap();
                format!(
                    "{{{}}}",
                    each(entries.iter().map(|it| format!("{}: {}", shown(&it.0), shown(&it.1))).collect())
                )
            }
        }
    }

    fn tree(text: &str) -> String {
        let (_folder, loaded) = loaded(&[("host.yaml", text)]);
        let loaded = loaded.unwrap();
        assert_eq!(loaded.problems, Problems::default());
        shown(&loaded.root)
    }

    /// The mistakes of the first file, with the folder's name taken out.
    fn mistakes(files: &[(&str, &str)]) -> String {
        let (folder, loaded) = loaded(files);
        let text = match loaded {
            Ok(loaded) => loaded.problems.or(()).unwrap_err().to_string(),
            Err(problem) => problem.to_string(),
        };
        text.replace(&format!("{}/", folder.path().display()), "")
    }

    #[test]
    fn scalars_are_source_texts_with_variables_replaced() {
        assert_eq!(tree("a: 1.10\nb: ${PORT}\n\"${PORT}\": x\n"), "{a: 1.10, b: 8080, 8080: x}");
        assert_eq!(tree("- !env PORT\n- ${NONE:-5}\n- ! 7\n"), "[8080, 5, 7]");
    }

    #[test]
    fn replaced_values_are_never_read_as_yaml() {
        assert_eq!(tree("a: '${NONE:-[b, c]}'"), "{a: [b, c]}");
    }

    #[test]
    fn a_script_keeps_its_variables_also_through_an_alias() {
        let text = "stash: &s |\n  `${x}`\nrhai.handler: *s\nrhai.handler: 'a ${b}'\n";
        let unset = "<the environment variable `x` is not set>";
        assert_eq!(tree(text), format!("{{stash: {unset}, rhai.handler: `${{x}}`\n, rhai.handler: a ${{b}}}}"));
    }

    #[test]
    fn an_unset_variable_is_a_mistake_where_it_is_used() {
        let (folder, loaded) = loaded(&[("host.yaml", "listen: !env NONE\n")]);
        let (_, value) = loaded.unwrap().root.entries().unwrap().remove(0);
        let expected = "host.yaml:1:9: the environment variable `NONE` is not set\n  1 | listen: !env NONE\n    |         \
                    ^^^^^^^^^\nhint: set it, or give a default: `${NONE:-default}`";
        let folder = format!("{}/", folder.path().display());
        assert_eq!(value.text().unwrap_err().to_string().replace(&folder, ""), expected);
    }

    #[test]
    fn local_keys_win_over_merged_ones_wherever_the_merge_stands() {
        assert_eq!(tree("a: &a {x: 1, y: 2}\nb:\n  x: 3\n  <<: *a\n"), "{a: {x: 1, y: 2}, b: {x: 3, y: 2}}");
        assert_eq!(tree("a: &a {x: 1, y: 2}\nb:\n  <<: *a\n  x: 3\n"), "{a: {x: 1, y: 2}, b: {y: 2, x: 3}}");
    }

    #[test]
    fn of_several_merged_mappings_the_earlier_wins() {
        assert_eq!(tree("<<: [{x: 1, x: 2}, {x: 3, y: 4}]\n"), "{x: 1, x: 2, y: 4}");
        assert_eq!(tree("<<: {x: 1, <<: {x: 2, y: 3}}\n<<: {y: 4, z: 5}\n"), "{x: 1, y: 3, z: 5}");
    }

    #[test]
    fn a_merge_of_anything_but_mappings_is_a_mistake() {
        let expected = "host.yaml:1:5: `<<` is `x`, expected a mapping or a list of mappings\n  1 | <<: x\n    |     ^\n\
                    host.yaml:3:8: `<<` is `y`, expected a mapping or a list of mappings\n  3 |   <<: [y, {}]\n    |        \
                     ^";
        assert_eq!(mistakes(&[("host.yaml", "<<: x\na:\n  <<: [y, {}]\n")]), expected);
    }

    #[test]
    fn a_file_is_included_relative_to_the_including_one() {
        let (folder, loaded) = loaded(&[
            ("conf/host.yaml", "a: !file sub/a.yaml\n<<: !file sub/m.yaml\n"),
            ("conf/sub/a.yaml", "- !file b.yaml\n"),
            ("conf/sub/b.yaml", "one: 1\n"),
            ("conf/sub/m.yaml", "m: ${PORT}\n"),
        ]);
        let loaded = loaded.unwrap();
        assert_eq!(shown(&loaded.root), "{a: [{one: 1}], m: 8080}");
        let names: Vec<_> = loaded.files.iter().map(|it| it.strip_prefix(folder.path()).unwrap().to_owned()).collect();
        assert_eq!(
            names,
            ["conf/host.yaml", "conf/sub/a.yaml", "conf/sub/b.yaml", "conf/sub/m.yaml"].map(PathBuf::from)
        );
    }

    #[test]
    fn a_mistake_in_an_included_file_is_shown_there() {
        let (_folder, loaded) =
            loaded(&[("host.yaml", "listen: !file listen.yaml\n"), ("listen.yaml", "# port\nmany\n")]);
        let (_, value) = loaded.unwrap().root.entries().unwrap().remove(0);
        let message = value.integer(0..=9).unwrap_err().to_string();
        let expected =
            "listen.yaml:2:1: `listen` is `many`, expected a whole number from 0 to 9\n  2 | many\n    | ^^^^";
        assert!(message.ends_with(expected), "{message}");
    }

    #[test]
    fn a_missing_include_is_a_mistake_beside_others() {
        let expected = "\
host.yaml:1:4: `!file` names `none.yaml`, which does not exist
  1 | a: !file none.yaml
    |    ^^^^^^^^^^^^^^^
hint: it is looked for as `none.yaml`, relative to the file that includes it
host.yaml:2:4: unknown tag `!flie`, expected `!file` or `!env`
  2 | b: !flie b.yaml
    |    ^^^^^^^^^^^^
hint: did you mean `!file`?";
        assert_eq!(mistakes(&[("host.yaml", "a: !file none.yaml\nb: !flie b.yaml\n")]), expected);
    }

    #[test]
    fn an_include_that_is_not_yaml_is_shown_there() {
        let files = [("host.yaml", "a: !file b.yaml\nc: !file d.yaml\n"), ("b.yaml", "x: [\n"), ("d.yaml", "y: *z\n")];
        let expected = "\
b.yaml:1:4: this is not YAML: did not find expected node content, while parsing a flow node
  1 | x: [
    |    ^
hint: close the quote or the bracket that is opened here
d.yaml:1:4: the alias `*z` has no anchor `&z` above it in this file
  1 | y: *z
    |    ^^
hint: write `&z` before the value that is meant, above in the same file";
        assert_eq!(mistakes(&files), expected);
    }

    #[test]
    fn a_cyclic_include_is_a_mistake() {
        let expected = "\
sub/b.yaml:1:4: `!file` names `../host.yaml`, which is being read already and would include itself
  1 | b: !file ../host.yaml
    |    ^^^^^^^^^^^^^^^^^^
hint: the includes are `host.yaml`, then `sub/b.yaml`, then `sub/../host.yaml`";
        let files = [("host.yaml", "a: !file sub/b.yaml\n"), ("sub/b.yaml", "b: !file ../host.yaml\n")];
        assert_eq!(mistakes(&files), expected);
    }

    #[test]
    fn a_pattern_includes_all_that_it_finds_in_order() {
        let (folder, loaded) = loaded(&[
            ("conf/host.yaml", "a: !file d/*.yaml\nb: !file l/[ab].yaml\nc: !file none/*.yaml\n<<: !file d/?.yaml\n"),
            ("conf/d/b.yaml", "two: 2\none: 3\n"),
            ("conf/d/a.yaml", "one: 1\n"),
            ("conf/d/empty.yaml", ""),
            ("conf/d/.hidden.yaml", "hidden: 1\n"),
            ("conf/d/a.yaml~", "editor: 1\n"),
            ("conf/l/a.yaml", "- 1\n"),
            ("conf/l/b.yaml", "- 2\n- 3\n"),
        ]);
        let loaded = loaded.unwrap();
        assert_eq!(loaded.problems, Problems::default());
        let expected = "{a: {one: 1, two: 2, one: 3}, b: [1, 2, 3], c: {}, one: 1, two: 2, one: 3}";
        assert_eq!(shown(&loaded.root), expected);
        assert!(loaded.files.contains(&folder.path().join("conf/d/empty.yaml")));
        assert!(!loaded.files.iter().any(|it| it.ends_with(".hidden.yaml")));
    }

    #[test]
    fn files_of_a_pattern_are_all_mappings_or_all_lists() {
        let files = [
            ("host.yaml", "a: !file d/*\nb: !file e/*\nc: !file f/*\nd: !file '[a'\n"),
            ("d/a", "x: 1\n"),
            ("d/b", "- 1\n"),
            ("e/a", "1\n"),
            ("f/a", "x: [\n"),
            ("f/b", "y: [\n"),
        ];
        let mistakes = mistakes(&files);
        let lines: Vec<&str> = mistakes.lines().filter(|it| it.contains(".yaml:") || it.starts_with("f/")).collect();
        let expected = [
            "host.yaml:1:4: `d/a` is a mapping and `d/b` is a list, expected all files to be the one or the other",
            "host.yaml:2:4: `e/a` is a single value, expected a mapping or a list: there may be several files",
            "host.yaml:4:4: `!file` names `[a`, which is no pattern of files: invalid range pattern",
            "f/a:1:4: this is not YAML: did not find expected node content, while parsing a flow node",
            "f/b:1:4: this is not YAML: did not find expected node content, while parsing a flow node",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_pattern_that_finds_its_own_file_is_a_cycle() {
        let mistakes = mistakes(&[("host.yaml", "a: !file '*.yaml'\n")]);
        assert!(mistakes.contains("would include itself"), "{mistakes}");
    }

    #[test]
    fn a_file_may_be_included_twice() {
        let (_folder, loaded) = loaded(&[("host.yaml", "a: !file b.yaml\nc: !file b.yaml\n"), ("b.yaml", "1\n")]);
        let loaded = loaded.unwrap();
        assert_eq!((shown(&loaded.root).as_str(), loaded.files.len()), ("{a: 1, c: 1}", 2));
    }

    #[test]
    fn a_key_is_a_text() {
        let expected =
            "host.yaml:1:1: a key is a list, a mapping or tagged, expected a plain text\n  1 | [a]: b\n    | ^";
        assert_eq!(mistakes(&[("host.yaml", "[a]: b\n")]), expected);
    }

    #[test]
    fn control_characters_are_found() {
        let expected = "host.yaml:2:4: found the control character U+0000, expected text\n  2 | b: x\n    |    ^";
        assert_eq!(mistakes(&[("host.yaml", "a: 1\nb: \0x\n")]), expected.replace("b: x", "b:  x"));
    }

    #[test]
    fn a_missing_file_and_a_file_of_other_bytes_are_mistakes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("host.yaml");
        let message = || load(&path).unwrap_err().to_string();
        assert_eq!(message(), format!("{}: the file does not exist", path.display()));
        fs::write(&path, b"a: \xff\n").unwrap();
        assert_eq!(message(), format!("{}: the file is not UTF-8", path.display()));
    }
}
