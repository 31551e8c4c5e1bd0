//! The review gate over staged changes: a proposal is the SHA-256 of a change set, an answer is bound to it, and only
//! what was approved is applied (REVIEW-1).
//!
//! The journal holds the decisions, and the engine alone says whether a change may be applied. The files in
//! `.geometry/reviews/` only remember what was proposed and what became of it, for people.

pub mod answer;
mod error;
mod proposal;

pub use answer::AnswerError;
pub use error::ReviewError;
pub use proposal::{ListedProposal, Proposal, State};

use crate::driver::Driver;
use crate::execution;
use std::path::{Path, PathBuf};
use tripwire_authority::{Need, Who};
use tripwire_core::chain::event::Action;
use tripwire_core::chain::feedback::{ExecutionResult, ExecutionStatus};
use tripwire_core::input::{Grant, Permission, Request, ReviewVerdict, Verdict, What};
use tripwire_core::label::Label;
use tripwire_core::record::chain::Digest;
use tripwire_core::units::{RunMillis, Tokens};
use tripwire_fs::file::make_folder;
use tripwire_fs::lock::{FileLock, Wait};
use tripwire_sandbox::{ApplyError, ChangeSet, Recovered, Stage};
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::wall_clock::WallClock;
use tripwire_workspace::{Places, Workspace};

/// The review gate of one workspace.
#[derive(Debug, Clone)]
pub struct Gate {
    root: PathBuf,
    layout: Layout,
    stage: PathBuf,
}

/// A change set that was applied.
#[derive(Debug)]
pub struct Applied {
    /// Its digest.
    pub digest: Digest,
    /// What changed.
    pub changes: ChangeSet,
}

impl Gate {
    /// The gate of a workspace, over the stage that `tripwire sandbox exec --stage` fills.
    #[must_use]
    pub fn of(workspace: &Workspace, places: &Places) -> Self {
        Self::at(workspace.root(), workspace.layout(), stage_dir(places, workspace.root()))
    }

    /// The gate over a stage of the caller's choice.
    #[must_use]
    pub fn at(root: &Path, layout: &Layout, stage: PathBuf) -> Self {
        Self { root: root.to_owned(), layout: layout.clone(), stage }
    }

    /// Registers what is staged now as a proposal. The same changes are the same proposal.
    ///
    /// # Errors
    /// When nothing is staged, or the stage cannot be read.
    pub fn propose(&self, now: WallClock) -> Result<Proposal, ReviewError> {
        let _alone = self.lock()?;
        let changes = self.staged()?;
        if changes.changes().is_empty() {
            return Err(ReviewError::NothingStaged);
        }
        let digest = changes.digest();
        let proposal = match proposal::find(&self.layout, digest)? {
            Some(known) if known.state != State::Applied => known,
            Some(_) | None => Proposal::new(digest, &changes, now),
        };
        proposal.save(&self.layout)?;
        Ok(proposal)
    }

    /// The proposals, newest first, each with whether it is what is staged now.
    ///
    /// # Errors
    /// When the folder of the proposals cannot be read.
    pub fn proposals(&self) -> Result<Vec<ListedProposal>, ReviewError> {
        let staged = self.staged().ok().map(|changes| changes.digest());
        proposal::list(&self.layout, staged)
    }

    /// Takes a reviewer's answer about a proposal and journals it. The clock is read when it is journaled: waiting for
    /// other reviewers and hashing take time, and a live session must not see its clock step back.
    ///
    /// # Errors
    /// When the answer holds no explicit decision, or the proposal is unknown or no longer what is staged: then
    /// nothing is decided.
    pub fn decide(
        &self,
        driver: &mut Driver,
        asked: Option<Digest>,
        answer: (&str, &str),
        clock: fn() -> WallClock,
    ) -> Result<(Proposal, Verdict), ReviewError> {
        let (text, by) = answer;
        let _alone = self.lock()?;
        let verdict = answer::read(text)?;
        let staged = self.staged()?.digest();
        let digest = asked.unwrap_or(staged);
        let mut proposal = proposal::find(&self.layout, digest)?.ok_or(ReviewError::NotProposed { digest })?;
        if staged != digest {
            return Err(ReviewError::Moved { proposed: digest, staged });
        }
        driver.take_now(What::Review(ReviewVerdict { proposal: digest, verdict }), clock)?;
        // A rejection is never outshouted, so the file says what the engine will say.
        proposal.decide(verdict, by, clock());
        proposal.save(&self.layout)?;
        Ok((proposal, verdict))
    }

    /// Applies what is staged, if exactly that was approved: all of it or nothing. `asked` is the change that the caller
    /// means; with another one staged nothing happens.
    ///
    /// # Errors
    /// When the review is missing, rejected or of another change, the role may not write, another process was first,
    /// or a file could not be written: then the workspace is as it was.
    pub fn apply(
        &self,
        driver: &mut Driver,
        who: Who<'_>,
        asked: Option<Digest>,
        clock: fn() -> WallClock,
    ) -> Result<Applied, ReviewError> {
        let _alone = self.lock()?;
        let stage = match Stage::open(&self.stage, &self.root) {
            Ok(stage) => stage,
            Err(error) => return Err(self.nothing_to_apply(error)?),
        };
        if stage.recover()? == Some(Recovered::Completed) {
            return Err(ReviewError::Finished);
        }
        let changes = self.staged()?;
        let digest = changes.digest();
        // Looked at before anything is asked for: a permit that is not used would stand open in the journal.
        if let Some(proposed) = asked.filter(|asked| *asked != digest) {
            return Err(ReviewError::Moved { proposed, staged: digest });
        }
        let action =
            Action { args_digest: Some(Label::cut(&digest.to_string())), tool: Label::cut(APPLY), ..Action::default() };
        let request = Request {
            authority: self.authority(driver, who, &changes),
            action: action.clone(),
            floor: None,
            proposal: Some(digest),
            reserve_micro_usd: None,
            agent_id: None,
            starts_agent: None,
            running: None,
        };
        let taken = driver.take_now(What::Request(request), clock)?;
        let Some(permit) = taken.permit else {
            return Err(ReviewError::Refused(Box::new(taken.decision.safety)));
        };
        let _spent = execution::spend(permit, action.exact())?;
        let done = stage.apply(&digest);
        let status = if done.is_ok() { ExecutionStatus::Success } else { ExecutionStatus::Failed };
        let (latency_ms, tokens_used) = (RunMillis::ZERO, Tokens::ZERO);
        let result = ExecutionResult { executed: done.is_ok(), latency_ms, status, tokens_used };
        driver.take_now(What::Result(result), clock)?;
        let changes = done?;
        let known = proposal::find(&self.layout, digest)?;
        let mut proposal = known.unwrap_or_else(|| Proposal::new(digest, &changes, clock()));
        proposal.state = State::Applied;
        proposal.save(&self.layout)?;
        Ok(Applied { digest, changes })
    }

    fn authority(&self, driver: &Driver, who: Who<'_>, changes: &ChangeSet) -> Option<tripwire_core::input::Authority> {
        let permissions = driver.frozen().permissions.as_ref()?;
        let mut needs = vec![Need::new(Permission::Write, "."), Need::new(Permission::CanEditSource, ".")];
        for change in changes.changes() {
            let path = change.path().to_string_lossy();
            needs.push(Need::new(Permission::Write, &path));
            needs.push(Need::new(Permission::CanEditSource, &path));
        }
        // The whole workspace stands first, so a role without the permission is named for it and not for one file.
        let missing = |need: &&Need| permissions.grant(who, need.permission, &need.resource) == Grant::Denied;
        let needs: Vec<Need> = needs.iter().find(missing).map_or_else(|| needs.clone(), |need| vec![need.clone()]);
        Some(permissions.authority(who, &needs, None))
    }

    /// What is staged, as it is now.
    fn staged(&self) -> Result<ChangeSet, ReviewError> {
        let stage = Stage::open(&self.stage, &self.root).map_err(|_| ReviewError::NothingStaged)?;
        Ok(stage.changes()?)
    }

    /// Why there is no stage: another process was first, or nothing was ever staged.
    fn nothing_to_apply(&self, error: tripwire_sandbox::StageError) -> Result<ReviewError, ReviewError> {
        let applied = self.proposals()?.into_iter().find(|listed| listed.proposal.state == State::Applied);
        if !matches!(error, tripwire_sandbox::StageError::NotAStage { .. }) {
            return Ok(ReviewError::Apply(ApplyError::Stage(error)));
        }
        Ok(match applied {
            Some(listed) => ReviewError::AppliedAlready { digest: listed.proposal.digest, at: listed.proposal.at },
            None => ReviewError::NothingStaged,
        })
    }

    /// Keeps several reviewers apart; the second sees what the first one did.
    fn lock(&self) -> Result<FileLock, ReviewError> {
        let folder = self.layout.reviews();
        make_folder(&folder)?;
        Ok(FileLock::take(&folder.join("lock"), Wait::Forever)?)
    }
}

/// Whether this workspace applies staged changes only after a review: the manifest says so, or a session froze it.
///
/// # Errors
/// When that cannot be known.
pub fn is_required(layout: &Layout) -> Result<bool, ReviewError> {
    use tripwire_core::policy::Switch;
    let policy = tripwire_workspace::policy_file::load_for(layout)?.policy;
    if policy.review.required == Switch::On {
        return Ok(true);
    }
    let newest = crate::driver::views::newest(layout)?;
    let Some(session) = newest else { return Ok(false) };
    Ok(Driver::resume(layout, &session)?.policy().review.required == Switch::On)
}

/// The stage of a workspace: one folder per workspace in the person's state folder.
#[must_use]
pub fn stage_dir(places: &Places, workspace: &Path) -> PathBuf {
    let home = || places.home.as_ref().map(|home| home.join(".local/state"));
    let state = places.xdg_state_home.clone().filter(|path| path.is_absolute());
    let base = state.or_else(home).unwrap_or_else(std::env::temp_dir);
    let place = std::fs::canonicalize(workspace).unwrap_or_else(|_| workspace.to_path_buf());
    // A readable, collision-free name: every byte that is no letter or digit is written as a number.
    let name: String = place
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(*byte).to_string() } else { format!("_{byte:02x}") })
        .collect();
    base.join("tripwire/stages").join(name)
}

/// The tool's name under which applying is journaled.
const APPLY: &str = "review.apply";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Change as FileChange;
    use crate::staging::Staging;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A clock that goes on by a minute whenever it is read.
    fn clock() -> WallClock {
        static READ_MS: AtomicU64 = AtomicU64::new(1_790_000_000_000);
        WallClock::from_epoch_ms(READ_MS.fetch_add(60_000, Ordering::SeqCst))
    }

    fn times(driver: &Driver) -> Vec<u64> {
        let journal = driver.journal();
        let records = journal.read(journal.beginning(), usize::MAX).unwrap().records;
        records.iter().map(|record| record.times.wall_ms).collect()
    }

    #[test]
    fn review_1_each_act_is_journaled_with_its_own_time_and_another_change_asks_for_nothing() {
        let top = tempfile::tempdir().unwrap();
        let (work, stage) = (top.path().join("work"), top.path().join("stage"));
        std::fs::create_dir_all(work.join(".geometry")).unwrap();
        let layout = Layout::at(&work.join(".geometry"));
        let staging = Staging::open(&stage, &work).unwrap();
        let files = staging.files(layout.folder()).unwrap();
        let bytes = b"new\n";
        files.change(&[FileChange::Write { path: files.path("a.txt").unwrap(), bytes }]).unwrap();
        let mut driver = Driver::begin(&layout, clock(), |_| Ok(())).unwrap();
        let gate = Gate::at(&work, &layout, stage);
        let digest = gate.propose(clock()).unwrap().digest;
        gate.decide(&mut driver, None, ("APPROVED", "me"), clock).unwrap();
        let before = times(&driver);

        let other = Some(Digest::from_bytes([7; 32]));
        let moved = gate.apply(&mut driver, Who::role("developer"), other, clock);
        assert!(matches!(moved, Err(ReviewError::Moved { .. })), "{moved:?}");
        assert_eq!(times(&driver), before, "nothing was asked for, so no permit stands open");

        gate.apply(&mut driver, Who::role("developer"), Some(digest), clock).unwrap();
        let mut after = times(&driver);
        assert!(after.is_sorted(), "{after:?}");
        after.dedup();
        assert_eq!(after.len(), 4, "the start, the answer, the request and its result: {after:?}");
        assert_eq!(std::fs::read_to_string(work.join("a.txt")).unwrap(), "new\n");
    }
}
