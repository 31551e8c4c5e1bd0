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

/// Reads and books a reply; whoever has it may rely on its being booked.
pub(crate) async fn read(mut reply: Reply) -> Result<Bytes, RefusedRequest> {
    let shared = Arc::clone(&reply.open.shared);
    let mut standing = shared.orders.follow();
    let read = tokio::select! {
        biased;
        _ = standing.wait_for(|standing| *standing == Standing::Stopped) => {
            reply.open.settle(CallEnd::Stopped);
            return Err(RefusedRequest::stopped(&shared.orders));
        }
        read = collect(&mut reply) => read,
    };
    if let Stage::Replying(reader) = &mut reply.open.stage {
        reader.end();
    }
    let Some(whole) = read else {
        reply.open.settle(CallEnd::Broken);
        let reason = "the provider broke off its reply";
        return Err(RefusedRequest::new(
            RefusalKind::BadGateway,
            reason,
            "look at the provider's status, then try again",
        ));
    };
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

/// All pieces of a reply; nothing if it broke off.
async fn collect(reply: &mut Reply) -> Option<Bytes> {
    let mut gathered = GatheredBytes::default();
    loop {
        match next_piece(&mut reply.body).await {
            NextPiece::Broken => return None,
            NextPiece::End => return Some(gathered.whole()),
            NextPiece::Data(data) => {
                if let Stage::Replying(reader) = &mut reply.open.stage {
                    reader.feed(&data);
                }
                gathered.push(data);
            }
        }
    }
}
