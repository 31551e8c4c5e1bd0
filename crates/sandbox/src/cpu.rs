//! Processor time of a tree: a quota of its cgroup where one can be had. Elsewhere the tree is pinned to as many processors as it
//! may use.
//!
//! Pinned processes cannot use more than the time of their processors, and that is the kernel's doing: nothing is sampled and
//! nobody is stopped. In a sandbox the filter refuses to leave the processors; a tree without one could.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::spec::{CpuHold, MilliCores};

/// The processors that a tree is pinned to; none where another hold holds.
pub(crate) fn processors(hold: CpuHold, limit: Option<MilliCores>) -> io::Result<Vec<u64>> {
    match (hold, limit) {
        (CpuHold::Pinned, Some(limit)) => chosen(limit),
        (CpuHold::Pinned | CpuHold::Quota | CpuHold::Free, _) => Ok(Vec::new()),
    }
}

/// Numbers of the processors that a limited tree is pinned to, among those that we may use ourselves. Trees of different
/// launchers begin at different ones, so that they do not all meet on the first.
fn chosen(limit: MilliCores) -> io::Result<Vec<u64>> {
    let own = sched_getaffinity(None)?;
    let usable: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|number| own.is_set(*number)).collect();
    let wanted = usize::try_from(limit.whole()).unwrap_or(usize::MAX).min(usable.len());
    let first = usize::try_from(std::process::id()).unwrap_or(0);
    let spread = usable.iter().cycle().skip(first % usable.len().max(1));
    Ok(spread.take(wanted).filter_map(|number| u64::try_from(*number).ok()).collect())
}

/// Pins this thread, and all that it starts from now on; without numbers it stays as it is.
pub(crate) fn pin(processors: &[u64]) -> io::Result<()> {
    if processors.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    for number in processors.iter().filter_map(|number| usize::try_from(*number).ok()) {
        if number < CpuSet::MAX_CPU {
            set.set(number);
        }
    }
    Ok(sched_setaffinity(None, &set)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn box_4_as_many_processors_are_chosen_as_may_be_used_and_never_more_than_there_are() {
        let own = sched_getaffinity(None).expect("our own").count();
        let count = |milli| chosen(MilliCores(milli)).expect("chosen").len();
        assert_eq!((count(1), count(1_000)), (1, 1), "a part of one needs one");
        assert_eq!(count(1_500), own.min(2) as usize);
        assert_eq!(count(1_000_000), own as usize);
        let mut all = chosen(MilliCores(1_000_000)).expect("chosen");
        all.dedup();
        assert_eq!(all.len(), own as usize, "none twice");
    }

    #[test]
    fn box_4_a_pinned_thread_stays_on_its_processors_and_no_number_changes_nothing() {
        let pinned = std::thread::spawn(|| {
            let one = chosen(MilliCores(1_000)).expect("chosen");
            pin(&one).expect("pins");
            pin(&[]).expect("changes nothing");
            sched_getaffinity(None).expect("asked").count()
        });
        assert_eq!(pinned.join().expect("ends"), 1);
    }
}
