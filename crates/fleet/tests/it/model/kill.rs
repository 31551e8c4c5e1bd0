//! One stop and three machines whose heartbeats and looks at the orders get lost or answered late, in every order. The dead-man switch
//! is the product's own ([`DeadMan`]).

use stateright::{Checker as _, Model, Property};
use tripwire_fleet::dead_man::{DeadMan, DeadManAct};
use tripwire_testing::sized;

struct KillModel {
    machines: usize,
    bound: u64,
    end: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct KillWorld {
    now: u64,
    stopped_at: Option<u64>,
    machines: Vec<MachineWorld>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct MachineWorld {
    switch: DeadMan,
    agents: Agents,
    /// A look at the orders whose answer has not come: when it was asked for, and whether the stop stood.
    look: Option<(u64, bool)>,
    /// Whether it was in touch all the time.
    is_in_touch: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Agents {
    Working,
    Paused,
    Stopped,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum KillStep {
    GiveStop,
    HearBeat(usize),
    AskForOrders(usize),
    KnowOrders(usize),
    /// Time passes, and every machine looks at its switch.
    Look,
}

impl Model for KillModel {
    type State = KillWorld;
    type Action = KillStep;

    fn init_states(&self) -> Vec<KillWorld> {
        let machine = MachineWorld {
            switch: DeadMan::new(self.bound, 0),
            agents: Agents::Working,
            look: None,
            is_in_touch: true,
        };
        vec![KillWorld { now: 0, stopped_at: None, machines: vec![machine; self.machines] }]
    }

    fn actions(&self, world: &KillWorld, actions: &mut Vec<KillStep>) {
        if world.stopped_at.is_none() {
            actions.push(KillStep::GiveStop);
        }
        for machine in 0..self.machines {
            actions.extend([
                KillStep::HearBeat(machine),
                KillStep::AskForOrders(machine),
                KillStep::KnowOrders(machine),
            ]);
        }
        if world.now < self.end {
            actions.push(KillStep::Look);
        }
    }

    fn next_state(&self, world: &KillWorld, step: KillStep) -> Option<KillWorld> {
        let mut next = world.clone();
        let now = next.now;
        match step {
            KillStep::GiveStop => next.stopped_at = Some(now),
            KillStep::HearBeat(at) => next.machines[at].switch.hear_beat(now),
            KillStep::AskForOrders(at) => next.machines[at].look = Some((now, next.stopped_at.is_some())),
            KillStep::KnowOrders(at) => {
                let machine = &mut next.machines[at];
                let (asked, is_stop) = machine.look.take()?;
                // What is known is what stood when it was asked for, not when the answer came.
                machine.switch.know_orders(asked);
                if is_stop {
                    machine.agents = Agents::Stopped;
                }
            }
            KillStep::Look => {
                next.now += 1;
                for machine in &mut next.machines {
                    if machine.switch.look(now + 1) == DeadManAct::Pause {
                        machine.is_in_touch = false;
                        if machine.agents == Agents::Working {
                            machine.agents = Agents::Paused;
                        }
                    }
                }
            }
        }
        (next != *world).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::<Self>::always("within the bound no agent works after a stop", |model, world| {
                let is_over = world.stopped_at.is_some_and(|given| world.now >= given + model.bound);
                !is_over || world.machines.iter().all(|machine| machine.agents != Agents::Working)
            }),
            Property::<Self>::always("a machine in touch is not paused", |_, world| {
                world.machines.iter().all(|machine| !machine.is_in_touch || machine.agents != Agents::Paused)
            }),
            Property::<Self>::sometimes("all obey", |_, world| {
                world.machines.iter().all(|machine| machine.agents == Agents::Stopped)
            }),
            Property::<Self>::sometimes("one is cut off and pauses itself", |_, world| {
                world.stopped_at.is_some() && world.machines.iter().any(|machine| machine.agents == Agents::Paused)
            }),
            Property::<Self>::sometimes("work goes on where nobody ordered a stop", |model, world| {
                world.now == model.end && world.machines.iter().all(|machine| machine.agents == Agents::Working)
            }),
        ]
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "the figures are shown")]
fn fleet_4_no_order_of_losses_lets_an_agent_work_beyond_the_bound_after_a_stop() {
    let mut states = Vec::new();
    // The more machines, the shorter the time that every order of events fits into; three of them in every order of so many steps.
    for (machines, bound, end, depth) in [(1, 3, 6, None), (2, 2, 2, None), (3, 2, 2, Some(sized(8, 11)))] {
        let checker = KillModel { machines, bound, end }.checker().threads(2);
        let checker = match depth {
            Some(depth) => checker.target_max_depth(depth),
            None => checker,
        };
        let checker = checker.spawn_bfs().join();
        checker.assert_no_discovery("within the bound no agent works after a stop");
        checker.assert_no_discovery("a machine in touch is not paused");
        if depth.is_none() {
            for reached in ["all obey", "one is cut off and pauses itself", "work goes on where nobody ordered a stop"]
            {
                checker.assert_any_discovery(reached);
            }
        }
        states.push(checker.unique_state_count());
    }
    eprintln!("{states:?} states of one, two and three machines");
    assert!(states.iter().all(|count| *count > 1_000), "{states:?} states are too few to mean anything");
}
