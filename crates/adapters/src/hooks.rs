//! Hooks: one short process per event of someone else's agent. Foreign JSON in, that client's own dialect out.
//!
//! Deciding happens elsewhere. A hook turns the client's words into an input, and the decision into the client's words;
//! whatever goes wrong inside, it answers in the form that refuses.

pub mod claude;

use tripwire_core::decision::Decision;

/// What a hook process says: its standard output, its standard error and its exit code.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reply {
    /// For the client to parse; empty means: no objection.
    pub stdout: String,
    /// For the model or the person, where the exit code says so.
    pub stderr: String,
    /// 0 or the client's blocking code.
    pub exit_code: u8,
}

/// Why a hook's input is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the hook's input is not understood: {problem}")]
pub struct HookError {
    /// What is wrong with it.
    pub problem: String,
}

/// The reason of a refusal in one line, with the rule that refused.
fn refusal(decision: &Decision) -> String {
    format!("tripwire: {} [{}]", decision.safety.reason, decision.safety.rule.id())
}
