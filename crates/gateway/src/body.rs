//! The body of a reply: a whole text, or pieces that come through a short queue, so that a slow client slows the provider.

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// Pieces that wait for the client.
const QUEUE: usize = 4;

/// A reply's body.
#[derive(Debug)]
pub enum ReplyBody {
    /// All of it.
    Whole(Option<Bytes>),
    /// Piece by piece; the length where the provider said it.
    Pieces(mpsc::Receiver<Piece>, Option<u64>),
}

/// A piece of a reply.
#[derive(Debug)]
pub enum Piece {
    /// Bytes.
    Data(Bytes),
    /// The reply breaks off here: the connection is closed, so that no client takes it for whole.
    Broken,
}

impl ReplyBody {
    /// A text.
    pub fn whole(text: impl Into<Bytes>) -> Self {
        Self::Whole(Some(text.into()))
    }

    /// A body, and where its pieces are put.
    #[must_use]
    pub fn pieces(length: Option<u64>) -> (mpsc::Sender<Piece>, Self) {
        let (sender, receiver) = mpsc::channel(QUEUE);
        (sender, Self::Pieces(receiver, length))
    }
}

/// A reply broke off.
#[derive(Debug, thiserror::Error)]
#[error("the reply broke off")]
pub struct BrokenReply;

impl From<Infallible> for BrokenReply {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = BrokenReply;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenReply>>> {
        match &mut *self {
            Self::Whole(text) => Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
            Self::Pieces(receiver, _) => receiver.poll_recv(context).map(|piece| {
                piece.map(|piece| match piece {
                    Piece::Data(bytes) => Ok(Frame::data(bytes)),
                    Piece::Broken => Err(BrokenReply),
                })
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(text) => SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64)),
            Self::Pieces(_, Some(length)) => SizeHint::with_exact(*length),
            Self::Pieces(_, None) => SizeHint::default(),
        }
    }
}
