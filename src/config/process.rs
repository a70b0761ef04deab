//! The settings of the process as a whole.

use std::path::PathBuf;
use std::time::Duration;

use super::{Account, Listen};
use crate::directive::{self, Directive, Level, Node, Problem, Repeat};
use crate::log_file;

/// What holds for the process, whatever the host and the path.
#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    /// Where connections for all hosts are taken.
    pub listen: Vec<Listen>,
    /// Workers; at least one. Default: the cores.
    pub num_threads: usize,
    /// Connections that are open at a time, over all workers. Default: 1024, as h2o's.
    pub max_connections: usize,
    /// Requests that are answered at a time, over all workers; more get 503. Default: 10,000.
    pub max_requests: usize,
    /// How long the head of a request may take, and how long a connection may wait for one. Default: 10 s, as h2o's.
    pub request_timeout: Duration,
    /// How long nothing of a request's body may come. Default: 5 s, as h2o's.
    pub request_io_timeout: Duration,
    /// Largest request body in bytes; a longer one gets 413 (RFC 9110 §15.5.14). Default: 1 GiB, as h2o's.
    pub limit_request_body: u64,
    /// The value of the `server` header.
    pub server_name: String,
    /// Where the number of the process is written.
    pub pid_file: Option<PathBuf>,
    /// Whether changed files are taken up while it runs. Default: yes.
    pub watch: bool,
    /// Who the process becomes when it has bound its addresses and opened its logs.
    pub user: Option<Account>,
}

impl Process {
    /// The directives that a process takes up at its start alone, and that are others in `new`.
    pub fn fixed(&self, new: &Process) -> Vec<&'static str> {
        let changed = [("user", self.user != new.user)];
        changed.into_iter().filter(|(_, has_changed)| *has_changed).map(|(name, _)| name).collect()
    }
}

impl Default for Process {
    fn default() -> Process {
        Process {
            listen: Vec::new(),
            num_threads: std::thread::available_parallelism().map_or(1, usize::from),
            max_connections: 1024,
            max_requests: 10_000,
            request_timeout: Duration::from_secs(10),
            request_io_timeout: Duration::from_secs(5),
            limit_request_body: 1 << 30,
            server_name: concat!("rhaid/", env!("CARGO_PKG_VERSION")).to_owned(),
            pid_file: None,
            watch: true,
            user: None,
        }
    }
}

impl directive::Settings for Process {
    const DIRECTIVES: &'static [Directive<Process>] = &[
        Directive {
            name: "listen",
            levels: &[Level::Global, Level::Host],
            repeat: Repeat::AddsUp,
            summary: "Where to listen: a port (at all addresses of the machine), `host:port`, `unix:PATH`, a mapping, or a list of them. A mapping has `host` \
                      and `port`, or `type: unix` with the path as `port` and, if wanted, `owner`, `group` and \
                      `permission` (octal). A socket file that nobody listens on is replaced, and ours is removed at \
                      the end. All hosts answer there; at what a host has of its own only those that have it do. At \
                      least one is needed, at the top or in each host.",
            example: "listen:
  - 8080
  - {host: 127.0.0.1, port: 8082}
  - {type: unix, port: rhaid.sock, permission: 660}",
            apply: |process, value| {
                Listen::add(&mut process.listen, Listen::read(value)?);
                Ok(())
            },
        },
        Directive {
            name: "num-threads",
            levels: &[Level::Global],
            repeat: Repeat::Once,
            summary: "The number of workers. Default: the number of cores.",
            example: "num-threads: 4",
            apply: |process, value| {
                process.num_threads = usize::try_from(value.integer(1..=1024)?).unwrap_or(1);
                Ok(())
            },
        },
        Directive {
            name: "max-connections",
            levels: &[Level::Global],
            repeat: Repeat::Once,
            summary: "The connections that may be open at a time, over all workers. Default: `1024`.",
            example: "max-connections: 10000",
            apply: |process, value| {
                process.max_connections = usize::try_from(value.integer(1..=10_000_000)?).unwrap_or(usize::MAX);
                Ok(())
            },
        },
        Directive {
            name: "max-requests",
            levels: &[Level::Global],
            repeat: Repeat::Once,
            summary: "The requests that may be in flight at a time, over all workers (each takes its share, at least \
                      one); more are answered with 503 and `Retry-After`. Default: `10000`.",
            example: "max-requests: 2000",
            apply: |process, value| {
                process.max_requests = usize::try_from(value.integer(1..=10_000_000)?).unwrap_or(usize::MAX);
                Ok(())
            },
        },
        Directive {
            name: "http1-request-timeout",
            levels: &[Level::Global],
            repeat: Repeat::Once,
            summary: "How long the head of a request may take to come, and how long a connection may wait for the next \
                      request; it is closed then, as h2o does. Whole seconds, at least one. Default: `10s`.",
            example: "http1-request-timeout: 30s",
            apply: |process, value| {
                process.request_timeout = patience(value)?;
                Ok(())
            },
        },
        Directive {
            name: "http1-request-io-timeout",
            levels: &[Level::Global],
            repeat: Repeat::Once,
            summary: "How long nothing of a request's body may come; it is answered with 408 then. Default: `5s`.",
            example: "http1-request-io-timeout: 10s",
            apply: |process, value| {
                process.request_io_timeout = patience(value)?;
                Ok(())
            },
        },
        Directive {
            name: "limit-request-body",
            levels: &[Level::Global],
            repeat: Repeat::Once,
            summary: "The largest body of a request; a larger one is answered with 413. Default: `1 GiB`.",
            example: "limit-request-body: 10 MB",
            apply: |process, value| {
                process.limit_request_body = value.size()?;
                Ok(())
            },
        },
        Directive {
            name: "server-name",
            levels: &[Level::Global],
            repeat: Repeat::Once,
            summary: "The value of the `server` header of every answer. Default: `rhaid/VERSION`.",
            example: "server-name: my-api",
            apply: |process, value| {
                let expected = "a text of visible ASCII characters";
                let name = value.text_as(expected)?;
                if name.is_empty() || !name.bytes().all(|it| matches!(it, b' '..=b'~')) {
                    return Err(value.expected(expected).into());
                }
                process.server_name = name.to_owned();
                Ok(())
            },
        },
        Directive {
            name: "user",
            levels: &[Level::Global],
            repeat: Repeat::Once,
            summary: "The user, by name or number, that the process becomes when it was started as root and has bound its \
                      addresses and opened its logs; migrations and requests run as that user. Default: it stays who \
                      it is.",
            example: "user: root",
            apply: |process, value| {
                process.user = Some(Account::read(value)?);
                Ok(())
            },
        },
        Directive {
            name: "watch",
            levels: &[Level::Global],
            repeat: Repeat::Once,
            summary: "Whether changed files (the configuration, scripts, modules, migrations, lists of keys) are taken up \
                      while the server runs. SIGHUP does it in any case. Default: `ON`.",
            example: "watch: OFF",
            apply: |process, node| {
                process.watch = node.on_off()?;
                Ok(())
            },
        },
        Directive {
            name: "pid-file",
            levels: &[Level::Global],
            repeat: Repeat::Once,
            summary: "The file that holds the process id while the server runs. Default: none.",
            example: "pid-file: var/rhaid.pid",
            apply: |process, value| {
                process.pid_file = Some(log_file::path(value)?);
                Ok(())
            },
        },
    ];
}

fn patience(value: &Node) -> Result<Duration, Problem> {
    const EXPECTED: &str = "a duration from `1s` to `1d`";
    let duration = value.duration().map_err(|_| value.expected(EXPECTED))?;
    let fits = (Duration::from_secs(1)..=Duration::from_secs(86_400)).contains(&duration);
    if fits { Ok(duration) } else { Err(value.expected(EXPECTED)) }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::listen::Address;
    use crate::directive::{Problems, Section, parse};

    fn process(text: &str) -> Result<Process, Problems> {
        let mut process = Process::default();
        let mut problems = Problems::default();
        for (key, value) in parse(Path::new("host.yaml"), text)?.entries()? {
            problems.check(process.apply(key.name(), &value).expect("a directive of the process"));
        }
        problems.or(process)
    }

    #[test]
    fn every_setting_can_be_set() {
        let text = "listen: 80\nlisten: [81, 80]\nnum-threads: 3\nmax-connections: 7\nlimit-request-body: 1 kB\n\
                    server-name: a b\npid-file: x.pid\nmax-requests: 9\nhttp1-request-timeout: 3\n\
                    http1-request-io-timeout: 1m\nuser: root\nwatch: OFF\n";
        let address = |port| Listen::Tcp(Address { host: None, port });
        let expected = Process {
            listen: vec![address(80), address(81)],
            num_threads: 3,
            max_connections: 7,
            limit_request_body: 1000,
            server_name: "a b".into(),
            pid_file: Some("x.pid".into()),
            watch: false,
            max_requests: 9,
            request_timeout: Duration::from_secs(3),
            request_io_timeout: Duration::from_secs(60),
            user: Some(Account { name: "root".into(), user: 0, group: 0 }),
        };
        assert_eq!(process(text), Ok(expected));
    }

    #[test]
    fn mistakes_come_all_at_once() {
        let text = "num-threads: 0\nmax-connections: all\nlimit-request-body: 10 MBs\nserver-name: \"ä\"\npid-file:\n\
                    max-requests: 0\nhttp1-request-timeout: 500ms\nhttp1-request-io-timeout: 2d\nuser: nobody-of-this-name\n";
        let expected = "\
host.yaml:1:14: `num-threads` is `0`, expected a whole number from 1 to 1024
  1 | num-threads: 0
    |              ^
host.yaml:2:18: `max-connections` is `all`, expected a whole number from 1 to 10000000
  2 | max-connections: all
    |                  ^^^
host.yaml:3:21: `limit-request-body` is `10 MBs`, expected a size such as `10 MB`
  3 | limit-request-body: 10 MBs
    |                     ^^^^^^
host.yaml:4:14: `server-name` is `ä`, expected a text of visible ASCII characters
  4 | server-name: \"ä\"
    |              ^^^
host.yaml:5:1: `pid-file` has no value, expected the path of a file
  5 | pid-file:
    | ^^^^^^^^
host.yaml:6:15: `max-requests` is `0`, expected a whole number from 1 to 10000000
  6 | max-requests: 0
    |               ^
host.yaml:7:24: `http1-request-timeout` is `500ms`, expected a duration from `1s` to `1d`
  7 | http1-request-timeout: 500ms
    |                        ^^^^^
host.yaml:8:27: `http1-request-io-timeout` is `2d`, expected a duration from `1s` to `1d`
  8 | http1-request-io-timeout: 2d
    |                           ^^
host.yaml:9:7: `user` is `nobody-of-this-name`, but this system has no such user
  9 | user: nobody-of-this-name
    |       ^^^^^^^^^^^^^^^^^^^";
        assert_eq!(process(text).unwrap_err().to_string(), expected);
    }
}
