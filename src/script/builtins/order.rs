//! Sorting and thinning out by a closure, as Rhai has them, but for its errors: Rhai takes each for an answer.

use std::cmp::Ordering;

use rhai::{Array, Dynamic, FnPtr, NativeCallContext};

use super::super::decimal::Decimal;
use super::super::fault::{Result, raise};
use super::room;

pub(super) fn register(engine: &mut rhai::Engine) {
    for name in ["sort", "sort_by"] {
        engine.register_fn(name, |call: NativeCallContext, array: &mut Array, compare: FnPtr| {
            let order = ordered(&call, array, &compare)?;
            *array = order.into_iter().map(|index| std::mem::take(&mut array[index])).collect();
            Ok(()) as Result<()>
        });
    }
    for name in ["order", "order_by"] {
        engine.register_fn(name, |call: NativeCallContext, array: &mut Array, compare: FnPtr| -> Result<Array> {
            Ok(ordered(&call, array, &compare)?.into_iter().map(|index| array[index].clone()).collect())
        });
    }
    engine.register_fn("dedup", dedup);
}

/// The indices of the values in their order. The values stay where they are, so that nothing is lost by an error.
///
/// The standard library's sort could neither be ended by an error nor stand a closure that contradicts itself.
fn ordered(call: &NativeCallContext, array: &Array, compare: &FnPtr) -> Result<Vec<usize>> {
    room(array.len().saturating_mul(2 * size_of::<usize>()))?;
    let mut from: Vec<usize> = (0..array.len()).collect();
    let mut into = Vec::with_capacity(from.len());
    let mut run = 1;
    while run < from.len() {
        for pair in from.chunks(2 * run) {
            let (mut left, mut right) = pair.split_at(run.min(pair.len()));
            // What is in order already takes one comparison.
            if let (Some(last), Some(first)) = (left.last(), right.first())
                && compared(call, compare, [&array[*last], &array[*first]])?.is_le()
            {
                into.extend_from_slice(pair);
                continue;
            }
            while let (Some((one, ones)), Some((other, others))) = (left.split_first(), right.split_first()) {
                // Of equal ones the first stays the first.
                if compared(call, compare, [&array[*one], &array[*other]])?.is_le() {
                    into.push(*one);
                    left = ones;
                } else {
                    into.push(*other);
                    right = others;
                }
            }
            into.extend_from_slice(left);
            into.extend_from_slice(right);
        }
        std::mem::swap(&mut from, &mut into);
        into.clear();
        run *= 2;
    }
    Ok(from)
}

/// What a closure says of two values: a number below, at or above zero, or whether the first comes first.
fn compared(call: &NativeCallContext, compare: &FnPtr, values: [&Dynamic; 2]) -> Result<Ordering> {
    let said = compare.call_raw(call, None, values.map(Clone::clone))?;
    if let Ok(number) = said.as_int() {
        return Ok(number.cmp(&0));
    }
    if let Ok(is_first) = said.as_bool() {
        return Ok(if is_first { Ordering::Less } else { Ordering::Greater });
    }
    if let Some(number) = said.read_lock::<Decimal>() {
        return Ok(number.sign());
    }
    let number = said.as_float().ok().and_then(|it| it.partial_cmp(&0.0));
    number.ok_or_else(|| {
        let found = if said.is_float() { "NaN" } else { call.engine().map_type_name(said.type_name()) };
        raise(call, format!("the order of two values is a number or a boolean, found {found}"))
    })
}

fn dedup(call: NativeCallContext, array: &mut Array, is_same: FnPtr) -> Result<()> {
    room(array.len().saturating_mul(size_of::<usize>()))?;
    let mut kept: Vec<usize> = Vec::with_capacity(array.len());
    for (index, value) in array.iter().enumerate() {
        let is_repeated = match kept.last() {
            Some(last) => is_same.call_within_context::<bool>(&call, (array[*last].clone(), value.clone()))?,
            None => false,
        };
        if !is_repeated {
            kept.push(index);
        }
    }
    *array = kept.into_iter().map(|index| std::mem::take(&mut array[index])).collect();
    Ok(())
}
