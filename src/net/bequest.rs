//! What a process leaves to the one that replaces it: its listening sockets, and a way to be told that they are served.

use std::fmt::Write;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};

use super::file::share;
use super::inherited::{OWN, READY, Role};
use super::{Bound, Private};

/// File descriptors that the next program that is started inherits; until this is dropped.
#[derive(Debug)]
pub struct Bequest {
    variable: String,
    left: Vec<OwnedFd>,
    answer: UnixStream,
}

/// A socket that can be left to another process, however this one goes on with it.
#[derive(Debug)]
pub struct Heirloom {
    socket: OwnedFd,
    /// What it is for, as [`adopt`](super::adopt) reads it.
    letters: String,
}

impl Heirloom {
    /// The socket once more; it is listened on for as long as this is kept.
    ///
    /// # Errors
    /// If there are no file descriptors left.
    pub fn of(bound: &Bound, role: Role) -> io::Result<Heirloom> {
        let letter = Role::ALL.iter().find(|it| it.1 == role).map_or('n', |it| it.0);
        let foreign = if bound.file().is_some_and(|it| it.is_foreign()) { "f" } else { "" };
        Ok(Heirloom { socket: bound.descriptor().try_clone_to_owned()?, letters: format!("{letter}{foreign}") })
    }

    /// As [`Heirloom::of`].
    ///
    /// # Errors
    /// If there are no file descriptors left.
    pub fn of_private(private: &Private) -> io::Result<Heirloom> {
        Ok(Heirloom { socket: private.listener()?.into(), letters: "p".to_owned() })
    }
}

/// Where the answer comes to.
#[derive(Debug)]
pub struct Answer(UnixStream);

impl Bequest {
    /// Leaves these sockets.
    ///
    /// # Errors
    /// If there are no file descriptors left.
    pub fn of<'a>(sockets: impl IntoIterator<Item = &'a Heirloom>) -> io::Result<Bequest> {
        let (answer, question) = UnixStream::pair()?;
        let mut bequest = Bequest { variable: std::process::id().to_string(), left: Vec::new(), answer };
        bequest.leave(question.into(), "")?;
        bequest.leave(io::stderr().as_fd().try_clone_to_owned()?, "")?;
        for Heirloom { socket, letters } in sockets {
            bequest.leave(socket.try_clone()?, letters)?;
        }
        Ok(bequest)
    }

    /// Tells the program what it inherits.
    pub fn describe_to(&self, command: &mut Command) {
        command.env(OWN, &self.variable);
    }

    /// Keeps nothing open any more for others; to be called when the program was started.
    pub fn is_handed_over(self) -> Answer {
        Answer(self.answer)
    }

    fn leave(&mut self, file: OwnedFd, letters: &str) -> io::Result<()> {
        fcntl(&file, FcntlArg::F_SETFD(FdFlag::empty()))?;
        // It does not fail: a string takes all that memory has room for.
        let _ = write!(self.variable, " {}{letters}", file.as_raw_fd());
        self.left.push(file);
        Ok(())
    }
}

impl Answer {
    /// Waits until the other process serves, for at most `patience`. It cares for the files of sockets from then on.
    ///
    /// # Errors
    /// With [`io::ErrorKind::WouldBlock`] when that is over, with another kind if it never will.
    pub fn wait(mut self, patience: Duration) -> io::Result<()> {
        self.0.set_read_timeout(Some(patience))?;
        let mut answer = [0];
        self.0.read_exact(&mut answer)?;
        if answer != [READY] {
            return Err(io::ErrorKind::InvalidData.into());
        }
        share(true);
        Ok(())
    }
}
