//! `store::`: values that all requests and workers share, for as long as the process lives.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use rhai::{Array, Dynamic, EvalAltResult, FuncRegistration, INT, Module, NativeCallContext};

use super::{Binding, Function};
use crate::fiber;
use crate::memory;
use crate::script::{Result, Shapes, Wrong, parse_json, raise, write_json};

mod settings;
mod table;

pub use settings::Settings;
use table::{Change, End, Table, TooLarge, Value};

/// Longest key in bytes.
const LONGEST_KEY: usize = 1024;
/// Most keys that `keys` gives.
const MOST_KEYS: usize = 1000;

pub(super) const BINDING: Binding = Binding {
    name: "store",
    summary: "values that all requests and workers share; what JSON can carry, kept until the process ends, their time is \
              over, or `store.max-memory` is full: then those not used for the longest time go. A key has up to 1,024 bytes",
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
            signature: "replace(key, old, value[, seconds])",
            summary: "keeps the value if the key has the old one (`()`: if it has none); true if it did. Without seconds \
                      it ends when the old one would have",
            example: "store::set(\"f\", 1); [store::replace(\"f\", 1, 2), store::replace(\"f\", 1, 3), store::get(\"f\")] → [true,false,2]",
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
        Function {
            signature: "remaining(key)",
            summary: "the seconds for which a value is still kept, as a float; `()` if it has no end or is not there",
            example: "store::set(\"g\", 1, 60); [store::remaining(\"g\") > 59.0, store::remaining(\"none\")] → [true,null]",
        },
        Function {
            signature: "keys(prefix)",
            summary: "the keys that begin so, sorted; the first 1,000 of them. All keys are looked through",
            example: "store::set(\"user:1\", 1); store::set(\"user:2\", 1); store::keys(\"user:\") → [\"user:1\",\"user:2\"]",
        },
    ],
    register,
};

static STORE: LazyLock<Table> = LazyLock::new(|| Table::new(Settings::default().max_memory));

impl Settings {
    /// Makes them hold for the store, of which a process has one.
    pub fn hold(&self) {
        STORE.limit(self.max_memory);
    }
}

/// Forgets all values, as the end of the process would.
pub fn forget_all() {
    STORE.clear();
}

fn register(module: &mut Module) {
    FuncRegistration::new("get").set_into_module(module, |call: NativeCallContext, key: &str| {
        memory::apart(|| STORE.get(key)).map_or(Ok(Dynamic::UNIT), |value| to_script(&call, &value))
    });
    FuncRegistration::new("delete").set_into_module(module, |key: &str| memory::apart(|| STORE.remove(key)));
    FuncRegistration::new("remaining").set_into_module(module, |key: &str| match STORE.end(key) {
        Some(Some(end)) => Dynamic::from(end.saturating_duration_since(Instant::now()).as_secs_f64()),
        _ => Dynamic::UNIT,
    });
    FuncRegistration::new("keys").set_into_module(module, |call: NativeCallContext, prefix: &str| keys(&call, prefix));
    with_time(module, "set", End::Never, |call, key, value, end| {
        let value = of_script(call, &value)?;
        change(call, key, |_| Change::Keep(value, end, Dynamic::UNIT))
    });
    with_time(module, "add", End::Never, |call, key, value, end| {
        let value = of_script(call, &value)?;
        change(call, key, |found| match found {
            None => Change::Keep(value, end, true.into()),
            Some(_) => Change::Leave(false.into()),
        })
    });
    FuncRegistration::new("increment")
        .set_into_module(module, |call: NativeCallContext, key: &str, by: INT| increment(&call, key, by, End::Never));
    FuncRegistration::new("increment")
        .set_into_module(module, |call: NativeCallContext, key: &str, by: INT, time: Dynamic| {
            increment(&call, key, by, end(&call, &time)?)
        });
    FuncRegistration::new("replace")
        .set_into_module(module, |call: NativeCallContext, key: &str, old: Dynamic, new: Dynamic| {
            replace(&call, key, &old, &new, End::Kept)
        });
    FuncRegistration::new("replace").set_into_module(
        module,
        |call: NativeCallContext, key: &str, old: Dynamic, new: Dynamic, time: Dynamic| {
            replace(&call, key, &old, &new, end(&call, &time)?)
        },
    );
}

type Act = fn(&NativeCallContext, &str, Dynamic, End) -> Result<Dynamic>;

/// Registers a function of a key and a value, with a time to live and without.
fn with_time(module: &mut Module, name: &str, without: End, act: Act) {
    FuncRegistration::new(name).set_into_module(module, move |call: NativeCallContext, key: &str, value: Dynamic| {
        act(&call, key, value, without)
    });
    FuncRegistration::new(name).set_into_module(
        module,
        move |call: NativeCallContext, key: &str, value: Dynamic, time: Dynamic| {
            act(&call, key, value, end(&call, &time)?)
        },
    );
}

fn change<T>(call: &NativeCallContext, key: &str, decide: impl FnOnce(Option<&Value>) -> Change<T>) -> Result<T> {
    if key.len() > LONGEST_KEY {
        let message = format!("the key has {} bytes, at most {LONGEST_KEY} are possible", key.len());
        return Err(raise(call, format!("{message}\nhint: `crypto::sha256(key)` is a short one")));
    }
    // What the store keeps and gives up is no script's.
    let changed = memory::apart(|| STORE.change(key, decide)).map_err(|TooLarge { bytes, most }| {
        raise(call, format!("the value takes {bytes} bytes, `store.max-memory` is {most}"))
    })?;
    // For a large value hundreds of thousands may have to go.
    while memory::apart(|| STORE.make_room()) {
        fiber::slice().map_err(|stop| Wrong::from(stop).raise(call))?;
    }
    Ok(changed)
}

fn increment(call: &NativeCallContext, key: &str, by: INT, end: End) -> Result<INT> {
    change(call, key, |found| match found {
        None => Change::Keep(Value::Integer(by), end, Ok(by)),
        Some(Value::Integer(number)) => match number.checked_add(by) {
            Some(sum) => Change::Keep(Value::Integer(sum), End::Kept, Ok(sum)),
            None => Change::Leave(Err(raise(call, format!("the integer at `{key}` would be too large")))),
        },
        Some(Value::Json(_)) => Change::Leave(Err(raise(call, format!("the store has no integer at `{key}`")))),
    })?
}

fn replace(call: &NativeCallContext, key: &str, old: &Dynamic, new: &Dynamic, end: End) -> Result<bool> {
    let expected = if old.is_unit() { None } else { Some(of_script(call, old)?) };
    let value = of_script(call, new)?;
    change(call, key, |found| match found == expected.as_ref() {
        true => Change::Keep(value, end, true),
        false => Change::Leave(false),
    })
}

fn keys(call: &NativeCallContext, prefix: &str) -> Result<Array> {
    let stopped = |stop| Wrong::from(stop).raise(call);
    let keys = STORE.keys(prefix, MOST_KEYS, fiber::slice).map_err(stopped)?;
    fiber::room(MOST_KEYS * LONGEST_KEY).map_err(stopped)?;
    Ok(keys.iter().map(|it| it.as_ref().into()).collect())
}

fn end(call: &NativeCallContext, time: &Dynamic) -> Result<End> {
    #[expect(clippy::cast_precision_loss, reason = "a time to live is far below 2^52 seconds")]
    let seconds = time.as_float().or_else(|_| time.as_int().map(|it| it as f64));
    let duration = seconds.ok().and_then(|it| Duration::try_from_secs_f64(it).ok());
    let duration = duration.ok_or_else(|| {
        raise(call, format!("the time to live is `{time}`, expected seconds from 0 on")) as Box<EvalAltResult>
    })?;
    Ok(Instant::now().checked_add(duration).map_or(End::Never, End::At))
}

fn of_script(call: &NativeCallContext, value: &Dynamic) -> Result<Value> {
    if let Ok(number) = value.as_int() {
        return Ok(Value::Integer(number));
    }
    let mut json = Vec::new();
    // With sorted keys, whatever the order in the script: equal values are equal texts.
    write_json(&mut json, value, &Shapes::default()).map_err(|fault| match Wrong::from(fault) {
        Wrong::Server(message) => raise(call, format!("the store keeps what JSON can carry: {message}")),
        wrong => wrong.raise(call),
    })?;
    Ok(Value::Json(memory::apart(|| json.as_slice().into())))
}

fn to_script(call: &NativeCallContext, value: &Value) -> Result<Dynamic> {
    match value {
        Value::Integer(number) => Ok((*number).into()),
        Value::Json(json) => parse_json(json).map_err(|unread| Wrong::from(unread).raise(call)),
    }
}
