//! Engines that fail: again, the next one, later, or nobody (RUN-4).

use super::fixture::{Journaled, Reply, RunFixture, finish, policy, read, setup, spent};
use tripwire_core::chain::Chain;
use tripwire_core::run::ending::Ending;
use tripwire_core::run::line::Line;
use tripwire_core::run::record::{EngineFailure, FailureKind, Setup};

fn fails(kind: FailureKind) -> Reply {
    Reply::Fails(kind, None)
}

fn switches(fixture: &RunFixture) -> usize {
    fixture.lines.iter().filter(|line| matches!(line, Line::EngineSwitch(_))).count()
}

fn alone() -> Setup {
    let one = setup();
    Setup { engines: one.engines[..1].to_vec(), seats: one.seats[..1].to_vec(), ..one }
}

#[test]
fn run_4_an_overload_that_persists_takes_the_next_engine_and_says_so() {
    let overloaded = || fails(FailureKind::Overloaded);
    let (fixture, ending) =
        RunFixture::played([overloaded(), overloaded(), overloaded(), overloaded(), read(0), finish()]);
    assert!(matches!(ending, Ending::Completed { .. }), "{ending:?}");
    assert_eq!((switches(&fixture), fixture.asked.last()), (1, Some(&1)));
    assert_eq!(fixture.waited, [1_000, 2_000, 4_000]);
}

#[test]
fn run_4_a_single_overload_is_retried_and_written_down() {
    let (fixture, _) = RunFixture::played([fails(FailureKind::Overloaded), read(0), finish()]);
    assert_eq!(switches(&fixture), 0);
    assert_eq!(fixture.lines.iter().filter(|line| matches!(line, Line::EngineError(_))).count(), 1);
}

#[test]
fn run_4_a_rate_limit_is_waited_for_when_it_is_short_and_parked_when_it_is_long() {
    let limited = |wait| Reply::Fails(FailureKind::RateLimited, Some(wait));
    let mut fixture = RunFixture::new(alone(), policy(), [limited(5_000), finish()]);
    assert!(matches!(fixture.play(), Ending::Completed { .. }));
    assert_eq!(fixture.waited, [5_000]);
    let mut fixture = RunFixture::new(alone(), policy(), [limited(3_600_000), finish()]);
    assert!(matches!(fixture.play(), Ending::Parked { .. }));
    assert!(fixture.waited.is_empty());
}

#[test]
fn run_4_a_context_that_is_too_long_begins_anew_before_the_engine_is_left() {
    let exhausted = || fails(FailureKind::ContextExhausted);
    let (fixture, _) = RunFixture::played([exhausted(), read(0), finish()]);
    assert_eq!((fixture.briefings, switches(&fixture)), (1, 0));
    let (fixture, _) = RunFixture::played([exhausted(), exhausted(), read(0), finish()]);
    assert_eq!((fixture.briefings, switches(&fixture)), (1, 1));
}

#[test]
fn run_4_when_nobody_can_answer_the_loop_ends_and_says_why() {
    let mut fixture = RunFixture::new(alone(), policy(), [fails(FailureKind::Refused)]);
    assert_eq!(fixture.play(), Ending::NoEngine { said: "no answer".into() });
}

#[test]
fn gate_8_an_answer_that_broke_off_is_counted_and_then_asked_for_again() {
    let whole = RunFixture::played([read(0), finish()]).0;
    let (fixture, ending) = RunFixture::played([Reply::Breaks(5_000), Reply::Breaks(7_000), read(0), finish()]);
    assert!(matches!(ending, Ending::Completed { .. }), "{ending:?}");
    assert_eq!(fixture.tokens(), whole.tokens() + 12_000);
    assert_eq!(fixture.steps(), whole.steps(), "a question that is asked again is one step");
    assert_eq!((fixture.waited.len(), switches(&fixture)), (2, 0), "what was spent changes nothing of what follows");
    let (fixture, _) = RunFixture::played([fails(FailureKind::Broken), read(0), finish()]);
    assert_eq!(fixture.tokens(), whole.tokens(), "nothing was used, nothing is counted");
}

#[test]
fn gate_8_the_question_before_the_start_is_counted_once() {
    let whole = RunFixture::played([read(0), finish()]).0;
    let mut fixture = RunFixture::new(Setup { probe: Some(spent(21)), ..setup() }, policy(), [read(0), finish()]);
    assert!(matches!(fixture.play(), Ending::Completed { .. }));
    assert_eq!(fixture.tokens(), whole.tokens() + 21);
    assert_eq!(fixture.executed, whole.executed);
    assert_eq!(fixture.steps(), whole.steps(), "it is no step of its own");
}

#[test]
fn gate_8_the_journal_gives_the_same_totals_again() {
    let (fixture, _) = RunFixture::played([Reply::Breaks(5_000), read(0), finish()]);
    let mut chain = Chain::new(policy()).unwrap();
    for record in &fixture.journal {
        if let Journaled::Input(input) = record {
            chain.step(input);
        }
    }
    assert_eq!(chain.view().spent.tokens.get(), fixture.tokens());
}

#[test]
fn a_failure_without_figures_is_written_as_before() {
    let old = r#"{"engine":"scripted:a","trouble":"broken","said":"no answer"}"#;
    let failure: EngineFailure = serde_json::from_str(old).unwrap();
    assert_eq!(failure.spent, None);
    assert_eq!(serde_json::to_string(&failure).unwrap(), old);
}
