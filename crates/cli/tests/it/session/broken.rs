//! Broken surroundings: nothing goes through, and the person is told the cause and the fix (CONST-5).

use crate::session::fixture::{Place, Said, call, calls, feed, of_version, skip};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

#[test]
fn const_5_a_policy_that_cannot_be_read_begins_no_session() {
    for (text, words) in [
        ("safety: [", "MANIFEST.yaml"),
        ("safety:\n  max_iteratoins: 5\n", "max_iteratoins"),
        ("safety:\n  max_iterations: many\n", "max_iterations"),
        ("safety: 7\n", "safety"),
        ("\u{0}\u{1}", "MANIFEST.yaml"),
    ] {
        let place = Place::new();
        place.manifest(text);
        place.step(&calls(1)).ended(2).complains(words);
        assert!(!place.geometry("journal").exists(), "no session for {text:?}");
        assert_eq!(fs::read_to_string(place.geometry("MANIFEST.yaml")).unwrap(), text, "nothing is lost");
    }
}

#[test]
fn const_5_a_manifest_that_breaks_in_a_running_session_holds_it_until_it_is_mended() {
    let place = Place::new();
    place.step(&calls(1)).ended(0);
    let good = fs::read_to_string(place.geometry("MANIFEST.yaml")).unwrap();
    fs::write(place.geometry("MANIFEST.yaml"), "safety: [").unwrap();
    place.step(&calls(1)).ended(9).says("GUARD_FAILURE");
    fs::write(place.geometry("MANIFEST.yaml"), good).unwrap();
    place.step(&calls(1)).ended(0);
}

#[test]
fn const_5_a_wrong_value_in_a_running_session_holds_it_and_one_that_is_another_is_drift() {
    let place = Place::new();
    place.manifest("loops:\n  loop_repeat_threshold: 3\n");
    place.step(&calls(1)).ended(0);
    let good = fs::read_to_string(place.geometry("MANIFEST.yaml")).unwrap();
    let edit = |value: &str| {
        let text = good.replacen("loop_repeat_threshold: 3", &format!("loop_repeat_threshold: {value}"), 1);
        fs::write(place.geometry("MANIFEST.yaml"), text).unwrap();
    };
    edit("many");
    place.step(&call("held", "held")).ended(9).says("GUARD_FAILURE").says("many");
    edit("7");
    place.step(&call("drift", "drift")).ended(0).says("`7` on disk; not applied");
    edit("3");
    let back = place.step(&call("back", "back")).ended(0).says("is `3` on disk again, as it is in force");
    assert!(!back.out.contains("`3` on disk; not applied"), "{}", back.out);
}

#[test]
fn const_5_a_geometry_that_is_a_link_is_refused_with_cause_and_fix() {
    let place = Place::new();
    let elsewhere = place.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, place.work().join(".geometry")).unwrap();
    for verb in [&["step"][..], &["status"], &["stop"], &["verify"]] {
        place.run(verb).ended(9).complains("is a symbolic link").complains("rm ");
    }
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn const_5_a_geometry_that_may_not_be_written_is_refused() {
    let place = Place::new();
    place.step(&calls(1)).ended(0);
    for folder in [place.path().to_owned(), place.work()] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::set_permissions(place.geometry(""), fs::Permissions::from_mode(0o555)).unwrap();
    let mut command = place.command(&["step"]);
    if rustix::process::geteuid().is_root() {
        // Root may write anywhere; another user may run the binary only if it can be reached.
        command.uid(65_534).gid(65_534);
    }
    match command.output() {
        Ok(output) => {
            let said = Said::of(output).ended(9);
            assert!(said.err.contains(".geometry"), "{}", said.err);
            said.complains("hint: ");
        }
        Err(error) => skip(&format!("the binary cannot be run as another user: {error}")),
    }
    fs::set_permissions(place.geometry(""), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn const_5_a_full_disk_lets_nothing_through_and_loses_nothing() {
    let place = Place::new();
    let mounted = rustix::process::geteuid().is_root()
        && Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=256k", "tmpfs"])
            .arg(place.work())
            .status()
            .is_ok_and(|status| status.success());
    if !mounted {
        return skip("a full disk needs root and a mount");
    }
    place.step(&calls(3)).ended(0);
    fs::write(place.work().join("filler"), vec![0; 1 << 20]).ok();
    // What the journal's last page has room for may still be written; then nothing passes any more.
    let mut passed = 0;
    let full = loop {
        let said = place.step(&calls(1));
        if said.code != 0 || passed == 20 {
            break said;
        }
        passed += 1;
    };
    fs::remove_file(place.work().join("filler")).unwrap();
    let again = place.step(&calls(1));
    let verified = place.run(&["verify", "--json"]);
    let replayed = place.run(&["replay", &place.session()]);
    Command::new("umount").arg(place.work()).status().unwrap();
    full.ended(9).complains("space");
    again.ended(0);
    let records = verified.ended(0).json()["records"].as_u64().unwrap();
    // What was refused may be there or not, or only its input: it was never acknowledged. The rest is all there.
    assert!((9 + 2 * passed..=11 + 2 * passed).contains(&records), "{records} after {passed}");
    replayed.ended(0).says("equal");
}

#[test]
fn const_5_a_second_writer_waits_and_then_says_who_is_in_the_way() {
    let place = Place::new();
    place.step(&calls(1)).ended(0);
    let head = fs::File::options().read(true).write(true).open(place.journal("HEAD")).unwrap();
    rustix::fs::flock(&head, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let said = place.step(&calls(1));
    rustix::fs::flock(&head, rustix::fs::FlockOperation::Unlock).unwrap();
    said.ended(9).complains("another process holds the lock");
    place.step(&calls(1)).ended(0);
    place.run(&["verify"]).ended(0).says("5 records verify");
}

#[test]
fn const_5_a_state_file_of_a_newer_version_is_refused_and_left_alone() {
    let place = Place::new();
    place.step(&calls(1)).ended(0);
    let state = place.state_file();
    let newer = of_version(99, &fs::read(&state).unwrap());
    fs::write(&state, &newer).unwrap();
    place.step(&calls(1)).ended(9).complains("is of version 99").complains("newer tripwire");
    assert_eq!(fs::read(&state).unwrap(), newer);
    fs::remove_file(&state).unwrap();
    place.step(&calls(1)).ended(0);
}

#[test]
fn without_a_home_the_guard_works_and_says_that_nothing_is_signed() {
    let place = Place::new();
    let mut command = place.command(&["step"]);
    command.env_remove("HOME").env_remove("XDG_STATE_HOME");
    Said::of(feed(command, calls(1).as_bytes())).ended(0);
    let mut command = place.command(&["verify"]);
    command.env_remove("HOME").env_remove("XDG_STATE_HOME");
    Said::of(command.output().unwrap()).ended(0).says("no checkpoint is signed");
}

#[test]
fn a_key_that_others_can_read_signs_nothing_and_says_so() {
    let place = Place::new();
    place.step(&calls(1)).ended(0);
    let key = place.path().join("state/tripwire/keys/journal.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let said = place.step(&calls(4)).ended(0);
    assert!(said.err.contains("no checkpoint was signed"), "{}", said.err);
}
