use super::*;

const KIND: &str = "multipart/form-data; boundary=xx";

const BODY: &str = "--xx\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nA caf\u{e9}\r\n\
    --xx\r\nContent-Disposition: form-data; name=\"tag[]\"\r\n\r\na\r\n\
    --xx\r\nContent-Disposition: form-data; name=\"tag[]\"\r\n\r\nb\r\n\
    --xx\r\nContent-Disposition: form-data; name=\"page\"\r\n\r\n9\r\n\
    --xx\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nl\u{e9}n\nb\r\n\
    --xx\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"../b.bin\"\r\n\r\n\r\n\r\n\
    --xx\r\nContent-Disposition: form-data; name=\"none\"; filename=\"\"\r\nContent-Type: application/octet-stream\r\n\r\n\r\n\
    --xx--\r\n";

#[test]
fn the_parts_of_a_form_are_fields_and_files() {
    for (script, value) in [
        ("env.form", r#"{"page":"9","tag":"b","title":"A café"}"#),
        (r#"[env.form.title, env.form["tag"], env.form.photo]"#, r#"["A café","b",null]"#),
        (r#"[env.form.all("tag"), env.form.int("page")]"#, r#"[["a","b"],9]"#),
        (
            r#"[env.params.title, env.params.page, env.params.all("tag"), env.params.photo]"#,
            r#"["A café","2",["a","b"],null]"#,
        ),
        ("env.params.keys()", r#"["page","from","title","tag"]"#),
        ("[env.files.len(), env.files.keys(), env.files.none, env.files.title]", r#"[1,["photo"],null,null]"#),
        (
            r#"env.files.all("photo").map(|f| [f.name, f.filename, f.content_type, f.size])"#,
            r#"[["photo","a.txt","text/plain",6],["photo","b.bin",null,2]]"#,
        ),
        (
            r#"let f = env.files.all("photo")[0]; [f.read(3), f.read(), f.read(), f.read(1), f.rewind().gets(), f.gets(), f.gets()]"#,
            r#"["lé","n\nb","",null,"lén\n","b",null]"#,
        ),
        (r#"let f = env.files.photo; [f.blob(), f.blob(1), f.rewind().blob(1)]"#, r#"["DQo=",null,"DQ=="]"#),
        (r#"let f = env.files.all("photo")[0]; let n = []; f.each(|line| n.push(line)); n"#, r#"["lén\n","b"]"#),
        (r#"type_of(env.files.photo) + ` ${env.files.photo}`"#, r#""File file `b.bin`""#),
        (r#""photo" in env.files"#, "true"),
        ("env.files.photo", "fault: the value is of type `File`, which JSON has not"),
        (r#"env["rack.input"].read() == env.body && env.body.ends_with("--xx--\r\n")"#, "true"),
    ] {
        for upload in [Upload::Here(Arrived::Memory(BODY.into())), file(BODY.as_bytes())] {
            let request = post(KIND, "").request();
            request.upload.replace(upload);
            let env = Env::new(Rc::new(request), "rhaid".into(), 1000);
            assert_eq!(eval(&env, script), value, "{script}");
        }
    }
    assert_eq!(get("/api").eval("[env.files.len(), env.files.x]"), "[0,null]");
    for kind in [KIND, "multipart/form-data"] {
        assert_eq!(post(kind, "").eval("[env.form.len(), env.files.len(), env.params.x]"), "[0,0,null]");
    }
    assert_eq!(post("text/plain", BODY).eval("env.files.len() + env.form.len()"), "0");
}

#[test]
fn a_malformed_form_of_parts_is_a_400_at_the_first_read() {
    for (kind, body, message) in [
        ("multipart/form-data", BODY, "the content type of the form has no boundary of 1 to 70 characters"),
        ("multipart/form-data; boundary=yy", BODY, "the form is malformed at byte 0: its boundary is nowhere"),
        (KIND, &BODY[..58], "the form is malformed at byte 58: it ends inside of part `title`"),
        (KIND, "\r\n", "the form is malformed at byte 0: its boundary is nowhere"),
        (
            KIND,
            "--xx\r\nContent-Disposition: form-data; name=a\r\n\r\nb\0\r\n--xx--",
            "part `a` of the form has a NUL byte at byte 1",
        ),
    ] {
        for (script, column) in [("env.form", 5), ("env.files", 5), ("env.params.title", 11)] {
            assert_eq!(post(kind, body).eval(script), format!("400 {message} @{column}"), "{script}");
        }
        assert_eq!(post(kind, body).eval("env.params.page"), r#""2""#);
    }
    let latin1 = b"--xx\r\nContent-Disposition: form-data; name=a\r\n\r\n\xe9\r\n--xx--";
    assert_eq!(post(KIND, *latin1).eval("env.form.a"), "400 part `a` of the form is not UTF-8 at byte 0 @5");
}

#[test]
fn a_field_that_is_no_file_has_a_limit_and_a_file_the_scripts_memory() {
    let part = |more: &str, length| {
        format!("--xx\r\nContent-Disposition: form-data; name=a{more}\r\n\r\n{}\r\n--xx--", "x".repeat(length))
    };
    let asked = |more: &str, length, script| {
        let request = post(KIND, part(more, length)).request();
        eval(&Env::new(Rc::new(request), "rhaid".into(), 2 << 20), script)
    };
    assert_eq!(asked("", 1 << 20, "env.form.a.len()"), "1048576");
    assert_eq!(asked("", (1 << 20) + 1, "env.form.a"), "413 part `a` of the form is longer than 1048576 bytes @5");
    assert_eq!(asked("; filename=f", 2 << 20, "env.files.a.read().len()"), "2097152");
    assert_eq!(asked("; filename=f", (2 << 20) + 1, "env.files.a.read()"), "413 Request body too large @13");
    assert_eq!(asked("; filename=f", (2 << 20) + 1, "env.files.a.read(10).len()"), "10");
}

#[test]
fn after_the_request_a_file_is_gone() {
    let env = post(KIND, BODY).env();
    let mut scope = rhai::Scope::new();
    let value = eval_dynamic(&env, "env.files.photo");
    scope.push("photo", value);
    env.end();
    let error = engine().run_with_scope(&mut scope, "photo.read()").unwrap_err();
    assert_eq!(shown(*error), "the request has ended, its body can't be read any more @7");
}

fn eval_dynamic(env: &Env, script: &str) -> Dynamic {
    let mut scope = rhai::Scope::new();
    scope.push("env", env.clone());
    engine().eval_with_scope(&mut scope, script).unwrap()
}
