//! What surrounds a guard.

use crate::model_gateway::ModelGateway;
use crate::options::{Notifier, Presence};
use std::sync::Arc;
use tripwire_clients::Homes;
use tripwire_workspace::Workspace;

/// What surrounds a guard.
pub(crate) struct GuardPlace {
    pub(crate) workspace: Workspace,
    pub(crate) homes: Homes,
    pub(crate) presence: Presence,
    pub(crate) notifier: Arc<dyn Notifier>,
    /// The gateway of the run, if it has one.
    pub(crate) gateway: Option<ModelGateway>,
}
