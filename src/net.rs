//! Sockets and HTTP/1 on them, for whoever serves requests: a listener, connections, their end.
//! What a request is for is not known here.

mod connection;
mod farewell;
mod file;
mod listener;
mod live;
mod private;
mod socket;
mod stream;

pub use connection::{Serve, converse};
pub use file::{Access, SocketFile, bind_file};
pub use listener::{Inbox, Outboxes, accept, bind, outboxes};
pub use live::{Clock, Live, Patience};
pub use private::Private;
pub use stream::{Bound, Stream};
