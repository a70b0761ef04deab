//! How rhaid starts with a database that is a server, and how it does not.

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use crate::served::{Served, rhaid};
use crate::servers::{Certificates, Kind, Options, Server};

tests![
    a_url_that_is_wrong_exits_with_78,
    who_is_not_let_in_exits_with_71,
    a_server_that_is_not_there_exits_with_71,
    an_optional_database_may_come_later,
    a_unix_socket_does_as_well,
    only_the_right_authority_is_trusted,
    a_certificate_has_to_be_for_this_host,
    a_server_without_tls_is_refused_where_it_is_wanted,
];

/// A configuration whose only path asks the database for `sql`.
fn asking(database: &str, sql: &str) -> String {
    format!(
        "listen: 1\ndatabases:\n  main: {database}\nhosts:\n  default:\n    paths:\n      /:\n        rhai.handler: |\n          \
         |env| success(db::value(\"{sql}\"))\n"
    )
}

/// Exit status and standard error of `rhaid -t --connect`, and of a start that has to fail alike.
fn refused(database: &str) -> (i32, String) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("host.yaml"), asking(database, "SELECT 1")).unwrap();
    let [checked, started] = [["-t", "--connect"], ["--listen", "127.0.0.1:0"]].map(|arguments| {
        let done = rhaid(&folder).args(["-c", "host.yaml"]).args(arguments).output().unwrap();
        (done.status.code().unwrap(), String::from_utf8(done.stderr).unwrap())
    });
    assert_eq!(checked.0, started.0, "{checked:?}\n{started:?}");
    for part in checked.1.lines().filter(|line| !line.is_empty()) {
        assert!(started.1.contains(part), "the check says `{part}`, the start:\n{}", started.1);
    }
    checked
}

/// That a start with `database` is refused, with the name, the place and each of `parts`, but no password.
fn is_refused(database: &str, place: &str, parts: &[&str]) {
    let (status, printed) = refused(database);
    assert_eq!(status, 71, "{printed}");
    for part in ["`main`", place].iter().chain(parts) {
        assert!(printed.contains(part), "no {part} in:\n{printed}");
    }
    assert!(!printed.contains("s@") && !printed.contains("s%40"), "{printed}");
}

fn a_url_that_is_wrong_exits_with_78(kind: Kind) {
    for (url, part) in [
        (format!("{kind}:host/name"), "`//`"),
        (format!("{kind}://host"), "names no database"),
        (format!("{kind}://host:port/name"), "port"),
        (format!("{kind}://user:secret@host/name?no-such-option=1"), "no-such-option"),
    ] {
        let (status, printed) = refused(&url);
        assert_eq!(status, 78, "{url}: {printed}");
        assert!(printed.contains("host.yaml:3:") && printed.contains(part), "{url}: {printed}");
        assert!(!printed.contains("secret"), "{printed}");
    }
}

fn who_is_not_let_in_exits_with_71(kind: Kind) {
    let server = kind.shared().unwrap();
    let (database, place) = (server.fresh().unwrap(), format!("127.0.0.1:{}", server.port()));
    let url = database.url();
    let wrong_password = url.replace(&database.password.replace('@', "%40"), "wrong");
    let denied = match kind {
        Kind::Mysql => "Access denied",
        Kind::Postgres => "password authentication failed",
    };
    is_refused(&wrong_password, &place, &[denied]);
    let unknown =
        url.replace(&format!("/{}", database.name), "/nowhere").replace("//nowhere", &format!("//{}", database.name));
    let (there, not_there) = match kind {
        // MariaDB does not tell a user what there is that he may not see.
        Kind::Mysql => (unknown, "nowhere"),
        Kind::Postgres => (unknown, "\"nowhere\" does not exist"),
    };
    is_refused(&there, &place, &[not_there]);
}

fn a_server_that_is_not_there_exits_with_71(kind: Kind) {
    let port = crate::servers::free_port().unwrap();
    let url = format!("{kind}://me:s%40cret@127.0.0.1:{port}/name");
    is_refused(&url, &format!("127.0.0.1:{port}"), &["refused"]);
    // One that takes connections and says nothing is given up after the time that is configured.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let database = format!("{{url: '{kind}://me:s%40cret@127.0.0.1:{port}/name', connect-timeout: 1s}}");
    is_refused(&database, &format!("127.0.0.1:{port}"), &["connect-timeout"]);
}

fn an_optional_database_may_come_later(kind: Kind) {
    let mut server = Server::start(kind, &Options::default()).unwrap();
    let database = server.fresh().unwrap();
    server.stop("KILL");
    let served = Served::configured(&asking(&format!("{{url: '{}', optional: ON}}", database.url()), "SELECT 7"));
    assert_eq!(served.get("/").0, 503);
    assert_eq!(served.get("/").0, 503);
    server.start_again().unwrap();
    assert_eq!(served.get("/"), (200, "{\"status\":\"Success\",\"data\":7}".to_owned()));
}

fn a_unix_socket_does_as_well(kind: Kind) {
    let database = kind.shared().unwrap().fresh().unwrap();
    let sql = match kind {
        Kind::Mysql => "SELECT host = 'localhost' FROM information_schema.processlist WHERE id = CONNECTION_ID()",
        Kind::Postgres => "SELECT CASE WHEN inet_client_addr() IS NULL THEN 1 ELSE 0 END",
    };
    for (url, data) in [(database.socket_url(), 1), (database.url(), 0)] {
        let served = Served::configured(&asking(&url, sql));
        assert_eq!(served.get("/"), (200, format!("{{\"status\":\"Success\",\"data\":{data}}}")), "{url}");
    }
}

/// What is appended to a URL for a certificate that is checked: `verify-ca`, or `verify-full` for the host's name as well.
fn checked(kind: Kind, authority: &Path, how: &str) -> String {
    let authority = authority.display();
    match kind {
        Kind::Mysql => {
            format!("?ssl-mode={}&ssl-ca={authority}", how.to_uppercase().replace("FULL", "IDENTITY").replace('-', "_"))
        }
        Kind::Postgres => format!("?sslmode={how}&sslrootcert={authority}"),
    }
}

fn only_the_right_authority_is_trusted(kind: Kind) {
    let certificates = Certificates::make("IP:127.0.0.1,DNS:localhost").unwrap();
    let server = Server::start(kind, &Options { tls: Some(certificates.clone()), ..Options::default() }).unwrap();
    let database = server.fresh().unwrap();
    let sql = match kind {
        Kind::Mysql => {
            "SELECT variable_value <> '' FROM information_schema.session_status WHERE variable_name = 'SSL_CIPHER'"
        }
        Kind::Postgres => "SELECT CAST(ssl AS int) FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
    };
    for host in ["127.0.0.1", "localhost"] {
        let url = database.url_at(&format!("{host}:{}", server.port()))
            + &checked(kind, &certificates.authority(), "verify-full");
        let served = Served::configured(&asking(&url, sql));
        assert_eq!(served.get("/"), (200, "{\"status\":\"Success\",\"data\":1}".to_owned()), "{url}");
    }
    let other = Certificates::make("IP:127.0.0.1").unwrap();
    let url = database.url() + &checked(kind, &other.authority(), "verify-full");
    is_refused(&url, &format!("127.0.0.1:{}", server.port()), &["certificate"]);
    let url = database.url() + &checked(kind, Path::new("/no/such/ca.pem"), "verify-full");
    let (status, printed) = refused(&url);
    assert!(status == 78 && printed.contains("`/no/such/ca.pem`"), "{status}: {printed}");
}

fn a_certificate_has_to_be_for_this_host(kind: Kind) {
    let certificates = Certificates::make("DNS:elsewhere.example").unwrap();
    let server = Server::start(kind, &Options { tls: Some(certificates.clone()), ..Options::default() }).unwrap();
    let database = server.fresh().unwrap();
    let url = database.url() + &checked(kind, &certificates.authority(), "verify-full");
    is_refused(&url, &format!("127.0.0.1:{}", server.port()), &["certificate"]);
    let url = database.url() + &checked(kind, &certificates.authority(), "verify-ca");
    assert_eq!(Served::configured(&asking(&url, "SELECT 7")).get("/").0, 200);
}

fn a_server_without_tls_is_refused_where_it_is_wanted(kind: Kind) {
    let server = kind.shared().unwrap();
    let database = server.fresh().unwrap();
    let certificates = Certificates::make("IP:127.0.0.1").unwrap();
    let url = database.url() + &checked(kind, &certificates.authority(), "verify-full");
    is_refused(&url, &format!("127.0.0.1:{}", server.port()), &["TLS"]);
}
