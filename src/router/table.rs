//! Patterns by the segments of a path: what fits is found in time that does not grow with their number.

use super::pattern::{Part, Pattern, segments};
use super::{Captures, decode};

/// Patterns in their order.
#[derive(Debug, Default)]
pub struct Table {
    patterns: Vec<Pattern>,
    root: Node,
}

/// The patterns that begin with the same segments.
#[derive(Debug, Default)]
struct Node {
    /// What goes on with these segments, sorted.
    literals: Vec<(Box<str>, Node)>,
    /// What goes on with any segment.
    one: Option<Box<Node>>,
    /// The patterns that end here.
    here: Vec<usize>,
    /// The patterns that take all that is left.
    rest: Vec<usize>,
}

impl Table {
    /// A table of these patterns, which are known by their place.
    pub fn new(patterns: Vec<Pattern>) -> Table {
        let mut root = Node::default();
        for (index, pattern) in patterns.iter().enumerate() {
            root.insert(pattern, index);
        }
        Table { patterns, root }
    }

    /// The pattern at a place.
    pub fn pattern(&self, index: usize) -> &Pattern {
        &self.patterns[index]
    }

    /// The first pattern that fits a raw path, of those that `is_meant`.
    pub fn first(&self, raw: &str, is_meant: impl Fn(usize) -> bool) -> Option<(usize, Captures)> {
        let mut first = None;
        self.root.visit(segments(raw), &mut |index| {
            if first.is_none_or(|first| index < first) && is_meant(index) {
                first = Some(index);
            }
        });
        let captures = |index: usize| Some((index, self.patterns[index].captures(raw)?));
        // A segment that is only a suffix, `/.json`, is found here and taken by no name.
        captures(first?).or_else(|| (0..self.patterns.len()).filter(|it| is_meant(*it)).find_map(captures))
    }

    /// The places of all patterns that fit a raw path, in their order.
    pub fn all(&self, raw: &str) -> Vec<usize> {
        let mut all = Vec::new();
        self.root.visit(segments(raw), &mut |index| all.push(index));
        all.sort_unstable();
        all.dedup();
        all.retain(|index| self.patterns[*index].captures(raw).is_some());
        all
    }
}

impl Node {
    fn insert(&mut self, pattern: &Pattern, index: usize) {
        let Some((last, before)) = pattern.parts.split_last() else {
            self.here.push(index);
            return;
        };
        let mut node = self;
        for part in before {
            node = node.child(part);
        }
        match last {
            Part::Rest(_) => node.rest.push(index),
            Part::One(_) => node.child(last).end(pattern, index),
            Part::Literal(literal) => {
                node.literal(literal).end(pattern, index);
                for suffix in pattern.suffixes() {
                    node.literal(&format!("{literal}{suffix}")).end(pattern, index);
                }
            }
        }
    }

    fn end(&mut self, pattern: &Pattern, index: usize) {
        self.here.push(index);
        if pattern.is_root {
            self.literal("").here.push(index);
        }
    }

    fn child(&mut self, part: &Part) -> &mut Node {
        match part {
            Part::Literal(literal) => self.literal(literal),
            Part::One(_) | Part::Rest(_) => self.one.get_or_insert_default(),
        }
    }

    fn literal(&mut self, segment: &str) -> &mut Node {
        let place = match self.find(segment) {
            Ok(place) => place,
            Err(place) => {
                self.literals.insert(place, (segment.into(), Node::default()));
                place
            }
        };
        &mut self.literals[place].1
    }

    /// By length first: most comparisons end there.
    fn find(&self, segment: &str) -> Result<usize, usize> {
        let key = (segment.len(), segment);
        self.literals.binary_search_by(|(literal, _)| (literal.len(), &**literal).cmp(&key))
    }

    /// Tells the places of the patterns that may fit, in no order.
    fn visit<'a>(&self, mut segments: impl Iterator<Item = &'a str> + Clone, found: &mut impl FnMut(usize)) {
        self.rest.iter().for_each(|index| found(*index));
        let Some(segment) = segments.next() else {
            return self.here.iter().for_each(|index| found(*index));
        };
        let Some(segment) = decode(segment) else { return };
        if let Ok(place) = self.find(&segment) {
            self.literals[place].1.visit(segments.clone(), found);
        }
        if let Some(one) = self.one.as_ref().filter(|_| !segment.is_empty()) {
            one.visit(segments, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATTERNS: &[&str] = &[
        "/",
        "/a/:x",
        "/a/b",
        "/a/*rest",
        "/b(.json|.csv)",
        "/b.json",
        "/:id(.json)",
        "/:x/:y/c",
        "/a/b/c",
        "/d/",
        "/:y",
    ];

    fn table() -> Table {
        Table::new(PATTERNS.iter().map(|it| Pattern::parse(it).unwrap()).collect())
    }

    #[test]
    fn what_is_found_is_what_fits() {
        let table = table();
        for raw in [
            "", "/", "//", "/a", "/a/", "/a/b", "/a/%62", "/a/b/", "/a/b/c", "/a/%2F", "/b", "/b.json", "/b.csv",
            "/b.xml", "/.json", "/x", "/x.json", "/x/y/c", "/x//c", "/d", "/d/", "/%ff", "/a/%ff", "*",
        ] {
            let fits: Vec<_> = (0..PATTERNS.len()).filter(|it| table.patterns[*it].captures(raw).is_some()).collect();
            assert_eq!(table.all(raw), fits, "{raw}");
            for some in [|_: usize| true, |index: usize| index.is_multiple_of(2), |index: usize| index > 5] {
                let first = fits.iter().copied().find(|it| some(*it));
                assert_eq!(table.first(raw, some).map(|it| it.0), first, "{raw}");
            }
        }
    }

    #[test]
    fn a_root_is_found_with_its_slash_and_without() {
        let table = Table::new(vec![Pattern::below("/a", "/").unwrap(), Pattern::below("/:b", "/").unwrap()]);
        assert_eq!((table.all("/a"), table.all("/a/"), table.all("/x/")), (vec![0, 1], vec![0, 1], vec![1]));
    }
}
