//! The configuration file as hosts and paths with the settings that hold for each.
//!
//! What a directive means is its feature's; this module knows where directives stand and what is
//! inherited from where. Nothing is opened here but the files that the configuration names.

mod account;
mod hosts;
mod key;
mod listen;
mod process;

use std::path::PathBuf;
use std::slice;
use std::sync::Arc;

use crate::binding::StoreSettings;
use crate::directive::{Entry, Kind, Level, Pattern, Problem, Problems, Repeat, Section, entries as table, load};
use crate::handler::{self, Inherited, KINDS};
use crate::router::Matching;
use crate::{db, error_log};

pub use account::Account;
pub use listen::{Address, Listen, SocketFile};
pub use process::Process;

/// The configuration, as all workers share it.
#[derive(Debug)]
pub struct Config {
    /// What the process as a whole goes by.
    pub process: Process,
    /// The databases by name.
    pub databases: db::Settings,
    /// How much the scripts' store may hold.
    pub store: StoreSettings,
    /// Where errors are logged.
    pub error_log: error_log::Settings,
    /// What holds where no host is found.
    pub inherited: Inherited,
    /// In file order; at least one.
    pub hosts: Vec<Host>,
    /// Every file that was read: the configuration, what it includes, and the scripts.
    pub files: Vec<PathBuf>,
    /// Where imports were looked for before they were found, or in vain.
    pub looked_for: Vec<PathBuf>,
    /// The patterns by which it includes files.
    pub patterns: Vec<Pattern>,
}

impl Config {
    /// What holds for each path, and for what is found at none.
    pub fn inherited(&self) -> impl Iterator<Item = &Inherited> {
        inherited_by(&self.hosts).chain([&self.inherited])
    }

    /// Every address that connections are taken at.
    pub fn addresses(&self) -> Vec<Listen> {
        let mut all = self.process.listen.clone();
        Listen::add(&mut all, self.hosts.iter().flat_map(|it| it.listen.iter().cloned()));
        all
    }

    /// The files that no client may see: the configuration, databases, keys and logs.
    pub fn secrets(&self) -> impl Iterator<Item = PathBuf> {
        let logs = self.inherited().flat_map(|it| &it.access_log.logs).map(|it| it.path.clone());
        let own = self.error_log.path.iter().chain(&self.process.pid_file).cloned();
        self.files.iter().cloned().chain(self.databases.files()).chain(logs).chain(own)
    }
}

/// A key of `hosts` with its value.
#[derive(Debug)]
pub struct Host {
    /// As written: a name with or without a port, `default`, `*`, `*.name`.
    pub key: String,
    /// Where connections for it alone are taken.
    pub listen: Vec<Listen>,
    /// Whether it may have to answer what is for no host.
    pub matching: Matching,
    /// What holds for paths that are not found.
    pub inherited: Inherited,
    /// In file order, each key once.
    pub paths: Vec<Path>,
}

/// A key of `paths` with its value.
#[derive(Debug)]
pub struct Path {
    /// As written; it begins with `/`.
    pub key: String,
    /// What holds for its handlers.
    pub inherited: Inherited,
    /// The chain, in file order.
    pub handlers: Vec<Arc<dyn handler::Plan>>,
}

/// What the command line says instead of the file.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// The only address to listen on.
    pub listen: Option<Listen>,
    /// The number of workers.
    pub num_threads: Option<usize>,
    /// Whether changed files are to be left alone.
    pub no_watch: bool,
    /// Where the sockets listen that the process was given, for what names no address of its own.
    pub inherited: Vec<Listen>,
}

/// The directives that make the tree.
const STRUCTURE: &[Entry] = &[
    Entry {
        name: "hosts",
        levels: &[Level::Global],
        repeat: Repeat::Once,
        summary: "The hosts, each with its `paths`: `name`, `name:port`, `*.name`, `*` or `default`. A host without \
                  a port is found at any port; where none is found, `default` answers, or else the first.",
        example: "hosts:\n  \"localhost:8080\":\n    paths:\n      /:\n        file.dir: public",
    },
    Entry {
        name: "paths",
        levels: &[Level::Host],
        repeat: Repeat::Once,
        summary: "The paths of a host, each a mapping of settings and handlers, or a list of such mappings. The \
                  longest path that begins the request's answers.",
        example: "paths:\n  /:\n    file.dir: public\n  /hello:\n    rhai.handler-file: handlers/hello.rhai",
    },
    Entry {
        name: "strict-match",
        levels: &[Level::Host],
        repeat: Repeat::Once,
        summary: "`ON`: the host answers only what is for it, and is never the one for what is for none. Where all hosts \
                  are so, such requests get 404. Default: `OFF`.",
        example: "strict-match: ON",
    },
    Entry {
        name: "stash",
        levels: &[Level::Global, Level::Host, Level::Path],
        repeat: Repeat::AddsUp,
        summary: "Does nothing: a place for values with anchors (`&name`) that are used elsewhere (`*name`).",
        example: "stash:\n  limits: &limits\n    rhai.timeout: 1s",
    },
];

/// All directives that there are.
pub fn entries() -> Vec<Entry> {
    let kinds = KINDS.iter().map(handler::Kind::entry).collect();
    let tables = [
        STRUCTURE.to_vec(),
        table::<Process>(),
        table::<db::Settings>(),
        table::<StoreSettings>(),
        table::<error_log::Settings>(),
        kinds,
        Inherited::entries(),
    ];
    tables.concat()
}

/// A configuration with mistakes.
#[derive(Debug)]
pub struct Mistaken {
    /// The mistakes.
    pub problems: Problems,
    /// What is left without them: its scripts can have mistakes as well.
    pub rest: Option<Box<Config>>,
    /// The files that were read where nothing is left.
    pub files: Vec<PathBuf>,
}

impl From<Problems> for Mistaken {
    fn from(problems: Problems) -> Mistaken {
        Mistaken { problems, rest: None, files: Vec::new() }
    }
}

impl From<Problem> for Mistaken {
    fn from(problem: Problem) -> Mistaken {
        Problems::from(problem).into()
    }
}

fn inherited_by(hosts: &[Host]) -> impl Iterator<Item = &Inherited> {
    hosts.iter().flat_map(|it| it.paths.iter().map(|it| &it.inherited).chain([&it.inherited]))
}

/// Reads the configuration file at `path`.
///
/// # Errors
/// All mistakes of the file, and of the files that it includes, at once.
pub fn read(path: &std::path::Path, overrides: &Overrides) -> Result<Config, Mistaken> {
    let loaded = load(path).map_err(|problem| {
        let hint = "name another with `--conf FILE`, or another folder to start in with `--chdir DIR`";
        if path.exists() { problem } else { problem.hint(hint) }
    })?;
    let root = loaded.root;
    if root.kind() != Kind::Mapping {
        let mut problems = loaded.problems;
        problems.0.push(root.expected("a mapping of directives"));
        return Err(Mistaken { files: loaded.files, ..problems.into() });
    }
    let mut reader = hosts::Reader { language: entries(), problems: loaded.problems, unheard: Vec::new() };
    let (mut process, mut inherited) = (Process::default(), Inherited::default());
    let (mut databases, mut error_log) = (db::Settings::default(), error_log::Settings::default());
    let mut store = StoreSettings::default();
    let mut sections: Vec<&mut dyn Section> = vec![&mut process, &mut databases, &mut store, &mut error_log];
    sections.extend(inherited.sections());
    let found = reader.level(Level::Global, slice::from_ref(&root), &mut sections);

    let stands = |name: &str| root.entries().is_ok_and(|it| it.iter().any(|(key, _)| key.name() == name));
    let missing = |name: &str, hint: &str| Problem::in_file(path, format!("`{name}` is missing")).hint(hint);
    if !stands("hosts") {
        reader.problems.0.push(missing("hosts", "add a host with its paths: `hosts: {default: {paths: {/: …}}}`"));
    }
    let hosts = found.iter().filter(|it| it.entry.name == "hosts");
    let mut hosts: Vec<Host> = hosts.flat_map(|it| reader.hosts(&it.value, &inherited)).collect();
    if overrides.listen.is_none() && !stands("listen") {
        let unheard = std::mem::take(&mut reader.unheard);
        if !overrides.inherited.is_empty() {
            let given = if unheard.is_empty() { &[] } else { &overrides.inherited[..] };
            process.listen = given.to_vec();
        } else if unheard.len() == hosts.len() {
            reader.problems.0.push(missing("listen", "add the port to listen on: `listen: 8080`"));
        } else {
            reader.problems.0.extend(unheard);
        }
    }

    let mut files = loaded.files;
    for auth in inherited_by(&hosts).map(|it| &it.auth) {
        files.extend_from_slice(auth.files());
        if stands("databases") && databases.databases.is_empty() {
            // Its own mistakes are said already.
            continue;
        }
        let Some(error) = auth.database().and_then(|name| databases.check_name(name).err()) else { continue };
        let (message, hint) = error.message.split_once("\nhint: ").unwrap_or((&error.message, ""));
        let problem = auth.problem(format!("`auth.api-key` has `sql`, but {message}"));
        reader.problems.0.extend(problem.map(|it| if hint.is_empty() { it } else { it.hint(hint) }));
    }

    if let Some(listen) = &overrides.listen {
        process.listen = vec![listen.clone()];
        hosts.iter_mut().for_each(|it| it.listen.clear());
    }
    process.watch &= !overrides.no_watch;
    process.num_threads = overrides.num_threads.unwrap_or(process.num_threads);
    let paths = hosts.iter().flat_map(|it| &it.paths);
    for file in paths.flat_map(|path| path.handlers.iter().flat_map(|it| it.files(&path.inherited))) {
        if !files.contains(&file) {
            files.push(file);
        }
    }
    let plans = hosts.iter().flat_map(|it| &it.paths).flat_map(|path| path.handlers.iter().map(move |it| (it, path)));
    let looked_for = plans.flat_map(|(it, path)| it.looked_for(&path.inherited)).collect();
    let patterns = loaded.patterns;
    let config = Config { process, databases, store, error_log, inherited, hosts, files, looked_for, patterns };
    match reader.problems.or(()) {
        Ok(()) => Ok(config),
        Err(problems) => Err(Mistaken { problems, rest: Some(Box::new(config)), files: Vec::new() }),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;

    /// Writes the text as `host.yaml`, with `$DIR` replaced by its folder, and reads it.
    fn read_in(folder: &std::path::Path, text: &str, overrides: &Overrides) -> Result<Config, String> {
        let dir = folder.display().to_string();
        let path = folder.join("host.yaml");
        fs::write(&path, text.replace("$DIR", &dir)).unwrap();
        read(&path, overrides).map_err(|it| it.problems.to_string().replace(&format!("{dir}/"), ""))
    }

    fn config(text: &str) -> Result<Config, String> {
        read_in(tempfile::tempdir().unwrap().path(), text, &Overrides::default())
    }

    fn mistakes(text: &str) -> String {
        config(text).unwrap_err()
    }

    #[test]
    fn a_config_can_be_shared() {
        fn shared<T: Send + Sync + std::fmt::Debug>() {}
        shared::<Config>();
    }

    #[test]
    fn settings_are_inherited_by_nesting_wherever_they_stand() {
        let config = config(
            "listen: 8080\nrhai.max-call-levels: 7\nhosts:\n  a:\n    rhai.timeout: 2s\n    paths:\n      /x:\n        \
             rhai.handler: 'x'\n        rhai.timeout: 3s\n      /y: {}\n  b:\n    paths:\n      /: {}\n\
             rhai.timeout: 1s\n",
        )
        .unwrap();
        let settings = |it: &Inherited| (it.script.timeout.as_secs(), it.script.max_call_levels);
        let paths = |host: usize| config.hosts[host].paths.iter().map(|it| settings(&it.inherited)).collect::<Vec<_>>();
        assert_eq!((settings(&config.hosts[0].inherited), paths(0)), ((2, 7), vec![(3, 7), (2, 7)]));
        assert_eq!((settings(&config.hosts[1].inherited), paths(1)), ((1, 7), vec![(1, 7)]));
    }

    #[test]
    fn handlers_are_a_chain_in_file_order() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.rhai"), "1").unwrap();
        let text = "listen: 8080\nhosts:\n  default:\n    paths:\n    - /x:\n        file.dir: $DIR\n        \
                    rhai.handler-file: $DIR/a.rhai\n        file.file: $DIR/a.rhai\n    - /y:\n      \
                    - rhai.handler-file: $DIR/a.rhai\n      - file.dir: $DIR\n        file.index: x\n";
        let config = read_in(folder.path(), text, &Overrides::default()).unwrap();
        let kinds = |path: &Path| {
            let shown = path.handlers.iter().map(|it| format!("{it:?}"));
            shown.map(|it| it.split([' ', '(']).next().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let paths = &config.hosts[0].paths;
        assert_eq!(
            (paths[0].key.as_str(), kinds(&paths[0])),
            ("/x", ["Folder", "Script", "Single"].map(str::to_owned).to_vec())
        );
        assert_eq!((paths[1].key.as_str(), kinds(&paths[1])), ("/y", ["Script", "Folder"].map(str::to_owned).to_vec()));
        assert_eq!(paths[1].inherited.file.index, ["x"]);
        assert_eq!(config.files, ["host.yaml", "a.rhai"].map(|it| folder.path().join(it)));
    }

    #[test]
    fn the_command_line_wins() {
        let listen = Listen::parse("127.0.0.1:0");
        let overrides =
            Overrides { listen: listen.clone(), num_threads: Some(3), no_watch: true, ..Overrides::default() };
        let folder = tempfile::tempdir().unwrap();
        for text in ["hosts: {a: {paths: {/: {}}}}", "hosts: {a: {paths: {/: {}}}}\nlisten: 80\nnum-threads: 2\n"] {
            let config = read_in(folder.path(), text, &overrides).unwrap();
            assert_eq!((config.process.listen, config.process.num_threads), (listen.clone().into_iter().collect(), 3));
        }
    }

    #[test]
    fn merged_settings_apply_and_stash_does_nothing() {
        let text = "stash:\n  limits: &limits {rhai.timeout: 9s, rhai.max-call-levels: 9}\nlisten: 8080\nhosts:\n  a:\n    \
                    paths:\n      /:\n        <<: *limits\n        rhai.timeout: 1s\n        stash: [x]\n";
        let config = config(text).unwrap();
        let script = &config.hosts[0].paths[0].inherited.script;
        assert_eq!((script.timeout, script.max_call_levels), (Duration::from_secs(1), 9));
    }

    #[test]
    fn a_missing_file_is_a_clear_mistake() {
        let problems = read(std::path::Path::new("no/host.yaml"), &Overrides::default()).unwrap_err();
        let expected = "no/host.yaml: the file does not exist\n\
                        hint: name another with `--conf FILE`, or another folder to start in with `--chdir DIR`";
        assert_eq!(problems.problems.to_string(), expected);
    }

    #[test]
    fn an_empty_file_and_a_list_are_no_configuration() {
        assert_eq!(mistakes("# nothing\n"), "host.yaml: the file is empty, expected a mapping of directives");
        let expected =
            "host.yaml:1:1: the file is a list, expected a mapping of directives\n  1 | - listen: 1\n    | ^";
        assert_eq!(mistakes("- listen: 1\n"), expected);
    }

    #[test]
    fn what_was_given_is_listened_on_where_no_address_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let given = || Listen::parse("127.0.0.1:81").into_iter().collect::<Vec<_>>();
        let overrides = Overrides { inherited: given(), ..Overrides::default() };
        let (own, none) = ("{listen: 80, paths: {/: {}}}", "{paths: {/: {}}}");
        for (text, expected) in [
            (format!("hosts: {{a: {none}}}"), given()),
            (format!("hosts: {{a: {own}, b: {none}}}"), given()),
            (format!("hosts: {{a: {own}}}"), Vec::new()),
            (format!("hosts: {{a: {none}}}\nlisten: 80\n"), Listen::parse("80").into_iter().collect()),
        ] {
            let config = read_in(folder.path(), &text, &overrides).unwrap();
            assert_eq!(config.process.listen, expected, "{text}");
        }
    }

    #[test]
    fn listen_and_hosts_are_needed() {
        let expected = "host.yaml: `hosts` is missing\n\
                        hint: add a host with its paths: `hosts: {default: {paths: {/: …}}}`\n\
                        host.yaml: `listen` is missing\nhint: add the port to listen on: `listen: 8080`";
        assert_eq!(mistakes("num-threads: 1\n"), expected);
    }

    #[test]
    fn all_mistakes_of_a_file_come_at_once_in_its_order() {
        let text = "\
listen: 80 80
lisen: 8080
rhai.handler: x
limit-request-body: 10 MBs
include: !file none.yaml
hosts:
  default:
    listen: 1
    rhai.timeout: ${NO_SUCH_NAME_IS_SET}
    paths:
      /: {file.dir: /, file.dri: x}
      api: {}
";
        let expected = "\
host.yaml:1:9: `listen` is `80 80`, expected a port or an address such as `8080`, `127.0.0.1:8080`, `[::1]:8080` or `unix:/run/rhaid.sock`
host.yaml:2:1: unknown directive `lisen` at the global level
host.yaml:3:1: `rhai.handler` stands at the global level, expected at the path level
host.yaml:4:21: `limit-request-body` is `10 MBs`, expected a size such as `10 MB`
host.yaml:5:1: unknown directive `include` at the global level
host.yaml:5:10: `!file` names `none.yaml`, which does not exist
host.yaml:9:19: the environment variable `NO_SUCH_NAME_IS_SET` is not set
host.yaml:11:24: unknown directive `file.dri` at the path level
host.yaml:12:7: the path is `api`, expected one that begins with `/`";
        let places: Vec<String> =
            mistakes(text).lines().filter(|it| it.starts_with("host.yaml:")).map(Into::into).collect();
        assert_eq!(places.join("\n"), expected);
    }

    #[test]
    fn the_names_of_directives_are_unique_and_explained() {
        let entries = entries();
        for (index, entry) in entries.iter().enumerate() {
            assert!(entries[..index].iter().all(|it| it.name != entry.name), "{} twice", entry.name);
            assert!(!entry.summary.is_empty() && !entry.levels.is_empty(), "{}", entry.name);
            assert!(entry.example.contains(entry.name), "{} is not in its example", entry.name);
        }
    }

    /// Files and folders that examples may name; a name ending in `/` is a folder.
    const FIXTURES: &[&str] =
        &["public/index.html", "handlers/hello.rhai", "conf/migrations/", "public/", "var/", "handlers/lib/"];

    #[test]
    fn every_example_is_accepted_at_each_of_its_levels() {
        for (entry, level) in entries().iter().flat_map(|it| it.levels.iter().map(move |level| (it, level))) {
            let folder = tempfile::tempdir().unwrap();
            let mut example = entry.example.to_owned();
            for fixture in FIXTURES {
                let path = folder.path().join(fixture);
                fs::create_dir_all(if fixture.ends_with('/') { &path } else { path.parent().unwrap() }).unwrap();
                if !fixture.ends_with('/') {
                    fs::write(&path, "").unwrap();
                }
            }
            // Paths of examples are relative; the current folder is all tests' and can't be changed.
            for name in ["public", "handlers", "conf", "var"] {
                for before in [" ", "\""] {
                    let absolute = format!("{before}{}/{name}", folder.path().display());
                    example = example.replace(&format!("{before}{name}"), &absolute);
                }
            }
            let indented = |spaces: usize| example.replace('\n', &format!("\n{}", " ".repeat(spaces)));
            let hosts = "hosts:\n  default:\n";
            let text = match (level, entry.name) {
                (Level::Global, "hosts") => format!("listen: 1\n{example}\n"),
                (Level::Global, _) => format!("{example}\nlisten: 1\n{hosts}    paths: {{/: {{}}}}\n"),
                (Level::Host, "paths") => format!("listen: 1\n{hosts}    {}\n", indented(4)),
                (Level::Host, _) => format!("listen: 1\n{hosts}    {}\n    paths: {{/: {{}}}}\n", indented(4)),
                (Level::Path, _) => format!("listen: 1\n{hosts}    paths:\n      /:\n        {}\n", indented(8)),
            };
            let database = if entry.name == "databases" { "" } else { "databases: {main: 'sqlite::memory:'}\n" };
            let text = format!("{database}{text}");
            let read = read_in(folder.path(), &text, &Overrides::default());
            assert!(read.is_ok(), "{}: {}\n{text}", entry.name, read.unwrap_err());
        }
    }
}
