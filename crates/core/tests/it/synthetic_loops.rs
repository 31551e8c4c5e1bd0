//! Made-up sessions, drawn from seeds: every kind of loop is overridden within a stated number of calls, and no kind of
//! healthy work is held. They replace recorded sessions, which are other people's and are not copied here.

mod session;

use session::Session;
use tripwire_testing::sized;
use tripwire_testing::synthetic::{Dice, Healthy, Looping, play_healthy, play_loop};

/// Sessions per kind. Each is another draw of tools, files, words, fillers and numbers.
fn seeds() -> std::ops::Range<u64> {
    0..sized(8, 60)
}

#[test]
fn loop_2_every_synthetic_loop_is_overridden_in_time() {
    for kind in Looping::ALL {
        for seed in seeds() {
            let mut dice = Dice::new(seed);
            let mut session = Session::default();
            play_healthy(Healthy::Reading, &mut session, &mut dice, 3);
            let start = session.calls();
            let bound = play_loop(kind, &mut session, &mut dice);
            let overridden = session.overridden_at.map(|at| at.saturating_sub(start) + 1);
            assert!(overridden.is_some_and(|calls| calls <= bound), "{kind:?}, seed {seed}: {overridden:?} > {bound}");
            assert!(session.overridden_at >= Some(start), "{kind:?}, seed {seed}: before it began");
        }
    }
}

#[test]
fn loop_2_proven_synthetic_loops_are_held_or_stopped_after_the_override() {
    for kind in [Looping::Identical, Looping::Spread, Looping::Cycle, Looping::OneError, Looping::EditAndUndo] {
        for seed in seeds() {
            let mut dice = Dice::new(seed);
            let mut session = Session::default();
            play_loop(kind, &mut session, &mut dice);
            let halted = session.held_at.or(session.stopped_at);
            assert!(
                halted > session.overridden_at && session.overridden_at.is_some(),
                "{kind:?}, seed {seed}: {session:?}"
            );
        }
    }
}

#[test]
fn loop_3_no_synthetic_healthy_work_is_held_or_even_overridden() {
    for kind in Healthy::ALL {
        for seed in seeds() {
            let mut dice = Dice::new(seed);
            let mut session = Session::default();
            let rounds = dice.between(12, 40);
            play_healthy(kind, &mut session, &mut dice, rounds);
            assert_eq!((session.held_at, session.stopped_at), (None, None), "{kind:?}, seed {seed}");
            assert_eq!(session.overridden_at, None, "{kind:?}, seed {seed}: {:?}", session.reason);
        }
    }
}

#[test]
fn loop_3_healthy_work_of_all_kinds_in_one_session_is_not_held() {
    for seed in seeds() {
        let mut dice = Dice::new(seed);
        let mut session = Session::default();
        for _ in 0..8 {
            let kind = Healthy::ALL[dice.below(Healthy::ALL.len() as u64) as usize];
            let rounds = dice.between(2, 10);
            play_healthy(kind, &mut session, &mut dice, rounds);
        }
        assert_eq!((session.held_at, session.stopped_at), (None, None), "seed {seed}: {:?}", session.reason);
    }
}

#[test]
fn loop_1_an_identical_loop_is_overridden_at_the_third_and_stopped_at_the_fourth() {
    for seed in seeds() {
        let mut session = Session::default();
        play_loop(Looping::Identical, &mut session, &mut Dice::new(seed));
        assert_eq!((session.overridden_at, session.stopped_at), (Some(2), Some(3)), "seed {seed}");
    }
}

#[test]
fn chain_6_the_state_stays_within_its_bound_in_every_synthetic_session() {
    for seed in seeds() {
        let mut dice = Dice::new(seed);
        let mut session = Session::default();
        play_healthy(Healthy::Research, &mut session, &mut dice, 40);
        play_loop(Looping::Reworded, &mut session, &mut dice);
        play_loop(Looping::Quoting, &mut session, &mut dice);
        let bytes = session.state_bytes();
        assert!(bytes <= tripwire_core::limits::STATE_BYTES_MAX, "seed {seed}: {bytes}");
    }
}
