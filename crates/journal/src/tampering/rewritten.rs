//! What chain and `HEAD` cannot see, because both were made again: only a signature does.

use super::*;

fn signer() -> Signer {
    Signer::from_seed("test", &[5; 32])
}

fn witness() -> PathBuf {
    PathBuf::from("/outside/s.note")
}

fn trust() -> Trust {
    Trust { verifier: Some(signer().verifier()), witness: Some(witness()) }
}

/// Records with checkpoints after 40 and 100 of them.
fn signed() -> SimulatedDisk {
    let disk = SimulatedDisk::new(0);
    let mut journal = open(&disk, 5_000).unwrap();
    for (from, to) in [(0, 40), (40, 100), (100, 120)] {
        append(&mut journal, (from..to).map(|index: u32| index.to_string()));
        if to < 120 {
            let mut turn = journal.turn().unwrap();
            turn.checkpoint(&signer(), Some(&witness())).unwrap();
        }
    }
    disk
}

/// Makes another journal in the same place, with a valid chain and a valid `HEAD`.
fn rewrite(disk: &SimulatedDisk, bodies: impl IntoIterator<Item = String>) {
    for name in disk.list(paths().dir()).unwrap() {
        disk.remove(&paths().dir().join(name)).unwrap();
    }
    append(&mut open(disk, 5_000).unwrap(), bodies);
}

#[test]
fn checkpoints_agree_with_an_untouched_journal() {
    let report = verify(&signed(), &paths(), &trust()).unwrap();
    assert!(report.holds(), "{report:?}");
    assert_eq!((report.records, report.covered), (120, 100));
    // Two notes and the witness, which repeats the second.
    assert_eq!((report.checkpoints, report.checkpoints_trusted), (3, 3));
}

#[test]
fn a_session_that_signs_while_it_is_verified_is_no_tampering() {
    let folder = crate::checkpoint::directory(&paths());
    let change = super::live::Live::new(folder, |disk| {
        let mut journal = open(disk, 5_000).unwrap();
        append(&mut journal, (120..140).map(|index: u32| index.to_string()));
        journal.turn().unwrap().checkpoint(&signer(), Some(&witness())).unwrap();
    });
    let disk = TestDisk { inner: signed(), change };
    let report = verify(&disk, &paths(), &trust()).unwrap();
    assert!(report.holds(), "{report:?}");
    assert_eq!((report.records, report.covered), (140, 140));
}

#[test]
fn log_4_a_whole_file_rewrite_is_found() {
    let disk = signed();
    rewrite(&disk, (0..120).map(|index| if index == 60 { "\"forged\"".into() } else { index.to_string() }));
    let report = verify(&disk, &paths(), &trust()).unwrap();
    assert_eq!(report.first_bad_index, Some(40), "{report:?}");
    rewrite(&disk, (0..120).map(|index| if index == 3 { "\"forged\"".into() } else { index.to_string() }));
    let report = verify(&disk, &paths(), &trust()).unwrap();
    assert_eq!(report.first_bad_index, Some(0), "{report:?}");
}

#[test]
fn log_4_a_truncated_and_rechained_journal_is_found_at_every_length() {
    let disk = signed();
    for length in (0..100).step_by(7) {
        rewrite(&disk, (0..length).map(|index: u32| index.to_string()));
        let report = verify(&disk, &paths(), &trust()).unwrap();
        assert_eq!(report.first_bad_index, Some(u64::from(length)), "{report:?}");
    }
}

#[test]
fn log_4_removing_the_checkpoints_too_is_found_by_the_witness() {
    let disk = signed();
    rewrite(&disk, (0..40).map(|index: u32| index.to_string()));
    let dir = crate::checkpoint::directory(&paths());
    for name in disk.list(&dir).unwrap() {
        disk.remove(&dir.join(name)).unwrap();
    }
    let report = verify(&disk, &paths(), &trust()).unwrap();
    assert_eq!(report.first_bad_index, Some(40), "{report:?}");
}

fn other() -> Signer {
    Signer::from_seed("test", &[6; 32])
}

#[test]
fn log_4_a_checkpoint_by_another_key_is_named_and_vouches_for_nothing() {
    let disk = signed();
    let mut journal = open(&disk, 5_000).unwrap();
    journal.turn().unwrap().checkpoint(&other(), None).unwrap();
    let report = verify(&disk, &paths(), &trust()).unwrap();
    assert!(report.holds(), "{report:?}");
    assert_eq!((report.checkpoints, report.checkpoints_trusted, report.covered), (4, 3, 100));
    let unknown = report.unknown_keys.first().unwrap();
    assert!(report.unknown_keys.len() == 1 && other().verifier().to_string().starts_with(unknown), "{report:?}");
    let unsigned = verify(&disk, &paths(), &Trust::default()).unwrap();
    assert!(unsigned.holds() && unsigned.checkpoints_trusted == 0, "{unsigned:?}");
}

#[test]
fn log_4_a_second_key_leaves_the_first_ones_note_and_the_first_one_goes_on() {
    let disk = signed();
    let mut journal = open(&disk, 5_000).unwrap();
    journal.turn().unwrap().checkpoint(&signer(), Some(&witness())).unwrap();
    journal.turn().unwrap().checkpoint(&other(), None).unwrap();
    let report = verify(&disk, &paths(), &trust()).unwrap();
    assert_eq!((report.holds(), report.checkpoints_trusted, report.covered), (true, 4, 120), "{report:?}");
    append(&mut journal, (120..130).map(|index: u32| index.to_string()));
    journal.turn().unwrap().checkpoint(&signer(), Some(&witness())).unwrap();
    let theirs = Trust { verifier: Some(other().verifier()), witness: None };
    for (trust, covered) in [(trust(), 130), (theirs, 120)] {
        let report = verify(&disk, &paths(), &trust).unwrap();
        assert_eq!((report.holds(), report.covered), (true, covered), "{report:?}");
    }
}

#[test]
fn log_4_records_changed_under_the_own_key_are_found_although_another_key_signed_them() {
    let forged = |index: u32| if index == 60 { "\"forged\"".to_owned() } else { index.to_string() };
    let disk = signed();
    rewrite(&disk, (0..120).map(forged));
    let mut journal = open(&disk, 5_000).unwrap();
    journal.turn().unwrap().checkpoint(&other(), None).unwrap();
    let report = verify(&disk, &paths(), &trust()).unwrap();
    assert_eq!(report.first_bad_index, Some(40), "{report:?}");
    // The own key finds it too when it is to sign next, though the other one's tree is the newest.
    append(&mut journal, ["120".to_owned()]);
    let refused = journal.turn().unwrap().checkpoint(&signer(), Some(&witness()));
    assert!(matches!(&refused, Err(JournalError::Damaged(damage)) if damage.index() == 40), "{refused:?}");
}

#[test]
fn log_4_another_keys_word_about_other_records_is_left_and_found() {
    let disk = signed();
    let note = crate::checkpoint::note_path(&paths(), 120);
    let (origin, root) = (crate::checkpoint::origin(&paths()), Digest::of(b"other records"));
    let before = Checkpoint { origin, size: 120, root }.sign(&other()).into_bytes();
    crate::storage::replace(&disk, &note, &before).unwrap();
    let mut journal = open(&disk, 5_000).unwrap();
    let refused = journal.turn().unwrap().checkpoint(&signer(), Some(&witness()));
    assert!(matches!(refused, Err(JournalError::Checkpoint { .. })), "{refused:?}");
    disk.tamper(&note, |bytes| assert_eq!(*bytes, before)).unwrap();
    let report = verify(&disk, &paths(), &trust()).unwrap();
    assert_eq!(report.first_bad_index, Some(100), "{report:?}");
    assert!(report.cause.unwrap().contains("an unknown key"));
}

#[test]
fn log_4_a_note_that_names_the_own_key_and_was_changed_is_found() {
    let disk = signed();
    let note = crate::checkpoint::note_path(&paths(), 40);
    disk.tamper(&note, |bytes| {
        let end = bytes.len() - 20;
        bytes[end] = if bytes[end] == b'A' { b'B' } else { b'A' };
    })
    .unwrap();
    let report = verify(&disk, &paths(), &trust()).unwrap();
    assert_eq!(report.first_bad_index, Some(0), "{report:?}");
    assert!(report.cause.unwrap().contains("the checkpoint over 40 records was changed"));
}

#[test]
fn signing_over_a_rewritten_journal_is_refused() {
    let disk = signed();
    let forged = |index: u32| match index {
        60 => "\"forged\"".to_owned(),
        other => other.to_string(),
    };
    rewrite(&disk, (0..101).map(forged));
    let mut journal = open(&disk, 5_000).unwrap();
    let refused = journal.turn().unwrap().checkpoint(&signer(), None);
    assert!(matches!(refused, Err(JournalError::Damaged(_))), "{refused:?}");
}

#[test]
fn log_4_a_tree_in_memory_is_that_of_the_records_also_behind_what_another_handle_wrote() {
    let disk = SimulatedDisk::new(0);
    let mut journal = open(&disk, 700).unwrap();
    for round in 0..8_u32 {
        append(&mut journal, (0..5).map(|index: u32| index.to_string()));
        if round % 3 == 2 {
            append(&mut open(&disk, 700).unwrap(), ["\"another one's\"".to_owned()]);
        }
        let signed = journal.turn().unwrap().checkpoint(&signer(), Some(&witness())).unwrap();
        // A key that signed nothing yet reads everything.
        let key = Signer::from_seed("test", &[u8::try_from(round).unwrap() + 20; 32]);
        assert_eq!(open(&disk, 700).unwrap().turn().unwrap().checkpoint(&key, None).unwrap(), signed, "round {round}");
    }
    assert!(verify(&disk, &paths(), &trust()).unwrap().holds());
}
