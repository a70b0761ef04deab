//! The floor that rhaid is measured against: hyper with json_api's reply, or what a file holds, and nothing else.
//!
//! `bare_hyper [--port PORT] [--workers N] [--body FILE]`: each worker is a thread with a current-thread runtime of its
//! own, as rhaid's are; all accept from the same socket.

use std::convert::Infallible;
use std::io;
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::pin::Pin;
use std::process::ExitCode;
use std::task::{Context, Poll, ready};
use std::thread;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

fn main() -> ExitCode {
    let (port, workers, body) = match arguments() {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(64);
        }
    };
    let listen = || {
        let listener = TcpListener::bind(("127.0.0.1", port))?;
        listener.set_nonblocking(true)?;
        (0..workers).map(|_| listener.try_clone()).collect::<io::Result<Vec<_>>>()
    };
    let listeners = match listen() {
        Ok(listeners) => listeners,
        Err(error) => {
            eprintln!("127.0.0.1:{port}: {error}");
            return ExitCode::from(71);
        }
    };
    eprintln!("bare hyper listens on 127.0.0.1:{port} with {workers} workers");
    let start = |listener| {
        let body = body.clone();
        thread::spawn(|| serve(listener, body))
    };
    let workers: Vec<_> = listeners.into_iter().map(start).collect();
    for worker in workers {
        if let Ok(Err(error)) = worker.join() {
            eprintln!("{error}");
        }
    }
    ExitCode::FAILURE
}

/// Port, workers and body of the command line.
fn arguments() -> Result<(u16, usize, Bytes), String> {
    let (mut port, mut workers, mut body) = (8081, 1, Bytes::from_static(b"{\"foo\":\"bar\"}"));
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        let wrong = |_| format!("`{name}` is `{value}`, expected a number");
        match name.as_str() {
            "--port" => port = value.parse().map_err(wrong)?,
            "--workers" => workers = value.parse().map_err(wrong)?,
            "--body" => body = std::fs::read(&value).map_err(|error| format!("`{value}`: {error}"))?.into(),
            _ => {
                return Err(format!(
                    "unknown argument `{name}`, expected `--port PORT`, `--workers N` or `--body FILE`"
                ));
            }
        }
    }
    Ok((port, workers, body))
}

/// Serves the connections of one worker for ever.
fn serve(listener: TcpListener, body: Bytes) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    LocalSet::new().block_on(&runtime, async move {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let body = body.clone();
            tokio::task::spawn_local(async move {
                let answer = service_fn(move |_: Request<Incoming>| answer(body.clone()));
                let connection = http1::Builder::new().pipeline_flush(true).serve_connection(Io(stream), answer);
                // A client that leaves is no concern of a benchmark.
                let _ = connection.await;
            });
        }
    })
}

async fn answer(body: Bytes) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::new(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

/// A tokio stream as hyper's traits want it, without a crate for these few lines.
struct Io(TcpStream);

impl Read for Io {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        // Copied over from the stack: filling hyper's buffer in place takes `unsafe`, which a few hundred bytes
        // are not worth.
        let mut bytes = [MaybeUninit::uninit(); 4096];
        let room = bytes.len().min(buffer.remaining());
        let mut bytes = ReadBuf::uninit(&mut bytes[..room]);
        ready!(Pin::new(&mut self.0).poll_read(context, &mut bytes))?;
        buffer.put_slice(bytes.filled());
        Poll::Ready(Ok(()))
    }
}

impl Write for Io {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(context, bytes)
    }
}
