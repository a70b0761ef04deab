//! A database of one test's own, by the server's own client program.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Kind;
use super::programs::Programs;

/// How a server is reached by whom it obeys.
#[derive(Debug)]
pub struct Access {
    pub kind: Kind,
    pub programs: Programs,
    pub port: u16,
    /// MariaDB's socket; the folder of PostgreSQL's.
    pub socket: PathBuf,
    pub password: String,
}

impl Access {
    pub fn new(kind: Kind, programs: &Programs, folder: &Path, port: u16) -> Access {
        let socket = match kind {
            Kind::Mysql => folder.join("socket"),
            Kind::Postgres => folder.to_owned(),
        };
        Access { kind, programs: programs.clone(), port, socket, password: uuid::Uuid::new_v4().to_string() }
    }

    /// Who may do everything.
    pub fn user(&self) -> &'static str {
        match self.kind {
            Kind::Mysql => "tester",
            Kind::Postgres => "postgres",
        }
    }

    /// Runs `sql` as somebody in a database.
    fn run(&self, user: &str, password: &str, database: &str, sql: &str) -> Result<String, String> {
        let mut client = Command::new(&self.programs.client);
        client.env_clear().env("LC_ALL", "C");
        // The server's own zone is an odd one, in which nobody writes a test.
        match self.kind {
            Kind::Mysql => client
                .args(["--no-defaults", "--batch", "--skip-column-names", "--default-character-set=utf8mb4"])
                .arg("--init-command=SET time_zone = '+00:00'")
                .arg(format!("--socket={}", self.socket.display()))
                .arg(format!("--user={user}"))
                .arg(database)
                .env("MYSQL_PWD", password),
            Kind::Postgres => client
                .args(["--no-psqlrc", "--quiet", "--no-align", "--tuples-only", "--set=ON_ERROR_STOP=1", "--file=-"])
                .arg(format!("--host={}", self.socket.display()))
                .arg(format!("--port={}", self.port))
                .arg(format!("--username={user}"))
                .arg(database)
                .envs([("PGPASSWORD", password), ("PGTZ", "UTC"), ("PGCLIENTENCODING", "UTF8")])
                // As MariaDB's, it has nothing to say that is no error.
                .env("PGOPTIONS", "--client-min-messages=warning"),
        };
        let client = client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut client = client.map_err(|error| format!("`{}`: {error}", self.programs.client.display()))?;
        let mut input = client.stdin.take().expect("it is piped");
        let sql = sql.to_owned();
        // In a thread of its own, as the client may print before it has read all. That it doesn't read to the end is
        // said by what it prints.
        let writing = std::thread::spawn(move || drop(input.write_all(sql.as_bytes())));
        let done = client.wait_with_output().map_err(|error| error.to_string())?;
        let _ = writing.join();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        if done.status.success() { Ok(text(&done.stdout)) } else { Err(text(&done.stderr)) }
    }

    /// Runs `sql` as who may do everything.
    pub fn obey(&self, sql: &str) -> Result<String, String> {
        let database = match self.kind {
            Kind::Mysql => "mysql",
            Kind::Postgres => "postgres",
        };
        self.run(self.user(), &self.password, database, sql)
    }
}

/// A database with a user of its own; both are dropped with it.
#[derive(Debug)]
pub struct Database {
    access: Arc<Access>,
    /// Also its user's.
    pub name: String,
    pub password: String,
}

impl Database {
    pub(super) fn create(access: &Arc<Access>) -> Result<Database, String> {
        static COUNT: AtomicUsize = AtomicUsize::new(1);
        let name = format!("rhaid_{}", COUNT.fetch_add(1, Ordering::Relaxed));
        // With a character that has to be escaped in a URL.
        let password = format!("s@{}", uuid::Uuid::new_v4().simple());
        access.obey(&match access.kind {
            Kind::Mysql => format!(
                "CREATE DATABASE {name};\nCREATE USER {name} IDENTIFIED BY '{password}';\n\
                 GRANT ALL PRIVILEGES ON {name}.* TO {name};"
            ),
            Kind::Postgres => {
                format!("CREATE ROLE {name} LOGIN PASSWORD '{password}';\nCREATE DATABASE {name} OWNER {name};")
            }
        })?;
        Ok(Database { access: Arc::clone(access), name, password })
    }

    /// Its URL on the loopback address.
    pub fn url(&self) -> String {
        self.url_at(&format!("127.0.0.1:{}", self.access.port))
    }

    /// Its URL with another host and port.
    pub fn url_at(&self, place: &str) -> String {
        let Database { access, name, password } = self;
        format!("{}://{name}:{}@{place}/{name}", access.kind, password.replace('@', "%40"))
    }

    /// Its URL by the server's Unix socket.
    pub fn socket_url(&self) -> String {
        let socket = self.access.socket.display();
        match self.access.kind {
            Kind::Mysql => format!("{}?socket={socket}", self.url_at("localhost")),
            Kind::Postgres => format!("{}?host={socket}", self.url_at(&format!("localhost:{}", self.access.port))),
        }
    }

    /// Runs `sql` as its user; times without a zone are UTC. Gives what the client prints: fields between tabs
    /// (MariaDB) or `|` (PostgreSQL).
    ///
    /// # Errors
    /// With what the client says of the first statement that failed; those before it were run.
    pub fn run(&self, sql: &str) -> Result<String, String> {
        self.access.run(&self.name, &self.password, &self.name, sql)
    }

    /// Runs `sql` as the server's first user.
    ///
    /// # Errors
    /// As [`Database::run`].
    pub fn obey(&self, sql: &str) -> Result<String, String> {
        self.access.obey(sql)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let name = &self.name;
        // A server that was stopped takes the database with it.
        let _ = self.access.obey(&match self.access.kind {
            Kind::Mysql => format!("DROP DATABASE {name};\nDROP USER {name};"),
            Kind::Postgres => format!("DROP DATABASE {name} WITH (FORCE);\nDROP ROLE {name};"),
        });
    }
}
