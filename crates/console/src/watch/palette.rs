//! Colours, where the person wants them. What colour says stands in the words too.

use super::view::ViewTone;
use ratatui::style::{Color, Modifier, Style};

/// The colours of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Palette {
    /// The terminal's own sixteen colours.
    Coloured,
    /// None: `NO_COLOR` is set.
    Plain,
}

impl Palette {
    pub(super) fn of(self, tone: ViewTone) -> Style {
        let plain = Style::new();
        match (self, tone) {
            (_, ViewTone::Plain) | (Self::Plain, ViewTone::Good) => plain,
            (Self::Plain, ViewTone::Warning | ViewTone::Bad) => plain.add_modifier(Modifier::BOLD),
            (_, ViewTone::Faint) => plain.add_modifier(Modifier::DIM),
            (Self::Coloured, ViewTone::Good) => plain.fg(Color::Green),
            (Self::Coloured, ViewTone::Warning) => plain.fg(Color::Yellow),
            (Self::Coloured, ViewTone::Bad) => plain.fg(Color::Red),
        }
    }
}
