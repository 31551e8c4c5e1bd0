//! The destructive-command guard: what a shell command line would destroy for good, found out without running it.
//!
//! One rule decides: *irreversible, and outside of what the run itself may lose*. A line is parsed as bash would parse
//! it, every command in every position is looked at in the folder and with the variables it would have, and the real
//! workspace says what would be hit: the same `git checkout -- .` is harmless in a clean tree and ruinous in a dirty
//! one. The judge only finds facts; whether they are enforced is the core's decision (`FLOOR-1`).
//!
//! ```
//! use tripwire_core::policy::Policy;
//! use tripwire_judge::{Answer, Facts, Judge};
//!
//! let folder = tempfile::tempdir()?;
//! let workspace = folder.path().join("work");
//! std::fs::create_dir_all(workspace.join("target"))?;
//! let judge = Judge::new(Facts::here(workspace.clone(), workspace, &Policy::default()));
//!
//! assert_eq!(judge.judge("rm -rf target").verdict, Answer::Pass);
//! let held = judge.judge("cd /etc && rm -rf .");
//! assert_eq!(held.verdict, Answer::Hold);
//! assert!(!held.reason.is_empty());
//! // A text that only mentions it is no command.
//! assert_eq!(judge.judge("echo 'never run rm -rf /etc'").verdict, Answer::Pass);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! - [`interpreter`]: follows a line as a shell would; the only part that recurses
//! - [`rules`]: one file per family; they take facts and return findings
//! - [`line`]: what is known of the line; [`world`], [`repository`], [`search`], [`losses`]: what the disk and git say

mod effect;
mod facts;
mod file_tools;
mod findings;
mod guard;
mod hold;
mod interpreter;
mod judge;
mod line;
mod losses;
mod names;
pub mod outside;
mod own_script;
pub mod read_only;
pub mod reading;
mod repository;
mod roots;
mod rules;
mod search;
mod site;
pub mod steps;
mod verdict;
pub mod word;
mod world;

pub use effect::{Count, Effect, Names, Target};
pub use facts::Facts;
pub use hold::GuardRule;
pub use judge::{COMMAND_BYTES_MAX, Judge};
pub use roots::SharedLooks;
pub use verdict::{Answer, JudgedSegment, Verdict};
