use super::*;

/// `NAME[/FILENAME]=CONTENT` of each part, read through a window of each size, or the error.
fn parts(body: &str) -> Result<Vec<String>, String> {
    let read = |size| {
        let mut window = Window::new(body.len() as u64, |at, into: &mut [u8]| {
            let at = usize::try_from(at).unwrap();
            into.copy_from_slice(&body.as_bytes()[at..at + into.len()]);
            Ok(())
        })
        .of_size(size);
        let mut parts = Vec::new();
        walk("xx", &mut window, |part, window| {
            let content = window.bytes(part.start, usize::try_from(part.length).unwrap())?;
            let content = std::str::from_utf8(content).unwrap();
            let filename = part.head.filename.map_or_else(String::new, |name| format!("/{name}"));
            parts.push(format!("{}{filename}={content}", part.head.name));
            Ok(())
        })
        .map(|()| parts)
        .map_err(|wrong| wrong.to_string())
    };
    let whole = read(1 << 16);
    for size in [1, 2, 3, 7, 8, 9, 64] {
        assert_eq!(read(size), whole, "through {size} bytes: {body}");
    }
    whole
}

/// A body with `\n` for a line's end, ended by the last boundary.
fn body(text: &str) -> String {
    text.replace('\n', "\r\n")
}

const A: &str = "Content-Disposition: form-data; name=a\n\n";

#[test]
fn parts_lie_between_boundaries() {
    for (text, expected) in [
        (format!("--xx\n{A}1\n--xx--\n"), vec!["a=1"]),
        (format!("--xx\n{A}1\n--xx\n{A}2\n--xx--"), vec!["a=1", "a=2"]),
        (format!("preamble\n--xx  \t\n{A}1\n--xx--\nepilogue --xx"), vec!["a=1"]),
        (format!("--xx\n{A}\n--xx--"), vec!["a="]),
        (format!("--xx\n{A}--xx--"), vec!["a="]),
        (format!("--xx\n{A}\n\n--xx--"), vec!["a=\r\n"]),
        (format!("--xx\n{A}1 --xx\n--x\n--xx--"), vec!["a=1 --xx\r\n--x"]),
        (
            "--xx\nContent-Disposition: form-data; name=f; filename=\"é.txt\"\nX: y\n\nhé\n\n--xx--".into(),
            vec!["f/é.txt=hé\r\n"],
        ),
        ("--xx--".into(), vec![]),
    ] {
        assert_eq!(parts(&body(&text)).unwrap(), expected, "{text}");
    }
}

#[test]
fn what_is_malformed_is_placed() {
    for (text, message) in [
        (String::new(), "at byte 0: its boundary is nowhere"),
        ("a=1".into(), "at byte 0: its boundary is nowhere"),
        ("--x\n\n".into(), "at byte 0: its boundary is nowhere"),
        ("--xx".into(), "at byte 4: behind the boundary stands neither a line's end nor `--`"),
        ("--xxy\n".into(), "at byte 4: behind the boundary stands neither a line's end nor `--`"),
        ("--xx\n".into(), "at byte 6: it ends inside of the head of a part"),
        ("--xx\nContent-Disposition: form-data; name=a\n".into(), "at byte 46: it ends inside of the head of a part"),
        ("--xx\n\n1\n--xx--".into(), "at byte 6: a part has no `Content-Disposition: form-data; name=\"…\"`"),
        ("--xx\nX\n\n1\n--xx--".into(), "at byte 6: a line of the head of a part has no colon"),
        (format!("--xx\n{A}1"), "at byte 49: it ends inside of part `a`"),
        (format!("--xx\n{A}1\n--xx\n{A}22\n--x"), "at byte 106: it ends inside of part `a`"),
        (format!("--xx\n{A}1\n--xx "), "at byte 55: behind the boundary stands neither a line's end nor `--`"),
    ] {
        assert_eq!(parts(&body(&text)).unwrap_err(), format!("the form is malformed {message}"), "{text}");
    }
    let long = format!("--xx\nX: {}\n{A}1\n--xx--", "x".repeat(HEAD));
    assert_eq!(parts(&body(&long)).unwrap_err(), "the form is malformed at byte 6: the head of a part is too long");
}

#[test]
fn only_so_many_parts_are_taken() {
    let part = format!("--xx\n{A}1\n");
    assert_eq!(parts(&body(&format!("{}--xx--", part.repeat(PARTS)))).unwrap().len(), PARTS);
    assert_eq!(
        parts(&body(&format!("{}--xx--", part.repeat(PARTS + 1)))).unwrap_err(),
        "the form has more than 1000 parts"
    );
}

#[test]
fn a_boundary_is_named_by_the_content_type() {
    let named = |text| boundary(text).map_err(|wrong| wrong.to_string());
    assert_eq!(
        named("multipart/form-data; boundary=----WebKitFormBoundary7MA"),
        Ok("----WebKitFormBoundary7MA".into())
    );
    assert_eq!(named("multipart/form-data; charset=utf-8; Boundary=\"a b\""), Ok("a b".into()));
    let message = "the content type of the form has no boundary of 1 to 70 characters";
    let long = format!("multipart/form-data; boundary={}", "x".repeat(71));
    for text in ["multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=\"x", &long] {
        assert_eq!(named(text), Err(message.into()), "{text}");
    }
}

/// Whatever stands in a form, it is read or refused, and through each window alike.
#[test]
fn a_form_with_any_byte_changed_is_read_or_refused() {
    let text = body(&format!(
        "p\n--xx \n{A}1\n\n--xx\nContent-Disposition: form-data; name=\"f\"; filename=\"a\\b\"\n\n--x\n--xx--\n"
    ));
    assert_eq!(parts(&text).unwrap(), ["a=1\r\n", "f/b=--x"]);
    for (place, _) in text.char_indices() {
        for new in ["", "\r", "\n", "-", "x", "\"", "\\", ";", "=", ":", "\0", "é", "\r\n", "\r\n--xx"] {
            let _ = parts(&format!("{}{new}{}", &text[..place], &text[place + 1..]));
        }
        let _ = parts(&text[..place]);
    }
}
