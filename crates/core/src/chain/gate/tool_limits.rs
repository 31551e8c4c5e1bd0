//! Limits of single tools (TOOL-3): how often one may be called in a session and in a sliding minute.
//!
//! Only what was let pass counts. The minute is kept in spans of five seconds: a call may leave it a little later than a minute
//! after it was made, and never earlier.

use crate::enforcement::ToolLimitError;
use crate::label::Label;
use crate::limits::MINUTE_MS;
use crate::policy::ToolLimits;
use crate::ring::Ring;
use crate::units::{Count, RunMillis};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Milliseconds of one span.
const SPAN_MS: u64 = 5_000;
/// Spans of a minute, and the one that begins it.
const SPANS: usize = 13;

/// The calls of the tools that have limits, by the place of their limits in the policy.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct ToolCounts {
    counts: Vec<ToolCount>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct ToolCount {
    calls: Count,
    /// Calls by the end of their span.
    minute: Ring<(RunMillis, u32), SPANS>,
}

impl ToolCounts {
    /// The limit that one more call of a tool would cross.
    pub(crate) fn crossed(&self, limits: &ToolLimits, tool: &Label, now: RunMillis) -> Option<ToolLimitError> {
        let (place, limit) = limits.of(tool.as_str())?;
        let none = ToolCount::default();
        let count = self.counts.get(place).unwrap_or(&none);
        if let Some(most) = limit.max_calls.filter(|most| count.calls >= *most) {
            return Some(ToolLimitError::Calls { tool: limit.tool.clone(), most });
        }
        let most = limit.per_minute?;
        let (used, oldest) = count.in_minute(now);
        let wait = oldest.map_or(RunMillis::ZERO, |oldest| oldest.plus(RunMillis::new(MINUTE_MS)).minus(now));
        (used >= most.get()).then(|| ToolLimitError::PerMinute { tool: limit.tool.clone(), most, wait_ms: wait })
    }

    /// A call was let pass.
    pub(crate) fn count(&mut self, limits: &ToolLimits, tool: &Label, now: RunMillis) {
        let Some((place, _)) = limits.of(tool.as_str()) else { return };
        while self.counts.len() <= place {
            self.counts.push(ToolCount::default());
        }
        let Some(count) = self.counts.get_mut(place) else { return };
        count.calls = count.calls.next();
        let end = RunMillis::new(now.get().checked_div(SPAN_MS).unwrap_or(0).saturating_add(1).saturating_mul(SPAN_MS));
        match count.minute.newest_mut() {
            Some((newest, calls)) if *newest == end => *calls = calls.saturating_add(1),
            Some(_) | None => count.minute.push((end, 1)),
        }
    }
}

impl ToolCount {
    /// The calls of the last minute, and the end of the oldest span that holds one.
    fn in_minute(&self, now: RunMillis) -> (u32, Option<RunMillis>) {
        let within = self.minute.newest_first().filter(|(end, _)| now.minus(*end).get() < MINUTE_MS);
        within.fold((0, None), |(calls, _), (end, more)| (calls.saturating_add(*more), Some(*end)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;
    use alloc::string::ToString;

    fn limits(text: &str) -> ToolLimits {
        let mut policy = Policy::default();
        policy.set("tools.limits", text).unwrap();
        policy.tools.limits
    }

    fn at(seconds: u64) -> RunMillis {
        RunMillis::new(seconds.saturating_mul(1_000))
    }

    #[test]
    fn tool_3_a_tool_is_refused_after_its_calls_and_others_are_not() {
        let limits = limits("github/create_issue max_calls=2");
        let (mut counts, tool, other) =
            (ToolCounts::default(), Label::cut("mcp__github__create_issue"), Label::cut("mcp__github__list"));
        for n in 0..2 {
            assert_eq!(counts.crossed(&limits, &tool, at(n)), None);
            counts.count(&limits, &tool, at(n));
            counts.count(&limits, &other, at(n));
        }
        let crossed = counts.crossed(&limits, &tool, at(9_999)).unwrap().to_string();
        assert!(crossed.contains("`github/create_issue`") && crossed.contains('2'), "{crossed}");
        assert_eq!(counts.crossed(&limits, &other, at(9)), None);
    }

    #[test]
    fn tool_3_a_tool_is_refused_within_its_minute_and_passes_after_it() {
        let limits = limits("Bash per_minute=3");
        let (mut counts, tool) = (ToolCounts::default(), Label::cut("Bash"));
        for second in [0, 1, 30] {
            assert_eq!(counts.crossed(&limits, &tool, at(second)), None, "{second}");
            counts.count(&limits, &tool, at(second));
        }
        for second in [30, 45, 60, 64] {
            assert!(counts.crossed(&limits, &tool, at(second)).is_some(), "{second}");
        }
        let last = RunMillis::new(64_999);
        assert!(counts.crossed(&limits, &tool, last).is_some(), "a minute is counted from the end of its span");
        assert_eq!(counts.crossed(&limits, &tool, at(65)), None, "the first two are a minute old");
        for n in 0..500 {
            counts.count(&limits, &tool, at(n));
        }
        assert!(counts.counts[0].minute.len() <= SPANS);
        assert!(counts.crossed(&limits, &tool, at(500)).is_some());
    }
}
