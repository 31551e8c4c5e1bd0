//! What happens to a stream that breaks a promise: it is cut down, written, and named in the panic message.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use tripwire_core::input::{HumanAct, Input, What};
use tripwire_core::policy::{Choice, Policy};
use tripwire_core::record::canonical;
use tripwire_core::units::RunMillis;

/// Checks a stream; if it fails, cuts it down, writes it and panics with the way to open it.
pub(crate) fn hold_or_write<T>(
    name: &str,
    policy: &Policy,
    inputs: &[Input],
    check: impl Fn(&Policy, &[Input]) -> Result<T, String>,
) -> T {
    // A panic of the engine is a broken promise like any other.
    let guarded = |inputs: &[Input]| {
        catch_unwind(AssertUnwindSafe(|| check(policy, inputs))).unwrap_or_else(|_| Err("the engine panicked".into()))
    };
    match guarded(inputs) {
        Ok(seen) => seen,
        Err(_) => {
            let small = cut_down(inputs, |fewer| guarded(fewer).is_err());
            let error = guarded(&small).err().unwrap_or_default();
            let file = write(name, policy, &small);
            panic!("{error}\n{} inputs in {}\n{}", small.len(), file.display(), command(policy, &file));
        }
    }
}

/// Removes inputs, many at a time and then one by one, for as long as the rest still fails.
fn cut_down(inputs: &[Input], fails: impl Fn(&[Input]) -> bool) -> Vec<Input> {
    let mut kept = inputs.to_vec();
    let mut chunk = kept.len().div_ceil(2);
    loop {
        let mut start = 0;
        while start < kept.len() {
            let end = (start + chunk).min(kept.len());
            let fewer: Vec<Input> = kept[..start].iter().chain(&kept[end..]).cloned().collect();
            if !fewer.is_empty() && fails(&fewer) { kept = fewer } else { start = end }
        }
        if chunk <= 1 {
            return kept;
        }
        chunk = chunk.div_ceil(2);
    }
}

fn write(name: &str, policy: &Policy, inputs: &[Input]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("failing-{}-{name}.jsonl", policy.profile.name()));
    let lines: Vec<String> = inputs.iter().map(|input| canonical::to_string(input).unwrap()).collect();
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    path
}

/// The command, with every setting that differs from the defaults named beside it.
fn command(policy: &Policy, file: &Path) -> String {
    let defaults = Policy::default().rows();
    let changed = policy.rows().into_iter().zip(defaults).filter(|(row, default)| row.value != default.value);
    let settings: Vec<String> = changed.map(|(row, _)| format!("{}={}", row.path, row.value)).collect();
    format!("open it with: tripwire replay {} (settings: {})", file.display(), settings.join(" "))
}

#[test]
fn a_failing_stream_is_cut_down_written_and_opens_again() {
    let at = |n: u64, what| Input { at: RunMillis::new(n), what };
    let mut inputs: Vec<Input> = (0..40).map(|n| at(n, What::Tick)).collect();
    inputs[17] = at(17, What::Human(HumanAct::Stop));
    let dislikes_stops = |_: &Policy, inputs: &[Input]| {
        let stops = inputs.iter().any(|input| input.what == What::Human(HumanAct::Stop));
        if stops { Err("a stop".to_owned()) } else { Ok(()) }
    };
    let policy = Policy::default();
    let failed = catch_unwind(AssertUnwindSafe(|| hold_or_write("selftest", &policy, &inputs, dislikes_stops)));
    let message = *failed.unwrap_err().downcast::<String>().unwrap();
    assert!(message.contains("tripwire replay") && message.contains("1 inputs"), "{message}");
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("failing-balanced-selftest.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let read: Vec<Input> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(read, [at(17, What::Human(HumanAct::Stop))]);
}

#[test]
fn a_stream_that_holds_is_not_written() {
    let fine = |_: &Policy, inputs: &[Input]| Ok(inputs.len());
    assert_eq!(hold_or_write("fine", &Policy::default(), &[], fine), 0);
    assert!(!Path::new(env!("CARGO_TARGET_TMPDIR")).join("failing-balanced-fine.jsonl").exists());
}
