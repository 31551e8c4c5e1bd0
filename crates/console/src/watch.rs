//! The terminal view: the read model on a screen, with one key for each act of a person.
//!
//! `state` is pure: keys and gathered views in, actions out; `draw` puts it on a screen of any size. `gather` asks the read model,
//! `terminal` and `keeper` own the terminal and give it back, `screen` moves events between them.

mod draw;
mod field;
mod gather;
mod keeper;
mod keys;
mod palette;
mod screen;
mod state;
mod terminal;
mod view;

pub use keeper::{KeeperError, keep};
pub use palette::Palette;
pub use screen::{ScreenError, WatchOptions, show};

#[cfg(test)]
mod tests;
