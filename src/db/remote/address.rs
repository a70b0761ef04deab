//! URLs of databases that lie behind a network.

use crate::db::error::{Error, Kind};

/// The options that name files.
const FILES: [&str; 6] = ["ssl-ca", "ssl-cert", "ssl-key", "sslcert", "sslkey", "sslrootcert"];

/// Says what is wrong with a URL that begins with `scheme://`.
///
/// # Errors
/// If it is no URL with a host, or has options that are not among `known`. The text has no value in it.
pub fn check(text: &str, example: &str, known: &[&str]) -> Result<(), String> {
    let scheme = text.split(':').next().unwrap_or_default();
    if !text.contains("://") {
        return Err(format!("`{scheme}:` is followed by no `//`, expected a URL such as `{example}`"));
    }
    let url = url::Url::parse(text)
        .map_err(|error| format!("the URL can't be understood: {error}, expected one such as `{example}`"))?;
    if url.path().trim_matches('/').is_empty() && !url.query_pairs().any(|(key, _)| key == "dbname") {
        return Err(format!("the URL names no database, expected one such as `{example}`"));
    }
    for (key, _) in url.query_pairs() {
        if !known.contains(&&*key) {
            let nearest = crate::directive::suggest(&key, known.iter().copied());
            let hint = nearest
                .map_or_else(|| format!("known are `{}`", known.join("`, `")), |it| format!("did you mean `{it}`?"));
            return Err(format!("the URL has an option `{key}`, which is not known\nhint: {hint}"));
        }
    }
    Ok(())
}

/// Looks whether the files can be read that a URL names for TLS.
///
/// # Errors
/// If one can't; the message names it.
pub fn check_files(address: &str) -> Result<(), Error> {
    let Ok(url) = url::Url::parse(&format!("x:{address}")) else { return Ok(()) };
    for (key, path) in url.query_pairs().filter(|(key, _)| FILES.contains(&&**key)) {
        std::fs::File::open(&*path).map_err(|error| {
            Error::new(Kind::Connection, format!("the file `{path}` of the URL's `{key}` can't be read: {error}"))
        })?;
    }
    Ok(())
}

/// Where the database is, for messages: without user and password.
pub fn place(address: &str) -> String {
    let Ok(url) = url::Url::parse(&format!("x:{address}")) else { return "its server".to_owned() };
    let socket = url.query_pairs().find(|(key, value)| key == "socket" || key == "host" && value.starts_with('/'));
    match (socket, url.host_str(), url.port()) {
        (Some((_, path)), ..) => path.into_owned(),
        (None, Some(host), Some(port)) => format!("{host}:{port}"),
        (None, Some(host), None) if !host.is_empty() => host.to_owned(),
        _ => "localhost".to_owned(),
    }
}
