//! A layer that could not be put on: what failed, and what a person can do about it.

use std::borrow::Cow;
use std::{fmt, io};

use tripwire_core::explain::{ExitClass, Explain};

use crate::outcome::Layer;

/// A layer that could not be put on, as the inner stage reports it.
#[derive(Debug)]
pub(crate) struct LayerError {
    pub(crate) layer: Layer,
    /// What the system said; 0 if it said nothing.
    pub(crate) errno: i32,
    /// What could not be done, as in "cannot …".
    pub(crate) what: String,
}

impl LayerError {
    pub(crate) fn new(layer: Layer, errno: i32, what: String) -> Self {
        Self { layer, errno, what }
    }
}

impl fmt::Display for LayerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.errno {
            // `what` already says that there was no time left; the system's text for this error is about connections.
            0 | libc::ETIMEDOUT => write!(f, "cannot {}", self.what),
            errno => write!(f, "cannot {}: {}", self.what, io::Error::from_raw_os_error(errno)),
        }
    }
}

impl std::error::Error for LayerError {}

impl Explain for LayerError {
    fn hint(&self) -> Cow<'_, str> {
        if self.errno == libc::ETIMEDOUT {
            return Cow::Borrowed("give it more time, or look at what keeps this machine busy");
        }
        Cow::Borrowed(match self.layer {
            Layer::Cgroup => "mount the memory and pids cgroups writable for root, or run as an ordinary user",
            Layer::Namespaces => {
                "allow user namespaces (`sysctl user.max_user_namespaces`), see `tripwire doctor sandbox`"
            }
            Layer::Landlock => "boot a kernel with Landlock (5.19 or newer), or choose `--profile compat` by name",
            Layer::Stage => "run without `--stage`, or use a kernel with overlays in user namespaces (5.11 or newer)",
            Layer::Network => "check the allow-list socket of the host side",
            Layer::Command => "name a program of the system or of the workspace; other paths need `--read PATH`",
            Layer::Rootfs => "look at the named path; a protected name must not be a symbolic link",
            Layer::Reexec | Layer::Limits | Layer::Privileges | Layer::Seccomp | Layer::Pid1 | Layer::Scan => {
                "run `tripwire doctor sandbox`"
            }
        })
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::DoesNotHold
    }
}
