//! What a person can do about settings that cannot be changed.

use crate::install::InstallError;
use std::borrow::Cow;
use tripwire_core::explain::Explain;

impl Explain for InstallError {
    fn hint(&self) -> Cow<'_, str> {
        Self::hint(self).into()
    }
}
