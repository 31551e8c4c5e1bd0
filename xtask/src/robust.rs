//! `cargo xtask robust`: how much of what is found survives a change that means nothing.
//!
//! Each change is made in every output of labelled traces and of made-up sessions, and the whole is judged again. A change
//! that only adds a volatile part may cost a tenth of the halts and must not add a false one; the other rows are for
//! information.

mod change;
pub(crate) mod sessions;

use change::Change;
use sessions::{Failure, RobustTrace};
use std::path::Path;
use tripwire_core::policy::Policy;
use tripwire_session::formats::traces;

/// Made-up sessions of each kind that a table is about.
pub const MADE_UP: u64 = 12;

/// What a row of the table says about its change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It keeps within the bar.
    Kept,
    /// It costs more than a tenth of the halts, or adds a false one.
    Broken,
    /// The row is for information.
    None,
}

/// How often each level fired, rightly and wrongly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Fired {
    stuck: u64,
    healthy: u64,
    halts: u64,
    overrides: u64,
    false_halts: u64,
    false_overrides: u64,
}

/// Judges every set under every change and tells each row of the table.
///
/// # Errors
/// When the traces cannot be read or judged.
pub fn run(file: Option<&Path>, only: Option<&str>, mut tell: impl FnMut(&str, Verdict)) -> Result<(), Failure> {
    let mut sets = vec![("made-up sessions", sessions::made_up(MADE_UP)?)];
    if let Some(file) = file {
        sets.push(("traces", sessions::read(file)?));
    }
    for (name, set) in &sets {
        let plain = count(set, Change::None)?;
        tell(&format!("{name}: {} stuck, {} not stuck", plain.stuck, plain.healthy), Verdict::None);
        tell(
            &format!(
                "  {:<28}{:>7}{:>11}{:>13}{:>17}",
                "change", "halts", "overrides", "false halts", "false overrides"
            ),
            Verdict::None,
        );
        for change in Change::ALL {
            if only.is_some_and(|only| !change.name().starts_with(only)) {
                continue;
            }
            let fired = if change == Change::None { plain } else { count(set, change)? };
            let verdict = verdict(change, &plain, &fired);
            tell(&row(change, &fired, verdict), verdict);
        }
    }
    Ok(())
}

fn row(change: Change, fired: &Fired, verdict: Verdict) -> String {
    let Fired { halts, overrides, false_halts, false_overrides, .. } = fired;
    let said = match verdict {
        Verdict::Kept => "kept",
        Verdict::Broken => "BROKEN",
        Verdict::None => "",
    };
    let row = format!("  {:<28}{halts:>7}{overrides:>11}{false_halts:>13}{false_overrides:>17}  {said}", change.name());
    row.trim_end().to_owned()
}

fn verdict(change: Change, plain: &Fired, fired: &Fired) -> Verdict {
    /// A tenth of the halts may be lost.
    const LOST_MAX_PERCENT: u64 = 10;
    if !change.is_volatile() {
        return Verdict::None;
    }
    let lost = plain.halts.saturating_sub(fired.halts);
    let few = lost * 100 <= plain.halts * LOST_MAX_PERCENT;
    if few && fired.false_halts <= plain.false_halts { Verdict::Kept } else { Verdict::Broken }
}

fn count(set: &[RobustTrace], change: Change) -> Result<Fired, Failure> {
    let policy = Policy::default();
    let mut fired = Fired::default();
    for (number, labelled) in (0_u64..).zip(set) {
        let mut trace = labelled.trace.clone();
        change::apply(change, &mut trace, number);
        let scanned = traces::scan_one(trace.to_string().as_bytes(), &policy)?;
        let (halted, overridden) = (scanned.held_at().is_some(), scanned.levels.overridden.is_some());
        if labelled.stuck {
            fired.stuck += 1;
            fired.halts += u64::from(halted);
            fired.overrides += u64::from(overridden);
        } else {
            fired.healthy += 1;
            fired.false_halts += u64::from(halted);
            fired.false_overrides += u64::from(overridden);
        }
    }
    Ok(fired)
}
