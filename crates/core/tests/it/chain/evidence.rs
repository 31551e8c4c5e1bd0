//! What counts as evidence in `balanced`, and what takes it back: each mechanism as a loop that fires and as work that does not.

use super::fixture::{ChainFixture, call, edit, failed, holds, injects, stops, tests, work};
use tripwire_core::chain::event::{Action, AgentEvent, DiskChanges, ErrorClass, Flag, Flags, Gain, TestResult};
use tripwire_core::decision::{Decision, FindingKind, Level};
use tripwire_core::effect::{HoldReason, StopReason};
use tripwire_core::label::Label;
use tripwire_core::rules::Rule;
use tripwire_core::sketch::{LANES, Sketch, WORD_LANES, WordSketch};

/// The first decision in which a rule reached a level.
fn first(decisions: &[Decision], rule: Rule, wanted: Level) -> Option<usize> {
    let reaches = |decision: &Decision| decision.findings.iter().any(|one| one.rule == rule && one.level == wanted);
    decisions.iter().position(reaches)
}

fn loud(decision: &Decision) -> bool {
    injects(decision) || !decision.safety.allowed
}

fn error(n: u64, text: &str) -> AgentEvent {
    let event = call(&format!("Bash(cmd=try {n})"), &format!("try-{n}"), text);
    AgentEvent { error_digest: Label::new(text), error_kind: Label::new(text), ..failed(event, ErrorClass::Tool) }
}

fn failed_change(n: u64) -> AgentEvent {
    AgentEvent { flags: Flags::default().with(Flag::Change), ..error(n, &format!("does not apply {n}")) }
}

#[test]
fn loop_2_thrash_and_failing_count_since_the_last_change_that_landed() {
    let round = |n: u64| match n % 4 {
        0 | 1 => failed_change(n),
        2 => edit(n),
        _ => error(n, "1 test fails"),
    };
    let decisions = ChainFixture::balanced().events(40, round);
    assert!(!decisions.iter().any(loud), "two misses and a hit, then the tests, is how people edit");
    let never = |n: u64| if n.is_multiple_of(2) { failed_change(n) } else { work(n) };
    let decisions = ChainFixture::balanced().events(12, never);
    assert_eq!(first(&decisions, Rule::LoopThrash, Level::Override), Some(8));
}

#[test]
fn loop_2_error_ends_with_a_good_run_of_the_check_in_between() {
    let check = |result| AgentEvent {
        action: tests(0, result).action,
        error_digest: Label::new("assertion"),
        error_kind: Label::new("assertion"),
        ..tests(0, result)
    };
    let red = |n: u64| AgentEvent {
        result_digest: Label::new("red"),
        ..check(if n % 3 == 2 { TestResult::Passed } else { TestResult::Failed })
    };
    let decisions = ChainFixture::balanced()
        .events(18, |n| if n % 3 == 2 { AgentEvent { result_digest: Label::new("green"), ..red(n) } } else { red(n) });
    assert!(!decisions.iter().any(loud), "red, red, green, again and again");
    let decisions = ChainFixture::balanced()
        .events(6, |_| AgentEvent { result_digest: Label::new("red"), ..check(TestResult::Failed) });
    assert!(decisions.iter().any(|decision| stops(decision, StopReason::SystemError)), "red without end");
}

#[test]
fn loop_2_code_that_was_measured_to_move_opens_an_epoch() {
    let bump = |changes: DiskChanges| AgentEvent { changes: Some(changes), ..call("Bash(cmd=sh bump.sh)", "bump", "") };
    let code = || DiskChanges { code: vec![Label::cut("code.py")], ..DiskChanges::default() };
    let log = || DiskChanges { other: vec![Label::cut("run.log")], ..DiskChanges::default() };
    let test = || AgentEvent { changes: Some(DiskChanges::default()), ..error(0, "FAILED") };
    let moving = ChainFixture::balanced().events(20, |n| if n.is_multiple_of(2) { bump(code()) } else { test() });
    assert!(!moving.iter().any(loud), "a script changes the code before each equal failure");
    for still in [DiskChanges::default(), log()] {
        let decisions =
            ChainFixture::balanced().events(14, |n| if n.is_multiple_of(2) { bump(still.clone()) } else { test() });
        assert!(
            decisions.iter().any(|decision| holds(decision, HoldReason::Loop)),
            "nothing moves, or only a log grows"
        );
    }
}

#[test]
fn loop_2_a_workspace_that_comes_back_is_an_undoing_and_a_new_one_is_movement() {
    let at = |n: u64, hash: u64| AgentEvent {
        workspace_hash: Label::new(&format!("tree-{hash}")),
        ..call(&format!("Bash(cmd={})", n % 2), &format!("s{}", n % 2), "done")
    };
    let undone = ChainFixture::balanced().events(20, |n| at(n, n % 2));
    assert!(undone.iter().any(|decision| holds(decision, HoldReason::Loop)));
    let moving = ChainFixture::balanced().events(20, |n| at(n, n));
    assert!(!moving.iter().any(loud));
}

#[test]
fn loop_2_a_change_that_landed_counts_although_the_tool_prints_an_error() {
    let odd = |n: u64, landed: bool| {
        let code = if landed { vec![Label::cut("a.rs")] } else { Vec::new() };
        AgentEvent { changes: Some(DiskChanges { code, ..DiskChanges::default() }), ..failed_change(n) }
    };
    assert!(!ChainFixture::balanced().events(12, |n| odd(n, true)).iter().any(loud));
    assert!(ChainFixture::balanced().events(12, |n| odd(n, false)).iter().any(loud));
}

#[test]
fn loop_2_ignored_holds_what_an_override_rested_on_when_it_comes_back() {
    // Five errors of one kind are overridden; one of these very calls comes back.
    let of_kind = |n: u64| AgentEvent { error_kind: Label::new("not found"), ..error(n, &format!("quoted {n}")) };
    let mut fixture = ChainFixture::balanced();
    let decisions = fixture.events(5, of_kind);
    assert!(injects(&decisions[4]) && decisions.iter().all(|decision| decision.safety.allowed));
    assert!(!loud(&fixture.event(work(90))), "another call is what the override asks for");
    let back = fixture.event(of_kind(2));
    assert!(holds(&back, HoldReason::Loop));
    assert!(
        back.findings
            .iter()
            .any(|finding| finding.rule == Rule::LoopIgnored && finding.reason.contains("(see #2, #6)"))
    );
    // With a change in between it is another try.
    let mut fixture = ChainFixture::balanced();
    fixture.events(5, of_kind);
    fixture.event(edit(91));
    assert!(!loud(&fixture.event(of_kind(2))));
}

#[test]
fn loop_2_ignored_holds_a_second_loop_and_lets_a_file_be_read_again() {
    let a = || call("click(a)", "a", "page");
    let b = || call("click(b)", "b", "other page");
    let mut fixture = ChainFixture::balanced();
    let mut all = Vec::new();
    for n in 0..3 {
        all.extend([fixture.event(a()), fixture.event(work(n)), fixture.event(b())]);
    }
    assert_eq!(all.iter().position(injects), Some(6));
    assert!(holds(&all[8], HoldReason::Loop), "the other call came three times too, and the warning was read");
    let mut fixture = ChainFixture::balanced();
    fixture.event(work(7));
    fixture.events(3, |_| a());
    assert!(!loud(&fixture.event(work(7))), "after the warning the agent looks again at what it had read");
}

#[test]
fn loop_2_nothing_is_held_or_stopped_before_the_model_could_read_the_override() {
    let in_turn = |turn: &str, event: AgentEvent| AgentEvent { turn_id: Label::new(turn), ..event };
    let mut fixture = ChainFixture::balanced();
    // One turn asks for many different calls that hit one wall; the override can only be read in the next.
    fixture.event(in_turn("a", error(0, "wall")));
    fixture.event(in_turn("b", error(1, "wall")));
    fixture.event(in_turn("c", error(2, "wall")));
    let same_turn: Vec<Decision> = (0..4).map(|n| fixture.event(in_turn("d", error(10 + n, "wall")))).collect();
    assert!(same_turn.iter().any(injects) && same_turn.iter().all(|decision| decision.safety.allowed));
    assert!(holds(&fixture.event(in_turn("e", error(30, "wall"))), HoldReason::Loop));
}

#[test]
fn loop_1_a_request_of_the_turn_that_brought_the_override_is_not_yet_ignoring_it() {
    let asked = |turn: &str| Action { turn_id: Label::new(turn), ..call("Bash(cmd=ls)", "ls", "x").action.unwrap() };
    let done = |turn: &str| AgentEvent { turn_id: Label::new(turn), ..call("Bash(cmd=ls)", "ls", "x") };
    let mut fixture = ChainFixture::balanced();
    for turn in ["a", "b", "c"] {
        fixture.event(done(turn));
    }
    assert!(fixture.ask(asked("c")).permit.is_some(), "asked for in the same breath as the third");
    assert!(fixture.ask(asked("d")).permit.is_none(), "asked for after the override was read");
}

#[test]
fn loop_2_unknown_results_never_lead_to_a_hold_not_even_through_health() {
    let mut fixture = ChainFixture::balanced();
    let lost = |n: u64| {
        let (round, step) = (n / 8, n % 8);
        let name = if step < 6 { format!("lost-{round}") } else { format!("other-{n}") };
        AgentEvent { output_hash: None, result_digest: None, ..call(&format!("send({name})"), &name, "") }
    };
    let decisions = fixture.events(80, lost);
    assert!(decisions.iter().any(injects), "it is said");
    assert!(decisions.iter().all(|decision| decision.safety.allowed), "and no more");
}

#[test]
fn gate_4_failing_commands_cost_health_and_suspend_nobody() {
    let mut fixture = ChainFixture::balanced();
    fixture.pace = 20_000;
    // Long work with many failures of all kinds, and a change that lands now and then.
    let round = |n: u64| if n % 9 == 8 { edit(n) } else { error(n, &format!("says {n}")) };
    let decisions = fixture.events(90, round);
    assert!(decisions.iter().all(|decision| decision.safety.allowed));
    assert!(decisions.last().unwrap().safety.health.millionths() < 800_000, "it shows all the same");
}

#[test]
fn gate_4_scattered_time_outs_suspend_nobody_and_a_row_of_them_does() {
    let timeout = |n: u64| failed(work(n), ErrorClass::Timeout);
    let scattered = ChainFixture::balanced().events(60, |n| if n.is_multiple_of(3) { timeout(n) } else { work(n) });
    assert!(scattered.iter().all(|decision| decision.safety.allowed));
    let row = ChainFixture::balanced().events(10, timeout);
    assert!(row.iter().any(|decision| {
        decision
            .effects
            .iter()
            .any(|effect| matches!(effect, tripwire_core::effect::Effect::Hold(HoldReason::SoftSuspend)))
    }));
}

#[test]
fn act_1_tempo_alone_is_a_note_and_with_a_loop_it_is_a_runaway() {
    let run = |quick: &dyn Fn(u64) -> AgentEvent| {
        let mut fixture = ChainFixture::new(&[
            ("gate.max_tokens_per_minute", "100000000"),
            ("gate.token_warning_threshold", "99000000"),
            ("gate.max_tool_calls_per_minute", "10000"),
            ("gate.tool_call_warning_threshold", "9000"),
        ]);
        fixture.pace = 25_000;
        fixture.events(20, |n| AgentEvent { token_count: tripwire_core::units::Tokens::new(2_000), ..work(n) });
        fixture.pace = 1_000;
        let decisions =
            fixture.events(100, |n| AgentEvent { token_count: tripwire_core::units::Tokens::new(40_000), ..quick(n) });
        let noted = decisions
            .iter()
            .any(|decision| decision.findings.iter().any(|one| one.kind == FindingKind::RunawayDetected));
        (noted, decisions.iter().all(|decision| decision.safety.allowed))
    };
    assert_eq!(run(&|n| work(1_000 + n)), (true, true), "quick reads after a slow start");
    let lost = |_| AgentEvent { output_hash: None, result_digest: None, ..call("send(x)", "x", "") };
    assert_eq!(run(&lost), (true, false), "and the same call without a result, ever faster");
}

/// A task in words, for another agent.
fn task(n: u64, words: &[usize], flag: Flag) -> AgentEvent {
    let mut lanes = [0; WORD_LANES];
    words.iter().for_each(|word| lanes[*word] = 7);
    let given = call("Task(...)", &format!("task-{n}"), &format!("answer-{n}"));
    let action = given.action.map(|action| Action { args_sketch: Some(WordSketch::from_lanes(lanes)), ..action });
    AgentEvent { action, flags: Flags::default().with(flag), ..given }
}

#[test]
fn loop_2_spawn_is_overridden_when_one_task_is_given_out_four_times() {
    let same: Vec<usize> = (1..21).collect();
    let again = ChainFixture::balanced().events(4, |n| task(n, &same, Flag::Spawn));
    assert_eq!(first(&again, Rule::LoopSpawn, Level::Note), Some(1));
    assert_eq!(first(&again, Rule::LoopSpawn, Level::Override), Some(3));
    let file_by_file = |n: u64| {
        let mut words: Vec<usize> = (1..11).collect();
        words.extend([20 + n as usize, 40 + n as usize]);
        task(n, &words, Flag::Spawn)
    };
    assert!(!ChainFixture::balanced().events(9, file_by_file).iter().any(loud), "one child per file");
    let fan_out = |n: u64| AgentEvent { turn_id: Label::new("one"), ..task(n, &same, Flag::Spawn) };
    assert!(!ChainFixture::balanced().events(9, fan_out).iter().any(loud), "nine children of one turn");
}

#[test]
fn loop_2_spawn_sees_an_instruction_that_brings_nothing_back() {
    let nearly = |n: u64| {
        let mut words: Vec<usize> = (1..13).collect();
        words.push(20 + n as usize);
        AgentEvent { output_hash: None, result_digest: None, ..task(n, &words, Flag::Silent) }
    };
    let decisions = ChainFixture::balanced().events(5, nearly);
    assert_eq!(first(&decisions, Rule::LoopSpawn, Level::Override), Some(3));
    let others = |n: u64| {
        let words: Vec<usize> = (0..10).map(|word| word * 9 + n as usize % 9).collect();
        AgentEvent { output_hash: None, result_digest: None, ..task(n, &words, Flag::Silent) }
    };
    assert!(!ChainFixture::balanced().events(8, others).iter().any(loud));
}

#[test]
fn loop_2_restart_counts_replies_that_start_over_until_something_lands() {
    let reply = |n: u64, retries: bool| {
        let lane = u8::try_from(n % 250).unwrap();
        let flags = if retries { Flags::default().with(Flag::Retry) } else { Flags::default() };
        AgentEvent { flags, text_sketch: Some(Sketch::from_lanes([lane; LANES])), ..work(n) }
    };
    let stuck = ChainFixture::balanced().events(8, |n| reply(n, n % 4 != 1));
    assert_eq!(first(&stuck, Rule::LoopRestart, Level::Override), Some(6));
    assert!(stuck.iter().all(|decision| decision.safety.allowed), "what it says is no proof");
    let now_and_then = ChainFixture::balanced().events(40, |n| reply(n, n.is_multiple_of(2)));
    assert!(!now_and_then.iter().any(loud));
    let landing = ChainFixture::balanced().events(40, |n| if n % 4 == 3 { edit(n) } else { reply(n, true) });
    assert!(!landing.iter().any(loud), "the other way worked");
}

#[test]
fn loop_2_chant_is_a_reply_that_comes_five_times_in_a_row() {
    let said = |n: u64, text: u8| AgentEvent { text_sketch: Some(Sketch::from_lanes([text; LANES])), ..work(n) };
    let chant = ChainFixture::balanced().events(5, |n| said(n, 1));
    assert_eq!(first(&chant, Rule::LoopChant, Level::Override), Some(4));
    let talk = ChainFixture::balanced().events(30, |n| said(n, u8::try_from(n % 3).unwrap()));
    assert!(!talk.iter().any(loud));
    let one_breath = |n| AgentEvent { turn_id: Label::new("one"), ..said(n, 1) };
    assert!(!ChainFixture::balanced().events(9, one_breath).iter().any(loud), "nine calls of one reply");
}

#[test]
fn loop_2_paging_past_the_end_is_overridden_and_a_long_list_is_not() {
    let page = |n: u64, content: &str| {
        let read = call(&format!("list(page={n})"), &format!("page-{n}"), content);
        AgentEvent { action: read.action.map(|action| Action { args_shape: Label::new("page=#"), ..action }), ..read }
    };
    let past = ChainFixture::balanced().events(9, |n| page(n, if n < 3 { "rows" } else { "" }).clone());
    assert_eq!(first(&past, Rule::LoopPaging, Level::Override), Some(7));
    assert!(past.iter().all(|decision| decision.safety.allowed));
    let list = ChainFixture::balanced().events(40, |n| page(n, &format!("rows {n}")));
    assert!(!list.iter().any(loud));
}

#[test]
fn loop_2_what_succeeds_in_changing_something_is_overridden_at_most() {
    let step = |flag: Flag| AgentEvent { flags: Flags::default().with(flag), ..call("move(1 m)", "1 m", "ok") };
    let decisions = ChainFixture::balanced().events(12, |_| step(Flag::Change));
    assert!(decisions.iter().any(injects) && decisions.iter().all(|decision| decision.safety.allowed));
    let decisions = ChainFixture::balanced().events(12, |_| step(Flag::Edit));
    assert!(decisions.iter().any(|decision| !decision.safety.allowed), "the same text is written again and again");
}

#[test]
fn loop_2_error_that_answers_another_question_each_time_is_held_later() {
    let probe = |n: u64| if n.is_multiple_of(2) { error(n, "no such file") } else { work(n) };
    let decisions = ChainFixture::balanced().events(12, probe);
    assert!(decisions.iter().any(injects) && decisions.iter().all(|decision| decision.safety.allowed));
    let wall = |n: u64| if n.is_multiple_of(2) { error(n % 4, "no such file") } else { work(n) };
    let decisions = ChainFixture::balanced().events(12, wall);
    assert!(decisions.iter().any(|decision| !decision.safety.allowed), "the same questions come back");
}

#[test]
fn loop_2_chant_over_new_reading_is_none() {
    let said = |gain: Gain| {
        move |n: u64| AgentEvent {
            text_sketch: Some(Sketch::from_lanes([7; LANES])),
            flags: Flags::default().with(Flag::Read),
            gain: Some(gain),
            ..work(n)
        }
    };
    let news = said(Gain { echo: 0, new: 30, total: 40 });
    assert_eq!(first(&ChainFixture::balanced().events(9, news), Rule::LoopChant, Level::Override), None);
    let nothing = said(Gain { echo: 0, new: 1, total: 40 });
    assert_eq!(first(&ChainFixture::balanced().events(9, nothing), Rule::LoopChant, Level::Override), Some(4));
}
