//! The terminal: taken over at the start, and given back as it was, however the view ends.

use crossterm::cursor::{Hide, Show};
use crossterm::event::{DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste};
use crossterm::execute;
use crossterm::style::ResetColor;
use crossterm::terminal::{
    EnableLineWrap, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use std::io::{self, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the terminal is taken over: it is given back once, by the first caller.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal while the view has it; dropped, it is as it was.
pub(super) struct OwnedTerminal {
    pub(super) terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl OwnedTerminal {
    /// Takes the terminal over. From now on a panic gives it back before it says anything.
    pub(super) fn take() -> io::Result<Self> {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            previous(panic);
        }));
        enable_raw_mode()?;
        IS_TAKEN.store(true, Ordering::SeqCst);
        // Pasted text arrives as a text: none of its letters is taken for a key.
        let taken = execute!(io::stdout(), EnterAlternateScreen, Hide, EnableBracketedPaste)
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
        match taken {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }
}

impl Drop for OwnedTerminal {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the terminal back. One that is gone cannot be told, which is no harm.
fn give_back() {
    if !IS_TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    drop(reset_modes(&mut io::stdout()));
    drop(disable_raw_mode());
}

/// Turns everything off that a view may have turned on: mouse, paste marks, hidden cursor, colours, the other screen.
pub(super) fn reset_modes(out: &mut impl Write) -> io::Result<()> {
    execute!(out, DisableMouseCapture, DisableBracketedPaste, ResetColor, EnableLineWrap, LeaveAlternateScreen, Show)
}
