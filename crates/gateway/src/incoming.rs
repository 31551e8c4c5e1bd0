//! A request that came in: what it says, who sent it, and whose credentials it carries.

use crate::buffered::BufferShare;
use crate::config::{Key, Provider};
use bytes::Bytes;
use hyper::http::request::Parts;
use std::sync::Arc;
use tripwire_core::ledger::AccountId;

/// A request that was read and whose sender is known.
pub(crate) struct IncomingCall {
    pub(crate) parts: Parts,
    /// The provider's own path.
    pub(crate) rest: String,
    pub(crate) body: Bytes,
    /// Its share of the bytes that all requests may hold.
    pub(crate) _share: BufferShare,
    pub(crate) provider: Arc<Provider>,
    pub(crate) caller: Caller,
}

/// Who sent a request.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) account: AccountId,
    pub(crate) key: Option<Key>,
    pub(crate) credentials: Credentials,
}

/// What becomes of the credentials of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Credentials {
    /// They are ours: they are taken away, and the provider's key takes their place.
    Brokered,
    /// They are the caller's own: they pass, unless we hold a key for the provider.
    Passed,
    /// They are the caller's own, and only those: our key is for callers with our token.
    Own,
}
