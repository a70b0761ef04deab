//! `setenv` and `unsetenv`: variables that handlers see in the env, and logs as `%{NAME}e`.

use crate::directive::{self, Directive, Kind, Level, Node, Problem, Problems, Repeat};

/// The variables of a level and of those outside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    own: Vec<(String, String)>,
    /// Without what this level unsets.
    outer: Vec<(String, String)>,
}

const LEVELS: &[Level] = &[Level::Global, Level::Host, Level::Path];

impl directive::Settings for Settings {
    const DIRECTIVES: &'static [Directive<Settings>] = &[
        Directive {
            name: "setenv",
            levels: LEVELS,
            repeat: Repeat::AddsUp,
            summary: "Sets variables that scripts see in the env, as `env.NAME`, and access logs as `%{NAME}e`; what \
                      stands further in wins, and a handler's `x-fallthru-set-NAME` over all.",
            example: "setenv: {STAGE: test, REGION: eu}",
            apply: |settings, node| settings.set(node),
        },
        Directive {
            name: "unsetenv",
            levels: LEVELS,
            repeat: Repeat::AddsUp,
            summary: "Takes variables off that outer levels set: a name or a list of names. Those of a `setenv` beside it \
                      stay.",
            example: "unsetenv: [REGION]",
            apply: |settings, node| settings.unset(node),
        },
    ];
}

impl Settings {
    fn set(&mut self, node: &Node) -> Result<(), Problems> {
        if node.kind() != Kind::Mapping {
            let problem = node.expected("a mapping of names and values");
            return Err(problem.hint("such as `setenv: {STAGE: test}`").into());
        }
        let mut problems = Problems::default();
        for (key, value) in node.entries()? {
            let name = problems.check(name(&key));
            let value = problems.check(value.text_as("a value")).map(str::to_owned);
            if let (Some(name), Some(value)) = (name, value) {
                put(&mut self.own, name, value);
            }
        }
        problems.or(())
    }

    fn unset(&mut self, node: &Node) -> Result<(), Problems> {
        let mut problems = Problems::default();
        for item in node.items() {
            let name = problems.check(name(&item));
            self.outer.retain(|(it, _)| Some(it) != name.as_ref());
        }
        problems.or(())
    }

    /// Makes these the outer ones of a level that begins.
    pub fn enter(&mut self) {
        self.outer = self.effective();
        self.own.clear();
    }

    /// All of them, each name once.
    pub fn effective(&self) -> Vec<(String, String)> {
        let mut all = self.outer.clone();
        for (name, value) in &self.own {
            put(&mut all, name.clone(), value.clone());
        }
        all
    }
}

fn put(variables: &mut Vec<(String, String)>, name: String, value: String) {
    variables.retain(|(it, _)| *it != name);
    variables.push((name, value));
}

fn name(node: &Node) -> Result<String, Problem> {
    let expected = "the name of a variable";
    let text = node.text_as(expected)?;
    let fits = !text.is_empty() && !text.contains(|it: char| it.is_control() || it.is_whitespace() || it == '=');
    if fits { Ok(text.to_owned()) } else { Err(node.expected(expected)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directive::apply;

    fn shown(settings: &Settings) -> String {
        let pairs: Vec<String> = settings.effective().iter().map(|(name, value)| format!("{name}={value}")).collect();
        pairs.join(" ")
    }

    #[test]
    fn outer_levels_come_first_and_within_one_unset_comes_before_set() {
        let mut settings = apply(Settings::default(), "setenv: {A: 1, B: 2}\nsetenv: {C: 3, A: 4}").unwrap();
        assert_eq!(shown(&settings), "B=2 C=3 A=4");
        settings.enter();
        let mut settings = apply(settings, "setenv: {A: 5}\nunsetenv: [A, B]").unwrap();
        assert_eq!(shown(&settings), "C=3 A=5");
        settings.enter();
        let settings = apply(settings, "unsetenv: A\nsetenv: {D: ''}").unwrap();
        assert_eq!(shown(&settings), "C=3 D=");
    }

    #[test]
    fn names_and_values_are_texts() {
        for (text, expected) in [
            ("setenv: x", "`setenv` is `x`, expected a mapping of names and values"),
            ("setenv: {A: [1]}", "`A` is a list, expected a value"),
            ("setenv: {A: }", "`A` has no value, expected a value"),
            ("setenv: {'A B': 1}", "`A B` is `A B`, expected the name of a variable"),
            ("unsetenv: ''", "`unsetenv` is ``, expected the name of a variable"),
            ("unsetenv: {A: 1}", "`unsetenv` is a mapping, expected the name of a variable"),
        ] {
            let message = apply(Settings::default(), text).unwrap_err();
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}
