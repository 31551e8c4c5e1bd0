//! Permission is a value: only the gate can make it, it cannot be copied, and acting consumes it (CHAIN-4).

use crate::label::Fingerprint;
use crate::units::{EventIndex, RunMillis};

/// The right to carry out one action, once.
///
/// It cannot be made outside the gate:
///
/// ```compile_fail,E0451
/// use tripwire_core::chain::gate::Permit;
/// let forged = Permit { request: Default::default(), action: Default::default(), deadline: None };
/// ```
///
/// It cannot be copied:
///
/// ```compile_fail,E0599
/// fn twice(permit: tripwire_core::chain::gate::Permit) {
///     let copy = permit.clone();
/// }
/// ```
///
/// And it cannot be used twice:
///
/// ```compile_fail,E0382
/// fn act(permit: tripwire_core::chain::gate::Permit) {}
/// fn twice(permit: tripwire_core::chain::gate::Permit) {
///     act(permit);
///     act(permit);
/// }
/// ```
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a permit that is not used was not needed"]
pub struct Permit {
    request: EventIndex,
    action: Fingerprint,
    deadline: Option<RunMillis>,
}

impl Permit {
    /// Makes a permit: the gate alone calls this.
    pub(super) const fn issue(request: EventIndex, action: Fingerprint, deadline: Option<RunMillis>) -> Self {
        Self { request, action, deadline }
    }

    /// The request that it answers.
    #[must_use]
    pub const fn request(&self) -> EventIndex {
        self.request
    }

    /// The action that it is for; carrying out another one is refused by the execution adapter.
    #[must_use]
    pub const fn action(&self) -> Fingerprint {
        self.action
    }

    /// When a running call must be cut off.
    #[must_use]
    pub const fn deadline(&self) -> Option<RunMillis> {
        self.deadline
    }
}
