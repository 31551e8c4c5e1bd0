//! The keys: what each does, for the foot and the help.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A key as the screen understands it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pressed {
    Letter(char),
    Enter,
    Escape,
    Backspace,
    /// Empties a line that is typed.
    Clear,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    NextPane,
    PreviousPane,
    /// Ends the view, wherever one is.
    Interrupt,
}

/// The keys that are no letters.
const NAMED: [(KeyCode, Pressed); 12] = [
    (KeyCode::Enter, Pressed::Enter),
    (KeyCode::Esc, Pressed::Escape),
    (KeyCode::Backspace, Pressed::Backspace),
    (KeyCode::Up, Pressed::Up),
    (KeyCode::Down, Pressed::Down),
    (KeyCode::PageUp, Pressed::PageUp),
    (KeyCode::PageDown, Pressed::PageDown),
    (KeyCode::Home, Pressed::Home),
    (KeyCode::End, Pressed::End),
    (KeyCode::Tab, Pressed::NextPane),
    (KeyCode::BackTab, Pressed::PreviousPane),
    (KeyCode::Delete, Pressed::Backspace),
];

/// Reads a key; one that means nothing here is none.
pub(super) fn read(key: KeyEvent) -> Option<Pressed> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    if let KeyCode::Char(letter) = key.code {
        return match (is_control, letter) {
            (true, 'c' | 'd') => Some(Pressed::Interrupt),
            (true, 'u') => Some(Pressed::Clear),
            (true, 'h') => Some(Pressed::Backspace),
            (true, _) => None,
            (false, _) => (!key.modifiers.contains(KeyModifiers::ALT)).then_some(Pressed::Letter(letter)),
        };
    }
    NAMED.iter().find(|(code, _)| *code == key.code).map(|(_, pressed)| *pressed)
}

/// A row of the help, and the short form that stands at the foot.
pub(super) struct KeyRow {
    pub(super) keys: &'static str,
    /// At the foot; empty for keys that stand in the help alone.
    pub(super) short: &'static str,
    pub(super) does: &'static str,
}

const fn row(keys: &'static str, short: &'static str, does: &'static str) -> KeyRow {
    KeyRow { keys, short, does }
}

/// All keys, as the guide lists them; each fits into one line of the help at 80 columns.
pub(super) const KEYS: [KeyRow; 14] = [
    row("a", "approve", "approve what waits, once; asks why, and how much for a budget"),
    row("d", "deny", "deny what waits; asks why, then y"),
    row("w", "why", "explain what waits or the chosen record (Enter too)"),
    row("s", "stop", "stop the chosen workspace; asks why, then y; shows the receipt"),
    row("p", "pause", "hold the chosen workspace at its next step; asks why"),
    row("r", "resume", "take its stop or pause back, clear what waits for a look; asks why"),
    row("/", "filter", "filter the records, as `tripwire log`: tool:Bash verdict:held"),
    row("?", "help", "this help"),
    row("q", "quit", "leave; agents go on (Ctrl-C too)"),
    row("Tab", "", "the next list: agents, what waits, records"),
    row("j k", "", "down and up in a list (arrows too)"),
    row("PgDn PgUp", "", "a page down and up"),
    row("g G", "", "first and last; the first record is the newest and is followed"),
    row("Esc", "", "back; in the lists: no filter"),
];
