//! Requests from within the process: they go the way of a connection's, but for the socket.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::SystemTime;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use http_body_util::BodyExt;

use super::STACK;
use super::service::Service;
use crate::config::{Config, Listen};
use crate::generation::{Generation, Purpose};
use crate::http::{Body, Connection, Upload};
use crate::net::Serve;
use crate::script::Engines;

/// What answers requests that nobody sent.
pub struct Local {
    service: Service,
    connection: Rc<Connection>,
    authority: HeaderValue,
}

impl Local {
    /// Builds what a worker would serve. Its requests are in no access log.
    ///
    /// # Errors
    /// All scripts and files that are no good, each ready to be read.
    pub async fn build(config: &Config, engines: &Engines) -> Result<Local, Vec<String>> {
        let generation = Generation::build(config, engines, Purpose::Test, None).await?;
        let mut ports = config.process.listen.iter().filter_map(|it| match it {
            Listen::Tcp(address) => Some(address.port),
            Listen::Unix(_) => None,
        });
        let port = ports.next().unwrap_or(0);
        let address = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let service = Service::new(generation, 0, Arc::default(), 1);
        service.limit(config.process.max_requests);
        Ok(Local {
            service,
            connection: Rc::new(Connection::new(address(0), address(port), 1)),
            authority: authority(config, port),
        })
    }

    /// Answers a request. Where it has no `Host`, it is for the first host that has paths.
    ///
    /// # Errors
    /// If the answer's body breaks off.
    pub async fn ask(&self, request: http::Request<Bytes>) -> io::Result<http::Response<Bytes>> {
        let (mut head, body) = request.into_parts();
        head.headers.entry(header::HOST).or_insert_with(|| self.authority.clone());
        let upload = if body.is_empty() {
            Upload::None
        } else {
            head.headers.entry(header::CONTENT_LENGTH).or_insert_with(|| body.len().into());
            Upload::Coming(Box::pin(Body::from(body)))
        };
        let method = head.method.clone();
        let (mut head, body) = self.service.serve(head, upload, self.connection.clone()).await.into_parts();
        complete(&mut head.headers, head.status, &body);
        let body = if has_body(&method, head.status) { body.collect().await?.to_bytes() } else { Bytes::new() };
        Ok(http::Response::from_parts(head, body))
    }
}

/// What hyper adds to an answer that has it not.
fn complete(headers: &mut HeaderMap, status: StatusCode, body: &Body) {
    let now = || HeaderValue::try_from(httpdate::fmt_http_date(SystemTime::now()));
    if let (false, Ok(now)) = (headers.contains_key(header::DATE), now()) {
        headers.insert(header::DATE, now);
    }
    if let (Some(length), true) = (body.len(), has_body(&Method::GET, status)) {
        headers.entry(header::CONTENT_LENGTH).or_insert_with(|| length.into());
    }
}

/// RFC 9110 §6.4.1.
fn has_body(method: &Method, status: StatusCode) -> bool {
    method != Method::HEAD && !status.is_informational() && !matches!(status.as_u16(), 204 | 304)
}

/// The `Host` of requests that name none.
fn authority(config: &Config, port: u16) -> HeaderValue {
    let host = config.hosts.iter().find(|it| !it.paths.is_empty()).or(config.hosts.first());
    let key = host.map_or("default", |it| it.key.as_str());
    let name = match key.strip_prefix('*') {
        // Any name will do, and a name of the sort that is asked for is below the wildcard.
        Some(rest) if rest.starts_with('.') => format!("www{rest}"),
        Some(port) => format!("localhost{port}"),
        None if key == "default" => "localhost".to_owned(),
        None => key.to_owned(),
    };
    let has_port = name.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
    let name = if has_port || matches!(port, 0 | 80) { name } else { format!("{name}:{port}") };
    HeaderValue::try_from(name).unwrap_or(HeaderValue::from_static("localhost"))
}

/// Runs `work` on a thread like a worker's, whose stack has room for what scripts make, and waits for it.
///
/// # Errors
/// If there is no thread to be had.
pub fn on_a_thread<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("rhaid".to_owned()).stack_size(STACK).spawn_scoped(scope, work)?;
        thread.join().map_err(|_| io::Error::other("the thread that does the work panicked"))
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::config::{Overrides, read};

    fn authority_of(hosts: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("host.yaml");
        fs::write(&path, format!("listen: 8080\nhosts: {hosts}\n")).unwrap();
        let config = read(&path, &Overrides::default()).unwrap();
        authority(&config, 8080).to_str().unwrap().to_owned()
    }

    #[test]
    fn a_request_without_a_host_is_for_the_first_that_has_paths() {
        for (hosts, expected) in [
            ("{default: {paths: {/: {}}}}", "localhost:8080"),
            ("{'localhost:8081': {paths: {/: {}}}}", "localhost:8081"),
            ("{'*': {paths: {/: {}}}}", "localhost:8080"),
            ("{'*.example.com': {paths: {/: {}}}}", "www.example.com:8080"),
            ("{a: {paths: {}}, b: {paths: {/: {}}}}", "b:8080"),
        ] {
            assert_eq!(authority_of(hosts), expected, "{hosts}");
        }
    }
}
