//! The tree of agents: how deep it is and how many ever started (GATE-8).

use crate::chain::event::AgentEvent;
use crate::enforcement::AgentLimitError;
use crate::input::AgentStart;
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
    /// Calls that were let pass and start one of which nothing was heard yet.
    starting: Count,
}

impl Agents {
    /// Takes in who acted; says which limit a new sub-agent crosses.
    pub(crate) fn observe(&mut self, limits: &Limits, event: &AgentEvent) -> Option<AgentLimitError> {
        let agent = event.agent_id.as_ref().map(Label::fingerprint)?;
        if self.depth_of(agent).is_some() {
            return None;
        }
        let depth = self.depth_below(event.parent_agent_id.as_ref());
        let crossed = crossed(limits, depth, self.total);
        if crossed.is_none() {
            // Only an agent that was let in takes a place: a refused one must not shut out the others.
            self.known.push((agent, depth));
            self.total = self.total.next();
            self.starting = self.starting.minus(Count::new(1));
        }
        crossed
    }

    /// The limit that the agent would cross which a call is about to start: refused before its model is asked anything.
    pub(crate) fn foresee(&self, limits: &Limits, start: &AgentStart) -> Option<AgentLimitError> {
        crossed(limits, self.depth_below(start.parent.as_ref()), self.total.plus(self.starting))
    }

    /// A call that starts an agent was let pass.
    pub(crate) fn will_start(&mut self) {
        self.starting = self.starting.next();
    }

    /// A new iteration begins: what was asked for and never began takes no place.
    pub(crate) const fn forget_starts(&mut self) {
        self.starting = Count::ZERO;
    }

    fn depth_below(&self, parent: Option<&Label>) -> u32 {
        parent.and_then(|parent| self.depth_of(parent.fingerprint())).unwrap_or(0).saturating_add(1)
    }

    fn depth_of(&self, agent: Fingerprint) -> Option<u32> {
        self.known.newest_first().find(|(known, _)| *known == agent).map(|(_, depth)| *depth)
    }
}

fn crossed(limits: &Limits, depth: u32, agents: Count) -> Option<AgentLimitError> {
    if depth > limits.max_agent_depth.get() {
        Some(AgentLimitError::Depth(limits.max_agent_depth))
    } else if agents >= limits.max_agents {
        Some(AgentLimitError::Total(limits.max_agents))
    } else {
        None
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
        assert_eq!(agents.observe(&limits, &event("one too many", None)), Some(AgentLimitError::Total(Count::new(12))));
        let mut agents = Agents::default();
        assert_eq!(agents.observe(&limits, &event("child", None)), None);
        assert_eq!(agents.observe(&limits, &event("grandchild", Some("child"))), None);
        assert_eq!(
            agents.observe(&limits, &event("great", Some("grandchild"))),
            Some(AgentLimitError::Depth(Count::new(2)))
        );
    }

    #[test]
    fn gate_8_the_call_that_starts_one_too_many_is_foreseen_and_a_lost_start_takes_no_place_for_long() {
        let limits = Limits::default();
        let mut agents = Agents::default();
        let main = AgentStart::default();
        for n in 0..12 {
            assert_eq!(agents.foresee(&limits, &main), None, "{n}");
            agents.will_start();
            if n % 2 == 0 {
                assert_eq!(agents.observe(&limits, &event(&n.to_string(), None)), None);
            }
        }
        assert_eq!(
            agents.foresee(&limits, &main),
            Some(AgentLimitError::Total(Count::new(12))),
            "six have yet to begin"
        );
        agents.forget_starts();
        assert_eq!(agents.foresee(&limits, &main), None, "they never began");
        let child = AgentStart { parent: Label::new("0") };
        assert_eq!(agents.foresee(&limits, &child), None);
        assert_eq!(agents.observe(&limits, &event("deep", Some("0"))), None);
        let grandchild = AgentStart { parent: Label::new("deep") };
        assert_eq!(agents.foresee(&limits, &grandchild), Some(AgentLimitError::Depth(Count::new(2))));
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
