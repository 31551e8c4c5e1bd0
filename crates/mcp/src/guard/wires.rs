//! The pipes to both sides, one writer at a time.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ReadWriteFlags, pwritev2};
use std::io::{IoSlice, Write};
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError, TryLockError};

/// The most that a pipe takes in one piece as soon as it takes anything.
const PIECE_BYTES_MAX: usize = 4_096;

/// The way to the client and the way to the server.
pub(super) struct Wires {
    pub(super) client: Wire,
    pub(super) server: Wire,
}

/// The way to one side, until it is closed.
pub(super) struct Wire(Mutex<Option<Box<dyn Outlet>>>);

/// What can be written to, and asked whether it takes more.
pub(super) trait Outlet: Write + AsFd + Send {}

impl<T: Write + AsFd + Send> Outlet for T {}

/// Whether a message went out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    Yes,
    No,
}

impl Wires {
    pub(super) fn new(client: Box<dyn Outlet>, server: Box<dyn Outlet>) -> Self {
        Self { client: Wire(Mutex::new(Some(client))), server: Wire(Mutex::new(Some(server))) }
    }

    /// Nothing more goes to the server. One that does not read keeps a writer waiting here; its end frees both.
    pub(super) fn close_server(&self) {
        if let Ok(mut server) = self.server.0.try_lock() {
            drop(server.take());
        }
    }
}

impl Wire {
    /// Passes bytes on where that takes no time: they are few, nobody else writes, and the other side has room for them.
    pub(super) fn send_at_once(&self, bytes: &[u8]) -> Sent {
        if bytes.len() > PIECE_BYTES_MAX {
            return Sent::No;
        }
        let mut outlet = match self.0.try_lock() {
            Ok(outlet) => outlet,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Sent::No,
        };
        match outlet.as_mut() {
            Some(outlet) => match put_now(outlet.as_mut(), bytes) {
                Some(sent) => sent,
                None if has_room(outlet.as_ref()) => {
                    put(outlet.as_mut(), bytes);
                    Sent::Yes
                }
                None => Sent::No,
            },
            // What is closed takes nothing, and keeps nobody waiting.
            None => Sent::Yes,
        }
    }

    /// Passes bytes on, for as long as that takes.
    pub(super) fn send(&self, bytes: &[u8]) {
        let mut outlet = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(outlet) = outlet.as_mut() {
            put(outlet.as_mut(), bytes);
        }
    }
}

fn put(outlet: &mut dyn Outlet, bytes: &[u8]) {
    // A side that does not read any more has closed, which its other pipe says.
    drop(outlet.write_all(bytes).and_then(|()| outlet.flush()));
}

/// Writes what the other side has room for now, in one system call; nothing where the system cannot be asked that way. So few
/// bytes go into a pipe as a whole or not at all.
fn put_now(outlet: &mut dyn Outlet, bytes: &[u8]) -> Option<Sent> {
    /// That an outlet has no places.
    const NO_PLACE: u64 = u64::MAX;
    match pwritev2(&*outlet, &[IoSlice::new(bytes)], NO_PLACE, ReadWriteFlags::NOWAIT) {
        Ok(written) => {
            if let Some(rest @ [_, ..]) = bytes.get(written..) {
                put(outlet, rest);
            }
            Some(Sent::Yes)
        }
        Err(Errno::AGAIN) => Some(Sent::No),
        // A side that does not read any more has closed, which its other pipe says.
        Err(Errno::PIPE) => Some(Sent::Yes),
        Err(_) => None,
    }
}

fn has_room(outlet: &dyn Outlet) -> bool {
    let mut fds = [PollFd::new(&outlet, PollFlags::OUT)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    matches!(poll(&mut fds, Some(&now)), Ok(1..)) && fds[0].revents().contains(PollFlags::OUT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    fn wires() -> (Wires, std::io::PipeReader) {
        let (reads, writes) = std::io::pipe().unwrap();
        (Wires::new(Box::new(std::io::stderr()), Box::new(writes)), reads)
    }

    #[test]
    fn mcp_4_a_side_with_room_gets_a_short_message_at_once_and_one_without_does_not_keep_the_sender() {
        let (wires, mut reads) = wires();
        let piece = [b'x'; PIECE_BYTES_MAX];
        let taken = (0..1_000).take_while(|_| wires.server.send_at_once(&piece) == Sent::Yes).count();
        assert!((1..1_000).contains(&taken), "a pipe has room for some: {taken}");
        let mut read = vec![0; taken * PIECE_BYTES_MAX];
        reads.read_exact(&mut read).unwrap();
        assert_eq!(wires.server.send_at_once(b"y"), Sent::Yes);
    }

    #[test]
    fn mcp_4_a_long_message_is_never_sent_at_once_and_a_closed_side_takes_nothing() {
        let (wires, mut reads) = wires();
        assert_eq!(wires.server.send_at_once(&[b'x'; PIECE_BYTES_MAX + 1]), Sent::No);
        wires.server.send(b"whole");
        wires.close_server();
        assert_eq!(wires.server.send_at_once(b"more"), Sent::Yes);
        let mut text = String::new();
        reads.read_to_string(&mut text).unwrap();
        assert_eq!(text, "whole");
    }
}
