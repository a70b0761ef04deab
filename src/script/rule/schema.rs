//! A rule as a JSON Schema (2020-12), for descriptions of an API.

use rhai::Dynamic;
use serde_json::{Map, Value};

use super::{Kind, Rule};

impl Rule {
    /// The schema of the values that fit.
    pub fn schema(&self) -> Value {
        let mut item = self.item_schema();
        if self.is_list {
            let mut list = Map::from_iter([("type".to_owned(), "array".into()), ("items".to_owned(), item.into())]);
            put(&mut list, "minItems", self.items.min.map(Value::from));
            put(&mut list, "maxItems", self.items.max.map(Value::from));
            item = list;
        }
        put(&mut item, "default", self.default.as_ref().filter(|it| !it.is_unit()).map(json));
        item.into()
    }

    fn item_schema(&self) -> Map<String, Value> {
        let (kind, format) = match self.kind {
            Kind::Int => ("integer", Some("int64")),
            Kind::Float => ("number", None),
            Kind::Bool => ("boolean", None),
            Kind::String => ("string", None),
            Kind::Date => ("string", Some("date")),
            Kind::Datetime => ("string", Some("date-time")),
        };
        let mut schema = Map::from_iter([("type".to_owned(), Value::from(kind))]);
        put(&mut schema, "format", format.map(Value::from));
        // Of dates JSON Schema knows no bounds.
        if matches!(self.kind, Kind::Int | Kind::Float) {
            put(&mut schema, "minimum", self.min.as_ref().map(json));
            put(&mut schema, "maximum", self.max.as_ref().map(json));
        }
        put(&mut schema, "minLength", self.length.min.map(Value::from));
        put(&mut schema, "maxLength", self.length.max.map(Value::from));
        put(&mut schema, "pattern", self.pattern.as_ref().map(|it| format!("^(?:{})$", it.source).into()));
        if !self.values.is_empty() {
            put(&mut schema, "enum", Some(self.values.iter().map(json).collect()));
        }
        schema
    }
}

fn put(schema: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    if let Some(value) = value {
        schema.insert(name.to_owned(), value);
    }
}

/// A value that a rule has, which is in the rule's type.
fn json(value: &Dynamic) -> Value {
    if let Ok(number) = value.as_int() {
        return number.into();
    }
    if let Ok(number) = value.as_float() {
        return number.into();
    }
    if let Ok(flag) = value.as_bool() {
        return flag.into();
    }
    match value.as_array_ref() {
        Ok(items) => items.iter().map(json).collect(),
        Err(_) => value.to_string().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(declared: &str) -> String {
        let declared = rhai::Engine::new().eval::<Dynamic>(declared).unwrap();
        Rule::of(&declared).unwrap().schema().to_string()
    }

    #[test]
    fn a_rule_says_what_a_schema_can_say() {
        for (declared, expected) in [
            ("\"int\"", r#"{"format":"int64","type":"integer"}"#),
            (
                "#{type: \"int\", min: 1, max: 9, \"default\": 2}",
                r#"{"default":2,"format":"int64","maximum":9,"minimum":1,"type":"integer"}"#,
            ),
            ("#{type: \"float\", min: 0.5}", r#"{"minimum":0.5,"type":"number"}"#),
            ("#{values: [\"a\", \"b\"]}", r#"{"enum":["a","b"],"type":"string"}"#),
            ("#{pattern: \"a|b\", max_length: 3}", r#"{"maxLength":3,"pattern":"^(?:a|b)$","type":"string"}"#),
            ("#{type: \"date\", min: \"2024-01-01\"}", r#"{"format":"date","type":"string"}"#),
            (
                "#{type: \"bool[]\", max_items: 3, \"default\": [true]}",
                r#"{"default":[true],"items":{"type":"boolean"},"maxItems":3,"type":"array"}"#,
            ),
        ] {
            assert_eq!(schema(declared), expected, "{declared}");
        }
    }
}
