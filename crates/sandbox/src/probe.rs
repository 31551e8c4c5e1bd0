//! `doctor`: which layers work here, found by trying them.

use std::path::Path;

use crate::layers::l01_cgroup::{Group, GroupLimits, GroupUse, Steering};
use crate::layers::l07_landlock::ABI_MIN;
use crate::layers::l08_seccomp;
use crate::outcome::{Layer, LayerState, Outcome};
use crate::spec::{Budgets, Sandbox, StageDir};
use crate::sys;

/// How one layer stands on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerHealth {
    /// It can be put on.
    Works,
    /// Something weaker stands in for it.
    Replaced,
    /// It cannot be put on: nothing would be run.
    Missing,
    /// Not tried, because an earlier layer is missing.
    Unknown,
}

impl LayerHealth {
    /// The word that `doctor` prints.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Replaced => "replaced",
            Self::Missing => "missing",
            Self::Unknown => "not tried",
        }
    }
}

/// One line of the doctor's report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerCheck {
    /// The layer.
    pub layer: Layer,
    /// How it stands.
    pub health: LayerHealth,
    /// What was seen.
    pub detail: String,
    /// What it means if it is missing.
    pub meaning: &'static str,
    /// How to fix it.
    pub fix: &'static str,
}

/// Tries every layer, most of them by one real run of `true` in an empty workspace below `scratch`.
#[must_use]
pub fn doctor(scratch: &Path, inner_exe: Option<&Path>) -> Vec<LayerCheck> {
    let outcome = trial(scratch, inner_exe);
    Layer::ALL.iter().filter(|layer| !matches!(layer, Layer::Command)).map(|layer| check(*layer, &outcome)).collect()
}

fn trial(scratch: &Path, inner_exe: Option<&Path>) -> Result<Outcome, String> {
    let dir = scratch.join("workspace");
    std::fs::create_dir_all(&dir).map_err(|error| error.to_string())?;
    let spec = Sandbox::new(&dir, ["true"]).map_err(|error| error.to_string())?;
    let mut spec = spec.stage(StageDir(scratch.join("stage")));
    if let Some(exe) = inner_exe {
        spec = spec.inner_exe(exe);
    }
    Ok(spec.run())
}

fn check(layer: Layer, outcome: &Result<Outcome, String>) -> LayerCheck {
    let (meaning, fix) = advice(layer);
    let (health, detail) = direct(layer).unwrap_or_else(|| from_trial(layer, outcome));
    LayerCheck { layer, health, detail, meaning, fix }
}

/// Layers that can be asked for on their own, whatever happened to the others.
fn direct(layer: Layer) -> Option<(LayerHealth, String)> {
    match layer {
        Layer::Cgroup => {
            let budgets = Budgets::default();
            let limits = GroupLimits { memory: budgets.memory, processes: budgets.processes };
            Some(match Group::create(GroupUse { limits: Some(limits), cpu: None, steering: Steering::NotNeeded }) {
                Ok(group) => (LayerHealth::Works, group.describe()),
                Err(error) if rustix::process::geteuid().is_root() => (LayerHealth::Missing, error.to_string()),
                Err(error) => (LayerHealth::Replaced, format!("sampling watchdog: {error}")),
            })
        }
        Layer::Landlock => Some(match sys::landlock_abi() {
            Ok(abi) if abi >= ABI_MIN => (LayerHealth::Works, format!("interface {abi}")),
            Ok(abi) => (LayerHealth::Missing, format!("interface {abi} is older than {ABI_MIN}")),
            Err(error) => (LayerHealth::Missing, error.to_string()),
        }),
        Layer::Seccomp => match l08_seccomp::probe() {
            Ok(()) => None,
            Err(error) => Some((LayerHealth::Missing, error.to_string())),
        },
        Layer::Namespaces
        | Layer::Reexec
        | Layer::Rootfs
        | Layer::Stage
        | Layer::Network
        | Layer::Limits
        | Layer::Privileges
        | Layer::Pid1
        | Layer::Command
        | Layer::Scan => None,
    }
}

fn from_trial(layer: Layer, outcome: &Result<Outcome, String>) -> (LayerHealth, String) {
    let layers = match outcome {
        Ok(Outcome::Ran(report)) => &report.layers,
        Ok(Outcome::NotRun(refused)) => &refused.layers,
        Err(error) => return (LayerHealth::Unknown, error.clone()),
    };
    match layers.get(layer) {
        Some(LayerState::On(text)) => (LayerHealth::Works, text.clone()),
        Some(LayerState::Replaced(text) | LayerState::Relaxed(text)) => (LayerHealth::Replaced, text.clone()),
        Some(LayerState::Missing(text)) => (LayerHealth::Missing, text.clone()),
        Some(LayerState::Off) | None => (LayerHealth::Unknown, "an earlier layer is missing".to_owned()),
    }
}

fn advice(layer: Layer) -> (&'static str, &'static str) {
    match layer {
        Layer::Cgroup => (
            "without it root cannot bound memory and processes of the whole tree",
            "mount the memory and pids controllers writable, or run as an ordinary user (a watchdog then takes over)",
        ),
        Layer::Namespaces => (
            "without them the command would see the host's files, processes and network",
            "set `sysctl -w user.max_user_namespaces=15000`; on Ubuntu also allow unprivileged user namespaces for this binary in AppArmor",
        ),
        Layer::Reexec => (
            "without it the command could inherit descriptors and memory of the launcher",
            "make `/proc` readable and the binary executable",
        ),
        Layer::Rootfs => (
            "without it there is no allow-list of files",
            "use Linux 5.12 or newer, with `/proc` not covered by other mounts (containers often cover it)",
        ),
        Layer::Stage => ("without it `--stage` works on a copy", "use Linux 5.11 or newer with overlayfs"),
        Layer::Network => ("without it there is no loopback inside", "allow network namespaces"),
        Layer::Limits => ("without them one process could fill the disk", "raise the launcher's own hard limits"),
        Layer::Privileges => ("without it the command could mount and trace", "use Linux 4.3 or newer"),
        Layer::Landlock => (
            "without it the new root is the only guard of files",
            "boot Linux 5.19 or newer with `landlock` in the `lsm=` list, or choose `--profile compat`",
        ),
        Layer::Seccomp => ("without it the kernel's whole surface is open", "use a kernel with CONFIG_SECCOMP_FILTER"),
        Layer::Pid1 => ("without it descendants could outlive the run", "allow pid namespaces"),
        Layer::Command => ("the command could not be started", "name a program of the system"),
        Layer::Scan => ("without it planted hooks would be left armed", "make the workspace readable"),
    }
}
