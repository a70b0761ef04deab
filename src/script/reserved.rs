//! Rhai's reserved words, explained where its parser stumbles over one.

use rhai::ParseErrorType;

/// Words of the language that its parser takes for the begin of something else where a name is
/// expected, and doesn't report as reserved.
const KEYWORDS: [&str; 27] = [
    "as", "break", "catch", "const", "continue", "do", "else", "export", "false", "fn", "for", "global", "if",
    "import", "in", "let", "loop", "private", "return", "switch", "this", "throw", "true", "try", "until", "while",
    "is",
];

/// Those of them that begin a statement: one that comes without a `;` before it is no name.
const BEGINNINGS: [&str; 17] = [
    "break", "const", "continue", "do", "export", "fn", "for", "if", "import", "let", "loop", "private", "return",
    "switch", "throw", "try", "while",
];

/// The reserved word or keyword that a parser's error is about; `after` is the line from its place on.
pub(super) fn word<'l>(error: &ParseErrorType, after: &'l str) -> Option<&'l str> {
    let end = after.find(|it: char| !it.is_alphanumeric() && it != '_').unwrap_or(after.len());
    let word = &after[..end];
    let is_meant = match error {
        ParseErrorType::Reserved(reserved) => reserved == word,
        ParseErrorType::MissingToken(token, _) if token == ";" && BEGINNINGS.contains(&word) => false,
        ParseErrorType::PropertyExpected
        | ParseErrorType::VariableExpected
        | ParseErrorType::FnMissingName
        | ParseErrorType::MissingToken(..) => KEYWORDS.contains(&word),
        _ => false,
    };
    is_meant.then_some(word)
}

/// What is wrong with the word between `before` and `after`, and the way out.
pub(super) fn explain(word: &str, before: &str, after: &str) -> (String, String) {
    let message = format!("`{word}` is a reserved word");
    let before = before.trim_end();
    if let Some(receiver) = before.strip_suffix('.') {
        let receiver = receiver.strip_suffix('?').unwrap_or(receiver);
        if after.trim_start().starts_with('(') {
            return (message, format!("no method is called `{word}`: choose another name"));
        }
        let receiver = self::receiver(receiver);
        let receiver = if receiver.is_empty() { "…" } else { receiver };
        return (message, format!("write `{receiver}[\"{word}\"]`"));
    }
    let is_key = after.trim_start().strip_prefix(':').is_some_and(|it| !it.starts_with(':'));
    if is_key && (before.is_empty() || before.ends_with(['{', ','])) {
        return (message, format!("write `\"{word}\": …`"));
    }
    let hint = match word {
        "null" | "nil" => "what is nothing is `()`".to_owned(),
        "call" if before.ends_with("fn") => "a script's function for requests is `fn handle(env)`".to_owned(),
        "match" => "choose another name; to select by a value there is `switch`".to_owned(),
        "var" => "a variable is declared with `let`".to_owned(),
        "async" | "await" | "spawn" | "thread" | "go" | "yield" | "sync" => {
            "a script waits as it stands, others run meanwhile: leave it out, or choose another name".to_owned()
        }
        _ => "choose another name, such as one with `_` behind it".to_owned(),
    };
    (message, hint)
}

/// The expression at the end of `text` that a property is asked of: `a.b[1]` of `x + a.b[1]`.
pub(super) fn receiver(text: &str) -> &str {
    let mut depth = 0_usize;
    let mut start = text.len();
    for (at, character) in text.char_indices().rev() {
        match character {
            ')' | ']' => depth += 1,
            '(' | '[' if depth > 0 => depth -= 1,
            _ if depth > 0 => {}
            it if it.is_alphanumeric() || matches!(it, '_' | '.' | '?' | ':') => {}
            _ => break,
        }
        start = at;
    }
    // Brackets that don't match are not understood.
    if depth > 0 { "" } else { text[start..].trim_start_matches([':', '.', '?']) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(script: &str) -> String {
        let error = rhai::Engine::new().compile(script).unwrap_err();
        let column = error.1.position().unwrap() - 1;
        let word = word(&error.0, &script[column..]).unwrap_or_else(|| panic!("{script}: {error}"));
        let (message, hint) = explain(word, &script[..column], &script[column + word.len()..]);
        assert_eq!(message, format!("`{word}` is a reserved word"));
        hint
    }

    #[test]
    fn a_property_is_written_as_an_index_of_the_same_receiver() {
        for (script, hint) in [
            ("let row = #{}; row.default", "write `row[\"default\"]`"),
            ("let row = #{}; 1 + row.default", "write `row[\"default\"]`"),
            ("let row = #{}; row?.default", "write `row[\"default\"]`"),
            ("let x = #{}; x.a.b[1 + 2].default = 7", "write `x.a.b[1 + 2][\"default\"]`"),
            ("f(1).new", "write `f(1)[\"new\"]`"),
            ("let x = #{}; x.let = 1", "write `x[\"let\"]`"),
            ("let x = #{}; x.if", "write `x[\"if\"]`"),
            ("let x = #{}; x.this", "write `x[\"this\"]`"),
            ("let x = #{}; x.type_of = 1", "write `x[\"type_of\"]`"),
        ] {
            assert_eq!(explained(script), hint, "{script}");
        }
    }

    #[test]
    fn a_key_is_written_in_quotes() {
        for word in ["default", "call", "fn", "if", "match", "print", "this"] {
            assert_eq!(explained(&format!("#{{{word}: 1}}")), format!("write `\"{word}\": …`"));
            assert_eq!(explained(&format!("#{{a: 1, {word}: 1}}")), format!("write `\"{word}\": …`"));
        }
    }

    #[test]
    fn other_names_are_to_be_chosen_anew() {
        let other = "choose another name, such as one with `_` behind it";
        for script in [
            "let default = 1;",
            "const new = 1;",
            "fn default() { }",
            "fn f(default) { }",
            "|new| new",
            "let x = 1; x + default",
            "for new in [1] { }",
            "import \"a\" as new;",
            "let let = 1;",
            "fn if() {}",
        ] {
            assert_eq!(explained(script), other, "{script}");
        }
        assert_eq!(explained("fn call(env) {}"), "a script's function for requests is `fn handle(env)`");
        assert_eq!(explained("let x = null;"), "what is nothing is `()`");
        assert_eq!(explained("let x = #{}; x.match(1)"), "no method is called `match`: choose another name");
    }
}
