//! A real database in a temporary folder, for the tests of this module.

use std::fs;
use std::future::Future;
use std::path::PathBuf;
use std::rc::Rc;

use super::{Databases, Named, Settings, Url, Value, migrate};
use crate::fiber::{self, Limits};

/// A folder with `migrations/001_schema.sql` that was applied to `var/trial.db`.
pub struct Trial {
    pub folder: tempfile::TempDir,
    pub settings: Settings,
}

impl Trial {
    pub fn new(schema: &str) -> Trial {
        let trial = Trial::bare();
        trial.write("migrations/001_schema.sql", schema);
        migrate(&trial.settings).unwrap();
        trial
    }

    /// As `new`, before anything is applied or created.
    pub fn bare() -> Trial {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("migrations")).unwrap();
        let url = Url::parse(&format!("sqlite:{}", folder.path().join("var/trial.db").display())).unwrap();
        let named =
            Named { migrations: Some(folder.path().join("migrations")), ..Named::new("main", "host.yaml:2:3", url) };
        Trial { folder, settings: Settings { databases: vec![named] } }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    pub fn databases(&self) -> Databases {
        Databases::new(&self.settings, 1)
    }

    /// What `work` makes of the database, on a fiber.
    pub fn run<T>(&self, work: impl FnOnce(&super::Database) -> T) -> T {
        let databases = self.databases();
        block_on(fiber::run(Limits::default(), || work(databases.database(None).unwrap()))).unwrap()
    }

    /// The first cell of the first row, which must be there.
    pub fn number(&self, sql: &str) -> i64 {
        self.run(|db| number(db, sql))
    }
}

/// The first cell of the first row, which must be there.
pub fn number(db: &super::Database, sql: &str) -> i64 {
    match db.first(sql, &[]).unwrap().unwrap().at(0).unwrap() {
        Value::Int(number) => number,
        other => panic!("{sql} gives {other:?}"),
    }
}

pub fn json(rows: &super::Rows) -> String {
    let mut out = Vec::new();
    rows.write_json(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

pub fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::LocalRuntime::new().unwrap().block_on(future)
}

/// `work` on a fiber of the runtime that is running.
pub fn on_fiber<T>(
    databases: &Rc<Databases>,
    limits: Limits,
    work: impl FnOnce(&super::Database) -> T,
) -> impl Future<Output = std::thread::Result<T>> {
    let databases = databases.clone();
    fiber::run(limits, move || work(databases.database(None).unwrap()))
}
