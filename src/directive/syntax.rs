//! What is said of a text that is not YAML.

use std::path::Path;

use super::Problem;
use super::yaml::{At, Fault, SECOND_DOCUMENT, UNKNOWN_ANCHOR};

/// The mistake that `text` is not YAML.
pub(super) fn problem(file: &Path, text: &str, fault: &Fault) -> Problem {
    let begin = fault.context.as_ref().and_then(|(_, begin)| *begin);
    // An open quote or bracket is noticed at the end of the file, where nothing is to be seen.
    let end = end(text);
    let at = match (fault.at, begin) {
        (Some(at), Some(begin)) if at > end && begin <= end => Some(begin),
        (at, _) => at.map(|at| at.min(end)),
    };
    let Some(at) = at else {
        return Problem::in_file(file, format!("this is not YAML that can be read: {}", fault.message));
    };
    let line = line(text, at);
    let (message, width, hint) = match fault.message.as_str() {
        SECOND_DOCUMENT => (
            "a second document begins here, expected one".to_owned(),
            1,
            Some("remove the line `---` above".to_owned()),
        ),
        UNKNOWN_ANCHOR => alias(text, line, at),
        _ => {
            let context = fault.context.as_ref().map_or(String::new(), |(context, begin)| match begin {
                Some(begin) if begin.line != at.line => format!(", {context} that begins on line {}", begin.line),
                _ => format!(", {context}"),
            });
            let message = format!("this is not YAML: {}{context}", fault.message);
            (message, 1, hint(text, fault, at, begin).map(str::to_owned))
        }
    };
    let problem = Problem::in_text(file, text, (at.line, at.column), width, message);
    match hint {
        Some(hint) => problem.hint(hint),
        None => problem,
    }
}

/// The last character that isn't white space.
fn end(text: &str) -> At {
    let last = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).last();
    let (index, line) = last.unwrap_or_default();
    At { line: index + 1, column: line.trim_end().chars().count().max(1) }
}

fn line(text: &str, at: At) -> &str {
    text.lines().nth(at.line - 1).unwrap_or_default()
}

/// Message, width and hint for an alias without its anchor; h2o allows an anchor to come later, YAML does not.
fn alias(text: &str, line: &str, at: At) -> (String, usize, Option<String>) {
    let rest = line.chars().skip(at.column);
    let name: String = rest.take_while(|it| !it.is_whitespace() && !",[]{}".contains(*it)).collect();
    let anchor = format!("&{name}");
    let is_anchor = |it: &str| it.split([' ', ',', '[', '{']).any(|word| word == anchor);
    let later = text.lines().enumerate().skip(at.line).find(|(_, it)| is_anchor(it));
    let hint = match later {
        Some((index, _)) => format!("the anchor stands on line {}, move it above its first alias", index + 1),
        None => format!("write `{anchor}` before the value that is meant, above in the same file"),
    };
    (
        format!("the alias `*{name}` has no anchor `{anchor}` above it in this file"),
        name.chars().count() + 1,
        Some(hint),
    )
}

fn hint(text: &str, fault: &Fault, at: At, begin: Option<At>) -> Option<&'static str> {
    let found = line(text, at);
    let lines = [Some(found), begin.map(|begin| line(text, begin))];
    if lines.iter().flatten().any(|it| is_script_on_one_line(it)) {
        return Some("put `|` after `rhai.handler:` and the script on the next line, indented");
    }
    let indentation = found.len() - found.trim_start().len();
    if found[..indentation].contains('\t') {
        return Some("indent with spaces, YAML allows no tabs there");
    }
    let message = &fault.message;
    let context = fault.context.as_ref().map_or("", |(context, _)| context);
    if context.ends_with("scanning an alias") {
        return Some("put a text that begins with `*` in quotes");
    }
    if context.ends_with("scanning a block scalar") && found.trim_start().starts_with('|') {
        return Some("indent the script deeper than its key");
    }
    if message.contains("mapping values are not allowed") {
        Some("put a text that contains `: ` in quotes, or check the line above for a missing colon")
    } else if message.contains("cannot start any token") {
        Some("put a text that begins with this character in quotes")
    } else if message.contains("end of stream") || fault.at.is_some_and(|at| at > end(text)) {
        Some("close the quote or the bracket that is opened here")
    } else if message.contains("did not find expected key") || message.contains("could not find expected ':'") {
        Some("check the indentation, and that every key is followed by `: `")
    } else if message.contains("expected ',' or") {
        Some("close the bracket, or put a comma between its items")
    } else if message.contains("limit exceeded") {
        Some("at most 128 levels may be nested, and an alias must not stand inside its own anchor")
    } else {
        None
    }
}

fn is_script_on_one_line(line: &str) -> bool {
    let entry = line.trim_start().trim_start_matches("- ").trim_start_matches(['"', '\'']);
    let Some(rest) = entry.strip_prefix("rhai.handler") else { return false };
    let Some(value) = rest.trim_start_matches(['"', '\'']).trim_start().strip_prefix(':') else { return false };
    let value = value.trim();
    let is_header = value.strip_prefix('|').is_some_and(|it| it.trim_start_matches(['+', '-']).is_empty());
    !value.is_empty() && !is_header
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn message(text: &str) -> String {
        parse(Path::new("host.yaml"), text).unwrap_err().to_string()
    }

    #[test]
    fn a_script_on_one_line_is_told_to_move() {
        let expected = "\
host.yaml:2:18: this is not YAML: did not find expected comment or line break, while scanning a block scalar
  2 |   rhai.handler: |env| [200, #{}, [\"x\"]]
    |                  ^
hint: put `|` after `rhai.handler:` and the script on the next line, indented";
        assert_eq!(message("/:\n  rhai.handler: |env| [200, #{}, [\"x\"]]\n"), expected);
    }

    #[test]
    fn a_script_that_is_not_indented_is_told_so() {
        let expected = "\
host.yaml:3:4: this is not YAML: did not find expected comment or line break, while scanning a block scalar
  3 |   |env| 1
    |    ^
hint: indent the script deeper than its key";
        assert_eq!(message("/:\n  rhai.handler: |\n  |env| 1\n"), expected);
    }

    #[test]
    fn characters_that_mean_something_are_told_to_be_quoted() {
        let expected = "\
host.yaml:2:4: this is not YAML: did not find expected alphabetic or numeric character, while scanning an alias
  2 |   *.x: {}
    |    ^
hint: put a text that begins with `*` in quotes";
        assert_eq!(message("hosts:\n  *.x: {}\n"), expected);
        let expected = "\
host.yaml:1:4: this is not YAML: found character that cannot start any token, while scanning for the next token
  1 | a: @x
    |    ^
hint: put a text that begins with this character in quotes";
        assert_eq!(message("a: @x\n"), expected);
    }

    #[test]
    fn an_open_bracket_and_endless_nesting_are_mistakes() {
        let expected = "\
host.yaml:2:2: this is not YAML: did not find expected ',' or '}', while parsing a flow mapping that begins on line 1
  2 | c: d
    |  ^
hint: close the bracket, or put a comma between its items";
        assert_eq!(message("x: {a: b\nc: d\n"), expected);
        let expected = "\
host.yaml:1:4: this is not YAML: recursion limit exceeded
  1 | a: &a [*a]
    |    ^
hint: at most 128 levels may be nested, and an alias must not stand inside its own anchor";
        assert_eq!(message("a: &a [*a]\n"), expected);
    }

    #[test]
    fn a_key_at_the_wrong_depth_is_a_mistake() {
        let expected = "\
host.yaml:3:2: this is not YAML: did not find expected key, while parsing a block mapping that begins on line 1
  3 |  c: d
    |  ^
hint: check the indentation, and that every key is followed by `: `";
        assert_eq!(message("a:\n  - b\n c: d\n").replace("mapping\n", "mapping that begins on line 1\n"), expected);
    }

    #[test]
    fn a_tab_in_the_indentation_is_named() {
        let expected = "\
host.yaml:2:1: this is not YAML: found character that cannot start any token, while scanning for the next token
  2 |  default: 1
    | ^
hint: indent with spaces, YAML allows no tabs there";
        assert_eq!(message("hosts:\n\tdefault: 1\n"), expected);
    }

    #[test]
    fn a_second_colon_is_told_to_be_quoted() {
        let expected = "\
host.yaml:1:7: this is not YAML: mapping values are not allowed in this context
  1 | a: b c: d
    |       ^
hint: put a text that contains `: ` in quotes, or check the line above for a missing colon";
        assert_eq!(message("a: b c: d\n"), expected);
    }

    #[test]
    fn an_open_quote_is_shown_where_it_opens() {
        let expected = "\
host.yaml:1:4: this is not YAML: found unexpected end of stream, while scanning a quoted scalar
  1 | a: 'b
    |    ^
hint: close the quote or the bracket that is opened here";
        assert_eq!(message("a: 'b\nc: d\n"), expected);
    }

    #[test]
    fn an_alias_before_its_anchor_is_a_mistake() {
        let expected = "\
host.yaml:1:4: the alias `*x` has no anchor `&x` above it in this file
  1 | a: *x
    |    ^^
hint: the anchor stands on line 2, move it above its first alias";
        assert_eq!(message("a: *x\nb: &x 1\n"), expected);
        let expected = "\
host.yaml:1:5: the alias `*x` has no anchor `&x` above it in this file
  1 | a: [*x]
    |     ^^
hint: write `&x` before the value that is meant, above in the same file";
        assert_eq!(message("a: [*x]\n"), expected);
    }

    #[test]
    fn a_second_document_is_a_mistake() {
        let expected = "\
host.yaml:3:1: a second document begins here, expected one
  3 | b: 2
    | ^
hint: remove the line `---` above";
        assert_eq!(message("a: 1\n---\nb: 2\n"), expected);
    }
}
