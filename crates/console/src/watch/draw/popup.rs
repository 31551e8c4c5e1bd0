//! What stands above the lists for a while: the help, a text, a question.

use super::super::field::TextField;
use super::super::keys::KEYS;
use super::super::palette::Palette;
use super::super::state::{Question, WatchState};
use super::super::view::{PersonAct, Said};
use super::lines::{cut, fit};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Block, Borders, Clear, Paragraph, Wrap};
use tripwire_core::chain::gate::floor::ApprovalVerdict;
use tripwire_core::visible::visible;
use tripwire_workspace::control::order::Order;

/// All keys.
pub(super) fn help(frame: &mut Frame<'_>, area: Rect) {
    let inner = window(frame, area, "keys", "any key closes");
    let mut lines: Vec<Line<'static>> =
        KEYS.iter().map(|row| Line::from(format!("{} {}", fit(row.keys, 9), row.does))).collect();
    lines.push(Line::default());
    lines.push(Line::from("Times are UTC. `u` behind a number: `tripwire undo` can take the step back."));
    lines.push(Line::from("With hooks alone an agent of your account could read this terminal or type"));
    lines.push(Line::from("into it: answers are no wall against it then. Use `tripwire run`."));
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), inner);
}

/// A text, from a line on.
pub(super) fn reading(frame: &mut Frame<'_>, area: Rect, said: &Said, at: usize, palette: Palette) {
    let inner = window(frame, area, &said.title, "j k scroll, Esc closes");
    let lines: Vec<Line<'_>> = said.lines.iter().skip(at).map(|line| Line::from(line.as_str())).collect();
    let text = Paragraph::new(lines).style(palette.of(said.tone)).wrap(Wrap { trim: false });
    frame.render_widget(text, inner);
}

/// A line that is typed.
pub(super) fn typing(frame: &mut Frame<'_>, area: Rect, question: &Question, field: &TextField) {
    let (asks, label) = match question {
        Question::Filter => (
            "filter: agent: tool: verdict: rule: level: type: status: after: before: i: -not \"words\"".to_owned(),
            "/",
        ),
        Question::Amount(line) => (format!("raise the budget of {}: by how many dollars?", line.session), "$"),
        Question::Reason(_, asks) => (asks.clone(), "reason: "),
    };
    let inner = bar(frame, area, &asks, "Enter goes on, Esc leaves it");
    let columns = usize::from(inner.width).saturating_sub(label.len() + 1);
    let typed = visible(field.text());
    // The end of a long line is where one types.
    let surplus = typed.chars().count().saturating_sub(columns);
    let tail: String = typed.chars().skip(surplus).collect();
    let line = Line::from(format!("{label}{tail}"));
    let column = u16::try_from(line.width()).unwrap_or(u16::MAX).min(inner.width.saturating_sub(1));
    frame.render_widget(Paragraph::new(line), inner);
    frame.set_cursor_position(Position::new(inner.x.saturating_add(column), inner.y));
}

/// One more key is needed.
pub(super) fn confirming(frame: &mut Frame<'_>, area: Rect, state: &WatchState, act: &PersonAct) {
    let asks = match act {
        PersonAct::Answer { id, says: ApprovalVerdict::Denied, .. } => format!("deny {id}?"),
        PersonAct::Answer { id, says: ApprovalVerdict::Allowed, .. } => format!("approve {id}?"),
        PersonAct::Order { key, order: Order::Stop, .. } => format!("stop every session of {}?", state.root_of(key)),
        PersonAct::Order { key, order: Order::Pause, .. } => format!("pause every session of {}?", state.root_of(key)),
        PersonAct::GoOn { key, .. } => format!("resume {}?", state.root_of(key)),
    };
    let inner = bar(frame, area, &asks, "y does it, any other key leaves it");
    frame.render_widget(Paragraph::new(Line::from("y / n")), inner);
}

/// A window over the lists; gives the room inside.
fn window(frame: &mut Frame<'_>, area: Rect, title: &str, keys: &str) -> Rect {
    let margin = if area.width >= 100 { area.width / 10 } else { 1 };
    let room =
        Rect { x: area.x + margin, y: area.y, width: area.width.saturating_sub(2 * margin), height: area.height };
    framed(frame, room, title, keys)
}

/// A bar of four rows at the foot, for a question; its first row says what is asked.
fn bar(frame: &mut Frame<'_>, area: Rect, asks: &str, keys: &str) -> Rect {
    let columns = usize::from(area.width.saturating_sub(2)).max(1);
    let asked = Paragraph::new(asks).wrap(Wrap { trim: true });
    let rows = u16::try_from(Line::from(asks).width().div_ceil(columns).min(4)).unwrap_or(1).max(1);
    let height = (rows + 3).min(area.height);
    let room = Rect { y: area.bottom().saturating_sub(height), height, ..area };
    let inner = framed(frame, room, "", keys);
    let [above, below] = ratatui::layout::Layout::vertical([
        ratatui::layout::Constraint::Min(1),
        ratatui::layout::Constraint::Length(1),
    ])
    .areas(inner);
    frame.render_widget(asked, above);
    below
}

fn framed(frame: &mut Frame<'_>, room: Rect, title: &str, keys: &str) -> Rect {
    frame.render_widget(Clear, room);
    let mut block = Block::new().borders(Borders::ALL).title_bottom(Line::from(format!(" {keys} ")));
    if !title.is_empty() {
        block = block.title(Line::from(format!(" {} ", cut(title, usize::from(room.width).saturating_sub(6)))));
    }
    let inner = block.inner(room);
    frame.render_widget(block, room);
    inner
}
