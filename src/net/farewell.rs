//! The end of a connection whose client may still be sending what nobody wants: a body, the rest of a
//! head that was refused, requests behind it.
//!
//! A socket that is closed with bytes in it resets the connection, and the client may never read
//! why it was refused, nor the answers before. So they are taken and dropped for a while, as nginx does with
//! `lingering_close`.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::{Sleep, sleep};

/// How long what a client still sends is taken.
const PATIENCE: Duration = Duration::from_secs(2);

/// How far the end of a connection has come.
#[derive(Default)]
pub(super) struct Farewell {
    over: Option<Pin<Box<Sleep>>>,
}

impl Farewell {
    /// Whether the client has been told that nothing more comes.
    pub fn has_begun(&self) -> bool {
        self.over.is_some()
    }

    /// Takes what the client sends until it has ended, too, or the time is over.
    pub fn poll(&mut self, stream: &mut (impl AsyncRead + Unpin), context: &mut Context<'_>) -> Poll<()> {
        let over = self.over.get_or_insert_with(|| Box::pin(sleep(PATIENCE)));
        if over.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        let mut space = [0; 8 << 10];
        loop {
            let mut taken = ReadBuf::new(&mut space);
            match Pin::new(&mut *stream).poll_read(context, &mut taken) {
                Poll::Ready(Ok(())) if !taken.filled().is_empty() => {}
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}
