//! What a machine does about an order that it hears before the order is safe in the log.

use crate::journals::name;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, UNIX_EPOCH};
use tripwire_fleet::approval::{Question, Verdict};
use tripwire_fleet::file_log::FileLog;
use tripwire_fleet::host::{Host, Membership, Obeyed};
use tripwire_fleet::log::{Append, Entry, Log, LogError, Sequence, Waited};
use tripwire_fleet::machine::{Part, RunningPolicy};
use tripwire_fleet::member::Member;
use tripwire_fleet::order::{self, FleetAct, FleetOrder, Label, Outcome, Target};
use tripwire_fleet::subject::{Name, Subject};
use tripwire_journal::note::{Signer, Verifier};
use tripwire_journal::{SessionId, SessionPaths};
use tripwire_testing::TestDir;

/// A folder as a log: texts can be heard on it that are not in it, and it has no leader before it was announced to so often.
struct ScriptedLog {
    log: FileLog,
    heard: Mutex<VecDeque<String>>,
    until_announced: usize,
    announced: Mutex<Vec<String>>,
}

impl ScriptedLog {
    fn at(folder: &Path, until_announced: usize) -> Self {
        let log = FileLog::open(folder).unwrap();
        Self { log, heard: Mutex::default(), until_announced, announced: Mutex::default() }
    }
}

impl Log for ScriptedLog {
    fn append(&self, subject: &Subject, after: Sequence, text: &str) -> Result<Append, LogError> {
        self.log.append(subject, after, text)
    }

    fn last(&self, subject: &Subject) -> Result<Option<Entry>, LogError> {
        if self.announced.lock().unwrap().len() < self.until_announced {
            return Err(LogError::Unreachable("no leader".to_owned()));
        }
        self.log.last(subject)
    }

    fn read(&self, subject: &Subject, after: Sequence, limit: usize) -> Result<Vec<Entry>, LogError> {
        self.log.read(subject, after, limit)
    }

    fn subjects(&self, prefix: &str) -> Result<Vec<Subject>, LogError> {
        self.log.subjects(prefix)
    }

    fn wait(&self, subject: &Subject, after: Sequence, at_most: Duration) -> Result<Waited, LogError> {
        match self.heard.lock().unwrap().pop_front() {
            Some(text) => Ok(Waited::Heard(text)),
            None => self.log.wait(subject, after, at_most.min(Duration::from_millis(20))),
        }
    }

    fn announce(&self, _subject: &Subject, text: &str) {
        self.announced.lock().unwrap().push(text.to_owned());
    }
}

/// What is announced of an order, to a log that has no leader before it was announced to so often.
fn announced(until_announced: usize) -> Vec<String> {
    let folder = TestDir::new();
    let log = ScriptedLog::at(folder.path(), until_announced);
    let sequence = order::give(&log, "the order").unwrap();
    let written = log.read(&Subject::orders(), Sequence(0), 10).unwrap();
    assert_eq!((written.len(), written[0].sequence), (1, sequence), "it is written once");
    log.announced.into_inner().unwrap()
}

#[test]
fn fleet_4_an_order_is_announced_while_it_cannot_be_written_and_not_otherwise() {
    let told = announced(2);
    assert!(told.len() >= 2 && told.iter().all(|text| text == "the order"), "{told:?}");
    // A disk that is busy may take longer than the first announcement does, but not each time.
    assert!((0..10).any(|_| announced(0).is_empty()), "an order that is written at once is not announced");
}

/// A machine that notes what it is told to do.
struct Noted {
    trusted: Vec<Verifier>,
    obeyed: Mutex<Vec<FleetAct>>,
    is_over: AtomicBool,
}

impl Host for Noted {
    fn sessions(&self) -> Vec<(Name, SessionPaths)> {
        Vec::new()
    }

    fn trusted(&self) -> Vec<Verifier> {
        self.trusted.clone()
    }

    fn obey(&self, act: FleetAct, _who: &str, _reason: &str) -> Obeyed {
        let mut obeyed = self.obeyed.lock().unwrap();
        obeyed.push(act);
        // The first stop ends what runs.
        Obeyed { ended: if obeyed.len() == 1 { 2 } else { 0 }, ..Obeyed::default() }
    }

    fn end_session(&self, _place: &Name, _session: &SessionId, _reason: &str) -> Result<(), String> {
        Ok(())
    }

    fn waiting(&self, _machine: &Name) -> Vec<Question> {
        Vec::new()
    }

    fn answer(&self, _question: &Question, _verdict: &Verdict) -> Result<String, String> {
        Err("nothing waits".to_owned())
    }

    fn policies(&self) -> Vec<RunningPolicy> {
        Vec::new()
    }

    fn now_ms(&self) -> u64 {
        now_ms()
    }

    fn say(&self, _line: &str) {}

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

fn text(signer: &Signer, act: FleetAct, target: Target, nonce: &str) -> String {
    let (reason, who) = ("enough".to_owned(), "ada".to_owned());
    FleetOrder { act, target, reason, who, at_ms: now_ms(), nonce: nonce.to_owned() }.seal(signer).unwrap()
}

#[test]
fn fleet_4_a_stop_that_is_heard_holds_before_it_is_safe_and_a_resume_does_not() {
    let folder = TestDir::new();
    let log = ScriptedLog::at(&folder.path().join("f"), 0);
    let (person, stranger) = (Signer::from_seed("ada", &[1; 32]), Signer::from_seed("eve", &[2; 32]));
    let host = Noted { trusted: vec![person.verifier()], obeyed: Mutex::default(), is_over: AtomicBool::new(false) };
    let who = Membership {
        machine: name("m"),
        labels: BTreeMap::new(),
        version: "1".to_owned(),
        dead_man: Duration::from_secs(30),
        memory: folder.path().join("memory.json"),
        life: "one".to_owned(),
        part: Part::Service,
    };
    let member = Member::new(&log, &host, who);
    let hear = |text: String| log.heard.lock().unwrap().push_back(text);
    let obeyed = || host.obeyed.lock().unwrap().clone();
    let stop = text(&person, FleetAct::Stop, Target::All, "n1");
    std::thread::scope(|scope| {
        scope.spawn(|| member.serve());
        let _over = SetWhenDropped(&host.is_over);
        let other = Target::Label(Label::parse("team=other").unwrap());
        hear(text(&stranger, FleetAct::Stop, Target::All, "n2"));
        hear(text(&person, FleetAct::Stop, other, "n3"));
        hear(text(&person, FleetAct::Resume, Target::All, "n4"));
        hear("no order".to_owned());
        hear(stop.clone());
        hear(stop.clone());
        until(|| !obeyed().is_empty() && log.heard.lock().unwrap().is_empty());
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(obeyed(), [FleetAct::Stop], "once, and nothing that is foreign, not meant or lets work go on");
        assert_eq!(log.last(&Subject::orders()).unwrap(), None, "and it was not in the log yet");
        let sequence = order::give(&log, &stop).unwrap();
        until(|| order::receipt_of(&log, &name("m"), sequence).unwrap().is_some());
        let receipt = order::receipt_of(&log, &name("m"), sequence).unwrap().unwrap();
        assert_eq!((receipt.outcome, receipt.ended), (Outcome::Obeyed, 2), "the receipt tells what was ended early");
    });
}

/// Tells those who go on until then, also if a test panics.
pub(crate) struct SetWhenDropped<'a>(pub(crate) &'a AtomicBool);

impl Drop for SetWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn until(holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(20), "it did not come to that");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn now_ms() -> u64 {
    u64::try_from(UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap()
}
