//! The body of a request as text and as JSON, each checked when it is first read, and the query.

use std::rc::Rc;

use rhai::{Dynamic, ImmutableString};

use super::Env;
use super::fields::Pairs;
use crate::script::json::{self, Unread};
use crate::script::raise::Wrong;

/// What the request says that its body is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Form,
    Multipart,
    Json,
    Other,
}

impl Env {
    /// By the content type, whatever its parameters.
    pub(super) fn content(&self) -> Content {
        let essence = self.content_type().split(';').next().unwrap_or("").trim();
        let is = |kind: &str| essence.eq_ignore_ascii_case(kind);
        let suffix = essence.len().checked_sub(5).and_then(|start| essence.get(start..)).unwrap_or("");
        if is("application/json") || suffix.eq_ignore_ascii_case("+json") {
            Content::Json
        } else if is("application/x-www-form-urlencoded") {
            Content::Form
        } else if is("multipart/form-data") {
            Content::Multipart
        } else {
            Content::Other
        }
    }

    /// The content type; empty where the request has none.
    pub(super) fn content_type(&self) -> &str {
        let value = self.0.request.head.headers.get(http::header::CONTENT_TYPE);
        value.and_then(|value| value.to_str().ok()).unwrap_or("")
    }

    pub(super) fn text(&self) -> Result<ImmutableString, Wrong> {
        if let Some(text) = self.0.text.get() {
            return Ok(text.clone());
        }
        let text = String::from_utf8(self.received().all()?.into()).map_err(|error| {
            Wrong::malformed(format!("the body is not UTF-8 at byte {}", error.utf8_error().valid_up_to()))
        })?;
        Ok(self.0.text.get_or_init(|| text.into()).clone())
    }

    /// The query's parameters; its encoding was checked when the head was read.
    pub(super) fn query(&self) -> &Rc<Pairs> {
        self.0.query.get_or_init(|| {
            let pairs = form_urlencoded::parse(self.0.request.query().as_bytes());
            Pairs::parameters(pairs.map(|(name, value)| (name.as_ref().into(), value.as_ref().into())))
        })
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
        let bytes = self.received().all()?;
        if bytes.is_empty() {
            return Ok(Dynamic::UNIT);
        }
        json::parse(&bytes).map_err(|unread| match unread {
            Unread::Malformed(error) => Wrong::malformed(format!("the body is no JSON: {error}")),
            Unread::Stopped(stop) => stop.into(),
        })
    }
}
