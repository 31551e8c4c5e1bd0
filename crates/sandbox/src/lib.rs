//! tripwire's OS isolation and process-tree control: the only unsafe code.
//!
//! Two doors. [`Sandbox`] runs one command confined and says how it ended; [`Tree`] runs a command *without* confinement but
//! so that it can be frozen, thawed and ended with every descendant, and proves it with a [`Receipt`]. The crate knows nothing
//! of agents, policy or JSON.
//!
//! Beside them lies what else of the program needs unsafe code: `early` answers before `main`, with memory from `memory`, and
//! `last_word` and `interrupts` deal with signals.
//!
//! The layers are put on in the order of the file names in `layers/`; a layer that cannot be put on means that nothing is run,
//! and the refusal names it. A program that uses this crate calls [`inner_main`] first thing in its `main`: the clean inner
//! stage is the same binary, executed again.

mod error;
mod interrupt;
mod outcome;
#[cfg(test)]
mod scratch;
mod spec;
mod stage;

pub use error::{ApplyError, SpecError, StageError, TreeError};
pub use interrupt::Interrupt;
pub use outcome::{
    Budget, Captured, End, Finding, FindingFate, FindingKind, Layer, LayerState, Layers, NotRun, Outcome, Planted,
    Receipt, Report,
};
pub use spec::{
    Budgets, Bytes, CpuHold, HIDDEN_NAMES, MilliCores, PROTECTED_NAMES, Profile, Sandbox, StageDir, Terminals,
    TreeSurroundings, WorkspaceAccess,
};
pub use stage::{Change, ChangeKind, ChangeSet, Recovered, Stage};

#[cfg(target_os = "linux")]
mod bridge;
#[cfg(target_os = "linux")]
mod capture;
#[cfg(target_os = "linux")]
mod childless;
#[cfg(target_os = "linux")]
mod children;
#[cfg(target_os = "linux")]
mod control;
#[cfg(target_os = "linux")]
mod cpu;
#[cfg(target_os = "linux")]
pub mod early;
#[cfg(target_os = "linux")]
mod git_ignores;
#[cfg(target_os = "linux")]
mod home;
#[cfg(target_os = "linux")]
mod inner;
#[cfg(target_os = "linux")]
pub mod interrupts;
#[cfg(target_os = "linux")]
pub mod last_word;
#[cfg(target_os = "linux")]
mod layer;
#[cfg(target_os = "linux")]
mod layers;
#[cfg(target_os = "linux")]
pub mod memory;
#[cfg(target_os = "linux")]
mod names;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod policy;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(target_os = "linux")]
mod procfs;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod running;
#[cfg(target_os = "linux")]
mod runs;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod tree;
#[cfg(target_os = "linux")]
mod unlinked;
#[cfg(target_os = "linux")]
mod walk;
#[cfg(target_os = "linux")]
mod watchdog;

#[cfg(target_os = "linux")]
pub use childless::childless;
#[cfg(target_os = "linux")]
pub use inner::inner_main;
#[cfg(target_os = "linux")]
pub use layers::l08_seccomp::strict_filter;
#[cfg(target_os = "linux")]
pub use probe::{LayerCheck, LayerHealth, doctor};
#[cfg(target_os = "linux")]
pub use tree::{Containment, Shield, Tree, TreeExit, TreeSpec, TreeStdio};

#[cfg(not(target_os = "linux"))]
mod unsupported;
#[cfg(not(target_os = "linux"))]
pub use unsupported::{
    Containment, LayerCheck, LayerHealth, Shield, Tree, TreeExit, TreeSpec, TreeStdio, childless, doctor, inner_main,
    interrupts, last_word,
};
