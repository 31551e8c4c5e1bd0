//! The channel between the launcher and its inner stage: small frames over a socket pair, with descriptors beside them.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

use crate::outcome::Layer;

/// The program name that tells our binary to be an inner stage.
pub(crate) const INNER_NAME: &str = "tripwire-inner";
/// The inner stage finds its end of the channel at this number.
pub(crate) const CONTROL_FD: i32 = 3;
/// A plan with tens of thousands of hidden files still fits; more is refused rather than buffered.
const FRAME_BYTES_MAX: usize = 64 * 1024 * 1024;
const FDS_MAX: usize = 4;

/// What the inner stage tells the launcher.
#[derive(Debug)]
pub(crate) enum News {
    /// A layer could not be put on; nothing was run.
    Failed { layer: Layer, errno: i32, what: String },
    /// The root is up; the descriptors are the scratch file system and the inner `/proc`.
    Ready { fds: Vec<OwnedFd>, landlock: String },
    /// The command was executed.
    Started,
    /// The command ended; `others` processes were still alive.
    Exited { code: u8, signal: u8, others: u32 },
}

/// Tag, payload and descriptors.
pub(crate) type Frame = (u8, Vec<u8>, Vec<OwnedFd>);

/// One end of the channel.
#[derive(Debug)]
pub(crate) struct Channel(OwnedFd);

impl Channel {
    /// Both ends, closed on exec.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        Ok((Self(ours), theirs))
    }

    pub(crate) fn from_fd(fd: OwnedFd) -> Self {
        Self(fd)
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Sends one frame.
    pub(crate) fn send(&self, tag: u8, payload: &[u8]) -> io::Result<()> {
        self.send_with(tag, payload, &[])
    }

    /// Sends one frame with descriptors.
    pub(crate) fn send_with(&self, tag: u8, payload: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        let length = u32::try_from(payload.len()).map_err(|_| too_large())?;
        let mut frame = Vec::with_capacity(payload.len() + 5);
        frame.extend_from_slice(&length.to_le_bytes());
        frame.push(tag);
        frame.extend_from_slice(payload);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS_MAX))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !fds.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(fds)) {
            return Err(too_large());
        }
        let mut sent = sendmsg(&self.0, &[IoSlice::new(&frame)], &mut ancillary, SendFlags::NOSIGNAL)?;
        while sent < frame.len() {
            let rest = frame.get(sent..).unwrap_or_default();
            sent += rustix::net::send(&self.0, rest, SendFlags::NOSIGNAL)?;
        }
        Ok(())
    }

    /// One frame, or `None` when the other end is gone.
    pub(crate) fn receive(&self) -> io::Result<Option<Frame>> {
        let mut head = [0_u8; 5];
        let mut fds = Vec::new();
        if !self.fill(&mut head, &mut fds)? {
            return Ok(None);
        }
        let [a, b, c, d, tag] = head;
        let length = usize::try_from(u32::from_le_bytes([a, b, c, d])).map_err(|_| too_large())?;
        if length > FRAME_BYTES_MAX {
            return Err(too_large());
        }
        let mut payload = vec![0_u8; length];
        if length > 0 && !self.fill(&mut payload, &mut fds)? {
            return Ok(None);
        }
        Ok(Some((tag, payload, fds)))
    }

    /// Fills the buffer; `false` when the other end closed first.
    fn fill(&self, mut buffer: &mut [u8], fds: &mut Vec<OwnedFd>) -> io::Result<bool> {
        while !buffer.is_empty() {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS_MAX))];
            let mut ancillary = RecvAncillaryBuffer::new(&mut space);
            let message =
                match recvmsg(&self.0, &mut [IoSliceMut::new(&mut *buffer)], &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
                    Ok(message) => message,
                    Err(rustix::io::Errno::INTR) => continue,
                    Err(rustix::io::Errno::CONNRESET) => return Ok(false),
                    Err(error) => return Err(error.into()),
                };
            for item in ancillary.drain() {
                if let RecvAncillaryMessage::ScmRights(received) = item {
                    fds.extend(received);
                }
            }
            if message.bytes == 0 {
                return Ok(false);
            }
            buffer = buffer.get_mut(message.bytes..).unwrap_or_default();
        }
        Ok(true)
    }

    /// One piece of news, or `None` when the inner stage is gone.
    pub(crate) fn news(&self) -> io::Result<Option<News>> {
        let Some((tag, payload, fds)) = self.receive()? else {
            return Ok(None);
        };
        Ok(Some(decode(tag, &payload, fds)?))
    }

    /// Reports a layer that could not be put on.
    pub(crate) fn send_failure(&self, layer: Layer, errno: i32, what: &str) -> io::Result<()> {
        let mut payload = vec![layer.code()];
        payload.extend_from_slice(&errno.to_le_bytes());
        payload.extend_from_slice(what.as_bytes());
        self.send(TAG_FAILED, &payload)
    }
}

/// The launcher's plan for the inner stage.
pub(crate) const TAG_PLAN: u8 = 1;
/// See [`News::Failed`].
pub(crate) const TAG_FAILED: u8 = 2;
/// See [`News::Ready`].
pub(crate) const TAG_READY: u8 = 3;
/// See [`News::Started`].
pub(crate) const TAG_STARTED: u8 = 4;
/// See [`News::Exited`].
pub(crate) const TAG_EXITED: u8 = 5;
/// The launcher asks a keeper to end its tree.
pub(crate) const TAG_KILL: u8 = 6;

fn decode(tag: u8, payload: &[u8], fds: Vec<OwnedFd>) -> io::Result<News> {
    match (tag, payload) {
        (TAG_FAILED, [layer, a, b, c, d, what @ ..]) => Ok(News::Failed {
            layer: Layer::from_code(*layer).ok_or_else(malformed)?,
            errno: i32::from_le_bytes([*a, *b, *c, *d]),
            what: String::from_utf8_lossy(what).into_owned(),
        }),
        (TAG_READY, text) => Ok(News::Ready { fds, landlock: String::from_utf8_lossy(text).into_owned() }),
        (TAG_STARTED, []) => Ok(News::Started),
        (TAG_EXITED, [code, signal, a, b, c, d]) => {
            Ok(News::Exited { code: *code, signal: *signal, others: u32::from_le_bytes([*a, *b, *c, *d]) })
        }
        (_, _) => Err(malformed()),
    }
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "malformed frame from the inner stage")
}

fn too_large() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "frame too large")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_and_descriptors_arrive_whole() {
        let (ours, theirs) = Channel::pair().expect("a socket pair");
        let theirs = Channel::from_fd(theirs);
        let big = vec![7_u8; 300_000];
        let writer = std::thread::spawn(move || {
            theirs.send(TAG_PLAN, &big).expect("send");
            let null = std::fs::File::open("/dev/null").expect("open");
            theirs.send_with(TAG_READY, b"abi 7", &[null.as_fd()]).expect("send");
        });
        let (tag, payload, _) = ours.receive().expect("receive").expect("a frame");
        assert_eq!((tag, payload.len()), (TAG_PLAN, 300_000));
        let Some(News::Ready { fds, landlock }) = ours.news().expect("news") else { panic!("not ready") };
        assert_eq!((fds.len(), landlock.as_str()), (1, "abi 7"));
        writer.join().expect("writer");
        assert!(ours.news().expect("end").is_none());
    }

    #[test]
    fn a_malformed_frame_is_an_error_not_news() {
        let (ours, theirs) = Channel::pair().expect("a socket pair");
        let theirs = Channel::from_fd(theirs);
        theirs.send(TAG_EXITED, &[1, 2]).expect("send");
        assert!(ours.news().is_err());
        theirs.send(99, &[]).expect("send");
        assert!(ours.news().is_err());
    }
}
