//! `db::`: the databases that the configuration names.

use std::cell::Cell;
use std::rc::Rc;

use rhai::{
    Array, Blob, Dynamic, EvalAltResult, FnPtr, FuncRegistration, INT, ImmutableString, Map, Module, NativeCallContext,
};

use super::{Binding, Function};
use crate::db::{Database, Error, Isolation, Kind, Value};
use crate::fiber;
use crate::script::{Context, Decimal, Frozen, Result, Row, Rows, Wrong, raise};

pub(super) const BINDING: Binding = Binding {
    name: "db",
    summary: "the databases of the configuration; placeholders are `?`, a list expands in `IN (?)`, `()` is NULL. \
              Errors can be caught: maps with `kind` and `message`",
    functions: &[
        Function {
            signature: "query(sql[, parameters])",
            summary: "all rows, to be indexed, walked with `for`, or given to `success` or `json` as they are",
            example: "db::query(\"SELECT 1 AS a, 'x' AS b UNION ALL SELECT ?, NULL\", [2]) → [{\"a\":1,\"b\":\"x\"},{\"a\":2,\"b\":null}]",
        },
        Function {
            signature: "first(sql[, parameters])",
            summary: "the first row, or `()` if there is none",
            example: "[db::first(\"SELECT 1 AS a\").a, db::first(\"SELECT 1 WHERE 0 = 1\") == ()] → [1,true]",
        },
        Function {
            signature: "value(sql[, parameters])",
            summary: "the first column of the first row, or `()`",
            example: "db::value(\"SELECT COUNT(*) FROM example WHERE id IN (?)\", [[1, 2]]) → 2",
        },
        Function {
            signature: "exec(sql[, parameters])",
            summary: "changes something: `#{rows_affected, last_insert_id}`",
            example: "db::exec(\"INSERT INTO example (id, name) VALUES (?, ?)\", [7, \"seven\"]) → {\"last_insert_id\":7,\"rows_affected\":1}",
        },
        Function {
            signature: "transaction(closure)",
            summary: "calls the closure with the database: all of it is done, or nothing if it throws; its value is the closure's. \
                      One in another can fail alone",
            example: "try { db::transaction(|tx| { tx.exec(\"DELETE FROM example\"); throw \"no\" }) } catch {} db::value(\"SELECT COUNT(*) FROM example\") → 2",
        },
        Function {
            signature: "transaction(options, closure)",
            summary: "the same with `#{isolation: \"serializable\"}`, or `repeatable read`, `read committed`, `read uncommitted`: \
                      for the outermost; those of SQLite are serializable always",
            example: "db::transaction(#{isolation: \"serializable\"}, |tx| tx.value(\"SELECT COUNT(*) FROM example\")) → 2",
        },
        Function {
            signature: "named(name)",
            summary: "the database of that name, where there are several: it has the functions of `db::` as methods",
            example: "db::named(\"main\").value(\"SELECT 1\") → 1",
        },
    ],
    register,
};

/// A database by its name; the only one where that is not given.
#[derive(Clone)]
struct Handle {
    name: Option<ImmutableString>,
    /// Whether the transaction that gave it is over; absent where none did.
    is_over: Option<Rc<Cell<bool>>>,
}

const MAIN: Handle = Handle { name: None, is_over: None };

fn register(module: &mut Module) {
    module.set_custom_type::<Handle>("Database");
    FuncRegistration::new("named").set_into_module(module, |call: NativeCallContext, name: ImmutableString| {
        let handle = Handle { name: Some(name), is_over: None };
        handle.database(&call)?;
        Ok::<_, Box<EvalAltResult>>(handle)
    });
    // Each function exists in the namespace, and as a method of what `named` and `transaction` give.
    one(module, "query", |call, database, sql, values| {
        let rows = database.query(sql, values).map_err(|error| raised(call, error))?;
        Ok(Dynamic::from(Rows::from(rows)))
    });
    one(module, "first", |call, database, sql, values| {
        Ok(first(call, database, sql, values)?.map_or(Dynamic::UNIT, Dynamic::from))
    });
    one(module, "value", |call, database, sql, values| {
        let row = first(call, database, sql, values)?;
        row.map_or(Ok(Dynamic::UNIT), |row| row.at(0)).map_err(|wrong| wrong.raise(call))
    });
    one(module, "exec", |call, database, sql, values| {
        let done = database.exec(sql, values).map_err(|error| raised(call, error))?;
        Ok(Dynamic::from_map(Map::from_iter([
            ("rows_affected".into(), INT::try_from(done.rows_affected).unwrap_or(INT::MAX).into()),
            ("last_insert_id".into(), done.last_insert_id.map_or(Dynamic::UNIT, Dynamic::from)),
        ])))
    });
    FuncRegistration::new("transaction")
        .set_into_module(module, |call: NativeCallContext, body: FnPtr| transaction(&call, &MAIN, None, &body));
    FuncRegistration::new("transaction").set_into_module(
        module,
        |call: NativeCallContext, options: Map, body: FnPtr| {
            transaction(&call, &MAIN, isolation(&call, &options)?, &body)
        },
    );
    FuncRegistration::new("transaction")
        .in_global_namespace()
        .set_into_module(module, |call: NativeCallContext, handle: Handle, body: FnPtr| {
            transaction(&call, &handle, None, &body)
        });
    FuncRegistration::new("transaction").in_global_namespace().set_into_module(
        module,
        |call: NativeCallContext, handle: Handle, options: Map, body: FnPtr| {
            transaction(&call, &handle, isolation(&call, &options)?, &body)
        },
    );
}

type Act = fn(&NativeCallContext, &Database, &str, &[Value<'_>]) -> Result<Dynamic>;

/// Registers one function in its four forms: of the only database or as a method, with parameters or without.
fn one(module: &mut Module, name: &str, act: Act) {
    let run = move |call: &NativeCallContext, handle: &Handle, sql: &str, parameters: &[Dynamic]| {
        let values = parameters.iter().map(|it| value(call, it)).collect::<Result<Vec<_>>>()?;
        act(call, &handle.database(call)?, sql, &values)
    };
    FuncRegistration::new(name)
        .set_into_module(module, move |call: NativeCallContext, sql: &str| run(&call, &MAIN, sql, &[]));
    FuncRegistration::new(name)
        .set_into_module(module, move |call: NativeCallContext, sql: &str, parameters: Array| {
            run(&call, &MAIN, sql, &parameters)
        });
    FuncRegistration::new(name)
        .in_global_namespace()
        .set_into_module(module, move |call: NativeCallContext, handle: Handle, sql: &str| {
            run(&call, &handle, sql, &[])
        });
    FuncRegistration::new(name).in_global_namespace().set_into_module(
        module,
        move |call: NativeCallContext, handle: Handle, sql: &str, parameters: Array| {
            run(&call, &handle, sql, &parameters)
        },
    );
}

impl Handle {
    fn database(&self, call: &NativeCallContext) -> Result<Database> {
        if self.is_over.as_ref().is_some_and(|it| it.get()) {
            return Err(raise(call, "the transaction is over\nhint: outside of its closure use `db::`"));
        }
        Context::with(call, |context| context.databases.database(self.name.as_deref()).cloned())?
            .map_err(|error| raised(call, error))
    }
}

fn first(call: &NativeCallContext, database: &Database, sql: &str, values: &[Value<'_>]) -> Result<Option<Row>> {
    Ok(database.first(sql, values).map_err(|error| raised(call, error))?.map(Row::from))
}

/// Why a transaction failed: the script's own error is passed on as it is.
enum Failure {
    Script(Box<EvalAltResult>),
    Database(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Database(error)
    }
}

/// The level that the options of a transaction name.
fn isolation(call: &NativeCallContext, options: &Map) -> Result<Option<Isolation>> {
    if let Some(other) = options.keys().find(|it| *it != "isolation") {
        return Err(raise(call, format!("`transaction` has no option `{other}`, expected `isolation`")));
    }
    let Some(value) = options.get("isolation") else { return Ok(None) };
    let level = value.as_immutable_string_ref().ok().and_then(|it| Isolation::parse(&it));
    level.map(Some).ok_or_else(|| {
        let known = Isolation::ALL.map(|it| it.sql().to_lowercase()).join("`, `");
        raise(call, format!("`isolation` is none of the levels `{known}`"))
    })
}

fn transaction(
    call: &NativeCallContext,
    handle: &Handle,
    isolation: Option<Isolation>,
    body: &FnPtr,
) -> Result<Dynamic> {
    let database = handle.database(call)?;
    let is_over = Rc::new(Cell::new(false));
    let inner = Handle { name: handle.name.clone(), is_over: Some(is_over.clone()) };
    let body = || body.call_within_context(call, (inner,)).map_err(Failure::Script);
    let outcome = database.isolated(isolation, body);
    is_over.set(true);
    outcome.map_err(|failure| match failure {
        Failure::Script(error) => error,
        Failure::Database(error) => raised(call, error),
    })
}

/// A script's value as a parameter.
fn value(call: &NativeCallContext, parameter: &Dynamic) -> Result<Value<'static>> {
    if let Ok(number) = parameter.as_int() {
        return Ok(Value::Int(number));
    }
    if let Ok(text) = parameter.as_immutable_string_ref() {
        fiber::room(text.len()).map_err(|stop| Wrong::from(stop).raise(call))?;
        return Ok(Value::Text(text.to_string().into()));
    }
    if parameter.is_unit() {
        return Ok(Value::Null);
    }
    if let Ok(number) = parameter.as_float() {
        return Ok(Value::Float(number));
    }
    if let Ok(flag) = parameter.as_bool() {
        return Ok(Value::Bool(flag));
    }
    if let Ok(character) = parameter.as_char() {
        return Ok(Value::Text(character.to_string().into()));
    }
    if let Some(blob) = parameter.read_lock::<Blob>() {
        return Ok(Value::Blob(blob.clone().into()));
    }
    if let Some(number) = parameter.read_lock::<Decimal>() {
        return Ok(Value::Decimal(number.to_string().into()));
    }
    if let Some(frozen) = parameter.read_lock::<Frozen>()
        && let Some(list) = frozen.list()
    {
        return items(call, list);
    }
    if let Ok(list) = parameter.as_array_ref() {
        return items(call, &list);
    }
    // The name of a type without the path that it has in Rust.
    let name = parameter.type_name().rsplit("::").next().unwrap_or_default();
    let hint = if name == "File" { "`file.blob()` is its content" } else { "`json::text(value)` is its text" };
    Err(raise(call, format!("a value of the type `{name}` can't be a parameter\nhint: {hint}")))
}

/// A list for `IN (?)`.
fn items(call: &NativeCallContext, list: &[Dynamic]) -> Result<Value<'static>> {
    let values = list.iter().map(|it| match it.is_array() || it.is::<Frozen>() {
        true => Err(raise(call, "a list in a list can't be a parameter".to_owned())),
        false => value(call, it),
    });
    Ok(Value::List(values.collect::<Result<_>>()?))
}

/// A database's error as a map that a script can catch.
fn raised(call: &NativeCallContext, error: Error) -> Box<EvalAltResult> {
    if let Kind::Stopped(stop) = error.kind {
        return Wrong::from(stop).raise(call);
    }
    let optional = |text: Option<Box<str>>| text.map_or(Dynamic::UNIT, |it| it.into_string().into());
    raise(
        call,
        Map::from_iter([
            ("kind".into(), Dynamic::from(error.kind.name())),
            ("unavailable".into(), Dynamic::from(error.kind.is_temporary())),
            ("message".into(), error.message.into()),
            ("code".into(), optional(error.code)),
            ("constraint".into(), optional(error.constraint)),
            ("column".into(), optional(error.column)),
            ("sql".into(), optional(error.statement)),
        ]),
    )
}
