//! Paths of the configuration by the longest prefix.

use std::collections::HashMap;

use super::Target;

/// Things by path prefix. `/foo` is for `/foo` and all below it, not for `/foobar`; `/foo/` is for
/// all below it, not for `/foo`.
#[derive(Debug)]
pub struct Paths<T> {
    paths: HashMap<Box<[u8]>, T>,
    longest: usize,
}

impl<T> Paths<T> {
    /// Keys are decoded paths that begin with `/`; of equal keys the last one counts.
    pub fn new(paths: impl IntoIterator<Item = (String, T)>) -> Paths<T> {
        let paths: HashMap<_, _> =
            paths.into_iter().map(|(key, it)| (key.into_bytes().into_boxed_slice(), it)).collect();
        let longest = paths.keys().map(|key| key.len()).max().unwrap_or(0);
        Paths { paths, longest }
    }

    /// The thing for a target, and where `PATH_INFO` begins in its raw path. One look-up for each
    /// segment of the target, however many paths there are.
    pub fn find(&self, target: &Target<'_>) -> Option<(&T, usize)> {
        let path = target.path();
        let mut end = path.len();
        loop {
            if end <= self.longest
                && let Some(found) = self.paths.get(&path[..end])
            {
                // The slash at the end of a key belongs to PATH_INFO.
                let length = if path[end - 1] == b'/' { end - 1 } else { end };
                return Some((found, target.raw_end(length)));
            }
            // Next: up to and with the last slash, then without it.
            end = match path[..end].last()? {
                b'/' => end - 1,
                _ => memchr::memrchr(b'/', &path[..end])? + 1,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(keys: &[&'static str], raw: &str) -> Option<(&'static str, String)> {
        let paths = Paths::new(keys.iter().map(|key| ((*key).to_owned(), *key)));
        paths.find(&Target::new(raw)).map(|(key, start)| (*key, raw[start..].to_owned()))
    }

    #[test]
    fn the_longest_prefix_that_ends_at_a_segment_wins() {
        let keys = ["/", "/foo", "/foo/bar", "/slash/"];
        for (raw, key, rest) in [
            ("/foo", "/foo", ""),
            ("/foo/", "/foo", "/"),
            ("/foo/x", "/foo", "/x"),
            ("/foobar", "/", "/foobar"),
            ("/foo/bar/x", "/foo/bar", "/x"),
            ("/foo/barx", "/foo", "/barx"),
            ("/slash", "/", "/slash"),
            ("/slash/", "/slash/", "/"),
            ("/slash/x", "/slash/", "/x"),
            ("/foo%2Fbar", "/", "/foo%2Fbar"),
            ("/%66oo/a%20b", "/foo", "/a%20b"),
            ("/foo/../slash/x", "/slash/", "/x"),
        ] {
            assert_eq!(find(&keys, raw), Some((key, rest.to_owned())), "{raw}");
        }
    }

    #[test]
    fn without_a_root_some_paths_are_nobodys() {
        assert_eq!(find(&["/foo"], "/bar"), None);
        assert_eq!(find(&["/foo"], "/"), None);
        assert_eq!(find(&["/foo"], "*"), None);
    }

    #[test]
    fn a_key_with_a_space_is_found_by_its_encoded_form() {
        assert_eq!(find(&["/foo bar"], "/foo%20bar/x"), Some(("/foo bar", "/x".to_owned())));
    }
}
