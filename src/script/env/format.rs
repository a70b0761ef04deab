//! `env.format`: the form that a client wants its answer in, by the path's suffix or by `Accept`.

use std::rc::Rc;

use rhai::{Dynamic, ImmutableString};

use super::{Env, header};

/// What is looked for in `Accept` where the route declares no suffix.
const COMMON: [(&str, &str); 6] = [
    ("json", "application/json"),
    ("html", "text/html"),
    ("txt", "text/plain"),
    ("xml", "application/xml"),
    ("xml", "text/xml"),
    ("csv", "text/csv"),
];

/// The forms that a route can answer in: its suffixes, the first of them by default.
pub struct Formats(Vec<Format>);

struct Format {
    name: ImmutableString,
    media: String,
}

impl Formats {
    /// By the suffixes of a pattern; `None` if it has none.
    pub fn of(suffixes: &[String]) -> Option<Formats> {
        let format = |suffix: &String| {
            let name = suffix.trim_start_matches('.');
            let common = COMMON.iter().find(|(other, _)| *other == name).map(|(_, media)| (*media).to_owned());
            let media = common.or_else(|| mime_guess::from_ext(name).first_raw().map(str::to_owned));
            // What no client can ask for by its type it can by its suffix.
            Format { name: name.into(), media: media.unwrap_or_default() }
        };
        (!suffixes.is_empty()).then(|| Formats(suffixes.iter().map(format).collect()))
    }
}

impl Env {
    /// Says which forms the route can answer in, if it declares some, and which of them the path's suffix names.
    pub fn set_formats(&self, formats: Option<&Rc<Formats>>, suffix: Option<usize>) {
        let mut own = self.0.formats.borrow_mut();
        // Mostly there were none and are none.
        if own.is_some() || formats.is_some() {
            *own = formats.map(|it| (it.clone(), suffix));
        }
    }

    /// `env.format`.
    pub(super) fn format(&self) -> Dynamic {
        let accept = header::joined(&self.0.request.head.headers, "accept");
        let accept = accept.into_immutable_string().unwrap_or_default();
        let declared = self.0.formats.borrow();
        let Some((Formats(formats), suffix)) = declared.as_ref().map(|(formats, suffix)| (&**formats, suffix)) else {
            let common = COMMON.iter().map(|(name, media)| (*name, quality(&accept, media, Range::Exact)));
            return best(common).map_or(Dynamic::UNIT, Dynamic::from);
        };
        let wanted =
            || best(formats.iter().enumerate().map(|(index, it)| (index, quality(&accept, &it.media, Range::Any))));
        let index = suffix.or_else(wanted).unwrap_or(0);
        formats[index].name.clone().into()
    }
}

/// Which ranges of `Accept` count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Range {
    Exact,
    Any,
}

/// The first of those that are wanted most.
fn best<T>(found: impl Iterator<Item = (T, f32)>) -> Option<T> {
    let wanted = found.filter(|(_, quality)| *quality > 0.0);
    wanted.reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(it, _)| it)
}

/// How much `accept` wants a media type: by the most specific range that it is in (RFC 9110 §12.5.1).
fn quality(accept: &str, media: &str, ranges: Range) -> f32 {
    let (kind, _) = media.split_once('/').unwrap_or((media, ""));
    let mut found = (0, 0.0);
    for part in accept.split(',') {
        let mut parameters = part.split(';').map(str::trim);
        let range = parameters.next().unwrap_or_default();
        let specificity = match range.split_once('/') {
            Some(_) if range.eq_ignore_ascii_case(media) => 3,
            Some((other, "*")) if ranges == Range::Any && other.eq_ignore_ascii_case(kind) => 2,
            Some(("*", "*")) if ranges == Range::Any => 1,
            _ => continue,
        };
        let quality = parameters.find_map(|it| it.strip_prefix("q=").or_else(|| it.strip_prefix("Q=")));
        let quality = quality.map_or(1.0, |it| it.trim().parse().unwrap_or(0.0));
        if specificity > found.0 {
            found = (specificity, quality);
        }
    }
    found.1
}

#[cfg(test)]
mod tests {
    use super::*;

    const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

    #[test]
    fn the_most_specific_range_says_how_much_a_type_is_wanted() {
        for (accept, media, expected) in [
            (BROWSER, "text/html", 1.0),
            (BROWSER, "application/json", 0.8),
            ("*/*", "text/csv", 1.0),
            ("text/*;q=0.5, text/csv;q=0, */*;q=0.1", "text/csv", 0.0),
            ("text/*;q=0.5, */*;q=0.1", "text/csv", 0.5),
            ("TEXT/CSV; charset=utf-8; Q=0.3", "text/csv", 0.3),
            ("text/csv;q=x", "text/csv", 0.0),
            ("", "text/csv", 0.0),
        ] {
            assert_eq!(quality(accept, media, Range::Any), expected, "{accept} {media}");
        }
        assert_eq!(quality(BROWSER, "application/json", Range::Exact), 0.0);
    }

    #[test]
    fn of_equals_the_first_is_the_best() {
        assert_eq!(best([("a", 0.5), ("b", 1.0), ("c", 1.0)].into_iter()), Some("b"));
        assert_eq!(best([("a", 0.0)].into_iter()), None);
    }
}
