//! The specifiers of a format: what stands after a `%`.

use super::clock;
use super::field::{Field, Span, Unit};
use crate::directive::suggest;

/// What stands for a specifier in a line.
pub enum Meaning {
    /// A percent sign.
    Percent,
    Field(Field),
}

/// A mistake in a format: what is wrong, and the way out.
#[derive(Debug, PartialEq, Eq)]
pub struct Mistake {
    pub message: String,
    pub hint: Option<String>,
}

impl Mistake {
    fn new(message: String) -> Mistake {
        Mistake { message, hint: None }
    }

    fn hint(self, hint: impl Into<String>) -> Mistake {
        Mistake { hint: Some(hint.into()), ..self }
    }
}

/// All specifiers with what they stand for, for the reference.
pub const SPECIFIERS: &[(&str, &str)] = &[
    ("%%", "a percent sign"),
    ("%h %A", "the client's address, and the one that it connected to; `localhost` on a unix socket"),
    ("%{remote}p %{local}p %p", "their ports, twice the second; absent on a unix socket"),
    ("%r", "the request line: `%m %U%q %H`"),
    ("%m %U %q %H", "method, path as it came, query with its `?` (empty without one), protocol"),
    ("%s %b", "status of the reply, bytes of its body that were sent"),
    ("%V %v", "the host that the client asked for, and its key in the configuration"),
    ("%u %l", "the variable `REMOTE_USER`; nothing (the name that identd knows)"),
    ("%t", "the time, as `[02/Jan/2006:15:04:05 -0700]`"),
    ("%{FORMAT}t", "the time in a format of `strftime`, as `%{%FT%T%z}t`"),
    ("%{sec}t %{msec}t %{usec}t", "seconds, milliseconds, microseconds since 1970"),
    ("%{msec_frac}t %{usec_frac}t", "milliseconds and microseconds of the second, as three and six digits"),
    (
        "%{NAME}i %{NAME}o",
        "a header field of the request, and of the reply (what the server adds while it writes is not there)",
    ),
    ("%{NAME}e", "a variable that handlers set by `x-fallthru-set-NAME`, or that `setenv` sets"),
    ("%{error}x", "what went wrong with the request, as the error log has it"),
    ("%{duration}x %{total-time}x", "seconds from the request's first byte to the end of its reply, as `0.000123`"),
    ("%{connect-time}x", "seconds from the connection to the request's first byte"),
    (
        "%{request-header-time}x %{request-body-time}x %{request-total-time}x",
        "seconds that head, body and both took to come",
    ),
    ("%{process-time}x %{response-time}x", "seconds until the reply was there, and until its body was handed on"),
    (
        "%{request-header-bytes}x %{request-header-text-bytes}x %{request-header-count}x",
        "the size of the head, of the names and values in it, and their number",
    ),
    ("%{request-body-bytes}x", "bytes of the body that were read"),
    (
        "%{request-id}x %{connection-id}x %{http1.request-index}x",
        "`env.id`; numbers of the connection and of the request on it, from 1",
    ),
];

/// The letters that stand alone.
const LETTERS: &str = "%% %A %b %H %h %l %m %p %q %r %s %t %U %u %V %v";

/// The names before `x`, h2o's, for what there is here.
const EXTENSIONS: &[(&str, Field)] = &[
    ("connect-time", Field::Span(Span::Connect)),
    ("request-header-time", Field::Span(Span::Header)),
    ("request-body-time", Field::Span(Span::Body)),
    ("request-total-time", Field::Span(Span::Request)),
    ("process-time", Field::Span(Span::Process)),
    ("response-time", Field::Span(Span::Response)),
    ("duration", Field::Span(Span::Total)),
    ("total-time", Field::Span(Span::Total)),
    ("request-header-bytes", Field::RequestHeaderBytes),
    ("request-header-text-bytes", Field::RequestHeaderTextBytes),
    ("request-header-count", Field::RequestHeaderCount),
    ("request-body-bytes", Field::RequestBodyBytes),
    ("connection-id", Field::ConnectionId),
    ("request-id", Field::RequestId),
    ("http1.request-index", Field::RequestIndex),
    ("error", Field::Errors),
];

/// Names and beginnings of names that h2o has for what there is not here: TLS, HTTP/2 and 3, proxies,
/// and what only the code that writes to the network knows. A format of h2o's may hold them.
const ELSEWHERE: &[&str] = &[
    "ssl.",
    "http2.",
    "http3.",
    "proxy.",
    "cc.name",
    "delivery-rate",
    "extensible-priorities",
    "response-header-bytes",
    "response-header-text-bytes",
    "response-header-count",
];

/// The names before `t`.
const UNITS: &[(&str, Unit)] = &[
    ("sec", Unit::Seconds),
    ("msec", Unit::Milliseconds),
    ("usec", Unit::Microseconds),
    ("msec_frac", Unit::Millisecond),
    ("usec_frac", Unit::Microsecond),
];

/// Apache's and nginx's, for those who come from there.
const FOREIGN: &[(char, &str)] = &[
    ('a', "%h"),
    ('B', "%b"),
    ('D', "%{duration}x"),
    ('T', "%{duration}x"),
    ('k', "%{http1.request-index}x"),
    ('L', "%{request-id}x"),
    ('P', "%{connection-id}x"),
];

/// Reads a specifier, whose `%` stands before `text`; returns it with the rest.
pub fn read(text: &str) -> Result<(Meaning, &str), Mistake> {
    // Which of several answers is meant, the first or the last: there is only one.
    let modified = text.trim_start_matches(['<', '>']);
    if let Some(braced) = modified.strip_prefix('{') {
        let no_end = || Mistake::new(format!("`%{text}` has no `}}`"));
        let (name, after) = braced.split_once('}').ok_or_else(no_end)?;
        let letter = after.chars().next();
        let field = braced_field(name, letter.unwrap_or(' ')).map_err(|mistake| {
            mistake.unwrap_or_else(|| {
                let found = letter.map(String::from).unwrap_or_default();
                let message = format!("`%{{{name}}}{found}` is unknown, expected one of `e i o p t x` after the brace");
                Mistake::new(message)
            })
        })?;
        return Ok((Meaning::Field(field), &after[1..]));
    }
    let mut after = modified.chars();
    let Some(letter) = after.next() else {
        return Err(Mistake::new("`%` at the end stands for nothing".to_owned()).hint("`%%` is a percent sign"));
    };
    let meaning = match letter {
        '%' => Meaning::Percent,
        letter => Meaning::Field(lettered(letter)?),
    };
    Ok((meaning, after.as_str()))
}

fn lettered(letter: char) -> Result<Field, Mistake> {
    Ok(match letter {
        'A' => Field::LocalAddress,
        'b' => Field::Bytes,
        'H' => Field::Protocol,
        'h' => Field::RemoteAddress,
        // The name that identd knows: nobody asks it any more.
        'l' => Field::Nothing,
        'm' => Field::Method,
        'p' => Field::LocalPort,
        'q' => Field::Query,
        'r' => Field::RequestLine,
        's' => Field::Status,
        't' => Field::Time(clock::APACHE.to_owned()),
        'U' => Field::Path,
        'u' => Field::User,
        'V' => Field::Authority,
        'v' => Field::Host,
        unknown => {
            let foreign = FOREIGN.iter().find(|(it, _)| *it == unknown);
            let mistake =
                Mistake::new(format!("`%{unknown}` is unknown, expected one of `{LETTERS}`, or `%{{NAME}}x`"));
            return Err(match foreign {
                Some((_, ours)) => mistake.hint(format!("`{ours}` is the nearest to it")),
                None => mistake.hint("`%%` is a percent sign"),
            });
        }
    })
}

/// The inner `None` is a letter that is unknown.
fn braced_field(name: &str, letter: char) -> Result<Field, Option<Mistake>> {
    let header = || {
        let mistake = |_| Mistake::new(format!("`{name}` in `%{{{name}}}{letter}` is no name of a header"));
        name.parse().map_err(|error| Some(mistake(error)))
    };
    Ok(match letter {
        'e' => Field::Variable(name.to_owned()),
        'i' => Field::RequestHeader(header()?),
        'o' => Field::ReplyHeader(header()?),
        'p' if name == "local" => Field::LocalPort,
        'p' if name == "remote" => Field::RemotePort,
        'p' => {
            return Err(Some(Mistake::new(format!(
                "`%{{{name}}}p` is unknown, expected `%{{local}}p` or `%{{remote}}p`"
            ))));
        }
        't' => match UNITS.iter().find(|it| it.0 == name) {
            Some((_, unit)) => Field::Epoch(*unit),
            None => {
                clock::check(name).map_err(|reason| {
                    Mistake::new(format!("`{name}` in `%{{{name}}}t` is no format of a time: {reason}"))
                })?;
                Field::Time(name.to_owned())
            }
        },
        'x' => extension(name)?,
        _ => return Err(None),
    })
}

fn extension(name: &str) -> Result<Field, Mistake> {
    if let Some((_, field)) = EXTENSIONS.iter().find(|it| it.0 == name) {
        return Ok(field.clone());
    }
    if ELSEWHERE.iter().any(|it| name == *it || it.ends_with('.') && name.starts_with(it)) {
        return Ok(Field::Nothing);
    }
    let known = || EXTENSIONS.iter().map(|it| it.0);
    let mistake = Mistake::new(format!("`%{{{name}}}x` is unknown"));
    Err(match suggest(name, known()) {
        Some(near) => mistake.hint(format!("did you mean `%{{{near}}}x`?")),
        None => mistake.hint(format!("there are {}", known().collect::<Vec<_>>().join(", "))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(text: &str) -> Field {
        match read(text).unwrap_or_else(|it| panic!("{text}: {}", it.message)) {
            (Meaning::Field(field), "") => field,
            _ => panic!("{text} is no field"),
        }
    }

    #[test]
    fn every_letter_that_a_message_names_is_known() {
        for letter in LETTERS.split(" %").skip(1) {
            field(letter);
        }
        assert!(matches!(read("%rest"), Ok((Meaning::Percent, "rest"))));
    }

    #[test]
    fn the_reference_has_every_specifier() {
        let all: Vec<&str> = SPECIFIERS.iter().flat_map(|it| it.0.split(' ')).collect();
        for one in &all {
            let text = one.replace("FORMAT", "%Y");
            assert!(read(&text[1..]).is_ok_and(|it| it.1.is_empty()), "{one}");
        }
        let extensions = EXTENSIONS.iter().map(|it| format!("%{{{}}}x", it.0));
        let units = UNITS.iter().map(|it| format!("%{{{}}}t", it.0));
        for one in extensions.chain(units).chain(LETTERS.split(' ').map(str::to_owned)) {
            assert!(all.contains(&one.as_str()), "{one}");
        }
    }

    #[test]
    fn names_in_braces_are_known_by_their_letter() {
        assert_eq!(field("{Referer}i"), Field::RequestHeader(http::header::REFERER));
        assert_eq!(field("<{Location}o"), Field::ReplyHeader(http::header::LOCATION));
        assert_eq!(field(">s"), Field::Status);
        assert_eq!(field("{DOS_COUNT}e"), Field::Variable("DOS_COUNT".into()));
        assert_eq!((field("{local}p"), field("{remote}p")), (Field::LocalPort, Field::RemotePort));
        assert_eq!((field("{sec}t"), field("{%Y}t")), (Field::Epoch(Unit::Seconds), Field::Time("%Y".into())));
        assert_eq!(field("{duration}x"), Field::Span(Span::Total));
        for elsewhere in ["{ssl.cipher}x", "{http2.stream-id}x", "{proxy.idle-time}x", "{cc.name}x"] {
            assert_eq!(field(elsewhere), Field::Nothing);
        }
    }

    #[test]
    fn what_is_unknown_is_named_with_the_way_out() {
        for (text, message, hint) in [
            ("{durration}x", "`%{durration}x` is unknown", "did you mean `%{duration}x`?"),
            ("{a b}i", "`a b` in `%{a b}i` is no name of a header", ""),
            ("{x}p", "`%{x}p` is unknown, expected `%{local}p` or `%{remote}p`", ""),
            ("{a", "`%{a` has no `}`", ""),
            ("", "`%` at the end stands for nothing", "`%%` is a percent sign"),
            ("{a}é", "`%{a}é` is unknown, expected one of `e i o p t x` after the brace", ""),
            ("{a}", "`%{a}` is unknown, expected one of `e i o p t x` after the brace", ""),
        ] {
            let Err(mistake) = read(text) else { panic!("{text} is no mistake") };
            assert_eq!((mistake.message.as_str(), mistake.hint.as_deref().unwrap_or("")), (message, hint));
        }
        let Err(mistake) = read("Q") else { panic!() };
        assert_eq!(mistake.message, format!("`%Q` is unknown, expected one of `{LETTERS}`, or `%{{NAME}}x`"));
        let Err(mistake) = read("D") else { panic!() };
        assert_eq!(mistake.hint.unwrap(), "`%{duration}x` is the nearest to it");
        let Err(mistake) = read("{nothing-like-it}x") else { panic!() };
        assert!(mistake.hint.unwrap().starts_with("there are connect-time, "));
        let Err(mistake) = read("{%!}t") else { panic!() };
        assert!(mistake.message.starts_with("`%!` in `%{%!}t` is no format of a time: "), "{}", mistake.message);
    }
}
