use super::*;

#[test]
fn a_querys_fields_are_decoded_and_the_last_of_a_name_counts() {
    let asked = || get("/api?id=1&id=2&tag[]=a&tag%5B%5D=b&a[b]=c&sp=a+b%20c&pct=%252f&empty=&flag&%C3%A9=%C3%A9&&=x");
    for (script, value) in [
        ("env.query.id", r#""2""#),
        (r#"env.query["id"]"#, r#""2""#),
        (r#"env.query.all("id")"#, r#"["1","2"]"#),
        (r#"env.query["tag[]"]"#, r#""b""#),
        (r#"env.query.all("tag[]")"#, r#"["a","b"]"#),
        (r#"env.query.all("tag")"#, r#"["a","b"]"#),
        (r#"env.query.list("tag")"#, r#"["a","b"]"#),
        (r#"[env.query.tag, "tag" in env.query, "tag[]" in env.query]"#, r#"["b",true,true]"#),
        (r#"[env.query["a[b]"], env.query.a]"#, r#"["c",null]"#),
        ("env.query.sp", r#""a b c""#),
        ("env.query.pct", r#""%2f""#),
        ("[env.query.empty, env.query.flag]", r#"["",""]"#),
        (r#"env.query["é"]"#, r#""é""#),
        (r#"env.query[""]"#, r#""x""#),
        ("[env.query.nope, env.query.ID]", "[null,null]"),
        (r#"env.query.all("nope")"#, "[]"),
        (r#"["id" in env.query, "nope" in env.query, "flag" in env.query]"#, "[true,false,true]"),
        (r#"[env.query.get("id"), env.query.get("nope"), env.query.get("nope", 5)]"#, r#"["2",null,5]"#),
        ("env.query.keys()", r#"["id","tag","a[b]","sp","pct","empty","flag","é",""]"#),
        ("env.query.values()", r#"["2","b","c","a b c","%2f","","","é","x"]"#),
        ("env.query.len()", "9"),
        ("let n = []; for name in env.query { n.push(name) } n[0] + n[1]", r#""idtag""#),
        (r#"env.query.to_map()["id"]"#, r#""2""#),
        ("`${env.query}`", r#""fields id, tag, a[b], sp, pct, empty, flag, é, ""#),
    ] {
        assert_eq!(asked().eval(script), value, "{script}");
    }
    assert_eq!(get("/api?b=1&a=2").eval("env.query"), r#"{"a":"2","b":"1"}"#);
    assert_eq!(get("/api").eval("[env.query.len(), env.query, env.form.len(), env.path.len()]"), "[0,{},0,0]");
}

#[test]
fn headers_are_found_in_any_letter_case_with_dash_and_underscore_as_written() {
    let asked =
        || get("/api").header("x-under", "dash").header("x_under", "low").header("accept", "a").header("accept", "b");
    for (script, value) in [
        (r#"env.headers["X-Under"]"#, r#""dash""#),
        (r#"env.headers["x_UNDER"]"#, r#""low""#),
        ("env.headers.Accept", r#""a, b""#),
        (r#"env.headers.all("ACCEPT")"#, r#"["a","b"]"#),
        (r#"env.headers["no such header"]"#, "null"),
        (r#""Accept" in env.headers"#, "true"),
        ("env.headers.keys()", r#"["x-under","x_under","accept"]"#),
        ("env.headers", r#"{"accept":"a, b","x-under":"dash","x_under":"low"}"#),
    ] {
        assert_eq!(asked().eval(script), value, "{script}");
    }
}

#[test]
fn cookies_are_decoded_and_the_first_of_a_name_counts() {
    let asked =
        || get("/api").header("cookie", "a=1; b=x%20y+z ;c=d=e; bad=%zz; junk; l[]=5").header("cookie", "a=2; empty=");
    for (script, value) in [
        ("env.cookies.a", r#""1""#),
        (r#"env.cookies.all("a")"#, r#"["1","2"]"#),
        ("env.cookies.b", r#""x y+z""#),
        ("env.cookies.c", r#""d=e""#),
        ("env.cookies.bad", r#""%zz""#),
        ("[env.cookies.empty, env.cookies.junk]", r#"["",null]"#),
        (r#"[env.cookies["l[]"], env.cookies.l]"#, r#"["5",null]"#),
        ("env.cookies.keys()", r#"["a","b","c","bad","l[]","empty"]"#),
    ] {
        assert_eq!(asked().eval(script), value, "{script}");
    }
}

#[test]
fn the_path_has_what_the_route_took_until_another_takes_its_place() {
    let env = get("/api").env();
    assert_eq!(eval(&env, "env.path.len()"), "0");
    env.set_path_params(vec![("id".into(), "a/b".into())]);
    assert_eq!(eval(&env, "[env.path.id, env.path.name]"), r#"["a/b",null]"#);
    env.set_path_params(vec![("name".into(), "x".into())]);
    assert_eq!(eval(&env, "[env.path.id, env.path.name, env.params.name]"), r#"[null,"x","x"]"#);
}

#[test]
fn of_params_the_first_part_that_has_the_name_wins() {
    let form = post("application/x-www-form-urlencoded", "from=form&only=f&only=g&id=form").env();
    let json = post("application/json; charset=utf-8", r#"{"from":"json","only":["f","g"],"id":7,"n":null}"#).env();
    for env in [&form, &json] {
        env.set_path_params(vec![("id".into(), "p".into())]);
        assert_eq!(eval(env, "[env.params.id, env.params.from, env.params.page]"), r#"["p","query","2"]"#);
        assert_eq!(eval(env, r#"[env.params.all("only"), env.params.all("id")]"#), r#"[["f","g"],["p"]]"#);
        assert_eq!(eval(env, r#"["only" in env.params, "nope" in env.params]"#), "[true,false]");
    }
    assert_eq!(eval(&form, "env.params"), r#"{"from":"query","id":"p","only":"g","page":"2"}"#);
    assert_eq!(eval(&json, "env.params"), r#"{"from":"query","id":"p","n":null,"only":["f","g"],"page":"2"}"#);
    assert_eq!(eval(&json, "env.params.keys()"), r#"["id","page","from","n","only"]"#);
}

#[test]
fn a_body_that_is_no_object_takes_no_part_in_params() {
    for body in ["[1,2]", "5", "\"page\"", "null", ""] {
        assert_eq!(post("application/json", body).eval("env.params.keys()"), r#"["page","from"]"#, "{body}");
    }
    assert_eq!(post("text/plain", "{\"a\":1}").eval("env.params.keys()"), r#"["page","from"]"#);
}

#[test]
fn half_a_million_fields_are_walked_in_no_time() {
    let body: String = (0..500_000).map(|number| format!("&{number}")).collect();
    let env = Env::new(Rc::new(post("application/x-www-form-urlencoded", body).request()), "rhaid".into(), u64::MAX);
    let start = std::time::Instant::now();
    assert_eq!(eval(&env, "env.params.len() + env.form.keys().len()"), "1000002");
    assert!(start.elapsed().as_secs() < 20, "quadratic");
}

#[test]
fn others_have_their_turn_while_many_fields_are_walked() {
    let body: String = (0..200_000).map(|number| format!("&{number}")).collect();
    let env = Env::new(Rc::new(post("application/x-www-form-urlencoded", body).request()), "rhaid".into(), u64::MAX);
    eval(&env, "env.form.len()");
    let form = env.body_members();
    tokio::runtime::LocalRuntime::new().unwrap().block_on(async {
        let mut work =
            std::pin::pin!(crate::fiber::run(crate::fiber::Limits::default(), || form.to_map().unwrap().len()));
        let mut turns = 0;
        loop {
            tokio::select! {
                biased;
                count = &mut work => {
                    assert_eq!(count.unwrap(), 200_000);
                    assert!(turns > 2, "{turns}");
                    return;
                }
                () = tokio::task::yield_now() => turns += 1,
            }
        }
    });
}
