//! What can be done about an alarm: each offer is a change of one setting.

use super::past::{self, PastAlarm};
use tripwire_core::input::Input;
use tripwire_core::policy::{self, Policy};
use tripwire_core::rules::{self, Rule};
use tripwire_core::units::Ratio;
use tripwire_fs::shell_word::shell_quoted;

/// One way to make an alarm go away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Offer {
    /// Commands that fit this pattern are not counted by the loop rules.
    Ignore(String),
    /// Calls of this tool are not counted by the loop rules.
    Exempt(String),
    /// The threshold of a rule is moved.
    Raise {
        /// The setting.
        path: &'static str,
        /// What it is now.
        from: String,
        /// What it would be.
        to: String,
    },
}

impl Offer {
    /// The setting that is changed.
    pub(super) const fn path(&self) -> &'static str {
        match self {
            Self::Ignore(_) => "loops.ignore",
            Self::Exempt(_) => "loops.exempt_tools",
            Self::Raise { path, .. } => path,
        }
    }

    /// In words.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Ignore(pattern) => format!("ignore the command `{pattern}`"),
            Self::Exempt(tool) => format!("exempt the tool `{tool}`, all its calls"),
            Self::Raise { path, from, to } => format!("set `{path}` from {from} to {to}"),
        }
    }

    /// The flags that choose it.
    pub(super) fn flags(&self) -> String {
        match self {
            Self::Ignore(pattern) => format!("--ignore {}", shell_quoted(pattern)),
            Self::Exempt(_) => "--exempt-tool".to_owned(),
            Self::Raise { path, to, .. } => format!("--raise {path}={to}"),
        }
    }

    /// The value that the setting would have over this policy.
    pub(super) fn value(&self, policy: &Policy) -> String {
        let added = |list: &policy::List, item: &str| {
            let mut items: Vec<&str> = list.iter().filter(|known| *known != item).collect();
            items.push(item);
            items.join(",")
        };
        match self {
            Self::Ignore(pattern) => added(&policy.loops.ignore, pattern),
            Self::Exempt(tool) => added(&policy.loops.exempt_tools, tool),
            Self::Raise { to, .. } => to.clone(),
        }
    }

    /// A policy with this change; none where the values contradict each other.
    pub(super) fn over(&self, policy: &Policy) -> Option<Policy> {
        let mut changed = policy.clone();
        changed.set(self.path(), &self.value(policy)).ok()?;
        changed.check().ok()?;
        Some(changed)
    }

    /// Whether an alarm of a session does not come under this change.
    pub(super) fn removes(&self, alarm: &PastAlarm, inputs: &[Input], frozen: &Policy) -> bool {
        let upto = usize::try_from(alarm.decision).unwrap_or(usize::MAX).saturating_add(1).min(inputs.len());
        let inputs = inputs.get(..upto).unwrap_or_default();
        let changed = self.over(frozen).and_then(|policy| past::alarms(inputs, &policy));
        changed.is_some_and(|alarms| alarms.iter().all(|other| other.decision != alarm.decision))
    }

    /// A threshold that is moved to another value than the offered one. Nothing where that is the wrong way: a stricter value only
    /// moves the alarm to an earlier call.
    pub(super) fn moved_to(&self, value: &str) -> Option<Self> {
        let Self::Raise { path, from, to } = self else { return None };
        let offered = figures(from, to).map(|(from, to)| to.cmp(&from));
        let asked = figures(from, value).map(|(from, to)| to.cmp(&from));
        let is_right_way = asked.is_none() || asked == offered;
        is_right_way.then(|| Self::Raise { path, from: from.clone(), to: value.to_owned() })
    }

    /// Whether the loop rules alone are concerned.
    pub(super) const fn is_list(&self) -> bool {
        match self {
            Self::Ignore(_) | Self::Exempt(_) => true,
            Self::Raise { .. } => false,
        }
    }
}

/// Whether a rule can be tuned at all. What people, permissions and the destructive-command guard refuse is not noise.
pub(super) fn is_tunable(rule: Rule) -> bool {
    let id = rule.id();
    ["LOOP-", "ACT-", "GATE-2", "GATE-3", "GATE-4", "GATE-7", "PROG-", "ITER-", "CTX-", "TERM-1.steps", "GATE-8.agents"]
        .iter()
        .any(|start| id.starts_with(start))
}

/// All that would make an alarm of a session go away, tried on the session itself.
pub(super) fn offers(alarm: &PastAlarm, inputs: &[Input], frozen: &Policy) -> Vec<Offer> {
    let helps = |offer: &Offer| offer.removes(alarm, inputs, frozen);
    let mut offers: Vec<Offer> = Vec::new();
    for pattern in patterns(alarm) {
        offers.push(Offer::Ignore(pattern));
    }
    let tool = tool_of(alarm);
    if !tool.is_empty() {
        offers.push(Offer::Exempt(tool));
    }
    offers.retain(|offer| helps(offer));
    offers.extend(raises(alarm.rule, frozen).filter_map(|tries| tries.into_iter().find(|offer| helps(offer))));
    offers
}

/// The command of an alarm as a pattern, and the same with everything behind its first words left open.
pub(super) fn patterns(alarm: &PastAlarm) -> Vec<String> {
    let Some(command) = policy::command_of(&alarm.signature) else { return Vec::new() };
    // A list is written with commas between its items, so that none can stand in one.
    let command = command.replace(',', "*");
    let mut patterns = vec![command.clone()];
    let words: Vec<&str> = command.split_whitespace().collect();
    if let [first, second, _, ..] = words.as_slice() {
        patterns.push(format!("{first} {second} *"));
    }
    patterns
}

/// The tool of an alarm.
pub(super) fn tool_of(alarm: &PastAlarm) -> String {
    let signed = || alarm.signature.split('(').next().unwrap_or_default().to_owned();
    if alarm.tool.is_empty() { signed() } else { alarm.tool.clone() }.replace(',', "*")
}

/// For each setting behind a rule, values in the order in which they are tried: the smallest change first.
fn raises(rule: Rule, frozen: &Policy) -> impl Iterator<Item = Vec<Offer>> {
    let paths = rules::find(rule.id()).map_or(&[][..], |entry| entry.settings);
    let rows = frozen.rows().into_iter().filter(|row| paths.contains(&row.path) && is_threshold(row.path));
    rows.map(|row| {
        let from = row.in_force.clone().unwrap_or_else(|| row.value.clone());
        let values = values(&from);
        values.into_iter().map(|to| Offer::Raise { path: row.path, from: from.clone(), to }).collect()
    })
}

fn is_threshold(path: &str) -> bool {
    !matches!(path, "profile" | "loops.ignore" | "loops.exempt_tools" | "loops.loop_window_size")
}

/// Values beside a threshold: for a count the next ones, then doubled; for a share steps of 0.05 up, then down.
fn values(from: &str) -> Vec<String> {
    if let Ok(number) = from.parse::<u64>() {
        let near = (1..=RAISED_BY_ONES).map(|more| number.saturating_add(more));
        let far = (1..=DOUBLINGS).map(|times| number.saturating_mul(1 << times));
        let mut all: Vec<u64> = near.chain(far).filter(|value| *value > number).collect();
        all.sort_unstable();
        all.dedup();
        return all.iter().map(u64::to_string).collect();
    }
    let Some(share) = from.strip_prefix("0.").and_then(per_cent).or(if from == "1" { Some(100) } else { None }) else {
        return Vec::new();
    };
    let up = (1..=20).map(|step| share + 5 * step).filter(|share| *share <= 100);
    let down = (1..=20).filter_map(|step| share.checked_sub(5 * step));
    up.chain(down).map(|share| if share == 100 { "1".to_owned() } else { format!("0.{share:02}") }).collect()
}

/// Two values of one setting as numbers that can be compared; nothing for words such as `off`.
fn figures(one: &str, two: &str) -> Option<(u64, u64)> {
    let whole = |text: &str| text.replace('_', "").parse::<u64>().ok();
    let share = |text: &str| Ratio::parse(text).map(|ratio| u64::from(ratio.millionths()));
    whole(one).zip(whole(two)).or_else(|| share(one).zip(share(two)))
}

/// Two digits behind the point.
fn per_cent(digits: &str) -> Option<u64> {
    let two: String = format!("{digits:0<2}").chars().take(2).collect();
    two.parse().ok()
}

/// How far a count is raised one by one.
const RAISED_BY_ONES: u64 = 24;
/// How often it is doubled at most.
const DOUBLINGS: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn alarm(signature: &str) -> PastAlarm {
        PastAlarm {
            decision: 3,
            rule: Rule::LoopExact,
            signature: signature.to_owned(),
            tool: String::new(),
            reason: String::new(),
        }
    }

    #[test]
    fn a_command_is_offered_whole_and_by_its_first_words() {
        assert_eq!(
            patterns(&alarm("Bash(cmd=kubectl get pods -n prod)")),
            ["kubectl get pods -n prod", "kubectl get *"]
        );
        assert_eq!(patterns(&alarm("Bash(cmd=make)")), ["make"]);
        assert_eq!(patterns(&alarm("Bash(cmd=a b c,d)")), ["a b c*d", "a b *"]);
        assert!(patterns(&alarm("Read(...)")).is_empty());
        assert_eq!(tool_of(&alarm("mcp__ci__poll(...)")), "mcp__ci__poll");
    }

    #[test]
    fn thresholds_are_tried_from_the_smallest_change_on() {
        assert_eq!(values("3").first().map(String::as_str), Some("4"));
        assert_eq!(values("0.9").get(..3), Some(&["0.95".to_owned(), "1".to_owned(), "0.85".to_owned()][..]));
        assert!(values("auto").is_empty());
    }

    #[test]
    fn a_threshold_is_moved_only_the_way_that_the_alarm_goes() {
        let raise = |from: &str, to: &str| Offer::Raise { path: "x", from: from.to_owned(), to: to.to_owned() };
        assert_eq!(raise("3", "4").moved_to("1_000"), Some(raise("3", "1_000")));
        assert_eq!(raise("0.9", "0.85").moved_to("0.5"), Some(raise("0.9", "0.5")));
        assert_eq!(raise("3", "4").moved_to("off"), Some(raise("3", "off")));
        for (from, to, wrong) in [("3", "4", "3"), ("3", "4", "2"), ("0.9", "0.95", "0.8"), ("0.9", "0.85", "1")] {
            assert_eq!(raise(from, to).moved_to(wrong), None, "{from} {to} {wrong}");
        }
    }

    #[test]
    fn what_people_and_the_destructive_command_guard_refuse_is_not_tuned() {
        for rule in
            [Rule::Floor, Rule::Reach, Rule::Control, Rule::Permission, Rule::Review, Rule::Identity, Rule::GateMoney]
        {
            assert!(!is_tunable(rule), "{}", rule.id());
        }
        assert!(is_tunable(Rule::LoopCycle) && is_tunable(Rule::GateCalls) && is_tunable(Rule::ActSimilarity));
    }
}
