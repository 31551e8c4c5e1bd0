//! The tree of agents: how deep it is and how many ever started (GATE-8).

use crate::chain::event::AgentEvent;
use crate::label::{Fingerprint, Label};
use crate::policy::Limits;
use crate::ring::Ring;
use crate::units::Count;
use serde::{Deserialize, Serialize};

/// Agents that are remembered by name; beyond it they are still counted.
const REMEMBERED: usize = 32;

/// The sub-agents seen so far.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Agents {
    known: Ring<(Fingerprint, u32), REMEMBERED>,
    total: Count,
}

/// A limit of the tree that was crossed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Crossed {
    /// Nested too deep.
    Depth,
    /// Too many in all.
    Total,
}

impl Crossed {
    /// The answer to the refused agent.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Depth => "a free level: sub-agents are nested too deep (limits.max_agent_depth)",
            Self::Total => "a free place: too many sub-agents were started (limits.max_agents)",
        }
    }
}

impl Agents {
    /// Takes in who acted; says which limit a new sub-agent crosses.
    pub(crate) fn observe(&mut self, limits: &Limits, event: &AgentEvent) -> Option<Crossed> {
        let agent = event.agent_id.as_ref().map(Label::fingerprint)?;
        if self.depth_of(agent).is_some() {
            return None;
        }
        let parent = event.parent_agent_id.as_ref().and_then(|parent| self.depth_of(parent.fingerprint()));
        let depth = parent.unwrap_or(0).saturating_add(1);
        if depth > limits.max_agent_depth.get() {
            return Some(Crossed::Depth);
        }
        if self.total >= limits.max_agents {
            return Some(Crossed::Total);
        }
        // Only an agent that was let in takes a place: a refused one must not shut out the others.
        self.known.push((agent, depth));
        self.total = self.total.next();
        None
    }

    fn depth_of(&self, agent: Fingerprint) -> Option<u32> {
        self.known.newest_first().find(|(known, _)| *known == agent).map(|(_, depth)| *depth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn event(agent: &str, parent: Option<&str>) -> AgentEvent {
        AgentEvent {
            agent_id: Label::new(agent),
            parent_agent_id: parent.and_then(Label::new),
            ..AgentEvent::default()
        }
    }

    #[test]
    fn gate_8_the_thirteenth_sub_agent_and_the_third_level_are_refused() {
        let limits = Limits::default();
        let mut agents = Agents::default();
        for n in 0..12 {
            assert_eq!(agents.observe(&limits, &event(&n.to_string(), None)), None);
        }
        assert_eq!(agents.observe(&limits, &event("one too many", None)), Some(Crossed::Total));
        let mut agents = Agents::default();
        assert_eq!(agents.observe(&limits, &event("child", None)), None);
        assert_eq!(agents.observe(&limits, &event("grandchild", Some("child"))), None);
        assert_eq!(agents.observe(&limits, &event("great", Some("grandchild"))), Some(Crossed::Depth));
    }

    #[test]
    fn gate_8_five_children_and_the_main_agent_pass() {
        let limits = Limits::default();
        let mut agents = Agents::default();
        for n in 0..50 {
            assert_eq!(agents.observe(&limits, &event(&(n % 5).to_string(), None)), None);
        }
        assert_eq!(agents.observe(&limits, &AgentEvent::default()), None);
    }
}
