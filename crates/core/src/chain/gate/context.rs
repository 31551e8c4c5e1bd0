//! The context gate: 75 % warns, 80 % compacts, 85 % blocks (CTX-1, CTX-2), and compactions that lead nowhere (CTX-4).

use crate::label::Fingerprint;
use crate::policy;
use crate::units::{Count, Tokens};
use serde::{Deserialize, Serialize};

/// How full the window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Tier {
    /// Room enough.
    #[default]
    Roomy,
    /// The agent is warned.
    Warning,
    /// The briefing is written and the worker restarted.
    Mandatory,
    /// Every tool call is blocked.
    HardBlock,
}

/// The gauge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct ContextState {
    tier: Tier,
    percent: Count,
    compactions: Count,
    workspace: Fingerprint,
    /// The window that was last reported: later figures may come without one.
    window: Option<Tokens>,
    /// What the figure rests on.
    basis: ContextBasis,
}

/// What the figure of the context rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ContextBasis {
    /// Nothing was heard of it.
    #[default]
    Nothing,
    /// The seed's heuristic, because nobody gives figures.
    Estimate,
    /// The provider's or the client's own figures.
    Figures,
}

impl ContextState {
    /// Takes in an estimate; gives the tier if it was just climbed to. A true figure is never overruled by one, and on evidence an
    /// estimate alone only warns.
    pub(crate) fn estimate(&mut self, policy: &policy::Policy, used: Tokens) -> Option<Tier> {
        if self.basis == ContextBasis::Figures {
            return None;
        }
        let cap = match policy.profile {
            policy::Profile::Strict => Tier::HardBlock,
            policy::Profile::Balanced => Tier::Warning,
        };
        self.basis = ContextBasis::Estimate;
        self.climb(&policy.context, used, cap)
    }

    /// Takes in a figure; gives the tier if it was just climbed to.
    pub(crate) fn observe(&mut self, context: &policy::Context, used: Tokens, window: Option<Tokens>) -> Option<Tier> {
        self.basis = ContextBasis::Figures;
        if window.is_some() {
            self.window = window.filter(|window| window.get() > 0);
        }
        self.climb(context, used, Tier::HardBlock)
    }

    fn climb(&mut self, context: &policy::Context, used: Tokens, cap: Tier) -> Option<Tier> {
        let window = self.window.unwrap_or(context.default_window);
        let percent = used.get().saturating_mul(100).checked_div(window.get()).unwrap_or(0);
        self.percent = Count::new(u32::try_from(percent).unwrap_or(u32::MAX));
        let tier = if self.percent >= context.hard_block_threshold {
            Tier::HardBlock
        } else if self.percent >= context.mandatory_threshold {
            Tier::Mandatory
        } else if self.percent >= context.warning_threshold {
            Tier::Warning
        } else {
            Tier::Roomy
        }
        .min(cap);
        let climbed = tier > self.tier;
        self.tier = tier;
        climbed.then_some(tier)
    }

    /// Notes a compaction; says whether so many led nowhere that it is a loop.
    pub(crate) fn compacted(&mut self, context: &policy::Context, workspace: Fingerprint) -> bool {
        let moved = workspace.is_some() && workspace != self.workspace;
        self.compactions = if moved { Count::new(1) } else { self.compactions.next() };
        if workspace.is_some() {
            self.workspace = workspace;
        }
        self.compactions >= context.spiral_compactions
    }

    /// The context was cleared, or a person vouches for it: the next figure is judged afresh.
    pub(crate) const fn forget_tier(&mut self) {
        self.tier = Tier::Roomy;
    }

    /// The workspace moved: the compactions before led somewhere.
    pub(crate) const fn moved(&mut self) {
        self.compactions = Count::ZERO;
    }

    /// How full it is.
    pub(crate) const fn tier(&self) -> Tier {
        self.tier
    }

    /// What the figure rests on.
    pub(crate) const fn basis(&self) -> ContextBasis {
        self.basis
    }

    /// How full it is, in per cent.
    pub(crate) const fn percent(&self) -> Count {
        self.percent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tier_at(percent: u64) -> Option<Tier> {
        let context = policy::Context::default();
        ContextState::default().observe(&context, Tokens::new(percent * 2_000), None)
    }

    #[test]
    fn ctx_2_each_tier_begins_at_its_threshold() {
        let expected = [
            (74, None),
            (75, Some(Tier::Warning)),
            (79, Some(Tier::Warning)),
            (80, Some(Tier::Mandatory)),
            (84, Some(Tier::Mandatory)),
            (85, Some(Tier::HardBlock)),
            (250, Some(Tier::HardBlock)),
        ];
        for (percent, tier) in expected {
            assert_eq!(tier_at(percent), tier, "{percent} %");
        }
    }

    #[test]
    fn ctx_1_the_models_real_window_is_used_where_it_is_known() {
        let context = policy::Context::default();
        let mut state = ContextState::default();
        assert_eq!(state.observe(&context, Tokens::new(170_000), Some(Tokens::new(1_000_000))), None);
        assert_eq!(state.percent(), Count::new(17));
        assert_eq!(state.observe(&context, Tokens::new(170_000), Some(Tokens::ZERO)), Some(Tier::HardBlock));
    }

    #[test]
    fn ctx_2_a_tier_is_told_once_until_it_was_left() {
        let context = policy::Context::default();
        let mut state = ContextState::default();
        assert_eq!(state.observe(&context, Tokens::new(152_000), None), Some(Tier::Warning));
        assert_eq!(state.observe(&context, Tokens::new(154_000), None), None);
        assert_eq!(state.observe(&context, Tokens::new(20_000), None), None);
        assert_eq!(state.observe(&context, Tokens::new(152_000), None), Some(Tier::Warning));
    }

    #[test]
    fn ctx_1_an_estimate_counts_until_figures_come_and_only_warns_on_evidence() {
        let strict = policy::Policy { profile: policy::Profile::Strict, ..policy::Policy::default() };
        let mut state = ContextState::default();
        assert_eq!(state.estimate(&strict, Tokens::new(180_000)), Some(Tier::HardBlock));
        assert_eq!((state.basis(), state.percent()), (ContextBasis::Estimate, Count::new(90)));
        assert_eq!(state.observe(&strict.context, Tokens::new(20_000), None), None);
        assert_eq!(state.estimate(&strict, Tokens::new(180_000)), None, "the true figure stays");
        assert_eq!((state.basis(), state.percent()), (ContextBasis::Figures, Count::new(10)));
        let balanced = policy::Policy::default();
        assert_eq!(ContextState::default().estimate(&balanced, Tokens::new(400_000)), Some(Tier::Warning));
        assert_eq!(ContextState::default().estimate(&balanced, Tokens::new(20_000)), None);
    }

    #[test]
    fn ctx_4_three_compactions_without_a_change_are_a_spiral() {
        let context = policy::Context::default();
        let mut state = ContextState::default();
        let here = Fingerprint::of(b"tree");
        assert!(!state.compacted(&context, here) && !state.compacted(&context, here));
        assert!(state.compacted(&context, here));
    }

    #[test]
    fn ctx_4_compactions_between_which_work_was_done_are_none() {
        let context = policy::Context::default();
        let mut state = ContextState::default();
        for tree in [b"a", b"b", b"c", b"d"] {
            assert!(!state.compacted(&context, Fingerprint::of(tree)));
        }
        for _ in 0..4 {
            state.moved();
            assert!(!state.compacted(&context, Fingerprint::NONE));
        }
    }
}
