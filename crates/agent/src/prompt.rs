//! The words that never change during a session: what the agent, the advisor and the reviewer are told.

use tripwire_core::effect::Deadlock;

/// The system prompt of our own loop, frozen by its hash in the session's first record (RUN-1).
pub const SYSTEM: &str = "\
You are an autonomous software agent. You work on one objective inside one workspace, by calling tools.

How you work:
- Every answer calls at least one tool. Say in one short line what you do next, then call.
- Paths are relative to the workspace. Commands run in a sandbox: no network but to hosts that a person \
allowed, no terminal, nothing to type into.
- A tool that fails tells you why, word for word. Read it before you call anything else; never repeat a call unchanged.
- Long results are cut; the rest stands behind a pointer that `recall` reads.
- Change the smallest thing that reaches the objective. After you change code, run the tests.
- Call `finish` when the objective is reached. It is refused while changed code is untested or its tests fail.

Who watches:
- A guard outside of you decides what may run. You cannot change it, and its files in `.geometry/` are not yours.
- `LOOP_OVERRIDE {…}` comes from the guard: do not repeat what `doNotRepeat` names; take another approach. Its `advice`, \
if there is one, comes from an advisor.
- Stopping is as valid as going on. If you cannot reach the objective, say why in `finish`.
";

/// The seed's prompt for the advisor (RUN-5).
#[must_use]
pub fn advisor(deadlock: Deadlock, transcript: &str) -> String {
    let kind = match deadlock {
        Deadlock::HardLoop => "HARD_LOOP",
        Deadlock::NoProgress => "NO_PROGRESS",
    };
    format!(
        "You are an Out-of-Band Advisor. The autonomous loop is stuck.\n\n\
         DEADLOCK TYPE: {kind}\n\n\
         TRANSCRIPT (last {ADVISOR_LINES} lines):\n{transcript}\n\n\
         Analyze the cognitive deadlock and provide:\n\
         1. Root cause of the stuck state\n\
         2. A completely different approach to try\n\
         3. The exact prompt to inject into the worker\n\n\
         Output ONLY the prompt to inject, nothing else.\n"
    )
}

/// What an advisor is asked about a loop that the guard holds. Its answer is written down and decides nothing.
#[must_use]
pub fn loop_check(transcript: &str) -> String {
    format!(
        "A guard holds an autonomous agent because it seems to repeat itself.\n\n\
         TRANSCRIPT (last {ADVISOR_LINES} lines):\n{transcript}\n\n\
         Does the agent repeat itself without getting nearer to its objective? Answer with exactly one of the two words \
         LOOP or PROGRESS, then one sentence why.\n"
    )
}

/// What the reviewer of a change is asked (REVIEW-1).
#[must_use]
pub fn reviewer(objective: &str, digest: &str, change: &str) -> String {
    format!(
        "You review a change that an autonomous agent wants to apply. Nothing is applied without you.\n\n\
         OBJECTIVE:\n{objective}\n\n\
         CHANGE {digest}:\n{change}\n\n\
         Does the change reach the objective without harm? Give your reasons in a few lines. Then write, alone on the \
         last line, exactly one of the two words: APPROVED or REJECTED.\n"
    )
}

/// Lines of the transcript that the advisor gets.
pub const ADVISOR_LINES: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_5_the_advisor_gets_the_deadlock_and_the_transcript() {
        let prompt = advisor(Deadlock::HardLoop, "the lines");
        assert!(
            prompt.contains("DEADLOCK TYPE: HARD_LOOP") && prompt.contains("last 500 lines):\nthe lines"),
            "{prompt}"
        );
        assert!(prompt.ends_with("Output ONLY the prompt to inject, nothing else.\n"));
        assert!(advisor(Deadlock::NoProgress, "").contains("NO_PROGRESS"));
    }
}
