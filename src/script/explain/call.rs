//! Calls of functions that there are not, or not with these arguments.

use rhai::Position;

use super::line::Line;
use super::{Explained, meant_key, say, without_arguments};
use crate::directive::suggest;
use crate::script::fault::is_closure;
use crate::script::reserved;
use crate::script::source::Source;

/// `db::frist (&str, array)` of Rhai: a name that is unknown, or known with other arguments.
pub(super) fn unknown_function(
    source: &Source,
    signature: &str,
    position: Position,
    names: &[String],
    methods: &dyn Fn(&str) -> Vec<String>,
) -> Explained {
    let (name, arguments) = signature.split_once(" (").unwrap_or((signature, ")"));
    let is_operator = !name.starts_with(|it: char| it.is_alphabetic() || it == '_');
    // The place of a call into a module is that of the function's own name.
    let line = Line::of(source, position);
    let width = if line.after.starts_with(name) { name } else { line.word() }.chars().count().max(1);
    let arguments = arguments.strip_suffix(')').unwrap_or(arguments);
    let arguments = types(arguments);
    if is_closure(name) {
        return say(
            format!("the closure has not the parameters that it is called with: ({arguments})"),
            Some(parameters_hint(&arguments)),
            width,
        );
    }
    if is_operator || names.iter().any(|it| it == name) {
        let has_nothing = is_operator && arguments.split(", ").any(|it| it == "()");
        let hint = has_nothing.then(|| "`()` is nothing, such as a key that is not there".to_owned());
        return say(format!("`{name}` takes no ({arguments})"), hint, width);
    }
    // A method of what is not there says more by its object.
    if let Some(hint) = nothing_hint(&line, &arguments) {
        return say(format!("no function `{name}` for ({arguments})"), Some(hint), width);
    }
    let methods = methods(arguments.split(", ").next().unwrap_or_default());
    match suggest(name, methods.iter().chain(names).map(String::as_str)) {
        Some(near) => say(format!("no function `{name}`"), Some(format!("did you mean `{near}`?")), width),
        None if arguments.is_empty() => say(format!("no function `{name}`"), None, width),
        None => say(format!("no function `{name}` for ({arguments})"), None, width),
    }
}

/// How a closure is written that takes these arguments.
fn parameters_hint(arguments: &str) -> String {
    match arguments.split(", ").filter(|it| !it.is_empty()).count() {
        0 => "give it none: `|| …`".to_owned(),
        1 if arguments == "Database" => "give it one: `|tx| …`".to_owned(),
        1 => "give it one: `|it| …`".to_owned(),
        count => {
            let names: Vec<String> = ('a'..='z').take(count).map(String::from).collect();
            format!("give it {count}: `|{}| …`", names.join(", "))
        }
    }
}

/// Rhai's names of types as scripts know them.
pub(super) fn types(text: &str) -> String {
    text.replace("&str | ImmutableString | String", "string").replace("i64", "int").replace("f64", "float")
}

fn nothing_hint(line: &Line<'_>, arguments: &str) -> Option<String> {
    let receiver = line.before.strip_suffix('.').map(reserved::receiver)?;
    let shown = without_arguments(receiver);
    (arguments.split(',').next()? == "()" && !receiver.is_empty()).then(|| match meant_key(receiver) {
        Some(key) => format!("`{shown}` is `()`; did you mean `env.{key}`?"),
        None => format!("`{shown}` is `()`"),
    })
}
