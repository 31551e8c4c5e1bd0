//! What waits for a person's answer in a workspace, as one queue: held commands, proposed changes, budgets that are used up.
//!
//! The journals are the queue. A held command is in the state of the session that holds it, a proposal in the review gate, a
//! spent budget in the session that it holds; an answer is a journaled act of a person in that session. Nothing is kept beside
//! them, so the first answer is the first in the journal, and all later ones are told so.

mod error;

pub use error::ApprovalError;

use crate::driver::{Driver, DriverError, Signing, StepOutcome, views};
use crate::ended;
use crate::newest::newest_or_new;
use crate::review::{Gate, ListedProposal, State};
use std::time::{Duration, Instant};
use tripwire_core::chain::gate::floor::{ApprovalVerdict, HeldCommand, PersonsAnswer};
use tripwire_core::counted::counted;
use tripwire_core::effect::HoldReason;
use tripwire_core::input::{HumanAct, What};
use tripwire_core::label::Label;
use tripwire_core::record::chain::Digest;
use tripwire_core::units::{EventIndex, MicroUsd};
use tripwire_workspace::Workspace;
use tripwire_workspace::clock;
use tripwire_workspace::geometry::wall_clock::WallClock;
use tripwire_workspace::session::SessionId;

/// Newest sessions that are looked at for open questions.
const SESSIONS_MAX: usize = 32;
/// How often a call that waits looks whether it was answered.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// What the id of a spent budget begins with; the session follows.
const BUDGET: &str = "budget-";

/// One thing that a person is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// By what a person names it: the code of a held command, the first digits of a proposal, `budget-SESSION`.
    pub id: String,
    /// What it is about.
    pub kind: ApprovalKind,
    /// The session that asks, where one does.
    pub session: Option<SessionId>,
    /// The input that asked, where one of the session did.
    pub asked: Option<EventIndex>,
    /// Since when it waits, where that is known.
    pub since: Option<WallClock>,
    /// What would be done, in words for a person.
    pub what: String,
    /// The rule that holds it.
    pub rule: String,
    /// Exactly what is asked: a command with its folder and its workspace, a staged change, a budget with its limit.
    pub digest: Digest,
}

/// What a person is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalKind {
    /// A command that destroys or publishes, or that a policy asks about.
    Command,
    /// A staged change.
    Review,
    /// A money budget that is used up.
    Budget,
}

impl ApprovalKind {
    /// Its name for people and programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Review => "review",
            Self::Budget => "budget",
        }
    }
}

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Yes or no.
    pub says: ApprovalVerdict,
    /// Who answers.
    pub who: String,
    /// Why.
    pub reason: String,
    /// By how much a budget is raised.
    pub raise: Option<MicroUsd>,
}

/// An answer that was journaled.
#[derive(Debug)]
pub struct Answered {
    /// What it was about.
    pub approval: Approval,
    /// The session in which it is journaled.
    pub session: SessionId,
    /// What the engine made of it, for notifications.
    pub taken: Option<StepOutcome>,
}

/// The queue of one workspace.
#[derive(Debug)]
pub struct ApprovalQueue<'a> {
    workspace: &'a Workspace,
    gate: Gate,
    signing: Option<Signing>,
}

impl<'a> ApprovalQueue<'a> {
    /// The queue of a workspace, with its review gate and who signs its journals.
    #[must_use]
    pub const fn new(workspace: &'a Workspace, gate: Gate, signing: Option<Signing>) -> Self {
        Self { workspace, gate, signing }
    }

    /// What waits, newest session first.
    ///
    /// # Errors
    /// When the sessions cannot be listed; one that cannot be opened holds nothing that could be answered.
    pub fn open(&self) -> Result<Vec<Approval>, ApprovalError> {
        let layout = self.workspace.layout();
        let newest = views::sessions(layout)?.into_iter().rev().take(SESSIONS_MAX);
        let mut open: Vec<Approval> = newest.flat_map(|session| self.open_in(&session)).collect();
        open.extend(self.proposals());
        Ok(open)
    }

    /// What waits in one session; one that cannot be opened holds nothing that could be answered.
    #[must_use]
    pub fn open_in(&self, session: &SessionId) -> Vec<Approval> {
        self.driver(session).filter(|driver| self.goes_on(driver)).map(|driver| of_session(&driver)).unwrap_or_default()
    }

    /// Takes a person's answer. It is journaled in the session that asks, before anything follows from it.
    ///
    /// # Errors
    /// When nothing of this id waits, two things do, or another answer came first; then nothing has changed.
    pub fn answer(&self, id: &str, answer: &Answer, within: Option<&SessionId>) -> Result<Answered, ApprovalError> {
        let id = id.trim();
        if let Some(session) = id.strip_prefix(BUDGET) {
            return self.answer_budget(id, session, answer);
        }
        let code = id.to_uppercase();
        match self.holder(&code, within)? {
            Some((session, driver)) => self.answer_command(session, driver, &code, answer),
            None => self.answer_review(id, answer),
        }
    }

    fn driver(&self, session: &SessionId) -> Option<Driver> {
        let mut driver = Driver::resume(self.workspace.layout(), session).ok()?;
        driver.refresh().ok()?;
        Some(driver.signed_by(self.signing.clone()))
    }

    fn goes_on(&self, driver: &Driver) -> bool {
        ended::look(self.workspace.layout(), driver).is_none_or(|ended| ended.goes_on_with.is_some())
    }

    /// The newest session that holds a command of this code. One command may be asked about in two sessions, at a hook and at
    /// the guard of its server: the one that still waits for an answer comes first.
    fn holder(&self, code: &str, within: Option<&SessionId>) -> Result<Option<(SessionId, Driver)>, ApprovalError> {
        let sessions = match within {
            Some(session) => vec![session.clone()],
            None => views::sessions(self.workspace.layout())?,
        };
        let newest = sessions.into_iter().rev().take(SESSIONS_MAX);
        let mut answered = None;
        for session in newest {
            let Some(driver) = self.driver(&session) else { continue };
            let waiting = driver.view().waiting;
            let mut of_code = waiting.iter().filter(|held| held.code.as_str() == code).peekable();
            if of_code.peek().is_none() {
                continue;
            }
            if of_code.any(|held| held.answer.is_none()) && self.goes_on(&driver) {
                return Ok(Some((session, driver)));
            }
            answered = answered.or(Some((session, driver)));
        }
        Ok(answered)
    }

    fn answer_command(
        &self,
        session: SessionId,
        mut driver: Driver,
        code: &str,
        answer: &Answer,
    ) -> Result<Answered, ApprovalError> {
        let label = Label::cut(code);
        let act = match answer.says {
            ApprovalVerdict::Allowed => HumanAct::AllowOnce(label.clone()),
            ApprovalVerdict::Denied => HumanAct::Deny(label.clone()),
        };
        let taken = driver.take_now(answer.signed(act), clock::now)?;
        // The call may have passed, or another one with the same code may have come, in between. What waits is as it was when
        // the engine decided.
        let view = driver.view();
        let of_code: Vec<&HeldCommand> = view.waiting.iter().filter(|held| held.code == label).collect();
        let held = match of_code.as_slice() {
            [] => return Err(self.nothing_waits(code)),
            [held] => *held,
            [_, ..] => return Err(ApprovalError::Ambiguous { id: code.to_owned() }),
        };
        match &held.answer {
            Some(first) if first.index == taken.decision.i => {}
            Some(first) => return Err(ApprovalError::AnsweredBefore { id: code.to_owned(), first: words_of(first) }),
            None => return Err(self.nothing_waits(code)),
        }
        let approval = of_command(&driver, held);
        Ok(Answered { approval, session, taken: Some(taken) })
    }

    fn answer_budget(&self, id: &str, session: &str, answer: &Answer) -> Result<Answered, ApprovalError> {
        let session = SessionId::parse(session).map_err(|_| self.nothing_waits(id))?;
        let mut driver = self.driver(&session).ok_or_else(|| self.nothing_waits(id))?;
        let approval = of_budget(&driver).ok_or_else(|| self.nothing_waits(id))?;
        let act = match (answer.says, answer.raise) {
            (ApprovalVerdict::Allowed, Some(by)) => HumanAct::RaiseBudget(by),
            (ApprovalVerdict::Allowed, None) => return Err(ApprovalError::NoAmount { id: id.to_owned() }),
            (ApprovalVerdict::Denied, _) => HumanAct::Other(Label::cut("a person denied a larger budget")),
        };
        let taken = driver.take_now(answer.signed(act), clock::now)?;
        Ok(Answered { approval, session, taken: Some(taken) })
    }

    fn answer_review(&self, id: &str, answer: &Answer) -> Result<Answered, ApprovalError> {
        let listed = self.gate.proposals().unwrap_or_default();
        let digits = id.to_lowercase();
        let fits = |listed: &&ListedProposal| {
            digits.len() >= DIGITS_MIN && listed.proposal.digest.to_string().starts_with(&digits)
        };
        let fitting: Vec<&ListedProposal> = listed.iter().filter(fits).collect();
        let proposal = match fitting.as_slice() {
            [] => return Err(self.nothing_waits(id)),
            [one] => &one.proposal,
            [_, ..] => return Err(ApprovalError::Ambiguous { id: id.to_owned() }),
        };
        if proposal.state != State::Proposed {
            let by = proposal.by.as_deref().map(|by| format!(" by {by}")).unwrap_or_default();
            let first = format!("{}{by}", proposal.state.name());
            return Err(ApprovalError::AnsweredBefore { id: id.to_owned(), first });
        }
        let mut driver = newest_or_new(self.workspace.layout(), self.signing.clone(), None)?;
        let text = match answer.says {
            ApprovalVerdict::Allowed => "APPROVED",
            ApprovalVerdict::Denied => "REJECTED",
        };
        let (decided, _) = self.gate.decide(&mut driver, Some(proposal.digest), (text, &answer.who), clock::now)?;
        let approval = of_proposal(&ListedProposal { proposal: decided, is_staged: true });
        Ok(Answered { approval, session: driver.session().clone(), taken: None })
    }

    /// Proposed changes that wait for their review.
    #[must_use]
    pub fn proposals(&self) -> Vec<Approval> {
        let listed = self.gate.proposals().unwrap_or_default();
        listed
            .iter()
            .filter(|listed| listed.is_staged && listed.proposal.state == State::Proposed)
            .map(of_proposal)
            .collect()
    }

    fn nothing_waits(&self, id: &str) -> ApprovalError {
        let open = self.open().unwrap_or_default();
        ApprovalError::NothingWaits { id: id.to_owned(), open: open.into_iter().map(|approval| approval.id).collect() }
    }
}

/// The fewest digits by which a proposal is named.
const DIGITS_MIN: usize = 4;

impl Answer {
    fn signed(&self, act: HumanAct) -> What {
        What::Human(act.signed(&self.who, &self.reason))
    }
}

/// Whether a held command still waits: nobody has answered it, and nothing ended or holds its session.
#[must_use]
pub fn is_open(driver: &Driver, code: &Label) -> bool {
    let view = driver.view();
    view.stopped.is_none() && view.waiting.iter().any(|held| held.code == *code && held.answer.is_none())
}

/// Waits, with nothing locked, until a held command was answered, something else happened to its session, or the time is over.
/// What happened may leave the question open: then the caller asks the engine again and waits on.
///
/// # Errors
/// When the journal cannot be read.
pub fn wait(driver: &mut Driver, code: &Label, until: Instant) -> Result<(), DriverError> {
    while Instant::now() < until {
        std::thread::sleep(LOOK_AGAIN.min(until.saturating_duration_since(Instant::now())));
        if driver.has_news(clock::now())? {
            return Ok(());
        }
        driver.refresh()?;
        if !is_open(driver, code) {
            return Ok(());
        }
    }
    Ok(())
}

fn of_session(driver: &Driver) -> Vec<Approval> {
    let view = driver.view();
    let commands = view.waiting.iter().filter(|held| held.answer.is_none()).map(|held| of_command(driver, held));
    commands.chain(of_budget(driver)).collect()
}

fn of_command(driver: &Driver, held: &HeldCommand) -> Approval {
    let since = WallClock::from_epoch_ms(driver.start().epoch_ms().saturating_add(held.since.get()));
    Approval {
        id: held.code.to_string(),
        kind: ApprovalKind::Command,
        session: Some(driver.session().clone()),
        asked: Some(held.asked),
        since: Some(since),
        what: held.reason.to_string(),
        rule: held.rule.to_string(),
        digest: held.digest,
    }
}

pub(crate) fn of_budget(driver: &Driver) -> Option<Approval> {
    let view = driver.view();
    if view.held != Some(HoldReason::Money) || view.stopped.is_some() {
        return None;
    }
    let id = format!("{BUDGET}{}", driver.session());
    let limit = view.budget_micro_usd.unwrap_or_default();
    Some(Approval {
        digest: Digest::of(format!("{id} {}", limit.get()).as_bytes()),
        id,
        kind: ApprovalKind::Budget,
        session: Some(driver.session().clone()),
        asked: None,
        since: None,
        what: HoldReason::Money.in_short().to_owned(),
        rule: "GATE-8".to_owned(),
    })
}

fn of_proposal(listed: &ListedProposal) -> Approval {
    let proposal = &listed.proposal;
    let first = proposal.changes.iter().take(CHANGES_SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    let rest = proposal.changes.len().saturating_sub(CHANGES_SHOWN);
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    let count = counted(u64::try_from(proposal.changes.len()).unwrap_or(u64::MAX), "change");
    Approval {
        id: proposal.digest.to_string().chars().take(PROPOSAL_DIGITS).collect(),
        kind: ApprovalKind::Review,
        session: None,
        asked: None,
        since: WallClock::parse(&proposal.at),
        what: format!("it would apply {count}: {first}{more}"),
        rule: "REVIEW-1".to_owned(),
        digest: proposal.digest,
    }
}

/// Digits by which a proposal is shown.
const PROPOSAL_DIGITS: usize = 16;
/// Changes of a proposal that are named.
const CHANGES_SHOWN: usize = 3;

/// An answer in words.
fn words_of(answer: &PersonsAnswer) -> String {
    let said = answer.says.past();
    answer.by.as_ref().map_or_else(|| said.to_owned(), |by| format!("{said} {by}"))
}
