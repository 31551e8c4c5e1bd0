//! The orders of people, as every face gives them: stop and pause for a workspace, each with its receipt.

use crate::order_error::OrderError;
use crate::receipts::{self, RunningSessions};
use serde_json::{Value, json};
use tripwire_core::chain::ChainView;
use tripwire_core::counted::counted;
use tripwire_core::input::What;
use tripwire_session::driver::{Driver, Signing, StepOutcome, views};
use tripwire_session::supervised::StopReceipt;
use tripwire_workspace::Workspace;
use tripwire_workspace::clock;
use tripwire_workspace::control::order::{Given, Note, Order};
use tripwire_workspace::session::SessionId;

/// Who gives an order, and what of the outside it needs.
pub struct Actor<'a> {
    /// The account, and the face where it is not the command line.
    pub who: String,
    /// Why, in the person's words.
    pub reason: &'a str,
    /// Who signs the checkpoints of the session that the order is journaled in.
    pub signing: Option<Signing>,
    /// Who hears what the decision has to tell a person.
    pub notify: &'a dyn Fn(&Driver, &StepOutcome),
}

/// What became of an order.
#[derive(Debug)]
pub struct OrderReport {
    /// The verb that gives the same order.
    pub verb: &'static str,
    /// The session that it was journaled in.
    pub session: Option<String>,
    /// In words, a line each.
    pub lines: Vec<String>,
    /// The receipt of each supervised run that it ended, with its session.
    pub receipts: Vec<(String, StopReceipt)>,
    /// Whether everything is as it was ordered.
    pub holds: bool,
}

impl OrderReport {
    /// The command that takes the order back.
    pub const TAKEN_BACK_BY: &str = "tripwire resume";

    /// As an object for programs.
    #[must_use]
    pub fn as_json(&self) -> Value {
        let Self { verb, session, lines, receipts, .. } = self;
        let mut object = json!({"verb": verb, "session": session, "done": lines, "next": Self::TAKEN_BACK_BY});
        if let Some(receipt) = receipts::total(receipts) {
            object["receipt"] = json!(receipt);
            object["receipts"] = receipts::listed(receipts);
        }
        object
    }
}

/// Gives an order: the file first, because it binds even if the journal cannot be written, then the act in the journal of the
/// named session or of the newest. A stop waits for the receipts of what it ends.
///
/// # Errors
/// When the file cannot be written, or it stands and the act could not be journaled.
pub fn give(
    workspace: &Workspace,
    session: Option<&str>,
    order: Order,
    actor: Actor<'_>,
) -> Result<OrderReport, OrderError> {
    let layout = workspace.layout();
    let running = match order {
        Order::Stop => Some(RunningSessions::find(layout)?),
        Order::Pause => None,
    };
    let note = Note::new(&actor.who, clock::now(), actor.reason);
    let given = order.give(layout, &note)?;
    let driver = journaled(workspace, session, actor)
        .map_err(|error| OrderError::Unjournaled { file: order.path(layout), error: Box::new(error) })?;
    let view = driver.as_ref().map(Driver::view);
    let mut report = OrderReport {
        verb: verb(order),
        session: driver.as_ref().map(|driver| driver.session().to_string()),
        lines: vec![in_words(order, given).to_owned()],
        receipts: Vec::new(),
        holds: view.is_none_or(|view| is_obeyed(order, &view)),
    };
    if let Some(running) = running {
        let stopped = running.wait(layout, driver.as_ref().map(Driver::session))?;
        report.holds &= stopped.holds;
        report.lines.extend(stopped.lines);
        report.receipts = stopped.receipts;
    }
    report.lines.push(journal_line(driver.as_ref().map(|driver| (driver.session(), driver.journal().records()))));
    Ok(report)
}

/// Where an act was journaled, in a line.
#[must_use]
pub fn journal_line(at: Option<(&SessionId, u64)>) -> String {
    match at {
        Some((session, records)) => format!("journaled in {session}, which has {}", counted(records, "record")),
        None => "there is no session yet: nothing to journal".to_owned(),
    }
}

/// Has the session see the order at once.
fn journaled(workspace: &Workspace, session: Option<&str>, actor: Actor<'_>) -> Result<Option<Driver>, OrderError> {
    let session = match session {
        Some(text) => Some(SessionId::parse(text)?),
        None => views::newest(workspace.layout())?,
    };
    let Some(session) = session else { return Ok(None) };
    let mut driver = Driver::resume(workspace.layout(), &session)?.signed_by(actor.signing);
    let taken = driver.take_now(What::Tick, clock::now)?;
    (actor.notify)(&driver, &taken);
    Ok(Some(driver))
}

const fn verb(order: Order) -> &'static str {
    match order {
        Order::Stop => "stop",
        Order::Pause => "pause",
    }
}

const fn is_obeyed(order: Order, view: &ChainView) -> bool {
    match order {
        Order::Stop => view.stopped.is_some(),
        Order::Pause => view.stopped.is_some() || view.held.is_some(),
    }
}

const fn in_words(order: Order, given: Given) -> &'static str {
    match (order, given) {
        (Order::Stop, Given::Now) => {
            "all sessions of this workspace are stopped (`.geometry/STOP`); new ones are blocked until `tripwire resume`"
        }
        (Order::Stop, Given::Before) => "`.geometry/STOP` stood already and keeps its author's words",
        (Order::Pause, Given::Now) => {
            "`.geometry/PAUSE` is written: every session of this workspace holds at its next step"
        }
        (Order::Pause, Given::Before) => "`.geometry/PAUSE` stood already and keeps its author's words",
    }
}
