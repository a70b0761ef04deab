//! The path of a request's target as paths of the configuration are matched with it.

use std::borrow::Cow;

use percent_encoding::percent_decode;

/// A raw path, decoded and without dot segments (RFC 3986 §5.2.4). `%2F` is not decoded: it is
/// part of its segment and separates none.
#[derive(Debug)]
pub struct Target<'a> {
    raw: &'a str,
    /// `None` where the raw path is normal as it stands.
    normal: Option<(Vec<u8>, Vec<usize>)>,
}

impl<'a> Target<'a> {
    /// Normalises the path of a request's target.
    pub fn new(raw: &'a str) -> Target<'a> {
        let plain =
            memchr::memchr(b'%', raw.as_bytes()).is_none() && memchr::memmem::find(raw.as_bytes(), b"/.").is_none();
        Target { raw, normal: (!plain).then(|| normalise(raw.as_bytes())) }
    }

    /// The decoded path.
    pub fn path(&self) -> &[u8] {
        self.normal.as_ref().map_or(self.raw.as_bytes(), |(path, _)| path)
    }

    /// Where the raw path goes on after the first `length` bytes of the decoded one.
    pub fn raw_end(&self, length: usize) -> usize {
        match &self.normal {
            Some((_, ends)) if length > 0 => ends[length - 1],
            _ => length,
        }
    }
}

/// A raw path without its dot segments, otherwise as it stands.
pub fn without_dots(raw: &str) -> Cow<'_, str> {
    if memchr::memmem::find(raw.as_bytes(), b"/.").is_none() && memchr::memchr(b'%', raw.as_bytes()).is_none() {
        return Cow::Borrowed(raw);
    }
    let mut kept: Vec<&str> = Vec::new();
    let mut folder = false;
    for segment in raw.split('/').skip(usize::from(raw.starts_with('/'))) {
        let decoded = decode(segment);
        folder = true;
        match decoded.as_deref() {
            Some(".") => {}
            Some("..") => drop(kept.pop()),
            _ => {
                kept.push(segment);
                folder = false;
            }
        }
    }
    let mut path = String::with_capacity(raw.len());
    for segment in &kept {
        path.push('/');
        path.push_str(segment);
    }
    if folder {
        path.push('/');
    }
    Cow::Owned(path)
}

/// Decodes one segment of a path; `%2F` becomes a slash that separates nothing. `None` if that is no UTF-8.
pub fn decode(segment: &str) -> Option<Cow<'_, str>> {
    if memchr::memchr(b'%', segment.as_bytes()).is_none() {
        return Some(Cow::Borrowed(segment));
    }
    percent_decode(segment.as_bytes()).decode_utf8().ok()
}

/// The normal path, and for each of its bytes the end of what it came from in the raw one.
fn normalise(raw: &[u8]) -> (Vec<u8>, Vec<usize>) {
    let (mut path, mut ends) = (Vec::with_capacity(raw.len()), Vec::with_capacity(raw.len()));
    let mut at = 0;
    while at < raw.len() {
        let (byte, next) = decode_byte(raw, at);
        match byte {
            b'/' if raw[at] == b'/' => {
                close_segment(&mut path, &mut ends);
                path.push(b'/');
                ends.push(next);
            }
            // An encoded slash, as it stands.
            b'/' => {
                path.extend_from_slice(&raw[at..next]);
                ends.extend([next; 3]);
            }
            _ => {
                path.push(byte);
                ends.push(next);
            }
        }
        at = next;
    }
    let dots = close_segment(&mut path, &mut ends);
    if dots || path.is_empty() {
        path.push(b'/');
        ends.push(raw.len());
    }
    (path, ends)
}

fn decode_byte(raw: &[u8], at: usize) -> (u8, usize) {
    let digit = |index: usize| raw.get(index).and_then(|it| char::from(*it).to_digit(16));
    if raw[at] == b'%'
        && let (Some(high), Some(low)) = (digit(at + 1), digit(at + 2))
    {
        #[expect(clippy::cast_possible_truncation, reason = "two hexadecimal digits are a byte")]
        return ((high * 16 + low) as u8, at + 3);
    }
    (raw[at], at + 1)
}

/// Takes a last segment `.` or `..` off, with its slash. Whether it was one.
fn close_segment(path: &mut Vec<u8>, ends: &mut Vec<usize>) -> bool {
    let Some(slash) = memchr::memrchr(b'/', path) else { return false };
    let kept = match &path[slash + 1..] {
        b"." => slash,
        b".." => memchr::memrchr(b'/', &path[..slash]).unwrap_or(0),
        _ => return false,
    };
    path.truncate(kept);
    ends.truncate(kept);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(raw: &str) -> String {
        String::from_utf8(Target::new(raw).path().to_vec()).unwrap()
    }

    #[test]
    fn a_path_is_decoded_and_its_dot_segments_are_resolved() {
        for (raw, expected) in [
            ("/a/b", "/a/b"),
            ("/%70/x", "/p/x"),
            ("/p/d/../e", "/p/e"),
            ("/p/./e", "/p/e"),
            ("/p/..", "/"),
            ("/p/.", "/p/"),
            ("/../../abc", "/abc"),
            ("/%2e%2E/abc", "/abc"),
            ("/a%2Fb", "/a%2Fb"),
            ("/a%2f..%2Fb", "/a%2f..%2Fb"),
            ("/%252f", "/%2f"),
            ("/.hidden/..x", "/.hidden/..x"),
            ("//a//b", "//a//b"),
            ("/%zz", "/%zz"),
        ] {
            assert_eq!(normal(raw), expected, "{raw}");
        }
    }

    #[test]
    fn dot_segments_can_be_resolved_without_decoding() {
        for (raw, expected) in [
            ("/a%2Fb/../c%20d", "/c%20d"),
            ("/a/.", "/a/"),
            ("/a/..", "/"),
            ("/../x/", "/x/"),
            ("/%2e%2e/x", "/x"),
            ("", ""),
            ("/a", "/a"),
        ] {
            assert_eq!(without_dots(raw), expected, "{raw}");
        }
    }

    #[test]
    fn the_rest_of_the_raw_path_is_what_follows_the_matched_part() {
        for (raw, matched, rest) in [
            ("/abc/def/../ghi/../jhk", 4, "/def/../ghi/../jhk"),
            ("/123/../abc/x", 4, "/x"),
            ("/%61bc/x%20y", 4, "/x%20y"),
            ("/abc", 4, ""),
            ("/abc/..", 0, "/abc/.."),
        ] {
            assert_eq!(&raw[Target::new(raw).raw_end(matched)..], rest, "{raw}");
        }
    }
}
