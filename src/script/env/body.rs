//! The body of a request as text, as a form and as JSON, each checked when it is first read.

use std::rc::Rc;

use rhai::{Dynamic, ImmutableString};

use super::fields::Pairs;
use super::{Env, target};
use crate::fiber;
use crate::script::json::{self, Unread};
use crate::script::raise::Wrong;

/// What the request says that its body is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Form,
    Json,
    Other,
}

impl Env {
    /// By the content type, whatever its parameters.
    pub(super) fn content(&self) -> Content {
        let Some(value) = self.0.request.head.headers.get(http::header::CONTENT_TYPE) else { return Content::Other };
        let essence = value.to_str().unwrap_or("").split(';').next().unwrap_or("").trim().to_ascii_lowercase();
        match essence.as_str() {
            "application/x-www-form-urlencoded" => Content::Form,
            "application/json" => Content::Json,
            _ if essence.ends_with("+json") => Content::Json,
            _ => Content::Other,
        }
    }

    pub(super) fn text(&self) -> Result<ImmutableString, Wrong> {
        if let Some(text) = self.0.text.get() {
            return Ok(text.clone());
        }
        let text = String::from_utf8(self.bytes()?.into()).map_err(|error| {
            Wrong::malformed(format!("the body is not UTF-8 at byte {}", error.utf8_error().valid_up_to()))
        })?;
        Ok(self.0.text.get_or_init(|| text.into()).clone())
    }

    /// The query's parameters; its encoding was checked when the head was read.
    pub(super) fn query(&self) -> &Rc<Pairs> {
        self.0.query.get_or_init(|| {
            let pairs = form_urlencoded::parse(self.0.request.query().as_bytes());
            Pairs::last(pairs.map(|(name, value)| (name.as_ref().into(), value.as_ref().into())).collect())
        })
    }

    /// No fields, where the body is no form.
    pub(super) fn form(&self) -> Result<&Rc<Pairs>, Wrong> {
        if let Some(form) = self.0.form.get() {
            return Ok(form);
        }
        let form = if self.content() == Content::Form { self.read_form()? } else { Pairs::none() };
        Ok(self.0.form.get_or_init(|| form))
    }

    fn read_form(&self) -> Result<Rc<Pairs>, Wrong> {
        let bytes = self.bytes()?;
        let text = std::str::from_utf8(&bytes)
            .map_err(|error| Wrong::malformed(format!("the form is not UTF-8 at byte {}", error.valid_up_to())))?;
        if let Some(place) = memchr::memchr(0, &bytes) {
            return Err(Wrong::malformed(format!("the form has a NUL byte at byte {place}")));
        }
        target::check_encoding("the form", text).map_err(Wrong::malformed)?;
        let mut pairs = Vec::new();
        for (name, value) in form_urlencoded::parse(&bytes) {
            // A few megabytes make many times as much of pairs.
            fiber::tick()?;
            pairs.push((name.as_ref().into(), value.as_ref().into()));
        }
        Ok(Pairs::last(pairs))
    }

    /// `()`, where the body is empty or no JSON by its content type.
    pub(super) fn json(&self) -> Result<&Dynamic, Wrong> {
        if let Some(value) = self.0.json.get() {
            return Ok(value);
        }
        let value = if self.content() == Content::Json { self.read_json()? } else { Dynamic::UNIT };
        Ok(self.0.json.get_or_init(|| value))
    }

    fn read_json(&self) -> Result<Dynamic, Wrong> {
        let bytes = self.bytes()?;
        if bytes.is_empty() {
            return Ok(Dynamic::UNIT);
        }
        json::parse(&bytes).map_err(|unread| match unread {
            Unread::Malformed(error) => Wrong::malformed(format!("the body is no JSON: {error}")),
            Unread::Stopped(stop) => stop.into(),
        })
    }
}
