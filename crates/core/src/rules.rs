//! The names of the rules: every decision and finding carries one, and `tripwire explain` prints what it means.
//!
//! Only names and explanations are here. The code of the loop rules is in `chain/activity/loops/` (LOOP-1 in `strict.rs`,
//! LOOP-2 in `balanced/`), that of the gate's rules in `chain/gate/`; searching for a name such as `LOOP-2.cycle` finds both.

mod catalogue;

pub use catalogue::{RuleEntry, entries, find, nearest};

use serde::{Serialize, Serializer};

/// A rule that can decide or notice something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// A premise of the guard broke.
    FailClosed,
    /// The policy is frozen at the start.
    FrozenPolicy,
    /// Alike outputs.
    ActSimilarity,
    /// Acceleration.
    ActTempo,
    /// Nothing speaks against it.
    GateOpen,
    /// Tokens of the sliding minute.
    GateTokens,
    /// Tool calls of the sliding minute.
    GateCalls,
    /// The wait after a veto.
    GateCooldown,
    /// Health.
    GateHealth,
    /// What a runaway leads to.
    GateRunaway,
    /// Money.
    GateMoney,
    /// The tree of agents.
    GateAgents,
    /// The ladder as a whole.
    LoopLadder,
    /// Identical actions in a row.
    LoopExact,
    /// Equal signatures.
    LoopSignature,
    /// The same action with the same result.
    LoopRepeat,
    /// Cycles.
    LoopCycle,
    /// One error from different calls.
    LoopError,
    /// One kind of error from different calls.
    LoopErrorKind,
    /// Failures in a row.
    LoopFailing,
    /// Edits that fail one after the other.
    LoopThrash,
    /// A question asked again in other words.
    LoopReword,
    /// Results that say only what was put in.
    LoopEcho,
    /// The same call, whatever it returned.
    LoopAction,
    /// Results that bring nothing new.
    LoopStale,
    /// Calls that differ only in a number.
    LoopPaging,
    /// What an override named came back unchanged.
    LoopIgnored,
    /// One task given out again and again.
    LoopSpawn,
    /// Starting over, by the agent's own words.
    LoopRestart,
    /// Replies that say the same.
    LoopChant,
    /// The advisor's answer.
    LoopAdvice,
    /// Calls that bring no result.
    LoopUnanswered,
    /// Refusals in a row.
    LoopRefusals,
    /// No progress.
    Progress,
    /// Dirty bits.
    DirtyBits,
    /// The iteration cap.
    IterationCap,
    /// The step cap.
    TermSteps,
    /// Wall clocks.
    TermWallClock,
    /// The context gate.
    ContextTiers,
    /// Compactions that lead nowhere.
    ContextSpiral,
    /// People's controls.
    Control,
    /// What is out of the agent's reach.
    Reach,
    /// The hold of commands that destroy what cannot be restored.
    Floor,
    /// The hold of commands that publish.
    Publish,
    /// The hold of what text from outside asks for.
    Outside,
    /// No secret in the record, no placeholder out of it.
    Secret,
    /// Permissions.
    Permission,
    /// Convergence.
    Convergence,
    /// The review gate.
    Review,
    /// Another engine goes on.
    EngineFallback,
    /// The pins of a tool server's tools.
    ToolPin,
    /// Limits of single tools.
    ToolLimit,
    /// The sandbox around an agent.
    Confinement,
    /// Identity.
    Identity,
}

impl Rule {
    /// Every rule, for references and tests; a new variant goes here too, before the last one of the enum.
    pub const ALL: [Self; 54] = [
        Self::FailClosed,
        Self::FrozenPolicy,
        Self::ActSimilarity,
        Self::ActTempo,
        Self::GateOpen,
        Self::GateTokens,
        Self::GateCalls,
        Self::GateCooldown,
        Self::GateHealth,
        Self::GateRunaway,
        Self::GateMoney,
        Self::GateAgents,
        Self::LoopLadder,
        Self::LoopExact,
        Self::LoopSignature,
        Self::LoopRepeat,
        Self::LoopCycle,
        Self::LoopError,
        Self::LoopErrorKind,
        Self::LoopFailing,
        Self::LoopThrash,
        Self::LoopReword,
        Self::LoopEcho,
        Self::LoopAction,
        Self::LoopStale,
        Self::LoopPaging,
        Self::LoopIgnored,
        Self::LoopSpawn,
        Self::LoopRestart,
        Self::LoopChant,
        Self::LoopAdvice,
        Self::LoopUnanswered,
        Self::LoopRefusals,
        Self::Progress,
        Self::DirtyBits,
        Self::IterationCap,
        Self::TermSteps,
        Self::TermWallClock,
        Self::ContextTiers,
        Self::ContextSpiral,
        Self::Control,
        Self::Reach,
        Self::Floor,
        Self::Publish,
        Self::Outside,
        Self::Secret,
        Self::Permission,
        Self::Convergence,
        Self::Review,
        Self::EngineFallback,
        Self::ToolPin,
        Self::ToolLimit,
        Self::Confinement,
        Self::Identity,
    ];

    /// The name that is printed, journaled and explained.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::FailClosed => "CONST-5",
            Self::FrozenPolicy => "CONST-6",
            Self::ActSimilarity => "ACT-1.similarity",
            Self::ActTempo => "ACT-1.tempo",
            Self::GateOpen => "GATE-1",
            Self::GateTokens => "GATE-2.tokens",
            Self::GateCalls => "GATE-2.calls",
            Self::GateCooldown => "GATE-3",
            Self::GateHealth => "GATE-4",
            Self::GateRunaway => "GATE-7",
            Self::GateMoney => "GATE-8.money",
            Self::GateAgents => "GATE-8.agents",
            Self::LoopLadder => "LOOP-1",
            Self::LoopExact => "LOOP-1.exact",
            Self::LoopSignature => "LOOP-1.signature",
            Self::LoopRepeat => "LOOP-2.repeat",
            Self::LoopCycle => "LOOP-2.cycle",
            Self::LoopError => "LOOP-2.error",
            Self::LoopErrorKind => "LOOP-2.kind",
            Self::LoopFailing => "LOOP-2.failing",
            Self::LoopThrash => "LOOP-2.thrash",
            Self::LoopReword => "LOOP-2.reword",
            Self::LoopEcho => "LOOP-2.echo",
            Self::LoopAction => "LOOP-2.action",
            Self::LoopStale => "LOOP-2.stale",
            Self::LoopPaging => "LOOP-2.paging",
            Self::LoopIgnored => "LOOP-2.ignored",
            Self::LoopSpawn => "LOOP-2.spawn",
            Self::LoopRestart => "LOOP-2.restart",
            Self::LoopChant => "LOOP-2.chant",
            Self::LoopAdvice => "LOOP-4",
            Self::LoopUnanswered => "LOOP-6",
            Self::LoopRefusals => "LOOP-7",
            Self::Progress => "PROG-1",
            Self::DirtyBits => "DIRTY-1",
            Self::IterationCap => "ITER-1",
            Self::TermSteps => "TERM-1.steps",
            Self::TermWallClock => "TERM-1.clock",
            Self::ContextTiers => "CTX-2",
            Self::ContextSpiral => "CTX-4",
            Self::Control => "CTRL-1",
            Self::Reach => "CTRL-3",
            Self::Floor => "FLOOR-1",
            Self::Publish => "FLOOR-2",
            Self::Outside => "FLOOR-3",
            Self::Secret => "SECRET-1",
            Self::Permission => "PERM-1",
            Self::Convergence => "PERM-1.convergence",
            Self::Review => "REVIEW-1",
            Self::EngineFallback => "RUN-4",
            Self::ToolPin => "MCP-2",
            Self::ToolLimit => "TOOL-3",
            Self::Confinement => "BOX-1",
            Self::Identity => "IDENT-1",
        }
    }

    /// Whether it counts what is provably the same: only such an alarm makes the reported mode LOOPING, which costs
    /// health.
    #[must_use]
    pub const fn is_proof_of_loop(self) -> bool {
        matches!(self, Self::LoopExact | Self::LoopRepeat | Self::LoopCycle | Self::LoopError | Self::LoopIgnored)
    }

    /// Whether its refusal may be a mere wait for room in the minute.
    #[must_use]
    pub const fn is_throttle(self) -> bool {
        matches!(self, Self::GateTokens | Self::GateCalls)
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_rules_is_complete_and_in_order() {
        for (place, rule) in Rule::ALL.into_iter().enumerate() {
            assert_eq!(rule as usize, place, "{}", rule.id());
        }
        assert_eq!(Rule::Identity as usize + 1, Rule::ALL.len(), "`Identity` stays the last variant");
    }
}
