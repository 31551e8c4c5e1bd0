//! Which session is meant: its name, and the folder that holds all of them.

use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::session::SessionId;

/// A session's place on the disk.
#[derive(Debug, Clone, Copy)]
pub(super) struct SessionDir<'a> {
    pub(super) layout: &'a Layout,
    pub(super) session: &'a SessionId,
}
