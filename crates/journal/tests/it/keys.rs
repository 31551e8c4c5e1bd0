//! The person's key and what lies beside it: where it is looked for, who may read it, what it says about lost sessions.

use super::journal::{Outcome, open, put};
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use tripwire_core::explain::Explain as _;
use tripwire_journal::keys::KeyHome;
use tripwire_journal::wall_clock::WallClock;
use tripwire_journal::{Durability, JournalError, SessionId, SessionPaths};

/// A key home and a workspace beside it.
fn home(temp: &Path) -> (KeyHome, std::path::PathBuf) {
    let workspace = temp.join("workspace");
    fs::create_dir_all(&workspace).expect("a workspace");
    (KeyHome::at(temp.join("state")), workspace)
}

#[test]
fn the_key_is_looked_for_below_the_state_folder_or_the_home() {
    let text = |value: &'static str| Some(OsStr::new(value));
    let found = |state, home| KeyHome::locate(state, home).map(|home| home.secret_path().display().to_string());
    assert_eq!(found(text("/s"), None).as_deref(), Some("/s/tripwire/keys/journal.key"));
    assert_eq!(found(None, text("/h")).as_deref(), Some("/h/.local/state/tripwire/keys/journal.key"));
    assert_eq!(found(text(""), text("/h")), found(None, text("/h")));
    assert_eq!(found(text("s"), text("h")), None, "a relative folder is another one for each process");
    let home = KeyHome::at("/s".into());
    assert_eq!(home.for_identity().secret_path(), Path::new("/s/keys/identity.key"));
    assert_eq!(home.folders(), [Path::new("/s/keys").to_owned(), Path::new("/s/witness").to_owned()]);
}

#[test]
fn asking_for_a_key_makes_none_and_a_seed_makes_one() -> Outcome {
    let temp = tempfile::tempdir()?;
    let (home, workspace) = home(temp.path());
    assert!(!home.has_key()?);
    let seed = home.link_seed(&workspace)?;
    assert!(home.has_key()?);
    assert_eq!(home.link_seed(&workspace)?, seed);
    assert_ne!(home.redaction_seed(&workspace)?, seed, "each purpose has a seed of its own");
    assert!(home.redaction_seed(temp.path()).is_err(), "the key would lie in the workspace");
    Ok(())
}

#[test]
fn a_key_that_anybody_else_may_read_write_or_run_is_refused() -> Outcome {
    let temp = tempfile::tempdir()?;
    let (home, workspace) = home(temp.path());
    home.signer(&workspace)?;
    for mode in [0o601, 0o602, 0o604, 0o610, 0o620, 0o640, 0o677] {
        fs::set_permissions(home.secret_path(), Permissions::from_mode(mode))?;
        let refused = home.has_key().expect_err("others can read it").to_string();
        assert!(refused.ends_with("cannot be used: others than its owner can read it"), "{mode:o}: {refused}");
    }
    for mode in [0o400, 0o600, 0o700] {
        fs::set_permissions(home.secret_path(), Permissions::from_mode(mode))?;
        assert!(home.has_key()?, "{mode:o}");
    }
    Ok(())
}

#[test]
fn what_cannot_be_used_as_a_key_says_why() -> Outcome {
    let temp = tempfile::tempdir()?;
    let (home, workspace) = home(temp.path());
    let verifier = home.signer(&workspace)?.verifier();
    let public = temp.path().join("state/keys/journal.pub");
    assert_eq!(fs::read_to_string(&public)?, format!("{verifier}\n"));
    fs::write(&public, "changed")?;
    let cause = home.verifier().expect_err("no key").to_string();
    assert!(cause.ends_with("it is not a verifier key"), "{cause}");
    assert_eq!(home.signer(&workspace)?.verifier(), verifier);
    assert_eq!(home.verifier()?, Some(verifier), "signing puts the public half back");
    fs::write(home.secret_path(), "no key")?;
    for error in [home.has_key().expect_err("no key"), home.link_seed(&workspace).expect_err("no key")] {
        assert!(error.to_string().ends_with("it is not a signing key"), "{error}");
        assert!(error.hint().starts_with("make the key file readable by you alone"));
    }
    let inside = home.signer(temp.path()).expect_err("inside");
    assert!(inside.to_string().ends_with("it lies inside the workspace that it guards"), "{inside}");
    fs::remove_file(home.secret_path())?;
    fs::create_dir(home.secret_path())?;
    assert!(matches!(home.has_key(), Err(JournalError::Io { .. } | JournalError::Key { .. })));
    Ok(())
}

#[test]
fn no_link_leads_a_key_into_the_workspace_and_one_that_leads_elsewhere_is_followed() -> Outcome {
    let temp = tempfile::tempdir()?;
    let (home, workspace) = home(temp.path());
    let state = temp.path().join("state");
    std::os::unix::fs::symlink(workspace.join("not-there-yet"), &state)?;
    for refused in [home.signer(&workspace).expect_err("inside"), home.link_seed(&workspace).expect_err("inside")] {
        assert!(refused.to_string().ends_with("it lies inside the workspace that it guards"), "{refused}");
    }
    assert!(!workspace.join("not-there-yet").exists(), "nothing was made there");
    fs::remove_file(&state)?;
    std::os::unix::fs::symlink("state", &state)?;
    let circle = home.signer(&workspace).expect_err("a circle").to_string();
    assert!(circle.ends_with("where its links lead cannot be known"), "{circle}");
    fs::remove_file(&state)?;
    fs::create_dir(temp.path().join("elsewhere"))?;
    std::os::unix::fs::symlink("elsewhere", &state)?;
    home.signer(&workspace)?;
    assert!(temp.path().join("elsewhere/keys/journal.key").exists());
    Ok(())
}

#[test]
fn trusted_keys_are_listed_one_on_each_line() -> Outcome {
    let temp = tempfile::tempdir()?;
    let (home, workspace) = home(temp.path());
    let other = |name: &str| KeyHome::at(temp.path().join(name)).signer(&workspace).map(|signer| signer.verifier());
    let (one, two) = (other("one")?, other("two")?);
    assert!(home.trust_key(&workspace, &one)? && home.trust_key(&workspace, &two)?);
    let list = temp.path().join("state/keys/trusted.pub");
    assert_eq!(fs::read_to_string(&list)?, format!("{one}\n{two}\n"));
    fs::write(&list, format!("\n{two}\n \n{one}\n"))?;
    assert_eq!(home.trusted()?, [two, one]);
    Ok(())
}

#[test]
fn a_session_that_was_vouched_for_and_is_gone_is_lost() -> Outcome {
    let temp = tempfile::tempdir()?;
    let (home, workspace) = home(temp.path());
    let geometry = workspace.join("geometry");
    let mut journal = open(&geometry)?;
    put(&mut journal, &["1"], Durability::Synced);
    let paths = journal.paths().clone();
    let witness = home.witness(&paths);
    assert_eq!(witness.parent(), Some(temp.path().join("state/witness").as_path()));
    let file = witness.file_name().and_then(OsStr::to_str).expect("a name");
    let place = file.strip_prefix(&format!("{}-", paths.session())).and_then(|rest| rest.strip_suffix(".note"));
    assert!(
        place.is_some_and(|place| place.len() == 16 && place.bytes().all(|byte| byte.is_ascii_hexdigit())),
        "{file}"
    );
    let other = SessionPaths::new(&geometry, &SessionId::first(WallClock::from_epoch_ms(5_000)));
    assert_ne!(home.witness(&other), witness);
    assert_ne!(home.witness(&SessionPaths::new(temp.path(), paths.session())), witness, "another workspace");
    let signer = home.signer(&workspace)?;
    journal.turn()?.checkpoint(&signer, Some(&witness))?;
    let trust = home.trust(&paths)?;
    assert_eq!((trust.verifier, trust.witness), (Some(signer.verifier()), Some(witness.clone())));
    assert!(home.lost(&geometry).is_empty(), "it is there");
    fs::write(temp.path().join("state/witness/other.note"), "")?;
    fs::remove_dir_all(paths.dir())?;
    assert_eq!(home.lost(&geometry), [(paths.session().to_string(), witness)]);
    assert!(home.lost(temp.path()).is_empty(), "of another workspace it was not");
    assert!(KeyHome::at(temp.path().join("empty")).lost(&geometry).is_empty());
    Ok(())
}
