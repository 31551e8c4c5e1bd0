//! What a missing layer means in words, and what to do about it.

use std::io;

use crate::layers::l03_reexec::Broken;
use crate::outcome::Layer;

/// What failed and what the system said, in one line.
pub(crate) fn explain(broken: &Broken) -> String {
    match broken.errno {
        0 => format!("cannot {}", broken.what),
        errno => format!("cannot {}: {}", broken.what, io::Error::from_raw_os_error(errno)),
    }
}

/// What a person can do about a missing layer.
pub(crate) fn hint(broken: &Broken) -> &'static str {
    match broken.layer {
        Layer::Cgroup => "mount the memory and pids cgroups writable for root, or run as an ordinary user",
        Layer::Namespaces => "allow user namespaces (`sysctl user.max_user_namespaces`), see `tripwire doctor sandbox`",
        Layer::Landlock => "boot a kernel with Landlock (5.19 or newer), or choose `--profile compat` by name",
        Layer::Stage => "run without `--stage`, or use a kernel with overlays in user namespaces (5.11 or newer)",
        Layer::Network => "check the allow-list socket of the host side",
        Layer::Command => "name a program of the system or of the workspace; other paths need `--read PATH`",
        Layer::Rootfs => "look at the named path; a protected name must not be a symbolic link",
        Layer::Reexec | Layer::Limits | Layer::Privileges | Layer::Seccomp | Layer::Pid1 | Layer::Scan => {
            "run `tripwire doctor sandbox`"
        }
    }
}
