use super::*;

const FORM: &str = "application/x-www-form-urlencoded";

#[test]
fn a_form_is_read_by_its_content_type() {
    let form = |kind, body: &'static str| post(kind, body).eval("env.form.to_map()");
    assert_eq!(form(FORM, "a=1+2&b=%C3%A9&a=3"), r#"{"a":"3","b":"é"}"#);
    assert_eq!(form("Application/X-WWW-Form-Urlencoded ; charset=UTF-8", "a=1"), r#"{"a":"1"}"#);
    assert_eq!(form("text/plain", "a=1"), "{}");
    assert_eq!(get("/api").eval("[env.form, env.json, env.body]"), r#"[{},null,""]"#);
}

#[test]
fn a_malformed_form_is_a_400_with_its_place_at_the_first_read() {
    for (body, message) in [
        (&b"a=%zz"[..], "the form has a bad percent-encoding at `%zz`"),
        (b"a=%", "the form has a bad percent-encoding at `%`"),
        (b"a=%\n\"", "the form has a bad percent-encoding at `%\\n\\\"`"),
        (b"a=%B3", "the form is not UTF-8 at `%B3`"),
        (b"a=%00", "the form has a NUL byte at `%00`"),
        (b"a=\0", "the form has a NUL byte at byte 2"),
        (b"a=\xff", "the form is not UTF-8 at byte 2"),
    ] {
        assert_eq!(post(FORM, body).eval("env.form.a"), format!("400 {message} @5"));
        assert_eq!(post(FORM, body).eval("env.params.a"), format!("400 {message} @11"));
        assert_eq!(post(FORM, body).eval("env.params.page"), r#""2""#);
    }
}

#[test]
fn json_has_any_root_and_is_read_by_its_content_type() {
    for (kind, body, value) in [
        ("application/json", "[1,2]", "[1,2]"),
        ("application/json; charset=utf-8", r#"{"b":1.0,"a":[]}"#, r#"{"a":[],"b":1.0}"#),
        ("APPLICATION/JSON", "5", "5"),
        ("application/problem+json", "\"x\"", "\"x\""),
        ("application/json", "18446744073709551615", "18446744073709551615"),
        ("application/json", "", "null"),
        ("text/json5", "[1]", "null"),
        ("application/jsonx", "[1]", "null"),
    ] {
        assert_eq!(post(kind, body).eval("env.json"), value, "{kind} {body}");
    }
    assert_eq!(post("application/json", r#"{"a":[{"b":2}]}"#).eval("env.json.a[0].b"), "2");
}

#[test]
fn malformed_json_is_a_400_with_its_place_at_the_first_read() {
    for (body, message) in [
        (&b"{\"a\":"[..], "EOF while parsing a value at line 1 column 5"),
        (b"{\"a\":1 \"b\"}", "expected `,` or `}` at line 1 column 8"),
        (b" ", "EOF while parsing a value at line 1 column 1"),
        (b"[\"\xff\"]", "invalid unicode code point at line 1 column 3"),
    ] {
        let expected = format!("400 the body is no JSON: {message}");
        assert_eq!(post("application/json", body).eval("env.json"), format!("{expected} @5"));
        assert_eq!(post("application/json", body).eval("env.params.a"), format!("{expected} @11"));
        assert_eq!(post("application/json", body).eval(r#"env.params.int("a")"#), format!("{expected} @12"));
        assert_eq!(
            post("application/json", body).eval("for name in env.params { print(name) }"),
            format!("{expected} @16")
        );
        assert_eq!(post("application/json", body).eval("env.params"), format!("fault: {}", &expected[4..]));
    }
}

#[test]
fn text_is_utf8() {
    assert_eq!(post("text/plain", "héé").eval("[env.body, env.body]"), r#"["héé","héé"]"#);
    assert_eq!(post("text/plain", b"h\xff").eval("env.body"), "400 the body is not UTF-8 at byte 1 @5");
}

#[test]
fn a_body_larger_than_the_memory_limit_is_413_however_it_is_read() {
    for (kind, script) in [
        ("text/plain", "env.body"),
        (FORM, "env.form"),
        ("application/json", "env.json"),
        ("application/json", "env.params.x"),
        ("text/plain", r#"env["rack.input"].read()"#),
        ("text/plain", r#"env["rack.input"].blob()"#),
        ("text/plain", r#"env["rack.input"].read(11)"#),
        ("text/plain", r#"env["rack.input"].gets()"#),
    ] {
        for upload in [Upload::Here(Arrived::Memory(vec![b'1'; 11].into())), file(&[b'1'; 11])] {
            let request = post(kind, "").request();
            request.upload.replace(upload);
            let outcome = eval(&Env::new(Rc::new(request), "rhaid".into(), 10), script);
            assert!(outcome.starts_with("413 Request body too large @"), "{script}: {outcome}");
        }
    }
}

#[test]
fn a_body_that_makes_more_fields_than_the_script_has_memory_for_is_not_read_on() {
    for (kind, part) in [(FORM, "&a"), ("application/json", "{},")] {
        let body = format!("[{}0]", part.repeat(1 << 18));
        let limits = crate::fiber::Limits { memory: 8 << 20, ..Default::default() };
        let run = crate::fiber::run(limits, || post(kind, body).eval("env.params.len()"));
        let outcome = tokio::runtime::LocalRuntime::new().unwrap().block_on(run).unwrap();
        assert!(outcome.starts_with("Script terminated"), "{outcome}");
    }
}

#[test]
fn the_input_is_read_in_parts() {
    for (script, value) in [
        ("[i.read(), i.read(), i.read(1)]", r#"["ab\ncé\n\nd","",null]"#),
        ("[i.read(4), i.read(1), i.read(1), i.read(100), i.read(1)]", r#"["ab\nc","é","\n","\nd",null]"#),
        ("[i.read(5), i.read(2)]", r#"["ab\nc","é"]"#),
        ("[i.read(0), i.read(2), i.read(0)]", r#"["","ab",""]"#),
        ("[i.gets(), i.gets(), i.gets(), i.gets(), i.gets()]", r#"["ab\n","cé\n","\n","d",null]"#),
        ("i.read(4); i.rewind(); i.read(2)", r#""ab""#),
        ("i.rewind().read(2)", r#""ab""#),
        ("let lines = []; i.each(|line| lines.push(line)); lines", r#"["ab\n","cé\n","\n","d"]"#),
        ("i.gets(); let j = env[\"rack.input\"]; j.gets()", r#""cé\n""#),
        ("i.read(5); [i.blob(1), i.blob(), i.blob(), i.blob(1)]", r#"["ww==","qQoKZA==","",null]"#),
        ("[env.body, i.read(2), env.body.len()]", r#"["ab\ncé\n\nd","ab",8]"#),
        ("i.read(-1)", "`count` is -1, expected 0 or more @30"),
    ] {
        for upload in [Upload::Here(Arrived::Memory("ab\ncé\n\nd".into())), file("ab\ncé\n\nd".as_bytes())] {
            let request = post("text/plain", "").request();
            request.upload.replace(upload);
            let env = Env::new(Rc::new(request), "rhaid".into(), 1000);
            assert_eq!(eval(&env, &format!("let i = env[\"rack.input\"]; {script}")), value, "{script}");
        }
    }
}

#[test]
fn a_file_is_read_in_parts_also_when_it_is_larger_than_the_memory_limit() {
    let request = post("text/plain", "").request();
    request.upload.replace(file("x".repeat(20_000).replace("xxxxx", "abcd\n").as_bytes()));
    let env = Env::new(Rc::new(request), "rhaid".into(), 10_000);
    let script = r#"let n = 0; env["rack.input"].each(|line| n += line.len()); n"#;
    assert_eq!(eval(&env, script), "20000");
}

#[test]
fn input_that_is_no_utf8_is_a_400_and_a_blob() {
    let asked = || post("text/plain", b"ab\xffcd\xe2\x82");
    assert_eq!(asked().eval(r#"env["rack.input"].read()"#), "400 the body is not UTF-8 at byte 2 @19");
    assert_eq!(
        asked().eval(r#"let i = env["rack.input"]; i.read(2); i.read(2)"#),
        "400 the body is not UTF-8 at byte 2 @41"
    );
    assert_eq!(
        asked().eval(r#"let i = env["rack.input"]; i.blob(5); i.read(9)"#),
        "400 the body is not UTF-8 at byte 5 @41"
    );
    assert_eq!(asked().eval(r#"env["rack.input"].blob()"#), r#""YWL/Y2Tigg==""#);
}

#[test]
fn after_the_request_the_body_is_gone() {
    let env = post("application/json", "[1]").env();
    let mut scope = rhai::Scope::new();
    scope.push("input", env.value("rack.input").unwrap());
    env.end();
    let error = engine().run_with_scope(&mut scope, "input.read()").unwrap_err();
    assert_eq!(shown(*error), "the request has ended, its body can't be read any more @7");
    assert_eq!(eval(&env, r#"env["rack.input"].gets()"#), "the request has ended, its body can't be read any more @19");
    assert_eq!(eval(&env, "env.json"), "the request has ended, its body can't be read any more @5");
}
