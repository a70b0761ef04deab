//! Whether two values are the same, and where they are not.

use rhai::{Dynamic, ImmutableString, NativeCallContext};
use serde_json::Value;

use crate::script::{Context, write_json};

/// What of a value is shown in a message, in characters.
const SHOWN: usize = 400;

/// What two values differ in, as a message; `None` if they are the same. They are compared as JSON, where a row is as
/// good as a map and 1 as good as 1.0; what has no JSON is compared as `==` does.
pub(super) fn difference(call: &NativeCallContext, left: &Dynamic, right: &Dynamic) -> Option<String> {
    let place = match (json(call, left), json(call, right)) {
        (Some(left), Some(right)) => first(&left, &right)?,
        _ if call.call_native_fn::<bool>("==", (left.clone(), right.clone())).unwrap_or(false) => return None,
        _ => Difference::default(),
    };
    let (left, right) = (shown(call, left), shown(call, right));
    let message = format!("the two are not the same\nleft:  {left}\nright: {right}");
    if place.path.is_empty() {
        return Some(message);
    }
    let of = |value: Option<String>| value.map_or_else(|| "absent".to_owned(), |it| cut(&it));
    Some(format!("{message}\nfirst at `{}`: left is {}, right is {}", place.path, of(place.left), of(place.right)))
}

/// The text of a value in a message.
pub(super) fn shown(call: &NativeCallContext, value: &Dynamic) -> String {
    let mut text = Vec::new();
    let written = Context::with(call, |context| write_json(&mut text, value, &context.shapes));
    if matches!(written, Ok(Ok(()))) {
        return cut(&String::from_utf8_lossy(&text));
    }
    // What has no JSON has a text.
    let text = call.call_native_fn::<ImmutableString>("to_debug", (value.clone(),));
    cut(&text.map_or_else(|_| value.to_string(), |it| it.to_string()))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn json(call: &NativeCallContext, value: &Dynamic) -> Option<Value> {
    let mut text = Vec::new();
    Context::with(call, |context| write_json(&mut text, value, &context.shapes)).ok()?.ok()?;
    serde_json::from_slice(&text).ok()
}

/// Where two values differ first, and in what; empty for the values as a whole.
#[derive(Debug, Default, PartialEq)]
struct Difference {
    path: String,
    left: Option<String>,
    right: Option<String>,
}

impl Difference {
    fn within(self, step: &str) -> Difference {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        Difference { path: format!("{step}{dot}{}", self.path), ..self }
    }
}

fn first(left: &Value, right: &Value) -> Option<Difference> {
    let differ = |left: Option<&Value>, right: Option<&Value>| match (left, right) {
        (Some(left), Some(right)) => first(left, right),
        (left, right) => Some(Difference {
            left: left.map(ToString::to_string),
            right: right.map(ToString::to_string),
            ..Difference::default()
        }),
    };
    match (left, right) {
        (Value::Array(left), Value::Array(right)) => (0..left.len().max(right.len()))
            .find_map(|index| differ(left.get(index), right.get(index)).map(|it| it.within(&format!("[{index}]")))),
        (Value::Object(left), Value::Object(right)) => {
            let others = right.keys().filter(|it| !left.contains_key(*it));
            left.keys().chain(others).find_map(|key| differ(left.get(key), right.get(key)).map(|it| it.within(key)))
        }
        (Value::Number(left), Value::Number(right))
            if (left.is_f64() || right.is_f64()) && left.as_f64() == right.as_f64() =>
        {
            None
        }
        (left, right) if left == right => None,
        (left, right) => {
            Some(Difference { path: String::new(), left: Some(left.to_string()), right: Some(right.to_string()) })
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn place(left: Value, right: Value) -> Option<String> {
        first(&left, &right).map(|it| it.path)
    }

    #[test]
    fn the_first_difference_is_found_wherever_it_lies() {
        assert_eq!(place(json!({"a": [1, 2.0], "b": null}), json!({"b": null, "a": [1.0, 2]})), None);
        assert_eq!(place(json!(1), json!("1")).as_deref(), Some(""));
        assert_eq!(place(json!([1, 2]), json!([1])).as_deref(), Some("[1]"));
        assert_eq!(place(json!({"data": [{"id": 1}]}), json!({"data": [{"id": 2}]})).as_deref(), Some("data[0].id"));
        assert_eq!(place(json!({}), json!({"a": null})).as_deref(), Some("a"));
        // Both are the same float.
        assert_eq!(place(json!(9_007_199_254_740_993_i64), json!(9_007_199_254_740_992_i64)).as_deref(), Some(""));
    }
}
