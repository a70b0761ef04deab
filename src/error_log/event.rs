//! One event, and the two forms in which it is written.

use std::fmt::{Debug, Write};

use jiff::Timestamp;
use tracing::Event;
use tracing::field::{Field, Visit};

use crate::log_file::{Form, steers};

/// The lines of an event.
pub fn lines(form: Form, now: Timestamp, event: &Event<'_>) -> String {
    match form {
        Form::Text => format!("{now:.3} {}\n", text(event)),
        Form::Json => json(now, event),
    }
}

/// `ERROR message key=value`, then the other lines of the message; without the end of the last.
pub fn text(event: &Event<'_>) -> String {
    let parts = Parts::of(event);
    let mut line = format!("{} ", event.metadata().level());
    let (first, rest) = parts.message.split_once('\n').unwrap_or((&parts.message, ""));
    escape_into(&mut line, first);
    // The fields stand on the first line, so that a search for a request's id finds it.
    for (name, value) in &parts.fields {
        line.push(' ');
        line.push_str(name);
        line.push('=');
        field_into(&mut line, value.text());
    }
    for continued in rest.lines() {
        line.push('\n');
        // An excerpt is indented already. What begins at the margin could pass for an event.
        if !continued.is_empty() && !continued.starts_with(' ') {
            line.push_str("  ");
        }
        escape_into(&mut line, continued);
    }
    line
}

/// `{"time":"2026-11-30T16:54:50.123Z","level":"ERROR","message":"…","key":"value"}`, whatever the
/// lines of the message.
fn json(now: Timestamp, event: &Event<'_>) -> String {
    let (parts, level) = (Parts::of(event), event.metadata().level());
    let mut line = format!("{{\"time\":\"{now:.3}\",\"level\":\"{level}\",\"message\":");
    json_into(&mut line, &parts.message);
    for (name, value) in &parts.fields {
        line.push(',');
        json_into(&mut line, name);
        line.push(':');
        match value {
            Value::Text(text) => json_into(&mut line, text),
            Value::Number(number) => line.push_str(number),
        }
    }
    line.push_str("}\n");
    line
}

/// The message of an event, and its fields.
#[derive(Default)]
struct Parts {
    message: String,
    fields: Vec<(&'static str, Value)>,
}

enum Value {
    Text(String),
    /// A number or a truth value, as JSON writes it too.
    Number(String),
}

impl Value {
    fn text(&self) -> &str {
        let (Value::Text(text) | Value::Number(text)) = self;
        text
    }
}

impl Visit for Parts {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.take(field, value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.take(field, format!("{value:?}"));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.fields.push((field.name(), Value::Number(value.to_string())));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.fields.push((field.name(), Value::Number(value.to_string())));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.fields.push((field.name(), Value::Number(value.to_string())));
    }
}

impl Parts {
    fn of(event: &Event<'_>) -> Parts {
        let mut parts = Parts::default();
        event.record(&mut parts);
        parts
    }

    fn take(&mut self, field: &Field, value: String) {
        if field.name() == "message" {
            self.message.push_str(&value);
        } else {
            self.fields.push((field.name(), Value::Text(value)));
        }
    }
}

fn field_into(line: &mut String, value: &str) {
    if !value.is_empty() && !value.contains([' ', '"', '=']) {
        return escape_into(line, value);
    }
    // Quoted, as a value could otherwise claim to be several fields.
    line.push('"');
    escape_into(line, &value.replace('\\', "\\\\").replace('"', "\\\""));
    line.push('"');
}

/// Writes `text` so that it stays on its line and cannot steer a terminal.
fn escape_into(line: &mut String, text: &str) {
    for character in text.chars() {
        // Neither fails: a string takes all that memory has room for.
        let _ = match character {
            '\t' => line.write_char('\t'),
            control if control.is_control() => write!(line, "\\x{:02x}", u32::from(control)),
            steering if steers(steering) => write!(line, "{}", steering.escape_unicode()),
            other => line.write_char(other),
        };
    }
}

/// A text of JSON which cannot steer a terminal either: serde_json leaves the controls beyond ASCII
/// as they are.
fn json_into(line: &mut String, text: &str) {
    line.push('"');
    for character in text.chars() {
        let _ = match character {
            '"' => line.write_str("\\\""),
            '\\' => line.write_str("\\\\"),
            '\n' => line.write_str("\\n"),
            '\t' => line.write_str("\\t"),
            it if steers(it) => {
                write!(line, "\\u{:04x}", u32::from(it))
            }
            other => line.write_char(other),
        };
    }
    line.push('"');
}
