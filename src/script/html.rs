//! What HTML reads as its own.

/// What stands in a page for a character that would begin or end something there.
pub fn html_reference(character: char) -> Option<&'static str> {
    Some(match character {
        '&' => "&amp;",
        '<' => "&lt;",
        '>' => "&gt;",
        '"' => "&quot;",
        '\'' => "&#39;",
        _ => return None,
    })
}
