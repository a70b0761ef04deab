//! The head of a part: its name, and of a file the name that it had and its type.

use std::fmt;

use percent_encoding::percent_decode_str;

/// What a part says of itself.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::script::env) struct Head {
    /// The field's name.
    pub name: String,
    /// The last component of what the client says that the file is called: a path in it would be
    /// the client's. Empty where a page's field for a file was left empty.
    pub filename: Option<String>,
    /// The type that the client says that it has.
    pub content_type: Option<String>,
}

impl Head {
    /// Reads the lines of a head.
    ///
    /// # Errors
    /// If they have no name; the message says what is wrong.
    pub fn parse(text: &str) -> Result<Head, String> {
        let (mut disposition, mut content_type) = (None, None);
        for line in text.split("\r\n").filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').ok_or("a line of the head of a part has no colon")?;
            match name.trim().to_ascii_lowercase().as_str() {
                "content-disposition" => disposition = Some(value.trim()),
                "content-type" => content_type = Some(value.trim().to_owned()),
                _ => {}
            }
        }
        let is_field =
            |it: &&str| it.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("form-data"));
        let disposition = disposition.filter(is_field);
        let name = disposition.and_then(|it| parameter(it, "name"));
        let Some((disposition, name)) = disposition.zip(name) else {
            return Err("a part has no `Content-Disposition: form-data; name=\"…\"`".into());
        };
        let filename = parameter(disposition, "filename");
        if name.contains('\0') || filename.as_ref().is_some_and(|it| it.contains('\0')) {
            return Err("the name of a part has a NUL byte".into());
        }
        Ok(Head { name, filename: filename.as_deref().map(last), content_type })
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "part `{}`", self.name.chars().take(64).collect::<String>())
    }
}

/// The last component of a path, which may be one of Windows; empty where that is a folder.
fn last(path: &str) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    if matches!(name, "." | "..") { String::new() } else { name.to_owned() }
}

/// A parameter of a header field such as `form-data; name="a"`; `None` if it is not there or the
/// field is malformed before it.
///
/// `name*=UTF-8''…` (RFC 8187) counts where there is no plain one: browsers must not send it, but
/// some clients do.
pub(in crate::script::env) fn parameter(field: &str, wanted: &str) -> Option<String> {
    let (_, mut rest) = field.split_once(';')?;
    let mut extended = None;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ';']);
        let (name, value) = rest.split_once('=')?;
        let (value, behind) = match value.trim_start().strip_prefix('"') {
            Some(quoted) => unquoted(quoted)?,
            None => {
                let (value, behind) = value.split_once(';').unwrap_or((value, ""));
                (value.trim().to_owned(), behind)
            }
        };
        let name = name.trim();
        if name.eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
        if name.strip_suffix('*').is_some_and(|plain| plain.eq_ignore_ascii_case(wanted)) {
            extended = decoded(&value);
        }
        if behind.trim_matches([' ', '\t', ';']).is_empty() {
            return extended;
        }
        rest = behind;
    }
}

/// The text up to the closing quote, and what follows it.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut characters = text.char_indices().peekable();
    while let Some((place, character)) = characters.next() {
        match character {
            // Browsers write `%22` for a quote, older clients `\"`; no other `\` is an escape, since
            // some clients send a path of Windows.
            '"' => return Some((out.replace("%22", "\""), &text[place + 1..])),
            '\\' if characters.peek().is_some_and(|(_, next)| matches!(next, '"' | '\\')) => {
                out.extend(characters.next().map(|(_, next)| next));
            }
            other => out.push(other),
        }
    }
    None
}

/// The value of an extended parameter, if it is in UTF-8.
fn decoded(value: &str) -> Option<String> {
    let (charset, rest) = value.split_once('\'')?;
    let (_, text) = rest.split_once('\'')?;
    let text = percent_decode_str(text).decode_utf8().ok()?;
    charset.eq_ignore_ascii_case("utf-8").then(|| text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_plain_quoted_or_extended() {
        for (field, value) in [
            ("form-data; name=a", Some("a")),
            ("form-data; name=\"a b\"; filename=x", Some("a b")),
            ("form-data;filename=\"name=no\";NAME = \"é;=\" ", Some("é;=")),
            (r#"form-data; name="a\"b\\c\d""#, Some(r#"a"b\c\d"#)),
            ("form-data; name=\"a%22b%20\"", Some("a\"b%20")),
            ("form-data; name=\"\"", Some("")),
            ("form-data; name*=UTF-8''%e2%82%ac", Some("€")),
            ("form-data; name*=UTF-8''x; name=y", Some("y")),
            ("form-data; name*=latin1''x", None),
            ("form-data; name=\"a", None),
            ("form-data; nothing", None),
            ("form-data", None),
            ("form-data;", None),
            ("form-data; ;; x=1;", None),
        ] {
            assert_eq!(parameter(field, "name").as_deref(), value, "{field}");
        }
    }

    #[test]
    fn a_head_has_a_name_and_of_a_file_what_it_was_called_without_a_path() {
        let head = |text| Head::parse(text).map(|head| (head.name, head.filename, head.content_type));
        let file = |name: &str| Ok(("f".into(), Some(name.into()), None));
        assert_eq!(head("Content-Disposition: form-data; name=\"f\"; filename=\"a.png\""), file("a.png"));
        assert_eq!(head("content-disposition:form-data;filename=\"../../etc/passwd\";name=f"), file("passwd"));
        assert_eq!(head(r#"Content-Disposition: form-data; name="f"; filename="C:\new\a.png""#), file("a.png"));
        assert_eq!(head("Content-Disposition: form-data; name=\"f\"; filename=\"\""), file(""));
        for folder in ["..", ".", "../..", "a/", "a/.", r"C:\.."] {
            let text = format!("Content-Disposition: form-data; name=f; filename={folder}");
            assert_eq!(Head::parse(&text).unwrap().filename.as_deref(), Some(""), "{folder}");
        }
        assert_eq!(
            head("X: y\r\nCONTENT-TYPE: text/plain; charset=utf-8\r\nContent-Disposition: Form-Data; name=f\r\n"),
            Ok(("f".into(), None, Some("text/plain; charset=utf-8".into())))
        );
    }

    #[test]
    fn a_head_without_a_name_is_none() {
        let none = "a part has no `Content-Disposition: form-data; name=\"…\"`";
        for (text, message) in [
            ("", none),
            ("Content-Type: text/plain", none),
            ("Content-Disposition: attachment; name=f", none),
            ("Content-Disposition: form-data", none),
            ("Content-Disposition: form-data; name=\"f", none),
            ("nothing", "a line of the head of a part has no colon"),
            ("Content-Disposition: form-data; name=\"a\0\"", "the name of a part has a NUL byte"),
            ("Content-Disposition: form-data; name=a; filename=\"a\0.png\"", "the name of a part has a NUL byte"),
            ("Content-Disposition: form-data; name=a; filename*=UTF-8''a%00", "the name of a part has a NUL byte"),
        ] {
            assert_eq!(Head::parse(text).unwrap_err(), message, "{text}");
        }
    }
}
