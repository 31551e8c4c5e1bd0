//! Layer 5: per-process limits, inherited by every descendant and impossible to raise again.

use crate::outcome::Layer;
use crate::spec::Budgets;
use crate::sys;

use crate::layer::LayerError;

/// The limits that follow from the budgets, as kernel numbers.
pub(crate) fn from_budgets(budgets: &Budgets) -> Vec<(u64, u64)> {
    // The numbers are signed in one C library and unsigned in another.
    vec![
        // One byte: no core fits, and it is the only number at which the kernel does not start the host's crash handler
        // either, which runs as root outside. The filter keeps it there.
        (libc::RLIMIT_CORE as u64, 1),
        (libc::RLIMIT_FSIZE as u64, budgets.file_size.0),
        (libc::RLIMIT_NOFILE as u64, budgets.open_files),
        // Counted per user namespace; the kernel ignores it for root, which is why root needs the pids cgroup.
        (libc::RLIMIT_NPROC as u64, budgets.processes),
        (libc::RLIMIT_MEMLOCK as u64, 64 * 1024),
        (libc::RLIMIT_MSGQUEUE as u64, 0),
        (libc::RLIMIT_NICE as u64, 0),
        (libc::RLIMIT_RTPRIO as u64, 0),
        (libc::RLIMIT_SIGPENDING as u64, 1024),
    ]
}

/// Sets the limits on this process.
pub(crate) fn apply(limits: &[(u64, u64)]) -> Result<(), LayerError> {
    for (resource, value) in limits {
        let resource = u32::try_from(*resource).unwrap_or(u32::MAX);
        sys::set_limit(resource, *value).map_err(|error| {
            LayerError::new(Layer::Limits, error.raw_os_error().unwrap_or(0), format!("set resource limit {resource}"))
        })?;
    }
    Ok(())
}
