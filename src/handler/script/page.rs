//! The page that a browser shows of a script's fault: one file, nothing is fetched or run.

use std::fmt::Write;

use super::development::Report;
use crate::script::html_reference;

const STYLE: &str = include_str!("page.css");

/// The page. Everything in it is escaped.
pub(super) fn html(report: &Report) -> String {
    let mut out = String::with_capacity(8 << 10);
    let title = escaped(report.message.lines().next().unwrap_or_default());
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width\">\n<title>{title}</title>\n<style>{}</style>\n<header>\n<p>{} \
         &middot; {}</p>\n<h1>{}</h1>\n<p class=\"place\">{}</p>\n</header>\n<main>\n",
        STYLE.lines().collect::<String>(),
        report.status.as_u16(),
        escaped(report.status.canonical_reason().unwrap_or("Error")),
        escaped(&report.message),
        escaped(&report.place),
    );
    if let Some(hint) = &report.hint {
        let _ = writeln!(out, "<p class=\"hint\"><b>Hint</b> {}</p>", escaped(hint));
    }
    if !report.source.is_empty() {
        out.push_str("<pre>");
        for line in &report.source {
            let is_here = line.starts_with('>') || line.trim_start().starts_with('|');
            let class = if is_here { " class=\"here\"" } else { "" };
            let _ = write!(out, "<span{class}>{}\n</span>", escaped(line));
        }
        out.push_str("</pre>\n");
    }
    if !report.path.is_empty() {
        out.push_str("<h2>Calls</h2>\n<ol>\n");
        for step in &report.path {
            let _ = writeln!(out, "<li>{}</li>", escaped(step));
        }
        out.push_str("</ol>\n");
    }
    let _ = writeln!(
        out,
        "<h2>Request</h2>\n<pre>{}</pre>\n<p class=\"id\">Number <code>{}</code>, as in the error log</p>",
        escaped(&report.request),
        escaped(&report.id)
    );
    for (heading, members) in &report.groups {
        let _ = write!(out, "<h2>{}</h2>\n<table>\n", escaped(heading));
        for (name, value) in members {
            let _ = writeln!(out, "<tr><th>{}</th><td>{}</td></tr>", escaped(name), escaped(value));
        }
        out.push_str("</table>\n");
    }
    out.push_str(
        "</main>\n<footer>This page is there because of <code>rhai.development: ON</code>. Values with names of secrets \
         are hidden.</footer>\n</html>\n",
    );
    out
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match (html_reference(character), character) {
            (Some(reference), _) => out.push_str(reference),
            // A browser would show what comes after it in another order.
            (None, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(character));
            }
            (None, _) => out.push(character),
        }
    }
    out
}
