//! A short reply that is no stream: it is read whole, booked, and passed on in one piece, without a task of its own.
//!
//! Nothing of it has left when something goes wrong, so every ending but the good one is an error in the API's own form.

use crate::door::DoorAnswer;
use crate::gathered::GatheredBytes;
use crate::open_call::Stage;
use crate::orders::Standing;
use crate::pump::{NextPiece, Reply, ask_door, next_piece};
use crate::refusal::{RefusalKind, RefusedRequest};
use bytes::Bytes;
use std::sync::Arc;
use tripwire_core::ledger::CallEnd;

/// Reads and books a reply; when the client has it, it is booked.
pub(crate) async fn read(mut reply: Reply) -> Result<Bytes, RefusedRequest> {
    let shared = Arc::clone(&reply.open.shared);
    let mut standing = shared.orders.follow();
    let mut gathered = GatheredBytes::default();
    let end = tokio::select! {
        biased;
        _ = standing.wait_for(|standing| *standing == Standing::Stopped) => {
            reply.open.settle(CallEnd::Stopped);
            return Err(RefusedRequest::stopped(&shared.orders));
        }
        end = collect(&mut reply, &mut gathered) => end,
    };
    let whole = gathered.whole();
    match &mut reply.open.stage {
        Stage::Replying(reader) if reader.is_plain_json() => reader.take_whole(&whole),
        Stage::Replying(reader) => reader.end(),
        Stage::Reserved | Stage::Sent => {}
    }
    if end == Collected::Broken {
        reply.open.settle(CallEnd::Broken);
        let reason = "the provider broke off its reply";
        return Err(RefusedRequest::new(
            RefusalKind::BadGateway,
            reason,
            "look at the provider's status, then try again",
        ));
    }
    let answer = ask_door(&reply.open).await;
    reply.open.settle(CallEnd::Complete);
    shared.upstreams.give_back(reply.connection);
    match answer {
        DoorAnswer::Pass => Ok(whole),
        DoorAnswer::Wait(_, reason) | DoorAnswer::Refuse(reason) => {
            shared.books().note("REFUSED", &reason);
            Err(RefusedRequest::new(RefusalKind::Forbidden, reason, "see `tripwire status` and `tripwire log`"))
        }
    }
}

/// How a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Collected {
    Whole,
    Broken,
}

/// Gathers all pieces of a reply. What is packed is unpacked as it comes.
async fn collect(reply: &mut Reply, gathered: &mut GatheredBytes) -> Collected {
    loop {
        match next_piece(&mut reply.body).await {
            NextPiece::Broken => return Collected::Broken,
            NextPiece::End => return Collected::Whole,
            NextPiece::Data(data) => {
                if let Stage::Replying(reader) = &mut reply.open.stage
                    && !reader.is_plain_json()
                {
                    reader.feed(&data);
                }
                gathered.push(data);
            }
        }
    }
}
