//! The table behind `store::`: bounded in memory, values with an end, the least recently used one known. It knows no
//! scripts.
//!
//! What goes when it is full is what memcached and nginx's shared dictionaries let go: first what is over, then what
//! was not used for the longest time, whichever shard holds it.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use hashlink::LinkedHashMap;

/// Locks, so that workers seldom wait for each other; each is held for about a microsecond.
const SHARDS: usize = 16;
/// What an entry takes beside its key and its value: its places in the table and in the list of ends.
const ENTRY_BYTES: usize = 160;
/// Entries whose time is over that one change of a shard takes out.
const EXPIRED_AT_ONCE: usize = 32;
/// Entries that go in one step where room is made; each takes about a microsecond.
const EVICTED_AT_ONCE: usize = 500;

/// A value as it is kept: cheap to copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Integer(i64),
    /// Anything else, as JSON with the keys of maps sorted.
    Json(Arc<[u8]>),
}

/// When a value ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Never,
    At(Instant),
    /// As the value before it; never, if there was none.
    Kept,
}

/// A value does not fit, though all others would go for it.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLarge {
    pub bytes: usize,
    pub most: usize,
}

/// What to do with a key, seen what is there.
pub enum Change<T> {
    /// Keeps a value, and gives something.
    Keep(Value, End, T),
    /// Leaves all as it is.
    Leave(T),
}

struct Entry {
    value: Value,
    end: Option<Instant>,
    /// Of two ends at one instant each has its own place.
    number: u64,
    /// When it was last used, by the table's own count.
    used: u64,
}

#[derive(Default)]
struct Shard {
    /// From the least to the most recently used.
    entries: LinkedHashMap<Arc<str>, Entry>,
    ends: BTreeMap<(Instant, u64), Arc<str>>,
}

/// Keys with their values.
pub struct Table {
    hasher: RandomState,
    shards: [Mutex<Shard>; SHARDS],
    held: AtomicUsize,
    most: AtomicUsize,
    clock: AtomicU64,
}

impl Table {
    pub fn new(most: usize) -> Table {
        Table {
            hasher: RandomState::new(),
            shards: Default::default(),
            held: AtomicUsize::new(0),
            most: AtomicUsize::new(most),
            clock: AtomicU64::new(0),
        }
    }

    /// Changes how much the table may hold; what is too much goes at once.
    pub fn limit(&self, most: usize) {
        self.most.store(most, Relaxed);
        while self.make_room() {}
    }

    pub fn get(&self, key: &str) -> Option<Value> {
        let now = Instant::now();
        let mut shard = self.shard(key);
        self.expel(&mut shard, now);
        shard.touch(key, now, self.tick()).map(|it| it.value.clone())
    }

    /// When the value of a key ends; `None` where there is no value.
    pub fn end(&self, key: &str) -> Option<Option<Instant>> {
        let now = Instant::now();
        self.shard(key).entries.get(key).filter(|it| it.lives(now)).map(|it| it.end)
    }

    /// Takes a value out; whether there was one.
    pub fn remove(&self, key: &str) -> bool {
        let now = Instant::now();
        let mut shard = self.shard(key);
        let lived = shard.entries.get(key).is_some_and(|it| it.lives(now));
        self.take(&mut shard, key);
        lived
    }

    /// Forgets everything.
    pub fn clear(&self) {
        for shard in &self.shards {
            let mut shard = lock(shard);
            while let Some((key, _)) = shard.entries.front() {
                let key = key.clone();
                self.take(&mut shard, &key);
            }
        }
    }

    /// Looks at a key's value and changes it in one step. Afterwards the table may hold too much, until
    /// [`Table::make_room`] has been called as often as it asks for.
    ///
    /// # Errors
    /// If the new value is larger than all that the table may hold; nothing is changed then.
    pub fn change<T>(&self, key: &str, decide: impl FnOnce(Option<&Value>) -> Change<T>) -> Result<T, TooLarge> {
        let now = Instant::now();
        let mut shard = self.shard(key);
        self.expel(&mut shard, now);
        let found = shard.touch(key, now, self.tick());
        let (value, end, outcome) = match decide(found.map(|it| &it.value)) {
            Change::Leave(outcome) => return Ok(outcome),
            Change::Keep(value, end, outcome) => (value, end, outcome),
        };
        let most = self.most.load(Relaxed);
        let bytes = cost(key, &value);
        if bytes > most {
            return Err(TooLarge { bytes, most });
        }
        let kept = found.and_then(|it| it.end);
        self.take(&mut shard, key);
        let end = match end {
            End::Never => None,
            End::At(instant) => Some(instant),
            End::Kept => kept,
        };
        let key: Arc<str> = key.into();
        let used = self.tick();
        if let Some(end) = end {
            shard.ends.insert((end, used), key.clone());
        }
        // Counted while the shard is locked, or another worker could count it out before.
        self.held.fetch_add(bytes, Relaxed);
        shard.entries.insert(key, Entry { value, end, number: used, used });
        Ok(outcome)
    }

    /// The first `most` of the keys that begin with `prefix`, sorted; `between` is called after each part of the search,
    /// without a lock.
    pub fn keys<E>(
        &self,
        prefix: &str,
        most: usize,
        mut between: impl FnMut() -> Result<(), E>,
    ) -> Result<Vec<Arc<str>>, E> {
        let now = Instant::now();
        let mut keys = Vec::new();
        for shard in &self.shards {
            let shard = lock(shard);
            let live = shard.entries.iter().filter(|(key, it)| key.starts_with(prefix) && it.lives(now));
            keys.extend(live.map(|(key, _)| key.clone()));
            drop(shard);
            // All of them may be as many as the memory has room for: they are not sorted in one step.
            if keys.len() > most {
                keys.select_nth_unstable(most);
                keys.truncate(most);
            }
            between()?;
        }
        keys.sort_unstable();
        Ok(keys)
    }

    /// Lets some values go if the table holds too much; whether it has to be called again. One that was just put in
    /// is the last to go, and fits alone.
    #[must_use]
    pub fn make_room(&self) -> bool {
        let is_full = || self.held.load(Relaxed) > self.most.load(Relaxed);
        if !is_full() {
            return false;
        }
        let now = Instant::now();
        for shard in &self.shards {
            if is_full() && self.expel(&mut lock(shard), now) {
                return true;
            }
        }
        for _ in 0..EVICTED_AT_ONCE {
            if !is_full() {
                return false;
            }
            let used = |shard: &Mutex<Shard>| lock(shard).entries.front().map(|(_, it)| it.used);
            let oldest = self.shards.iter().filter_map(|shard| Some((used(shard)?, shard)));
            let Some((used, shard)) = oldest.min_by_key(|(used, _)| *used) else { return false };
            let mut shard = lock(shard);
            let key = shard.entries.front().filter(|(_, it)| it.used == used).map(|(key, _)| key.clone());
            // Another worker may have used it meanwhile.
            if let Some(key) = key {
                self.take(&mut shard, &key);
            }
        }
        true
    }

    /// Takes out some entries whose time is over; whether there may be more.
    fn expel(&self, shard: &mut Shard, now: Instant) -> bool {
        for _ in 0..EXPIRED_AT_ONCE {
            let over = shard.ends.first_key_value().filter(|((end, _), _)| *end <= now).map(|(_, key)| key.clone());
            let Some(key) = over else { return false };
            self.take(shard, &key);
        }
        true
    }

    fn take(&self, shard: &mut Shard, key: &str) {
        let Some(entry) = shard.entries.remove(key) else { return };
        self.held.fetch_sub(cost(key, &entry.value), Relaxed);
        if let Some(end) = entry.end {
            shard.ends.remove(&(end, entry.number));
        }
    }

    fn shard(&self, key: &str) -> MutexGuard<'_, Shard> {
        #[expect(clippy::cast_possible_truncation, reason = "only the lowest bits count")]
        let index = self.hasher.hash_one(key) as usize % SHARDS;
        lock(&self.shards[index])
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Relaxed) + 1
    }
}

/// What a panic left behind is whole: nothing that can panic stands between two changes of a shard.
fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

fn cost(key: &str, value: &Value) -> usize {
    let bytes = match value {
        Value::Integer(_) => 0,
        Value::Json(json) => json.len(),
    };
    key.len() + bytes + ENTRY_BYTES
}

impl Entry {
    fn lives(&self, now: Instant) -> bool {
        self.end.is_none_or(|end| end > now)
    }
}

impl Shard {
    /// The entry whose time is not over; it was used now.
    fn touch(&mut self, key: &str, now: Instant, tick: u64) -> Option<&Entry> {
        if !self.entries.get(key)?.lives(now) {
            return None;
        }
        let entry = self.entries.to_back(key)?;
        entry.used = tick;
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn set(table: &Table, key: &str, bytes: usize, end: End) -> Result<(), TooLarge> {
        table.change(key, |_| Change::Keep(Value::Json(vec![b'x'; bytes].into()), end, ()))?;
        make_room(table);
        Ok(())
    }

    fn make_room(table: &Table) {
        while table.make_room() {}
    }

    fn there<'a>(table: &Table, keys: &[&'a str]) -> Vec<&'a str> {
        // Asking for the end is no use of the value.
        keys.iter().copied().filter(|it| table.end(it).is_some()).collect()
    }

    #[test]
    fn the_least_recently_used_goes_whichever_shard_holds_it() {
        let table = Table::new(5 * 1200);
        let names = ["a", "b", "c", "d", "e", "f", "g"];
        for name in &names[..5] {
            set(&table, name, 1000, End::Never).unwrap();
        }
        assert!(table.get("a").is_some());
        set(&table, "f", 1000, End::Never).unwrap();
        assert_eq!(there(&table, &names), ["a", "c", "d", "e", "f"]);
        set(&table, "g", 2000, End::Never).unwrap();
        assert_eq!(there(&table, &names), ["a", "e", "f", "g"]);
    }

    #[test]
    fn what_is_over_goes_first() {
        let table = Table::new(3 * 1200);
        set(&table, "old", 1000, End::Never).unwrap();
        set(&table, "over", 1000, End::At(Instant::now())).unwrap();
        set(&table, "b", 1000, End::Never).unwrap();
        set(&table, "c", 1000, End::Never).unwrap();
        assert_eq!(there(&table, &["old", "over", "b", "c"]), ["old", "b", "c"]);
    }

    #[test]
    fn what_never_fits_is_refused_and_changes_nothing() {
        let table = Table::new(2000);
        set(&table, "a", 100, End::Never).unwrap();
        assert_eq!(set(&table, "b", 4000, End::Never), Err(TooLarge { bytes: 4161, most: 2000 }));
        assert_eq!(set(&table, "a", 4000, End::Never), Err(TooLarge { bytes: 4161, most: 2000 }));
        assert_eq!(there(&table, &["a", "b"]), ["a"]);
    }

    #[test]
    fn what_is_taken_out_is_counted_out() {
        let table = Table::new(1 << 20);
        for round in 0..100 {
            let key = format!("k{}", round % 7);
            let end = if round % 3 == 0 { End::At(Instant::now()) } else { End::Never };
            set(&table, &key, round * 10, end).unwrap();
            table.get("k1");
        }
        for key in 0..3 {
            table.remove(&format!("k{key}"));
        }
        table.clear();
        assert_eq!(table.held.load(Relaxed), 0);
        assert!(table.shards.iter().all(|it| lock(it).entries.is_empty() && lock(it).ends.is_empty()));
    }

    #[test]
    fn a_kept_end_is_the_one_before() {
        let table = Table::new(1 << 20);
        let end = Instant::now() + Duration::from_secs(60);
        set(&table, "a", 1, End::At(end)).unwrap();
        set(&table, "a", 2, End::Kept).unwrap();
        set(&table, "b", 1, End::Kept).unwrap();
        assert_eq!((table.end("a"), table.end("b"), table.end("c")), (Some(Some(end)), Some(None), None));
        set(&table, "a", 3, End::Never).unwrap();
        assert_eq!(table.end("a"), Some(None));
    }

    #[test]
    fn a_smaller_limit_holds_at_once() {
        let table = Table::new(1 << 20);
        for key in 0..100 {
            set(&table, &key.to_string(), 1000, End::Never).unwrap();
        }
        table.limit(10_000);
        assert!(table.held.load(Relaxed) <= 10_000);
        assert!(table.get("99").is_some() && table.get("0").is_none());
    }

    #[test]
    fn much_goes_in_many_steps() {
        let table = Table::new(1 << 20);
        for key in 0..5000 {
            set(&table, &key.to_string(), 1, End::Never).unwrap();
        }
        table.change("large", |_| Change::Keep(Value::Json(vec![0; 1_000_000].into()), End::Never, ())).unwrap();
        let mut steps = 1;
        while table.make_room() {
            steps += 1;
        }
        assert!(steps >= 10, "{steps}");
        assert!(table.held.load(Relaxed) <= 1 << 20);
        assert_eq!(there(&table, &["0", "large"]), ["large"]);
        assert!(!table.make_room());
    }

    #[test]
    fn the_first_keys_are_found_whichever_shard_holds_them() {
        let table = Table::new(1 << 20);
        for key in 0..2000 {
            set(&table, &format!("{key:04}"), 1, End::Never).unwrap();
        }
        let keys = table.keys("1", 3, || Ok::<_, ()>(())).unwrap();
        assert_eq!(keys.iter().map(|it| &**it).collect::<Vec<_>>(), ["1000", "1001", "1002"]);
        assert_eq!(table.keys("19", 1000, || Ok::<_, ()>(())).unwrap().len(), 100);
    }

    #[test]
    fn a_panic_poisons_nothing() {
        let table = Table::new(1 << 20);
        let panicked = std::thread::scope(|scope| {
            scope.spawn(|| table.change("a", |_| -> Change<()> { panic!("on purpose") })).join()
        });
        assert!(panicked.is_err());
        set(&table, "a", 1, End::Never).unwrap();
        assert!(table.get("a").is_some());
    }
}
