//! Layer 5: per-process limits, inherited by every descendant and impossible to raise again.

use crate::outcome::Layer;
use crate::spec::Budgets;
use crate::sys;

use super::l03_reexec::Broken;

/// The limits that follow from the budgets, as kernel numbers.
pub(crate) fn from_budgets(budgets: &Budgets) -> Vec<(u64, u64)> {
    let number = |resource: u32| u64::from(resource);
    vec![
        (number(libc::RLIMIT_CORE), 0),
        (number(libc::RLIMIT_FSIZE), budgets.file_size.0),
        (number(libc::RLIMIT_NOFILE), budgets.open_files),
        // Counted per user namespace; the kernel ignores it for root, which is why root needs the pids cgroup.
        (number(libc::RLIMIT_NPROC), budgets.processes),
        (number(libc::RLIMIT_MEMLOCK), 64 * 1024),
        (number(libc::RLIMIT_MSGQUEUE), 0),
        (number(libc::RLIMIT_NICE), 0),
        (number(libc::RLIMIT_RTPRIO), 0),
        (number(libc::RLIMIT_SIGPENDING), 1024),
    ]
}

/// Sets the limits on this process.
pub(crate) fn apply(limits: &[(u64, u64)]) -> Result<(), Broken> {
    for (resource, value) in limits {
        let resource = u32::try_from(*resource).unwrap_or(u32::MAX);
        sys::set_limit(resource, *value).map_err(|error| {
            Broken::new(
                Layer::Limits,
                error.raw_os_error().unwrap_or(0),
                format!("set resource limit {resource}"),
            )
        })?;
    }
    Ok(())
}
