//! A value on its way into a statement or out of a row.

use std::borrow::Cow;

/// A parameter of a statement or a cell of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// SQL's NULL.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// A number that is neither, as its exact digits: a DECIMAL, an unsigned integer above `i64`.
    Decimal(Cow<'a, str>),
    /// Text; dates and times come as text too (`2014-02-08T16:54:50`).
    Text(Cow<'a, str>),
    /// A JSON document, as its text.
    Json(Cow<'a, str>),
    /// Bytes.
    Blob(Cow<'a, [u8]>),
    /// Several parameters for one placeholder, as in `IN (?)`; never a cell, and never in a list.
    List(Vec<Value<'a>>),
}

impl Value<'_> {
    /// The same value, which borrows nothing.
    pub fn to_owned(&self) -> Value<'static> {
        match self {
            Value::Null => Value::Null,
            Value::Bool(value) => Value::Bool(*value),
            Value::Int(value) => Value::Int(*value),
            Value::Float(value) => Value::Float(*value),
            Value::Decimal(digits) => Value::Decimal(digits.clone().into_owned().into()),
            Value::Text(text) => Value::Text(text.clone().into_owned().into()),
            Value::Json(text) => Value::Json(text.clone().into_owned().into()),
            Value::Blob(bytes) => Value::Blob(bytes.clone().into_owned().into()),
            Value::List(items) => Value::List(items.iter().map(Value::to_owned).collect()),
        }
    }
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Value::Text(value.into())
    }
}
