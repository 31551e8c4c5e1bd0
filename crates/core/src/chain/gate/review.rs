//! The review gate: an answer is bound to the digest of one change (REVIEW-1).

use crate::enforcement::{EnforcementError, ReviewGatingError, ReviewProblem};
use crate::input::{ReviewVerdict, Verdict};
use crate::record::chain::Digest;
use crate::ring::Ring;
use serde::{Deserialize, Serialize};

/// Reviews that are remembered; an older one must be asked for again.
const REMEMBERED: usize = 8;

/// The newest reviews.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Reviews(Ring<ReviewVerdict, REMEMBERED>);

impl Reviews {
    /// Notes an answer. A rejection is carried on: no later approval of the same change, and no flood of others,
    /// outshouts it.
    pub(crate) fn note(&mut self, review: ReviewVerdict) {
        let rejected = |known: &ReviewVerdict| known.proposal == review.proposal && known.verdict == Verdict::Rejected;
        let verdict = if self.0.newest_first().any(rejected) { Verdict::Rejected } else { review.verdict };
        self.0.push(ReviewVerdict { verdict, ..review });
    }

    /// Checks that a change may be applied.
    pub(crate) fn check(&self, proposal: Digest) -> Result<(), EnforcementError> {
        let mut of_this = self.0.newest_first().filter(|review| review.proposal == proposal).peekable();
        let problem = if of_this.peek().is_none() {
            if self.0.len() == 0 { ReviewProblem::Missing } else { ReviewProblem::Mismatched }
        } else if of_this.all(|review| review.verdict == Verdict::Approved) {
            return Ok(());
        } else {
            ReviewProblem::Rejected
        };
        Err(EnforcementError::ReviewGating(ReviewGatingError { problem }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(reviews: &Reviews, proposal: Digest) -> Option<ReviewProblem> {
        match reviews.check(proposal) {
            Ok(()) => None,
            Err(EnforcementError::ReviewGating(error)) => Some(error.problem),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn review_1_missing_rejected_and_mismatched_are_told_apart() {
        let (this, other) = (Digest::of(b"this"), Digest::of(b"other"));
        let mut reviews = Reviews::default();
        assert_eq!(problem(&reviews, this), Some(ReviewProblem::Missing));
        reviews.note(ReviewVerdict { proposal: other, verdict: Verdict::Approved });
        assert_eq!(problem(&reviews, this), Some(ReviewProblem::Mismatched));
        reviews.note(ReviewVerdict { proposal: this, verdict: Verdict::Rejected });
        assert_eq!(problem(&reviews, this), Some(ReviewProblem::Rejected));
    }

    #[test]
    fn review_1_an_approved_change_passes_until_somebody_rejects_it() {
        let this = Digest::of(b"this");
        let mut reviews = Reviews::default();
        reviews.note(ReviewVerdict { proposal: this, verdict: Verdict::Approved });
        assert_eq!(problem(&reviews, this), None);
        reviews.note(ReviewVerdict { proposal: this, verdict: Verdict::Rejected });
        assert_eq!(problem(&reviews, this), Some(ReviewProblem::Rejected));
    }
}
