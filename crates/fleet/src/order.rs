//! The orders of people to all machines: signed with the person's own key, bound to what they are for, when they were given and a
//! nonce. A machine's credentials cannot make one.

use crate::log::{Entry, Log, LogError, Sequence};
use crate::settle::{self, Settled};
use crate::subject::{Name, Subject};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};
use tripwire_core::explain::Explain;
use tripwire_journal::note::{self, Signer, Verifier};

/// What is ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FleetAct {
    /// Go on.
    Resume,
    /// Hold every session at its next step.
    Pause,
    /// End every session.
    Stop,
}

impl FleetAct {
    /// The verb.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Resume => "resume",
            Self::Pause => "pause",
            Self::Stop => "stop",
        }
    }
}

/// Which machines are meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// All of them.
    All,
    /// Those with a label.
    Label(Label),
}

/// A label of a machine, such as `team=search`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Label {
    /// The part before the sign.
    pub key: Name,
    /// The part behind it.
    pub value: Name,
}

/// A text that is no label.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a label such as `team=search`")]
pub struct LabelError {
    text: String,
}

impl Explain for LabelError {
    fn hint(&self) -> Cow<'_, str> {
        "write a name, `=` and a value, each of letters, digits, `-` and `_`".into()
    }
}

impl Label {
    /// Reads `key=value`.
    ///
    /// # Errors
    /// When it has another form.
    pub fn parse(text: &str) -> Result<Self, LabelError> {
        let parsed = text
            .split_once('=')
            .and_then(|(key, value)| Some(Self { key: Name::parse(key).ok()?, value: Name::parse(value).ok()? }));
        parsed.ok_or_else(|| LabelError { text: text.to_owned() })
    }
}

impl fmt::Display for Label {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}={}", self.key, self.value)
    }
}

impl Target {
    /// The machines with a label, or all of them where none is given.
    ///
    /// # Errors
    /// When the label has another form.
    pub fn of_label(label: Option<&str>) -> Result<Self, LabelError> {
        label.map_or(Ok(Self::All), |text| Label::parse(text).map(Self::Label))
    }

    /// Whether a machine with these labels is meant.
    #[must_use]
    pub fn is_for(&self, labels: &BTreeMap<Name, Name>) -> bool {
        match self {
            Self::All => true,
            Self::Label(label) => labels.get(&label.key) == Some(&label.value),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => formatter.write_str("all machines"),
            Self::Label(label) => write!(formatter, "machines with {label}"),
        }
    }
}

/// An order as a person gives it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetOrder {
    /// What.
    pub act: FleetAct,
    /// To whom.
    pub target: Target,
    /// Why, in the person's words.
    pub reason: String,
    /// The person's account.
    pub who: String,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// Makes it different from every other order.
    pub nonce: String,
}

/// An order under its signature, as it stands in the log.
#[derive(Serialize, Deserialize)]
struct SealedOrder {
    note: String,
}

/// Why an order is not obeyed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OrderFault {
    /// Not of the form.
    #[error("it is not an order")]
    Shape,
    /// Nobody whom this machine trusts has signed it.
    #[error("no key that this machine trusts has signed it; `tripwire identity trust KEY` trusts one")]
    Untrusted,
    /// It was here before.
    #[error("it is a copy of an earlier order")]
    Replayed,
    /// It came into the log long after it was signed, or before.
    #[error("it was signed {away_s} s away from the time at which it came in; an order is valid for {VALID_S} s")]
    Expired {
        /// How far.
        away_s: u64,
    },
}

impl FleetOrder {
    /// The text of the entry.
    ///
    /// # Errors
    /// When it cannot be written as text.
    pub fn seal(&self, signer: &Signer) -> Result<String, serde_json::Error> {
        let text = format!("{DOMAIN}\n{}\n", serde_json::to_string(self)?);
        serde_json::to_string(&SealedOrder { note: signer.seal(&text) })
    }

    /// Reads an entry and checks the signature, the time and that it is new; from now on it is an old one.
    ///
    /// # Errors
    /// When it is not to be obeyed.
    pub fn open(entry: &Entry, trusted: &[Verifier], seen: &mut SeenOrders) -> Result<Self, OrderFault> {
        let sealed: SealedOrder = serde_json::from_str(&entry.text).map_err(|_error| OrderFault::Shape)?;
        let text = note::opened(&sealed.note, trusted).ok_or(OrderFault::Untrusted)?;
        let body = text.strip_prefix(DOMAIN).ok_or(OrderFault::Shape)?;
        let order: Self = serde_json::from_str(body.trim()).map_err(|_error| OrderFault::Shape)?;
        let away_s = order.at_ms.abs_diff(entry.time_ms) / 1_000;
        if away_s > VALID_S {
            return Err(OrderFault::Expired { away_s });
        }
        if !seen.insert(&order) {
            return Err(OrderFault::Replayed);
        }
        Ok(order)
    }
}

/// The orders of late, by their nonces: older ones are refused for their age.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SeenOrders(BTreeMap<String, u64>);

impl SeenOrders {
    fn insert(&mut self, order: &FleetOrder) -> bool {
        let oldest_ms = order.at_ms.saturating_sub(4 * VALID_S * 1_000);
        self.0.retain(|_, at_ms| *at_ms >= oldest_ms);
        self.0.insert(order.nonce.clone(), order.at_ms).is_none()
    }
}

/// Puts an order into the log, behind whatever others order at the same time. Says its place.
///
/// # Errors
/// When the fleet does not take it.
pub fn give(log: &dyn Log, text: &str) -> Result<Sequence, LogError> {
    let subject = &Subject::orders();
    let (finished, is_finished) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // Listeners hear the append itself. Servers that have no leader take none, and machines that connect again have missed
            // it: they are told until it is written.
            let mut wait = ANNOUNCED_AFTER;
            while is_finished.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                log.announce(subject, text);
                wait = ANNOUNCED_EVERY;
            }
        });
        let written = write(log, subject, text);
        drop(finished);
        written
    })
}

fn write(log: &dyn Log, subject: &Subject, text: &str) -> Result<Sequence, LogError> {
    let start = Instant::now();
    let mut after = loop {
        match log.last(subject) {
            Ok(last) => break last.map_or(Sequence(0), |entry| entry.sequence),
            // Some answer at once that they have no leader: they are not asked without a pause.
            Err(LogError::Unreachable(_)) if start.elapsed() < settle::PATIENCE => std::thread::sleep(ASKED_EVERY),
            Err(error) => return Err(error),
        }
    };
    loop {
        match settle::append(log, subject, after, text, settle::PATIENCE)? {
            Settled::Written(sequence) => return Ok(sequence),
            Settled::Fenced(other) => after = other.sequence,
        }
    }
}

/// The orders that count: signed by a trusted key, in time, each once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OrderHistory {
    /// With their places, the oldest first.
    pub orders: Vec<(Sequence, FleetOrder)>,
    /// The place of the last entry, whether it counts or not.
    pub end: Sequence,
}

impl OrderHistory {
    /// Reads all orders.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn read(log: &dyn Log, trusted: &[Verifier]) -> Result<Self, LogError> {
        let (mut history, mut seen) = (Self::default(), SeenOrders::default());
        loop {
            let page = log.read(&Subject::orders(), history.end, PAGE)?;
            let Some(end) = page.last() else { return Ok(history) };
            history.end = end.sequence;
            for entry in &page {
                let opened = FleetOrder::open(entry, trusted, &mut seen).ok();
                history.orders.extend(opened.map(|order| (entry.sequence, order)));
            }
        }
    }

    /// The last order that a machine with these labels has to obey.
    #[must_use]
    pub fn last_for(&self, labels: &BTreeMap<Name, Name>) -> Option<&(Sequence, FleetOrder)> {
        self.orders.iter().rfind(|(_, order)| order.target.is_for(labels))
    }

    /// The order that keeps the agents of a machine with these labels from working, if there is one.
    #[must_use]
    pub fn hold_for(&self, labels: &BTreeMap<Name, Name>) -> Option<&FleetOrder> {
        let (_, order) = self.last_for(labels)?;
        match order.act {
            FleetAct::Stop | FleetAct::Pause => Some(order),
            FleetAct::Resume => None,
        }
    }
}

/// What became of an order on a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetReceipt {
    /// The place of the order.
    pub order: Sequence,
    /// The machine.
    pub machine: Name,
    /// When, by the machine's clock.
    pub at_ms: u64,
    /// What was done.
    pub outcome: Outcome,
    /// In words, a line each.
    pub lines: Vec<String>,
    /// Processes that ended.
    pub ended: u64,
    /// Processes that are still alive.
    pub survivors: u64,
}

/// What a machine did with an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Everything is as ordered.
    Obeyed,
    /// Something is not.
    Failed,
    /// It was not obeyed, and why is in the words.
    Refused,
    /// The machine is not meant.
    NotMeant,
}

/// Adds a receipt to those of a machine.
///
/// # Errors
/// When the fleet does not take it.
pub fn receipt(log: &dyn Log, receipt: &FleetReceipt) -> Result<(), LogError> {
    let subject = Subject::receipts(&receipt.machine);
    let text = serde_json::to_string(receipt).map_err(|error| LogError::damaged(&subject, error.to_string()))?;
    let mut after = log.last(&subject)?.map_or(Sequence(0), |entry| entry.sequence);
    loop {
        match settle::append(log, &subject, after, &text, settle::PATIENCE)? {
            Settled::Written(_) => return Ok(()),
            Settled::Fenced(other) => after = other.sequence,
        }
    }
}

/// The receipt of a machine for an order, if it has come.
///
/// # Errors
/// When the fleet cannot be read.
pub fn receipt_of(log: &dyn Log, machine: &Name, order: Sequence) -> Result<Option<FleetReceipt>, LogError> {
    let subject = Subject::receipts(machine);
    let read = |entry: &Entry| serde_json::from_str::<FleetReceipt>(&entry.text).ok();
    // Nearly always the last one is asked for.
    match log.last(&subject)?.as_ref().and_then(read) {
        None => return Ok(None),
        Some(receipt) if receipt.order < order => return Ok(None),
        Some(receipt) if receipt.order == order => return Ok(Some(receipt)),
        Some(_newer) => {}
    }
    let mut after = Sequence(0);
    loop {
        let page = log.read(&subject, after, PAGE)?;
        let Some(last) = page.last() else { return Ok(None) };
        after = last.sequence;
        if let Some(receipt) = page.iter().filter_map(read).find(|receipt| receipt.order == order) {
            return Ok(Some(receipt));
        }
    }
}

const DOMAIN: &str = "tripwire/fleet/order/v1";
/// How far the time of signing and the time in the log may be apart: clocks, and a slow network.
const VALID_S: u64 = 300;
const PAGE: usize = 1_000;
/// A log whose servers have a leader has written an order by then.
const ANNOUNCED_AFTER: Duration = Duration::from_millis(200);
const ANNOUNCED_EVERY: Duration = Duration::from_millis(500);
const ASKED_EVERY: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    fn order(nonce: &str) -> FleetOrder {
        FleetOrder {
            act: FleetAct::Stop,
            target: Target::All,
            reason: "a\nb".to_owned(),
            who: "ada".to_owned(),
            at_ms: 1_000_000,
            nonce: nonce.to_owned(),
        }
    }

    fn entry(text: String, time_ms: u64) -> Entry {
        Entry { sequence: Sequence(1), time_ms, text }
    }

    #[test]
    fn an_order_counts_once_signed_and_in_time() {
        let (person, other) = (Signer::from_seed("p", &[1; 32]), Signer::from_seed("p", &[2; 32]));
        let trusted = [person.verifier()];
        let mut seen = SeenOrders::default();
        let text = order("n1").seal(&person).unwrap();
        assert!(!text.contains('\n'));
        assert_eq!(FleetOrder::open(&entry(text.clone(), 1_000_900), &trusted, &mut seen), Ok(order("n1")));
        let again = FleetOrder::open(&entry(text.clone(), 1_000_900), &trusted, &mut seen);
        assert_eq!(again, Err(OrderFault::Replayed));
        let late = FleetOrder::open(&entry(order("n2").seal(&person).unwrap(), 1_400_000), &trusted, &mut seen);
        assert_eq!(late, Err(OrderFault::Expired { away_s: 400 }));
        let forged = FleetOrder::open(&entry(order("n3").seal(&other).unwrap(), 1_000_000), &trusted, &mut seen);
        assert_eq!(forged, Err(OrderFault::Untrusted));
        let changed = text.replace("stop", "pause");
        assert_eq!(FleetOrder::open(&entry(changed, 1_000_000), &trusted, &mut seen), Err(OrderFault::Untrusted));
        assert_eq!(FleetOrder::open(&entry("{}".to_owned(), 0), &trusted, &mut seen), Err(OrderFault::Shape));
    }

    #[test]
    fn a_label_chooses_the_machines_that_have_it() {
        let label = Label::parse("team=search").unwrap();
        let labels: BTreeMap<Name, Name> = [(label.key.clone(), label.value.clone())].into();
        assert!(Target::Label(label.clone()).is_for(&labels) && Target::All.is_for(&labels));
        assert!(!Target::Label(Label::parse("team=ads").unwrap()).is_for(&labels));
        assert!(!Target::Label(label).is_for(&BTreeMap::new()));
        for bad in ["team", "=x", "team=", "a b=c", "team=a=b"] {
            assert!(Label::parse(bad).is_err(), "{bad}");
        }
    }
}
