//! `file(path, options)`: a reply with a file, which is sent under the conditions of the request.

use std::path::{Component, Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rhai::{Dynamic, Map, NativeCallContext};
use tracing::Level;

use super::answering::log;
use super::context::Context;
use super::fault::{Result, raise};
use super::options::Options;
use super::raise::Wrong;
use crate::file::content_type;
use crate::reply::{Content, Reply, Shown};

const OPTIONS: &[&str] = &["content_type", "download", "root"];
/// What a name in `filename*` may have as it is (RFC 8187 §3.2.1).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Makes `file` known to scripts.
pub(super) fn register(engine: &mut rhai::Engine) {
    engine.register_fn("file", |call: NativeCallContext, path: &str| file(&call, path, &Map::new()));
    engine.register_fn("file", |call: NativeCallContext, path: &str, options: Map| file(&call, path, &options));
}

fn file(call: &NativeCallContext, path: &str, map: &Map) -> Result<Reply> {
    let wrong = |message: String| raise(call, message);
    let options = Options::of("file", map, OPTIONS).map_err(wrong)?;
    let root = options.text("root", "a folder").map_err(wrong)?;
    let kind = options.text("content_type", "a media type such as `text/csv`").map_err(wrong)?;
    let Some(wanted) = wanted(path, root.as_deref()) else {
        let hint = if root.is_some() { "" } else { "\n  hint: name the folder with `#{root: \"…\"}`" };
        return Err(absent(call, &format!("the path {path:?} leads up with `..`, which `file` does not follow{hint}")));
    };
    let mut reply = Reply::empty(200);
    match kind {
        Some(kind) => reply.add_header("content-type", &kind).map_err(wrong)?,
        None => drop(reply.headers.insert(http::header::CONTENT_TYPE, content_type(&wanted))),
    }
    if let Some(download) = options.value("download") {
        let name = name_of(&options, download, &wanted).map_err(wrong)?;
        if let Some(name) = name {
            reply.add_header("content-disposition", &attachment(&name)).map_err(wrong)?;
        }
    }
    let hidden = Context::with(call, |context| context.hidden.clone())?;
    match Shown::find(wanted.clone(), root.map(|it| PathBuf::from(it.as_str())), hidden) {
        Ok(Some(shown)) => reply.body = Content::File(shown.into()),
        Ok(None) => return Err(absent(call, &format!("no file {} that may be shown", place(&wanted)))),
        Err(error) => return Err(wrong(format!("the file {} can't be read: {error}", place(&wanted)))),
    }
    Ok(reply)
}

/// The path below its folder. `None` if it leads up: paths are made of what clients send.
fn wanted(path: &str, root: Option<&str>) -> Option<PathBuf> {
    let mut wanted = PathBuf::from(root.unwrap_or_default());
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir => return None,
            // Below a folder, `/a` is `a`.
            Component::RootDir if root.is_some() => {}
            Component::CurDir => {}
            part => wanted.push(part),
        }
    }
    if path.ends_with('/') {
        // As a folder it is no file, whatever its name is.
        wanted.push("");
    }
    Some(wanted)
}

/// Ends the request with 404, as Sinatra's `send_file` does; why is for the log.
fn absent(call: &NativeCallContext, why: &str) -> Box<rhai::EvalAltResult> {
    log(Level::INFO, &format!("a reply's file: {why}"));
    Wrong::Client(404, "Not found".to_owned()).raise(call)
}

/// A path as it was meant, with the folder that it is relative to.
fn place(path: &Path) -> String {
    let here = std::env::current_dir().ok().filter(|_| path.is_relative());
    let here = here.map(|it| format!(" in `{}`", it.display())).unwrap_or_default();
    // A client may have had a part in it: no line of the log is to be made of it.
    format!("`{}`{here}", path.display().to_string().escape_debug())
}

/// `true` is the file's own name.
fn name_of(options: &Options<'_>, download: &Dynamic, path: &Path) -> std::result::Result<Option<String>, String> {
    if let Ok(is_one) = download.as_bool() {
        return Ok(is_one.then(|| path.file_name().unwrap_or_default().to_string_lossy().into_owned()));
    }
    let expected = "a name such as `report.pdf`, or `true`";
    options.text("download", expected).map(|it| it.map(Into::into))
}

/// Names a file for who saves it (RFC 6266): what ASCII has not, in the form that RFC 8187 gives it.
fn attachment(name: &str) -> String {
    let is_plain = |it: char| matches!(it, ' '..='~') && it != '"' && it != '\\' && it != '%';
    let plain: String = name.chars().map(|it| if is_plain(it) { it } else { '_' }).collect();
    if plain == name {
        return format!("attachment; filename=\"{plain}\"");
    }
    format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{}", utf8_percent_encode(name, ENCODED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_never_leads_up() {
        for (path, root, expected) in [
            ("a/b.txt", None, Some("a/b.txt")),
            ("/a/b.txt", None, Some("/a/b.txt")),
            ("./a//b.txt", None, Some("a/b.txt")),
            ("../a", None, None),
            ("a/../b", None, None),
            ("a/", None, Some("a/")),
            ("a/b.txt", Some("up"), Some("up/a/b.txt")),
            ("/etc/passwd", Some("up"), Some("up/etc/passwd")),
            ("//etc/passwd", Some("/up"), Some("/up/etc/passwd")),
            ("../secret", Some("up"), None),
            ("a/../../secret", Some("up"), None),
            ("..a", Some("../up"), Some("../up/..a")),
        ] {
            // Paths are equal also where one ends in `/`.
            let wanted = wanted(path, root).map(PathBuf::into_os_string);
            assert_eq!(wanted, expected.map(Into::into), "{path} {root:?}");
        }
    }

    #[test]
    fn a_download_has_a_name_that_every_client_reads() {
        assert_eq!(attachment("a b.pdf"), "attachment; filename=\"a b.pdf\"");
        let expected = "attachment; filename=\"Gr__e___.pdf\"; filename*=UTF-8''Gr%C3%B6%C3%9Fe%22%5C%0D.pdf";
        assert_eq!(attachment("Größe\"\\\r.pdf"), expected);
    }
}
