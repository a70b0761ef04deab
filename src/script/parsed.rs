//! What texts come to when they are parsed. It is kept for as long as a script uses it, so that a reload parses what has
//! changed, and no more: parsing is nine tenths of what a generation costs.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use rhai::{AST, Identifier};

use super::imports::Import;
use super::source::Source;

/// A text that can be parsed. It never changes.
pub(super) struct Parsed {
    pub(super) ast: AST,
    pub(super) imports: Vec<Import>,
    /// The keys of its map literals, as they were written.
    pub(super) literals: Vec<Vec<Identifier>>,
}

/// What it depends on: the engine's depth of calls, the name in messages, and the text.
type Key = (usize, String, Arc<str>);

/// What the scripts of a worker were parsed from.
#[derive(Default)]
pub(super) struct Kept(RefCell<HashMap<Key, Weak<Parsed>>>);

impl Kept {
    /// What is known of a text, for an engine with so many call levels.
    pub(super) fn find(&self, call_levels: usize, source: &Source) -> Option<Rc<Parsed>> {
        self.0.borrow().get(&key(call_levels, source))?.upgrade()
    }

    /// Remembers it for as long as somebody has it.
    pub(super) fn put(&self, call_levels: usize, source: &Source, parsed: &Rc<Parsed>) {
        let mut kept = self.0.borrow_mut();
        if kept.len() == kept.capacity() {
            kept.retain(|_, it| it.strong_count() > 0);
        }
        kept.insert(key(call_levels, source), Rc::downgrade(parsed));
    }
}

fn key(call_levels: usize, source: &Source) -> Key {
    (call_levels, source.name.clone(), source.text.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: &str, text: &str) -> Source {
        Source { name: name.into(), path: name.into(), text: text.into(), line: 1, indent: 0 }
    }

    #[test]
    fn a_text_is_known_for_as_long_as_somebody_uses_it() {
        let kept = Kept::default();
        let parsed = Rc::new(Parsed { ast: AST::empty(), imports: Vec::new(), literals: Vec::new() });
        kept.put(64, &source("a.rhai", "1"), &parsed);
        assert!(kept.find(64, &source("a.rhai", "1")).is_some_and(|it| Rc::ptr_eq(&it, &parsed)));
        for (levels, name, text) in [(32, "a.rhai", "1"), (64, "b.rhai", "1"), (64, "a.rhai", "2")] {
            assert!(kept.find(levels, &source(name, text)).is_none(), "{levels} {name} {text}");
        }
        drop(parsed);
        assert!(kept.find(64, &source("a.rhai", "1")).is_none());
        for number in 0..1000 {
            let parsed = Rc::new(Parsed { ast: AST::empty(), imports: Vec::new(), literals: Vec::new() });
            kept.put(64, &source("a.rhai", &number.to_string()), &parsed);
        }
        assert!(kept.0.borrow().len() < 100, "what nobody uses is forgotten");
    }
}
