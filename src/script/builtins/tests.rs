//! Every function that Rhai brings, called with arguments that are as large as a script can make them.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
use std::time::{Duration, Instant};

use rhai::{Array, Blob, Dynamic, Engine, FLOAT, FnPtr, INT, ImmutableString, Map};
use rhai::{NativeCallContext, Scope};

use crate::fiber::{self, Limits};
use crate::memory;
use crate::script::fault::Result;

/// What a call may hold.
const LIMIT: usize = 8 << 20;
/// What one may hold for a moment: a step is seen when it is over, and may hold a copy of its arguments.
const MOST: isize = 2 * LIMIT as isize;
/// What a call may take, and how long one may take until it is stopped; between them lies a busy machine.
const TIMEOUT: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(10);

/// A function by its name and the types that it takes.
type Signature = (String, Vec<TypeId>);

/// Calls a native by its name, as a script does: with its first argument by reference.
fn probe(call: NativeCallContext, name: &str, mut arguments: Array) -> Result<Dynamic> {
    let mut arguments: Vec<&mut Dynamic> = arguments.iter_mut().collect();
    call.call_native_fn_raw(name, true, &mut arguments)
}

fn engine() -> &'static Engine {
    let engine = crate::script::Engines::new([(|engine: &mut Engine| {
        engine.register_fn("probe", probe);
        // What callbacks do: they give what they got.
        engine.register_fn("same", |value: Dynamic| value);
        engine.register_fn("same", |value: Dynamic, _: Dynamic| value);
        engine.register_fn("same", |value: Dynamic, _: Dynamic, _: Dynamic| value);
    }) as crate::script::Register]);
    engine.with_call_levels(64)
}

fn signatures(engine: &Engine) -> Vec<Signature> {
    let own = ["probe", "same", "router", "sleep"];
    let mut all = engine.collect_fn_metadata(
        None,
        |it| {
            let data = it.metadata;
            let is_callable = !own.contains(&data.name.as_str()) && data.num_params == data.param_types.len();
            is_callable.then(|| (data.name.to_string(), data.param_types.to_vec()))
        },
        true,
    );
    all.sort();
    all.dedup();
    all
}

/// The largest values of each type, and some that are at the edge.
fn values() -> BTreeMap<TypeId, Vec<Dynamic>> {
    let text = ImmutableString::from("é ".repeat(1 << 19));
    let numbers: Array = (0..100_000_i64).map(Dynamic::from).collect();
    let shared: Array = vec![text.clone().into(); 1000];
    let map: Map = (0..20_000_i64).map(|it| (format!("key{it}").into(), it.into())).collect();
    let blob: Blob = vec![0xC3; 2 << 20];
    let ints = [INT::MAX, INT::MIN, 1_000_000_000, -1, 0];
    let mut values = BTreeMap::new();
    let mut add = |id, list: Vec<Dynamic>| drop(values.insert(id, list));
    add(TypeId::of::<INT>(), ints.map(Dynamic::from).to_vec());
    add(
        TypeId::of::<FLOAT>(),
        [FLOAT::MAX, FLOAT::MIN_POSITIVE, FLOAT::NAN, FLOAT::INFINITY].map(Dynamic::from).to_vec(),
    );
    add(TypeId::of::<bool>(), vec![true.into()]);
    add(TypeId::of::<char>(), vec!['\u{10FFFF}'.into(), ' '.into()]);
    add(TypeId::of::<()>(), vec![Dynamic::UNIT]);
    for id in [TypeId::of::<ImmutableString>(), TypeId::of::<&str>(), TypeId::of::<String>()] {
        add(id, vec![text.clone().into(), "é".into(), "".into()]);
    }
    add(TypeId::of::<Array>(), vec![numbers.clone().into(), shared.into()]);
    add(TypeId::of::<Map>(), vec![Dynamic::from_map(map)]);
    add(TypeId::of::<Blob>(), vec![Dynamic::from_blob(blob)]);
    add(TypeId::of::<FnPtr>(), vec![Dynamic::from(FnPtr::new("same").unwrap())]);
    add(TypeId::of::<Range<INT>>(), vec![Dynamic::from(0..INT::MAX), Dynamic::from(INT::MIN..INT::MAX)]);
    add(TypeId::of::<RangeInclusive<INT>>(), vec![Dynamic::from(0..=INT::MAX), Dynamic::from(INT::MIN..=INT::MAX)]);
    add(TypeId::of::<Dynamic>(), vec![numbers.into(), text.into(), INT::MAX.into()]);
    values
}

/// All lists of arguments for the types.
fn lists(types: &[TypeId], values: &BTreeMap<TypeId, Vec<Dynamic>>) -> Vec<Array> {
    types
        .iter()
        .try_fold(vec![Array::new()], |lists, id| {
            let with = |list: &Array, value: &Dynamic| list.iter().chain([value]).cloned().collect();
            let of_type = values.get(id)?;
            Some(lists.iter().flat_map(|list| of_type.iter().map(move |value| with(list, value))).collect())
        })
        .unwrap_or_default()
}

#[test]
fn each_built_in_keeps_to_the_limits_whatever_it_is_given() {
    let (engine, values) = (engine(), values());
    let mut known = Scope::new();
    known.push("name", "").push("arguments", Array::new());
    let script = engine.compile_with_scope(&known, "probe(name, arguments)").unwrap();
    let runtime = tokio::runtime::LocalRuntime::new().unwrap();
    let limits = Limits { memory: LIMIT, operations: 1_000_000, time: TIMEOUT, ..Limits::default() };
    let (mut called, mut unknown, mut wrong) = (0, Vec::new(), Vec::new());
    for (name, types) in signatures(engine) {
        let lists = lists(&types, &values);
        if lists.is_empty() {
            unknown.push(name);
            continue;
        }
        called += 1;
        for arguments in lists {
            let shown: Vec<_> = arguments.iter().map(Dynamic::type_name).collect();
            let call = format!("{name}({})", shown.join(", "));
            // The last line that is printed names the one that ended the process.
            println!("{call}");
            let work = || {
                let mut scope = Scope::new();
                scope.push("name", name.clone()).push("arguments", arguments);
                memory::mark();
                let (before, began) = (memory::live(), Instant::now());
                let _ = engine.eval_ast_with_scope::<Dynamic>(&mut scope, &script);
                (memory::peak() - before, began.elapsed())
            };
            match runtime.block_on(fiber::run(limits, work)) {
                Ok((taken, _)) if taken > MOST => wrong.push(format!("{call} held {} MiB", taken >> 20)),
                Ok((_, time)) if time > LONGEST => wrong.push(format!("{call} took {time:?}")),
                Ok(_) => {}
                Err(_) => wrong.push(format!("{call} panicked")),
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {called}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(called > 300, "only {called} functions were called; their types are unknown: {unknown:?}");
}
