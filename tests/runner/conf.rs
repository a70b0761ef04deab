//! The configuration of a case: what is added to it, and where it says that the logs are.

use std::path::PathBuf;

use regex::Regex;

/// Where the configuration stands in the case's folder.
pub const FILE: &str = "conf/host.yaml";

/// Names of the logs that are added where the configuration has none.
const ERROR_LOG: &str = "error.log";
const ACCESS_LOG: &str = "access.log";

/// `conf` with an address and logs where it has none.
///
/// They go to its end, so that the lines in messages are those of the case file.
pub fn complete(conf: &str, port: u16) -> String {
    let mut conf = conf.to_owned();
    // What has no directive at all stays the mistake that the case is about.
    if !matches(r#"(?m)^["']?[A-Za-z][\w.-]*["']?:(\s|$)"#, &conf) {
        return conf;
    }
    let additions = [
        ("listen", format!("listen: 127.0.0.1:{port}\n")),
        ("error-log", format!("error-log: {ERROR_LOG}\n")),
        ("access-log", format!("access-log: {ACCESS_LOG}\n")),
    ];
    for (name, line) in additions {
        if !matches(&format!(r"(?m)^[\s-]*{name}:"), &conf) {
            if !conf.ends_with('\n') {
                conf.push('\n');
            }
            conf.push_str(&line);
        }
    }
    conf
}

/// Whether the server would listen where the runner can't know it, and needs `--listen`.
pub fn needs_address(conf: &str, port: u16) -> bool {
    !conf.contains(&port.to_string())
}

/// The files that the error log goes to.
pub fn error_logs(conf: &str) -> Vec<PathBuf> {
    logs("error-log", conf)
}

/// The files that the access logs go to.
pub fn access_logs(conf: &str) -> Vec<PathBuf> {
    logs("access-log", conf)
}

/// The values of a directive, or their `path`, as far as they are plain.
fn logs(name: &str, conf: &str) -> Vec<PathBuf> {
    let directive = Regex::new(&format!(r#"(?m)^[\s-]*{name}:(?:\s*\n\s*path:)?[ \t]*["']?([^\s"'{{]+)"#));
    let directive = directive.expect("the names are plain words");
    directive.captures_iter(conf).map(|found| PathBuf::from(&found[1])).collect()
}

fn matches(regex: &str, text: &str) -> bool {
    Regex::new(regex).expect("the names are plain words").is_match(text)
}
