//! Tests of `safety_log.rs`.

use super::*;
use tripwire_testing::{TestDir, tiny_disk};

fn entry(count: u64) -> LogEntry {
    LogEntry::new(WallClock::from_epoch_ms(1_772_292_600_000), EventType::SoftLoop, ActionTaken::ContinuedMonitoring)
        .with("signature", "Edit(file=holographic_encoder.py)")
        .with("count", count)
}

fn log(dir: &TestDir) -> SafetyLog {
    SafetyLog::at(&dir.path().join("safety_log.json"))
}

fn is_json(log: &SafetyLog) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(&log.path).unwrap()).unwrap()
}

#[test]
fn log_2_the_file_has_the_seeds_shape_after_every_append() {
    let dir = TestDir::new();
    let log = log(&dir);
    for count in 0..20 {
        log.append(&entry(count)).unwrap();
        assert_eq!(is_json(&log)["events"].as_array().unwrap().len(), usize::try_from(count).unwrap() + 1);
    }
    assert_eq!(
        is_json(&log)["events"][3],
        serde_json::json!({"timestamp": "2026-02-28T15:30:00Z", "type": "SOFT_LOOP",
            "details": {"signature": "Edit(file=holographic_encoder.py)", "count": 3},
            "action_taken": "continued_monitoring"})
    );
    assert_eq!(log.read().unwrap().len(), 20);
}

#[test]
fn log_2_a_log_that_nobody_wrote_to_reads_as_empty() {
    let dir = TestDir::new();
    assert_eq!(log(&dir).read().unwrap(), []);
    assert_eq!(is_json(&log(&dir)), serde_json::json!({"events": []}));
}

#[test]
fn log_2_names_are_those_of_the_specification() {
    let all = [
        (EventType::SoftLoop, "SOFT_LOOP"),
        (EventType::HardLoop, "HARD_LOOP"),
        (EventType::InfiniteLoop, "INFINITE_LOOP"),
        (EventType::RunawayDetected, "RUNAWAY_DETECTED"),
        (EventType::TokenBudgetExceeded, "TOKEN_BUDGET_EXCEEDED"),
        (EventType::DirtyBitViolation, "DIRTY_BIT_VIOLATION"),
        (EventType::CompactionGate, "COMPACTION_GATE"),
        (EventType::ToolCallWarning, "TOOL_CALL_WARNING"),
        (EventType::PolicyDrift, "POLICY_DRIFT"),
        (EventType::WallClockTimeout, "WALL_CLOCK_TIMEOUT"),
    ];
    for (event, name) in all {
        assert_eq!(serde_json::to_value(event).unwrap(), name);
    }
    assert_eq!(serde_json::to_value(ActionTaken::InjectedTestPrompt).unwrap(), "injected_test_prompt");
    assert_eq!(serde_json::to_value(ActionTaken::RestartedSession).unwrap(), "restarted_session");
}

#[test]
fn log_2_a_file_cut_at_any_byte_is_found_and_rebuilt() {
    let dir = TestDir::new();
    let log = log(&dir);
    for count in 0..3 {
        log.append(&entry(count)).unwrap();
    }
    let whole = std::fs::read(&log.path).unwrap();
    for cut in 0..whole.len() {
        std::fs::write(&log.path, &whole[..cut]).unwrap();
        let error = log.append(&entry(9)).unwrap_err();
        assert!(matches!(error, LogError::Damaged { .. }), "{cut}: {error}");
        assert_eq!(std::fs::read(&log.path).unwrap(), &whole[..cut], "a refused append changes nothing");
    }
    assert_eq!(log.rebuild((0..3).map(entry)).unwrap(), 3);
    assert_eq!(std::fs::read(&log.path).unwrap(), whole);
    log.append(&entry(3)).unwrap();
    assert_eq!(log.read().unwrap().len(), 4);
}

#[test]
fn log_2_a_zero_filled_or_torn_last_entry_is_found() {
    let dir = TestDir::new();
    let log = log(&dir);
    log.append(&entry(0)).unwrap();
    let before = std::fs::read(&log.path).unwrap();
    log.append(&entry(1)).unwrap();
    let after = std::fs::read(&log.path).unwrap();
    // The length of the new file, with the bytes of the write missing in part: what a power cut may leave.
    for kept in before.len() - TAIL.len()..after.len() - TAIL.len() - 1 {
        let mut torn = after.clone();
        torn[kept..after.len() - TAIL.len()].fill(0);
        std::fs::write(&log.path, &torn).unwrap();
        assert!(matches!(log.append(&entry(2)).unwrap_err(), LogError::Damaged { .. }), "{kept}");
    }
}

#[test]
fn log_2_a_file_that_a_person_reformatted_is_not_appended_to_blindly() {
    let dir = TestDir::new();
    let log = log(&dir);
    log.append(&entry(0)).unwrap();
    let pretty = serde_json::to_string_pretty(&is_json(&log)).unwrap();
    std::fs::write(&log.path, pretty).unwrap();
    assert!(matches!(log.append(&entry(1)).unwrap_err(), LogError::Damaged { .. }));
    assert_eq!(log.read().unwrap().len(), 1, "it is still readable");
}

#[test]
fn log_2_an_entry_that_is_too_large_is_refused_and_a_large_one_is_not() {
    let dir = TestDir::new();
    let log = log(&dir);
    let large = |bytes: usize| entry(0).with("text", "x".repeat(bytes));
    assert!(matches!(log.append(&large(ENTRY_BYTES_MAX)).unwrap_err(), LogError::TooLarge { .. }));
    log.append(&large(ENTRY_BYTES_MAX - 300)).unwrap();
    log.append(&entry(1)).unwrap();
    log.append(&entry(2)).unwrap();
    assert_eq!(log.read().unwrap().len(), 3);
}

#[test]
fn log_2_a_symbolic_link_is_not_written_through() {
    let dir = TestDir::new();
    let outside = dir.path().join("outside");
    std::fs::write(&outside, "keep").unwrap();
    std::os::unix::fs::symlink(&outside, dir.path().join("safety_log.json")).unwrap();
    assert!(matches!(log(&dir).append(&entry(0)).unwrap_err(), LogError::File(_)));
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "keep");
}

#[test]
fn log_2_many_writers_and_a_reader_lose_nothing() {
    let dir = TestDir::new();
    let log = log(&dir);
    std::thread::scope(|scope| {
        for writer in 0..8_u64 {
            let log = &log;
            scope.spawn(move || (0..50).for_each(|count| log.append(&entry(writer * 50 + count)).unwrap()));
        }
        scope.spawn(|| (0..5).for_each(|_| drop(log.read().unwrap())));
    });
    let mut counts: Vec<_> = log.read().unwrap().iter().map(|entry| entry.details["count"].as_u64().unwrap()).collect();
    counts.sort_unstable();
    assert_eq!(counts, (0..400).collect::<Vec<_>>());
}

#[test]
fn log_2_appends_wait_for_a_rebuild_and_land_in_the_new_file() {
    let dir = TestDir::new();
    let log = log(&dir);
    log.append(&entry(0)).unwrap();
    let halfway = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            log.rebuild((0..100).map(|count| {
                if count == 50 {
                    halfway.wait();
                    // Time for the append to reach the lock.
                    (0..1_000).for_each(|_| std::thread::yield_now());
                }
                entry(count)
            }))
            .unwrap();
        });
        halfway.wait();
        log.append(&entry(100)).unwrap();
    });
    assert_eq!(log.read().unwrap().len(), 101);
}

#[test]
fn log_2_a_full_disk_is_an_error_and_the_log_stays_valid() {
    let Some(disk) = tiny_disk() else { return };
    let log = SafetyLog::at(&disk.path().join("safety_log.json"));
    let large = entry(0).with("text", "x".repeat(60_000));
    let mut kept = 0_u64;
    let error = loop {
        match log.append(&large) {
            Ok(()) => kept += 1,
            Err(error) => break error,
        }
    };
    assert!(error.hint().contains("free some space"), "{error}");
    let entries = log.read().unwrap();
    assert_eq!(u64::try_from(entries.len()).unwrap(), kept, "what was refused is not there, the rest is");
}
