//! `rhaid call`: one request, answered by this process.

use std::fs;
use std::io::{self, IsTerminal, Read, Write};
use std::process::ExitCode;

use bytes::Bytes;
use clap::Args;
use http::header::{self, HeaderName, HeaderValue};
use http::{Method, Uri};

use super::print;
use crate::binding;
use crate::config::Config;
use crate::db;
use crate::error_log;
use crate::script::Engines;
use crate::server::{Local, Refusal, assume, on_a_thread};

/// As curl's `--fail`: the status is 400 or above.
const FAILED: u8 = 22;

/// Answer one request as the server would, print the answer, and end
///
/// Nothing listens and no server need run. It is done as at a start: migrations are applied, the scripts are started, and
/// what the request changes in the databases is changed, by the user that the configuration names. What would go to the error log, such as the place where a script
/// failed, goes to the standard error output; the access log gets no line. Ends with 0 for a status below 400, 22 for
/// another, 78 for a mistake in the configuration.
#[derive(Args, Debug)]
#[command(allow_missing_positional = true)]
#[command(
    after_help = "Examples:\n  rhaid call /json_api\n  rhaid call GET '/projects?key=…' -H 'Accept: text/html' -i\n  \
                        rhaid call POST /notes --json '{\"text\":\"buy milk\"}'"
)]
pub(super) struct Call {
    /// The method [default: GET, or POST where there is a body]
    #[arg(value_parser = method)]
    method: Option<Method>,

    /// The path, with its query; or a URL, whose host is the `Host`
    #[arg(value_name = "PATH", value_parser = target)]
    target: Uri,

    /// A header; without a `Host` the request is for the first host of the configuration that has paths
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = field)]
    headers: Vec<(HeaderName, HeaderValue)>,

    /// The body, or with `@` the file that has it (`@-`: the standard input); a form unless a header says otherwise
    #[arg(short, long, value_name = "BODY", conflicts_with = "json")]
    data: Option<String>,

    /// The body, as `--data`, which is JSON
    #[arg(long, value_name = "BODY")]
    json: Option<String>,

    /// Print the status and the headers before the body
    #[arg(short, long)]
    include: bool,
}

fn method(text: &str) -> Result<Method, String> {
    let method = Method::from_bytes(text.as_bytes()).ok().filter(|it| it.as_str() == text.to_uppercase());
    method.ok_or_else(|| "expected a method such as `GET`".to_owned())
}

fn target(text: &str) -> Result<Uri, String> {
    let uri: Option<Uri> = text.parse().ok();
    uri.filter(|it| it.path().starts_with('/') && (text.starts_with('/') || it.authority().is_some()))
        .ok_or_else(|| "expected a path such as `/projects?key=1`, with what is no ASCII percent-encoded".to_owned())
}

fn field(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let (name, value) = text.split_once(':').ok_or("expected a name and a value such as `Accept: text/html`")?;
    let name = name.trim().parse().map_err(|_| format!("`{name}` is no name of a header"))?;
    let value = HeaderValue::from_str(value.trim()).map_err(|_| format!("`{value}` is no value of a header"))?;
    Ok((name, value))
}

/// Answers the request that the command line describes.
pub(super) fn run(call: &Call, config: &Config) -> Result<ExitCode, Refusal> {
    let system = |error: io::Error| Refusal::System(error.to_string());
    let request = call.request()?;
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    let heard = |text: String| print(&mut io::stderr(), &text);
    let ask = || error_log::overheard(heard, || ask(config, request));
    let answer = on_a_thread(ask).map_err(system)??;
    call.print(&answer).map_err(system)?;
    Ok(if answer.status().as_u16() < 400 { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

fn ask(config: &Config, request: http::Request<Bytes>) -> Result<http::Response<Bytes>, Refusal> {
    let system = |error: io::Error| Refusal::System(error.to_string());
    let runtime = tokio::runtime::LocalRuntime::new().map_err(system)?;
    runtime.block_on(async {
        let local = Local::build(config, &Engines::new([binding::register as _])).await;
        let local = local.map_err(|problems| Refusal::Configuration(problems.join("\n")))?;
        // As when a server starts: all that is made from now on is the user's.
        config.process.user.as_ref().map(assume).transpose()?;
        // Not before the scripts are known to be good.
        db::migrate(&config.databases).map_err(Refusal::of_database)?;
        local.ask(request).await.map_err(system)
    })
}

impl Call {
    fn request(&self) -> Result<http::Request<Bytes>, Refusal> {
        let (body, form) = match (&self.data, &self.json) {
            (_, Some(json)) => (Some(json), "application/json"),
            (data, None) => (data.as_ref(), "application/x-www-form-urlencoded"),
        };
        let method = self.method.clone().unwrap_or(if body.is_some() { Method::POST } else { Method::GET });
        let mut request = http::Request::new(body.map(|it| content(it)).transpose()?.unwrap_or_default());
        *request.method_mut() = method;
        let headers = request.headers_mut();
        for (name, value) in &self.headers {
            headers.append(name, value.clone());
        }
        if let Some(authority) = self.target.authority() {
            let host = HeaderValue::from_str(authority.as_str()).expect("an authority is a header's value");
            headers.entry(header::HOST).or_insert(host);
        }
        if body.is_some() {
            headers.entry(header::CONTENT_TYPE).or_insert(HeaderValue::from_static(form));
        }
        let target = self.target.path_and_query().expect("a target has a path").clone();
        *request.uri_mut() = target.into();
        Ok(request)
    }

    /// The body goes to the standard output as it is; where nothing else says that the request failed, its status is
    /// said beside it.
    fn print(&self, answer: &http::Response<Bytes>) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let status = format!("{:?} {}", answer.version(), answer.status());
        if self.include {
            write!(out, "{status}\r\n")?;
            for (name, value) in answer.headers() {
                out.write_all(&[name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat())?;
            }
            out.write_all(b"\r\n")?;
        } else if answer.status().as_u16() >= 400 {
            print(&mut io::stderr(), &status);
        }
        out.write_all(answer.body())?;
        if out.is_terminal() && !answer.body().is_empty() && !answer.body().ends_with(b"\n") {
            out.write_all(b"\n")?;
        }
        out.flush()
    }
}

/// What the body's argument stands for.
fn content(argument: &str) -> Result<Bytes, Refusal> {
    let Some(file) = argument.strip_prefix('@') else { return Ok(argument.to_owned().into()) };
    let mut bytes = Vec::new();
    let read = if file == "-" { io::stdin().read_to_end(&mut bytes).map(|_| bytes) } else { fs::read(file) };
    read.map(Bytes::from).map_err(|error| Refusal::System(format!("cannot read the body from `{file}`: {error}")))
}
