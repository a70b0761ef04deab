//! Environment variables in values: `${NAME}` and `${NAME:-default}`.

/// Looks up a variable of the environment; `None` if it is unset.
pub type Environment = dyn Fn(&str) -> Option<String>;

/// Why a text can't be had: message and way out.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    pub message: String,
    pub hint: String,
}

/// The variables of this process. A value that is not UTF-8 counts as unset.
pub fn process(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The value of the variable `name`.
pub fn value(name: &str, environment: &Environment) -> Result<String, Fault> {
    environment(name).ok_or_else(|| Fault {
        message: format!("the environment variable `{name}` is not set"),
        hint: format!("set it, or give a default: `${{{name}:-default}}`"),
    })
}

/// `text` with its variables replaced; `$${` becomes `${`. As in a shell, an empty variable takes its default too.
pub fn replace(text: &str, environment: &Environment) -> Result<String, Fault> {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        if let Some(literal) = rest[..start].strip_suffix('$') {
            replaced.push_str(literal);
            replaced.push_str("${");
            rest = &rest[start + 2..];
            continue;
        }
        replaced.push_str(&rest[..start]);
        let inner = &rest[start + 2..];
        let end = inner.find('}').ok_or_else(|| malformed(&rest[start..]))?;
        let (name, default) = match inner[..end].split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (&inner[..end], None),
        };
        if !is_name(name) {
            return Err(malformed(&rest[start..start + end + 3]));
        }
        replaced.push_str(&match default {
            Some(default) => environment(name).filter(|it| !it.is_empty()).unwrap_or_else(|| default.to_owned()),
            None => value(name, environment)?,
        });
        rest = &inner[end + 1..];
    }
    replaced.push_str(rest);
    Ok(replaced)
}

fn is_name(text: &str) -> bool {
    let first = text.chars().next();
    first.is_some_and(|it| !it.is_ascii_digit()) && text.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
}

fn malformed(found: &str) -> Fault {
    Fault {
        message: format!("found `{found}`, expected `${{NAME}}` or `${{NAME:-default}}`"),
        hint: "`$${` stands for a literal `${`".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(text: &str) -> Result<String, String> {
        let environment = |name: &str| match name {
            "HOST" => Some("example.com".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        replace(text, &environment).map_err(|fault| format!("{}; {}", fault.message, fault.hint))
    }

    #[test]
    fn variables_are_replaced() {
        assert_eq!(replaced("a ${HOST}:80${EMPTY} b"), Ok("a example.com:80 b".into()));
        assert_eq!(replaced("${HOST:-x}${HOST}"), Ok("example.comexample.com".into()));
    }

    #[test]
    fn a_default_is_for_the_unset_and_the_empty() {
        assert_eq!(replaced("${NONE:-a b}"), Ok("a b".into()));
        assert_eq!(replaced("${EMPTY:-x}"), Ok("x".into()));
        assert_eq!(replaced("${NONE:-}"), Ok(String::new()));
    }

    #[test]
    fn a_doubled_dollar_is_literal() {
        assert_eq!(replaced("$${HOST} $$ $x $${a"), Ok("${HOST} $$ $x ${a".into()));
    }

    #[test]
    fn an_unset_variable_is_a_mistake() {
        let message = "the environment variable `NONE` is not set; set it, or give a default: `${NONE:-default}`";
        assert_eq!(replaced("${NONE}"), Err(message.into()));
    }

    #[test]
    fn anything_else_in_the_braces_is_a_mistake() {
        for (text, found) in [("a ${HO ST} b", "${HO ST}"), ("${HOST", "${HOST"), ("${1}", "${1}"), ("${}", "${}")] {
            let message = format!("found `{found}`, expected `${{NAME}}` or `${{NAME:-default}}`");
            assert_eq!(replaced(text), Err(format!("{message}; `$${{` stands for a literal `${{`")));
        }
    }
}
