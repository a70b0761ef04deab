//! `error-doc`: which document is the body of which error; who asks for it is not known here.

use http::StatusCode;
use http::uri::PathAndQuery;

use crate::directive::{self, Directive, Kind, Level, Node, Problem, Problems, Repeat};

/// The documents of a level and of those outside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Of this level; of two for one status the first counts, as in h2o.
    own: Vec<Document>,
    /// Of the outer levels, which in h2o would win.
    outer: Vec<Document>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Document {
    status: StatusCode,
    path: PathAndQuery,
}

impl directive::Settings for Settings {
    const DIRECTIVES: &'static [Directive<Settings>] = &[Directive {
        name: "error-doc",
        levels: &[Level::Global, Level::Host, Level::Path],
        repeat: Repeat::AddsUp,
        summary: "The document that answers with one of these statuses (400 to 599, one or a list) have for their body, \
                  whoever made them, a script too: `url` is a path of the same host, a file or a script, that is asked \
                  with GET and without the request's headers. The status stays, and so do the other headers; what is \
                  answered with anything but 200 is no document, and the error stays as it was. A \
                  fault that `rhai.development` shows is left alone. What stands further in wins; `OFF` takes off what \
                  outer levels say, for an API below a site.",
        example: "error-doc:\n  - {status: 404, url: /404.html}\n  - {status: [500, 502, 503], url: /50x.html}",
        apply: |settings, node| {
            if node.is_off() {
                *settings = Settings::default();
                return Ok(());
            }
            let mut problems = Problems::default();
            for item in node.items() {
                settings.own.extend(problems.check(read(&item)).unwrap_or_default());
            }
            problems.or(())
        },
    }];
}

fn read(node: &Node) -> Result<Vec<Document>, Problems> {
    if node.kind() != Kind::Mapping {
        let hint = "such as `{status: 404, url: /404.html}`";
        return Err(node.expected("a mapping of `status` and `url`, a list of them, or `OFF`").hint(hint).into());
    }
    let (mut statuses, mut path) = (None, None);
    let mut problems = Problems::default();
    for (field, value) in node.known_fields(&["status", "url"], &mut problems) {
        if field == "status" {
            statuses = Some(problems.check(read_statuses(&value)).unwrap_or_default());
        } else {
            path = Some(problems.check(read_path(&value)));
        }
    }
    if statuses.is_none() {
        problems.0.push(node.lacks("status"));
    }
    if path.is_none() {
        problems.0.push(node.lacks("url"));
    }
    let (statuses, path) = problems.or((statuses.unwrap_or_default(), path.flatten()))?;
    let document = |status| Some(Document { status, path: path.clone()? });
    Ok(statuses.into_iter().filter_map(document).collect())
}

fn read_statuses(node: &Node) -> Result<Vec<StatusCode>, Problems> {
    let mut statuses = Vec::new();
    let mut problems = Problems::default();
    for item in node.items() {
        let Some(number) = problems.check(item.integer(400..=599)) else { continue };
        let Some(status) = u16::try_from(number).ok().and_then(|it| StatusCode::from_u16(it).ok()) else { continue };
        if statuses.contains(&status) {
            problems.0.push(item.problem(format!("`status` names {number} twice")));
        }
        statuses.push(status);
    }
    if node.kind() == Kind::Sequence && node.items().is_empty() {
        problems.0.push(node.problem("`status` is empty, expected at least one from 400 to 599"));
    }
    problems.or(statuses)
}

fn read_path(node: &Node) -> Result<PathAndQuery, Problem> {
    let expected = "a path of this host such as `/404.html`";
    let text = node.text_as(expected)?;
    let path = text.starts_with('/').then(|| PathAndQuery::try_from(text).ok()).flatten();
    path.ok_or_else(|| {
        let problem = node.expected(expected);
        if text.contains("://") { problem.hint("documents of other hosts are not fetched") } else { problem }
    })
}

impl Settings {
    /// Makes these the outer ones of a level that begins.
    pub fn enter(&mut self) {
        self.own.append(&mut self.outer);
        std::mem::swap(&mut self.own, &mut self.outer);
    }

    /// Whether no error has a document.
    pub fn is_empty(&self) -> bool {
        self.own.is_empty() && self.outer.is_empty()
    }

    /// Where the document for a status is.
    pub fn find(&self, status: StatusCode) -> Option<&PathAndQuery> {
        self.own.iter().chain(&self.outer).find(|it| it.status == status).map(|it| &it.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directive::apply;

    fn found(settings: &Settings, status: u16) -> Option<&str> {
        settings.find(StatusCode::from_u16(status).unwrap()).map(PathAndQuery::as_str)
    }

    #[test]
    fn the_inner_level_wins_and_within_a_level_the_first() {
        let text = "error-doc: [{status: [404, 500], url: /a}, {status: 404, url: /b}]";
        let mut settings = apply(Settings::default(), text).unwrap();
        assert_eq!(
            (found(&settings, 404), found(&settings, 500), found(&settings, 403)),
            (Some("/a"), Some("/a"), None)
        );
        settings.enter();
        let mut settings = apply(settings, "error-doc: {status: 404, url: /c?x}").unwrap();
        assert_eq!((found(&settings, 404), found(&settings, 500)), (Some("/c?x"), Some("/a")));
        settings.enter();
        let settings = apply(settings, "error-doc: {status: 404, url: /d}").unwrap();
        assert_eq!((found(&settings, 404), found(&settings, 500)), (Some("/d"), Some("/a")));
        assert!(apply(settings, "error-doc: OFF").unwrap().is_empty());
    }

    #[test]
    fn mistakes_come_all_at_once() {
        let text =
            "error-doc: [{status: 399, url: x}, {url: /x}, {status: [404, 404]}, {status: [], url: 'http://x/'}, x]";
        let expected = [
            "`status` is `399`, expected a whole number from 400 to 599",
            "`url` is `x`, expected a path of this host such as `/404.html`",
            "`error-doc` lacks `status`",
            "`status` names 404 twice",
            "`error-doc` lacks `url`",
            "`status` is empty, expected at least one from 400 to 599",
            "`url` is `http://x/`, expected a path of this host such as `/404.html`",
            "`error-doc` is `x`, expected a mapping of `status` and `url`, a list of them, or `OFF`",
        ];
        let message = apply(Settings::default(), text).unwrap_err();
        let found: Vec<_> = message.lines().filter_map(|it| it.strip_prefix("host.yaml:1:")).collect();
        let found: Vec<_> = found.iter().filter_map(|it| it.split_once(": ").map(|it| it.1)).collect();
        let (mut found, mut expected) = (found, expected.to_vec());
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
}
