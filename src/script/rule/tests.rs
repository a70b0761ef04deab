use super::*;
use crate::script::json;

fn engine() -> rhai::Engine {
    rhai::Engine::new()
}

/// The rule that a script's value declares.
fn rule(declared: &str) -> Result<Rule, String> {
    Rule::of(&engine().eval::<Dynamic>(declared).unwrap())
}

/// What the rule makes of a value, as JSON, or its message.
fn check(declared: &str, value: &str) -> String {
    let checked = rule(declared).unwrap().check("p", &engine().eval::<Dynamic>(value).unwrap());
    match checked {
        Ok(value) => as_json(&value),
        Err(Unfit::Told(message)) => message,
        Err(Unfit::Stopped(stop)) => format!("stopped: {stop:?}"),
    }
}

fn as_json(value: &Dynamic) -> String {
    let mut out = Vec::new();
    json::write(&mut out, value, &json::Shapes::default()).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_type_alone_is_a_rule() {
    for (declared, value, outcome) in [
        (r#""int""#, r#""42""#, "42"),
        (r#""int""#, "42", "42"),
        (r#""int""#, r#""1x""#, "`p` is `1x`, expected an integer"),
        (r#""int""#, r#""""#, "`p` is ``, expected an integer"),
        (r#""int""#, "()", "`p` is `null`, expected an integer"),
        (
            r#""int""#,
            r#""12345678901234567890""#,
            "`p` is `12345678901234567890`, which is out of range, expected an integer",
        ),
        (r#""float""#, "1", "1.0"),
        (r#""bool""#, r#""on""#, "true"),
        (r#""string""#, "1", "`p` is `1`, expected a text"),
        (r#""date""#, r#""2024-02-30""#, "`p` is `2024-02-30`, expected a date such as `2024-02-29`"),
        (r#""datetime""#, r#""2024-02-29T12:00:00+01:00""#, r#""2024-02-29T11:00:00Z""#),
        (
            r#""datetime""#,
            r#""2024-02-29""#,
            "`p` is `2024-02-29`, expected a date and time such as `2024-02-29T12:30:00Z`",
        ),
        ("#{}", r#""x""#, r#""x""#),
    ] {
        assert_eq!(check(declared, value), outcome, "{declared} {value}");
    }
}

#[test]
fn bounds_are_part_of_what_is_expected() {
    for (declared, value, outcome) in [
        (r#"#{type: "int", min: 1, max: 100}"#, r#""100""#, "100"),
        (r#"#{type: "int", min: 1, max: 100}"#, r#""101""#, "`p` is `101`, expected an integer from 1 to 100"),
        (r#"#{type: "int", min: 1, max: 100}"#, r#""x""#, "`p` is `x`, expected an integer from 1 to 100"),
        (r#"#{type: "int", min: 1}"#, "0", "`p` is `0`, expected an integer of at least 1"),
        (r#"#{type: "int", max: -1}"#, "0", "`p` is `0`, expected an integer of at most -1"),
        (r#"#{type: "float", min: 0, max: 1}"#, "1.5", "`p` is `1.5`, expected a number from 0.0 to 1.0"),
        (r#"#{values: ["name", "id"]}"#, r#""id""#, r#""id""#),
        (r#"#{values: ["name", "id"]}"#, r#""Id""#, "`p` is `Id`, expected `name` or `id`"),
        (r#"#{type: "int", values: [1, 2, 3]}"#, r#""4""#, "`p` is `4`, expected `1`, `2` or `3`"),
        (r#"#{min_length: 2, max_length: 3}"#, r#""ééé""#, r#""ééé""#),
        (r#"#{min_length: 2, max_length: 3}"#, r#""é""#, "`p` is `é`, expected a text of 2 to 3 characters"),
        (r#"#{min_length: 1}"#, r#""""#, "`p` is ``, expected a text of at least 1 character"),
        (r#"#{pattern: "[a-z]+"}"#, r#""ab""#, r#""ab""#),
        (r#"#{pattern: "[a-z]+"}"#, r#""ab1""#, "`p` is `ab1`, expected a text that matches `[a-z]+`"),
        (r#"#{min_length: 2, max_length: 2}"#, r#""a""#, "`p` is `a`, expected a text of 2 characters"),
        (
            r#"#{type: "date", min: "2024-01-01"}"#,
            r#""2023-12-31""#,
            "`p` is `2023-12-31`, expected a date such as `2024-02-29`, not before 2024-01-01",
        ),
        (
            r#"#{type: "datetime", max: "2024-01-01T01:00:00+01:00"}"#,
            r#""2024-01-01T00:00:00Z""#,
            r#""2024-01-01T00:00:00Z""#,
        ),
        (
            r#"#{type: "datetime", max: "2024-01-01T01:00:00+01:00"}"#,
            r#""2024-01-01T00:00:00.1Z""#,
            "`p` is `2024-01-01T00:00:00.1Z`, expected a date and time such as `2024-02-29T12:30:00Z`, not after \
             2024-01-01T00:00:00Z",
        ),
    ] {
        assert_eq!(check(declared, value), outcome, "{declared} {value}");
    }
}

#[test]
fn a_list_takes_many_or_one() {
    for (declared, value, outcome) in [
        (r#""int[]""#, r#"["1", 2]"#, "[1,2]"),
        (r#""int[]""#, r#""1""#, "[1]"),
        (r#""int[]""#, "[]", "[]"),
        (r#""int[]""#, r#"["1", "x"]"#, "item 2 of `p` is `x`, expected an integer"),
        (r#""int[]""#, r#""x""#, "`p` is `x`, expected an integer"),
        (r#""int[]""#, "#{}", "`p` is `{…}`, expected a list of integers"),
        (r#""int[]""#, "()", "`p` is `null`, expected a list of integers"),
        (
            r#"#{type: "int[]", min: 1}"#,
            "()",
            "`p` is `null`, expected a list whose items are each an integer of at least 1",
        ),
        (r#"#{type: "int[]", min: 1}"#, "[0]", "item 1 of `p` is `0`, expected an integer of at least 1"),
        (r#"#{type: "string[]", max_items: 1}"#, r#"["a", "b"]"#, "`p` has 2 items, expected at most 1 item"),
        (r#"#{type: "string[]", min_items: 2, max_items: 3}"#, r#"["a"]"#, "`p` has 1 item, expected 2 to 3 items"),
    ] {
        assert_eq!(check(declared, value), outcome, "{declared} {value}");
    }
}

#[test]
fn what_is_absent_is_the_default_or_a_mistake() {
    for (declared, outcome) in [
        (r#""int""#, "`p` is missing, expected an integer"),
        (r#"#{type: "int", min: 1, "default": 1}"#, "1"),
        (r#"#{type: "float", "default": 1}"#, "1.0"),
        (r#"#{type: "int", "default": ()}"#, "null"),
        (r#"#{type: "int", required: false}"#, "null"),
        (r#""int[]""#, "[]"),
        (r#"#{type: "int[]", required: true}"#, "`p` is missing, expected a list of integers"),
        (r#"#{type: "int[]", min_items: 1}"#, "`p` has 0 items, expected at least 1 item"),
        (r#"#{type: "int[]", "default": [1]}"#, "[1]"),
    ] {
        let absent = rule(declared).unwrap().absent("p");
        assert_eq!(absent.map_or_else(|message| message, |value| as_json(&value)), outcome, "{declared}");
    }
    assert_eq!(check(r#"#{type: "int", "default": 5, empty_is_absent: true}"#, r#""""#), "5");
    assert_eq!(check(r#"#{empty_is_absent: true}"#, r#""""#), "`p` is missing, expected a text");
}

#[test]
fn a_wrong_declaration_says_what_would_be_right() {
    for (declared, message) in [
        (r#"#{type: "int", mim: 1}"#, "a parameter's declaration has no `mim`\nhint: did you mean `min`?"),
        (r#"#{type: "int", defualt: 1}"#, "a parameter's declaration has no `defualt`\nhint: did you mean `default`?"),
        (
            "#{x: 1}",
            "a parameter's declaration has no `x`\nhint: it may have `default`, `empty_is_absent`, `max`, `max_items`, \
             `max_length`, `min`, `min_items`, `min_length`, `pattern`, `required`, `summary`, `type` or `values`",
        ),
        (
            r#""integer""#,
            "`type` is `integer`, expected `int`, `float`, `bool`, `string`, `date` or `datetime`\n\
             hint: a list is written with `[]` behind the type of its items: `\"int[]\"`",
        ),
        (
            r#""itn[]""#,
            "`type` is `itn[]`, expected `int`, `float`, `bool`, `string`, `date` or `datetime`\n\
             hint: did you mean `\"int[]\"`?",
        ),
        ("5", "a parameter is declared as `5`, expected a type such as `\"int\"` or a map"),
        (
            r#"#{type: "string", min: 1}"#,
            "`min` is for numbers and dates, this is a `string`\nhint: `min_length` and `max_length` are for texts",
        ),
        (
            r#"#{type: "int", max_length: 1}"#,
            "`max_length` is for texts, this is a `int`\nhint: `min` and `max` are for numbers and dates",
        ),
        (
            r#"#{type: "int", max_items: 1}"#,
            "`max_items` is for lists, this is a `int`\nhint: a list is declared as `type: \"int[]\"`",
        ),
        (r#"#{type: "int", min: "x"}"#, "`min` is `x`, expected an integer"),
        (r#"#{type: "float", min: 0.0 / 0.0}"#, "`min` is `NaN`, expected a number"),
        (r#"#{type: "float", "default": 1.0 / 0.0}"#, "`default` is `inf`, expected a number"),
        (r#"#{type: "int", min: 2, max: 1}"#, "`min` is greater than `max`, so that nothing could fit"),
        (r#"#{min_length: 2, max_length: 1}"#, "`min_length` is greater than `max_length`, so that nothing could fit"),
        (r#"#{min_length: -1}"#, "`min_length` is `-1`, expected an integer of at least 0"),
        (r#"#{type: "int", min: 1, "default": 0}"#, "`default` is `0`, expected an integer of at least 1"),
        (r#"#{values: []}"#, "`values` is `[…]`, expected a list such as `[\"name\", \"id\"]`"),
        (r#"#{values: [1]}"#, "`values` is `1`, expected a text"),
        (r#"#{required: "yes"}"#, "`required` is `yes`, expected `true` or `false`"),
    ] {
        assert_eq!(rule(declared).unwrap_err(), message, "{declared}");
    }
}

#[test]
fn a_text_for_a_pattern_is_short_unless_the_rule_says_otherwise() {
    let long = |length: usize| format!(r#"let s = ""; s.pad({length}, "a"); s"#);
    let shown = "a".repeat(64);
    // A long text is waited for.
    let check = |declared: &str, value: &str| {
        let checked = fiber::run(fiber::Limits::default(), || check(declared, value));
        tokio::runtime::LocalRuntime::new().unwrap().block_on(checked).unwrap()
    };
    let message = format!("`p` is `{shown}…`, which is longer than 65536 bytes, expected a text that matches `a+`");
    assert_eq!(check("#{pattern: \"a+\"}", &long(65_537)), message);
    assert!(check("#{pattern: \"a+\"}", &long(65_536)).ends_with('"'));
    assert!(check("#{pattern: \"a+\", max_length: 100000}", &long(65_537)).ends_with('"'));
    assert!(check("#{}", &long(65_537)).ends_with('"'));
}

#[test]
fn a_long_text_is_matched_beside_the_worker() {
    let rule = rule(r#"#{pattern: "(a|b?){1,400}"}"#).unwrap();
    let checked = |length: usize| {
        // What is done beside the worker is waited for.
        let limits = fiber::Limits { waiting: fiber::Waiting::Refused, ..fiber::Limits::default() };
        let checked = fiber::run(limits, || rule.check("p", &"a".repeat(length).into()).is_ok_and(|it| it.is_string()));
        tokio::runtime::LocalRuntime::new().unwrap().block_on(checked).unwrap()
    };
    assert!(checked(60));
    assert!(!checked(400));
}

#[test]
fn others_have_their_turn_between_the_items_of_a_list() {
    let rule = rule(r#"#{type: "string[]", pattern: "((a|b){10})+"}"#).unwrap();
    let items: Dynamic = Array::from(vec!["a".repeat(60).into(); 20_000]).into();
    tokio::runtime::LocalRuntime::new().unwrap().block_on(async {
        let mut work = std::pin::pin!(fiber::run(fiber::Limits::default(), || rule.check("p", &items).is_ok()));
        let mut turns = 0;
        loop {
            tokio::select! {
                biased;
                fits = &mut work => {
                    assert!(fits.unwrap() && turns > 1, "{turns}");
                    return;
                }
                () = tokio::task::yield_now() => turns += 1,
            }
        }
    });
}
