//! Names that say that their value is not for everybody's eyes.

/// Parts of names, in lower case and without `-` and `_`.
const PARTS: [&str; 12] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "privatekey",
    "credential",
    "authorization",
    "cookie",
    "session",
    "signature",
];

/// Whole names.
const NAMES: [&str; 5] = ["pass", "pwd", "pin", "otp", "api"];

/// Whether what has this name, a parameter, a header, a column or a key, is to be hidden from people.
pub fn is_secret(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).map(|it| it.to_ascii_lowercase()).collect();
    PARTS.iter().any(|part| plain.contains(part)) || NAMES.contains(&plain.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_seen_however_they_are_written() {
        for name in [
            "password",
            "userPassword",
            "X-Api-Key",
            "API_KEY",
            "csrf-token",
            "Set-Cookie",
            "HTTP_AUTHORIZATION",
            "pwd",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["name", "passenger", "keyboard", "id", "pinboard", "accept", "host"] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
