//! The machine itself: its power, its users, all its processes, its firewall, its schedule.

use crate::hold::{GuardRule, Hold};
use crate::line::call::{Call, Place, rest_of};
use crate::line::command;
use crate::line::stream::Stream;
use crate::site::Site;
use crate::world::Schedule;

/// Judges a call that may end the machine or what others run on it.
pub(super) fn judge(site: &Site<'_>, call: &Call) -> Option<Hold> {
    if matches!(call.place, Place::Container | Place::Mounted) || call.has_any(&["--help", "--version"]) {
        return None;
    }
    let words = call.words();
    let first = words.first().map(String::as_str).unwrap_or_default();
    let command = command::words(call);
    let verb = command.first().map(String::as_str).unwrap_or_default();
    let says = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    let reason = match call.name().as_str() {
        "shutdown" if !says(&["-c", "--show"]) => "it switches the machine off",
        "reboot" | "halt" | "poweroff" => "it switches the machine off or restarts it",
        "init" | "telinit" if matches!(first, "0" | "6") => "it switches the machine off or restarts it",
        "systemctl"
            if matches!(
                verb,
                "reboot" | "poweroff" | "halt" | "kexec" | "suspend" | "hibernate" | "rescue" | "emergency"
            ) =>
        {
            "it switches the machine off or restarts it"
        }
        "systemctl" if verb == "isolate" && says_target(&command) => "it switches the machine off or restarts it",
        "loginctl" if matches!(verb, "terminate-user" | "kill-user" | "terminate-seat") => {
            "it ends every process of a user"
        }
        "kill" if ends_everything(&words) => "it ends every process that this user may end",
        "killall5" => "it ends every process",
        "pkill" | "killall" if says(&["-u", "-U", "--user", "--euid"]) && call.operands().len() <= 1 => {
            "it ends every process of a user"
        }
        "userdel" | "deluser" | "groupdel" | "delgroup" => "it deletes a user or a group",
        "sysadminctl" if says(&["-deleteUser"]) => "it deletes a user or a group",
        "dscl" if says(&["-delete", "delete"]) => "it deletes a user or a group",
        "iptables" | "ip6tables" if says(&["-F", "--flush", "-X"]) => "it empties the firewall",
        "nft" if verb.split(' ').next() == Some("flush") && !says(&["-c", "--check"]) => "it empties the firewall",
        "ufw" if verb == "reset" && !call.is_dry_run() => "it empties the firewall",
        "crontab" => return schedule(site, call),
        "atrm" => "it deletes jobs of the schedule",
        "journalctl" if words.iter().any(|word| word.starts_with("--vacuum")) => {
            "it deletes records of the system's journal"
        }
        "dmesg" if call.has_short(&['C', 'c']) || says(&["--clear", "--read-clear"]) => {
            "it deletes the kernel's messages"
        }
        "auditctl" if call.has_short(&['D']) => "it deletes the rules of the audit",
        "ausearch" | "aureport" => return None,
        "wevtutil" if matches!(verb, "cl" | "clear-log") => "it deletes a log of the system",
        "log" if first == "erase" => "it deletes the system's log",
        "pm2" if first == "flush" => "it deletes the logs of the programs that it runs",
        "history" if call.has_short(&['c']) && call.has_short(&['w']) => "it deletes the history of the shell",
        _ => return None,
    };
    Some(Hold::plain(GuardRule::System, reason))
}

/// Whether a target ends what runs: `rescue.target`.
fn says_target(command: &[String]) -> bool {
    let target = command.get(1).map(|word| word.trim_end_matches(".target")).unwrap_or_default();
    matches!(target, "rescue" | "emergency" | "poweroff" | "reboot" | "halt" | "kexec")
}

/// `crontab`: deleting the schedule, or replacing it by one that is not made from it.
fn schedule(site: &Site<'_>, call: &Call) -> Option<Hold> {
    let held = |reason: &str| Some(Hold::plain(GuardRule::System, reason));
    if call.has_short(&['l']) {
        site.world.note_schedule_read();
        return None;
    }
    if call.has_short(&['r']) {
        return held("it deletes the whole schedule of a user");
    }
    if call.has_short(&['e', 'T', 'V', 'h', 'n', 'c']) || site.world.schedule() == Schedule::Read {
        return None;
    }
    // Without a file it waits for one at the terminal.
    let (_, files) = rest_of(call.args.get(1..).unwrap_or_default(), &["-u"], 0);
    let reads = files.is_empty() && call.stdin == Stream::Closed;
    if reads { None } else { held("it replaces the whole schedule of a user") }
}

/// `kill -9 -1` in its forms: the last word is a process group, not a signal.
fn ends_everything(words: &[String]) -> bool {
    let mut targets = words.iter().map(String::as_str).peekable();
    match targets.peek() {
        Some(&"-s" | &"-n" | &"--signal") => {
            targets.next();
            targets.next();
        }
        Some(word) if word.starts_with('-') && words.len() > 1 => {
            targets.next();
        }
        _ => {}
    }
    let mut targets = targets.filter(|word| *word != "--");
    targets.any(|word| word == "-1")
}
