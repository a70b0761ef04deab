//! The requests and replies of a case, over one connection that is kept, or over many at once.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::compare;
use super::request::{Form, Request};
use super::wire::{Connection, Lost, Reply, Unasked};

/// How long a reply may take normally.
const PATIENCE: Duration = Duration::from_secs(10);

/// What was sent and not yet answered.
#[derive(Debug)]
pub struct Exchange {
    port: u16,
    /// How long a reply may take if the case says nothing longer.
    pub patience: Duration,
    /// The connection that single requests go over.
    kept: Option<Connection>,
    /// Whether the last reply on it said that none follows; it stays until that is looked into or another is needed.
    is_over: bool,
    /// The connections of the last request, if it went over many.
    many: Vec<Connection>,
    /// Connections of earlier requests whose replies nobody asked for: they stay open while the case lasts, as a
    /// client that leaves is a case of its own.
    unanswered: Vec<Connection>,
    /// What to send again if the kept connection turns out to have been closed before it.
    again: Option<Request>,
    /// The methods of what is not yet answered, on each connection of the last request.
    pending: VecDeque<String>,
    form: Form,
    /// When the last byte went out.
    sent: Instant,
}

impl Exchange {
    /// Nothing is connected yet.
    pub fn new(port: u16) -> Exchange {
        Exchange {
            port,
            patience: PATIENCE,
            kept: None,
            is_over: false,
            many: Vec::new(),
            unanswered: Vec::new(),
            again: None,
            pending: VecDeque::new(),
            form: Form::Lines,
            sent: Instant::now(),
        }
    }

    /// Sends `request` over the kept connection, or over `parallel` new ones.
    ///
    /// # Errors
    /// If the server can't be reached, or has sent what nobody asked for.
    pub fn send(&mut self, request: &Request, parallel: Option<usize>) -> Result<(), String> {
        self.finish()?;
        let open = || Connection::open(self.port).map_err(|error| format!("connecting failed: {error}"));
        if let Some(count) = parallel {
            self.many = (0..count).map(|_| open()).collect::<Result<_, _>>()?;
            for connection in &mut self.many {
                connection.send(&request.bytes);
            }
        } else {
            self.again = (self.kept.is_some() && request.form == Form::Lines).then(|| request.clone());
            let mut connection = match self.kept.take() {
                Some(connection) => connection,
                None => open()?,
            };
            connection.send(&request.bytes);
            self.kept = Some(connection);
        }
        self.sent = Instant::now();
        self.pending = request.methods.iter().cloned().collect();
        self.form = request.form;
        Ok(())
    }

    /// The next reply on each connection of the last request.
    ///
    /// # Errors
    /// If a reply doesn't come, or comes later than `within` after the request.
    pub fn replies(&mut self, within: Option<Duration>) -> Result<Vec<Reply>, String> {
        let method = self.pending.pop_front().ok_or("there is no request that this could be the reply to")?;
        let head_only = method == "HEAD";
        let is_last = self.pending.is_empty();
        let count = self.many.len();
        // Many at once take turns, so that the last of them may take longer.
        let patience = self.patience.max(within.unwrap_or_default() * 2) + Duration::from_millis(10) * count as u32;
        let deadline = Instant::now() + patience;
        let mut replies = Vec::with_capacity(count.max(1));
        if count == 0 {
            let connection = self.kept.as_mut().ok_or("the connection was closed after the reply before")?;
            let mut reply = connection.read_reply(head_only, deadline);
            // The server may close an idle connection while the request is on its way (RFC 9112 §9.5).
            if let (Err(Lost::Closed), Some(request)) = (&reply, self.again.take()) {
                *connection = Connection::open(self.port).map_err(|error| format!("connecting failed: {error}"))?;
                connection.send(&request.bytes);
                reply = connection.read_reply(head_only, deadline);
            }
            let reply = reply.map_err(|lost| told(&lost, patience, within))?;
            self.is_over = is_last && !reply.keeps_alive;
            replies.push(reply);
        }
        for (index, connection) in self.many.iter_mut().enumerate() {
            let number = index + 1;
            let reply = connection.read_reply(head_only, deadline);
            let told = |lost: Lost| format!("reply {number} of {count}: {}", told(&lost, patience, within));
            replies.push(reply.map_err(told)?);
        }
        if is_last {
            self.many.clear();
        }
        let took = self.sent.elapsed();
        match within {
            Some(within) if took > within => Err(format!("the reply took {took:?}, which is more than {within:?}")),
            _ => Ok(replies),
        }
    }

    /// Waits for the connections of the last request to be closed without a reply.
    ///
    /// # Errors
    /// If they aren't, or the server answers.
    pub fn closed(&mut self) -> Result<(), String> {
        let patience = self.patience;
        let deadline = Instant::now() + self.patience;
        self.pending.clear();
        self.is_over = false;
        let mut connections = std::mem::take(&mut self.many);
        if connections.is_empty() {
            connections.push(self.kept.take().ok_or("there is no connection that could be closed")?);
        }
        for mut connection in connections {
            connection.ends(deadline).map_err(|lost| match lost {
                Lost::Late { bytes } if bytes.is_empty() => {
                    format!("the server left the connection open and sent nothing for {patience:?}")
                }
                lost => told(&lost, patience, None),
            })?;
        }
        Ok(())
    }

    /// Takes what is left of the last request, so that the next reply is that of the next request.
    ///
    /// # Errors
    /// If the server has sent what nobody asked for.
    pub fn finish(&mut self) -> Result<(), String> {
        let patience = self.patience;
        if !self.many.is_empty() {
            self.unanswered.append(&mut self.many);
            self.pending.clear();
        }
        self.again = None;
        if !self.pending.is_empty() {
            let mut connection = self.kept.take();
            // Raw bytes may be half a request, which is answered only by leaving.
            if self.form == Form::Lines {
                let reply =
                    connection.as_mut().map(|it| it.read_reply(self.pending[0] == "HEAD", self.sent + patience));
                let keeps_alive = match reply {
                    None | Some(Err(Lost::Closed)) => false,
                    Some(Ok(reply)) => reply.keeps_alive,
                    Some(Err(lost)) => {
                        let told = told(&lost, patience, None);
                        return Err(format!("the request before got no whole reply: {told}"));
                    }
                };
                self.kept = connection.filter(|_| keeps_alive);
            }
            self.pending.clear();
        }
        match self.kept.as_mut().map_or(Unasked::End, Connection::unasked) {
            Unasked::Nothing => {
                self.kept = self.kept.take().filter(|_| !std::mem::take(&mut self.is_over));
                Ok(())
            }
            Unasked::End => {
                (self.kept, self.is_over) = (None, false);
                Ok(())
            }
            Unasked::Bytes(bytes) => {
                (self.kept, self.is_over) = (None, false);
                Err(format!("bytes came that belong to no reply:\n{}", compare::shown(&bytes)))
            }
        }
    }
}

/// Why a reply was lost, with the time that was waited for it and what the case said of that.
fn told(lost: &Lost, patience: Duration, within: Option<Duration>) -> String {
    let Lost::Late { bytes } = lost else { return lost.to_string() };
    let got = if bytes.is_empty() { "no byte of a reply" } else { "no whole reply" };
    let wanted = within.map(|within| format!(" (it must come within {within:?})")).unwrap_or_default();
    let came = if bytes.is_empty() { String::new() } else { format!(", only these bytes:\n{}", compare::shown(bytes)) };
    format!("{got} in {patience:?}{wanted}{came}")
}
