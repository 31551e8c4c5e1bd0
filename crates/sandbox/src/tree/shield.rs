//! What the tree may not touch: some paths read-only, some folders closed, by mounts that only the tree sees.
//!
//! A guard that keeps its journal in the agent's workspace must not be rewritten by the agent. The mounts are made in the
//! keeper's own mount namespace before the command starts, and the command has no right to take them away again.

use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::mount::{MountFlags, MoveMountFlags, OpenTreeFlags, mount, move_mount, open_tree};
use rustix::thread::CapabilitySet;

use crate::layer::LayerError;
use crate::outcome::Layer;
use crate::plan::KeeperPlan;
use crate::sys::{self, ATTR_NODEV, ATTR_NOSUID, ATTR_RDONLY};

/// What would undo the shield as root: unmounting, reaching the keeper, opening files by handle or by device.
const UNDOING: [CapabilitySet; 6] = [
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::SYS_PTRACE,
    CapabilitySet::DAC_READ_SEARCH,
    CapabilitySet::MKNOD,
    CapabilitySet::SYS_RAWIO,
    CapabilitySet::SYS_MODULE,
];

/// Puts the mounts on; the caller has separated its mounts from everybody else's.
pub(super) fn raise(plan: &KeeperPlan) -> Result<(), LayerError> {
    for path in &plan.read_only {
        let place = find(path)?;
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_RECURSIVE
            | OpenTreeFlags::AT_EMPTY_PATH;
        let tree = open_tree(&place, "", flags).map_err(|errno| failure(errno, "take", path))?;
        sys::mount_set(tree.as_fd(), ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV)
            .map_err(|error| LayerError::new(Layer::Pid1, error.raw_os_error().unwrap_or(0), words("close", path)))?;
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        move_mount(&tree, "", &place, "", flags).map_err(|errno| failure(errno, "cover", path))?;
    }
    for path in &plan.hidden {
        // Found without following a link first, so that nothing else is covered than what was meant.
        drop(find(path)?);
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
        mount("tmpfs", path, "tmpfs", flags, c"mode=0000,size=4k,nr_inodes=2")
            .map_err(|errno| failure(errno, "hide", path))?;
    }
    Ok(())
}

/// In the command's process, before it is executed: root gives up what could take the mounts away again.
pub(super) fn give_up_rights(plan: &KeeperPlan) -> rustix::io::Result<()> {
    if plan.read_only.is_empty() && plan.hidden.is_empty() {
        return Ok(());
    }
    if !rustix::process::geteuid().is_root() {
        // Any other uid loses the keeper's rights by executing a program, and an inner user namespace cannot lift these mounts.
        return Ok(());
    }
    UNDOING.into_iter().try_for_each(rustix::thread::remove_capability_from_bounding_set)
}

fn find(path: &Path) -> Result<OwnedFd, LayerError> {
    openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::NO_SYMLINKS)
        .map_err(|errno| failure(errno, "find", path))
}

fn failure(errno: rustix::io::Errno, what: &str, path: &Path) -> LayerError {
    LayerError::new(Layer::Pid1, errno.raw_os_error(), words(what, path))
}

fn words(what: &str, path: &Path) -> String {
    format!("{what} `{}`", path.display())
}
