//! A result that is larger than its tool's limit: the agent gets its beginning and the words that say where the whole is, where
//! its client lets a hook take the place of a result.

use super::answer::Answer;
use super::dialect::Shortening;
use super::event::Event;
use super::hook_call::HookCall;
use super::short_result::ShortResult;
use tripwire_core::policy::OutputBytes;
use tripwire_session::driver::Driver;
use tripwire_session::memory::{MemoryStore, Visibility, cut_words};
use tripwire_workspace::geometry::layout::Layout;

/// The answer to a result that is larger than its tool's limit: the whole is kept, and its beginning stands in its place. What
/// cannot be kept is passed on whole, and a person is told. Nothing changes in a turn that ends.
pub(super) fn shortened(
    call: &HookCall,
    answer: Answer,
    driver: &Driver,
    layout: &Layout,
    notices: &mut Vec<String>,
) -> Answer {
    let Event::Done(tool, outcome) = &call.event else { return answer };
    let most = driver.policy().tools.limits.output_max(&tool.name).map(OutputBytes::get);
    let most = most.and_then(|most| usize::try_from(most).ok()).filter(|most| outcome.output.len() > *most);
    let (Some(bytes), Shortening::ByReason | Shortening::ByOutput) = (most, call.client.adapter().hooks.shortens)
    else {
        return answer;
    };
    let beside = match answer {
        Answer::Pass => None,
        Answer::Tell(text) | Answer::Override { text, .. } => Some(text),
        Answer::Refuse { .. } | Answer::SendBack(_) | Answer::Shorten(_) => return answer,
    };
    let kept = driver.redactor().map_err(|error| error.to_string()).and_then(|redactor| {
        let store = MemoryStore::at(&layout.memory()).redacting(redactor.clone());
        store.put(outcome.output.as_bytes(), Visibility::Public).map_err(|error| error.to_string())
    });
    match kept {
        Ok(pointer) => {
            Answer::Shorten(ShortResult { beside, bytes, words: cut_words(outcome.output.len(), &pointer.to_string()) })
        }
        Err(why) => {
            notices.push(format!("tripwire: a large result of `{}` is passed on whole: {why}", tool.name));
            beside.map_or(Answer::Pass, Answer::Tell)
        }
    }
}
