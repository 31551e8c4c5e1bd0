//! An answer while it comes in: bounded, and whole only when the provider said so.

use super::limits::{ARGUMENT_BYTES_MAX, CALLS_MAX, TEXT_BYTES_MAX};
use super::refusal::{Fault, excerpt};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use tripwire_core::label::Label;
use tripwire_core::run::record::{Answer, AnswerEnd, Call, Spent};
use tripwire_core::units::Tokens;
use tripwire_core::usage::Usage;
use tripwire_observe::sse::Event;

/// How an id begins that was made here, because the provider gave none.
pub(super) const MADE_ID: &str = "made_";

/// Turns the events of one dialect into a draft.
pub(super) trait Decoder {
    /// Takes one event.
    fn event(&mut self, event: &Event, draft: &mut Draft) -> Result<(), Fault>;

    /// The stream ended cleanly: whatever the dialect says only by ending is settled here.
    fn ended(&mut self, draft: &mut Draft);
}

/// How much of an answer came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Came {
    /// Nothing.
    #[default]
    Nothing,
    /// Something.
    Part,
    /// The provider's end mark was seen.
    Whole,
}

/// A call while it comes in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct CallDraft {
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) arguments: String,
}

impl From<CallDraft> for Call {
    fn from(call: CallDraft) -> Self {
        Self { arguments: call.arguments.into(), id: call.id.into(), tool: call.tool.into() }
    }
}

/// What is known of an answer so far.
#[derive(Debug, Default)]
pub(super) struct Draft {
    text: String,
    shown: usize,
    calls: BTreeMap<u64, CallDraft>,
    /// The tokens, once the provider gave them.
    pub(super) usage: Option<Usage>,
    /// The model's own name.
    pub(super) model: String,
    /// Why it ended, once the provider said it.
    pub(super) end: Option<AnswerEnd>,
    /// How much of it came.
    pub(super) came: Came,
    /// Bytes of thinking that are no part of the text.
    pub(super) thought_bytes: usize,
    /// What the engine keeps of it for the next question.
    pub(super) kept: Vec<Value>,
}

impl Draft {
    /// Adds to the text.
    pub(super) fn say(&mut self, text: &str) -> Result<(), Fault> {
        if self.text.len() + text.len() > TEXT_BYTES_MAX {
            return Err(Fault::Broken(format!("its text is longer than {TEXT_BYTES_MAX} bytes")));
        }
        self.text.push_str(text);
        Ok(())
    }

    /// The text that came since this was last asked.
    pub(super) fn news(&mut self) -> &str {
        let news = self.text.get(self.shown..).unwrap_or_default();
        self.shown = self.text.len();
        news
    }

    /// The call at a place of the answer, made when it is first named.
    pub(super) fn call(&mut self, index: u64) -> Result<&mut CallDraft, Fault> {
        if self.calls.len() >= CALLS_MAX && !self.calls.contains_key(&index) {
            return Err(Fault::Broken(format!("it asks for more than {CALLS_MAX} calls")));
        }
        Ok(self.calls.entry(index).or_default())
    }

    /// Whether a call stands at this place.
    pub(super) fn has_call(&self, index: u64) -> bool {
        self.calls.contains_key(&index)
    }

    /// A place behind all calls.
    pub(super) fn next_call(&self) -> u64 {
        self.calls.keys().next_back().map_or(0, |last| last.saturating_add(1))
    }

    /// Adds to the arguments of a call.
    pub(super) fn argue(&mut self, index: u64, arguments: &str) -> Result<(), Fault> {
        let call = self.call(index)?;
        if call.arguments.len() + arguments.len() > ARGUMENT_BYTES_MAX {
            return Err(Fault::Broken(format!("the arguments of a call are longer than {ARGUMENT_BYTES_MAX} bytes")));
        }
        call.arguments.push_str(arguments);
        Ok(())
    }

    /// What an answer used that does not become whole. `guess` is what is taken for the whole; what the provider gave counts
    /// more, but its figure for the output is old wherever that is higher.
    pub(super) fn spent(&self, engine: Label, guess: impl FnOnce(&str, &[Call]) -> Usage) -> Spent {
        let calls: Vec<Call> = self.calls.values().cloned().map(Call::from).collect();
        let guess = guess(&self.text, &calls);
        let thought = Tokens::estimate(self.thought_bytes);
        let (usage, estimated) = match self.told() {
            None => (Usage { reasoning: thought, ..guess }, true),
            Some(given) if self.end.is_some() => (given, false),
            Some(given) => {
                let (output, reasoning) = (given.output.max(guess.output), given.reasoning.max(thought));
                let estimated = output > given.output || reasoning > given.reasoning;
                (Usage { output, reasoning, ..given }, estimated)
            }
        };
        Spent { engine, estimated, model: Label::cut(&self.model), usage }
    }

    /// The provider's figures; those of a question without any input are none.
    pub(super) fn told(&self) -> Option<Usage> {
        self.usage.filter(|usage| !usage.input().is_zero())
    }

    /// Whether it is whole and can be used.
    pub(super) fn check(&self) -> Result<(), Fault> {
        if self.end.is_none() || self.came < Came::Whole {
            let got = format!("after {} bytes of text and {} calls", self.text.len(), self.calls.len());
            return Err(Fault::Broken(format!("the stream ended without its end mark, {got}")));
        }
        if self.calls.values().any(|call| call.tool.is_empty()) {
            return Err(Fault::Broken("it asks for a call without a name".to_owned()));
        }
        Ok(())
    }

    /// Whether it holds nothing: no word, no call, no thought, no figure.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.calls.is_empty() && self.thought_bytes == 0 && self.usage.is_none()
    }

    /// The answer, if it is whole. A short answer is never taken for a whole one. `turn` is its place in the conversation,
    /// for the ids of calls that came without one.
    pub(super) fn finish(
        self,
        engine: Label,
        turn: usize,
        estimate: impl FnOnce(&str, &[Call]) -> Usage,
    ) -> Result<Answer, Fault> {
        self.check()?;
        let told = self.told();
        let end = self.end.unwrap_or(AnswerEnd::Finished);
        let mut calls: Vec<CallDraft> = self.calls.into_values().collect();
        let mut ids = BTreeSet::new();
        for (index, call) in calls.iter_mut().enumerate() {
            // Results are matched by these ids, so an empty or repeated one gets one of ours.
            if call.id.is_empty() || ids.contains(&call.id) {
                call.id = format!("{MADE_ID}{turn}_{index}");
            }
            ids.insert(call.id.clone());
            if call.arguments.trim().is_empty() {
                // A tool without arguments: some providers send nothing at all for it.
                "{}".clone_into(&mut call.arguments);
            }
        }
        let calls: Vec<Call> = calls.into_iter().map(Call::from).collect();
        let usage = told.unwrap_or_else(|| estimate(&self.text, &calls));
        Ok(Answer { calls, end, engine, model: Label::cut(&self.model), text: self.text.into(), usage, work: None })
    }
}

/// Reads a chunk of a stream; one that is not understood breaks the answer.
pub(super) fn chunk<'a, T: Deserialize<'a>>(data: &'a str) -> Result<T, Fault> {
    serde_json::from_str(data)
        .map_err(|error| Fault::Broken(format!("a chunk is not understood ({error}): `{}`", excerpt(data))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none(_: &str, _: &[Call]) -> Usage {
        Usage::default()
    }

    #[test]
    fn without_the_end_mark_there_is_no_answer() {
        let mut draft = Draft { end: Some(AnswerEnd::Finished), ..Draft::default() };
        draft.say("half").unwrap();
        let Err(Fault::Broken(why)) = draft.finish(Label::default(), 3, none) else { panic!("taken for whole") };
        assert_eq!(why, "the stream ended without its end mark, after 4 bytes of text and 0 calls");
        let whole = Draft { came: Came::Whole, ..Draft::default() };
        assert!(whole.finish(Label::default(), 3, none).is_err(), "the mark alone does not say how it ended");
    }

    #[test]
    fn gate_8_what_was_told_counts_and_the_rest_is_estimated_and_flagged() {
        let tokens = Tokens::new;
        let guess = |text: &str, _: &[Call]| Usage {
            fresh_input: tokens(9),
            output: tokens(text.len() as u64),
            ..Usage::default()
        };
        let given = Usage { cache_read: tokens(100_000), output: tokens(1), ..Usage::default() };
        let mut draft = Draft { usage: Some(given), ..Draft::default() };
        assert_eq!(
            draft.spent(Label::default(), guess),
            Spent { engine: Label::default(), model: Label::default(), usage: given, estimated: false }
        );
        draft.say("0123456789").unwrap();
        let spent = draft.spent(Label::default(), guess);
        assert_eq!((spent.usage, spent.estimated), (Usage { output: tokens(10), ..given }, true));
        draft.end = Some(AnswerEnd::Finished);
        assert!(!draft.spent(Label::default(), guess).estimated, "the figure of an ended answer is the last one");
        let silent = Draft { thought_bytes: 30, ..Draft::default() }.spent(Label::default(), guess);
        assert_eq!((silent.usage.fresh_input, silent.usage.reasoning, silent.estimated), (tokens(9), tokens(10), true));
    }

    #[test]
    fn text_arguments_and_calls_are_bounded() {
        let mut draft = Draft::default();
        let piece = "x".repeat(TEXT_BYTES_MAX);
        draft.say(&piece).unwrap();
        assert!(draft.say("x").is_err());
        draft.argue(7, &piece).unwrap();
        assert!(draft.argue(7, "x").is_err());
        assert!((0..CALLS_MAX as u64 + 8).any(|index| draft.call(index).is_err()));
    }

    #[test]
    fn news_are_told_once_and_calls_keep_their_order() {
        let mut draft = Draft::default();
        draft.say("ab").unwrap();
        assert_eq!(draft.next_call(), 0);
        assert_eq!(draft.news(), "ab");
        draft.say("c").unwrap();
        assert_eq!(draft.news(), "c");
        assert_eq!(draft.news(), "");
        "second".clone_into(&mut draft.call(4).unwrap().tool);
        "first".clone_into(&mut draft.call(1).unwrap().tool);
        assert_eq!(draft.next_call(), 5);
        draft.came = Came::Whole;
        draft.end = Some(AnswerEnd::Finished);
        let answer = draft.finish(Label::default(), 3, none).unwrap();
        let tools: Vec<_> = answer.calls.iter().map(|call| (call.tool.as_str(), call.arguments.as_str())).collect();
        assert_eq!(tools, [("first", "{}"), ("second", "{}")]);
        assert_eq!((answer.calls[0].id.as_str(), answer.calls[1].id.as_str()), ("made_3_0", "made_3_1"));
    }
}
