//! Rows of a database as scripts see them: native values that are walked and indexed, and that go
//! to JSON without becoming maps first.

use rhai::{Array, Dynamic, FnPtr, INT, ImmutableString, Map, NativeCallContext};

use super::decimal::Decimal;
use super::fault::{Result, raise};
use super::json;
use super::raise::Wrong;
use crate::db;
use crate::directive::suggest;

/// The rows that a query gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows(db::Rows);

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Row(db::Row);

impl From<db::Rows> for Rows {
    fn from(rows: db::Rows) -> Rows {
        Rows(rows)
    }
}

impl From<db::Row> for Row {
    fn from(row: db::Row) -> Row {
        Row(row)
    }
}

impl From<Row> for Dynamic {
    fn from(row: Row) -> Dynamic {
        Dynamic::from(row)
    }
}

/// `env.auth` of a key that the configuration names, and not a row: a map with its name.
pub fn named(name: Option<&str>) -> Dynamic {
    Dynamic::from_map(Map::from_iter([("name".into(), name.map_or(Dynamic::UNIT, Into::into))]))
}

impl Rows {
    pub(super) fn text(&self) -> ImmutableString {
        text(|out| self.write_json(out).is_ok())
    }

    pub(super) fn write_json(&self, out: &mut Vec<u8>) -> std::result::Result<(), Wrong> {
        self.0.write_json(out).map_err(|error| Wrong::Server(error.to_string()))
    }
}

impl Row {
    /// The value of a column by its number.
    ///
    /// # Errors
    /// If the database gave what can't be read.
    pub fn at(&self, column: usize) -> std::result::Result<Dynamic, Wrong> {
        self.0.at(column).map_or(Ok(Dynamic::UNIT), value)
    }

    pub(super) fn text(&self) -> ImmutableString {
        text(|out| self.write_json(out).is_ok())
    }

    pub(super) fn write_json(&self, out: &mut Vec<u8>) -> std::result::Result<(), Wrong> {
        self.0.write_json(out).map_err(|error| Wrong::Server(error.to_string()))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.names().iter().map(AsRef::as_ref)
    }

    fn get(&self, call: &NativeCallContext, name: &str) -> Result<Dynamic> {
        let Some(cell) = self.0.get(name) else {
            let near = suggest(name, self.names());
            let hint = near.map(|it| format!("\nhint: did you mean `{it}`?")).unwrap_or_default();
            let there = columns(self.0.names());
            return Err(raise(call, format!("the row has no column `{name}`, it has {there}{hint}")));
        };
        value(cell).map_err(|wrong| wrong.raise(call))
    }

    fn values(&self, call: &NativeCallContext) -> Result<Array> {
        (0..self.0.names().len()).map(|it| self.at(it).map_err(|wrong| wrong.raise(call))).collect()
    }

    fn to_map(&self, call: &NativeCallContext) -> Result<Map> {
        let names = self.0.names().iter().map(|it| it.as_ref().into());
        Ok(names.zip(self.values(call)?).collect())
    }
}

/// A cell as a script's value.
fn value(cell: db::Value<'_>) -> std::result::Result<Dynamic, Wrong> {
    Ok(match cell {
        db::Value::Null | db::Value::List(_) => Dynamic::UNIT,
        db::Value::Bool(value) => value.into(),
        db::Value::Int(value) => value.into(),
        db::Value::Float(value) => value.into(),
        db::Value::Decimal(digits) => match Decimal::parse(&digits) {
            Some(number) => Dynamic::from(number),
            None => return Err(Wrong::Server(format!("the database gave `{digits}`, which is no number"))),
        },
        db::Value::Text(text) => text.as_ref().into(),
        db::Value::Json(text) => json::parse(text.as_bytes())?,
        db::Value::Blob(bytes) => Dynamic::from_blob(bytes.into_owned()),
    })
}

/// Makes rows known to scripts.
pub(super) fn register(engine: &mut rhai::Engine) {
    engine.register_type_with_name::<Rows>("Rows");
    engine.register_iterator::<Rows>();
    engine.register_fn("len", |rows: Rows| count(rows.0.len()));
    engine.register_get("len", |rows: &mut Rows| count(rows.0.len()));
    engine.register_fn("is_empty", |rows: Rows| rows.0.is_empty());
    engine.register_get("is_empty", |rows: &mut Rows| rows.0.is_empty());
    engine.register_indexer_get(|call: NativeCallContext, rows: &mut Rows, index: INT| {
        let length = rows.0.len();
        let place =
            if index < 0 { length.checked_sub(index.unsigned_abs() as usize) } else { usize::try_from(index).ok() };
        let found = place.and_then(|it| rows.0.row(it)).map(Row);
        found.ok_or_else(|| raise(&call, format!("there is no row {index}, there are {length}")))
    });
    engine.register_indexer_get(|call: NativeCallContext, rows: &mut Rows, name: &str| -> Result<Dynamic> {
        let count = rows.0.len();
        let there = rows.0.row(0).map(|it| format!(" with {}", columns(it.names()))).unwrap_or_default();
        let hint = "take one, as `rows[0]`, or walk through them with `for row in rows`";
        Err(raise(&call, format!("these are {count} rows{there}, they have no `{name}` together\nhint: {hint}")))
    });
    engine
        .register_fn("to_array", |rows: Rows| -> Array { rows.0.iter().map(|row| Dynamic::from(Row(row))).collect() });
    engine.register_fn("filter", |call: NativeCallContext, rows: Rows, keep: FnPtr| -> Result<Array> {
        let mut kept = Array::new();
        for row in rows.0.iter().map(Row) {
            if keep.call_within_context::<bool>(&call, (row.clone(),))? {
                kept.push(Dynamic::from(row));
            }
        }
        Ok(kept)
    });
    engine.register_fn("map", |call: NativeCallContext, rows: Rows, make: FnPtr| -> Result<Array> {
        rows.0.iter().map(|row| make.call_within_context(&call, (Row(row),))).collect()
    });
    engine.register_fn("to_string", |rows: Rows| rows.text());
    engine.register_fn("to_debug", |rows: Rows| rows.text());
    compare_with_unit::<Rows>(engine);
    register_row(engine);
}

fn register_row(engine: &mut rhai::Engine) {
    engine.register_type_with_name::<Row>("Row");
    engine.register_indexer_get(|call: NativeCallContext, row: &mut Row, name: &str| row.get(&call, name));
    // Rhai has a number of this name on every value.
    engine.register_get("tag", |call: NativeCallContext, row: &mut Row| row.get(&call, "tag"));
    engine.register_indexer_get(|call: NativeCallContext, row: &mut Row, index: INT| {
        let cell = usize::try_from(index).ok().and_then(|it| row.0.at(it));
        let cell = cell.ok_or_else(|| raise(&call, format!("the row has no column {index}")))?;
        value(cell).map_err(|wrong| wrong.raise(&call))
    });
    engine.register_indexer_set(|call: NativeCallContext, _: &mut Row, name: &str, _: Dynamic| -> Result<()> {
        Err(raise(&call, format!("a row can't be changed, `{name}` was to be\nhint: `row.to_map()` is a map that can")))
    });
    engine.register_fn("keys", |row: Row| -> Array { row.0.names().iter().map(|it| it.as_ref().into()).collect() });
    engine.register_fn("values", |call: NativeCallContext, row: Row| row.values(&call));
    engine.register_fn("len", |row: Row| count(row.0.names().len()));
    engine.register_fn("==", |one: Row, other: Row| one == other);
    engine.register_fn("!=", |one: Row, other: Row| one != other);
    engine.register_fn("contains", |row: Row, name: &str| row.0.names().iter().any(|it| it.as_ref() == name));
    engine.register_fn("to_map", |call: NativeCallContext, row: Row| row.to_map(&call));
    engine.register_fn("to_string", |row: Row| row.text());
    engine.register_fn("to_debug", |row: Row| row.text());
    compare_with_unit::<Row>(engine);
}

/// `row == ()` is how a script asks whether there was one.
pub(super) fn compare_with_unit<T: rhai::Variant + Clone>(engine: &mut rhai::Engine) {
    engine.register_fn("==", |_: T, (): ()| false);
    engine.register_fn("!=", |_: T, (): ()| true);
    engine.register_fn("==", |(): (), _: T| false);
    engine.register_fn("!=", |(): (), _: T| true);
}

impl IntoIterator for Rows {
    type Item = Row;
    type IntoIter = Box<dyn Iterator<Item = Row>>;

    fn into_iter(self) -> Self::IntoIter {
        let count = self.0.len();
        Box::new((0..count).filter_map(move |index| self.0.row(index)).map(Row))
    }
}

/// The names of columns, for a message.
fn columns(names: &[impl AsRef<str>]) -> String {
    const MOST: usize = 20;
    let shown = names.iter().take(MOST).map(|it| format!("`{}`", it.as_ref())).collect::<Vec<_>>().join(", ");
    if names.len() > MOST { format!("{shown}, …") } else { shown }
}

fn count(number: usize) -> INT {
    INT::try_from(number).unwrap_or(INT::MAX)
}

/// For people: what can't be JSON ends where it can't.
fn text(write: impl FnOnce(&mut Vec<u8>) -> bool) -> ImmutableString {
    let mut out = Vec::new();
    if !write(&mut out) {
        out.extend_from_slice("…".as_bytes());
    }
    String::from_utf8_lossy(&out).as_ref().into()
}
