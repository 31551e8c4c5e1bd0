//! The review gate in our own loop: the staged change is reviewed by its digest, then applied or sent back (REVIEW-1).

use super::ending::Ending;
use super::line::Line;
use super::phase::{Asked, Asker, Phase};
use super::reading::{DecisionReading, GateAnswer};
use super::record::{EngineFailure, Returned, ReviewAnswer, Reviewed};
use super::{LoopEffect, Run};
use crate::chain::gate::dirty_bits::Verification;
use crate::record::chain::Digest;
use crate::text::CallId;
use alloc::format;
use alloc::vec::Vec;

impl Run {
    /// The digest of the change under review.
    pub(super) fn proposal(&self) -> Option<Digest> {
        self.turn.reviewed.as_ref().and_then(|reviewed| reviewed.proposal)
    }

    pub(super) fn take_review(&mut self, reviewed: &Reviewed, views: &mut Vec<LoopEffect>) {
        let text = reviewed.spoken.as_ref().map(|spoken| spoken.text.clone()).unwrap_or_default();
        views.push(LoopEffect::Line(Line::Review { answer: reviewed.answer, proposal: reviewed.proposal, text }));
        self.turn.reviewed = Some(reviewed.clone());
        match &reviewed.spoken {
            Some(spoken) => self.after_speech(Asker::Review, spoken, views),
            None => self.review_heard(views),
        }
    }

    /// The reviewer's words are accounted for: now what they mean.
    pub(super) fn review_heard(&mut self, views: &mut Vec<LoopEffect>) {
        let Some(reviewed) = &self.turn.reviewed else { return self.go_on(views) };
        match (reviewed.answer, reviewed.proposal) {
            (ReviewAnswer::NothingChanged, _) | (_, None) => {
                self.finish(Ending::Completed { verdict: Verification::NothingToVerify }, views);
            }
            (ReviewAnswer::Approved | ReviewAnswer::Rejected, Some(_)) => self.phase = Phase::Taking(Asked::Verdict),
            (ReviewAnswer::Unclear, Some(_)) => self.send_back(views),
        }
    }

    /// Nothing is applied without a review: the session ends and the change stays staged.
    pub(super) fn take_no_review(&mut self, failure: &EngineFailure, views: &mut Vec<LoopEffect>) {
        views.push(LoopEffect::Line(Line::EngineError(failure.clone())));
        self.after_spending(Asker::Reviewer, failure, views);
    }

    pub(super) fn no_review(&mut self, failure: &EngineFailure, views: &mut Vec<LoopEffect>) {
        let reason =
            format!("no reviewer could be had, and nothing is applied without a review: {}", failure.said).into();
        self.finish(Ending::Refused { reason }, views);
    }

    pub(super) fn verdict_answered(&mut self, views: &mut Vec<LoopEffect>) {
        match self.turn.reviewed.as_ref().map(|reviewed| reviewed.answer) {
            Some(ReviewAnswer::Approved) => self.phase = Phase::Taking(Asked::ApplyRequest),
            Some(ReviewAnswer::Rejected | ReviewAnswer::Unclear | ReviewAnswer::NothingChanged) | None => {
                self.send_back(views);
            }
        }
    }

    /// The reviewer's words go to the model, and the next iteration begins.
    fn send_back(&mut self, views: &mut Vec<LoopEffect>) {
        let said = self.turn.reviewed.take().and_then(|reviewed| reviewed.spoken).map(|spoken| spoken.text);
        let said = said.unwrap_or_default();
        self.due.words.push(format!("The reviewer did not approve the change. In their words:\n{said}").into());
        self.steps = self.steps.next();
        self.go_on(views);
    }

    pub(super) fn apply_request_answered(&mut self, reading: &DecisionReading<'_>, views: &mut Vec<LoopEffect>) {
        match reading.permission() {
            GateAnswer::Allowed => self.phase = Phase::Applying,
            GateAnswer::Later(ms) => self.phase = Phase::Waiting { ms, then: Asked::ApplyRequest },
            GateAnswer::Held(reason) => self.hold(reason, views),
            GateAnswer::Over(_) | GateAnswer::Denied => {
                let (reason, rule) = (reading.reason(), reading.decision.safety.rule.id());
                views.push(LoopEffect::Line(Line::Refused { what: "apply".into(), reason: reason.clone(), rule }));
                self.finish(Ending::Refused { reason }, views);
            }
        }
    }

    pub(super) fn take_applied(&mut self, returned: &Returned, views: &mut Vec<LoopEffect>) {
        views.push(LoopEffect::Line(Line::Result(super::line::ResultLine {
            call: CallId::default(),
            exit_code: returned.exit_code,
            how: returned.how,
            pointer: None,
            text: returned.text.clone(),
            tool: "apply".into(),
            verbatim: None,
        })));
        self.turn.result = Some(returned.clone());
        self.phase = Phase::Taking(Asked::ApplyResult);
    }

    pub(super) fn apply_result_answered(&mut self, views: &mut Vec<LoopEffect>) {
        match self.turn.result.take() {
            Some(returned) if !returned.how.is_error() => {
                let verdict = self.verdict.unwrap_or(Verification::Unverified);
                self.finish(Ending::Completed { verdict }, views);
            }
            Some(returned) => self.finish(Ending::Refused { reason: returned.text.into_string().into() }, views),
            None => self.go_on(views),
        }
    }
}
