//! What somebody may have meant by a name that does not exist.

/// The candidate that is nearest to `name`, if one is near enough to be meant.
///
/// Near are a few slips of the keys, and names that agree after their dot: `mruby.handler` and
/// `handler` both mean `rhai.handler`.
pub fn suggest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let last = name.split_once('.').map_or(name.as_str(), |(_, last)| last);
    let length = name.chars().count();
    let slips = (length / 3).clamp(1, 3);
    let distance = |it: &str| {
        let it = it.to_lowercase();
        // A name may be a client's text of any length, and comparing takes the product of both in time and memory.
        let is_alike = it.chars().count().abs_diff(length) <= slips;
        let slip = is_alike.then(|| strsim::damerau_levenshtein(&name, &it)).filter(|slip| *slip <= slips);
        let same_last = || it.split_once('.').is_some_and(|(_, rest)| rest == last);
        slip.or_else(|| same_last().then_some(slips + 1))
    };
    let near = candidates.into_iter().filter_map(|it| distance(it).map(|distance| (distance, it)));
    near.min_by_key(|(distance, _)| *distance).map(|(_, it)| it)
}

/// The names as a list for a message: `a`, `b` or `c`.
pub(super) fn alternatives(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|it| format!("`{it}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &[&str] = &["listen", "rhai.handler", "rhai.handler-file", "rhai.timeout", "file.dir"];

    fn suggested(name: &str) -> Option<&'static str> {
        suggest(name, NAMES.iter().copied())
    }

    #[test]
    fn slips_of_the_keys_are_seen_through() {
        assert_eq!(suggested("lisen"), Some("listen"));
        assert_eq!(suggested("Listen"), Some("listen"));
        assert_eq!(suggested("rhia.handler"), Some("rhai.handler"));
        assert_eq!(suggested("rhai.handler_file"), Some("rhai.handler-file"));
    }

    #[test]
    fn names_that_agree_after_the_dot_are_meant() {
        assert_eq!(suggested("mruby.handler-file"), Some("rhai.handler-file"));
        assert_eq!(suggested("timeout"), Some("rhai.timeout"));
    }

    #[test]
    fn what_is_far_from_everything_gets_no_suggestion() {
        assert_eq!(suggested("gzip"), None);
        assert_eq!(suggested("ssl"), None);
    }

    #[test]
    fn a_name_of_any_length_is_compared_in_no_time() {
        let long = "x".repeat(1 << 20);
        crate::memory::mark();
        let before = crate::memory::live();
        assert_eq!(suggested(&long), None);
        assert!(crate::memory::peak() - before < 8 << 20);
    }

    #[test]
    fn alternatives_are_joined_by_or() {
        assert_eq!(alternatives(&["a"]), "`a`");
        assert_eq!(alternatives(&["a", "b", "c"]), "`a`, `b` or `c`");
    }
}
