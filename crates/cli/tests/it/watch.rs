//! `tripwire watch` on a real terminal: what is drawn, what each key does to real agents, and how the terminal is left.

mod ends;
mod keys;
mod refused;
pub(crate) mod terminal;

use self::terminal::PtyScreen;
use crate::hooks::fixture::HookFixture;

/// The view over one workspace on a terminal of this size.
fn view_of(fixture: &HookFixture, (columns, rows): (u16, u16)) -> PtyScreen {
    let root = fixture.root();
    let screen = PtyScreen::start(fixture.command(&["watch", "--workspace", root.to_str().unwrap()]), columns, rows);
    screen.wait_for("q quit");
    screen.wait_until("what was gathered", |shown| shown.contains("UTC"));
    screen
}
