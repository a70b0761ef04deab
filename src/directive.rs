//! The language of the configuration file: what a directive is, YAML values that know their place,
//! and mistakes with excerpts; it does not know which directives there are.

mod existing;
mod include;
mod load;
mod node;
mod problem;
mod suggest;
mod syntax;
mod table;
mod units;
mod variables;
mod yaml;

use std::fmt;

pub use include::Pattern;
pub use load::{Loaded, load, parse};
pub use node::{Kind, Node, TextPlace};
pub use problem::{Problem, Problems};
pub use suggest::suggest;
pub use table::{Found, find};

/// Where in the tree a directive may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// At the top of the file.
    Global,
    /// In the value of a key of `hosts`.
    Host,
    /// In the value of a key of `paths`.
    Path,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Level::Global => "global",
            Level::Host => "host",
            Level::Path => "path",
        })
    }
}

/// What a directive that stands twice at one place means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// A mistake: one of the two values would be lost (h2o takes the last, silently).
    Once,
    /// Both, in file order.
    AddsUp,
}

/// One setting that a feature understands; `S` is that feature's own settings.
pub struct Directive<S: 'static> {
    /// Its name, as it stands in the file.
    pub name: &'static str,
    /// Where it may stand.
    pub levels: &'static [Level],
    /// What it means when it stands twice.
    pub repeat: Repeat,
    /// One sentence for the reference.
    pub summary: &'static str,
    /// A piece of configuration that holds the directive; a test reads it.
    pub example: &'static str,
    /// Changes the settings; the node is the directive's value.
    pub apply: fn(&mut S, &Node) -> Result<(), Problems>,
}

/// A feature's settings: inherited from level to level by `Clone`, changed by its directives.
pub trait Settings: Clone + Default + Send + Sync + 'static {
    /// The table of the feature.
    const DIRECTIVES: &'static [Directive<Self>];
}

/// What a directive says of itself, whatever its feature.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name, as it stands in the file.
    pub name: &'static str,
    /// Where it may stand.
    pub levels: &'static [Level],
    /// What it means when it stands twice.
    pub repeat: Repeat,
    /// One sentence for the reference.
    pub summary: &'static str,
    /// A piece of configuration that holds the directive.
    pub example: &'static str,
}

/// The entries of one feature's table.
pub fn entries<S: Settings>() -> Vec<Entry> {
    let entry = |it: &Directive<S>| Entry {
        name: it.name,
        levels: it.levels,
        repeat: it.repeat,
        summary: it.summary,
        example: it.example,
    };
    S::DIRECTIVES.iter().map(entry).collect()
}

/// [`Settings`] of any feature, so that a list can hold them all.
pub trait Section {
    /// Applies the directive `name`, or returns `None` if it is another feature's.
    fn apply(&mut self, name: &str, value: &Node) -> Option<Result<(), Problems>>;
}

impl<S: Settings> Section for S {
    fn apply(&mut self, name: &str, value: &Node) -> Option<Result<(), Problems>> {
        let directive = S::DIRECTIVES.iter().find(|it| it.name == name)?;
        Some((directive.apply)(self, value))
    }
}

/// Applies the directives of `text` to `settings`, for the tests of a feature's table.
#[cfg(test)]
pub fn apply<S: Settings>(mut settings: S, text: &str) -> Result<S, String> {
    let root = parse(std::path::Path::new("host.yaml"), text).map_err(|it| it.to_string())?;
    for (key, value) in root.entries().map_err(|it| it.to_string())? {
        let name = key.text().map_err(|it| it.to_string())?.to_owned();
        let applied = Section::apply(&mut settings, &name, &value).ok_or(format!("no directive `{name}`"))?;
        applied.map_err(|it| it.to_string())?;
    }
    Ok(settings)
}
