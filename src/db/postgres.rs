//! PostgreSQL, by sqlx's driver, and what speaks its protocol. It knows its types and its errors;
//! what a fiber is, it does not.

mod fault;
mod numeric;
mod parameters;
mod times;
mod values;

use std::collections::HashMap;
use std::pin::Pin;
use std::rc::Rc;
use std::str::FromStr;

use sqlx::postgres::{PgArguments, PgConnectOptions, PgConnection, PgRow, PgTypeInfo};
use sqlx::{
    AssertSqlSafe, Column, ConnectOptions, Connection as _, Either, Executor, Row as _, SqlSafeStr, Statement as _,
};

use self::parameters::Plan;
use super::connection::leave;
use super::dialect::Dialect;
use super::error::{Error, Kind};
use super::remote::{Bounds, Canceller, Remote, Results, Session, Stream, Traces, address};
use super::rows::Rows;
use super::settings::Named;
use super::transaction::Isolation;
use super::value::Value;
use super::{Backend, Executed, Missing, Opened, keyword};

/// PostgreSQL's line in the table of backends.
pub const BACKEND: Backend = Backend {
    name: "postgres",
    schemes: &["postgres", "postgresql"],
    example: "postgres://user:password@host/name",
    check_address,
    check_presence: |database, _| address::check_files(database.url.address()),
    files: |_| Vec::new(),
    probe: |database| connect(database, Missing::Refuse).map(leave),
    look: |database| connect(database, Missing::Refuse),
    connect,
};

/// What may follow after the `?` of a URL.
const OPTIONS: &[&str] = &[
    "application_name",
    "dbname",
    "host",
    "hostaddr",
    "options",
    "password",
    "port",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "user",
];

/// How many statements are remembered.
const PLANS: usize = 100;

/// How many the driver keeps prepared: each may be known to the server twice, without casts and with them.
const PREPARED: usize = 2 * PLANS;

/// What a session begins with: who it is, how long it waits for somebody else's lock, and in which
/// zone moments are written.
const GREETING: &str =
    "SELECT pg_backend_pid(), set_config('lock_timeout', '5s', false), set_config('TimeZone', 'UTC', false)";

/// What a session keeps for itself, by its first word.
const KEPT: &[&str] = &["DEALLOCATE", "DECLARE", "DISCARD", "EXECUTE", "LISTEN", "LOAD", "PREPARE", "RESET", "SET"];

/// The number of the lock that migrations are made under: `rhaid` in ASCII.
const LOCK: i64 = 0x0072_6861_6964;

fn check_address(address: &str) -> Result<(), String> {
    address::check(&format!("postgres:{address}"), BACKEND.example, OPTIONS)?;
    options(address).map(drop)
}

fn options(address: &str) -> Result<PgConnectOptions, String> {
    let options = PgConnectOptions::from_str(&format!("postgres:{address}"));
    options
        .map(|it| it.disable_statement_logging().statement_cache_capacity(PREPARED))
        .map_err(|error| format!("the URL can't be understood: {error}"))
}

fn connect(database: &Named, _: Missing) -> Opened {
    address::check_files(database.url.address())?;
    let options = options(database.url.address()).map_err(|message| Error::new(Kind::Connection, message))?;
    let session = super::remote::connect(database, &address::place(database.url.address()), async move {
        let mut raw = options.connect().await.map_err(fault::of)?;
        let id = raw
            .fetch_one(sqlx::raw_sql(GREETING))
            .await
            .and_then(|row| row.try_get_unchecked::<&str, _>(0).map(ToOwned::to_owned));
        let id = id.map_err(fault::of)?.parse().unwrap_or_default();
        Ok(Postgres { id, raw, options, is_spent: false, plans: HashMap::new() })
    })?;
    Ok(Box::new(Remote::new(session, database.max_rows)))
}

struct Postgres {
    raw: PgConnection,
    /// The server's number for the process that serves the connection.
    id: i32,
    options: PgConnectOptions,
    /// Whether rows were not read.
    is_spent: bool,
    /// What is known of statements, by their text.
    plans: HashMap<Box<str>, Rc<Plan>>,
}

impl Session for Postgres {
    const DIALECT: Dialect = Dialect::Postgres;
    const FAILURE_SPOILS: bool = true;
    const MIGRATES_IN_TRANSACTION: bool = true;
    type Parameters = Vec<Value<'static>>;

    fn parameters(values: &mut dyn ExactSizeIterator<Item = &Value<'_>>) -> Result<Vec<Value<'static>>, Error> {
        Ok(values.map(Value::to_owned).collect())
    }

    async fn query(&mut self, sql: String, parameters: Self::Parameters, bounds: Bounds) -> Result<Rows, Error> {
        let (plan, arguments, age) = self.ready(&sql, &parameters).await?;
        let mut results = Results::new(bounds);
        let columns = plan.columns.clone();
        let outcome = run(&mut self.raw, &mut self.is_spent, &plan, arguments, |row| {
            let Some(builder) = results.next(|| columns.clone())? else { return Ok(()) };
            for (index, sort) in plan.sorts.iter().enumerate() {
                sort.read(row, index, &columns.names()[index], builder)?;
            }
            Ok(())
        });
        outcome.await.map(|_| results.finish()).map_err(|error| age.blamed(error))
    }

    async fn exec(&mut self, sql: String, parameters: Self::Parameters) -> Result<Executed, Error> {
        let (plan, arguments, age) = self.ready(&sql, &parameters).await?;
        let outcome = run(&mut self.raw, &mut self.is_spent, &plan, arguments, |_| Ok(())).await;
        let rows_affected = outcome.map_err(|error| age.blamed(error))?;
        Ok(Executed { rows_affected, last_insert_id: None })
    }

    async fn command(&mut self, sql: String) -> Result<(), Error> {
        self.raw.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await.map(drop).map_err(fault::of)
    }

    async fn forget(&mut self) -> Result<(), Error> {
        self.plans.clear();
        self.raw.clear_cached_statements().await.map_err(fault::of)
    }

    fn begin(isolation: Option<Isolation>) -> Vec<String> {
        vec![isolation.map_or_else(|| "BEGIN".to_owned(), |it| format!("BEGIN ISOLATION LEVEL {}", it.sql()))]
    }

    fn ends_transaction(_: &str) -> Option<Error> {
        None
    }

    fn traces(sql: &str) -> Traces {
        let mut words = keyword::words(sql, Dialect::Postgres);
        let Some(first) = words.next() else { return Traces::None };
        let is = |word: &str| first.eq_ignore_ascii_case(word);
        let mut follows =
            |these: &[&str]| words.next().is_some_and(|word| these.iter().any(|it| word.eq_ignore_ascii_case(it)));
        match () {
            // Those end with the transaction.
            () if is("SET") && follows(&["LOCAL", "TRANSACTION", "CONSTRAINTS"]) => Traces::None,
            () if is("CREATE") && follows(&["TEMP", "TEMPORARY", "LOCAL", "GLOBAL"]) => Traces::Session,
            () if KEPT.iter().any(|it| is(it)) => Traces::Session,
            () => Traces::None,
        }
    }

    async fn settle(&mut self) -> Result<(), Error> {
        self.ping().await
    }

    fn lost_transaction(error: &Error) -> bool {
        error.kind == Kind::Connection
    }

    async fn lock(&mut self) -> Result<(), Error> {
        // Another process's migrations may take longer than a lock is waited for otherwise.
        self.command(format!("SET LOCAL lock_timeout = '600s'; SELECT pg_advisory_xact_lock({LOCK})")).await
    }

    async fn unlock(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn is_spent(&self) -> bool {
        self.is_spent
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
                let _ = other.execute(sqlx::raw_sql(AssertSqlSafe(format!("SELECT pg_cancel_backend({id})")))).await;
                let _ = other.close().await;
            });
            end
        })
    }

    async fn close(self) {
        let _ = self.raw.close().await;
    }
}

impl Postgres {
    /// The statement as it is known to the server, which is asked when it is new, and its parameters.
    async fn ready(&mut self, sql: &str, parameters: &[Value<'static>]) -> Result<(Rc<Plan>, PgArguments, Age), Error> {
        let (plan, age) = self.known(sql).await?;
        super::placeholders::same_number(plan.targets.len(), parameters.len())?;
        let refused = match plan.arguments(parameters) {
            Ok(arguments) => return Ok((plan, arguments, age)),
            Err(error) => error,
        };
        let Some(wide) = parameters::widened(sql, &plan.targets, parameters) else { return Err(refused) };
        let (plan, age) = match self.known(&wide).await {
            // What it calls takes no larger integers.
            Err(error) if error.kind == Kind::Syntax => return Err(refused),
            known => known?,
        };
        let arguments = plan.arguments(parameters)?;
        Ok((plan, arguments, age))
    }

    /// What is known of the statement, now at the latest.
    async fn known(&mut self, sql: &str) -> Result<(Rc<Plan>, Age), Error> {
        if let Some(plan) = self.plans.get(sql) {
            return Ok((plan.clone(), Age::Known));
        }
        let plan = Rc::new(self.plan(sql).await?);
        if self.plans.len() >= PLANS {
            self.plans.clear();
        }
        self.plans.insert(sql.into(), plan.clone());
        Ok((plan, Age::New))
    }

    async fn plan(&mut self, sql: &str) -> Result<Plan, Error> {
        let asked = self.describe(sql).await?;
        let plan = match parameters::with_casts(sql, &asked.0) {
            None => Plan::of(sql.to_owned(), &asked.0, &asked.1),
            Some(cast) => {
                let described = self.describe(&cast).await?;
                Plan::of(cast, &described.0, &described.1)
            }
        };
        Ok(plan)
    }

    /// The types of a statement's parameters, and its columns with theirs.
    async fn describe(&mut self, sql: &str) -> Result<(Vec<PgTypeInfo>, Vec<(String, PgTypeInfo)>), Error> {
        let statement =
            (&mut self.raw).prepare(AssertSqlSafe(sql.to_owned()).into_sql_str()).await.map_err(fault::of)?;
        let parameters = match statement.parameters() {
            Some(Either::Left(types)) => types.to_vec(),
            _ => Vec::new(),
        };
        let columns = statement.columns().iter().map(|it| (it.name().to_owned(), it.type_info().clone())).collect();
        Ok((parameters, columns))
    }
}

/// Whether a statement was prepared for the call that runs it, or for one before.
#[derive(Clone, Copy)]
enum Age {
    New,
    Known,
}

impl Age {
    /// The error of a statement of this age: one that was understood before and is not any more, or whose parameters
    /// no longer fit, has had its tables changed since.
    fn blamed(self, error: Error) -> Error {
        match self {
            Age::Known if error.kind == Kind::Syntax => Error { kind: Kind::SchemaChanged, ..error },
            _ => error,
        }
    }
}

/// Runs a statement, and gives each row to `each`; how many rows it affected.
async fn run(
    raw: &mut PgConnection,
    is_spent: &mut bool,
    plan: &Plan,
    arguments: PgArguments,
    mut each: impl FnMut(&PgRow) -> Result<(), Error>,
) -> Result<u64, Error> {
    let (mut affected, mut rows) = (0, Stream::default());
    let mut stream = raw.fetch_many(sqlx::query_with(AssertSqlSafe(plan.sql.clone()), arguments));
    while let Some(step) = std::future::poll_fn(|context| stream.as_mut().poll_next(context)).await {
        match step.map_err(fault::of)? {
            Either::Left(result) => affected += result.rows_affected(),
            Either::Right(row) => *is_spent = !rows.row(|| each(&row)),
        }
        if *is_spent {
            break;
        }
    }
    rows.end(affected)
}
