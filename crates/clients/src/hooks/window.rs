//! The size of the context window as the client itself reports it to its status line: better than any table of models.

use std::path::PathBuf;
use tripwire_core::record::chain::Digest;
use tripwire_core::units::Tokens;
use tripwire_fs::file::{self, FileError};
use tripwire_workspace::geometry::layout::Layout;

fn path(layout: &Layout, session: &str) -> PathBuf {
    let digest = Digest::of(session.as_bytes()).to_string();
    layout.clients().join(format!("window-{}", digest.get(..32).unwrap_or(&digest)))
}

/// Keeps the size that the client reports; hooks read it with the next figures.
///
/// # Errors
/// When the file cannot be written.
pub fn write(layout: &Layout, session: &str, window: Tokens) -> Result<(), FileError> {
    if read(layout, session) == Some(window) {
        return Ok(());
    }
    file::make_folder(&layout.state())?;
    file::make_folder(&layout.clients())?;
    file::replace(&path(layout, session), window.to_string().as_bytes())
}

/// The size that the client reported, if it did.
#[must_use]
pub fn read(layout: &Layout, session: &str) -> Option<Tokens> {
    let bytes = file::read_bounded(&path(layout, session), 32).ok()?;
    let window = std::str::from_utf8(&bytes).ok()?.trim().parse().ok()?;
    (window > 0).then(|| Tokens::new(window))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ctx_1_the_clients_own_window_is_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(folder.path());
        assert_eq!(read(&layout, "s"), None);
        write(&layout, "s", Tokens::new(1_000_000)).unwrap();
        assert_eq!(read(&layout, "s"), Some(Tokens::new(1_000_000)));
        assert_eq!(read(&layout, "another"), None);
    }
}
