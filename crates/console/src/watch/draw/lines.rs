//! The lists, line by line.

use super::super::palette::Palette;
use super::super::state::{Pane, WatchState};
use super::super::view::{CallLine, TreeKind, TreeLine, ViewTone, WaitKind, WaitLine};
use crate::moment;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use tripwire_core::counted::counted;
use tripwire_workspace::geometry::wall_clock::WallClock;

/// The line at the top: how much there is, and when this was.
pub(super) fn head(state: &WatchState, width: u16, palette: Palette) -> Line<'static> {
    let sessions = state.view.tree.iter().filter(|line| line.kind == TreeKind::Session);
    let running = sessions.clone().filter(|line| line.tone == ViewTone::Good).count();
    let sessions = sessions.count();
    let waits = state.view.waiting.len();
    let mut spans = vec![
        Span::styled(" tripwire watch", Style::new().add_modifier(Modifier::BOLD)),
        Span::raw(format!("   {}, {running} at work", counted(sessions, "session"))),
    ];
    if waits > 0 {
        spans.push(Span::styled(format!(", {waits} waiting for you"), palette.of(ViewTone::Warning)));
    }
    if state.busy > 0 {
        spans.push(Span::raw("   working …"));
    }
    let used: usize = spans.iter().map(Span::width).sum();
    let stamp = WallClock::from_epoch_ms(state.view.now_ms).to_string();
    let clock = format!("{} UTC ", stamp.get(11..19).unwrap_or_default());
    if state.view.now_ms > 0 && used + clock.len() < usize::from(width) {
        spans.push(Span::raw(" ".repeat(usize::from(width) - used - clock.len())));
        spans.push(Span::raw(clock));
    }
    Line::from(spans)
}

/// The line above the keys: what was said last, or what could not be shown.
pub(super) fn message(state: &WatchState, width: u16, palette: Palette) -> Line<'static> {
    let (text, tone) = match (&state.said, &state.view.problem) {
        (Some(said), _) => {
            let title = if said.title.is_empty() { String::new() } else { format!("{}: ", said.title) };
            (format!("{title}{}", said.lines.join("; ")), said.tone)
        }
        (None, Some(problem)) => (problem.clone(), ViewTone::Bad),
        (None, None) => return Line::default(),
    };
    Line::styled(format!(" {}", cut(&text, usize::from(width).saturating_sub(2))), palette.of(tone))
}

/// Workspaces, sessions, sub-agents.
pub(super) fn tree(frame: &mut Frame<'_>, area: Rect, state: &WatchState, palette: Palette) {
    if state.view.tree.is_empty() {
        let hint = match state.view.now_ms {
            0 => " reading …",
            _ => " no session yet: `tripwire run CLIENT` starts a guarded one, `tripwire init` guards all",
        };
        frame.render_widget(Paragraph::new(hint), area);
        return;
    }
    let shown = |line: &TreeLine| tree_line(line, state.view.now_ms, usize::from(area.width), palette);
    let lines = state.view.tree.iter().map(shown).collect();
    list(frame, area, lines, Cursor::of(state, Pane::Agents, state.tree_at()));
}

fn tree_line(line: &TreeLine, now_ms: u64, width: usize, palette: Palette) -> Line<'static> {
    let tone = palette.of(line.tone);
    if line.kind == TreeKind::Workspace {
        let mut spans = vec![Span::styled(format!(" {}", line.name), Style::new().add_modifier(Modifier::BOLD))];
        if !line.state.is_empty() {
            spans.push(Span::styled(format!("  {}", line.state), tone));
        }
        return Line::from(spans);
    }
    let is_session = line.kind == TreeKind::Session;
    let name_columns = if width >= 100 { 36 } else { 28 };
    let name = match is_session {
        true => format!("   {} {}", line.name, short(&line.session)),
        false => format!("     └ {}", line.name),
    };
    let heard = line.heard_ms.map(|heard| moment::ago(now_ms.saturating_sub(heard) / 1_000)).unwrap_or_default();
    let mut spans = vec![
        Span::raw(fit(&name, name_columns)),
        Span::raw(" "),
        Span::styled(fit(&line.state, 16), tone),
        Span::raw(format!(" {:>14} {:>6}", line.spend, heard)),
    ];
    let used: usize = spans.iter().map(Span::width).sum();
    let figures = if line.figures.is_empty() { String::new() } else { format!(" {}", line.figures) };
    let note = if line.note.is_empty() { String::new() } else { format!("  {}", line.note) };
    spans.push(Span::raw(cut(&format!(" {figures}{note}"), width.saturating_sub(used))));
    Line::from(spans)
}

/// What waits for a person.
pub(super) fn waiting(frame: &mut Frame<'_>, area: Rect, state: &WatchState, palette: Palette) {
    if state.view.waiting.is_empty() {
        frame.render_widget(Paragraph::new(Span::styled(" nothing", palette.of(ViewTone::Faint))), area);
        return;
    }
    let shown = |line: &WaitLine| wait_line(line, state.view.now_ms, usize::from(area.width), palette);
    let lines = state.view.waiting.iter().map(shown).collect();
    list(frame, area, lines, Cursor::of(state, Pane::Waiting, state.wait_at()));
}

fn wait_line(line: &WaitLine, now_ms: u64, width: usize, palette: Palette) -> Line<'static> {
    let age = match line.since_ms {
        0 => String::new(),
        since => moment::ago(now_ms.saturating_sub(since) / 1_000),
    };
    let name = match line.kind {
        WaitKind::Command | WaitKind::Review => line.id.as_str(),
        WaitKind::Budget | WaitKind::Session => short(&line.session),
    };
    let mut spans = vec![
        Span::styled(format!(" {} ", fit(line.kind.name(), 7)), palette.of(ViewTone::Warning)),
        Span::raw(format!("{} {age:>6}  ", fit(name, 17))),
    ];
    let used: usize = spans.iter().map(Span::width).sum();
    let rule = if line.rule.is_empty() { String::new() } else { format!(" [{}]", line.rule) };
    spans.push(Span::raw(cut(&format!("{}{rule}", line.what), width.saturating_sub(used))));
    Line::from(spans)
}

/// The head of the records: whose they are, the filter, what is known of their truth.
pub(super) fn calls_title(state: &WatchState, width: u16, palette: Palette) -> Vec<Span<'static>> {
    let calls = &state.view.calls;
    let title = match calls.title.is_empty() {
        true => "records".to_owned(),
        false => format!("records of {}: {}", calls.title, calls.total),
    };
    let (third, columns) = (usize::from(width) / 3, usize::from(width));
    let truth = cut(&calls.truth, third);
    let filter = if state.filter.is_empty() { String::new() } else { format!("  /{}", cut(&state.filter, third)) };
    let used = Span::raw(format!("{truth}{filter}")).width();
    let mut spans = vec![Span::raw(cut(&title, columns.saturating_sub(used + TITLE_MARGIN)))];
    if !truth.is_empty() {
        spans.push(Span::raw(", "));
        spans.push(Span::styled(truth, palette.of(calls.truth_tone)));
    }
    spans.push(Span::styled(filter, palette.of(ViewTone::Warning)));
    spans
}

/// Columns of a title that are not its words.
const TITLE_MARGIN: usize = 8;

/// The records, newest first.
pub(super) fn calls(frame: &mut Frame<'_>, area: Rect, state: &WatchState, palette: Palette) {
    let calls = &state.view.calls;
    let said = match (&calls.filter_problem, calls.lines.is_empty(), state.filter.is_empty()) {
        (Some(problem), ..) => Some((problem.as_str(), ViewTone::Bad)),
        (None, true, false) => Some(("nothing passes the filter", ViewTone::Faint)),
        (None, true, true) => Some(("no record yet", ViewTone::Faint)),
        (None, false, _) => None,
    };
    if let Some((text, tone)) = said {
        let text = cut(&format!(" {text}"), usize::from(area.width));
        frame.render_widget(Paragraph::new(Span::styled(text, palette.of(tone))), area);
        return;
    }
    let lines = calls.lines.iter().map(|line| call_line(line, usize::from(area.width), palette)).collect();
    list(frame, area, lines, Cursor::of(state, Pane::Calls, state.call_at()));
}

fn call_line(line: &CallLine, width: usize, palette: Palette) -> Line<'static> {
    let undo = if line.can_undo { "u" } else { " " };
    let mut spans = vec![
        Span::styled(format!(" {} {:>5}{undo}", line.clock, line.i), palette.of(ViewTone::Faint)),
        Span::styled(format!(" {} ", fit(&line.verdict, 7)), palette.of(line.tone)),
        Span::raw(format!("{} ", fit(&line.tool, 9))),
    ];
    let used: usize = spans.iter().map(Span::width).sum();
    let agent = if line.agent.is_empty() { String::new() } else { format!("({}) ", line.agent) };
    let reason = if line.reason.is_empty() { String::new() } else { format!("  {}", line.reason) };
    let figures = if line.figures.is_empty() { String::new() } else { format!("  {}", line.figures) };
    spans.push(Span::raw(cut(&format!("{agent}{}{figures}{reason}", line.text), width.saturating_sub(used))));
    Line::from(spans)
}

/// Where the cursor of a list stands.
#[derive(Clone, Copy)]
struct Cursor {
    at: usize,
    style: Style,
}

impl Cursor {
    /// Turned round in the list that has the focus, underlined in the others.
    fn of(state: &WatchState, pane: Pane, at: usize) -> Self {
        let modifier = if state.pane == pane { Modifier::REVERSED } else { Modifier::UNDERLINED };
        Self { at, style: Style::new().add_modifier(modifier) }
    }
}

/// Draws as many lines as there is room for, the one under the cursor among them.
fn list(frame: &mut Frame<'_>, area: Rect, lines: Vec<Line<'static>>, cursor: Cursor) {
    let rows = usize::from(area.height);
    let first = cursor.at.saturating_sub(rows.saturating_sub(1));
    let shown = lines.into_iter().enumerate().skip(first).take(rows);
    let lines: Vec<Line<'static>> = shown
        .map(|(at, line)| {
            let gap = usize::from(area.width).saturating_sub(line.width());
            let mut line = line;
            line.spans.push(Span::raw(" ".repeat(gap)));
            if at == cursor.at { line.patch_style(cursor.style) } else { line }
        })
        .collect();
    frame.render_widget(Paragraph::new(lines), area);
}

/// A session's name without what all names begin with.
fn short(session: &str) -> &str {
    session.strip_prefix("auto-").unwrap_or(session)
}

/// A text that takes exactly so many columns.
pub(super) fn fit(text: &str, columns: usize) -> String {
    let mut text = cut(text, columns);
    let width = Span::raw(text.as_str()).width();
    text.extend(std::iter::repeat_n(' ', columns.saturating_sub(width)));
    text
}

/// A text that takes at most so many columns; one that is cut says so.
pub(super) fn cut(text: &str, columns: usize) -> String {
    if Span::raw(text).width() <= columns {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut used = 0;
    for letter in text.chars() {
        let width = Span::raw(letter.encode_utf8(&mut [0; 4]) as &str).width();
        if used + width + 1 > columns {
            break;
        }
        used += width;
        shown.push(letter);
    }
    if columns > 0 {
        shown.push('…');
    }
    shown
}
