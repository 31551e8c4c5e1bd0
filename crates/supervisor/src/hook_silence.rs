//! Hooks that stay silent (`HOOK_SILENT`): the model asked for a call, and no hook announced it within a window after the end of
//! the reply.
//!
//! Quiet for tools that the client never announces, for calls that were declined, and while other calls run: a client may run
//! them one after the other.

use crate::guard::pulse::Pulse;
use std::collections::BTreeMap;
use std::time::Duration;
use tripwire_clients::Client;
use tripwire_gateway::ModelNews;
use tripwire_gateway::wire::tool_calls::WireResult;

/// Calls that are waited for at the same time.
const WAITING_MAX: usize = 1_024;

/// What the model asked for and no hook has announced yet.
#[derive(Debug)]
pub(crate) struct HookSilence {
    client: Client,
    within: Duration,
    waiting: BTreeMap<String, WaitingCall>,
}

#[derive(Debug)]
struct WaitingCall {
    tool: String,
    since: Duration,
    within: Duration,
}

/// Whether calls of the agent are running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OtherCalls {
    /// Some are.
    Running,
    /// None is.
    None,
}

impl HookSilence {
    /// Nothing is waited for yet.
    pub(crate) const fn new(client: Client, within: Duration) -> Self {
        Self { client, within, waiting: BTreeMap::new() }
    }

    /// Takes in what the gateway saw, and says which call no hook announced in time; each is said once.
    pub(crate) fn look(
        &mut self,
        news: impl IntoIterator<Item = ModelNews>,
        pulse: &Pulse,
        others: OtherCalls,
        now: Duration,
    ) -> Option<String> {
        for news in news {
            match news {
                ModelNews::Asked(calls) => {
                    for call in calls.into_iter().filter(|call| (self.client.adapter().hooks.announces)(&call.name)) {
                        if self.waiting.len() < WAITING_MAX {
                            let waiting = WaitingCall { tool: call.name, since: now, within: self.within };
                            self.waiting.insert(call.id, waiting);
                        }
                    }
                }
                ModelNews::Answered(results) => {
                    let client = self.client;
                    for result in results.iter().filter(|result| is_declined(client, result)) {
                        self.waiting.remove(&result.id);
                    }
                }
                ModelNews::Settled(_) | ModelNews::Refused { .. } | ModelNews::Broken(_) => {}
            }
        }
        self.waiting.retain(|id, _| !pulse.has_announced(id));
        if others == OtherCalls::Running {
            for call in self.waiting.values_mut() {
                (call.since, call.within) = (now, self.within * 2);
            }
        }
        let late = |call: &WaitingCall| now.saturating_sub(call.since) > call.within;
        let id = self.waiting.iter().find(|(_, call)| late(call)).map(|(id, _)| id.clone())?;
        let call = self.waiting.remove(&id)?;
        Some(format!(
            "HOOK_SILENT: the model asked for the call `{id}` of `{}`, and no hook announced it within {} s",
            call.tool,
            call.within.as_secs()
        ))
    }
}

/// Whether a result says that the call did not run.
fn is_declined(client: Client, result: &WireResult) -> bool {
    result.failed == Some(true) || !(client.adapter().hooks.shows_run)(&result.output)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tripwire_gateway::wire::tool_calls::WireCall;

    const WITHIN: Duration = Duration::from_secs(10);

    fn asked(id: &str, tool: &str) -> ModelNews {
        ModelNews::Asked(vec![WireCall { id: id.to_owned(), name: tool.to_owned(), arguments: "{}".to_owned() }])
    }

    fn answered(id: &str, failed: Option<bool>, output: &str) -> ModelNews {
        ModelNews::Answered(vec![WireResult { id: id.to_owned(), output: output.to_owned(), failed }])
    }

    fn look(silence: &mut HookSilence, news: Vec<ModelNews>, announced: &[&str], others: OtherCalls, at: u64) -> bool {
        silence.look(news, &Pulse::announcing(announced), others, Duration::from_secs(at)).is_some()
    }

    #[test]
    fn const_5_a_call_that_no_hook_announces_is_said_once_and_an_announced_one_is_not() {
        let mut silence = HookSilence::new(Client::Claude, WITHIN);
        assert!(!look(&mut silence, vec![asked("a", "Bash"), asked("b", "Bash")], &["a"], OtherCalls::None, 0));
        assert!(!look(&mut silence, vec![], &["a"], OtherCalls::None, 10));
        let told = silence.look(vec![], &Pulse::announcing(&["a"]), OtherCalls::None, Duration::from_secs(11)).unwrap();
        assert!(told.starts_with("HOOK_SILENT") && told.contains("`b` of `Bash`") && told.contains("10 s"), "{told}");
        assert!(!look(&mut silence, vec![], &["a"], OtherCalls::None, 60), "it was said");
    }

    #[test]
    fn const_5_declined_calls_and_tools_that_nobody_announces_are_quiet() {
        let mut claude = HookSilence::new(Client::Claude, WITHIN);
        let declined = vec![asked("a", "Bash"), answered("a", Some(true), "The user does not want it")];
        assert!(!look(&mut claude, declined, &[], OtherCalls::None, 0));
        assert!(!look(&mut claude, vec![], &[], OtherCalls::None, 60));
        let mut codex = HookSilence::new(Client::Codex, WITHIN);
        let news = vec![asked("p", "update_plan"), asked("e", "exec_command"), answered("e", None, "rejected")];
        assert!(!look(&mut codex, news, &[], OtherCalls::None, 0));
        assert!(!look(&mut codex, vec![], &[], OtherCalls::None, 60));
        let ran = vec![asked("r", "exec_command"), answered("r", None, "Process exited with code 0")];
        assert!(!look(&mut codex, ran, &[], OtherCalls::None, 60));
        assert!(look(&mut codex, vec![], &[], OtherCalls::None, 71), "it ran and nobody announced it");
    }

    #[test]
    fn const_5_calls_that_run_one_after_the_other_are_waited_for() {
        let mut silence = HookSilence::new(Client::Claude, WITHIN);
        let both = vec![asked("a", "Bash"), asked("b", "Bash")];
        assert!(!look(&mut silence, both, &["a"], OtherCalls::Running, 0));
        assert!(!look(&mut silence, vec![], &["a"], OtherCalls::Running, 300), "the first one is a long test run");
        assert!(!look(&mut silence, vec![], &["a"], OtherCalls::None, 319), "twice the window from its end on");
        assert!(look(&mut silence, vec![], &["a"], OtherCalls::None, 321));
    }
}
