//! Keys that were found lately, so that a database need not be asked again.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use super::Key;

/// Keys of one path that a worker remembers.
const MOST: usize = 1024;

type Hash = [u8; 32];

/// What good keys belong to, for a time. Keys that are not good are never remembered: whoever sends
/// many of them would fill it.
pub struct Cache<T> {
    time: Duration,
    kept: RefCell<Kept<T>>,
}

struct Kept<T> {
    found: HashMap<Hash, Rc<T>>,
    /// When they end; as all are kept for the same time, the first ends first.
    ends: VecDeque<(Instant, Hash)>,
}

impl<T> Cache<T> {
    /// Remembers each key for `time`.
    pub fn new(time: Duration) -> Cache<T> {
        Cache { time, kept: RefCell::new(Kept { found: HashMap::new(), ends: VecDeque::new() }) }
    }

    /// What a key belongs to, if it was found less than the time before `now`.
    pub fn find(&self, key: &Key, now: Instant) -> Option<Rc<T>> {
        let mut kept = self.kept.borrow_mut();
        kept.forget(now);
        kept.found.get(&hash(key)).cloned()
    }

    /// Remembers what a key belongs to.
    pub fn remember(&self, key: &Key, found: Rc<T>, now: Instant) {
        let mut kept = self.kept.borrow_mut();
        kept.forget(now);
        if kept.ends.len() == MOST
            && let Some((_, oldest)) = kept.ends.pop_front()
        {
            kept.found.remove(&oldest);
        }
        let hash = hash(key);
        // Two requests may have asked at the same time: the first one's time holds.
        if kept.found.insert(hash, found).is_none() {
            kept.ends.push_back((now + self.time, hash));
        }
    }
}

impl<T> Kept<T> {
    fn forget(&mut self, now: Instant) {
        while let Some((end, hash)) = self.ends.front()
            && *end <= now
        {
            self.found.remove(hash);
            self.ends.pop_front();
        }
    }
}

/// Keys themselves are not kept, and a hash that can't be aimed at takes one for no other.
fn hash(key: &Key) -> Hash {
    Sha256::digest(key.as_str()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> Key {
        Key(format!("key {number}"))
    }

    #[test]
    fn a_key_is_remembered_for_its_time_from_the_first_on() {
        let (cache, start) = (Cache::new(Duration::from_secs(5)), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(cache.find(&key(1), start), None);
        cache.remember(&key(1), Rc::new("one"), start);
        cache.remember(&key(2), Rc::new("two"), after(3));
        cache.remember(&key(1), Rc::new("one"), after(4));
        let found = |number, seconds| cache.find(&key(number), after(seconds)).map(|it| *it);
        assert_eq!((found(1, 4), found(2, 4), found(3, 4)), (Some("one"), Some("two"), None));
        assert_eq!((found(1, 5), found(2, 5)), (None, Some("two")));
        assert_eq!(found(2, 8), None);
        assert!(cache.kept.borrow().found.is_empty() && cache.kept.borrow().ends.is_empty());
    }

    #[test]
    fn the_oldest_makes_room() {
        let (cache, now) = (Cache::new(Duration::from_secs(5)), Instant::now());
        for number in 0..=MOST {
            cache.remember(&key(number), Rc::new(number), now);
        }
        assert_eq!(cache.kept.borrow().found.len(), MOST);
        assert_eq!((cache.find(&key(0), now), cache.find(&key(1), now)), (None, Some(Rc::new(1))));
    }
}
