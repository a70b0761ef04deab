//! What scripts can do with a frozen value: look up, walk, compare; whatever would change it is an error.

use std::rc::Rc;

use rhai::{Array, Dynamic, DynamicReadLock, EvalAltResult, FnPtr, INT, Map, NativeCallContext};

use super::super::fault::{Result, raise};
use super::super::raise::Wrong;
use super::super::rows::compare_with_unit;
use super::{Frozen, Inner, MAX_DEPTH, freeze};
use crate::fiber;

/// Functions by which lists and maps are changed, with how many arguments they take after the value.
const CHANGES: &[(&str, usize)] = &[
    ("+=", 1),
    ("append", 1),
    ("chop", 1),
    ("clear", 0),
    ("dedup", 0),
    ("drain", 1),
    ("drain", 2),
    ("fill_with", 1),
    ("insert", 2),
    ("mixin", 1),
    ("pad", 2),
    ("pop", 0),
    ("push", 1),
    ("remove", 1),
    ("retain", 1),
    ("reverse", 0),
    ("set", 2),
    ("shift", 0),
    ("sort", 0),
    ("sort", 1),
    ("splice", 3),
    ("truncate", 1),
];

/// Makes `freeze` and what it gives known to scripts.
pub(in crate::script) fn register(engine: &mut rhai::Engine) {
    engine.register_type_with_name::<Frozen>("Frozen");
    engine.register_fn("freeze", |call: NativeCallContext, value: Dynamic| {
        freeze(value).map_err(|unfit| Wrong::from(unfit).raise(&call))
    });
    engine.register_iterator::<Frozen>();
    engine.register_indexer_get(|call: NativeCallContext, frozen: &mut Frozen, key: &str| frozen.member(&call, key));
    engine.register_indexer_get(|call: NativeCallContext, frozen: &mut Frozen, index: INT| frozen.item(&call, index));
    engine.register_fn("get", |call: NativeCallContext, frozen: Frozen, key: &str| frozen.member(&call, key));
    engine.register_fn("len", |frozen: Frozen| INT::try_from(frozen.len()).unwrap_or(INT::MAX));
    engine.register_fn("is_empty", |frozen: Frozen| frozen.len() == 0);
    engine.register_fn("contains", |call: NativeCallContext, frozen: Frozen, value: Dynamic| {
        frozen.contains(&call, &value)
    });
    engine.register_fn("keys", |call: NativeCallContext, frozen: Frozen| match frozen.inner() {
        Inner::Map(map) => Ok::<Array, _>(map.keys().map(|it| it.as_str().into()).collect()),
        Inner::List(_) => Err(raise(&call, "a frozen list has no keys".to_owned())),
    });
    engine.register_fn("values", |frozen: Frozen| -> Array {
        match frozen.inner() {
            Inner::Map(map) => map.values().cloned().collect(),
            Inner::List(list) => list.clone(),
        }
    });
    engine.register_fn("filter", |call: NativeCallContext, frozen: Frozen, keep: FnPtr| -> Result<Array> {
        let mut kept = Array::new();
        for item in frozen.items(&call)? {
            if keep.call_within_context(&call, (item.clone(),))? {
                kept.push(item.clone());
            }
        }
        Ok(kept)
    });
    engine.register_fn("map", |call: NativeCallContext, frozen: Frozen, make: FnPtr| -> Result<Array> {
        frozen.items(&call)?.iter().map(|item| make.call_within_context(&call, (item.clone(),))).collect()
    });
    engine.register_fn("find", |call: NativeCallContext, frozen: Frozen, is_it: FnPtr| -> Result<Dynamic> {
        for item in frozen.items(&call)? {
            if is_it.call_within_context(&call, (item.clone(),))? {
                return Ok(item.clone());
            }
        }
        Ok(Dynamic::UNIT)
    });
    for name in ["to_map", "to_array"] {
        engine.register_fn(name, move |call: NativeCallContext, frozen: Frozen| {
            if (name == "to_map") != matches!(frozen.inner(), Inner::Map(_)) {
                return Err(raise(
                    &call,
                    format!("`{name}` is for {}", if name == "to_map" { "maps" } else { "lists" }),
                ));
            }
            frozen.thaw().map_err(|stop| Wrong::from(stop).raise(&call))
        });
    }
    comparisons(engine);
    changes(engine);
}

fn comparisons(engine: &mut rhai::Engine) {
    fn both<L: rhai::Variant + Clone, R: rhai::Variant + Clone>(engine: &mut rhai::Engine) {
        let compare = |call: &NativeCallContext, left: L, right: R| {
            same(call, &Dynamic::from(left), &Dynamic::from(right), MAX_DEPTH)
        };
        engine.register_fn("==", move |call: NativeCallContext, left: L, right: R| compare(&call, left, right));
        engine.register_fn("!=", move |call: NativeCallContext, left: L, right: R| {
            compare(&call, left, right).map(|it| !it)
        });
    }
    both::<Frozen, Frozen>(engine);
    both::<Frozen, Map>(engine);
    both::<Map, Frozen>(engine);
    both::<Frozen, Array>(engine);
    both::<Array, Frozen>(engine);
    compare_with_unit::<Frozen>(engine);
}

fn changes(engine: &mut rhai::Engine) {
    fn refuse(call: &NativeCallContext) -> Result<()> {
        Err(refused(call))
    }
    engine.register_indexer_set(|call: NativeCallContext, _: &mut Frozen, _: &str, _: Dynamic| refuse(&call));
    engine.register_indexer_set(|call: NativeCallContext, _: &mut Frozen, _: INT, _: Dynamic| refuse(&call));
    for (name, arguments) in CHANGES {
        match arguments {
            0 => engine.register_fn(*name, |call: NativeCallContext, _: &mut Frozen| refuse(&call)),
            1 => engine.register_fn(*name, |call: NativeCallContext, _: &mut Frozen, _: Dynamic| refuse(&call)),
            2 => engine
                .register_fn(*name, |call: NativeCallContext, _: &mut Frozen, _: Dynamic, _: Dynamic| refuse(&call)),
            _ => engine
                .register_fn(*name, |call: NativeCallContext, _: &mut Frozen, _: Dynamic, _: Dynamic, _: Dynamic| {
                    refuse(&call)
                }),
        };
    }
}

fn refused(call: &NativeCallContext) -> Box<EvalAltResult> {
    raise(call, "a frozen value can't be changed\nhint: `to_map()` and `to_array()` give a copy that can".to_owned())
}

impl Frozen {
    fn member(&self, call: &NativeCallContext, key: &str) -> Result<Dynamic> {
        match self.inner() {
            // As with a map: what is not there is `()`.
            Inner::Map(map) => Ok(map.get(key).cloned().unwrap_or_default()),
            Inner::List(_) => Err(raise(call, format!("a frozen list has no key `{key}`"))),
        }
    }

    fn item(&self, call: &NativeCallContext, index: INT) -> Result<Dynamic> {
        let list = self.items(call)?;
        let place = if index < 0 { INT::try_from(list.len()).unwrap_or(INT::MAX) + index } else { index };
        let item = usize::try_from(place).ok().and_then(|it| list.get(it));
        item.cloned().ok_or_else(|| raise(call, format!("the frozen list has {} items, none at {index}", list.len())))
    }

    fn items(&self, call: &NativeCallContext) -> Result<&[Dynamic]> {
        self.list().ok_or_else(|| raise(call, "a frozen map has keys, no items by number".to_owned()))
    }

    fn contains(&self, call: &NativeCallContext, value: &Dynamic) -> Result<bool> {
        match self.inner() {
            Inner::Map(map) => Ok(value.as_immutable_string_ref().is_ok_and(|it| map.contains_key(it.as_str()))),
            Inner::List(list) => {
                for item in list {
                    if same(call, item, value, MAX_DEPTH)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }
}

/// Walks the items of a list, the keys of a map.
impl IntoIterator for Frozen {
    type Item = Dynamic;
    type IntoIter = Box<dyn Iterator<Item = Dynamic>>;

    fn into_iter(self) -> Self::IntoIter {
        match self.inner() {
            Inner::Map(map) => {
                let keys: Vec<Dynamic> = map.keys().map(|it| it.as_str().into()).collect();
                Box::new(keys.into_iter())
            }
            Inner::List(list) => {
                let count = list.len();
                Box::new((0..count).filter_map(move |index| self.list().and_then(|it| it.get(index)).cloned()))
            }
        }
    }
}

/// A value whose parts are looked at.
enum Held<'a> {
    Frozen(Frozen),
    List(DynamicReadLock<'a, Array>),
    Map(DynamicReadLock<'a, Map>),
    Other,
}

impl Held<'_> {
    fn of(value: &Dynamic) -> Held<'_> {
        if let Some(frozen) = value.read_lock::<Frozen>() {
            return Held::Frozen(frozen.clone());
        }
        if let Some(list) = value.read_lock::<Array>() {
            return Held::List(list);
        }
        value.read_lock::<Map>().map_or(Held::Other, Held::Map)
    }

    fn list(&self) -> Option<&[Dynamic]> {
        match self {
            Held::Frozen(frozen) => frozen.list(),
            Held::List(list) => Some(list),
            Held::Map(_) | Held::Other => None,
        }
    }

    fn map(&self) -> Option<&Map> {
        match self {
            Held::Frozen(frozen) => frozen.map(),
            Held::Map(map) => Some(map),
            Held::List(_) | Held::Other => None,
        }
    }
}

/// Whether two values are equal, frozen or not.
fn same(call: &NativeCallContext, left: &Dynamic, right: &Dynamic, depth: usize) -> Result<bool> {
    fiber::tick().map_err(|stop| Wrong::from(stop).raise(call))?;
    let Some(depth) = depth.checked_sub(1) else { return Ok(false) };
    let held = (Held::of(left), Held::of(right));
    if let (Held::Frozen(left), Held::Frozen(right)) = &held
        && Rc::ptr_eq(&left.0, &right.0)
    {
        return Ok(true);
    }
    if let (Some(left), Some(right)) = (held.0.list(), held.1.list()) {
        return Ok(left.len() == right.len() && all_same(call, left.iter().zip(right), depth)?);
    }
    if let (Some(left), Some(right)) = (held.0.map(), held.1.map()) {
        let values = left.values().zip(right.values());
        return Ok(left.len() == right.len() && left.keys().eq(right.keys()) && all_same(call, values, depth)?);
    }
    match held {
        (Held::Other, Held::Other) => call.call_native_fn("==", (left.clone(), right.clone())),
        _ => Ok(false),
    }
}

fn all_same<'a>(
    call: &NativeCallContext,
    mut pairs: impl Iterator<Item = (&'a Dynamic, &'a Dynamic)>,
    depth: usize,
) -> Result<bool> {
    pairs.try_fold(true, |so_far, (left, right)| Ok(so_far && same(call, left, right, depth)?))
}
