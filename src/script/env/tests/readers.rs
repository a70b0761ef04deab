use super::*;

fn query(script: &str) -> String {
    get("/api?i=42&neg=-7&zero=007&f=1.5&e=1e3&t=true&on=on&off=0&s=text&empty=&x=1x&sp=+1&plus=%2B1&long=12345678901234567890&big=99999999999999999999999999999999999999999999999999999999999999999999999999&nan=NaN&inf=inf&huge=1e999&dot=5.&tail=1%20")
        .eval(script)
}

#[test]
fn what_fits_is_read_in_its_type() {
    for (script, value) in [
        (r#"env.query.int("i")"#, "42"),
        (r#"env.query.int("neg")"#, "-7"),
        (r#"env.query.int("zero")"#, "7"),
        (r#"env.query.float("f")"#, "1.5"),
        (r#"env.query.float("e")"#, "1000.0"),
        (r#"env.query.float("i")"#, "42.0"),
        (r#"env.query.float("neg")"#, "-7.0"),
        (r#"env.query.bool("t")"#, "true"),
        (r#"env.query.bool("on")"#, "true"),
        (r#"env.query.bool("off")"#, "false"),
        (r#"env.query.string("s")"#, "\"text\""),
        (r#"env.query.string("empty")"#, "\"\""),
        (r#"env.query.int("i", 1)"#, "42"),
        (r#"env.query.int("page", 1)"#, "1"),
        (r#"env.query.float("page", 0.5)"#, "0.5"),
        (r#"env.query.bool("page", false)"#, "false"),
        (r#"env.query.string("page", "x")"#, "\"x\""),
        (r#"env.query.int("page", ())"#, "null"),
        (r#"env.params.int("i") + env.query.int("neg")"#, "35"),
    ] {
        assert_eq!(query(script), value, "{script}");
    }
}

#[test]
fn what_does_not_fit_is_a_400_that_names_the_field() {
    for (script, message) in [
        (r#"env.query.int("nope")"#, "`nope` is missing, expected an integer"),
        (r#"env.query.int("x")"#, "`x` is `1x`, expected an integer"),
        (r#"env.query.int("x", 1)"#, "`x` is `1x`, expected an integer"),
        (r#"env.query.int("empty", 1)"#, "`empty` is ``, expected an integer"),
        (r#"env.query.int("sp")"#, "`sp` is ` 1`, expected an integer"),
        (r#"env.query.int("tail")"#, "`tail` is `1 `, expected an integer"),
        (r#"env.query.int("plus")"#, "`plus` is `+1`, expected an integer"),
        (r#"env.query.int("long")"#, "`long` is `12345678901234567890`, which is out of range, expected an integer"),
        (r#"env.query.int("f")"#, "`f` is `1.5`, expected an integer"),
        (r#"env.query.int("e")"#, "`e` is `1e3`, expected an integer"),
        (
            r#"env.query.int("big")"#,
            "`big` is `9999999999999999999999999999999999999999999999999999999999999999…`, which is out of range, expected an integer",
        ),
        (r#"env.query.float("x")"#, "`x` is `1x`, expected a number"),
        (r#"env.query.float("nan")"#, "`nan` is `NaN`, expected a number"),
        (r#"env.query.float("inf")"#, "`inf` is `inf`, expected a number"),
        (r#"env.query.float("huge")"#, "`huge` is `1e999`, expected a number"),
        (r#"env.query.float("dot")"#, "`dot` is `5.`, expected a number"),
        (r#"env.query.float("plus")"#, "`plus` is `+1`, expected a number"),
        (r#"env.query.bool("i")"#, "`i` is `42`, expected `true` or `false`"),
        (r#"env.query.bool("empty")"#, "`empty` is ``, expected `true` or `false`"),
        (r#"env.query.string("nope")"#, "`nope` is missing, expected a text"),
    ] {
        assert_eq!(query(script), format!("400 {message} @11"), "{script}");
    }
}

#[test]
fn a_json_member_keeps_its_type() {
    let asked = || {
        post(
            "application/json",
            r#"{"i":1,"t":"1","f":1.5,"one":1.0,"n":null,"b":true,"bt":"false","a":[1],"o":{"x":1},"u":18446744073709551615}"#,
        )
    };
    for (script, outcome) in [
        (r#"env.params.int("i")"#, "1"),
        (r#"env.params.int("t")"#, "1"),
        (r#"env.params.float("f")"#, "1.5"),
        (r#"env.params.float("i")"#, "1.0"),
        (r#"env.params.float("u")"#, "1.8446744073709552e+19"),
        (r#"env.params.bool("b")"#, "true"),
        (r#"env.params.bool("bt")"#, "false"),
        (r#"env.params.string("t")"#, "\"1\""),
        (r#"env.params.int("f")"#, "400 `f` is `1.5`, expected an integer @12"),
        (r#"env.params.int("one")"#, "400 `one` is `1.0`, expected an integer @12"),
        (r#"env.params.int("n", 1)"#, "400 `n` is `null`, expected an integer @12"),
        (r#"env.params.int("u")"#, "400 `u` is `18446744073709551615`, which is out of range, expected an integer @12"),
        (r#"env.params.int("b")"#, "400 `b` is `true`, expected an integer @12"),
        (r#"env.params.int("a")"#, "400 `a` is `[…]`, expected an integer @12"),
        (r#"env.params.string("o")"#, "400 `o` is `{…}`, expected a text @12"),
        (r#"env.params.string("i")"#, "400 `i` is `1`, expected a text @12"),
        (r#"env.params.bool("i")"#, "400 `i` is `1`, expected `true` or `false` @12"),
    ] {
        assert_eq!(asked().eval(script), outcome, "{script}");
    }
}

#[test]
fn a_readers_default_is_not_for_a_script_that_catches_the_400() {
    let script = r#"try { env.query.int("nope") } catch (error) { return [error.status, error.message] }"#;
    assert_eq!(query(script), r#"[400,"`nope` is missing, expected an integer"]"#);
}

#[test]
fn options_bound_what_fits() {
    let query = |script| {
        get("/api?page=0&n=7&f=2.5&sort=name&word=caf%C3%A9&empty=&d=2024-02-29&t=2024-02-29T12:00:00%2B01:00")
            .eval(script)
    };
    for (script, outcome) in [
        (r#"env.query.int("n", #{min: 1, max: 100, "default": 1})"#, "7"),
        (r#"env.query.int("nope", #{min: 1, max: 100, "default": 1})"#, "1"),
        (
            r#"env.query.int("page", #{min: 1, max: 100, "default": 1})"#,
            "400 `page` is `0`, expected an integer from 1 to 100 @11",
        ),
        (r#"env.query.int("nope", #{min: 1})"#, "400 `nope` is missing, expected an integer of at least 1 @11"),
        (r#"env.query.int("nope", #{required: false})"#, "null"),
        (r#"env.query.int("empty", #{"default": 3, empty_is_absent: true})"#, "3"),
        (r#"env.query.float("f", #{max: 2})"#, "400 `f` is `2.5`, expected a number of at most 2.0 @11"),
        (r#"env.query.string("sort", #{values: ["name", "id"]})"#, r#""name""#),
        (r#"env.query.string("word", #{values: ["name", "id"]})"#, "400 `word` is `café`, expected `name` or `id` @11"),
        (r#"env.query.string("word", #{max_length: 4, pattern: "[\\p{L}]+"})"#, r#""café""#),
        (r#"env.query.date("d")"#, r#""2024-02-29""#),
        (r#"env.query.datetime("t")"#, r#""2024-02-29T11:00:00Z""#),
        (r#"env.query.date("nope", ())"#, "null"),
        (r#"env.query.date("n")"#, "400 `n` is `7`, expected a date such as `2024-02-29` @11"),
        (r#"env.query.int("n", #{mni: 1})"#, "a parameter's declaration has no `mni`\nhint: did you mean `min`? @11"),
    ] {
        assert_eq!(query(script), outcome, "{script}");
    }
}

#[test]
fn a_list_has_all_values_of_a_name() {
    let query = |script| get("/api?id=1&id=2&one=5&word=a&word=b&x=1&x=y").eval(script);
    for (script, outcome) in [
        (r#"env.query.list("id", "int")"#, "[1,2]"),
        (r#"env.query.list("id", "int[]")"#, "[1,2]"),
        (r#"env.query.list("one", "int")"#, "[5]"),
        (r#"env.query.list("word")"#, r#"["a","b"]"#),
        (r#"env.query.list("nope", "int")"#, "[]"),
        (r#"env.query.list("x", "int")"#, "400 item 2 of `x` is `y`, expected an integer @11"),
        (r#"env.query.list("id", #{type: "int", max_items: 1})"#, "400 `id` has 2 items, expected at most 1 item @11"),
        (
            r#"env.query.list("nope", #{type: "int", min_items: 1})"#,
            "400 `nope` has 0 items, expected at least 1 item @11",
        ),
        (r#"env.query.list("word", #{values: ["a", "b"], "default": ["a"]})"#, r#"["a","b"]"#),
        (r#"env.query.list("nope", #{values: ["a", "b", "c"], "default": ["c"]})"#, r#"["c"]"#),
        (
            r#"env.query.list("id", "itn")"#,
            "`type` is `itn[]`, expected `int`, `float`, `bool`, `string`, `date` or `datetime`\nhint: did you mean `\"int[]\"`? @11",
        ),
    ] {
        assert_eq!(query(script), outcome, "{script}");
    }
    let json = |script| post("application/json", r#"{"ids":[1,"2"],"one":3,"bad":[1,null],"null":null}"#).eval(script);
    for (script, outcome) in [
        (r#"env.params.list("ids", "int")"#, "[1,2]"),
        (r#"env.params.list("one", "int")"#, "[3]"),
        (r#"env.params.list("bad", "int")"#, "400 item 2 of `bad` is `null`, expected an integer @12"),
        (r#"env.params.list("null", "int")"#, "400 `null` is `null`, expected a list of integers @12"),
    ] {
        assert_eq!(json(script), outcome, "{script}");
    }
}
