//! Sockets and HTTP/1 on them, for whoever serves requests: a listener, connections, their end.
//! What a request is for is not known here.

mod bequest;
mod bound;
mod connection;
mod farewell;
mod file;
mod inherited;
mod intake;
mod live;
mod newcomers;
mod outboxes;
mod private;
mod socket;
mod stream;

pub use bequest::{Answer, Bequest, Heirloom};
pub use bound::{Bound, bind, bind_beside};
pub use connection::{Serve, converse};
pub use file::{Access, Granted, SocketFile, bind_file};
pub use inherited::{Predecessor, Role, addresses as inherited_addresses, adopt, close_rest};
pub use intake::{Intake, Sockets};
pub use live::{Clock, Live, Patience};
pub use outboxes::{Inbox, Outbox, Outboxes};
pub use private::Private;
pub use stream::Stream;
