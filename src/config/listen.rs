//! The addresses that `listen` names.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::os::unix::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::account;
use crate::directive::{Kind, Node, Problem, Problems};
use crate::http::Endpoint;

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// On a port.
    Tcp(Address),
    /// On a unix socket.
    Unix(SocketFile),
}

/// An address of the Internet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// A name or an IP address, IPv6 without brackets; `None` is every interface.
    pub host: Option<String>,
    /// 0 lets the system choose.
    pub port: u16,
}

/// A unix socket in the file system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SocketFile {
    /// Relative to the current folder.
    pub path: PathBuf,
    /// Number of the user that it shall belong to.
    pub owner: Option<u32>,
    /// Number of the group that it shall belong to.
    pub group: Option<u32>,
    /// Who may connect: the permission to write.
    pub permission: Option<u32>,
}

/// What stands before the path of a unix socket.
const UNIX: &str = "unix:";

const EXPECTED: &str = "a port or an address such as `8080`, `127.0.0.1:8080`, `[::1]:8080` or `unix:/run/rhaid.sock`";

impl Listen {
    /// Reads `8080`, `localhost:8080`, `*:8080`, `[::1]:8080` or `unix:PATH`.
    pub fn parse(text: &str) -> Option<Listen> {
        if let Some(path) = text.strip_prefix(UNIX) {
            return (!path.is_empty()).then(|| Listen::Unix(SocketFile { path: path.into(), ..SocketFile::default() }));
        }
        let Some((host, port)) = text.rsplit_once(':') else {
            return Some(Listen::Tcp(Address { host: None, port: number(text)? }));
        };
        // Without brackets nobody knows which colon is the last of an IPv6 address.
        if host.contains(':') && !host.starts_with('[') {
            return None;
        }
        Some(Listen::Tcp(Address { host: interface(host)?, port: number(port)? }))
    }

    /// Adds addresses; one that is named twice is one, as in h2o.
    pub(super) fn add(all: &mut Vec<Listen>, more: impl IntoIterator<Item = Listen>) {
        for address in more {
            if !all.contains(&address) {
                all.push(address);
            }
        }
    }

    /// Whether a connection to `local` was taken here, as far as its port and an address tell: nobody
    /// is asked for the addresses of a name.
    pub fn takes(&self, local: &Endpoint) -> bool {
        match (self, local) {
            (Listen::Tcp(address), Endpoint::Internet(local)) => {
                let fits = |host: &String| match host.parse::<IpAddr>() {
                    Ok(own) => own.is_unspecified() || own.to_canonical() == local.ip(),
                    Err(_) => host != "localhost" || local.ip().is_loopback(),
                };
                address.port == local.port() && address.host.as_ref().is_none_or(fits)
            }
            (Listen::Unix(file), Endpoint::Unix(Some(path))) => file.path == **path,
            _ => false,
        }
    }

    /// The addresses of a directive's value: a port, an address, a mapping, or a list of them.
    ///
    /// # Errors
    /// All mistakes at once.
    pub(super) fn read(value: &Node) -> Result<Vec<Listen>, Problems> {
        let mut problems = Problems::default();
        let items = value.items();
        if items.is_empty() {
            problems.0.push(value.problem("`listen` is empty, expected at least one address"));
        }
        let addresses = items.iter().filter_map(|it| problems.check(item(it))).collect();
        problems.or(addresses)
    }
}

fn item(value: &Node) -> Result<Listen, Problems> {
    if value.kind() == Kind::Mapping {
        let fields = value.fields(&["host", "port", "type", "owner", "group", "permission"])?;
        let field = |name: &str| fields.iter().find(|it| it.0 == name).map(|it| &it.1);
        let kind = field("type").map_or(Ok("tcp"), |it| it.one_of(&["tcp", "unix"]))?;
        return match kind {
            "unix" => socket(value, field).map(Listen::Unix),
            _ => address(value, field).map(Listen::Tcp),
        };
    }
    let listen = Listen::parse(value.text_as(EXPECTED)?).ok_or_else(|| value.expected(EXPECTED))?;
    if let Listen::Unix(file) = &listen {
        check_path(value, &file.path)?;
    }
    Ok(listen)
}

fn address<'a>(value: &Node, field: impl Fn(&str) -> Option<&'a Node>) -> Result<Address, Problems> {
    const EXPECTED: &str = "a name or an IP address";
    let mut problems = Problems::default();
    for name in ["owner", "group", "permission"] {
        problems.0.extend(field(name).map(|it| {
            it.problem(format!("`{name}` is for unix sockets only")).hint("add `type: unix`, with the path as `port`")
        }));
    }
    let read = |it: &Node| it.text_as(EXPECTED).and_then(|text| interface(text).ok_or_else(|| it.expected(EXPECTED)));
    let host = field("host").and_then(|it| problems.check(read(it))).flatten();
    if field("port").is_none() {
        problems.0.push(value.lacks("port"));
    }
    let port = field("port").and_then(|it| problems.check(it.integer(0..=65535)));
    let port = port.and_then(|it| u16::try_from(it).ok()).unwrap_or_default();
    problems.or(Address { host, port })
}

/// As in h2o the path of a unix socket stands as its `port`.
fn socket<'a>(value: &Node, field: impl Fn(&str) -> Option<&'a Node>) -> Result<SocketFile, Problems> {
    let mut problems = Problems::default();
    problems.0.extend(field("host").map(|it| it.problem("a unix socket has no `host`")));
    let mut file = SocketFile::default();
    match field("port") {
        None => problems.0.push(value.lacks("port").hint("for a unix socket `port` is its path, as in h2o")),
        Some(node) => {
            let path = node.text_as("the path of a socket").map(PathBuf::from);
            let path = path.and_then(|path| check_path(node, &path).map(|()| path));
            file.path = problems.check(path).unwrap_or_default();
        }
    }
    file.owner = field("owner").and_then(|it| problems.check(account::owner(it)));
    file.group = field("group").and_then(|it| problems.check(account::group(it)));
    file.permission = field("permission").and_then(|it| problems.check(permission(it)));
    problems.or(file)
}

fn check_path(value: &Node, path: &Path) -> Result<(), Problem> {
    if path.as_os_str().is_empty() || path.is_dir() {
        return Err(value.expected("the path of a socket"));
    }
    // The system has room for some 100 bytes.
    if SocketAddr::from_pathname(path).is_err() {
        return Err(value.problem(format!("the path of the socket `{}` is too long", path.display())));
    }
    match path.parent().filter(|it| !it.as_os_str().is_empty() && !it.is_dir()) {
        Some(folder) => {
            let (at, folder) = (path.display(), folder.display());
            let problem = value.problem(format!("the socket `{at}` is in no folder: there is no `{folder}`"));
            Err(problem.hint(format!("`mkdir -p {folder}` makes it; paths are relative to the current folder")))
        }
        None => Ok(()),
    }
}

fn permission(value: &Node) -> Result<u32, Problem> {
    const EXPECTED: &str = "a permission in octal digits such as `660`";
    let text = value.text_as(EXPECTED)?;
    let digits = !text.is_empty() && text.len() <= 4 && text.bytes().all(|it| matches!(it, b'0'..=b'7'));
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| digits && *mode <= 0o777);
    mode.ok_or_else(|| value.expected(EXPECTED))
}

/// `Some(None)` is every interface, `None` is a mistake.
fn interface(text: &str) -> Option<Option<String>> {
    if text == "*" {
        return Some(None);
    }
    let bare = text.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(text);
    let is_name = |it: &str| it.bytes().all(|it| it.is_ascii_alphanumeric() || b"-._".contains(&it));
    let is_address = bare.parse::<Ipv6Addr>().is_ok();
    let fits = if bare == text { is_address || (!text.is_empty() && is_name(text)) } else { is_address };
    fits.then(|| Some(bare.to_owned()))
}

fn number(text: &str) -> Option<u16> {
    // `u16::from_str` takes a leading plus sign.
    if text.starts_with('+') { None } else { text.parse().ok() }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Listen::Tcp(address) => address.fmt(f),
            Listen::Unix(file) => write!(f, "{UNIX}{}", file.path.display()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Some(host) if host.contains(':') => write!(f, "[{host}]:{}", self.port),
            Some(host) => write!(f, "{host}:{}", self.port),
            None => write!(f, "*:{}", self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directive::parse;

    fn value(text: &str) -> Node {
        parse(Path::new("host.yaml"), text).unwrap().entries().unwrap().remove(0).1
    }

    fn read(text: &str) -> Result<Vec<String>, String> {
        let read = Listen::read(&value(text)).map_err(|it| it.to_string())?;
        Ok(read.iter().map(Listen::to_string).collect())
    }

    #[test]
    fn an_address_has_many_forms() {
        for (text, expected) in [
            ("8080", "*:8080"),
            ("0", "*:0"),
            ("localhost:80", "localhost:80"),
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("'*:80'", "*:80"),
            ("'[::1]:80'", "[::1]:80"),
            ("{port: 80}", "*:80"),
            ("{host: 127.0.0.1, port: 80}", "127.0.0.1:80"),
            ("{HOST: '::1', port: 80}", "[::1]:80"),
            ("{host: '[::1]', port: 80}", "[::1]:80"),
            ("{type: TCP, port: 80}", "*:80"),
            ("unix:a.sock", "unix:a.sock"),
            ("{type: unix, port: /tmp/a.sock}", "unix:/tmp/a.sock"),
        ] {
            assert_eq!(read(&format!("listen: {text}")), Ok(vec![expected.into()]), "{text}");
        }
        assert_eq!(read("listen: [80, 'a:81', {port: 82}]"), Ok(["*:80", "a:81", "*:82"].map(str::to_owned).to_vec()));
    }

    #[test]
    fn a_connection_is_told_by_its_port_and_address() {
        let takes = |text: &str, local: &str| {
            let local: std::net::SocketAddr = local.parse().unwrap();
            Listen::parse(text).unwrap().takes(&local.into())
        };
        for (text, local) in [
            ("80", "192.0.2.1:80"),
            ("0.0.0.0:80", "192.0.2.1:80"),
            ("192.0.2.1:80", "192.0.2.1:80"),
            ("192.0.2.1:80", "[::ffff:192.0.2.1]:80"),
            ("[::1]:80", "[::1]:80"),
            ("localhost:80", "127.0.0.1:80"),
            ("example.com:80", "192.0.2.1:80"),
        ] {
            assert!(takes(text, local), "{text} {local}");
        }
        for (text, local) in
            [("80", "192.0.2.1:81"), ("192.0.2.2:80", "192.0.2.1:80"), ("localhost:80", "192.0.2.1:80")]
        {
            assert!(!takes(text, local), "{text} {local}");
        }
        let file = |path: &str| Endpoint::Unix(Some(Path::new(path).into()));
        let listen = Listen::parse("unix:a.sock").unwrap();
        assert!(listen.takes(&file("a.sock")) && !listen.takes(&file("b.sock")));
        assert!(!takes("unix:a.sock", "192.0.2.1:80"));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in
            ["x", ":80", "::1", "::1:80", "a b:80", "[x]:80", "80:", "-1", "+1", "65536", "a:65536", "[]:80", "unix:"]
        {
            assert_eq!(Listen::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_mistake_says_what_an_address_is() {
        let expected = "host.yaml:1:9: `listen` is `80 80`, expected a port or an address such as `8080`, \
                        `127.0.0.1:8080`, `[::1]:8080` or `unix:/run/rhaid.sock`\n  1 | listen: 80 80\n    |         ^^^^^";
        assert_eq!(read("listen: 80 80"), Err(expected.into()));
        let expected = "\
host.yaml:2:5: `listen` lacks `port`
  2 |   - host: a b
    |     ^^^^
host.yaml:2:11: `host` is `a b`, expected a name or an IP address
  2 |   - host: a b
    |           ^^^
host.yaml:3:11: `port` is `x`, expected a whole number from 0 to 65535
  3 |   - port: x
    |           ^";
        assert_eq!(read("listen:\n  - host: a b\n  - port: x\n"), Err(expected.into()));
    }

    #[test]
    fn a_unix_socket_belongs_to_somebody() {
        let file = |text: &str| match Listen::read(&value(text)).unwrap().remove(0) {
            Listen::Unix(file) => file,
            other => panic!("{other}"),
        };
        let expected = SocketFile { path: "a".into(), owner: Some(0), group: Some(12345), permission: Some(0o660) };
        assert_eq!(file("listen: {type: unix, port: a, owner: root, group: 12345, permission: 0660}"), expected);
        assert_eq!(file("listen: unix:a"), SocketFile { path: "a".into(), ..SocketFile::default() });
    }

    #[test]
    fn mistakes_of_a_unix_socket_come_all_at_once() {
        let expected = "\
host.yaml:3:11: a unix socket has no `host`
host.yaml:4:11: the socket `no/such/folder.sock` is in no folder: there is no `no/such`
host.yaml:5:12: `owner` is `nobody-of-this-name`, but this system has no such user
host.yaml:6:12: `group` is `nobody-of-this-name`, but this system has no such group
host.yaml:7:17: `permission` is `0888`, expected a permission in octal digits such as `660`
host.yaml:8:5: `listen` lacks `port`
host.yaml:9:23: `owner` is for unix sockets only
host.yaml:10:5: the path of the socket `LONG` is too long
host.yaml:11:12: `type` is `quic`, expected `tcp` or `unix`";
        let text = "\
listen:
  - type: unix
    host: a
    port: no/such/folder.sock
    owner: nobody-of-this-name
    group: nobody-of-this-name
    permission: 0888
  - {type: unix}
  - {port: 80, owner: root}
  - unix:LONG
  - {type: quic, port: 1}
";
        let long = "x".repeat(200);
        let mistakes = read(&text.replace("LONG", &long)).unwrap_err().replace(&long, "LONG");
        let places: Vec<&str> = mistakes.lines().filter(|it| it.starts_with("host.yaml:")).collect();
        assert_eq!(places.join("\n"), expected);
    }
}
