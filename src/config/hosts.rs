//! The tree of hosts and paths.

use std::slice;

use super::{Host, Listen, Path, key};
use crate::directive::{Entry, Found, Kind, Level, Node, Problem, Problems, Section, find};
use crate::handler::{Inherited, KINDS};
use crate::router::Matching;

/// Reads levels and gathers their mistakes.
pub(super) struct Reader {
    pub(super) language: Vec<Entry>,
    pub(super) problems: Problems,
    /// The mistake of each host that has no address of its own, if there is none for all.
    pub(super) unheard: Vec<Problem>,
}

impl Reader {
    /// Applies the settings of one place; returns the directives that no section knows, in order.
    pub(super) fn level(&mut self, level: Level, place: &[Node], sections: &mut [&mut dyn Section]) -> Vec<Found> {
        let mut rest = find(level, place, &self.language, &mut self.problems);
        rest.retain(|it| {
            let applied = sections.iter_mut().find_map(|section| section.apply(it.entry.name, &it.value));
            let unknown = applied.is_none();
            applied.and_then(|it| self.problems.check(it));
            unknown
        });
        rest
    }

    /// The hosts in the value of `hosts`.
    pub(super) fn hosts(&mut self, value: &Node, inherited: &Inherited) -> Vec<Host> {
        if value.kind() != Kind::Mapping {
            self.problems.0.push(value.expected("a mapping of hosts"));
            return Vec::new();
        }
        let hosts = self.keyed(slice::from_ref(value), key::host, str::to_lowercase);
        if hosts.is_empty() && value.entries().is_ok_and(|it| it.is_empty()) {
            self.problems.0.push(value.problem("`hosts` is empty, expected at least one host"));
        }
        hosts.into_iter().filter_map(|(key, node, value)| self.host(key, &node, &value, inherited)).collect()
    }

    fn host(&mut self, key: String, node: &Node, value: &Node, inherited: &Inherited) -> Option<Host> {
        if value.kind() != Kind::Mapping {
            self.problems.0.push(value.expected("a mapping with `paths`"));
            return None;
        }
        let mut inherited = inherited.enter();
        let found = self.level(Level::Host, slice::from_ref(value), &mut inherited.sections());
        let Some(paths) = found.iter().find(|it| it.entry.name == "paths") else {
            self.problems.0.push(node.lacks("paths"));
            return None;
        };
        let places = self.mappings(&paths.value, "a mapping of paths or a list of them");
        let entries = self.keyed(&places, key::path, str::to_owned);
        let paths = entries.into_iter().map(|(key, _, value)| self.path(key, &value, &inherited)).collect();
        let mut listen = Vec::new();
        for it in found.iter().filter(|it| it.entry.name == "listen") {
            Listen::add(&mut listen, self.problems.check(Listen::read(&it.value)).unwrap_or_default());
            if listen.iter().any(|it| matches!(it, Listen::Tcp(address) if address.port == 0)) {
                // Nobody could tell a connection to it from others.
                self.problems.0.push(it.value.problem("the port is 0, expected one from 1 to 65535 in a host"));
            }
        }
        // A mistake in its own is said already.
        if found.iter().all(|it| it.entry.name != "listen") {
            let hint = "or one at the top of the file, for all hosts: `listen: 8080`";
            self.unheard.push(node.lacks("listen").hint(hint));
        }
        let strict = found.iter().find(|it| it.entry.name == "strict-match");
        let strict = strict.and_then(|it| self.problems.check(it.value.on_off()));
        let matching = if strict == Some(true) { Matching::Strict } else { Matching::Loose };
        Some(Host { key, listen, matching, inherited, paths })
    }

    fn path(&mut self, key: String, value: &Node, inherited: &Inherited) -> Path {
        let mut inherited = inherited.enter();
        let place = self.mappings(value, "a mapping of handlers and settings or a list of them");
        let found = self.level(Level::Path, &place, &mut inherited.sections());
        let mut handlers = Vec::new();
        for it in found {
            // What is no handler is `stash`.
            if let Some(kind) = KINDS.iter().find(|kind| kind.name == it.entry.name) {
                handlers.extend(self.problems.check((kind.read)(&it.value)));
            }
        }
        Path { key, inherited, handlers }
    }

    /// The value, or its items if it is a list, as far as they are mappings.
    fn mappings(&mut self, value: &Node, expected: &str) -> Vec<Node> {
        let mut items = value.items();
        items.retain(|it| {
            let fits = it.kind() == Kind::Mapping;
            if !fits {
                self.problems.0.push(it.expected(expected));
            }
            fits
        });
        items
    }

    /// The entries; a wrong or repeated key is a mistake. `same` makes keys equal that mean the same.
    fn keyed(
        &mut self,
        mappings: &[Node],
        check: fn(&Node) -> Result<String, Problem>,
        same: fn(&str) -> String,
    ) -> Vec<(String, Node, Node)> {
        let mut keyed: Vec<(String, Node, Node)> = Vec::new();
        for (node, value) in mappings.iter().flat_map(|it| it.entries().unwrap_or_default()) {
            // What stands below a wrong key is looked at all the same.
            let key = self.problems.check(check(&node)).unwrap_or_default();
            if let Some((_, first, _)) = keyed.iter().find(|(it, ..)| !key.is_empty() && same(it) == same(&key)) {
                self.problems.0.push(node.repeats(first));
            }
            keyed.push((key, node, value));
        }
        keyed
    }
}

#[cfg(test)]
mod tests {
    use super::super::entries;
    use super::*;
    use crate::directive::parse;

    /// The mistakes in the value of `hosts`.
    fn mistakes(text: &str) -> String {
        let root = parse(std::path::Path::new("host.yaml"), text).unwrap();
        let mut reader = Reader { language: entries(), problems: Problems::default(), unheard: Vec::new() };
        reader.hosts(&root.entries().unwrap()[0].1, &Inherited::default());
        reader.problems.or(()).unwrap_err().to_string()
    }

    #[test]
    fn there_is_at_least_one_host_with_paths() {
        let expected = "host.yaml:1:8: `hosts` is empty, expected at least one host\n  1 | hosts: {}\n    |        ^";
        assert_eq!(mistakes("hosts: {}"), expected);
        let expected = "host.yaml:1:1: `hosts` has no value, expected a mapping of hosts\n  1 | hosts:\n    | ^^^^^";
        assert_eq!(mistakes("hosts:"), expected);
        let expected = "\
host.yaml:2:3: `a` has no value, expected a mapping with `paths`
  2 |   a:
    |   ^
host.yaml:3:3: `b` lacks `paths`
  3 |   b: {rhai.timeout: 1s}
    |   ^
host.yaml:4:14: `paths` is `x`, expected a mapping of paths or a list of them
  4 |   c: {paths: x}
    |              ^
host.yaml:6:5: `paths` has no value, expected a mapping of paths or a list of them
  6 |     paths:
    |     ^^^^^
host.yaml:9:7: `/` has no value, expected a mapping of handlers and settings or a list of them
  9 |       /:
    |       ^";
        let text =
            "hosts:\n  a:\n  b: {rhai.timeout: 1s}\n  c: {paths: x}\n  d:\n    paths:\n  e:\n    paths:\n      /:\n";
        assert_eq!(mistakes(text), expected);
    }

    #[test]
    fn a_host_and_a_path_stand_once() {
        let expected = "\
host.yaml:5:9: `/x` is repeated, first on line 4
  5 |       - /x: {}
    |         ^^
host.yaml:6:3: `A:80` is repeated, first on line 2
  6 |   A:80: {paths: {/: {}}}
    |   ^^^^";
        let text = "hosts:\n  a:80:\n    paths:\n      - /x: {}\n      - /x: {}\n  A:80: {paths: {/: {}}}\n";
        assert_eq!(mistakes(text), expected);
    }
}
