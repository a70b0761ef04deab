//! What a request's path asks for in a folder; whether it exists is not known here.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

/// What may stand in a path as it is (RFC 3986 §2.3); all else is encoded.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The names that lead from a folder to what is wanted.
#[derive(Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Each without `/` and NUL, and neither empty, `.` nor `..`.
    names: Vec<Vec<u8>>,
    /// The path ended in `/`, `.` or `..`.
    pub is_folder: bool,
}

impl Wanted {
    /// Reads a raw path, decoding it once. `None` if it leads out of the folder, or to a name that no
    /// file can have: `%2F` is no separator.
    pub fn new(path: &str) -> Option<Wanted> {
        let mut names: Vec<Vec<u8>> = Vec::new();
        let mut is_folder = false;
        for segment in path.strip_prefix('/').unwrap_or(path).split('/') {
            let name: Vec<u8> = percent_decode_str(segment).collect();
            is_folder = matches!(name.as_slice(), b"" | b"." | b"..");
            match name.as_slice() {
                b"" | b"." => {}
                // Out of the folder, even if it comes back.
                b".." => drop(names.pop()?),
                _ if memchr::memchr2(b'/', 0, &name).is_some() => return None,
                _ => names.push(name),
            }
        }
        // The path of the configuration itself, without a `/`.
        is_folder &= !path.is_empty();
        Some(Wanted { names, is_folder })
    }

    /// Where it is below `root`.
    pub fn in_folder(&self, root: &Path) -> PathBuf {
        let mut path = root.to_owned();
        path.extend(self.names.iter().map(|name| OsStr::from_bytes(name)));
        path
    }

    /// The path of the folder as a client should have asked, with the query that it sent.
    ///
    /// Made anew rather than copied: `//host` and `/\host` would lead a browser to another server.
    pub fn location(&self, script_name: &str, query: Option<&str>) -> String {
        let mut location = String::new();
        let outer = script_name.split('/').filter(|name| !name.is_empty()).map(str::as_bytes);
        for name in outer.chain(self.names.iter().map(Vec::as_slice)) {
            location.push('/');
            location.extend(percent_encode(name, ENCODED));
        }
        location.push('/');
        if let Some(query) = query {
            location.push('?');
            location.push_str(query);
        }
        location
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(path: &str) -> Option<(String, bool)> {
        let wanted = Wanted::new(path)?;
        Some((wanted.in_folder(Path::new("r")).to_str().unwrap().to_owned(), wanted.is_folder))
    }

    #[test]
    fn a_path_is_decoded_once_and_leads_below_the_folder() {
        for (path, expected, is_folder) in [
            ("", "r", false),
            ("/", "r", true),
            ("/a", "r/a", false),
            ("/a/", "r/a", true),
            ("//a//b", "r/a/b", false),
            ("/a/./b/../c", "r/a/c", false),
            ("/a/.", "r/a", true),
            ("/a/b/..", "r/a", true),
            ("/a/%2e%2E/b", "r/b", false),
            ("/a%20b+c", "r/a b+c", false),
            ("/%2541", "r/%41", false),
            ("/...", "r/...", false),
            ("/..a", "r/..a", false),
            ("/a\\..\\b", "r/a\\..\\b", false),
            ("/%C3%A9", "r/é", false),
        ] {
            assert_eq!(wanted(path), Some((expected.to_owned(), is_folder)), "{path}");
        }
    }

    #[test]
    fn a_path_that_leads_out_or_to_no_name_is_refused() {
        for path in [
            "/..",
            "/../",
            "/../a",
            "/a/../..",
            "/a/../../r/a",
            "/%2e%2e/a",
            "/.%2e/a",
            "/a/%2E./%2e%2e/b",
            "/a%2fb",
            "/..%2fa",
            "/%2Fetc%2Fpasswd",
            "/a%00.txt",
            "/%00",
            "//..",
            "/./..",
        ] {
            assert_eq!(wanted(path), None, "{path}");
        }
    }

    #[test]
    fn a_location_stays_on_its_server() {
        let location = |path: &str, query| Wanted::new(path).unwrap().location("/my site", query);
        assert_eq!(location("/a b%3F/c", Some("x=1&y")), "/my%20site/a%20b%3F/c/?x=1&y");
        assert_eq!(location("", None), "/my%20site/");
        let root = |path: &str| Wanted::new(path).unwrap().location("", None);
        assert_eq!(root("//evil.example"), "/evil.example/");
        assert_eq!(root("/\\evil.example"), "/%5Cevil.example/");
        assert_eq!(root("/%0d%0aset-cookie:x"), "/%0D%0Aset%2Dcookie%3Ax/".replace("%2D", "-"));
    }
}
