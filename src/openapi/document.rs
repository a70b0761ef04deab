//! The OpenAPI 3.1 document of routes.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::Info;
use crate::script::{Many, Operation, Parameter, Success};
use crate::{auth, envelope};

/// Methods that a path of the document can have.
const METHODS: [&str; 8] = ["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"];

/// The whole document.
#[derive(Serialize)]
pub(super) struct Document {
    openapi: &'static str,
    info: Value,
    servers: [Value; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    security: Vec<Value>,
    #[serde(serialize_with = "in_order")]
    paths: Vec<(String, Map<String, Value>)>,
    components: Value,
}

impl Document {
    /// Describes what is below `base`.
    pub(super) fn new(
        info: &Info,
        base: &str,
        auth: &auth::Settings,
        envelope: &envelope::Settings,
        operations: &[Operation],
    ) -> Document {
        let envelope = Envelope::of(envelope);
        let (schemes, security) = security(auth);
        let mut paths = Paths::default();
        for operation in operations.iter().filter(|it| METHODS.contains(&it.method.as_str())) {
            paths.add(operation, &envelope, !schemes.is_empty());
        }
        let mut components = json!({
            "schemas": {"Success": envelope.success(&json!({})), "Failure": envelope.failure},
            "responses": {"Failure": {
                "description": "What went wrong",
                "content": {envelope.failure_type: {"schema": {"$ref": "#/components/schemas/Failure"}}},
            }},
        });
        if !schemes.is_empty() {
            components["securitySchemes"] = schemes.into();
        }
        let mut about = json!({"title": info.title, "version": info.version});
        if let Some(description) = &info.description {
            about["description"] = description.as_str().into();
        }
        Document {
            openapi: "3.1.0",
            info: about,
            servers: [json!({"url": if base.is_empty() { "/" } else { base }})],
            security,
            paths: paths.items,
            components,
        }
    }
}

/// Paths stay in the order in which the script declares them.
fn in_order<S: Serializer>(paths: &[(String, Map<String, Value>)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(paths.iter().map(|(path, item)| (path, item)))
}

/// The schemes by which a key is shown, and the document's `security`: one of them, or none where none is required.
fn security(auth: &auth::Settings) -> (Map<String, Value>, Vec<Value>) {
    let Some(places) = auth.places() else { return Default::default() };
    let mut schemes = Map::new();
    if places.bearer {
        schemes.insert("bearer".to_owned(), json!({"type": "http", "scheme": "bearer"}));
    }
    for (place, name) in [("header", places.header), ("query", places.query)] {
        if let Some(name) = name {
            schemes.insert(format!("{place}Key"), json!({"type": "apiKey", "in": place, "name": name}));
        }
    }
    let mut security: Vec<Value> = schemes.keys().map(|name| json!({name.as_str(): []})).collect();
    if !places.is_required {
        security.push(json!({}));
    }
    (schemes, security)
}

/// The forms of successes and failures.
struct Envelope {
    /// What stands around the data: names and words in their order, the data last; `None` where nothing does.
    around: Option<(String, Value, String)>,
    failure: Value,
    failure_type: &'static str,
}

impl Envelope {
    fn of(settings: &envelope::Settings) -> Envelope {
        let write = |out: &mut Vec<u8>| {
            out.extend_from_slice(b"null");
            Ok::<_, std::convert::Infallible>(())
        };
        let Ok(success) = settings.success(write);
        let pair = |bytes: &[u8]| -> Option<(String, Value, String)> {
            let object: Map<String, Value> = serde_json::from_slice(bytes).ok()?;
            let (word, value) = object.iter().find(|(_, it)| it.as_str().is_some_and(|it| !it.is_empty()))?;
            let (data, _) = object.iter().find(|(name, _)| *name != word)?;
            Some((word.clone(), value.clone(), data.clone()))
        };
        let failure = match pair(&settings.fail("")) {
            None => json!({"type": "string"}),
            Some((status, word, message)) => json!({
                "type": "object",
                "required": [status, message],
                "properties": {status: {"const": word}, message: {"type": "string"}},
            }),
        };
        Envelope { around: pair(&success), failure, failure_type: settings.fail_type() }
    }

    fn success(&self, data: &Value) -> Value {
        match &self.around {
            None => data.clone(),
            Some((status, word, name)) => json!({
                "type": "object",
                "required": [status, name],
                "properties": {status: {"const": word}, name: data},
            }),
        }
    }
}

#[derive(Default)]
struct Paths {
    items: Vec<(String, Map<String, Value>)>,
    /// Paths without their names, with the path and the names that stand for them: two may not differ in names alone.
    known: BTreeMap<String, (String, Vec<String>)>,
    /// Identifiers that were given.
    ids: Vec<String>,
}

impl Paths {
    fn add(&mut self, operation: &Operation, envelope: &Envelope, has_keys: bool) {
        let method = operation.method.to_ascii_lowercase();
        let bare = bare(&operation.path);
        let own = || operation.in_path.iter().map(|it| it.name.clone()).collect();
        let (path, names) = self.known.entry(bare).or_insert_with(|| (operation.path.clone(), own())).clone();
        let place = self.items.iter().position(|(other, _)| *other == path).unwrap_or_else(|| {
            self.items.push((path.clone(), Map::new()));
            self.items.len() - 1
        });
        let item = &mut self.items[place].1;
        // The first route that fits answers.
        if !item.contains_key(&method) {
            let id = unique(&mut self.ids, &identifier(&method, &path));
            item.insert(method, described(operation, &names, id, envelope, has_keys));
        }
    }
}

fn described(operation: &Operation, names: &[String], id: String, envelope: &Envelope, has_keys: bool) -> Value {
    let has_body = matches!(operation.method.as_str(), "POST" | "PUT" | "PATCH");
    // Where a route takes a body and says nothing else of it, its parameters may come in a form.
    let in_form = has_body && operation.body.is_empty();
    let mut parameters: Vec<Value> =
        operation.in_path.iter().zip(names).map(|(it, name)| parameter(it, name, "path")).collect();
    if !in_form {
        parameters.extend(operation.in_query.iter().map(|it| parameter(it, &it.name, "query")));
    }
    let mut out = json!({"operationId": id, "responses": responses(operation, envelope, has_keys)});
    let tags = if operation.tags.is_empty() { first_segment(&operation.path) } else { operation.tags.clone() };
    if !tags.is_empty() {
        out["tags"] = tags.into();
    }
    if let Some(summary) = &operation.summary {
        out["summary"] = summary.as_str().into();
    }
    let suffixes = operation.suffixes.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(" or ");
    let suffixes = (!suffixes.is_empty()).then(|| format!("The path may end in {suffixes}."));
    let texts: Vec<&str> = operation.description.iter().chain(&suffixes).map(String::as_str).collect();
    if !texts.is_empty() {
        out["description"] = texts.join("\n\n").into();
    }
    if operation.is_deprecated {
        out["deprecated"] = true.into();
    }
    if !parameters.is_empty() {
        out["parameters"] = parameters.into();
    }
    let fields = if in_form { &operation.in_query } else { &operation.body };
    if !fields.is_empty() {
        let schema = object(fields);
        out["requestBody"] = json!({
            "required": fields.iter().any(|it| it.is_required),
            "content": {"application/json": {"schema": schema}, "application/x-www-form-urlencoded": {"schema": schema}},
        });
    }
    out
}

fn responses(operation: &Operation, envelope: &Envelope, has_keys: bool) -> Value {
    let failure = || json!({"$ref": "#/components/responses/Failure"});
    let content = match &operation.success {
        Success::Anything => json!({"application/json": {"schema": {"$ref": "#/components/schemas/Success"}}}),
        Success::Media(media) => json!({media.as_str(): {}}),
        Success::Data(fields, many) => {
            let one = object(fields);
            let data = if *many == Many::List { json!({"type": "array", "items": one}) } else { one };
            json!({"application/json": {"schema": envelope.success(&data)}})
        }
    };
    let mut responses = json!({"200": {"description": "Success", "content": content}, "default": failure()});
    if [&operation.in_query, &operation.body, &operation.in_path].iter().any(|it| !it.is_empty()) {
        responses["400"] = failure();
    }
    if has_keys {
        responses["401"] = failure();
    }
    responses
}

fn parameter(parameter: &Parameter, name: &str, place: &str) -> Value {
    let mut out = json!({"name": name, "in": place, "required": parameter.is_required, "schema": parameter.schema});
    if let Some(summary) = &parameter.summary {
        out["description"] = summary.as_str().into();
    }
    out
}

/// The schema of an object with these members.
fn object(fields: &[Parameter]) -> Value {
    let property = |it: &Parameter| {
        let mut schema = it.schema.clone();
        if let Some(summary) = &it.summary {
            schema["description"] = summary.as_str().into();
        }
        (it.name.clone(), schema)
    };
    let properties: Map<String, Value> = fields.iter().map(property).collect();
    let required: Vec<&str> = fields.iter().filter(|it| it.is_required).map(|it| it.name.as_str()).collect();
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

/// A path without the names in its braces.
fn bare(path: &str) -> String {
    let segment = |it: &str| if it.starts_with('{') { "{}".to_owned() } else { it.to_owned() };
    path.split('/').map(segment).collect::<Vec<_>>().join("/")
}

/// What a route is sorted by that does not say so itself.
fn first_segment(path: &str) -> Vec<String> {
    let first = path.split('/').nth(1).unwrap_or_default();
    if first.is_empty() || first.starts_with('{') { Vec::new() } else { vec![first.to_owned()] }
}

/// `get_projects_id` of GET `/projects/{id}`.
fn identifier(method: &str, path: &str) -> String {
    let words = path.split(|it: char| !it.is_ascii_alphanumeric()).filter(|it| !it.is_empty());
    std::iter::once(method).chain(words).collect::<Vec<_>>().join("_")
}

fn unique(ids: &mut Vec<String>, wanted: &str) -> String {
    let numbered = (2..).map(|number| format!("{wanted}_{number}"));
    let free = std::iter::once(wanted.to_owned()).chain(numbered).find(|it| !ids.contains(it));
    let id = free.unwrap_or_default();
    ids.push(id.clone());
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_differ_in_names_alone_are_one() {
        assert_eq!(bare("/a/{x}/b"), bare("/a/{y}/b"));
        assert_ne!(bare("/a/{x}"), bare("/a/x"));
    }

    #[test]
    fn an_identifier_is_unique() {
        let mut ids = Vec::new();
        let mut next = |path| unique(&mut ids, &identifier("get", path));
        assert_eq!([next("/"), next("/a/{id}"), next("/a-id"), next("/é")], ["get", "get_a_id", "get_a_id_2", "get_2"]);
    }

    #[test]
    fn the_envelope_is_as_it_is_configured() {
        let named =
            crate::directive::apply(envelope::Settings::default(), "envelope: {status: a, success: b, data: z}");
        let envelope = Envelope::of(&named.unwrap());
        let expected = json!({"type": "object", "required": ["a", "z"], "properties": {"a": {"const": "b"}, "z": {}}});
        assert_eq!(envelope.success(&json!({})), expected);
        let off = crate::directive::apply(envelope::Settings::default(), "envelope: OFF").unwrap();
        let envelope = Envelope::of(&off);
        assert_eq!(envelope.success(&json!({"type": "integer"})), json!({"type": "integer"}));
        assert_eq!((envelope.failure, envelope.failure_type), (json!({"type": "string"}), "text/plain; charset=utf-8"));
    }
}
