//! What every log must do, wherever it is kept. Each demand takes a log and names of its own, so that all of them may run against one
//! cluster.

use crate::journals::{TestJournal, name};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tripwire_core::chain::gate::floor::ApprovalVerdict;
use tripwire_core::record::chain::Digest;
use tripwire_core::units::MicroUsd;
use tripwire_fleet::approval::{self, Decided, Verdict};
use tripwire_fleet::audit::{self, LocalJournal};
use tripwire_fleet::bucket::{self, Draw, Drawn, RateLimits};
use tripwire_fleet::budget::{self, Holder, Reservation};
use tripwire_fleet::fence::Takeover;
use tripwire_fleet::log::{Append, Entry, Log, LogError, Sequence, Waited};
use tripwire_fleet::machine::{self, Beat, Liveness, MachineState, Part};
use tripwire_fleet::order::{
    self, FleetAct, FleetOrder, FleetReceipt, Label, OrderHistory, Outcome, SeenOrders, Target,
};
use tripwire_fleet::policy::{self, BundleFault, BundleReader, PolicyBundle, PublishError, SeenBundles};
use tripwire_fleet::record::{self, RecordError, Recorder, Replication};
use tripwire_fleet::settle::{self, Settled};
use tripwire_fleet::subject::{Name, Subject};
use tripwire_journal::note::Signer;
use tripwire_journal::verify::Trust;
use tripwire_testing::TestDir;

/// Runs all demands.
pub(crate) fn all(log: &dyn Log, family: &str) {
    let own = |kind: &str| name(&format!("{family}-{kind}"));
    appends(log, &own("append"));
    waits(log, &own("wait"));
    announces(log, &own("announced"));
    records(log, &own("record"));
    takeover(log, &own("old"), &own("new"));
    budget_is_never_exceeded(log, &own("budget"));
    dead_holder(log, &own("dead"));
    rate(log, &own("rate"));
    heartbeat(log, &own("beat"));
    orders_and_receipts(log, &own("order"));
    approvals(log, &own("approval"));
    policies(log, &own("policy"));
}

fn ack(append: Append) -> Sequence {
    match append {
        Append::Ack(sequence) => sequence,
        other @ (Append::Fenced | Append::Unknown(_)) => panic!("{other:?}"),
    }
}

/// An append counts only behind the entry that it names; of a state only the last value is kept, of a history all.
fn appends(log: &dyn Log, own: &Name) {
    for (subject, kept) in [(Subject::receipts(own), 3), (Subject::grant(own, own), 1)] {
        assert_eq!(log.last(&subject).unwrap(), None);
        let one = ack(log.append(&subject, Sequence(0), "one").unwrap());
        assert_eq!(log.append(&subject, Sequence(0), "rival").unwrap(), Append::Fenced);
        let two = ack(log.append(&subject, one, "two").unwrap());
        assert_eq!(log.append(&subject, one, "rival").unwrap(), Append::Fenced);
        let three = ack(log.append(&subject, two, "three \u{fc} \"quoted\"").unwrap());
        assert!(one < two && two < three);
        let last = log.last(&subject).unwrap().unwrap();
        assert_eq!((last.sequence, last.text.as_str()), (three, "three \u{fc} \"quoted\""));
        assert!(last.time_ms > 1_600_000_000_000, "{}", last.time_ms);
        let all = log.read(&subject, Sequence(0), 10).unwrap();
        assert_eq!(all.len(), kept);
        assert_eq!(all.last(), Some(&last));
        assert_eq!(log.read(&subject, two, 10).unwrap(), [last]);
        assert_eq!(log.read(&subject, three, 10).unwrap(), []);
        let prefix = subject.as_str().strip_suffix(own.as_str()).unwrap();
        assert!(log.subjects(prefix).unwrap().contains(&subject));
        for bad in ["", "two\nlines", &"x".repeat(600_000)] {
            assert!(matches!(log.append(&subject, three, bad), Err(LogError::Text { .. })));
        }
    }
}

/// Who waits hears of an entry soon after it was written, and of nothing if there is nothing.
fn waits(log: &dyn Log, own: &Name) {
    let subject = Subject::receipts(own);
    assert_eq!(log.wait(&subject, Sequence(0), Duration::from_millis(50)).unwrap(), Waited::Entries(Vec::new()));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let deadline = Instant::now() + Duration::from_secs(20);
            loop {
                match log.wait(&subject, Sequence(0), Duration::from_secs(1)).unwrap() {
                    Waited::Heard(text) => assert_eq!(text, "news", "what is heard is what was sent"),
                    Waited::Entries(entries) if entries.is_empty() => assert!(Instant::now() < deadline),
                    Waited::Entries(entries) => return entries,
                }
            }
        });
        std::thread::sleep(Duration::from_millis(100));
        let sequence = ack(log.append(&subject, Sequence(0), "news").unwrap());
        let heard = waiting.join().unwrap();
        assert_eq!(heard.first().map(|entry| (entry.sequence, entry.text.as_str())), Some((sequence, "news")));
    });
}

/// What is only announced is heard at most, and never kept.
fn announces(log: &dyn Log, own: &Name) {
    let subject = Subject::receipts(own);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| log.wait(&subject, Sequence(0), Duration::from_secs(1)).unwrap());
        std::thread::sleep(Duration::from_millis(300));
        log.announce(&subject, "soon");
        match waiting.join().unwrap() {
            Waited::Heard(text) => assert_eq!(text, "soon"),
            Waited::Entries(entries) => assert_eq!(entries, [], "it is not kept"),
        }
    });
    assert_eq!(log.last(&subject).unwrap(), None);
    assert_eq!(ack(log.append(&subject, Sequence(0), "soon").unwrap()), log.last(&subject).unwrap().unwrap().sequence);
}

/// FLEET-1: the record is the journal, byte for byte, each line once, in order, over restarts of the writer.
fn records(log: &dyn Log, own: &Name) {
    let folder = TestDir::new();
    let mut journal = TestJournal::begin(folder.path(), 1);
    journal.add(5);
    let place = name("w");
    let subject = Subject::record(own, &place, journal.paths.session());
    let mut copy = Replication::open(log, subject.clone(), journal.paths.clone()).unwrap();
    assert_eq!(copy.advance(3).unwrap(), 3);
    drop(copy);
    journal.add(4);
    let mut copy = Replication::open(log, subject.clone(), journal.paths.clone()).unwrap();
    while copy.advance(4).unwrap() > 0 {}
    assert_eq!(copy.records(), 9);
    let whole = record::read_whole(log, &subject).unwrap();
    assert_eq!(whole.lines, journal.lines());
    let local = LocalJournal { machine: own.clone(), place, paths: journal.paths.clone(), trust: Trust::default() };
    let audited = |journals: &[LocalJournal]| {
        let all = audit::audit(log, journals).unwrap();
        all.into_iter().find(|audited| audited.subject == subject.as_str()).unwrap()
    };
    let good = audited(std::slice::from_ref(&local));
    assert_eq!((good.records, good.difference.clone()), (9, None));
    journal.add(2);
    assert_eq!(audited(std::slice::from_ref(&local)).local.unwrap().behind, 2);
    // Another journal of the same name: the copy stops, and the audit names the line.
    let other = TestDir::new();
    let lines = journal.lines();
    let mut rewritten = TestJournal::begin(other.path(), 1);
    rewritten.add(3);
    rewritten.add_under("changed", 8);
    let mut copy = Replication::open(log, subject.clone(), rewritten.paths.clone()).unwrap();
    let differs = loop {
        match copy.advance(2) {
            Ok(0) => panic!("a changed journal was taken"),
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(matches!(differs, RecordError::Differs { .. }), "{differs}");
    let found = audited(&[LocalJournal { paths: rewritten.paths.clone(), ..local }]).difference.unwrap();
    assert!(found.index.is_some_and(|index| index <= 3), "{found:?}");
    assert_eq!(record::read_whole(log, &subject).unwrap().lines, lines[..9], "nothing was overwritten");
}

/// FLEET-2: after a takeover the old machine appends nothing, and the new one goes on with the chain.
fn takeover(log: &dyn Log, old: &Name, new: &Name) {
    let folder = TestDir::new();
    let mut journal = TestJournal::begin(folder.path(), 2);
    journal.add(6);
    let lines = journal.lines();
    let subject = Subject::record(old, &name("w"), journal.paths.session());
    let mut writer = Recorder::open(log, subject.clone()).unwrap();
    for line in &lines[..4] {
        writer.append(line).unwrap();
    }
    let decided = Takeover { to: new.clone(), by: "ada".to_owned(), at_ms: 1 };
    let adopted = record::adopt(log, &subject, &decided, &name("w2")).unwrap();
    assert_eq!(adopted.lines, lines[..4]);
    let fenced = writer.append(&lines[4]).unwrap_err();
    assert!(matches!(&fenced, RecordError::Fenced { to } if to == new), "{fenced}");
    assert!(writer.append(&lines[4]).is_err(), "and it stays so");
    let mut reopened = Recorder::open(log, subject.clone()).unwrap();
    assert!(matches!(reopened.append(&lines[4]), Err(RecordError::Fenced { .. })), "also after a restart");
    assert_eq!(record::read_whole(log, &subject).unwrap().lines, lines[..4]);
    let again = record::adopt(log, &subject, &decided, &name("w3")).unwrap_err();
    assert!(matches!(again, RecordError::Fenced { .. }), "it is taken over once");
    let repeated = record::adopt(log, &subject, &decided, &name("w2")).unwrap();
    assert_eq!(repeated.lines, lines[..4], "an attempt that broke off may be repeated");
    let continued = Subject::record(new, &name("w2"), journal.paths.session());
    let mut successor = Recorder::open(log, continued.clone()).unwrap();
    assert_eq!(successor.records(), 4);
    for line in &lines {
        successor.append(line).unwrap();
    }
    let audited = audit::audit(log, &[]).unwrap();
    let of = |subject: &Subject| audited.iter().find(|audited| audited.subject == subject.as_str()).unwrap();
    assert_eq!((of(&subject).records, of(&subject).taken_over_by.as_ref()), (4, Some(new)));
    assert_eq!((of(&continued).records, of(&continued).difference.clone()), (6, None));
}

/// FLEET-3: many holders at once never spend more than the limit, and little of it is stranded.
fn budget_is_never_exceeded(log: &dyn Log, own: &Name) {
    let limit = MicroUsd::new(100_000);
    assert_eq!(Holder::new(log, own.clone(), own.clone(), LEASE).reserve(limit, 0).unwrap(), Reservation::NoBudget);
    budget::set_limit(log, own, limit, own).unwrap();
    let spent = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let spent = &spent;
            scope.spawn(move || {
                let mut holder = Holder::new(log, own.clone(), name(&format!("h{worker}")), LEASE);
                for call in 0_u64.. {
                    let worst = MicroUsd::new(300 + call % 7 * 40);
                    match holder.reserve(worst, 1_000).unwrap() {
                        Reservation::Granted(reserved) => {
                            let cost = MicroUsd::new(worst.get() - call % 5 * 30);
                            holder.settle(reserved, cost);
                            spent.fetch_add(cost.get(), Ordering::Relaxed);
                        }
                        Reservation::Exhausted => break,
                        Reservation::NoBudget => panic!("it is there"),
                    }
                }
                holder.finish().unwrap();
            });
        }
    });
    let (pool, spent) = (budget::look(log, own).unwrap().unwrap(), spent.into_inner());
    assert_eq!(pool.settled.get(), spent, "every micro-dollar is accounted for");
    assert!(spent <= limit.get(), "{spent}");
    assert!(spent >= limit.get() * 98 / 100, "{spent} of {limit}: too much is stranded");
    assert!(pool.blocks.is_empty());
}

/// FLEET-3: a dead holder's block comes back when its lease is over, except for what it had opened.
fn dead_holder(log: &dyn Log, own: &Name) {
    let limit = MicroUsd::new(1_000_000);
    budget::set_limit(log, own, limit, own).unwrap();
    let mut dead = Holder::new(log, own.clone(), name("dead"), LEASE);
    assert!(matches!(dead.reserve(MicroUsd::new(1_000), 10_000).unwrap(), Reservation::Granted(_)));
    let out = budget::look(log, own).unwrap().unwrap();
    let granted = limit.get() - out.free().get();
    assert!(granted > 4_000, "a block is more than a call: {granted}");
    assert_eq!(budget::sweep(log, own, own, 10_000).unwrap(), 0, "its lease is not over");
    let over_ms = 10_000 + 30_000 + budget::SKEW_MS + 1;
    assert_eq!(budget::sweep(log, own, own, over_ms).unwrap(), 1);
    let pool = budget::look(log, own).unwrap().unwrap();
    assert!(pool.blocks.is_empty() && pool.settled.get() >= 1_000 && pool.settled.get() < granted, "{pool:?}");
    // It was only slow: it may spend what it opened, which counts already, and then needs a new block.
    let mut spent = 1_000;
    let settled = pool.settled.get();
    while spent + 1_000 <= settled {
        match dead.reserve(MicroUsd::new(1_000), 10_100).unwrap() {
            Reservation::Granted(_) => spent += 1_000,
            other @ (Reservation::Exhausted | Reservation::NoBudget) => panic!("{other:?}"),
        }
    }
    assert!(matches!(dead.reserve(MicroUsd::new(2_000), over_ms).unwrap(), Reservation::Granted(_)));
    dead.finish().unwrap();
    let end = budget::look(log, own).unwrap().unwrap();
    assert_eq!(end.settled.get(), settled + 2_000, "what was open is counted once");
}

/// A rate counts over all who draw from it.
fn rate(log: &dyn Log, own: &Name) {
    let limits = RateLimits { capacity: 5, per_minute: 60 };
    let draw = |by: &str, least, now_ms| bucket::draw(log, own, &Draw { least, by: &name(by), now_ms }).unwrap();
    assert_eq!(draw("a", 1, 1_000), None, "nobody has set it");
    bucket::set(log, own, limits, &name("a"), 1_000).unwrap();
    assert_eq!(draw("a", 3, 1_000), Some(Drawn::Now(3)));
    assert_eq!(draw("b", 2, 1_000), Some(Drawn::Now(2)));
    assert_eq!(draw("a", 1, 1_000), Some(Drawn::AfterMs(1_000)));
    assert_eq!(draw("b", 1, 2_000), Some(Drawn::Now(1)));
    assert_eq!(draw("b", 6, 2_000), Some(Drawn::Never));
    bucket::set(log, own, RateLimits { per_minute: 6_000, ..limits }, &name("b"), 2_000).unwrap();
    assert_eq!(draw("b", 1, 2_000), Some(Drawn::AfterMs(10)), "a changed rate is not full again");
    assert_eq!(
        draw("b", 1, 2_100),
        Some(Drawn::Now(5)),
        "what comes back in a tenth of a second, at most what it holds"
    );
}

/// One process speaks for a machine; a second is told so, and a successor may go on when the first is silent.
fn heartbeat(log: &dyn Log, own: &Name) {
    let state = |life: &str, at_ms: u64| MachineState {
        machine: own.clone(),
        labels: BTreeMap::new(),
        version: "1".to_owned(),
        at_ms,
        until_ms: at_ms + 30,
        order: Sequence(0),
        sessions: Vec::new(),
        problems: Vec::new(),
        waiting: Vec::new(),
        policies: None,
        life: life.to_owned(),
        part: Part::Service,
        left_ms: None,
    };
    let Beat::Heard(at) = machine::beat(log, &state("one", 100), Sequence(0)).unwrap() else { panic!() };
    assert_eq!(machine::beat(log, &state("two", 110), Sequence(0)).unwrap(), Beat::Rival);
    let Beat::Again(found) = machine::beat(log, &state("two", 200), Sequence(0)).unwrap() else { panic!() };
    assert_eq!(found, at);
    assert!(matches!(machine::beat(log, &state("two", 200), found).unwrap(), Beat::Heard(_)));
    let last = log.last(&Subject::machine(own)).unwrap().unwrap().sequence;
    let standby = MachineState { part: Part::Standby, ..state("three", 300) };
    let Beat::Heard(at) = machine::beat(log, &standby, last).unwrap() else { panic!() };
    let other = MachineState { part: Part::Standby, ..state("four", 301) };
    assert_eq!(machine::beat(log, &other, Sequence(0)).unwrap(), Beat::Rival, "one stands in");
    assert_eq!(machine::beat(log, &state("five", 302), Sequence(0)).unwrap(), Beat::Again(at), "a service takes over");
    let gone = MachineState { left_ms: Some(303), ..state("three", 303) };
    let Beat::Heard(at) = machine::beat(log, &gone, at).unwrap() else { panic!() };
    assert_eq!(machine::beat(log, &other, Sequence(0)).unwrap(), Beat::Again(at), "who left is not waited for");
    assert!(matches!(machine::beat(log, &state("two", 200), at).unwrap(), Beat::Heard(_)));
    let told = machine::all(log).unwrap().into_iter().find(|machine| machine.machine == *own).unwrap();
    assert_eq!((told.liveness(230), told.liveness(231)), (Liveness::Alive, Liveness::Silent));
}

/// Orders of several people stand one behind the other, and each machine's receipt is found.
fn orders_and_receipts(log: &dyn Log, own: &Name) {
    let person = Signer::from_seed("p", &[7; 32]);
    let before = log.last(&Subject::orders()).unwrap().map_or(Sequence(0), |entry| entry.sequence);
    let now_ms = log.last(&Subject::machine(&name(&own.as_str().replace("order", "beat")))).unwrap().unwrap().time_ms;
    let order = |nonce: usize| FleetOrder {
        act: FleetAct::Stop,
        target: Target::All,
        reason: "enough".to_owned(),
        who: "ada".to_owned(),
        at_ms: now_ms,
        nonce: format!("{own}-{nonce}"),
    };
    let given: Vec<Sequence> = std::thread::scope(|scope| {
        let text = |nonce| order(nonce).seal(&person).unwrap();
        let threads: Vec<_> =
            (0..3).map(|nonce| scope.spawn(move || order::give(log, &text(nonce)).unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut seen = SeenOrders::default();
    let read = log.read(&Subject::orders(), before, 10).unwrap();
    assert_eq!(read.len(), 3);
    for entry in &read {
        assert!(given.contains(&entry.sequence));
        FleetOrder::open(entry, &[person.verifier()], &mut seen).unwrap();
    }
    let history = OrderHistory::read(log, &[person.verifier()]).unwrap();
    let hold = history.hold_for(&BTreeMap::new()).map(|order| order.act);
    assert_eq!((hold, history.end), (Some(FleetAct::Stop), read[2].sequence));
    let receipt = |order| FleetReceipt {
        order,
        machine: own.clone(),
        at_ms: 5,
        outcome: Outcome::Obeyed,
        lines: vec!["two sessions are stopped".to_owned()],
        ended: 7,
        survivors: 0,
    };
    assert_eq!(order::receipt_of(log, own, read[0].sequence).unwrap(), None);
    for entry in &read[..2] {
        order::receipt(log, &receipt(entry.sequence)).unwrap();
    }
    for entry in &read[..2] {
        assert_eq!(order::receipt_of(log, own, entry.sequence).unwrap(), Some(receipt(entry.sequence)));
    }
    assert_eq!(order::receipt_of(log, own, read[2].sequence).unwrap(), None);
}

/// A proposal is decided once, by the first answer; a verdict of a stranger is none.
fn approvals(log: &dyn Log, own: &Name) {
    let (person, stranger) = (Signer::from_seed("p", &[1; 32]), Signer::from_seed("s", &[2; 32]));
    let proposal = Digest::of(own.as_str().as_bytes());
    let verdict = |answer, nonce: &str| Verdict {
        proposal,
        answer,
        who: "ada".to_owned(),
        reason: String::new(),
        raise: None,
        at_ms: 1,
        nonce: nonce.to_owned(),
    };
    let trusted = [person.verifier()];
    assert_eq!(approval::decided(log, &proposal, &trusted).unwrap(), None);
    assert_eq!(approval::decide(log, &verdict(ApprovalVerdict::Denied, "1"), &person, &trusted).unwrap(), Decided::Now);
    let late = approval::decide(log, &verdict(ApprovalVerdict::Allowed, "2"), &person, &trusted).unwrap();
    assert_eq!(late, Decided::Before(Some(verdict(ApprovalVerdict::Denied, "1"))));
    assert_eq!(approval::decided(log, &proposal, &trusted).unwrap(), Some(verdict(ApprovalVerdict::Denied, "1")));
    assert_eq!(approval::decided(log, &proposal, &[stranger.verifier()]).unwrap(), None);
}

/// FLEET-6: the newest bundle of a target stands alone, of those who publish at the same time; copies and strangers' do not count.
fn policies(log: &dyn Log, own: &Name) {
    let (person, stranger) = (Signer::from_seed("p", &[7; 32]), Signer::from_seed("s", &[8; 32]));
    let label = Label { key: name("family"), value: own.clone() };
    let target = Target::Label(label.clone());
    let now_ms = tripwire_workspace::clock::now().epoch_ms();
    let bundle = |nonce: u64| PolicyBundle {
        target: target.clone(),
        digest: Digest::of(&nonce.to_be_bytes()),
        manifest: "safety:\n  max_iterations: 7\n".to_owned(),
        cedar: "x".repeat(100_000),
        who: "ada".to_owned(),
        at_ms: now_ms + nonce,
        until_ms: now_ms + 3_600_000,
        nonce: format!("{own}-{nonce}"),
    };
    let (trusted, mut seen) = ([person.verifier()], SeenBundles::default());
    let reader = BundleReader { trusted: &trusted, now_ms };
    let look = |seen: &mut SeenBundles| {
        let all = policy::all(log, reader, seen).unwrap();
        all.into_iter().find(|published| published.target == target).map(|published| published.bundle)
    };
    assert_eq!(look(&mut seen), None);
    let published: Vec<bool> = std::thread::scope(|scope| {
        let publish = |nonce| policy::publish(log, &bundle(nonce), &person, reader).is_ok();
        let threads: Vec<_> = (0..4).map(|nonce| scope.spawn(move || publish(nonce))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(published.last(), Some(&true), "the newest one is never refused");
    assert_eq!(look(&mut seen), Some(Ok(bundle(3))));
    let older = policy::publish(log, &bundle(2), &person, reader);
    assert!(matches!(older, Err(PublishError::Newer { .. })), "{older:?}");
    let long = PolicyBundle { cedar: "x".repeat(600_000), ..bundle(9) };
    assert!(matches!(policy::publish(log, &long, &person, reader), Err(PublishError::TooLong { .. })));
    assert_eq!(look(&mut seen), Some(Ok(bundle(3))), "what is refused changes nothing");
    // Somebody who can write the value cannot make it count.
    let subject = Subject::policy_for_label(&label.key, &label.value);
    let write = |text: &str| {
        let after = log.last(&subject).unwrap().unwrap().sequence;
        ack(log.append(&subject, after, text).unwrap());
    };
    write(&bundle(5).seal(&stranger).unwrap());
    assert_eq!(look(&mut seen), Some(Err(BundleFault::Untrusted)));
    write(&bundle(3).seal(&person).unwrap());
    assert_eq!(look(&mut seen), Some(Err(BundleFault::Replayed)));
    write(&bundle(1).seal(&person).unwrap());
    assert!(matches!(look(&mut seen), Some(Err(BundleFault::Older { .. }))));
    assert!(matches!(look(&mut SeenBundles::default()), Some(Ok(_))), "only who saw the newer one knows");
    policy::publish(log, &bundle(6), &person, reader).unwrap();
    assert_eq!(look(&mut seen), Some(Ok(bundle(6))));
}

/// Writers of one subject each, and what stands in the log is what each of them wrote, in order. Says the longest time that an
/// append took.
pub(crate) fn many_writers(log: &dyn Log, family: &str, writers: usize, each: usize) -> Duration {
    let longest = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..writers).map(|writer| scope.spawn(move || one_writer(log, family, writer, each))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).max().unwrap_or_default()
    });
    (0..writers).for_each(|writer| check_writer(log, family, writer, each));
    longest
}

/// Appends lines to a subject of the writer's own; says the longest time that one took.
pub(crate) fn one_writer(log: &dyn Log, family: &str, writer: usize, each: usize) -> Duration {
    let subject = subject_of(family, writer);
    let (mut after, mut longest) = (Sequence(0), Duration::ZERO);
    for number in 0..each {
        let begun = Instant::now();
        match settle::append(log, &subject, after, &format!("{writer} {number}"), PATIENCE).unwrap() {
            Settled::Written(sequence) => after = sequence,
            Settled::Fenced(entry) => panic!("nobody else writes here: {entry:?}"),
        }
        longest = longest.max(begun.elapsed());
    }
    longest
}

/// Every line is there, once and in order, and nothing else.
pub(crate) fn check_writer(log: &dyn Log, family: &str, writer: usize, each: usize) {
    let found: Vec<String> = read_whole(log, &subject_of(family, writer)).into_iter().map(|entry| entry.text).collect();
    let wanted: Vec<String> = (0..each).map(|number| format!("{writer} {number}")).collect();
    assert_eq!(found, wanted);
}

fn subject_of(family: &str, writer: usize) -> Subject {
    Subject::receipts(&name(&format!("{family}-{writer}")))
}

/// Reads a subject; servers that choose a new leader just now are asked again.
fn read_whole(log: &dyn Log, subject: &Subject) -> Vec<Entry> {
    let begun = Instant::now();
    loop {
        match log.read(subject, Sequence(0), usize::MAX) {
            Err(LogError::Unreachable(_)) if begun.elapsed() < PATIENCE => {}
            read => return read.unwrap(),
        }
    }
}

const LEASE: Duration = Duration::from_secs(30);
const PATIENCE: Duration = Duration::from_secs(60);
