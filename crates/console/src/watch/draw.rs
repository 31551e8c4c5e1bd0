//! Puts the state on a screen: the lists one below the other, or side by side where there is room; the keys at the foot.

mod lines;
mod popup;

use super::keys::KEYS;
use super::palette::Palette;
use super::state::{Pane, WatchMode, WatchState};
use super::view::ViewTone;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph};

/// From this width on the records stand beside the other lists.
const WIDE: u16 = 120;
/// The smallest screen on which something can be read.
const COLUMNS_MIN: u16 = 40;
const ROWS_MIN: u16 = 10;

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, state: &WatchState, palette: Palette) {
    let area = frame.area();
    if area.width < COLUMNS_MIN || area.height < ROWS_MIN {
        frame.render_widget(Paragraph::new("this terminal is too small"), area);
        return;
    }
    let [head, body, message, foot] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(3), Constraint::Length(1), Constraint::Length(1)])
            .areas(area);
    frame.render_widget(lines::head(state, head.width, palette), head);
    lists(frame, body, state, palette);
    frame.render_widget(lines::message(state, message.width, palette), message);
    frame.render_widget(foot_line(), foot);
    match &state.mode {
        WatchMode::Look => {}
        WatchMode::Help => popup::help(frame, body),
        WatchMode::Reading(said, at) => popup::reading(frame, body, said, *at, palette),
        WatchMode::Typing(question, field) => popup::typing(frame, area, question, field),
        WatchMode::Confirming(act) => popup::confirming(frame, area, state, act),
    }
}

/// The keys.
fn foot_line() -> Line<'static> {
    let mut spans = vec![Span::raw(" ")];
    for row in KEYS.iter().filter(|row| !row.short.is_empty()) {
        spans.push(Span::styled(row.keys, Style::new().add_modifier(Modifier::BOLD)));
        spans.push(Span::raw(format!(" {}  ", row.short)));
    }
    Line::from(spans)
}

fn lists(frame: &mut Frame<'_>, area: Rect, state: &WatchState, palette: Palette) {
    let rows = |count: usize| u16::try_from(count.max(1)).unwrap_or(u16::MAX).saturating_add(1);
    let (agents, waiting) = (rows(state.view.tree.len()), rows(state.view.waiting.len()));
    let (agents_area, waiting_area, calls_area) = if area.width >= WIDE {
        let [left, right] = Layout::horizontal([Constraint::Percentage(50), Constraint::Percentage(50)]).areas(area);
        let waiting = waiting.min(area.height / 2).max(4);
        let [above, below] = Layout::vertical([Constraint::Min(3), Constraint::Length(waiting)]).areas(left);
        (above, below, right)
    } else {
        let [first, second, third] = Layout::vertical([
            Constraint::Length(agents.min(area.height * 2 / 5)),
            Constraint::Length(waiting.min(area.height / 4).max(2)),
            Constraint::Min(3),
        ])
        .areas(area);
        (first, second, third)
    };
    let pane = |pane: Pane, title: Vec<Span<'static>>| {
        let mut line = vec![Span::raw(if state.pane == pane { " > " } else { " " })];
        line.extend(title);
        line.push(Span::raw(" "));
        let style = if state.pane == pane { Style::new().add_modifier(Modifier::BOLD) } else { Style::new() };
        Block::new().borders(Borders::TOP).title(Line::from(line).style(style))
    };
    let block = pane(Pane::Agents, vec![Span::raw("agents")]);
    lines::tree(frame, block.inner(agents_area), state, palette);
    frame.render_widget(block, agents_area);
    let count = state.view.waiting.len();
    let title = if count == 0 { "waits for you".to_owned() } else { format!("waits for you: {count}") };
    let tone = if count == 0 { ViewTone::Plain } else { ViewTone::Warning };
    let block = pane(Pane::Waiting, vec![Span::styled(title, palette.of(tone))]);
    lines::waiting(frame, block.inner(waiting_area), state, palette);
    frame.render_widget(block, waiting_area);
    let block = pane(Pane::Calls, lines::calls_title(state, calls_area.width, palette));
    lines::calls(frame, block.inner(calls_area), state, palette);
    frame.render_widget(block, calls_area);
}
