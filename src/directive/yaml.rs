//! YAML text as a tree of source texts, and the place of any part of it; the only file that names serde_yaml.
//!
//! `serde_yaml::Value` won't do: it refuses repeated keys and turns `1.10` into 1.1. The text is
//! read twice instead, first for its shape, then for the source text of each scalar, which
//! `deserialize_str` gives. The parser tells places only in errors: the second reading fails at each
//! scalar and goes on, and for lists and mappings [`locate`] reads the text once more.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess};
use serde::de::{VariantAccess, Visitor};

/// A value as it stands in the text: aliases replaced, tags and merge keys not yet.
#[derive(Debug, PartialEq)]
pub enum Yaml {
    /// Nothing, `~` or `null`, as written.
    Null(Text),
    Scalar(Text),
    Sequence(Vec<Yaml>),
    Mapping(Vec<(Yaml, Yaml)>),
    /// The tag without its `!`, and what it stands before.
    Tagged(String, Box<Yaml>),
}

/// The source text of a scalar, without quotes and escapes, and where it begins.
#[derive(Debug, Default, PartialEq)]
pub struct Text {
    pub source: String,
    /// With the tag and the anchor, if there are any.
    pub at: Option<At>,
}

/// A step from a value to one of its parts. Entries are counted, for keys may repeat.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    Key(usize),
    Value(usize),
    Item(usize),
}

/// Line and column, both from 1, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct At {
    pub line: usize,
    pub column: usize,
}

/// Why a text is not YAML, in the parser's words.
#[derive(Debug, PartialEq)]
pub struct Fault {
    pub message: String,
    pub at: Option<At>,
    /// What the parser was reading, and where that begins.
    pub context: Option<(String, Option<At>)>,
}

/// Reads a text that is one document.
pub fn parse(text: &str) -> Result<Yaml, Fault> {
    let mut documents = serde_yaml::Deserializer::from_str(text);
    let Some(document) = documents.next() else { return Ok(Yaml::Null(Text::default())) };
    let mut yaml = Shape.deserialize(document)?;
    if let Some(second) = documents.next() {
        let at = Seek { path: &[] }.deserialize(second).err().and_then(|error| at(&error));
        return Err(Fault { message: SECOND_DOCUMENT.into(), at, context: None });
    }
    // A file without any content has no scalar whose text could be asked for.
    if !matches!(yaml, Yaml::Null(_)) {
        let read = Texts(&mut yaml).deserialize(serde_yaml::Deserializer::from_str(text));
        passed(&mut yaml, read)?;
    }
    Ok(yaml)
}

/// The message of the [`Fault`] that a second document is.
pub const SECOND_DOCUMENT: &str = "a second document begins";
/// The message of the [`Fault`] that an alias without its anchor is.
pub const UNKNOWN_ANCHOR: &str = "unknown anchor";

/// Where the part of `text` stands that `path` leads to; that of an alias is its anchor's.
pub fn locate(text: &str, path: &[Step]) -> Option<At> {
    at(&Seek { path }.deserialize(serde_yaml::Deserializer::from_str(text)).err()?)
}

fn at(error: &serde_yaml::Error) -> Option<At> {
    error.location().map(|it| At { line: it.line(), column: it.column() })
}

impl From<serde_yaml::Error> for Fault {
    /// Takes the sentence `problem at line L column C, context at line L column C` apart: the
    /// parser tells the context nowhere else.
    fn from(error: serde_yaml::Error) -> Fault {
        let sentence = error.to_string();
        let (message, rest) = before_place(&sentence);
        let context = rest.split_once(", ").map(|(_, context)| {
            let (context, place) = before_place(context);
            (context.to_owned(), numbers(place))
        });
        Fault { message: message.to_owned(), at: at(&error), context }
    }
}

fn before_place(sentence: &str) -> (&str, &str) {
    let end = sentence.find(" at line ").or_else(|| sentence.find(" at position "));
    sentence.split_at(end.unwrap_or(sentence.len()))
}

/// Learns the shape of a value and leaves its texts empty.
struct Shape;

impl<'de> DeserializeSeed<'de> for Shape {
    type Value = Yaml;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<Yaml, D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Shape {
    type Value = Yaml;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Yaml, E> {
        Ok(Yaml::Scalar(Text::default()))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Yaml, E> {
        Ok(Yaml::Scalar(Text::default()))
    }

    fn visit_i128<E>(self, _: i128) -> Result<Yaml, E> {
        Ok(Yaml::Scalar(Text::default()))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Yaml, E> {
        Ok(Yaml::Scalar(Text::default()))
    }

    fn visit_u128<E>(self, _: u128) -> Result<Yaml, E> {
        Ok(Yaml::Scalar(Text::default()))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Yaml, E> {
        Ok(Yaml::Scalar(Text::default()))
    }

    fn visit_str<E>(self, _: &str) -> Result<Yaml, E> {
        Ok(Yaml::Scalar(Text::default()))
    }

    fn visit_unit<E>(self) -> Result<Yaml, E> {
        Ok(Yaml::Null(Text::default()))
    }

    fn visit_none<E>(self) -> Result<Yaml, E> {
        Ok(Yaml::Null(Text::default()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Yaml, A::Error> {
        let mut sequence = Vec::new();
        while let Some(item) = items.next_element_seed(Shape)? {
            sequence.push(item);
        }
        Ok(Yaml::Sequence(sequence))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Yaml, A::Error> {
        let mut mapping = Vec::new();
        while let Some(key) = entries.next_key_seed(Shape)? {
            mapping.push((key, entries.next_value_seed(Shape)?));
        }
        Ok(Yaml::Mapping(mapping))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<Yaml, A::Error> {
        let (tag, value) = tagged.variant::<String>()?;
        Ok(Yaml::Tagged(tag, Box::new(value.newtype_variant_seed(Shape)?)))
    }
}

/// Fills in the source texts of a value whose shape is known; a scalar fails when it is filled, see [`passed`].
struct Texts<'a>(&'a mut Yaml);

impl<'de> DeserializeSeed<'de> for Texts<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        match self.0 {
            Yaml::Null(_) | Yaml::Scalar(_) => value.deserialize_str(self),
            Yaml::Sequence(_) => value.deserialize_seq(self),
            Yaml::Mapping(_) => value.deserialize_map(self),
            // The parser passes over a tag that isn't asked for.
            Yaml::Tagged(_, inner) => Texts(inner).deserialize(value),
        }
    }
}

impl<'de> Visitor<'de> for Texts<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value that stood there a moment ago")
    }

    fn visit_str<E: Error>(self, source: &str) -> Result<(), E> {
        if let Yaml::Null(text) | Yaml::Scalar(text) = self.0 {
            *text = Text { source: source.to_owned(), at: Some(At { line: 1, column: 1 }) };
        }
        Err(E::custom(FILLED))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        if let Yaml::Sequence(sequence) = self.0 {
            for item in sequence {
                let read = items.next_element_seed(Texts(item)).map(drop);
                passed(item, read)?;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        if let Yaml::Mapping(mapping) = self.0 {
            for (key, value) in mapping {
                let read = entries.next_key_seed(Texts(key)).map(drop);
                passed(key, read)?;
                let read = entries.next_value_seed(Texts(value));
                passed(value, read)?;
            }
        }
        Ok(())
    }
}

const FILLED: &str = "filled";

/// Takes the place of a scalar from the error that says that it is filled; the parser has passed it and can go on.
fn passed<E: Error>(yaml: &mut Yaml, read: Result<(), E>) -> Result<(), E> {
    match (yaml, read) {
        (Yaml::Tagged(_, inner), read) => passed(inner, read),
        (Yaml::Null(Text { at: Some(at), .. }) | Yaml::Scalar(Text { at: Some(at), .. }), Err(error)) => {
            // Only the first character of a file has no place in its error.
            if let Some((_, place)) = error.to_string().rsplit_once(" at line ") {
                *at = numbers(place).unwrap_or(*at);
            }
            Ok(())
        }
        (_, read) => read,
    }
}

/// The place in words such as `3 column 9`.
fn numbers(place: &str) -> Option<At> {
    let mut numbers = place.split(' ').filter_map(|word| word.parse().ok());
    Some(At { line: numbers.next()?, column: numbers.next()? })
}

/// Walks down `path` and fails on arrival, so that the parser tells where it stands.
///
/// Scalars need no method: a visitor refuses what it has none for, and that is the failure.
struct Seek<'a> {
    path: &'a [Step],
}

impl<'de> DeserializeSeed<'de> for Seek<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seek<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        if let Some((&Step::Item(index), path)) = self.path.split_first() {
            for _ in 0..index {
                items.next_element::<IgnoredAny>()?;
            }
            items.next_element_seed(Seek { path })?;
        }
        Err(A::Error::custom("here"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        if let Some((&step, path)) = self.path.split_first()
            && let Step::Key(index) | Step::Value(index) = step
        {
            for _ in 0..index {
                entries.next_entry::<IgnoredAny, IgnoredAny>()?;
            }
            if let Step::Key(_) = step {
                entries.next_key_seed(Seek { path })?;
            } else {
                entries.next_key::<IgnoredAny>()?;
                entries.next_value_seed(Seek { path })?;
            }
        }
        Err(A::Error::custom("here"))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<(), A::Error> {
        if self.path.is_empty() {
            return Err(A::Error::custom("here"));
        }
        let (_, value) = tagged.variant::<IgnoredAny>()?;
        value.newtype_variant_seed(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tree as text; quotes tell scalars from null.
    fn shown(yaml: &Yaml) -> String {
        match yaml {
            Yaml::Null(text) => format!("null({})", text.source),
            Yaml::Scalar(text) => format!("'{}'", text.source),
            Yaml::Sequence(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", ")),
            Yaml::Mapping(entries) => {
                let entries = entries.iter().map(|(key, value)| format!("{}: {}", shown(key), shown(value)));
                format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
            }
            Yaml::Tagged(tag, inner) => format!("!{tag} {}", shown(inner)),
        }
    }

    fn read(text: &str) -> String {
        shown(&parse(text).unwrap())
    }

    #[test]
    fn a_scalar_is_its_source_text() {
        for text in ["1.10", "0x1F", "010", "true", "1e3", "+5", ".inf", "18446744073709551616", "ON", "12:30"] {
            assert_eq!(read(&format!("a: {text}")), format!("{{'a': '{text}'}}"));
        }
        assert_eq!(read("\"a\\tb\""), "'a\tb'");
        assert_eq!(read("!!str 1.0"), "'1.0'");
    }

    #[test]
    fn nothing_is_null_and_quoted_nothing_is_not() {
        assert!(["", "# only a comment\n", "~", "null"].iter().all(|it| matches!(parse(it), Ok(Yaml::Null(_)))));
        assert_eq!(["''", "'null'"].map(read), ["''", "'null'"]);
        assert_eq!(read("{a: , ~: null}"), "{'a': null(), null(~): null(null)}");
    }

    #[test]
    fn repeated_keys_are_kept_in_order() {
        assert_eq!(read("b: 1\na: 2\nb: 3\n"), "{'b': '1', 'a': '2', 'b': '3'}");
    }

    #[test]
    fn tags_and_aliases_are_read() {
        let expected = "[!env '1.10', !x {'k': '1.0'}, !y ['2.0'], ['01'], ['01'], '1.0', '1.0']";
        assert_eq!(read("[!env 1.10, !x {k: 1.0}, !y [2.0], &a [01], *a, &b 1.0, *b]"), expected);
    }

    #[test]
    fn a_scalar_knows_its_place() {
        fn places(yaml: &Yaml) -> Vec<(usize, usize)> {
            match yaml {
                Yaml::Null(text) | Yaml::Scalar(text) => text.at.iter().map(|it| (it.line, it.column)).collect(),
                Yaml::Sequence(items) => items.iter().flat_map(places).collect(),
                Yaml::Mapping(entries) => {
                    entries.iter().flat_map(|it| [places(&it.0), places(&it.1)]).flatten().collect()
                }
                Yaml::Tagged(_, inner) => places(inner),
            }
        }
        let text = "ä at line 9 column 9: 1\nb:\n  - x\n  - !t {k: &v v}\n  - !t y\nc: |\n  z\nd: *v\n";
        let expected = [(1, 1), (1, 23), (2, 1), (3, 5), (4, 9), (4, 12), (5, 5), (6, 1), (6, 4), (8, 1), (4, 12)];
        assert_eq!(places(&parse(text).unwrap()), expected);
    }

    #[test]
    fn the_place_of_every_part_is_found() {
        let text = "a: 1\na:\n  - x\n  - !t {k: v}\nb: &n\n  c: '8'\nd: *n\n";
        let find = |path: &[Step]| locate(text, path).map(|at| (at.line, at.column));
        assert_eq!(find(&[Step::Value(0)]), Some((1, 4)));
        assert_eq!(find(&[Step::Key(1)]), Some((2, 1)));
        assert_eq!(find(&[Step::Value(1), Step::Item(0)]), Some((3, 5)));
        assert_eq!(find(&[Step::Value(1), Step::Item(1)]), Some((4, 5)));
        assert_eq!(find(&[Step::Value(1), Step::Item(1), Step::Value(0)]), Some((4, 12)));
        assert_eq!(find(&[Step::Value(3), Step::Key(0)]), Some((6, 3)));
        assert_eq!(find(&[Step::Value(3), Step::Value(0)]), Some((6, 6)));
    }

    #[test]
    fn a_fault_tells_what_was_being_read_and_where_it_begins() {
        let fault = parse("a: 'x\nb: 1\n").unwrap_err();
        let begin = At { line: 1, column: 4 };
        assert_eq!(fault.message, "found unexpected end of stream");
        assert_eq!(fault.context, Some(("while scanning a quoted scalar".into(), Some(begin))));
    }

    #[test]
    fn endless_aliases_are_a_fault() {
        assert!(parse("&a [*a]").is_err());
        let bomb = (1..9).fold("a0: &a0 [x, x]\n".to_owned(), |text, n| {
            let aliases = vec![format!("*a{}", n - 1); 10].join(", ");
            format!("{text}a{n}: &a{n} [{aliases}]\n")
        });
        assert!(parse(&bomb).is_err());
    }
}
