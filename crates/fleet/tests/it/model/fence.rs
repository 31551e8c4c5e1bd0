//! A record that two machines want to take over while its writer goes on, dies and comes back, with appends that are lost, late or
//! doubled. The product's own parts decide: [`resolve`] what an unclear answer means, [`RecordState`] who may write.

use crate::journals::{TestJournal, name};
use stateright::{Checker as _, Model, Property};
use tripwire_fleet::fence::{Mark, RecordStanding, RecordState, Takeover};
use tripwire_fleet::log::{Entry, Sequence};
use tripwire_fleet::settle::{Finding, resolve};
use tripwire_testing::TestDir;

struct FenceModel {
    lines: Vec<String>,
    takeovers: Vec<String>,
}

/// What an entry of the record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Text {
    Line(usize),
    Takeover(usize),
}

/// An append on its way: it may arrive, arrive twice, or never.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct SentAppend {
    text: Text,
    after: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct RecordWorld {
    record: Vec<Text>,
    network: Vec<SentAppend>,
    writer: WriterState,
    /// Lines that the writer took as acknowledged.
    acknowledged: usize,
    adopters: Vec<AdopterState>,
    crashes: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum WriterState {
    Dead,
    /// It knows so many entries, and perhaps waits for the answer to its next line.
    Writing {
        known: usize,
        asked: bool,
    },
    Fenced,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum AdopterState {
    Idle,
    /// It has read so many entries, and waits for the answer to its takeover.
    Asked {
        after: usize,
    },
    /// It goes on behind so many lines.
    Owner {
        lines: usize,
    },
    TooLate,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum FenceStep {
    Append,
    ResolveAppend,
    Crash,
    Reopen,
    TakeOver(usize),
    ResolveTakeover(usize),
    Deliver(usize),
    DeliverTwice(usize),
    Lose(usize),
}

const SENT_MAX: usize = 2;

impl FenceModel {
    fn text(&self, text: Text) -> String {
        match text {
            Text::Line(index) => self.lines[index].clone(),
            Text::Takeover(by) => self.takeovers[by].clone(),
        }
    }

    fn entry(&self, world: &RecordWorld, at: usize) -> Option<Entry> {
        let text = self.text(*world.record.get(at)?);
        Some(Entry { sequence: Sequence(u64::try_from(at).unwrap() + 1), time_ms: 0, text })
    }

    /// The state of a record as a reader finds it, by the product's own rules.
    fn read(&self, world: &RecordWorld, entries: usize) -> RecordState {
        let mut state = RecordState::empty();
        for at in 0..entries {
            state.accept(&self.entry(world, at).unwrap()).unwrap();
        }
        state
    }

    fn resolve_append(&self, world: &mut RecordWorld) -> bool {
        let WriterState::Writing { known, asked: true } = world.writer else { return false };
        let state = self.read(world, known);
        let index = usize::try_from(state.tail.index).unwrap();
        match resolve(&self.lines[index], self.entry(world, known)) {
            Finding::Ours(_) => {
                world.acknowledged = world.acknowledged.max(index + 1);
                world.writer = WriterState::Writing { known: known + 1, asked: false };
            }
            Finding::Another(entry) => {
                let mut state = state;
                state.accept(&entry).unwrap();
                assert!(matches!(state.standing, RecordStanding::TakenOver(_)), "nobody else writes lines here");
                world.writer = WriterState::Fenced;
            }
            // It tries again, for the same place.
            Finding::Nothing => world.writer = WriterState::Writing { known, asked: false },
        }
        true
    }

    fn resolve_takeover(&self, world: &mut RecordWorld, by: usize) -> bool {
        let AdopterState::Asked { after } = world.adopters[by] else { return false };
        world.adopters[by] = match resolve(&self.takeovers[by], self.entry(world, after)) {
            Finding::Ours(_) => {
                AdopterState::Owner { lines: usize::try_from(self.read(world, after).tail.index).unwrap() }
            }
            Finding::Another(_) | Finding::Nothing => AdopterState::Idle,
        };
        true
    }

    fn step(&self, world: &mut RecordWorld, step: &FenceStep) -> bool {
        match *step {
            FenceStep::Append => {
                let WriterState::Writing { known, asked: false } = world.writer else { return false };
                let index = usize::try_from(self.read(world, known).tail.index).unwrap();
                if index >= self.lines.len() {
                    return false;
                }
                world.writer = WriterState::Writing { known, asked: true };
                world.network.push(SentAppend { text: Text::Line(index), after: known });
                true
            }
            FenceStep::ResolveAppend => self.resolve_append(world),
            FenceStep::Crash => {
                let lives = matches!(world.writer, WriterState::Writing { .. });
                (world.writer, world.crashes) = (WriterState::Dead, world.crashes + 1);
                lives
            }
            FenceStep::Reopen => {
                let last = world.record.len();
                let state = match self.entry(world, last.wrapping_sub(1)) {
                    None => RecordState::empty(),
                    Some(entry) => RecordState::from_last(&entry).unwrap(),
                };
                let is_dead = world.writer == WriterState::Dead;
                world.writer = match state.standing {
                    RecordStanding::Open => WriterState::Writing { known: last, asked: false },
                    RecordStanding::TakenOver(_) => WriterState::Fenced,
                };
                is_dead
            }
            FenceStep::TakeOver(by) => {
                let after = world.record.len();
                let is_idle = world.adopters[by] == AdopterState::Idle;
                match self.read(world, after).standing {
                    RecordStanding::TakenOver(_) => world.adopters[by] = AdopterState::TooLate,
                    RecordStanding::Open => {
                        world.adopters[by] = AdopterState::Asked { after };
                        world.network.push(SentAppend { text: Text::Takeover(by), after });
                    }
                }
                is_idle
            }
            FenceStep::ResolveTakeover(by) => self.resolve_takeover(world, by),
            FenceStep::Deliver(at) => {
                let sent = world.network.remove(at);
                deliver(world, &sent);
                true
            }
            FenceStep::DeliverTwice(at) => {
                let sent = world.network[at].clone();
                deliver(world, &sent)
            }
            FenceStep::Lose(at) => {
                world.network.remove(at);
                true
            }
        }
    }
}

/// The log takes an append only behind the entry that it names.
fn deliver(world: &mut RecordWorld, sent: &SentAppend) -> bool {
    let fits = sent.after == world.record.len();
    if fits {
        world.record.push(sent.text);
    }
    fits
}

impl Model for FenceModel {
    type State = RecordWorld;
    type Action = FenceStep;

    fn init_states(&self) -> Vec<RecordWorld> {
        vec![RecordWorld {
            record: Vec::new(),
            network: Vec::new(),
            writer: WriterState::Writing { known: 0, asked: false },
            acknowledged: 0,
            adopters: vec![AdopterState::Idle; self.takeovers.len()],
            crashes: 0,
        }]
    }

    fn actions(&self, world: &RecordWorld, actions: &mut Vec<FenceStep>) {
        actions.extend([FenceStep::ResolveAppend, FenceStep::Reopen]);
        if world.crashes < 1 {
            actions.push(FenceStep::Crash);
        }
        if world.network.len() < SENT_MAX {
            actions.push(FenceStep::Append);
        }
        for by in 0..world.adopters.len() {
            actions.push(FenceStep::ResolveTakeover(by));
            if world.network.len() < SENT_MAX {
                actions.push(FenceStep::TakeOver(by));
            }
        }
        for at in 0..world.network.len() {
            actions.extend([FenceStep::Deliver(at), FenceStep::DeliverTwice(at), FenceStep::Lose(at)]);
        }
    }

    fn next_state(&self, world: &RecordWorld, step: FenceStep) -> Option<RecordWorld> {
        let mut next = world.clone();
        self.step(&mut next, &step).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::<Self>::always("a fenced writer writes nothing", |_, world| {
                let end = world.record.iter().position(|text| matches!(text, Text::Takeover(_)));
                end.is_none_or(|end| end + 1 == world.record.len())
            }),
            Property::<Self>::always("each line is there once and in order", |_, world| {
                let lines = world.record.iter().filter_map(|text| match text {
                    Text::Line(index) => Some(*index),
                    Text::Takeover(_) => None,
                });
                lines.enumerate().all(|(at, index)| at == index)
            }),
            Property::<Self>::always("what was acknowledged stays", |_, world| {
                let lines = world.record.iter().filter(|text| matches!(text, Text::Line(_))).count();
                world.acknowledged <= lines
            }),
            Property::<Self>::always("one machine goes on, behind the last line", |_, world| {
                let lines = world.record.iter().filter(|text| matches!(text, Text::Line(_))).count();
                let behind = world.adopters.iter().all(|adopter| match adopter {
                    AdopterState::Owner { lines: from } => *from == lines,
                    AdopterState::Idle | AdopterState::Asked { .. } | AdopterState::TooLate => true,
                });
                let owners = world.adopters.iter().filter(|state| matches!(state, AdopterState::Owner { .. })).count();
                owners <= 1 && behind
            }),
            Property::<Self>::sometimes("the writer lives and is fenced", |_, world| {
                world.crashes == 0 && world.writer == WriterState::Fenced
            }),
            Property::<Self>::sometimes("a machine goes on for a dead one", |_, world| {
                let went_on = world.adopters.iter().any(|adopter| matches!(adopter, AdopterState::Owner { lines: 1 }));
                world.writer == WriterState::Dead && went_on
            }),
            Property::<Self>::sometimes("all lines get there", |model, world| world.acknowledged == model.lines.len()),
        ]
    }
}

#[test]
fn fleet_2_no_order_of_crashes_losses_and_doubles_lets_a_fenced_writer_write() {
    let folder = TestDir::new();
    let mut journal = TestJournal::begin(folder.path(), 1);
    journal.add(3);
    let takeover = |to: &str| Mark::Takeover(Takeover { to: name(to), by: "ada".to_owned(), at_ms: 1 }).text();
    let model = FenceModel { lines: journal.lines(), takeovers: vec![takeover("m1"), takeover("m2")] };
    let checker = model.checker().threads(2).spawn_bfs().join();
    checker.assert_properties();
    let states = checker.unique_state_count();
    assert!(states > 1_000, "{states} states are too few to mean anything");
}
