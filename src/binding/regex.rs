//! `regex::`: regular expressions that take time in proportion to the text, whatever the pattern.

use std::ops::Range;
use std::sync::Arc;

use regex_automata::util::interpolate;
use rhai::{
    Array, Dynamic, EvalAltResult, FnPtr, FuncRegistration, INT, ImmutableString, Map, Module, NativeCallContext,
};

use super::kind::kind;
use super::limit::{room, step};
use super::{Binding, Function};
use crate::script::{Groups, Pattern, Result, Unsearched, Wrong, raise};

pub(super) const BINDING: Binding = Binding {
    name: "regex",
    summary: "regular expressions in the syntax of the Rust crate `regex`: no look-around and no back-references, but never \
              slow. A pattern is compiled once and has up to 8 KiB; a text's bytes times the pattern's states are at most \
              2,000,000,000, and matches times groups 200,000. Write it in backticks, where a backslash is one: `` `\\d+` ``",
    functions: &[
        Function {
            signature: "is_match(pattern, text)",
            summary: "whether the pattern is somewhere in the text",
            example: "regex::is_match(`^\\d{4}-\\d\\d$`, \"2024-05\") → true",
        },
        Function {
            signature: "find(pattern, text)",
            summary: "the first match as `#{text, start, end}`, positions in characters, or `()`",
            example: "regex::find(`\\d+`, \"zß 42!\") → {\"end\":5,\"start\":3,\"text\":\"42\"}",
        },
        Function {
            signature: "find_all(pattern, text)",
            summary: "all matches as texts",
            example: "regex::find_all(`\\d+`, \"1, 22 and 333\") → [\"1\",\"22\",\"333\"]",
        },
        Function {
            signature: "captures(pattern, text)",
            summary: "the first match's groups by number and by name, `()` for one that took no part; or `()`",
            example: "regex::captures(`(?<year>\\d{4})-(\\d\\d)`, \"on 2024-05\") → {\"0\":\"2024-05\",\"1\":\"2024\",\"2\":\"05\",\"year\":\"2024\"}",
        },
        Function {
            signature: "captures_all(pattern, text)",
            summary: "the groups of all matches",
            example: "regex::captures_all(`(\\w)=(\\d)`, \"a=1 b=2\").map(|it| it[\"1\"] + it[\"2\"]) → [\"a1\",\"b2\"]",
        },
        Function {
            signature: "replace(pattern, text, replacement)",
            summary: "the text with the first match replaced, as `replace_all`",
            example: "regex::replace(`(\\w+) (\\w+)`, \"hello big world\", \"$2 $1\") → \"big hello world\"",
        },
        Function {
            signature: "replace_all(pattern, text, replacement)",
            summary: "the text with all matches replaced: by a text, in which `$1`, `${name}` and `$$` stand for groups and a \
                      dollar, or by what a closure makes of the groups",
            example: "regex::replace_all(`\\d+`, \"1 and 22\", |it| it[\"0\"].len().to_string()) → \"1 and 2\"",
        },
        Function {
            signature: "split(pattern, text)",
            summary: "what stands between the matches",
            example: "regex::split(`\\s*,\\s*`, \"a , b,c\") → [\"a\",\"b\",\"c\"]",
        },
        Function {
            signature: "escape(text)",
            summary: "a pattern for just this text",
            example: "regex::escape(\"1+1\") → \"1\\\\+1\"",
        },
    ],
    register,
};

fn register(module: &mut Module) {
    FuncRegistration::new("is_match").set_into_module(module, |call: NativeCallContext, of: &str, text: &str| {
        on(&call, of, |pattern| pattern.is_match(text)).map(|(_, found)| found)
    });
    FuncRegistration::new("find").set_into_module(module, |call: NativeCallContext, of: &str, text: &str| {
        let (_, found) = on(&call, of, |pattern| pattern.first(text))?;
        let range = found.and_then(|mut it| it.swap_remove(0));
        range.map_or(Ok(Dynamic::UNIT), |range| place(&call, text, &range))
    });
    FuncRegistration::new("find_all").set_into_module(module, |call: NativeCallContext, of: &str, text: &str| {
        let (_, found) = on(&call, of, |pattern| pattern.all(text, usize::MAX))?;
        found.iter().filter_map(|it| it[0].clone()).map(|range| part(&call, &text[range])).collect::<Result<Array>>()
    });
    FuncRegistration::new("captures").set_into_module(module, |call: NativeCallContext, of: &str, text: &str| {
        let (pattern, found) = on(&call, of, |pattern| pattern.first(text))?;
        found.map_or(Ok(Dynamic::UNIT), |groups| members(&call, &pattern, text, &groups))
    });
    FuncRegistration::new("captures_all").set_into_module(module, |call: NativeCallContext, of: &str, text: &str| {
        let (pattern, found) = on(&call, of, |pattern| pattern.all(text, usize::MAX))?;
        found.iter().map(|it| members(&call, &pattern, text, it)).collect::<Result<Array>>()
    });
    for (name, most) in [("replace", 1), ("replace_all", usize::MAX)] {
        FuncRegistration::new(name).set_into_module(
            module,
            move |call: NativeCallContext, of: &str, text: &str, with: &str| {
                replaced(&call, of, text, most, |pattern, groups, out| {
                    let append = |group: usize, out: &mut String| {
                        out.push_str(groups.get(group).cloned().flatten().map_or("", |range| &text[range]));
                    };
                    let whole = groups[0].as_ref().map_or(0, ExactSizeIterator::len);
                    room(&call, with.len() + with.matches('$').count().saturating_mul(whole))?;
                    let number = |name: &str| pattern.regex.capture_names().position(|it| it == Some(name));
                    interpolate::string(with, append, number, out);
                    Ok(())
                })
            },
        );
        FuncRegistration::new(name).set_into_module(
            module,
            move |call: NativeCallContext, of: &str, text: &str, with: FnPtr| {
                replaced(&call, of, text, most, |pattern, groups, out| {
                    let made: Dynamic = with.call_within_context(&call, (members(&call, pattern, text, groups)?,))?;
                    let made = made.as_immutable_string_ref().map_err(|_| {
                        let found = format!("a value of the type `{}`", kind(&made));
                        raise(&call, format!("the closure gave {found}, expected a string"))
                    })?;
                    out.push_str(&made);
                    Ok(())
                })
            },
        );
    }
    FuncRegistration::new("split").set_into_module(module, |call: NativeCallContext, of: &str, text: &str| {
        let (_, found) = on(&call, of, |pattern| pattern.all(text, usize::MAX))?;
        let mut parts = Array::new();
        let mut end = 0;
        for range in found.iter().filter_map(|it| it[0].clone()) {
            parts.push(part(&call, &text[end..range.start])?);
            end = range.end;
        }
        parts.push(part(&call, &text[end..])?);
        Ok::<_, Box<EvalAltResult>>(parts)
    });
    FuncRegistration::new("escape").set_into_module(module, |call: NativeCallContext, text: &str| {
        room(&call, text.len().saturating_mul(2))?;
        Ok(regex::escape(text)) as Result<_>
    });
}

/// Does something with a compiled pattern, which is given back beside its outcome.
fn on<T>(
    call: &NativeCallContext,
    of: &str,
    search: impl FnOnce(&Arc<Pattern>) -> std::result::Result<T, Unsearched>,
) -> Result<(Arc<Pattern>, T)> {
    let found = Pattern::of(of).and_then(|pattern| search(&pattern).map(|found| (pattern, found)));
    found.map_err(|failure| match failure {
        Unsearched::Wrong(message) => raise(call, message),
        Unsearched::Stopped(stop) => Wrong::from(stop).raise(call),
    })
}

fn replaced(
    call: &NativeCallContext,
    of: &str,
    text: &str,
    most: usize,
    mut make: impl FnMut(&Pattern, &Groups, &mut String) -> Result<()>,
) -> Result<ImmutableString> {
    let (pattern, found) = on(call, of, |pattern| pattern.all(text, most))?;
    room(call, text.len())?;
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for groups in &found {
        let Some(range) = groups[0].clone() else { continue };
        out.push_str(&text[end..range.start]);
        make(&pattern, groups, &mut out)?;
        step(call)?;
        end = range.end;
    }
    out.push_str(&text[end..]);
    Ok(out.into())
}

/// The groups of a match by number and by name.
fn members(call: &NativeCallContext, pattern: &Pattern, text: &str, groups: &Groups) -> Result<Dynamic> {
    let mut map = Map::new();
    for (number, (range, name)) in groups.iter().zip(pattern.regex.capture_names()).enumerate() {
        let value = range.clone().map_or(Ok(Dynamic::UNIT), |range| part(call, &text[range]))?;
        if let Some(name) = name {
            map.insert(name.into(), value.clone());
        }
        map.insert(number.to_string().into(), value);
    }
    Ok(Dynamic::from_map(map))
}

/// A match with its place in characters, as scripts count them.
fn place(call: &NativeCallContext, text: &str, range: &Range<usize>) -> Result<Dynamic> {
    let count = |text: &str| INT::try_from(text.chars().count()).unwrap_or(INT::MAX);
    let start = count(&text[..range.start]);
    let value = part(call, &text[range.clone()])?;
    Ok(Dynamic::from_map(Map::from_iter([
        ("start".into(), start.into()),
        ("end".into(), (start + count(&text[range.clone()])).into()),
        ("text".into(), value),
    ])))
}

/// A piece of the text; each is a step of the script, and takes memory.
fn part(call: &NativeCallContext, text: &str) -> Result<Dynamic> {
    step(call)?;
    room(call, text.len())?;
    Ok(text.into())
}
