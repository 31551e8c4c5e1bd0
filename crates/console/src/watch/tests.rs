//! The screen without a terminal: what is drawn at two sizes, and what each key does.

use super::draw::draw;
use super::keys::{KEYS, Pressed, read};
use super::palette::Palette;
use super::state::{Pane, WatchAction, WatchMode, WatchState};
use super::view::{
    CallLine, CallsView, PersonAct, Said, SessionName, TreeKind, TreeLine, ViewTone, WaitKind, WaitLine, WatchView,
};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use tripwire_core::chain::gate::floor::ApprovalVerdict;
use tripwire_core::units::MicroUsd;
use tripwire_workspace::control::order::Order;

const NOW: u64 = 1_772_292_600_000;

fn session(key: &str, name: &str, state: &str, tone: ViewTone) -> TreeLine {
    TreeLine {
        kind: TreeKind::Session,
        key: key.to_owned(),
        root: format!("/home/ada/{key}"),
        session: name.to_owned(),
        name: "claude".to_owned(),
        state: state.to_owned(),
        tone,
        spend: "$0.42 of $5.00".to_owned(),
        figures: "health 93% ctx 41%".to_owned(),
        heard_ms: Some(NOW - 4_000),
        note: String::new(),
    }
}

fn workspace(key: &str) -> TreeLine {
    let root = format!("/home/ada/{key}");
    TreeLine { key: key.to_owned(), name: root.clone(), root, ..TreeLine::default() }
}

fn wait(id: &str, kind: WaitKind, what: &str) -> WaitLine {
    WaitLine {
        key: "app".to_owned(),
        root: "/home/ada/app".to_owned(),
        id: id.to_owned(),
        kind,
        client: "claude".to_owned(),
        session: "auto-2026-02-28-152000".to_owned(),
        what: what.to_owned(),
        rule: "FLOOR-2".to_owned(),
        answered_by: format!("tripwire approvals approve {id}"),
        since_ms: NOW - 12_000,
        asked: Some(41),
    }
}

fn call(i: u64) -> CallLine {
    let (verdict, tone) = match i % 5 {
        0 => ("held", ViewTone::Warning),
        1 => ("failed", ViewTone::Bad),
        _ => ("ok", ViewTone::Good),
    };
    CallLine {
        i,
        clock: format!("15:29:{:02}", i % 60),
        agent: if i.is_multiple_of(7) { "Explore".to_owned() } else { String::new() },
        tool: "Bash".to_owned(),
        text: format!("cargo test --package step-{i}"),
        verdict: verdict.to_owned(),
        tone,
        reason: if i.is_multiple_of(5) { "it would destroy 3 files [FLOOR-2]".to_owned() } else { String::new() },
        figures: "812 ms".to_owned(),
        can_undo: i.is_multiple_of(3),
    }
}

fn view() -> WatchView {
    let agent = TreeLine {
        kind: TreeKind::SubAgent,
        key: "app".to_owned(),
        root: "/home/ada/app".to_owned(),
        session: "auto-2026-02-28-152000".to_owned(),
        name: "Explore".to_owned(),
        state: "runs".to_owned(),
        tone: ViewTone::Good,
        spend: "$0.07".to_owned(),
        heard_ms: Some(NOW - 1_000),
        note: "grep -rn unwrap crates".to_owned(),
        ..TreeLine::default()
    };
    let mut paused = session("site", "auto-2026-02-28-101500", "held: budget", ViewTone::Warning);
    paused.heard_ms = Some(NOW - 400_000);
    let mut over = session("app", "auto-2026-02-27-090000", "ended", ViewTone::Faint);
    over.note = "#17 LOOP-1: the same call again".to_owned();
    let mut running = session("app", "auto-2026-02-28-152000", "running", ViewTone::Good);
    running.note = "> cargo test".to_owned();
    let mut budget = wait("budget-auto-2026-02-28-101500", WaitKind::Budget, "the money budget is used up");
    (budget.key, budget.session, budget.asked) = ("site".to_owned(), "auto-2026-02-28-101500".to_owned(), None);
    WatchView {
        now_ms: NOW,
        tree: vec![workspace("app"), running, agent, over, workspace("site"), paused],
        waiting: vec![
            wait("K7Q2-9F", WaitKind::Command, "it would delete data: 3 files that git does not know \\u{1b}[2K"),
            budget,
        ],
        calls: CallsView {
            of: Some(SessionName { key: "app".to_owned(), session: "auto-2026-02-28-152000".to_owned() }),
            title: "claude auto-2026-02-28-152000".to_owned(),
            lines: (0..60).rev().map(call).collect(),
            total: 60,
            truth: "verified".to_owned(),
            truth_tone: ViewTone::Good,
            filter_problem: None,
        },
        problem: None,
    }
}

fn state() -> WatchState {
    let mut state = WatchState::default();
    state.take(view());
    state
}

fn terminal(state: &WatchState, width: u16, height: u16, palette: Palette) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, state, palette)).unwrap();
    terminal
}

fn screen(state: &WatchState, width: u16, height: u16) -> String {
    let terminal = terminal(state, width, height, Palette::Plain);
    let buffer = terminal.backend().buffer();
    let line = |row: u16| -> String { (0..width).map(|column| buffer[(column, row)].symbol()).collect() };
    (0..height).map(|row| format!("{}\n", line(row).trim_end())).collect()
}

/// Compares a screen with the one that is kept; `TRIPWIRE_BLESS=1` keeps the new one.
fn same(name: &str, shown: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/watch/tests").join(name);
    if std::env::var_os("TRIPWIRE_BLESS").is_some() {
        std::fs::write(&path, shown).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(shown, kept, "{name} changed:\n{shown}");
}

fn typed(state: &mut WatchState, text: &str) -> Option<WatchAction> {
    let actions: Vec<_> = text
        .chars()
        .filter_map(|letter| state.press(if letter == '\n' { Pressed::Enter } else { Pressed::Letter(letter) }))
        .collect();
    assert!(actions.len() <= 1, "{actions:?}");
    actions.into_iter().next()
}

#[test]
fn watch_screens_of_both_sizes_are_as_they_were_kept() {
    let mut state = state();
    same("80x24.txt", &screen(&state, 80, 24));
    same("160x50.txt", &screen(&state, 160, 50));
    state.press(Pressed::Letter('?'));
    same("help-80x24.txt", &screen(&state, 80, 24));
    state.press(Pressed::Escape);
    typed(&mut state, "aold data");
    same("approve-80x24.txt", &screen(&state, 80, 24));
}

#[test]
fn watch_every_size_is_drawn_and_a_tiny_one_says_so() {
    let mut state = state();
    for (width, height) in [(1, 1), (39, 9), (40, 10), (80, 24), (119, 30), (120, 30), (300, 90)] {
        for key in ['?', 'w', 'a', 's', '/'] {
            state.press(Pressed::Letter(key));
            drop(screen(&state, width, height));
            state.press(Pressed::Escape);
        }
    }
    assert!(screen(&state, 39, 9).contains("too small"));
}

#[test]
fn watch_no_color_leaves_no_colour_on_the_screen() {
    let coloured = |palette| {
        let terminal = terminal(&state(), 80, 24, palette);
        terminal.backend().buffer().content().iter().any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
    };
    assert!(coloured(Palette::Coloured));
    assert!(!coloured(Palette::Plain));
}

#[test]
fn watch_all_keys_of_the_foot_fit_into_80_columns_and_stand_in_the_help() {
    let shown = screen(&state(), 80, 24);
    let foot = shown.lines().last().unwrap();
    for row in KEYS.iter().filter(|row| !row.short.is_empty()) {
        assert!(foot.contains(&format!("{} {}", row.keys, row.short)), "{}: {foot}", row.keys);
    }
    let mut state = state();
    state.press(Pressed::Letter('?'));
    let help = screen(&state, 80, 24);
    assert!(KEYS.iter().all(|row| help.contains(row.does)) && help.contains("no wall"), "{help}");
}

#[test]
fn watch_approve_asks_for_a_reason_and_names_what_waits() {
    let mut state = state();
    assert_eq!(typed(&mut state, "aold data"), None);
    assert!(screen(&state, 80, 24).contains("approve K7Q2-9F: it would delete data"));
    let done = typed(&mut state, "\n");
    let (key, id, reason) = ("app".to_owned(), "K7Q2-9F".to_owned(), "old data".to_owned());
    let act = PersonAct::Answer { key, id, says: ApprovalVerdict::Allowed, reason, raise: None };
    assert_eq!(done, Some(WatchAction::Do(act)));
}

#[test]
fn watch_a_denial_and_a_stop_need_one_more_key() {
    let mut state = state();
    assert_eq!(typed(&mut state, "dno\n"), None);
    assert!(screen(&state, 80, 24).contains("deny K7Q2-9F?"));
    assert_eq!(state.press(Pressed::Letter('n')), None);
    assert_eq!(state.mode, WatchMode::Look);
    typed(&mut state, "dno\n");
    let Some(WatchAction::Do(PersonAct::Answer { says, .. })) = typed(&mut state, "y") else { panic!("nothing done") };
    assert_eq!(says, ApprovalVerdict::Denied);
    typed(&mut state, "senough\n");
    assert!(screen(&state, 80, 24).contains("stop every session of /home/ada/app?"));
    let (key, reason) = ("app".to_owned(), "enough".to_owned());
    assert_eq!(typed(&mut state, "y"), Some(WatchAction::Do(PersonAct::Order { key, order: Order::Stop, reason })));
    let paused = typed(&mut state, "p\n");
    assert!(matches!(paused, Some(WatchAction::Do(PersonAct::Order { order: Order::Pause, .. }))), "{paused:?}");
    assert!(matches!(typed(&mut state, "rgo on\n"), Some(WatchAction::Do(PersonAct::GoOn { .. }))));
}

#[test]
fn watch_escape_leaves_a_question_without_an_act() {
    let mut state = state();
    for key in ['a', 'd', 's', 'p', 'r', '/'] {
        assert_eq!(state.press(Pressed::Letter(key)), None);
        assert!(matches!(state.mode, WatchMode::Typing(..)), "{key}");
        assert_eq!(state.press(Pressed::Escape), None, "{key}");
        assert_eq!(state.mode, WatchMode::Look, "{key}");
    }
}

#[test]
fn watch_a_pasted_text_is_never_taken_for_keys() {
    let mut state = state();
    state.paste("a\ny\nsy\n");
    assert_eq!(state.mode, WatchMode::Look);
    state.press(Pressed::Letter('a'));
    state.paste("first\nsecond\u{1b}");
    let Some(WatchAction::Do(PersonAct::Answer { reason, .. })) = typed(&mut state, "\n") else { panic!("no act") };
    assert_eq!(reason, "first second", "breaks and control characters are spaces, and the end is trimmed");
}

#[test]
fn watch_a_budget_asks_for_an_amount_and_a_wrong_one_does_nothing() {
    let mut state = state();
    state.press(Pressed::NextPane);
    state.press(Pressed::Down);
    typed(&mut state, "a");
    state.press(Pressed::Clear);
    let Some(WatchAction::Do(PersonAct::Answer { id, raise, .. })) = typed(&mut state, "12\nmore work\n") else {
        panic!("no act")
    };
    assert_eq!((id.as_str(), raise), ("budget-auto-2026-02-28-101500", Some(MicroUsd::new(12_000_000))));
    for wrong in ["0", "-1", "many", "1000000", ""] {
        typed(&mut state, "a");
        state.press(Pressed::Clear);
        assert_eq!(typed(&mut state, &format!("{wrong}\n")), None, "{wrong}");
        assert_eq!(state.mode, WatchMode::Look, "{wrong}");
        assert!(state.said.is_some(), "{wrong}");
    }
}

#[test]
fn watch_the_cursor_stays_on_what_it_points_at_when_lists_change() {
    let mut state = state();
    state.press(Pressed::NextPane);
    state.press(Pressed::Down);
    assert_eq!(state.wait_at(), 1);
    let mut changed = view();
    changed.waiting.insert(0, wait("AAAA-11", WaitKind::Command, "another"));
    changed.tree.insert(0, workspace("first"));
    state.take(changed);
    assert_eq!(state.view.waiting[state.wait_at()].id, "budget-auto-2026-02-28-101500");
    assert_eq!(state.tree_line().unwrap().session, "auto-2026-02-28-152000");
    state.pane = Pane::Calls;
    state.press(Pressed::Down);
    let chosen = state.call_line().unwrap().i;
    let mut grown = view();
    grown.calls.lines.insert(0, call(60));
    state.take(grown);
    assert_eq!(state.call_line().unwrap().i, chosen, "a chosen record stays");
    state.press(Pressed::Home);
    let mut grown = view();
    grown.calls.lines.insert(0, call(60));
    state.take(grown);
    assert_eq!(state.call_line().unwrap().i, 60, "at the top the newest is followed");
}

#[test]
fn watch_another_session_and_older_records_are_asked_for() {
    let mut state = state();
    assert_eq!(state.press(Pressed::Down), None, "the sub-agent belongs to the same session");
    assert_eq!(state.press(Pressed::Down), Some(WatchAction::Gather));
    assert_eq!(state.wanted().chosen.unwrap().session, "auto-2026-02-27-090000");
    state.take(view());
    state.pane = Pane::Calls;
    let mut long = view();
    long.calls.lines = (400..600).rev().map(call).collect();
    long.calls.total = 600;
    state.take(long);
    assert_eq!(state.press(Pressed::End), Some(WatchAction::Gather));
    assert!(state.wanted().before.is_some_and(|before| before > 400 && before < 600), "{:?}", state.wanted());
    assert_eq!(state.press(Pressed::Home), Some(WatchAction::Gather));
    assert_eq!(state.wanted().before, None);
}

#[test]
fn watch_the_filter_is_asked_for_and_taken_back_with_escape() {
    let mut state = state();
    assert_eq!(typed(&mut state, "/verdict:held\n"), Some(WatchAction::Gather));
    assert_eq!(state.wanted().filter, "verdict:held");
    assert!(screen(&state, 120, 30).contains("/verdict:held"));
    assert_eq!(state.press(Pressed::Escape), Some(WatchAction::Gather));
    assert_eq!(state.wanted().filter, "");
    let mut broken = view();
    broken.calls.filter_problem = Some("the filter knows no `x:`".to_owned());
    state.take(broken);
    assert!(screen(&state, 80, 24).contains("the filter knows no"));
}

#[test]
fn watch_why_explains_what_the_cursor_stands_on() {
    let mut state = state();
    state.press(Pressed::NextPane);
    let Some(WatchAction::Explain(wanted)) = typed(&mut state, "w") else { panic!("nothing asked") };
    assert_eq!((wanted.i, wanted.of.session.as_str()), (41, "auto-2026-02-28-152000"));
    state.told(Said {
        title: "why #41".to_owned(),
        lines: vec!["one".to_owned(), "two".to_owned()],
        ..Said::default()
    });
    assert!(screen(&state, 80, 24).contains("why #41"));
    state.press(Pressed::Escape);
    state.press(Pressed::Down);
    assert_eq!(typed(&mut state, "w"), None, "a budget has no decision of its own");
    assert!(screen(&state, 80, 24).contains("tripwire approvals approve budget-auto-2026-02-28-101500"));
    state.press(Pressed::Escape);
    state.pane = Pane::Calls;
    for _ in 0..2 {
        state.press(Pressed::Down);
    }
    let Some(WatchAction::Explain(wanted)) = state.press(Pressed::Enter) else { panic!("nothing asked") };
    assert_eq!(wanted.i, 57);
    assert!(wanted.behind[0].contains("tripwire undo 57 --session auto-2026-02-28-152000"), "{wanted:?}");
}

#[test]
fn watch_an_answer_that_arrives_while_a_person_types_does_not_take_the_line_away() {
    let mut state = state();
    typed(&mut state, "ahalf a rea");
    state.told(Said { title: "stop".to_owned(), lines: vec!["a".to_owned(), "b".to_owned()], ..Said::default() });
    assert!(matches!(state.mode, WatchMode::Typing(..)));
}

#[test]
fn watch_nothing_to_answer_is_said_and_an_empty_machine_is_shown() {
    let mut state = WatchState::default();
    state.take(WatchView { now_ms: NOW, ..WatchView::default() });
    for key in ['a', 'd', 's', 'p', 'r', 'w', 'j', 'k', 'G', 'g'] {
        assert_eq!(state.press(Pressed::Letter(key)), None, "{key}");
    }
    typed(&mut state, "a");
    assert!(screen(&state, 80, 24).contains("nothing waits for an answer"));
    assert!(screen(&state, 80, 24).contains("no session yet"));
}

#[test]
fn watch_keys_are_read_as_terminals_send_them() {
    let plain = |code| read(KeyEvent::new(code, KeyModifiers::NONE));
    let control = |letter| read(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL));
    assert_eq!(plain(KeyCode::Char('a')), Some(Pressed::Letter('a')));
    assert_eq!(read(KeyEvent::new(KeyCode::Char('G'), KeyModifiers::SHIFT)), Some(Pressed::Letter('G')));
    assert_eq!(control('c'), Some(Pressed::Interrupt));
    assert_eq!(control('u'), Some(Pressed::Clear));
    assert_eq!(control('s'), None, "a control key is no letter: nothing is stopped by mistake");
    assert_eq!(read(KeyEvent::new(KeyCode::Char('s'), KeyModifiers::ALT)), None);
    assert_eq!(plain(KeyCode::F(5)), None);
    let mut state = state();
    typed(&mut state, "a");
    assert_eq!(state.press(Pressed::Interrupt), Some(WatchAction::Quit), "wherever one is");
}
