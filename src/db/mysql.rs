//! MySQL and MariaDB, by sqlx's driver. It knows their protocol's types and their errors; what a
//! fiber is, it does not.

mod fault;
mod values;

use std::collections::HashMap;
use std::pin::Pin;
use std::rc::Rc;
use std::str::FromStr;

use bigdecimal::BigDecimal;
use sqlx::mysql::{MySqlArguments, MySqlConnectOptions, MySqlConnection, MySqlQueryResult, MySqlRow};
use sqlx::{Arguments, AssertSqlSafe, Column, ConnectOptions, Connection as _, Either, Executor, Row as _};

use self::values::Sort;
use super::dialect::Dialect;
use super::error::{Error, Kind};
use super::remote::{Bounds, Canceller, Remote, Results, Session, address};
use super::rows::{Columns, Rows};
use super::settings::Named;
use super::transaction::Isolation;
use super::value::Value;
use super::{Backend, Executed, Missing, Opened};

/// MySQL's line in the table of backends.
pub const BACKEND: Backend = Backend {
    name: "mysql",
    schemes: &["mysql", "mariadb"],
    example: "mysql://user:password@host/name",
    check_address,
    check_presence: |database, _| address::check_files(database.url.address()),
    files: |_| Vec::new(),
    probe: |database| connect(database, Missing::Refuse).map(drop),
    look: |database| connect(database, Missing::Refuse),
    connect,
};

/// What may follow after the `?` of a URL.
const OPTIONS: &[&str] = &["charset", "collation", "socket", "ssl-ca", "ssl-cert", "ssl-key", "ssl-mode", "time-zone"];

/// How many statements' columns are remembered; more than there are prepared statements would be
/// of no use.
const SHAPES: usize = 200;

/// What a session begins with: who it is, and how long it waits for somebody else's lock.
const GREETING: &str = "SET SESSION innodb_lock_wait_timeout = 5";

/// What MySQL commits a transaction for (MySQL 8.4 Reference Manual, 15.3.3).
const COMMITTING: &[&str] = &[
    "ALTER", "ANALYZE", "CREATE", "DROP", "FLUSH", "GRANT", "LOCK", "OPTIMIZE", "RENAME", "REPAIR", "REVOKE",
    "TRUNCATE", "UNLOCK",
];

/// The name of the lock that migrations are made under.
const LOCK: &str = "rhaid_migrations";
/// Seconds that another process's migrations are waited for.
const LOCK_PATIENCE: u32 = 600;

fn check_address(address: &str) -> Result<(), String> {
    address::check(&format!("mysql:{address}"), BACKEND.example, OPTIONS)?;
    options(address).map(drop)
}

fn options(address: &str) -> Result<MySqlConnectOptions, String> {
    let options = MySqlConnectOptions::from_str(&format!("mysql:{address}"));
    options
        .map(ConnectOptions::disable_statement_logging)
        .map_err(|error| format!("the URL can't be understood: {error}"))
}

fn connect(database: &Named, _: Missing) -> Opened {
    address::check_files(database.url.address())?;
    let options = options(database.url.address()).map_err(|message| Error::new(Kind::Connection, message))?;
    let session = super::remote::connect(database, &address::place(database.url.address()), async move {
        let mut raw = options.connect().await.map_err(fault::of)?;
        raw.execute(GREETING).await.map_err(fault::of)?;
        let id = raw.fetch_one("SELECT CONNECTION_ID()").await.and_then(|row| row.try_get(0));
        Ok(Mysql { id: id.map_err(fault::of)?, raw, options, shapes: HashMap::new() })
    })?;
    Ok(Box::new(Remote::new(session, database.max_rows)))
}

struct Mysql {
    raw: MySqlConnection,
    /// The server's number for the connection.
    id: u64,
    options: MySqlConnectOptions,
    /// Columns of statements by their text.
    shapes: HashMap<Box<str>, Rc<Columns>>,
}

impl Session for Mysql {
    const DIALECT: Dialect = Dialect::Mysql;
    const FAILURE_SPOILS: bool = false;
    const MIGRATES_IN_TRANSACTION: bool = false;
    type Parameters = MySqlArguments;

    fn parameters(values: &mut dyn ExactSizeIterator<Item = &Value<'_>>) -> Result<MySqlArguments, Error> {
        let mut arguments = MySqlArguments::default();
        for (index, value) in values.enumerate() {
            let refused = |what: &str| Error::new(Kind::Parameters, format!("parameter {} is {what}", index + 1));
            let added = match value {
                Value::Null | Value::List(_) => arguments.add(None::<&str>),
                Value::Bool(value) => arguments.add(*value),
                Value::Int(value) => arguments.add(*value),
                Value::Float(value) if !value.is_finite() => return Err(refused("NaN or infinite")),
                Value::Float(value) => arguments.add(*value),
                Value::Decimal(digits) => match BigDecimal::from_str(digits) {
                    Ok(number) => arguments.add(number),
                    Err(_) => arguments.add(digits.as_ref()),
                },
                Value::Text(text) | Value::Json(text) => arguments.add(text.as_ref()),
                Value::Blob(bytes) => arguments.add(bytes.as_ref()),
            };
            added.map_err(|error| refused(&format!("not to be sent: {error}")))?;
        }
        Ok(arguments)
    }

    async fn query(&mut self, sql: String, parameters: MySqlArguments, bounds: Bounds) -> Result<Rows, Error> {
        let mut results = Results::new(bounds);
        let mut sorts: Option<(Vec<Sort>, Rc<Columns>)> = None;
        let shapes = &mut self.shapes;
        let key = sql.clone();
        run(&mut self.raw, sql, parameters, |row| {
            let (sorts, columns) = sorts.get_or_insert_with(|| {
                (row.columns().iter().map(|it| Sort::of(it.type_info())).collect(), shape(shapes, &key, row))
            });
            let Some(builder) = results.next(|| columns.clone())? else { return Ok(()) };
            for (index, sort) in sorts.iter().enumerate() {
                sort.read(row, index, &columns.names()[index], builder)?;
            }
            Ok(())
        })
        .await?;
        Ok(results.finish())
    }

    async fn exec(&mut self, sql: String, parameters: MySqlArguments) -> Result<Executed, Error> {
        let done = run(&mut self.raw, sql, parameters, |_| Ok(())).await?;
        let id = i64::try_from(done.last_insert_id()).ok().filter(|id| *id != 0);
        Ok(Executed { rows_affected: done.rows_affected(), last_insert_id: id })
    }

    async fn forget(&mut self) -> Result<(), Error> {
        self.raw.clear_cached_statements().await.map_err(fault::of)
    }

    async fn command(&mut self, sql: String) -> Result<(), Error> {
        self.raw.execute(AssertSqlSafe(sql)).await.map(drop).map_err(fault::of)
    }

    fn begin(isolation: Option<Isolation>) -> Vec<String> {
        let level = isolation.map(|it| format!("SET TRANSACTION ISOLATION LEVEL {}", it.sql()));
        level.into_iter().chain(["START TRANSACTION".to_owned()]).collect()
    }

    fn ends_transaction(sql: &str) -> Option<Error> {
        let first = super::keyword::first_word(sql, Dialect::Mysql);
        COMMITTING.iter().find(|it| it.eq_ignore_ascii_case(first)).map(|word| {
            Error::new(Kind::Other, format!("`{word}` would commit the transaction: MySQL does so by itself"))
                .hint("run it outside of the transaction")
        })
    }

    fn lost_transaction(error: &Error) -> bool {
        fault::rolled_back(error)
    }

    async fn lock(&mut self) -> Result<(), Error> {
        let sql = format!("SELECT GET_LOCK('{LOCK}', {LOCK_PATIENCE})");
        let row = self.raw.fetch_one(AssertSqlSafe(sql)).await.map_err(fault::of)?;
        match row.try_get::<Option<i64>, _>(0) {
            Ok(Some(1)) => Ok(()),
            _ => Err(Error::new(Kind::Busy, "another process makes migrations for too long a time")),
        }
    }

    async fn unlock(&mut self) -> Result<(), Error> {
        let sql = format!("DO RELEASE_LOCK('{LOCK}')");
        self.command(sql).await
    }

    async fn ping(&mut self) -> Result<(), Error> {
        self.raw.ping().await.map_err(fault::of)
    }

    fn canceller(&self) -> Canceller {
        let (options, id) = (self.options.clone(), self.id);
        Rc::new(move || {
            let options = options.clone();
            let end: Pin<Box<dyn Future<Output = ()>>> = Box::pin(async move {
                let Ok(mut other) = options.connect().await else { return };
                // Should it fail, the connection is closed a little later.
                let _ = other.execute(AssertSqlSafe(format!("KILL QUERY {id}"))).await;
                let _ = other.close().await;
            });
            end
        })
    }

    async fn close(self) {
        let _ = self.raw.close().await;
    }
}

/// Runs a statement by the binary protocol, and gives each row to `each`.
async fn run(
    raw: &mut MySqlConnection,
    sql: String,
    parameters: MySqlArguments,
    mut each: impl FnMut(&MySqlRow) -> Result<(), Error>,
) -> Result<MySqlQueryResult, Error> {
    let mut done = MySqlQueryResult::default();
    let mut stream = raw.fetch_many(sqlx::query_with(AssertSqlSafe(sql), parameters));
    while let Some(step) = std::future::poll_fn(|context| stream.as_mut().poll_next(context)).await {
        match step.map_err(fault::of)? {
            Either::Left(result) => done.extend([result]),
            Either::Right(row) => each(&row)?,
        }
    }
    Ok(done)
}

/// The columns of a statement; those of the last time where they have the same names.
fn shape(shapes: &mut HashMap<Box<str>, Rc<Columns>>, sql: &str, row: &MySqlRow) -> Rc<Columns> {
    let columns = row.columns();
    if let Some(known) = shapes.get(sql)
        && known.names().len() == columns.len()
        && known.names().iter().zip(columns).all(|(name, column)| **name == *column.name())
    {
        return known.clone();
    }
    let fresh = Rc::new(Columns::new(columns.iter().map(|it| it.name().into()).collect()));
    if shapes.len() >= SHAPES {
        shapes.clear();
    }
    shapes.insert(sql.into(), fresh.clone());
    fresh
}
