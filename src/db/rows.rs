//! Rows as a database gave them: compact, in the order of the SELECT, and ready to become JSON. It
//! knows nothing of the database that they come from.

use std::borrow::Cow;
use std::rc::Rc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::error::{Error, Kind};
use super::value::Value;

/// The columns of a result, shared by all results of one statement.
///
/// Where columns share a name the last of them has it: it alone is found by name and goes to JSON,
/// as in the hashes of other languages' drivers. By its index each can be had.
#[derive(Debug, PartialEq)]
pub struct Columns {
    names: Vec<Rc<str>>,
    /// What stands before each value in a row's JSON; `None` where another column has the name.
    keys: Vec<Option<Box<[u8]>>>,
}

impl Columns {
    /// Columns of these names.
    pub fn new(names: Vec<Rc<str>>) -> Columns {
        let mut opening = b'{';
        let keys = (0..names.len()).map(|index| {
            if names[index + 1..].contains(&names[index]) {
                return None;
            }
            let mut key = vec![std::mem::replace(&mut opening, b',')];
            write_text(&mut key, &names[index]);
            key.push(b':');
            Some(key.into())
        });
        let keys = keys.collect();
        Columns { names, keys }
    }

    /// The names in the order of the SELECT.
    pub fn names(&self) -> &[Rc<str>] {
        &self.names
    }
}

/// A cell; text and bytes lie in the result's stores from `start` on.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cell {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Decimal { start: usize, length: u32 },
    Text { start: usize, length: u32 },
    Json { start: usize, length: u32 },
    Blob { start: usize, length: u32 },
}

#[derive(Debug, PartialEq)]
struct Set {
    columns: Rc<Columns>,
    cells: Vec<Cell>,
    text: String,
    bytes: Vec<u8>,
}

/// The rows of a result. A clone is the same rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows(Rc<Set>);

/// One row of a result, which it keeps alive. A clone is the same row.
#[derive(Clone, Debug)]
pub struct Row {
    set: Rc<Set>,
    index: usize,
}

impl Rows {
    /// How many rows there are; a result without columns has none.
    pub fn len(&self) -> usize {
        self.0.cells.len().checked_div(self.0.columns.names.len()).unwrap_or(0)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.cells.is_empty()
    }

    /// The names of the columns in the order of the SELECT.
    pub fn names(&self) -> &[Rc<str>] {
        &self.0.columns.names
    }

    /// The row with this number, from 0.
    pub fn row(&self, index: usize) -> Option<Row> {
        (index < self.len()).then(|| Row { set: self.0.clone(), index })
    }

    /// All rows.
    pub fn iter(&self) -> impl Iterator<Item = Row> {
        (0..self.len()).map(|index| Row { set: self.0.clone(), index })
    }

    /// Appends the rows as a JSON array of objects, their keys in the order of the SELECT.
    ///
    /// # Errors
    /// If a value is NaN or infinite.
    pub fn write_json(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        out.reserve(self.0.text.len() + self.0.bytes.len() + 24 * self.0.cells.len() + 2);
        out.push(b'[');
        for index in 0..self.len() {
            if index > 0 {
                out.push(b',');
            }
            self.0.write_row(out, index)?;
        }
        out.push(b']');
        Ok(())
    }
}

impl Row {
    /// The names of the columns in the order of the SELECT.
    pub fn names(&self) -> &[Rc<str>] {
        &self.set.columns.names
    }

    /// The value of the column with this name, the last where several have it.
    pub fn get(&self, name: &str) -> Option<Value<'_>> {
        let column = self.names().iter().rposition(|it| **it == *name)?;
        self.at(column)
    }

    /// The value of the column with this number, from 0.
    pub fn at(&self, column: usize) -> Option<Value<'_>> {
        let width = self.names().len();
        (column < width).then(|| self.set.value(self.set.cells[self.index * width + column]))
    }

    /// Appends the row as a JSON object, its keys in the order of the SELECT.
    ///
    /// # Errors
    /// If a value is NaN or infinite.
    pub fn write_json(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        self.set.write_row(out, self.index)
    }
}

impl PartialEq for Row {
    fn eq(&self, other: &Row) -> bool {
        let width = self.names().len();
        self.names() == other.names() && (0..width).all(|column| self.at(column) == other.at(column))
    }
}

impl Set {
    fn value(&self, cell: Cell) -> Value<'_> {
        match cell {
            Cell::Null => Value::Null,
            Cell::Bool(value) => Value::Bool(value),
            Cell::Int(value) => Value::Int(value),
            Cell::Float(value) => Value::Float(value),
            Cell::Decimal { start, length } => Value::Decimal(Cow::Borrowed(self.text(start, length))),
            Cell::Text { start, length } => Value::Text(Cow::Borrowed(self.text(start, length))),
            Cell::Json { start, length } => Value::Json(Cow::Borrowed(self.text(start, length))),
            Cell::Blob { start, length } => Value::Blob(Cow::Borrowed(&self.bytes[start..start + length as usize])),
        }
    }

    fn text(&self, start: usize, length: u32) -> &str {
        &self.text[start..start + length as usize]
    }

    fn write_row(&self, out: &mut Vec<u8>, index: usize) -> Result<(), Error> {
        let keys = &self.columns.keys;
        let cells = &self.cells[index * keys.len()..][..keys.len()];
        for (column, (key, cell)) in keys.iter().zip(cells).enumerate() {
            let Some(key) = key else { continue };
            out.extend_from_slice(key);
            match *cell {
                Cell::Null => out.extend_from_slice(b"null"),
                Cell::Bool(true) => out.extend_from_slice(b"true"),
                Cell::Bool(false) => out.extend_from_slice(b"false"),
                Cell::Int(value) => out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
                Cell::Float(value) if value.is_finite() => {
                    serde_json::to_writer(&mut *out, &value).expect("a finite float is JSON");
                }
                Cell::Float(_) => {
                    let name = &self.columns.names[column];
                    let message = format!("column `{name}` holds NaN or infinity, which JSON does not have");
                    return Err(Error { column: Some(name.as_ref().into()), ..Error::new(Kind::Value, message) });
                }
                Cell::Decimal { start, length } | Cell::Json { start, length } => {
                    out.extend_from_slice(self.text(start, length).as_bytes());
                }
                Cell::Text { start, length } => write_text(out, self.text(start, length)),
                Cell::Blob { start, length } => {
                    out.push(b'"');
                    let text = BASE64_STANDARD.encode(&self.bytes[start..start + length as usize]);
                    out.extend_from_slice(text.as_bytes());
                    out.push(b'"');
                }
            }
        }
        out.push(b'}');
        Ok(())
    }
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("text is JSON and a vector takes it");
}

/// Takes cells one after another, row by row.
#[derive(Debug)]
pub struct Builder(Set);

impl Builder {
    /// No rows yet, of these columns.
    pub fn new(columns: Rc<Columns>) -> Builder {
        Builder(Set { columns, cells: Vec::new(), text: String::new(), bytes: Vec::new() })
    }

    /// The rows; each must have a cell for each column.
    pub fn finish(self) -> Rows {
        debug_assert_eq!(self.0.cells.len().checked_rem(self.0.columns.names.len()).unwrap_or(0), 0);
        Rows(Rc::new(self.0))
    }

    /// Makes room for a row before its cells come.
    pub fn open_row(&mut self) {
        self.0.cells.reserve(self.0.columns.names.len());
    }

    /// The next cell is NULL.
    pub fn null(&mut self) {
        self.0.cells.push(Cell::Null);
    }

    /// The next cell is a boolean.
    pub fn bool(&mut self, value: bool) {
        self.0.cells.push(Cell::Bool(value));
    }

    /// The next cell is an integer.
    pub fn int(&mut self, value: i64) {
        self.0.cells.push(Cell::Int(value));
    }

    /// The next cell is a float.
    pub fn float(&mut self, value: f64) {
        self.0.cells.push(Cell::Float(value));
    }

    /// The next cell is a number with these digits, which must be a number in JSON too.
    ///
    /// # Errors
    /// If there are more than 4 GiB of them.
    pub fn decimal(&mut self, digits: &str) -> Result<(), Error> {
        let (start, length) = self.store(digits)?;
        self.0.cells.push(Cell::Decimal { start, length });
        Ok(())
    }

    /// The next cell is text.
    ///
    /// # Errors
    /// If it is longer than 4 GiB.
    pub fn text(&mut self, text: &str) -> Result<(), Error> {
        let (start, length) = self.store(text)?;
        self.0.cells.push(Cell::Text { start, length });
        Ok(())
    }

    /// The next cell is a JSON document, which must be valid.
    ///
    /// # Errors
    /// If it is longer than 4 GiB.
    pub fn json(&mut self, document: &str) -> Result<(), Error> {
        let (start, length) = self.store(document)?;
        self.0.cells.push(Cell::Json { start, length });
        Ok(())
    }

    /// The next cell is bytes.
    ///
    /// # Errors
    /// If it is longer than 4 GiB.
    pub fn blob(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let length = length(bytes.len())?;
        self.0.cells.push(Cell::Blob { start: self.0.bytes.len(), length });
        self.0.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn store(&mut self, text: &str) -> Result<(usize, u32), Error> {
        let length = length(text.len())?;
        let start = self.0.text.len();
        self.0.text.push_str(text);
        Ok((start, length))
    }
}

/// The error for a statement that gives more rows than the database may.
pub fn too_many(max_rows: usize) -> Error {
    let message = format!("the statement gives more than {max_rows} rows, the database's `max-rows`");
    Error::new(Kind::Value, message).hint("end it with `LIMIT`, or raise `max-rows`")
}

fn length(bytes: usize) -> Result<u32, Error> {
    u32::try_from(bytes).map_err(|_| Error::new(Kind::Value, "a value is longer than 4 GiB"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(names: &[&str], fill: impl FnOnce(&mut Builder)) -> Rows {
        let mut builder = Builder::new(Rc::new(Columns::new(names.iter().map(|&name| name.into()).collect())));
        fill(&mut builder);
        builder.finish()
    }

    fn json(rows: &Rows) -> String {
        let mut out = Vec::new();
        rows.write_json(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_sort_of_cell_has_its_json_in_select_order() {
        let rows = rows(&["z", "a", "b\"", "c", "d", "e", "f", "g", "h"], |row| {
            row.null();
            row.bool(true);
            row.int(i64::MIN);
            row.float(1.0);
            row.decimal("12.50").unwrap();
            row.text("é \"\n\u{1}").unwrap();
            row.json("{\"b\": 1}").unwrap();
            row.blob(&[0, 255]).unwrap();
            row.float(1e300);
        });
        assert_eq!(
            json(&rows),
            "[{\"z\":null,\"a\":true,\"b\\\"\":-9223372036854775808,\"c\":1.0,\"d\":12.50,\"e\":\"é \\\"\\n\\u0001\",\
             \"f\":{\"b\": 1},\"g\":\"AP8=\",\"h\":1e+300}]"
        );
        let mut one = Vec::new();
        rows.row(0).unwrap().write_json(&mut one).unwrap();
        assert_eq!(format!("[{}]", String::from_utf8(one).unwrap()), json(&rows));
    }

    #[test]
    fn rows_are_found_by_number_and_cells_by_name_and_number() {
        let rows = rows(&["id", "name"], |row| {
            for (id, name) in [(1, "one"), (2, "two")] {
                row.int(id);
                row.text(name).unwrap();
            }
        });
        assert_eq!((rows.len(), rows.is_empty(), rows.row(2)), (2, false, None));
        let row = rows.row(1).unwrap();
        assert_eq!((row.get("id"), row.at(1)), (Some(Value::Int(2)), Some("two".into())));
        assert_eq!((row.get("ID"), row.at(2)), (None, None));
        assert_eq!(rows.iter().last(), Some(row));
        assert_eq!(json(&rows), r#"[{"id":1,"name":"one"},{"id":2,"name":"two"}]"#);
    }

    #[test]
    fn no_rows_are_an_empty_array_with_or_without_columns() {
        for names in [&["id"][..], &[]] {
            let rows = rows(names, |_| {});
            assert_eq!((rows.len(), rows.is_empty(), json(&rows)), (0, true, "[]".to_owned()));
        }
    }

    #[test]
    fn the_last_of_the_columns_with_one_name_has_it() {
        let rows = rows(&["id", "name", "id"], |row| {
            row.int(1);
            row.text("x").unwrap();
            row.int(2);
        });
        let row = rows.row(0).unwrap();
        assert_eq!((row.get("id"), row.at(0)), (Some(Value::Int(2)), Some(Value::Int(1))));
        assert_eq!(json(&rows), r#"[{"name":"x","id":2}]"#);
    }

    #[test]
    fn what_json_does_not_have_is_an_error_that_names_the_column() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let rows = rows(&["id", "ratio"], |row| {
                row.int(1);
                row.float(value);
            });
            let error = rows.write_json(&mut Vec::new()).unwrap_err();
            assert_eq!((error.kind, error.column.as_deref()), (Kind::Value, Some("ratio")));
        }
    }
}
