//! The hashes of keys that stand in the configuration.

use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use subtle::{ConditionallySelectable, ConstantTimeEq};

type Hash = [u8; 32];

/// SHA-256 hashes of the good keys, and the names of their owners.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Keys(Vec<(Hash, Option<Arc<str>>)>);

impl Keys {
    /// Takes a line that says `HASH` or `HASH NAME`: 64 hexadecimal digits, then, after white space,
    /// whose key it is.
    ///
    /// # Errors
    /// If it does not begin with a hash, or the hash is known already. The message does not repeat
    /// what was found, which may be a key by mistake.
    pub fn add(&mut self, line: &str) -> Result<(), String> {
        let line = line.trim();
        let (hash, name) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let hash = parse(hash).ok_or("expected a SHA-256 hash of 64 hexadecimal digits")?;
        if self.0.iter().any(|(known, _)| *known == hash) {
            return Err(String::from("this hash stands here already, expected each key once"));
        }
        let name = name.trim();
        self.0.push((hash, (!name.is_empty()).then(|| Arc::from(name))));
        Ok(())
    }

    /// Takes the lines of a file; empty ones and those that begin with `#` say nothing.
    ///
    /// # Errors
    /// What is wrong with which lines.
    pub fn add_lines(&mut self, content: &str) -> Result<(), Vec<(usize, String)>> {
        let says_something = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
        let lines = (1..).zip(content.lines()).filter(|(_, line)| says_something(line));
        let mistakes: Vec<_> = lines.filter_map(|(number, line)| Some((number, self.add(line).err()?))).collect();
        if mistakes.is_empty() { Ok(()) } else { Err(mistakes) }
    }

    /// The name of a good key, if it has one; `None` for a bad key.
    ///
    /// All hashes are compared to their ends, whatever is found, so that the time says nothing about
    /// them.
    pub fn find(&self, key: &str) -> Option<Option<&Arc<str>>> {
        let hash = Hash::from(Sha256::digest(key));
        let mut found = 0_u64;
        for (number, (known, _)) in (1..).zip(&self.0) {
            found.conditional_assign(&number, known.ct_eq(&hash));
        }
        let index = usize::try_from(found).ok()?.checked_sub(1)?;
        self.0.get(index).map(|(_, name)| name.as_ref())
    }

    /// Whether there is no key at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(_, name)| ("***", name))).finish()
    }
}

fn parse(digits: &str) -> Option<Hash> {
    let mut hash = Hash::default();
    let (pairs, []) = digits.as_bytes().as_chunks::<2>() else { return None };
    if pairs.len() != hash.len() {
        return None;
    }
    for (byte, [high, low]) in hash.iter_mut().zip(pairs) {
        let digit = |digit: &u8| char::from(*digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
        *byte = digit(high)? << 4 | digit(low)?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hash of `secret`.
    const SECRET: &str = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
    /// The hash of `other`.
    const OTHER: &str = "d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa";

    #[test]
    fn a_file_of_keys_has_comments_names_and_digits_in_any_case() {
        let mut keys = Keys::default();
        keys.add_lines(&format!("# ours\n\n{SECRET}\tthe office \n  {}\r\n", OTHER.to_uppercase())).unwrap();
        assert_eq!(keys.find("secret"), Some(Some(&Arc::from("the office"))));
        assert_eq!(keys.find("other"), Some(None));
        assert_eq!(keys.find("Secret"), None);
        assert_eq!(keys.find(""), None);
        assert_eq!(Keys::default().find("secret"), None);
    }

    #[test]
    fn what_is_no_hash_is_a_mistake_with_its_line_and_is_not_repeated() {
        let mut keys = Keys::default();
        let content = format!("secret\n{SECRET}\n{}\n{SECRET} again\nzz{}", &SECRET[1..], &SECRET[2..]);
        let mistakes = keys.add_lines(&content).unwrap_err();
        assert_eq!(mistakes.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 3, 4, 5]);
        assert!(
            mistakes.iter().all(|(_, text)| !text.contains("secret") && !text.contains(&SECRET[2..])),
            "{mistakes:?}"
        );
    }

    #[test]
    fn hashes_are_never_printed() {
        let mut keys = Keys::default();
        keys.add(&format!("{SECRET} office")).unwrap();
        assert_eq!(format!("{keys:?}"), r#"[("***", Some("office"))]"#);
    }
}
