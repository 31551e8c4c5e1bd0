//! A bundle gives a session back as it was, and says what is wrong with one that was cut or changed.

use super::journal::{Outcome, bodies, open, options, put};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use tripwire_journal::bundle::{self, BundleError, Exported, Unpacked};
use tripwire_journal::keys::KeyHome;
use tripwire_journal::storage::Disk;
use tripwire_journal::verify::{Trust, verify};
use tripwire_journal::{Durability, Journal, JournalError};

struct Bundled {
    journal: Journal<Disk>,
    exported: Exported,
    bytes: Vec<u8>,
}

/// A session with several segments, a checkpoint and a body that is too large for a line, and its bundle.
fn bundled(temp: &Path) -> Result<Bundled, Box<dyn std::error::Error>> {
    let home = KeyHome::at(temp.join("state"));
    let workspace = temp.join("workspace");
    fs::create_dir_all(&workspace)?;
    let mut journal = open(&workspace.join("geometry"))?;
    let signer = home.signer(&workspace)?;
    for index in 0..40 {
        put(&mut journal, &[&index.to_string()], Durability::Grouped);
    }
    let witness = home.witness(&journal.paths().clone());
    journal.turn()?.checkpoint(&signer, Some(&witness))?;
    put(&mut journal, &[&large()], Durability::Synced);
    let mut bytes = Vec::new();
    let exported = bundle::write(&mut journal, home.verifier()?.as_ref(), &mut bytes)?;
    Ok(Bundled { journal, exported, bytes })
}

fn large() -> String {
    format!("\"{}\"", "x".repeat(2 << 20))
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

fn bodies_of(unpacked: &Unpacked) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    Ok(bodies(&Journal::open(Disk, unpacked.paths(), options())?)?)
}

#[test]
fn a_bundle_gives_every_record_checkpoint_and_blob_back() -> Outcome {
    let temp = tempfile::tempdir()?;
    let Bundled { journal, exported, bytes } = bundled(temp.path())?;
    assert_eq!(exported, Exported { records: 41, checkpoints: 1, blobs: 1 });
    assert!(bundle::is_bundle(&bytes) && !bundle::is_bundle(b"{\"b\":1}"));
    let unpacked = bundle::unpack(bytes.as_slice())?;
    assert_eq!((unpacked.problem.as_deref(), unpacked.records()), (None, 41));
    assert_eq!(bodies_of(&unpacked)?, bodies(&journal)?);
    let trust = Trust { verifier: unpacked.key.clone(), ..Trust::default() };
    let report = verify(&Disk, &unpacked.paths(), &trust)?;
    assert!(report.holds(), "{report:?}");
    assert_eq!((report.records, report.checkpoints_trusted, report.covered), (41, 1, 40));
    Ok(())
}

#[test]
fn log_4_a_session_below_a_path_that_is_no_text_is_bundled_whole() -> Outcome {
    let temp = tempfile::tempdir()?;
    let odd = temp.path().join(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir(&odd)?;
    let Bundled { journal, exported, bytes } = bundled(&odd)?;
    assert_eq!(exported, Exported { records: 41, checkpoints: 1, blobs: 1 });
    assert_eq!(bodies_of(&bundle::unpack(bytes.as_slice())?)?, bodies(&journal)?);
    Ok(())
}

#[test]
fn log_4_an_export_that_would_leave_records_out_fails() -> Outcome {
    let temp = tempfile::tempdir()?;
    let Bundled { mut journal, .. } = bundled(temp.path())?;
    let first = journal.paths().dir().join("00000001.jsonl");
    fs::rename(&first, first.with_extension("away"))?;
    match bundle::write(&mut journal, None, Vec::new()) {
        Err(BundleError::Incomplete { found, expected: 41 }) => assert!(found < 41, "{found}"),
        other => return Err(format!("{other:?}").into()),
    }
    Ok(())
}

#[test]
fn log_4_an_export_fails_where_checkpoints_cannot_be_listed() -> Outcome {
    let temp = tempfile::tempdir()?;
    let Bundled { mut journal, .. } = bundled(temp.path())?;
    let checkpoints = journal.paths().dir().join("checkpoints");
    fs::rename(&checkpoints, temp.path().join("away"))?;
    fs::write(&checkpoints, "a file in the folder's place")?;
    let refused = bundle::write(&mut journal, None, Vec::new());
    assert!(matches!(refused, Err(BundleError::File(_))), "{refused:?}");
    fs::remove_file(&checkpoints)?;
    let exported = bundle::write(&mut journal, None, Vec::new())?;
    assert_eq!((exported.records, exported.checkpoints), (41, 0), "a session without checkpoints has none");
    Ok(())
}

#[test]
fn log_4_folders_that_an_ended_process_left_are_passed_over() -> Outcome {
    let temp = tempfile::tempdir()?;
    let bytes = bundled(temp.path())?.bytes;
    let name = |number: u32| std::env::temp_dir().join(format!("tripwire-bundle-{}-{number}", std::process::id()));
    let left: Vec<_> = (0..60).map(name).filter(|folder| fs::create_dir(folder).is_ok()).collect();
    let unpacked = bundle::unpack(bytes.as_slice())?;
    assert_eq!(bodies_of(&unpacked)?.len(), 41);
    left.iter().try_for_each(fs::remove_dir)?;
    Ok(())
}

#[test]
fn log_4_every_refusal_of_a_bundle_says_what_to_do() {
    use tripwire_core::explain::{ExitClass, Explain as _};
    for (error, words, class) in [
        (BundleError::Io(std::io::ErrorKind::BrokenPipe.into()), "check the disk", ExitClass::BadInput),
        (BundleError::Incomplete { found: 1, expected: 2 }, "tripwire verify", ExitClass::DoesNotHold),
        (BundleError::NoBundle { problem: "it is empty".to_owned() }, "tripwire export", ExitClass::BadInput),
        (BundleError::Newer { found: 2 }, "newer tripwire", ExitClass::BadInput),
        (BundleError::Journal(JournalError::NoSession("x".to_owned())), "tripwire status", ExitClass::BadInput),
    ] {
        assert!(error.hint().contains(words), "{error}: {}", error.hint());
        assert_eq!(error.exit_class(), class, "{error}");
    }
}

#[test]
fn what_is_appended_after_the_export_is_not_in_it() -> Outcome {
    let temp = tempfile::tempdir()?;
    let Bundled { mut journal, bytes, .. } = bundled(temp.path())?;
    put(&mut journal, &["\"later\""], Durability::Synced);
    assert_eq!(bodies_of(&bundle::unpack(bytes.as_slice())?)?.len(), 41);
    Ok(())
}

#[test]
fn the_last_line_counts_the_lines_before_it() -> Outcome {
    let temp = tempfile::tempdir()?;
    let bytes = bundled(temp.path())?.bytes;
    let lines = lines(&bytes);
    let (last, rest) = lines.split_last().expect("a bundle has lines");
    let end: serde_json::Value = serde_json::from_slice(last)?;
    assert_eq!(end["end"]["lines"], rest.len());
    Ok(())
}

#[test]
fn a_bundle_that_was_cut_says_so_wherever_the_cut_is() -> Outcome {
    let temp = tempfile::tempdir()?;
    let bytes = bundled(temp.path())?.bytes;
    let lines = lines(&bytes);
    for kept in 1..lines.len() {
        let cut = lines.get(..kept).expect("fewer lines").concat();
        let unpacked = bundle::unpack(cut.as_slice())?;
        assert_eq!(unpacked.problem.as_deref(), Some("it is cut off: the end is missing"), "{kept} lines");
    }
    Ok(())
}

#[test]
fn a_line_that_was_changed_removed_or_doubled_is_noticed() -> Outcome {
    let temp = tempfile::tempdir()?;
    let bytes = bundled(temp.path())?.bytes;
    let whole = lines(&bytes);
    let record = whole.iter().position(|line| line.starts_with(b"{\"b\":7,")).expect("the record with 7");
    let changed = whole[record].to_vec();
    let changed = String::from_utf8(changed)?.replacen("{\"b\":7,", "{\"b\":8,", 1).into_bytes();
    let mut altered = whole.clone();
    altered[record] = &changed;
    let mut removed = whole.clone();
    removed.remove(record);
    let mut doubled = whole.clone();
    doubled.insert(record, whole[record]);
    for lines in [altered, removed, doubled] {
        let unpacked = bundle::unpack(lines.concat().as_slice())?;
        assert_eq!(unpacked.problem.as_deref(), Some("it is not what was exported"));
        let report = verify(&Disk, &unpacked.paths(), &Trust::default())?;
        assert_eq!(report.first_bad_index.map(|index| index == 7 || index == 8), Some(true), "{report:?}");
    }
    Ok(())
}

#[test]
fn a_changed_blob_is_missing_under_the_name_that_was_promised() -> Outcome {
    let temp = tempfile::tempdir()?;
    let bytes = bundled(temp.path())?.bytes;
    let text = String::from_utf8(bytes)?.replacen("\"base64\":\"Inh4", "\"base64\":\"Inh5", 1);
    let unpacked = bundle::unpack(text.as_bytes())?;
    assert!(unpacked.problem.is_some());
    assert!(bodies_of(&unpacked).is_err());
    Ok(())
}

#[test]
fn what_is_no_bundle_is_refused_with_what_was_found() {
    let head = |version: u32| {
        format!("{{\"bundle\":{{\"key\":null,\"records\":0,\"session\":\"s-1\",\"version\":{version}}}}}\n")
    };
    for (text, problem) in [
        (String::new(), "it is empty"),
        ("{\"segment\":1}\n".to_owned(), "it has no head"),
        ("no JSON\n".to_owned(), "expected"),
        (head(1).replace("s-1", "../s"), "this is no bundle"),
    ] {
        let error = bundle::unpack(text.as_bytes()).expect_err("no bundle");
        assert!(matches!(error, BundleError::NoBundle { .. }) && error.to_string().contains(problem), "{error}");
    }
    assert!(matches!(bundle::unpack(head(2).as_bytes()), Err(BundleError::Newer { found: 2 })));
}

#[test]
fn a_line_before_the_first_segment_that_cannot_be_read_is_named() -> Outcome {
    let temp = tempfile::tempdir()?;
    let bytes = bundled(temp.path())?.bytes;
    let mut lines = lines(&bytes);
    lines.insert(1, b"not a line of a bundle\n");
    let unpacked = bundle::unpack(lines.concat().as_slice())?;
    assert_eq!(unpacked.problem.as_deref(), Some("line 2 cannot be read"));
    Ok(())
}

#[test]
fn the_folder_is_the_users_own_and_goes_with_the_value() -> Outcome {
    let temp = tempfile::tempdir()?;
    let bytes = bundled(temp.path())?.bytes;
    let (first, second) = (bundle::unpack(bytes.as_slice())?, bundle::unpack(bytes.as_slice())?);
    let folder = |unpacked: &Unpacked| unpacked.paths().dir().ancestors().nth(2).expect("a folder").to_owned();
    assert_ne!(folder(&first), folder(&second));
    assert_eq!(fs::metadata(folder(&first))?.permissions().mode() & 0o777, 0o700);
    let place = folder(&first);
    drop(first);
    assert!(!place.exists() && folder(&second).exists());
    Ok(())
}
