//! Process trees for those who may not reach the sandbox themselves: a client with all its descendants as one thing.
//!
//! The sandbox crate knows nothing of agents and the adapters know nothing of system calls; this is the door between them.

pub use tripwire_sandbox::{Containment, Receipt, Shield, Tree, TreeError, TreeExit, TreeSpec, TreeStdio, interrupts};
