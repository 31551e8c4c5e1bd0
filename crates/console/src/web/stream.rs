//! Live updates: what changed, told as server-sent events. The page then asks for what it shows.

use super::limits::{GATHER, PING_EVERY, STREAMS_MAX};
use super::reply::{NotDone, Reply, guarded};
use super::shared::Shared;
use crate::live::Change;
use crate::model::workspace_key;
use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc};
use tripwire_gateway::body::{Piece, ReplyBody};

/// Begins a stream, unless there are too many.
pub(super) fn begin(shared: &Arc<Shared>) -> Reply {
    if shared.streams.fetch_add(1, Ordering::Relaxed) >= STREAMS_MAX {
        shared.streams.fetch_sub(1, Ordering::Relaxed);
        return NotDone::new(StatusCode::TOO_MANY_REQUESTS, "too many pages are open").reply();
    }
    let (sender, body) = ReplyBody::pieces(None);
    let (shared, changes) = (Arc::clone(shared), shared.changes.subscribe());
    tokio::spawn(async move {
        tell(&sender, changes).await;
        shared.streams.fetch_sub(1, Ordering::Relaxed);
    });
    let mut reply = Response::new(body);
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    guarded(reply)
}

/// Tells changes until the page is gone.
async fn tell(page: &mpsc::Sender<Piece>, mut changes: broadcast::Receiver<Change>) {
    let mut text = ": ready\n\n".to_owned();
    loop {
        if page.send(Piece::Data(Bytes::from(text))).await.is_err() {
            return;
        }
        text = tokio::select! {
            () = page.closed() => return,
            heard = changes.recv() => match heard {
                Ok(change) => gathered(change, &mut changes).await,
                Err(RecvError::Lagged(_)) => "data: {\"all\":true}\n\n".to_owned(),
                Err(RecvError::Closed) => return,
            },
            () = tokio::time::sleep(PING_EVERY) => ": ping\n\n".to_owned(),
        };
    }
}

/// A change and what follows it within a moment, each told once: one append is several changes of files.
async fn gathered(first: Change, changes: &mut broadcast::Receiver<Change>) -> String {
    tokio::time::sleep(GATHER).await;
    let mut all = BTreeSet::from([first]);
    while let Ok(change) = changes.try_recv() {
        all.insert(change);
    }
    let lines = all.iter().map(|change| match change {
        Change::Session { root, session } => json!({"w": workspace_key(root), "s": session}),
        Change::Workspace { root } => json!({"w": workspace_key(root)}),
    });
    lines.map(|line| format!("data: {line}\n\n")).collect()
}
