use super::*;

/// Every row of the table of Rack's keys.
#[test]
fn each_key_has_its_value() {
    let asked = || {
        get("/api/p%20q/../r?a=%20b&c")
            .header("host", "Example.com:8080")
            .header("user-agent", "curl/8")
            .header("connection", "keep-alive")
            .header("x-many", "a")
            .header("x-many", "b, c")
            .header("cookie", "a=1")
            .header("cookie", "b=2")
            .header("set-cookie", "x=1")
            .header("set-cookie", "y=2")
            .header("x-under", "dash")
            .header("x_under", "underscore")
            .header("content-type", "text/plain")
            .header("expect", "100-continue")
            .header("upgrade", "h2c")
    };
    for (key, value) in [
        ("REQUEST_METHOD", r#""GET""#),
        ("SCRIPT_NAME", r#""/api""#),
        ("PATH_INFO", r#""/p%20q/../r""#),
        ("QUERY_STRING", r#""a=%20b&c""#),
        ("SERVER_NAME", r#""default""#),
        ("SERVER_ADDR", r#""127.0.0.1""#),
        ("SERVER_PORT", r#""8080""#),
        ("SERVER_PROTOCOL", r#""HTTP/1.1""#),
        ("SERVER_SOFTWARE", r#""rhaid/1""#),
        ("REMOTE_ADDR", r#""192.0.2.7""#),
        ("REMOTE_PORT", r#""50123""#),
        ("REMOTE_USER", "null"),
        ("HTTP_HOST", r#""Example.com:8080""#),
        ("CONTENT_LENGTH", "null"),
        ("CONTENT_TYPE", r#""text/plain""#),
        ("HTTP_USER_AGENT", r#""curl/8""#),
        ("HTTP_CONNECTION", r#""keep-alive""#),
        ("HTTP_X_MANY", r#""a, b, c""#),
        ("HTTP_COOKIE", r#""a=1; b=2""#),
        ("HTTP_SET_COOKIE", r#""y=2""#),
        ("HTTP_X_UNDER", r#""dash""#),
        ("HTTP_X-UNDER", "null"),
        ("HTTP_x_under", "null"),
        ("HTTP_", "null"),
        ("HTTP_CONTENT_TYPE", "null"),
        ("HTTP_CONTENT_LENGTH", "null"),
        ("HTTP_TRANSFER_ENCODING", "null"),
        ("HTTP_EXPECT", "null"),
        ("HTTP_UPGRADE", "null"),
        ("HTTP_EARLY_DATA", "null"),
        ("rack.url_scheme", r#""http""#),
        ("rack.input", "null"),
        ("rack.early_hints", "null"),
        ("rack.multithread", "false"),
        ("rack.multiprocess", "true"),
        ("rack.run_once", "false"),
        ("rack.hijack?", "false"),
        ("rack.version", "null"),
        ("nope", "null"),
        ("id", r#""0000000000000abc""#),
    ] {
        assert_eq!(asked().eval(&format!("env[{key:?}]")), value, "{key}");
        if rhai::is_valid_identifier(key) {
            assert_eq!(asked().eval(&format!("env.{key}")), value, "{key}");
        }
    }
    assert_eq!(asked().eval(r#"type_of(env["rack.errors"])"#), r#""Errors""#);
}

#[test]
fn path_info_and_query_may_be_empty() {
    assert_eq!(get("/api").eval("[env.PATH_INFO, env.QUERY_STRING]"), r#"["",""]"#);
    assert_eq!(get("/api/?").eval("[env.PATH_INFO, env.QUERY_STRING]"), r#"["/",""]"#);
}

#[test]
fn the_host_is_the_targets_authority_or_the_header_or_the_configurations() {
    assert_eq!(get("/api").eval("env.HTTP_HOST"), r#""default""#);
    assert_eq!(
        get("http://u:p@a.example:81/api").header("host", "b.example").eval("env.HTTP_HOST"),
        r#""a.example:81""#
    );
}

#[test]
fn a_body_has_its_length_and_its_input_also_when_it_is_empty() {
    let script = r#"[env.CONTENT_LENGTH, type_of(env["rack.input"])]"#;
    assert_eq!(get("/api").eval(script), r#"[null,"()"]"#);
    assert_eq!(post("text/plain", "héé").eval(script), r#"["5","Input"]"#);
    assert_eq!(get("/api").header("content-length", "0").eval(script), r#"["0","Input"]"#);
    assert_eq!(get("/api").header("transfer-encoding", "chunked").eval(script), r#"["0","Input"]"#);
}

#[test]
fn versions_and_methods_are_as_they_came() {
    let mut request = get("/api").request();
    request.head.version = ::http::Version::HTTP_10;
    request.head.method = "PROPFIND".parse().unwrap();
    let env = Env::new(Rc::new(request), "rhaid".into(), 0);
    assert_eq!(eval(&env, "[env.SERVER_PROTOCOL, env.REQUEST_METHOD]"), r#"["HTTP/1.0","PROPFIND"]"#);
}

#[test]
fn a_header_that_is_no_utf8_is_read_byte_by_byte() {
    let mut asked = get("/api").header("x-utf8", "né");
    asked.headers.push(("x-latin1", b"n\xe9"));
    assert_eq!(asked.eval("[env.HTTP_X_UTF8, env.HTTP_X_LATIN1]"), r#"["né","né"]"#);
}

#[test]
fn a_name_of_any_length_is_found() {
    let name: &'static str = "x-".repeat(100).trim_end_matches('-').to_string().leak();
    let key = format!("HTTP_{}", name.to_uppercase().replace('-', "_"));
    let script = format!("[env[{key:?}], env.keys().contains({key:?}), env[{:?}]]", format!("{key}_Y"));
    assert_eq!(get("/api").header(name, "1").eval(&script), r#"["1",true,null]"#);
}

#[test]
fn what_earlier_handlers_set_are_keys_and_win() {
    let request = get("/api").header("user-agent", "curl").request();
    *request.variables.borrow_mut() = [("REMOTE_USER", "ann"), ("HTTP_USER_AGENT", "x"), ("REMOTE_USER", "bob")]
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .into();
    let env = Env::new(Rc::new(request), "rhaid".into(), 0);
    assert_eq!(eval(&env, r#"[env.REMOTE_USER, env["HTTP_USER_AGENT"], "REMOTE_USER" in env]"#), r#"["bob","x",true]"#);
    assert_eq!(eval(&env, r#"env.REMOTE_USER = "me"; env.REMOTE_USER"#), r#""me""#);
    assert_eq!(eval(&env, r#"env.keys().contains("REMOTE_USER")"#), "true");
}

#[test]
fn the_keys_are_those_that_are_there() {
    let asked = || get("/api").header("x-under", "1").header("x_under", "2").header("upgrade", "h2c");
    assert_eq!(
        asked().eval("env.own = 1; env.gone = 1; env.gone = (); env.keys()"),
        concat!(
            r#"["HTTP_HOST","HTTP_X_UNDER","PATH_INFO","QUERY_STRING","REMOTE_ADDR","REMOTE_PORT","REQUEST_METHOD","#,
            r#""SCRIPT_NAME","SERVER_ADDR","SERVER_NAME","SERVER_PORT","SERVER_PROTOCOL","SERVER_SOFTWARE","own","#,
            r#""rack.errors","rack.hijack?","rack.multiprocess","rack.multithread","rack.run_once","rack.url_scheme"]"#
        )
    );
    assert_eq!(asked().eval("[env.len(), env.values().len(), env.to_map().len()]"), "[19,19,19]");
    assert_eq!(asked().eval("env.to_map().HTTP_X_UNDER"), r#""1""#);
}
