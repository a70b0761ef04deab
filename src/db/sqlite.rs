//! SQLite, in the worker: statements run on the fiber's own stack, and its handlers suspend the
//! fiber where SQLite would block the worker. It does not know who else uses the database.

mod declared;
mod fault;
mod file;
mod parameters;
mod queue;
mod waiting;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::hooks::{Action, AuthAction, AuthContext, Authorization};
use rusqlite::{CachedStatement, Statement, StatementStatus};

use self::declared::Declared;
use self::parameters::bind;
use self::queue::{Queue, Turn};
use super::error::{Error, Kind};
use super::rows::{self, Builder, Columns, Rows};
use super::settings::{Named, Reach};
use super::value::Value;
use super::{Backend, Connection, Dialect, Executed, Finish, Isolation, Missing, Opened, keyword, placeholders};
use crate::fiber;

/// SQLite's line in the table of backends.
pub const BACKEND: Backend = Backend {
    name: "sqlite",
    schemes: &["sqlite"],
    example: "sqlite:var/app.db",
    check_address,
    check_presence,
    files,
    probe,
    connect,
    look,
};

/// How many statements' columns are remembered; more than there are prepared statements would be
/// of no use.
const SHAPES: usize = 200;

fn files(address: &str) -> Vec<PathBuf> {
    let path = file::path(address);
    if path == file::MEMORY { Vec::new() } else { vec![path.into()] }
}

fn probe(database: &Named) -> Result<(), Error> {
    file::probe(database.url.address())
}

fn check_address(address: &str) -> Result<(), String> {
    match file::path(address) {
        "" => Err("`sqlite:` is followed by nothing, expected a path such as `sqlite:var/app.db`".to_owned()),
        path if path.contains('?') => {
            Err("`sqlite:` has a `?` after it, expected a path alone: options in the URL are not known".to_owned())
        }
        _ => Ok(()),
    }
}

fn check_presence(database: &Named, missing: Missing) -> Result<(), Error> {
    match file::path(database.url.address()) {
        file::MEMORY => Ok(()),
        path => file::present(Path::new(path), missing),
    }
}

fn connect(database: &Named, missing: Missing) -> Opened {
    opened(database, file::open(&database.name, database.url.address(), missing)?)
}

fn look(database: &Named) -> Opened {
    opened(database, file::open_as_it_is(&database.name, database.url.address())?)
}

fn opened(database: &Named, mut raw: rusqlite::Connection) -> Opened {
    let inserted = Arc::new(AtomicBool::new(false));
    let seen = inserted.clone();
    let hook = move |action, _: &str, _: &str, _| {
        if action == Action::SQLITE_INSERT {
            seen.store(true, Ordering::Relaxed);
        }
    };
    raw.update_hook(Some(hook)).map_err(|error| fault::of(&error))?;
    if database.reach == Reach::Itself {
        raw.authorizer(Some(stay)).map_err(|error| fault::of(&error))?;
    }
    let address = file::path(database.url.address());
    // Databases in memory are told apart by their names.
    let queue = Queue::of(if address == file::MEMORY { &database.name } else { address });
    Ok(Box::new(Sqlite { shapes: HashMap::new(), max_rows: database.max_rows, inserted, queue, turn: None, raw }))
}

/// Denies what would open another file; `VACUUM` attaches one without a name.
fn stay(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Attach { filename } if !filename.is_empty() => Authorization::Deny,
        // What is no literal has no name here.
        AuthAction::Unknown { code: rusqlite::ffi::SQLITE_ATTACH, .. } => Authorization::Deny,
        _ => Authorization::Allow,
    }
}

struct Sqlite {
    /// Columns of statements by their text.
    shapes: HashMap<Box<str>, Shape>,
    max_rows: usize,
    /// Whether a row was inserted: SQLite's last row id may be another statement's.
    inserted: Arc<AtomicBool>,
    queue: Queue,
    /// Held as long as a transaction is open.
    turn: Option<Turn>,
    raw: rusqlite::Connection,
}

#[derive(Clone)]
struct Shape {
    columns: Rc<Columns>,
    declared: Rc<[Declared]>,
    /// How often SQLite had prepared the statement again when this was read, which it does when
    /// the schema has changed.
    prepared_again: i32,
}

impl Connection for Sqlite {
    fn query(&mut self, sql: &str, parameters: &[Value<'_>], most: usize) -> Result<Rows, Error> {
        let rows = self.rows(sql, parameters, most);
        self.settle();
        rows
    }

    fn exec(&mut self, sql: &str, parameters: &[Value<'_>]) -> Result<Executed, Error> {
        let executed = self.execute(sql, parameters);
        self.settle();
        executed
    }

    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn run(&mut self, statement: &str) -> Result<(), Error> {
        let outcome = self.step(statement);
        self.settle();
        outcome
    }

    fn begin(&mut self, depth: usize, _: Option<Isolation>) -> Result<(), Error> {
        // Whatever the level, its transactions run one after another. At once with the right to write: a transaction that asks for it later would be refused
        // where somebody else wrote in between.
        if depth > 0 {
            return self.command(&format!("SAVEPOINT rhaid_{depth}"));
        }
        self.turn = self.queue.turn()?;
        self.command("BEGIN IMMEDIATE").inspect_err(|_| self.turn = None)
    }

    fn commit(&mut self, depth: usize) -> Result<(), Error> {
        if depth > 0 {
            return self.command(&format!("RELEASE rhaid_{depth}"));
        }
        // Where it fails the transaction is still open, and rolled back next.
        self.command("COMMIT").inspect(|()| self.turn = None)
    }

    fn rollback(&mut self, depth: usize) -> Result<(), Error> {
        if depth == 0 {
            let outcome = self.command("ROLLBACK");
            self.turn = None;
            return outcome;
        }
        self.command(&format!("ROLLBACK TO rhaid_{depth}"))?;
        self.command(&format!("RELEASE rhaid_{depth}"))
    }

    fn in_transaction(&self) -> bool {
        !self.raw.is_autocommit()
    }

    fn finish(self: Box<Self>) -> Finish {
        Finish::Now(if self.in_transaction() { None } else { Some(self) })
    }
}

impl Sqlite {
    /// Lets the next one write where a statement has ended the transaction, or an error has.
    fn settle(&mut self) {
        if self.raw.is_autocommit() {
            self.turn = None;
        }
    }

    fn rows(&mut self, sql: &str, parameters: &[Value<'_>], most: usize) -> Result<Rows, Error> {
        with_lists_expanded(sql, parameters, |sql, parameters| {
            let mut statement = prepare(&self.raw, sql)?;
            bind(&mut statement, parameters)?;
            let reads = statement.readonly();
            let mut results = statement.raw_query();
            let mut taken: Option<(Shape, Builder)> = None;
            let mut count = 0;
            while let Some(row) = results.next().map_err(|error| fault::of(&error))? {
                let (shape, builder) = taken.get_or_insert_with(|| {
                    let shape = shape(&mut self.shapes, sql, row.as_ref());
                    let builder = Builder::new(shape.columns.clone());
                    (shape, builder)
                });
                // A statement that writes is carried to its end in any case: what fails when it is
                // closed early would not be seen.
                if count == most {
                    continue;
                }
                if count == self.max_rows {
                    return Err(rows::too_many(self.max_rows));
                }
                builder.open_row();
                for (index, declared) in shape.declared.iter().enumerate() {
                    declared.read(row.get_ref_unwrap(index), &shape.columns.names()[index], builder)?;
                }
                count += 1;
                if count == most && reads {
                    break;
                }
                fiber::tick()?;
            }
            drop(results);
            Ok(match taken {
                Some((_, builder)) => builder.finish(),
                None => Builder::new(shape(&mut self.shapes, sql, &statement).columns).finish(),
            })
        })
    }

    fn execute(&mut self, sql: &str, parameters: &[Value<'_>]) -> Result<Executed, Error> {
        with_lists_expanded(sql, parameters, |sql, parameters| {
            let mut statement = prepare(&self.raw, sql)?;
            bind(&mut statement, parameters)?;
            self.inserted.store(false, Ordering::Relaxed);
            let before = self.raw.total_changes();
            let mut rows = statement.raw_query();
            while rows.next().map_err(|error| fault::of(&error))?.is_some() {}
            // `changes` is that of the last statement that wrote, which this one need not be.
            let wrote = self.raw.total_changes() != before;
            let inserted = self.inserted.load(Ordering::Relaxed);
            Ok(Executed {
                rows_affected: if wrote { self.raw.changes() } else { 0 },
                last_insert_id: inserted.then(|| self.raw.last_insert_rowid()),
            })
        })
    }
}

impl Sqlite {
    /// Runs what is not worth keeping prepared.
    fn step(&self, sql: &str) -> Result<(), Error> {
        let mut statement = self.raw.prepare(sql).map_err(|error| fault::of_unprepared(&error))?;
        if statement.parameter_count() > 0 {
            return Err(Error::new(Kind::Parameters, "there is a placeholder, which nothing fills here"));
        }
        let mut rows = statement.raw_query();
        while rows.next().map_err(|error| fault::of(&error))?.is_some() {}
        Ok(())
    }

    fn command(&mut self, sql: &str) -> Result<(), Error> {
        let mut statement = self.raw.prepare_cached(sql).map_err(|error| fault::of(&error))?;
        statement.raw_execute().map(drop).map_err(|error| fault::of(&error))
    }
}

/// Calls `work` with the statement and the parameters as SQLite takes them.
fn with_lists_expanded<T>(
    sql: &str,
    parameters: &[Value<'_>],
    work: impl FnOnce(&str, &mut dyn ExactSizeIterator<Item = &Value<'_>>) -> Result<T, Error>,
) -> Result<T, Error> {
    if !parameters.iter().any(|it| matches!(it, Value::List(_))) {
        return work(sql, &mut parameters.iter());
    }
    let (sql, flat) = placeholders::expand(sql, parameters, Dialect::Sqlite)?;
    work(&sql, &mut flat.into_iter())
}

fn prepare<'c>(raw: &'c rusqlite::Connection, sql: &str) -> Result<CachedStatement<'c>, Error> {
    let control = || keyword::refuse_transaction_control(sql, Dialect::Sqlite);
    let statement = raw.prepare_cached(sql);
    let statement = statement.map_err(|error| control().err().unwrap_or_else(|| fault::of_unprepared(&error)))?;
    // Those have no columns. That it is new says nothing: our own commands are remembered too.
    if statement.column_count() == 0 {
        control()?;
    }
    let is_new = statement.get_status(StatementStatus::Run) == 0;
    if is_new && statement.parameter_count() != placeholders::find(sql, Dialect::Sqlite).count() {
        statement.discard();
        return Err(placeholders::other_form());
    }
    Ok(statement)
}

/// The columns of a statement that has been stepped, before which SQLite may not have noticed that
/// the schema has changed.
fn shape(shapes: &mut HashMap<Box<str>, Shape>, sql: &str, statement: &Statement<'_>) -> Shape {
    let prepared_again = statement.get_status(StatementStatus::RePrepare);
    let is_new = statement.get_status(StatementStatus::Run) <= 1;
    if !is_new
        && let Some(shape) = shapes.get(sql)
        && shape.prepared_again == prepared_again
    {
        return shape.clone();
    }
    let columns = statement.columns();
    let (names, declared): (Vec<Rc<str>>, Vec<Declared>) =
        columns.map(|column| (Rc::from(column.name()), Declared::parse(column.decl_type()))).unzip();
    let shape = Shape { columns: Rc::new(Columns::new(names)), declared: declared.into(), prepared_again };
    if shapes.len() >= SHAPES {
        shapes.clear();
    }
    shapes.insert(sql.into(), shape.clone());
    shape
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::db::Databases;
    use crate::db::trial::{Trial, block_on, json, number, on_fiber};
    use crate::fiber::{Limits, Stop};

    const PEOPLE: &str = "CREATE TABLE people (id INTEGER PRIMARY KEY, name VARCHAR(45) UNIQUE);
                          INSERT INTO people (name) VALUES ('ann'), ('bob'), ('cy');";
    /// Counts to 10^10, which takes minutes.
    const LONG: &str = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 10000000000) \
                        SELECT count(*) FROM c";

    #[test]
    fn columns_are_read_by_their_declaration_where_the_content_fits() {
        let trial = Trial::new(
            "CREATE TABLE a (moment DATETIME, stamp TIMESTAMP, day DATE, flag BOOLEAN, price DECIMAL(10, 2),
                             whole DECIMAL(10), amount NUMERIC, doc JSON, n INT, f REAL, t TEXT, b BLOB);
             INSERT INTO a VALUES ('2014-02-08 16:54:50', '2014-02-08 16:54:50.250+01:00', '2014-02-08', 1, 12.5,
                                   7, 0.25, '{\"z\": [1, 2.0]}', 9223372036854775807, 1, 'é', x'00ff');
             INSERT INTO a VALUES ('soon', 1391878490, 'never', 2, 'free', 1.5, 'some', '{', 'n', 'f', 5, 'b');
             INSERT INTO a (n) VALUES (NULL);",
        );
        let expected = concat!(
            r#"[{"moment":"2014-02-08T16:54:50","stamp":"2014-02-08T15:54:50.25Z","day":"2014-02-08","flag":true,"#,
            r#""price":12.50,"whole":7,"amount":0.25,"doc":{"z": [1, 2.0]},"n":9223372036854775807,"f":1.0,"#,
            r#""t":"é","b":"AP8="},"#,
            r#"{"moment":"soon","stamp":1391878490,"day":"never","flag":2,"price":"free","whole":1.5,"amount":"some","#,
            r#""doc":"{","n":"n","f":"f","t":"5","b":"b"},"#,
            r#"{"moment":null,"stamp":null,"day":null,"flag":null,"price":null,"whole":null,"amount":null,"doc":null,"#,
            r#""n":null,"f":null,"t":null,"b":null}]"#,
        );
        trial.run(|db| assert_eq!(json(&db.query("SELECT * FROM a", &[]).unwrap()), expected));
    }

    #[test]
    fn every_sort_of_parameter_comes_back_as_it_went() {
        let trial = Trial::new("CREATE TABLE a (flag BOOLEAN, doc JSON, price DECIMAL(30, 2));");
        trial.run(|db| {
            let values =
                [Value::Int(i64::MIN), Value::Float(1.0), "it's ?".into(), Value::Null, Value::Blob(b"\0"[..].into())];
            let row = db.first("SELECT ?, ?, ?, ?, ?", &values).unwrap().unwrap();
            for (index, value) in values.into_iter().enumerate() {
                assert_eq!(row.at(index), Some(value));
            }
            let values = [Value::Bool(true), Value::Json("[1]".into()), Value::Decimal("12.50".into())];
            db.exec("INSERT INTO a VALUES (?, ?, ?)", &values).unwrap();
            let row = db.first("SELECT * FROM a WHERE price > ?", &[Value::Decimal("12".into())]).unwrap().unwrap();
            assert_eq!(row.get("flag"), Some(Value::Bool(true)));
            assert_eq!(row.get("doc"), Some(Value::Json("[1]".into())));
            assert_eq!(row.get("price"), Some(Value::Decimal("12.50".into())));
            let big = [Value::Decimal("18446744073709551615".into())];
            assert_eq!(db.first("SELECT ?", &big).unwrap().unwrap().at(0), Some("18446744073709551615".into()));
            let error = db.query("SELECT ?", &[Value::Float(f64::NAN)]).unwrap_err();
            assert_eq!((error.kind, error.message.as_str()), (Kind::Parameters, "parameter 1 is NaN or infinite"));
        });
    }

    #[test]
    fn lists_expand_and_an_empty_one_finds_nothing() {
        Trial::new(PEOPLE).run(|db| {
            let by_id = "SELECT name FROM people WHERE id IN (?) AND name <> '?' AND id < ? ORDER BY id";
            let find = |ids: Vec<Value<'static>>| json(&db.query(by_id, &[Value::List(ids), Value::Int(9)]).unwrap());
            assert_eq!(find(vec![1.into(), 3.into(), 7.into()]), r#"[{"name":"ann"},{"name":"cy"}]"#);
            assert_eq!(find(vec![2.into()]), r#"[{"name":"bob"}]"#);
            assert_eq!(find(vec![]), "[]");
            let all = db.query("SELECT name FROM people WHERE id NOT IN (?)", &[Value::List(vec![])]).unwrap();
            assert_eq!(all.len(), 3);
        });
    }

    #[test]
    fn parameters_that_do_not_fit_are_errors() {
        Trial::new(PEOPLE).run(|db| {
            for (sql, given, message) in [
                ("SELECT ?, ?", 1, "the statement has 2 placeholders, but 1 parameter was given"),
                ("SELECT '?'", 1, "the statement has 0 placeholders, but 1 parameter was given"),
                ("SELECT ?1, ?1", 1, "the statement has a numbered or named placeholder"),
                ("SELECT :name", 1, "the statement has a numbered or named placeholder"),
            ] {
                // Twice: the second time the statement may come from the cache.
                for _ in 0..2 {
                    let error = db.query(sql, &vec![Value::Int(1); given]).unwrap_err();
                    assert_eq!((error.kind, error.message.lines().next()), (Kind::Parameters, Some(message)), "{sql}");
                }
            }
        });
    }

    #[test]
    fn one_call_is_one_statement() {
        Trial::new(PEOPLE).run(|db| {
            for sql in ["SELECT 1; DELETE FROM people", "DELETE FROM people; --", "DELETE FROM people WHERE id = 1;;"] {
                let outcome = db.exec(sql, &[]);
                assert_eq!(outcome.is_err(), sql.contains("SELECT"), "{sql}");
            }
            assert!(db.exec("SELECT 1; DELETE FROM missing", &[]).is_err());
            assert_eq!(db.exec("", &[]).unwrap_err().kind, Kind::Syntax);
            assert_eq!(db.exec("SELECT '\0'", &[]).unwrap_err().kind, Kind::Syntax);
        });
    }

    #[test]
    fn exec_says_what_it_did() {
        let trial = Trial::new(&format!("{PEOPLE} CREATE TABLE bare (id TEXT PRIMARY KEY) WITHOUT ROWID;"));
        trial.run(|db| {
            let exec = |sql: &str| db.exec(sql, &[]).map(|it| (it.rows_affected, it.last_insert_id)).unwrap();
            assert_eq!(exec("INSERT INTO people (name) VALUES ('dee'), ('eve')"), (2, Some(5)));
            assert_eq!(exec("INSERT OR IGNORE INTO people (name) VALUES ('dee')"), (0, None));
            let upsert = "INSERT INTO people (id, name) VALUES (1, 'a') ON CONFLICT (id) DO UPDATE SET name = 'a'";
            assert_eq!(exec(upsert), (1, None));
            assert_eq!(exec("INSERT INTO bare VALUES ('x')"), (1, None));
            assert_eq!(exec("UPDATE people SET name = upper(name) WHERE id < 3"), (2, None));
            assert_eq!(exec("SELECT * FROM people"), (0, None));
            assert_eq!(exec("INSERT INTO people (name) VALUES ('fay') RETURNING name"), (1, Some(6)));
            assert_eq!(exec("CREATE TABLE other (id INT)"), (0, None));
            assert_eq!(exec("DELETE FROM people"), (6, None));
        });
    }

    #[test]
    fn a_statement_that_writes_may_be_asked_for_its_rows() {
        let trial = Trial::new(PEOPLE);
        trial.run(|db| {
            let insert = "INSERT INTO people (name) VALUES ('dee'), ('eve') RETURNING id";
            assert_eq!(db.first(insert, &[]).unwrap().unwrap().at(0), Some(Value::Int(4)));
            assert_eq!(db.query("DELETE FROM people WHERE id = 1", &[]).unwrap().len(), 0);
        });
        assert_eq!(trial.number("SELECT count(*) FROM people"), 4);
    }

    #[test]
    fn a_changed_schema_shows_at_once() {
        let trial = Trial::new(PEOPLE);
        trial.run(|db| {
            let all = || json(&db.query("SELECT * FROM people WHERE id = 1", &[]).unwrap());
            assert_eq!((all(), all()), (r#"[{"id":1,"name":"ann"}]"#.into(), r#"[{"id":1,"name":"ann"}]"#.into()));
            db.exec("ALTER TABLE people ADD COLUMN born DATETIME", &[]).unwrap();
            assert_eq!(all(), r#"[{"id":1,"name":"ann","born":null}]"#);
            // Somebody else changes it too.
            let other = rusqlite::Connection::open(trial.path("var/trial.db")).unwrap();
            other.execute_batch("ALTER TABLE people RENAME COLUMN name TO called").unwrap();
            assert_eq!(all(), r#"[{"id":1,"called":"ann","born":null}]"#);
            other
                .execute_batch(
                    "DROP TABLE people; CREATE TABLE people (id INT, ok BOOLEAN); INSERT INTO people VALUES (1, 1)",
                )
                .unwrap();
            assert_eq!(all(), r#"[{"id":1,"ok":true}]"#);
            // So many other statements that this one is no longer kept.
            for number in 0..300 {
                db.query(&format!("SELECT {number}"), &[]).unwrap();
            }
            other.execute_batch("ALTER TABLE people DROP COLUMN ok").unwrap();
            assert_eq!(all(), r#"[{"id":1}]"#);
            assert_eq!(db.query("SELECT * FROM people WHERE id = 2", &[]).unwrap().names().len(), 1);
        });
    }

    #[test]
    fn text_that_is_no_utf8_is_an_error_that_names_the_column() {
        Trial::new(PEOPLE).run(|db| {
            let error = db.query("SELECT 1, CAST(x'ff' AS TEXT) AS name", &[]).unwrap_err();
            assert_eq!((error.kind, error.column.as_deref()), (Kind::Value, Some("name")));
        });
    }

    #[test]
    fn what_would_overflow_the_stack_is_refused() {
        Trial::new(PEOPLE).run(|db| {
            let deep = format!("SELECT {}1{}", "(1 + ".repeat(300), ")".repeat(300));
            assert!(db.query(&deep, &[]).is_err());
            assert!(db.query(&vec!["SELECT 1"; 200].join(" UNION ALL "), &[]).is_err());
            assert!(db.query(&vec!["SELECT 1"; 100].join(" UNION ALL "), &[]).is_ok());
        });
    }

    #[test]
    fn a_long_statement_lets_others_run_and_ends_when_its_time_is_over() {
        let trial = Trial::new(PEOPLE);
        let databases = Rc::new(trial.databases());
        block_on(async {
            let limits = Limits { time: Duration::from_millis(100), ..Limits::default() };
            let long = on_fiber(&databases, limits, |db| db.query(LONG, &[]).unwrap_err());
            let ended = Cell::new(false);
            let others = async {
                let mut served = 0;
                while !ended.get() {
                    let quick = on_fiber(&databases, Limits::default(), |db| number(db, "SELECT count(*) FROM people"));
                    assert_eq!(quick.await.unwrap(), 3);
                    served += 1;
                    tokio::task::yield_now().await;
                }
                served
            };
            let long = async {
                let error = long.await.unwrap();
                ended.set(true);
                error
            };
            let (error, served) = tokio::join!(long, others);
            assert_eq!(error.kind, Kind::Stopped(Stop::Time));
            assert!(served >= 5, "others were served {served} times");
        });
    }

    #[test]
    fn a_statement_nobody_waits_for_any_more_ends_at_once_and_leaves_its_connection() {
        let trial = Trial::new(PEOPLE);
        let databases = Rc::new(Databases::new(&trial.settings, 10));
        block_on(async {
            let seen = Rc::new(Cell::new(None));
            let kept = seen.clone();
            let long = on_fiber(&databases, Limits::default(), move |db| {
                kept.set(db.exec(&format!("DELETE FROM people WHERE id = ({LONG})"), &[]).err().map(|it| it.kind));
            });
            assert!(tokio::time::timeout(Duration::from_millis(30), long).await.is_err());
            assert_eq!(seen.get(), Some(Kind::Stopped(Stop::Cancelled)));
            // Each of ten workers may have one connection, so this is the same.
            let quick = on_fiber(&databases, Limits::default(), |db| number(db, "SELECT count(*) FROM people"));
            assert_eq!(quick.await.unwrap(), 3);
        });
    }

    #[test]
    fn rows_count_as_memory_and_as_steps_of_the_work() {
        let trial = Trial::new(PEOPLE);
        let databases = Rc::new(trial.databases());
        let many = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x, 'some text' FROM c";
        for (limits, stop) in [
            (Limits { memory: 1 << 20, ..Limits::default() }, Stop::Memory),
            (Limits { operations: 10_000, ..Limits::default() }, Stop::Operations),
        ] {
            let error = block_on(on_fiber(&databases, limits, |db| db.query(many, &[]).unwrap_err())).unwrap();
            assert_eq!(error.kind, Kind::Stopped(stop));
        }
    }

    #[test]
    fn two_workers_that_write_at_once_get_no_error() {
        let trial =
            Trial::new("CREATE TABLE a (worker INT, n INT); CREATE TABLE total (n INT); INSERT INTO total VALUES (0);");
        let write = |worker: i64| {
            let databases = Rc::new(trial.databases());
            let until = Instant::now() + Duration::from_millis(500);
            block_on(async {
                let fiber = |kind: i64| {
                    on_fiber(&databases, Limits::default(), move |db| {
                        let mut count = 0;
                        while Instant::now() < until {
                            count += 1;
                            if kind == 0 {
                                db.exec("INSERT INTO a VALUES (?, ?)", &[worker.into(), count.into()]).unwrap();
                                continue;
                            }
                            db.transaction(|| {
                                let before = number(db, "SELECT n FROM total");
                                if count % 16 == 0 {
                                    fiber::pause().unwrap();
                                }
                                db.exec("UPDATE total SET n = ?", &[(before + 1).into()]).map(drop)
                            })
                            .unwrap();
                        }
                        count
                    })
                };
                let (first, second, third) = tokio::join!(fiber(0), fiber(1), fiber(1));
                (first.unwrap(), second.unwrap() + third.unwrap())
            })
        };
        let (first, second) = thread::scope(|scope| {
            let first = scope.spawn(|| write(1));
            let second = scope.spawn(|| write(2));
            (first.join().unwrap(), second.join().unwrap())
        });
        assert!(first.0 > 0 && first.1 > 0 && second.0 > 0 && second.1 > 0, "{first:?} {second:?}");
        assert_eq!(trial.number("SELECT count(*) FROM a"), first.0 + second.0);
        assert_eq!(trial.number("SELECT n FROM total"), first.1 + second.1);
    }

    #[test]
    fn who_waits_for_a_lock_lets_others_run_and_gives_up_when_stopped() {
        let trial = Trial::new(PEOPLE);
        let lock = rusqlite::Connection::open(trial.path("var/trial.db")).unwrap();
        lock.execute_batch("BEGIN IMMEDIATE").unwrap();
        let databases = Rc::new(trial.databases());
        let write = |limits| on_fiber(&databases, limits, |db| db.exec("DELETE FROM people", &[]).map(drop));
        block_on(async {
            let limits = Limits { time: Duration::from_millis(50), ..Limits::default() };
            let stopped = async { write(limits).await.unwrap().unwrap_err().kind };
            let releasing = async {
                let count = on_fiber(&databases, Limits::default(), |db| number(db, "SELECT count(*) FROM people"));
                assert_eq!(count.await.unwrap(), 3);
                tokio::time::sleep(Duration::from_millis(100)).await;
                lock.execute_batch("COMMIT").unwrap();
            };
            let (kind, patient, ()) = tokio::join!(stopped, write(Limits::default()), releasing);
            assert_eq!((kind, patient.unwrap()), (Kind::Stopped(Stop::Time), Ok(())));
        });
    }

    #[test]
    fn nothing_is_asked_where_nothing_may_wait() {
        let trial = Trial::new(PEOPLE);
        let databases = Rc::new(trial.databases());
        let limits = Limits { waiting: fiber::Waiting::Refused, ..Limits::default() };
        let error = block_on(on_fiber(&databases, limits, |db| db.query("SELECT 1", &[]).unwrap_err())).unwrap();
        assert_eq!(error.kind, Kind::Stopped(Stop::CannotWait));
    }
}
