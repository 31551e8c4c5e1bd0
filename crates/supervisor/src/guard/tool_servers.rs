//! What the guard of a tool server asks (`tripwire mcp`), from inside the client's tree.
//!
//! A call that a hook or the gateway announced was decided there and counts once: here only what ends or holds the run keeps
//! it. Any other call is asked about as a hook's would be. Whatever runs in the client's tree can speak as such a guard, so
//! what it tells of results proves nothing and is not taken in.

use super::Guard;
use super::open_calls::ServedCall;
use super::waiting::Waited;
use crate::socket::Question;
use tripwire_clients::hooks::{self, Event, HookCall, Reply};
use tripwire_core::explain::Explain as _;

impl Guard {
    /// Answers the guard of a tool server.
    pub(crate) fn answer_tool_server(&self, question: &Question) -> Reply {
        let broken = |why: &str| Reply { stderr: format!("tripwire: {why}"), exit_code: 2, ..Reply::default() };
        let call = match hooks::read(question.client, &question.input) {
            Ok(call) => call,
            Err(error) => return broken(&error.to_string()),
        };
        let Event::Asked(tool) = &call.event else { return Reply::default() };
        let Some((_, name)) = tool.name.strip_prefix("mcp__").and_then(|name| name.split_once("__")) else {
            return broken("a tool server's call is named `mcp__SERVER__TOOL`");
        };
        let served = ServedCall { tool: name, input: &tool.input };
        if call.asks.is_none() && self.open().serve(&served) {
            return self.answer_announced(&broken);
        }
        self.answer_unannounced(call, &broken)
    }

    /// A call that was let pass before: nothing may have ended or held the run since.
    fn answer_announced(&self, broken: &dyn Fn(&str) -> Reply) -> Reply {
        loop {
            if let Err(error) = self.look() {
                let why = format!("{error}; {}", error.hint());
                self.fault(&why);
                return broken(&why);
            }
            match self.wait_for_a_person() {
                Waited::Over => return broken("the run is over"),
                Waited::Cleared => {}
                Waited::NotNeeded => break,
            }
        }
        let standing = self.with_engine(|driver| {
            let view = driver.view();
            Ok(view.stopped.map(|reason| reason.explain()).or_else(|| view.binding_hold().map(|hold| hold.explain())))
        });
        match standing {
            Ok(None) => Reply::default(),
            Ok(Some(why)) => broken(why),
            Err(error) => broken(&format!("{error}; {}", error.hint())),
        }
    }

    /// A call that nobody announced: it is asked about, and nobody waits for its result.
    fn answer_unannounced(&self, call: HookCall, broken: &dyn Fn(&str) -> Reply) -> Reply {
        let asked = if let Event::Asked(tool) = &call.event { Some(tool.clone()) } else { None };
        let reply = self.answer_call(call, broken);
        if let Some(tool) = asked {
            self.open().end(&tool);
        }
        reply
    }
}
