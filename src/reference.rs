//! REFERENCE.md, made from the tables of directives, functions and keys.

mod databases;
mod definitions;
mod prose;
mod running;
mod types;

use std::fmt::Write;

use crate::access_log::SPECIFIERS;
use crate::binding::BINDINGS;
use crate::binding::testing::TESTING;
use crate::config;
use crate::directive::{Entry, Level, Repeat};
use crate::script::{KEYS, KeyKind, MAKERS};

pub use definitions::definitions;

use databases::{MIGRATIONS, STATEMENTS, TYPES};
use prose::{
    BESIDE, BODY, DIRECTIVES, ENV, FAULTS, FIELDS, FROZEN, FUNCTIONS, HEAD, LOGS, MODULES, REPLIES, ROUTER, ROWS,
    SCRIPT, TESTS,
};
use running::RUNNING;

/// The whole text.
pub fn text() -> String {
    let mut out = String::from(HEAD);
    out.push_str(DIRECTIVES);
    for entry in config::entries() {
        directive(&mut out, &entry);
    }
    out.push_str(LOGS);
    for (specifiers, summary) in SPECIFIERS {
        let _ = writeln!(out, "| `{}` | {summary} |", specifiers.replace(' ', "` `"));
    }
    out.push('\n');
    out.push_str(SCRIPT);
    out.push_str(ENV);
    keys(&mut out, KeyKind::Rack);
    out.push_str(BESIDE);
    keys(&mut out, KeyKind::Beside);
    out.push_str(FIELDS);
    out.push_str(BODY);
    out.push_str(REPLIES);
    for maker in MAKERS {
        line(&mut out, maker.signature, maker.summary, maker.example);
    }
    out.push('\n');
    out.push_str(ROUTER);
    out.push_str(RUNNING);
    out.push_str(FAULTS);
    out.push_str(MODULES);
    out.push_str(FUNCTIONS);
    for binding in BINDINGS {
        let _ = write!(out, "### {}::\n\n{}.\n\n", binding.name, capitalized(binding.summary));
        for function in binding.functions {
            let signature = format!("{}::{}", binding.name, function.signature);
            line(&mut out, &signature, function.summary, function.example);
        }
        out.push('\n');
    }
    out.push_str(STATEMENTS);
    out.push_str(ROWS);
    out.push_str(TYPES);
    types::write(&mut out);
    out.push_str(MIGRATIONS);
    out.push_str(FROZEN);
    out.push_str(TESTS);
    for function in TESTING {
        line(&mut out, function.signature, function.summary, function.example);
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn directive(out: &mut String, entry: &Entry) {
    let levels: Vec<_> = entry.levels.iter().map(Level::to_string).collect();
    let repeat = if entry.repeat == Repeat::AddsUp { "; may stand several times" } else { "" };
    let _ = write!(
        out,
        "### {}\n\n{} ({}{repeat})\n\n```yaml\n{}\n```\n\n",
        entry.name,
        entry.summary,
        levels.join(", "),
        entry.example
    );
}

fn keys(out: &mut String, kind: KeyKind) {
    out.push_str("| key | what it is |\n|---|---|\n");
    for key in KEYS.iter().filter(|it| it.kind == kind) {
        let _ = writeln!(out, "| `{}` | {} |", key.name, key.summary.replace('|', "\\|"));
    }
}

fn line(out: &mut String, signature: &str, summary: &str, example: &str) {
    let (code, value) = example.split_once(" → ").unwrap_or((example, ""));
    let _ = writeln!(out, "- `{signature}`: {summary}.  \n  `` {code} `` gives `` {value} ``");
}

fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|it| it.to_uppercase().to_string()).unwrap_or_default();
    first + characters.as_str()
}
