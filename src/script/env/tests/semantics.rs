use super::*;

/// The table of what scripts may do with an env.
#[test]
fn an_env_is_read_and_written_like_a_map() {
    for (script, value) in [
        (r#"env["REQUEST_METHOD"]"#, r#""GET""#),
        ("env.REQUEST_METHOD", r#""GET""#),
        ("env.nope", "null"),
        (r#"env["nope"]"#, "null"),
        ("env?.nope", "null"),
        (r#"env?["nope"]"#, "null"),
        ("env.nope?.foo", "null"),
        (r#"env["nope"]?.foo ?? "d""#, r#""d""#),
        (r#"env.nope ?? "d""#, r#""d""#),
        (r#""REQUEST_METHOD" in env"#, "true"),
        (r#""params" in env"#, "true"),
        (r#""nope" !in env"#, "true"),
        (r#"env["my.var"] = 1; env["my.var"]"#, "1"),
        ("env.user = #{id: 1, tags: []}; env.user.id", "1"),
        ("env.user = #{id: 1}; env.user.id = 5; env.user.id", "5"),
        ("env.user = #{id: 1, t: [1]}; env.user.t.push(2); env.user.t", "[1,2]"),
        ("env.n = 1; env.n += 41; env.n", "42"),
        (r#"env["n"] = 1; env["n"] += 41; env["n"]"#, "42"),
        ("env.PATH_INFO = \"/other\"; [env.PATH_INFO, env[\"PATH_INFO\"]]", r#"["/other","/other"]"#),
        ("env.params = 5; env.params", "5"),
        ("[env.tag, env.query.tag, env.headers.tag]", "[null,null,null]"),
        ("env.tag = \"x\"; [env.tag, env[\"tag\"]]", r#"["x","x"]"#),
        (r#"env.get("nope", "d")"#, r#""d""#),
        (r#"env.get("PATH_INFO", "d")"#, r#""/x""#),
        (r#"env.get("PATH_INFO")"#, r#""/x""#),
        (r#"env.set("k", 7); env.k"#, "7"),
        ("let r = []; for k in env.keys() { if k == \"PATH_INFO\" { r.push(k) } } r", r#"["PATH_INFO"]"#),
        ("fn f(e) { e.x = 1; } f(env); env.x", "1"),
        ("fn f() { this.x = 1; } env.f(); env.x", "1"),
        ("let e2 = env; e2.x = 1; env.x", "1"),
        (r#"const K = env; K["PATH_INFO"]"#, r#""/x""#),
        (r#"const K = env; K.get("PATH_INFO")"#, r#""/x""#),
        ("type_of(env)", r#""Env""#),
        ("`${env}`", r#""env of GET /api/x""#),
        ("[env == env, env != env]", "[true,false]"),
        (r#"env.REQUEST_METHOD == "GET" && env.PATH_INFO.starts_with("/")"#, "true"),
        (r#"switch env.REQUEST_METHOD { "GET" => 1, _ => 2 }"#, "1"),
        ("let m = #{}; m[\"x\"] = env; m.x.PATH_INFO", r#""/x""#),
        ("let a = |x| x.PATH_INFO; a.call(env)", r#""/x""#),
        ("let f = || env.PATH_INFO; env.y = \"2\"; f.call() + env.y", r#""/x2""#),
        ("env", "fault: the value is of type `Env`, which JSON has not"),
    ] {
        assert_eq!(get("/api/x?key=secret").eval(script), value, "{script}");
    }
}

#[test]
fn what_is_not_there_has_no_properties_and_a_constant_env_is_not_written() {
    let error = get("/api").eval("env.nope.foo");
    assert!(error.contains("'foo'") && error.contains("'()'") && error.contains("position 10"), "{error}");
    assert!(get("/api").eval(r#"const K = env; K["x"] = 1"#).contains("constant"));
}

#[test]
fn reading_through_a_part_writes_nothing_back() {
    let env = post("application/json", r#"{"a":[1]}"#).env();
    let script =
        r#"env.params.int("page"); env.query.all("page"); env["rack.input"].read(2); env.PATH_INFO.len(); env.auth"#;
    eval(&env, script);
    assert!(env.0.own.borrow().is_empty(), "{:?}", env.0.own.borrow());
}

#[test]
fn later_handlers_see_what_an_earlier_one_has_set_until_the_end() {
    let env = get("/api").env();
    eval(&env, "env.user = #{id: 7}");
    assert_eq!(eval(&env.clone(), "env.user.id"), "7");
    let request = Rc::downgrade(env.request());
    eval(&env, "env.me = env; env.p = env.params; env.f = || env.id;");
    env.end();
    assert_eq!(eval(&env, "env.user"), "null");
    drop(env);
    assert!(request.upgrade().is_none());
}

#[test]
fn auth_is_what_the_key_stands_for_or_what_a_script_says() {
    let env = get("/api").env();
    assert_eq!(eval(&env, "env.auth"), "null");
    env.set_auth(Map::from([("id".into(), 5.into())]).into());
    assert_eq!(eval(&env, "env.auth.id"), "5");
    assert!(env.auth().is_map());
    eval(&env, "env.auth = 6;");
    assert_eq!(env.auth().as_int(), Ok(6));
}

#[test]
fn errors_go_to_the_log_and_write_says_how_much() {
    let script = r#"let e = env["rack.errors"]; [e.write("héé"), e.puts(5), e.puts(["a", 1]), type_of(e.flush())]"#;
    assert_eq!(get("/api").eval(script), r#"[5,null,null,"Errors"]"#);
}

#[test]
fn each_line_of_an_error_is_one_line_of_the_log_with_the_requests_number() {
    #[derive(Clone, Default)]
    struct Log(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);
    impl Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .without_time()
        .with_ansi(false)
        .with_target(false)
        .with_writer(move || writer.clone());
    tracing::subscriber::with_default(subscriber.finish(), || {
        get("/api").eval(r#"env["rack.errors"].puts(["a\nb", 1.5])"#);
    });
    let written = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let expected = ["a", "b", "1.5"].map(|line| format!("ERROR {line} request=0000000000000abc\n")).concat();
    assert_eq!(written, expected);
}
