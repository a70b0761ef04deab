//! One HTTP/1 connection.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header::{self, HeaderValue};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::ext::ReasonPhrase;
use hyper::server::conn::http1;
use hyper::service::service_fn;

use super::farewell::Farewell;
use super::live::{Entry, Fate, Live};
use super::socket::Socket;
use super::stream::Stream;
use crate::http::{Body, Connection, Response, Upload};

/// Largest head of a request in bytes; a longer one gets 431 (RFC 6585 §5).
const HEAD_BYTES: usize = 64 << 10;
/// As h2o's.
const HEADERS: usize = 100;

/// Numbers the connections of all workers; counted once for each, it is nothing that they fight for.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// Answers requests.
pub trait Serve: Clone + 'static {
    /// Answers one request. It is dropped if the client goes away.
    fn serve(
        &self,
        head: http::request::Parts,
        upload: Upload,
        connection: Rc<Connection>,
    ) -> impl Future<Output = Response> + use<Self>;
}

/// Serves the requests of a connection until it ends. It counts as one of the worker's from this call on; `socket` is
/// the number of the one that it came to.
pub fn converse<S: Serve>(stream: Stream, socket: u64, live: Rc<Live>, server: S) -> impl Future<Output = ()> {
    let guard = Guard { entry: live.enter(socket), live };
    talk(stream, guard, server)
}

async fn talk<S: Serve>(stream: Stream, guard: Guard, server: S) {
    let Ok((remote, local)) = stream.ends() else { return };
    let connection = Rc::new(Connection::new(remote, local, NEXT_ID.fetch_add(1, Ordering::Relaxed)));
    stream.hurry();
    let entry = guard.entry.clone();
    let peer = connection.clone();
    let service = service_fn(move |request: http::Request<Incoming>| {
        let (head, body) = request.into_parts();
        let upload = if body.is_end_stream() {
            Upload::None
        } else {
            Upload::Coming(Box::pin(Coming { body, has_ended: false, entry: entry.clone() }))
        };
        entry.begin();
        peer.began.set(entry.first_byte());
        let answering = Answering(entry.clone());
        let answer = server.serve(head, upload, peer.clone());
        async move {
            let mut response = answer.await;
            if response.status() != http::StatusCode::OK && response.status().canonical_reason().is_none() {
                // hyper would write `<none>`; nginx writes nothing for a status that has no name.
                response.extensions_mut().insert(ReasonPhrase::from_static(b""));
            }
            if answering.0.fate() == Fate::Last {
                response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<http::Response<Body>, Infallible>(response.map(|body| keep(body, answering)))
        }
    });
    let socket = Socket { stream, entry: guard.entry.clone(), farewell: Farewell::default() };
    // Without `pipeline_flush`: with it hyper drops its own 400 to what it can't parse.
    let conversation =
        http1::Builder::new().max_buf_size(HEAD_BYTES).max_headers(HEADERS).serve_connection(socket, service);
    if let Err(error) = (Conversation { conversation, entry: &guard.entry }).await {
        report(&error, &connection);
    }
}

/// hyper's connection, watched for the end that others decide on.
struct Conversation<'a, C> {
    conversation: C,
    entry: &'a Entry,
}

trait Graceful: Future<Output = hyper::Result<()>> {
    fn finish(self: Pin<&mut Self>);
}

impl<S> Graceful for http1::Connection<Socket, S>
where
    S: hyper::service::HttpService<Incoming, ResBody = Body>,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    fn finish(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

impl<C: Graceful + Unpin> Future for Conversation<'_, C> {
    type Output = hyper::Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.entry.watch(context.waker());
        match self.entry.fate() {
            Fate::Serve | Fate::Last => {}
            Fate::Finish => Pin::new(&mut self.conversation).finish(),
            Fate::Abort => return Poll::Ready(Ok(())),
        }
        Pin::new(&mut self.conversation).poll(context)
    }
}

/// The body of a request; its connection knows if it is dropped before its end.
struct Coming {
    body: Incoming,
    has_ended: bool,
    entry: Rc<Entry>,
}

impl http_body::Body for Coming {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        self.has_ended = frame.is_none();
        Poll::Ready(frame.map(|frame| frame.map_err(io::Error::other)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        if !self.has_ended && !self.body.is_end_stream() {
            self.entry.leave_unread();
        }
    }
}

/// A body that is sent as it comes keeps its connection busy until it has been sent.
fn keep(body: Body, answering: Answering) -> Body {
    match body {
        Body::Stream(stream) => {
            let kept = stream.map_frame(move |frame| {
                let _ = &answering;
                frame
            });
            Body::Stream(Box::pin(kept))
        }
        body => body,
    }
}

/// Marks a connection as busy for as long as it lives.
struct Answering(Rc<Entry>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.answered();
    }
}

/// Takes the connection out of the worker's when it ends.
struct Guard {
    live: Rc<Live>,
    entry: Rc<Entry>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.live.exit(&self.entry);
    }
}

/// What hyper can't parse it has answered itself, without a body. A client that goes away is no news.
fn report(error: &hyper::Error, connection: &Connection) {
    let source = std::error::Error::source(error).map(|it| format!(": {it}")).unwrap_or_default();
    if error.is_parse() || error.is_parse_too_large() {
        tracing::info!(client = %connection.remote, "a request was refused: {error}{source}");
    } else {
        tracing::debug!(client = %connection.remote, "a connection broke: {error}{source}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::live::{Clock, Patience};
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    #[derive(Clone)]
    struct Hello;

    impl Serve for Hello {
        fn serve(
            &self,
            _: http::request::Parts,
            _: Upload,
            _: Rc<Connection>,
        ) -> impl Future<Output = Response> + use<> {
            std::future::ready(http::Response::new(Bytes::from_static(b"hello").into()))
        }
    }

    /// Sends all of it before it reads, and gives all that comes.
    fn answer(sent: Vec<u8>) -> io::Result<String> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let mut client = TcpStream::connect(listener.local_addr()?)?;
        let (stream, _) = listener.accept()?;
        stream.set_nonblocking(true)?;
        let reading = thread::spawn(move || {
            client.write_all(&sent)?;
            let mut answer = String::new();
            client.read_to_string(&mut answer).map(|_| answer)
        });
        tokio::runtime::LocalRuntime::new()?.block_on(async {
            let stream = Stream::Tcp(tokio::net::TcpStream::from_std(stream)?);
            let live = Live::new();
            live.follow(Patience::default(), Clock::Unwatched, std::iter::once(1));
            converse(stream, 1, live, Hello).await;
            Ok::<_, io::Error>(())
        })?;
        reading.join().expect("the client does not panic")
    }

    #[test]
    fn who_still_sends_reads_why_it_was_refused() {
        let long = format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "a".repeat(8 << 20));
        assert!(answer(long.into()).unwrap().starts_with("HTTP/1.1 431 "));
        let bad = format!("G@T / HTTP/1.1\r\n\r\n{}", "a".repeat(8 << 20));
        assert!(answer(bad.into()).unwrap().starts_with("HTTP/1.1 400 "));
    }

    #[test]
    fn requests_behind_a_bad_one_do_not_take_the_answers_before_it_away() {
        let good = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";
        let sent = format!("{}G@T / HTTP/1.1\r\n\r\n{}", good.repeat(500), good.repeat(100_000));
        let answer = answer(sent.into()).unwrap();
        assert_eq!(answer.matches("HTTP/1.1 200 ").count(), 500);
        assert_eq!(answer.matches("HTTP/1.1 400 ").count(), 1);
    }
}
