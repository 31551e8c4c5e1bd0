//! The policy that a session froze, read without opening the session: for the moment in which it cannot be opened, and for those who
//! only ask for its digest.

use crate::body::{ReadBody, SessionBody};
use std::io::BufReader;
use tripwire_core::policy::Policy;
use tripwire_core::record::chain::Digest;
use tripwire_fs::{bounded, file};
use tripwire_journal::line::{self, Tail};
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::session::SessionId;

/// The longest first record that is read.
const BYTES_MAX: u64 = 1 << 20;

/// The policy in a session's first record; none if that record does not prove itself.
#[must_use]
pub fn frozen_policy(layout: &Layout, session: &SessionId) -> Option<Policy> {
    head(layout, session)?.policy().ok()
}

/// The digest of the settings and permissions that a session froze; none of a recording, or if its first record does not prove
/// itself.
#[must_use]
pub fn frozen_rules(layout: &Layout, session: &SessionId) -> Option<Digest> {
    head(layout, session)?.identity?.parts.rules_digest()
}

fn head(layout: &Layout, session: &SessionId) -> Option<SessionBody> {
    let first = layout.first_segment(session);
    let text = bounded::read_line(&mut BufReader::new(file::open_regular(&first).ok()?), BYTES_MAX).ok()?;
    let record = line::check(text.strip_suffix(b"\n")?, &Tail::genesis()).ok()?;
    let body: ReadBody<'_> = serde_json::from_str(record.body).ok()?;
    body.session
}
