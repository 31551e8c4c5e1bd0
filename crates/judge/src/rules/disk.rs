//! Disk tools: partitions, file systems, volumes, secure erasure.

use crate::hold::{GuardRule, Hold};
use crate::line::call::{Call, Place};
use crate::line::command;
use crate::line::field::Field;
use crate::site::Site;
use crate::world::{Spot, Zone};

/// Judges a call of a disk tool.
pub(super) fn judge(site: &Site<'_>, call: &Call) -> Option<Hold> {
    let name = call.name();
    if call.has_any(&["--help", "--version", "-V", "-h"]) {
        return None;
    }
    let makes = name.starts_with("mkfs") || matches!(name.as_str(), "mke2fs" | "mkswap" | "mkdosfs" | "newfs");
    let only_shows = match name.as_str() {
        "mkfs.ext2" | "mkfs.ext3" | "mkfs.ext4" | "mke2fs" | "mkfs.ntfs" | "mkntfs" => call.has_short(&['n']),
        "mkfs.xfs" => call.has_short(&['N']),
        "sfdisk" => {
            call.has_any(&["-d", "--dump", "-J", "--json", "-F", "--list-free", "-s", "--show-size", "--verify"])
        }
        _ => false,
    };
    if only_shows {
        return None;
    }
    if makes {
        return (!is_image(site, call)).then(|| held("it makes a new file system over what is there"));
    }
    let words = call.words();
    let says = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    let command = command::words(call);
    let verb = command.first().map(String::as_str).unwrap_or_default();
    let listing = call.has_any(&["-l", "--list", "-p", "--print", "-i", "--info"]) || says(&["print", "list"]);
    let reason = match name.as_str() {
        "wipefs" if call.has_short(&['a', 'o']) || call.has_any(&["--all", "--offset"]) => {
            "it wipes file system signatures"
        }
        "fdisk" | "sfdisk" | "cfdisk" | "gdisk" | "cgdisk" | "sgdisk" | "parted" | "gparted" if !listing => {
            "it changes the partitions of a disk"
        }
        "blkdiscard" => "it discards everything on a device",
        "cryptsetup"
            if matches!(
                verb,
                "luksFormat" | "luksErase" | "erase" | "reencrypt" | "luksRemoveKey" | "luksKillSlot" | "luksKillslot"
            ) =>
        {
            "it makes an encrypted volume unreadable"
        }
        "lvremove" | "vgremove" | "pvremove" => "it removes a volume",
        "lvreduce" if !call.has_any(&["-t", "--test"]) => "it makes a volume smaller than what is on it",
        "xfs_repair" if call.has_short(&['L']) => "it throws away the log of a file system",
        "ddrescue" | "dcfldd" | "bmaptool" if devices(site, call) => "it overwrites a device",
        "zpool" | "zfs" if matches!(verb, "destroy" | "labelclear" | "rollback") && !call.has_short(&['n']) => {
            "it destroys a pool, a data set or newer snapshots"
        }
        "btrfs" if command.get(1).is_some_and(|word| word == "delete" || word == "del") => {
            "it deletes a subvolume or a device"
        }
        "mdadm" if call.has_any(&["--zero-superblock"]) => "it erases the description of a disk array",
        "mdadm" if call.has_any(&["--create", "-C"]) => "it makes a disk array over what is on its disks",
        "hdparm" if words.iter().any(|word| word.starts_with("--security-erase")) => "it erases a disk",
        "nvme" if matches!(verb, "format" | "sanitize") => "it erases a disk",
        "badblocks" if call.has_short(&['w']) => "it writes test patterns over a disk",
        "diskutil"
            if command.iter().take(2).any(|word| {
                let word = word.to_lowercase();
                word.starts_with("erase")
                    || word.starts_with("delete")
                    || word.starts_with("partition")
                    || word == "zerodisk"
            }) =>
        {
            "it erases a disk"
        }
        "shred" | "wipe" if devices(site, call) => "it overwrites a device",
        _ => return None,
    };
    Some(held(reason))
}

fn held(reason: &str) -> Hold {
    Hold::plain(GuardRule::Disk, reason)
}

fn devices(site: &Site<'_>, call: &Call) -> bool {
    call.operands().into_iter().filter_map(Field::known).any(|name| site.world.is_device(std::path::Path::new(&name)))
}

/// Whether every operand that looks like a path is a plain file of the run: a disk image.
fn is_image(site: &Site<'_>, call: &Call) -> bool {
    let paths = call.operands().into_iter().filter(|field| field.text().contains(['/', '.']));
    let mut any = false;
    for field in paths {
        let near = site.world.spots(field, site.state.cwd()).into_iter().all(|spot| match spot {
            Spot::Path(path) => {
                matches!(site.world.zone(&path), Zone::Inside | Zone::Temporary) && !site.world.is_device(&path)
            }
            Spot::Contents(_) | Spot::Unknown(..) => false,
        });
        if !near {
            return false;
        }
        any = true;
    }
    any && call.place == Place::Here
}
