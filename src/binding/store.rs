//! `store::`: values that all requests and workers share, for as long as the process lives.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rhai::{Dynamic, FuncRegistration, INT, Module, NativeCallContext};

use super::{Binding, Function};
use crate::script::{Context, Result, Wrong, parse_json, raise, write_json};

/// Locks, so that workers seldom wait for each other; each is held for less than a microsecond.
const SHARDS: usize = 16;

pub(super) const BINDING: Binding = Binding {
    name: "store",
    summary: "values that all requests and workers share; what JSON can carry, kept until the process ends or their time is over",
    functions: &[
        Function {
            signature: "get(key)",
            summary: "the value, or `()`",
            example: "store::set(\"a\", [1, 2]); store::get(\"a\") → [1,2]",
        },
        Function {
            signature: "set(key, value[, seconds])",
            summary: "keeps a value, for ever or for so many seconds",
            example: "store::set(\"b\", \"x\", 60); store::get(\"b\") → \"x\"",
        },
        Function {
            signature: "add(key, value[, seconds])",
            summary: "keeps a value if the key has none; true if it did",
            example: "[store::add(\"c\", 1), store::add(\"c\", 2), store::get(\"c\")] → [true,false,1]",
        },
        Function {
            signature: "delete(key)",
            summary: "forgets a value; true if there was one",
            example: "store::set(\"d\", 1); [store::delete(\"d\"), store::delete(\"d\")] → [true,false]",
        },
        Function {
            signature: "increment(key, by[, seconds])",
            summary: "adds to an integer, 0 where the key has none, and gives the sum; the seconds count from the first",
            example: "store::increment(\"e\", 2); store::increment(\"e\", 3) → 5",
        },
    ],
    register,
};

#[derive(Clone)]
enum Value {
    Integer(INT),
    /// Anything else, as JSON.
    Json(Box<[u8]>),
}

struct Entry {
    value: Value,
    expires: Option<Instant>,
}

struct Shard {
    entries: HashMap<String, Entry>,
    /// At this number of entries those whose time is over are taken out.
    clean_at: usize,
}

struct Store {
    hasher: RandomState,
    shards: [Mutex<Shard>; SHARDS],
}

static STORE: LazyLock<Store> = LazyLock::new(|| Store {
    hasher: RandomState::new(),
    shards: std::array::from_fn(|_| Mutex::new(Shard { entries: HashMap::new(), clean_at: 64 })),
});

/// Forgets all values, as the end of the process would.
pub fn forget_all() {
    for shard in &STORE.shards {
        shard.lock().unwrap_or_else(PoisonError::into_inner).entries.clear();
    }
}

fn register(module: &mut Module) {
    FuncRegistration::new("get").set_into_module(module, |call: NativeCallContext, key: &str| {
        let value = shard(key).live(key).map(|it| it.value.clone());
        value.map_or(Ok(Dynamic::UNIT), |value| value.to_script(&call))
    });
    FuncRegistration::new("set")
        .set_into_module(module, |call: NativeCallContext, key: &str, value: Dynamic| set(&call, key, &value, None));
    FuncRegistration::new("set").set_into_module(
        module,
        |call: NativeCallContext, key: &str, value: Dynamic, time: Dynamic| {
            set(&call, key, &value, Some(seconds(&call, &time)?))
        },
    );
    FuncRegistration::new("add")
        .set_into_module(module, |call: NativeCallContext, key: &str, value: Dynamic| add(&call, key, &value, None));
    FuncRegistration::new("add").set_into_module(
        module,
        |call: NativeCallContext, key: &str, value: Dynamic, time: Dynamic| {
            add(&call, key, &value, Some(seconds(&call, &time)?))
        },
    );
    FuncRegistration::new("delete").set_into_module(module, |key: &str| {
        let mut shard = shard(key);
        let there = shard.live(key).is_some();
        shard.entries.remove(key);
        there
    });
    FuncRegistration::new("increment")
        .set_into_module(module, |call: NativeCallContext, key: &str, by: INT| increment(&call, key, by, None));
    FuncRegistration::new("increment").set_into_module(
        module,
        |call: NativeCallContext, key: &str, by: INT, time: Dynamic| {
            increment(&call, key, by, Some(seconds(&call, &time)?))
        },
    );
}

fn set(call: &NativeCallContext, key: &str, value: &Dynamic, time: Option<Duration>) -> Result<()> {
    let value = Value::of(call, value)?;
    shard(key).insert(key, value, time);
    Ok(())
}

fn add(call: &NativeCallContext, key: &str, value: &Dynamic, time: Option<Duration>) -> Result<bool> {
    let value = Value::of(call, value)?;
    let mut shard = shard(key);
    let free = shard.live(key).is_none();
    if free {
        shard.insert(key, value, time);
    }
    Ok(free)
}

fn increment(call: &NativeCallContext, key: &str, by: INT, time: Option<Duration>) -> Result<INT> {
    let mut shard = shard(key);
    let Some(entry) = shard.live(key) else {
        shard.insert(key, Value::Integer(by), time);
        return Ok(by);
    };
    let Value::Integer(number) = &mut entry.value else {
        return Err(raise(call, format!("the store has no integer at `{key}`")));
    };
    *number =
        number.checked_add(by).ok_or_else(|| raise(call, format!("the integer at `{key}` would be too large")))?;
    Ok(*number)
}

fn seconds(call: &NativeCallContext, time: &Dynamic) -> Result<Duration> {
    #[expect(clippy::cast_precision_loss, reason = "a time to live is far below 2^52 seconds")]
    let seconds = time.as_float().or_else(|_| time.as_int().map(|it| it as f64));
    seconds
        .ok()
        .and_then(|it| Duration::try_from_secs_f64(it).ok())
        .ok_or_else(|| raise(call, format!("the time to live is `{time}`, expected seconds from 0 on")))
}

fn shard(key: &str) -> MutexGuard<'static, Shard> {
    #[expect(clippy::cast_possible_truncation, reason = "only the lowest bits count")]
    let index = STORE.hasher.hash_one(key) as usize % SHARDS;
    // What a panic left behind is whole: entries are changed in one step.
    STORE.shards[index].lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shard {
    /// The entry whose time is not over.
    fn live(&mut self, key: &str) -> Option<&mut Entry> {
        self.entries.get_mut(key).filter(|it| it.expires.is_none_or(|end| end > Instant::now()))
    }

    fn insert(&mut self, key: &str, value: Value, time: Option<Duration>) {
        if self.entries.len() >= self.clean_at {
            let now = Instant::now();
            self.entries.retain(|_, it| it.expires.is_none_or(|end| end > now));
            self.clean_at = (self.entries.len() * 2).max(64);
        }
        let expires = time.and_then(|it| Instant::now().checked_add(it));
        self.entries.insert(key.to_owned(), Entry { value, expires });
    }
}

impl Value {
    fn of(call: &NativeCallContext, value: &Dynamic) -> Result<Value> {
        if let Ok(number) = value.as_int() {
            return Ok(Value::Integer(number));
        }
        let mut json = Vec::new();
        Context::with(call, |context| write_json(&mut json, value, &context.shapes))?.map_err(
            |fault| match Wrong::from(fault) {
                Wrong::Server(message) => raise(call, format!("the store keeps what JSON can carry: {message}")),
                wrong => wrong.raise(call),
            },
        )?;
        Ok(Value::Json(json.into()))
    }

    fn to_script(&self, call: &NativeCallContext) -> Result<Dynamic> {
        match self {
            Value::Integer(number) => Ok((*number).into()),
            Value::Json(json) => parse_json(json).map_err(|unread| Wrong::from(unread).raise(call)),
        }
    }
}
