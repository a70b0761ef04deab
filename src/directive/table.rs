//! The directives of a mapping, checked against the table of all that there are.

use super::{Entry, Level, Node, Problems, Repeat, suggest};

/// A directive that stands in the file.
#[derive(Clone, Debug)]
pub struct Found {
    /// What the table says of it.
    pub entry: Entry,
    /// Its name.
    pub key: Node,
    /// Its value.
    pub value: Node,
}

/// The directives of `mappings`, which together are one place at `level`, in order.
///
/// Unknown names, wrong levels and what must not repeat are added to `problems`.
pub fn find(level: Level, mappings: &[Node], language: &[Entry], problems: &mut Problems) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for (key, value) in mappings.iter().filter_map(|it| problems.check(it.entries())).flatten().collect::<Vec<_>>() {
        let Some(name) = problems.check(key.text()) else { continue };
        let Some(entry) = language.iter().find(|it| it.name == name) else {
            let problem = key.problem(format!("unknown directive `{name}` at the {level} level"));
            problems.0.push(problem.hint(match suggest(name, language.iter().map(|it| it.name)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "REFERENCE.md lists the directives that there are".into(),
            }));
            continue;
        };
        let first = found.iter().find(|it| it.entry.name == name).map(|it| &it.key);
        if !entry.levels.contains(&level) {
            let levels: Vec<String> = entry.levels.iter().map(Level::to_string).collect();
            let noun = if levels.len() == 1 { "level" } else { "levels" };
            let levels = levels.join(" and ");
            let message = format!("`{name}` stands at the {level} level, expected at the {levels} {noun}");
            problems.0.push(key.problem(message).hint(way_to(entry.levels)));
        } else {
            if let (Repeat::Once, Some(first)) = (entry.repeat, first) {
                problems.0.push(key.repeats(first));
            }
            found.push(Found { entry: *entry, key, value });
        }
    }
    found
}

fn way_to(levels: &[Level]) -> &'static str {
    match levels.first() {
        Some(Level::Host) => "move it into a host, the value of a key of `hosts`",
        Some(Level::Path) => "move it into a path, the value of a key of `paths`",
        Some(Level::Global) | None => "move it to the top of the file, without indentation",
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::parse;
    use super::*;

    const fn entry(name: &'static str, levels: &'static [Level], repeat: Repeat) -> Entry {
        Entry { name, levels, repeat, summary: "", example: "" }
    }

    const LANGUAGE: &[Entry] = &[
        entry("listen", &[Level::Global], Repeat::AddsUp),
        entry("num-threads", &[Level::Global], Repeat::Once),
        entry("rhai.handler", &[Level::Path], Repeat::AddsUp),
        entry("stash", &[Level::Global, Level::Host], Repeat::AddsUp),
    ];

    fn names(level: Level, text: &str) -> Result<Vec<&'static str>, String> {
        let root = parse(Path::new("host.yaml"), text).unwrap();
        let mut problems = Problems::default();
        let found = find(level, &root.items(), LANGUAGE, &mut problems);
        let names = found.iter().map(|it| it.entry.name).collect();
        problems.or(names).map_err(|it| it.to_string())
    }

    #[test]
    fn directives_are_found_in_order() {
        assert_eq!(
            names(Level::Global, "listen: 1\nnum-threads: 2\nlisten: 3\n"),
            Ok(vec!["listen", "num-threads", "listen"])
        );
        assert_eq!(names(Level::Global, "- listen: 1\n- {}\n- listen: 3\n"), Ok(vec!["listen", "listen"]));
    }

    #[test]
    fn an_unknown_directive_gets_a_suggestion() {
        let expected = "host.yaml:1:1: unknown directive `lisen` at the global level\n  1 | lisen: 1\n    | ^^^^^\n\
                        hint: did you mean `listen`?";
        assert_eq!(names(Level::Global, "lisen: 1"), Err(expected.into()));
        let expected = "host.yaml:1:1: unknown directive `gzip` at the path level\n  1 | gzip: ON\n    | ^^^^\n\
                        hint: REFERENCE.md lists the directives that there are";
        assert_eq!(names(Level::Path, "gzip: ON"), Err(expected.into()));
    }

    #[test]
    fn a_wrong_level_says_the_right_one() {
        let expected = "host.yaml:1:1: `rhai.handler` stands at the global level, expected at the path level\n  \
                        1 | rhai.handler: x\n    | ^^^^^^^^^^^^\n\
                        hint: move it into a path, the value of a key of `paths`";
        assert_eq!(names(Level::Global, "rhai.handler: x"), Err(expected.into()));
        let expected = "host.yaml:1:1: `stash` stands at the path level, expected at the global and host levels\n  \
                        1 | stash: x\n    | ^^^^^\nhint: move it to the top of the file, without indentation";
        assert_eq!(names(Level::Path, "stash: x"), Err(expected.into()));
    }

    #[test]
    fn a_single_value_must_not_repeat() {
        let expected = "host.yaml:3:1: `num-threads` is repeated, first on line 1\n  \
                        3 | num-threads: 3\n    | ^^^^^^^^^^^";
        assert_eq!(names(Level::Global, "num-threads: 1\nlisten: 2\nnum-threads: 3\n"), Err(expected.into()));
    }

    #[test]
    fn all_mistakes_come_at_once() {
        let message = names(Level::Global, "a: 1\nlistn: 2\nrhai.handler: 3\n4: 5\n");
        assert_eq!(message.unwrap_err().lines().filter(|it| it.starts_with("host.yaml:")).count(), 4);
    }
}
