//! Layer 7: Landlock, the kernel's own path rules, as a second opinion on the new root.
//!
//! Interface 2 is required (renames across folders can be governed). What newer interfaces add is used where present: 3
//! governs truncation, 5 device controls, 6 keeps signals and abstract sockets inside.

use std::os::fd::AsFd;

use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::outcome::Layer;
use crate::plan::{Access, Rule};
use crate::sys::{self, LandlockAttr};

use crate::layer::LayerError;

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const MAKE_CHAR: u64 = 1 << 6;
const MAKE_BLOCK: u64 = 1 << 11;
/// Interface 1: the rights up to making a symbolic link.
const ALL_V1: u64 = (1 << 13) - 1;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;
const SCOPE_ABSTRACT_SOCKET: u64 = 1;
const SCOPE_SIGNAL: u64 = 1 << 1;
/// The oldest interface that is accepted.
pub(crate) const ABI_MIN: i64 = 2;

/// The newest interface that this file knows how to use.
const ABI_KNOWN: i64 = 6;

/// What is governed at an interface version.
fn attributes(abi: i64) -> (LandlockAttr, usize) {
    let mut access_fs = ALL_V1 | REFER;
    if abi >= 3 {
        access_fs |= TRUNCATE;
    }
    if abi >= 5 {
        access_fs |= IOCTL_DEV;
    }
    let scoped = if abi >= 6 { SCOPE_ABSTRACT_SOCKET | SCOPE_SIGNAL } else { 0 };
    // The size tells the kernel which fields we know: 8 bytes up to interface 3, 16 up to 5, then 24.
    let size = match abi {
        ..=3 => 8,
        4 | 5 => 16,
        6.. => 24,
    };
    (LandlockAttr { access_fs, access_net: 0, scoped }, size)
}

/// Confines this process to the rules; rules for paths that do not exist are left out.
pub(crate) fn apply(rules: &[Rule]) -> Result<(), LayerError> {
    let abi = sys::landlock_abi().map_err(at("ask for Landlock"))?;
    if abi < ABI_MIN {
        let what = format!("Landlock interface {abi} is older than {ABI_MIN}");
        return Err(LayerError::new(Layer::Landlock, 0, what));
    }
    let (attr, size) = attributes(abi.min(ABI_KNOWN));
    let set = sys::landlock_create(&attr, size).map_err(at("make a rule set"))?;
    for rule in rules {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let Ok(parent) = openat(CWD, &rule.path, flags, Mode::empty()) else {
            continue;
        };
        let stat = rustix::fs::fstat(&parent).map_err(|errno| at("look at a path")(errno.into()))?;
        let is_dir = rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Directory;
        let mut allowed = rights(rule.access) & attr.access_fs;
        if !is_dir {
            allowed &= EXECUTE | READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV;
        }
        sys::landlock_allow(set.as_fd(), parent.as_fd(), allowed).map_err(at("add a rule"))?;
    }
    sys::landlock_restrict(set.as_fd()).map_err(at("confine the process"))
}

fn rights(access: Access) -> u64 {
    match access {
        Access::Read => EXECUTE | READ_FILE | READ_DIR,
        // Device nodes are made by nobody inside.
        Access::Write => (ALL_V1 & !(MAKE_CHAR | MAKE_BLOCK)) | REFER | TRUNCATE,
        Access::Device => READ_FILE | WRITE_FILE | TRUNCATE,
        Access::Terminal => READ_DIR | READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV,
    }
}

fn at(what: &'static str) -> impl Fn(std::io::Error) -> LayerError {
    move |error| LayerError::new(Layer::Landlock, error.raw_os_error().unwrap_or(0), what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_interface_governs_at_least_what_the_older_one_does() {
        for abi in ABI_MIN..ABI_KNOWN {
            let ((old, old_size), (new, new_size)) = (attributes(abi), attributes(abi + 1));
            assert_eq!(old.access_fs & new.access_fs, old.access_fs);
            assert!(old_size <= new_size);
        }
    }

    #[test]
    fn reading_grants_no_writing() {
        assert_eq!(rights(Access::Read) & (WRITE_FILE | TRUNCATE | REFER), 0);
    }
}
