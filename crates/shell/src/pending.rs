//! A here-document that was announced and whose body comes after the line.

use super::ast::Word;
use alloc::rc::Rc;
use alloc::string::String;
use core::cell::OnceCell;

/// A here-document whose body has not begun.
pub(super) struct Pending {
    pub(super) delimiter: String,
    pub(super) expands: Expands,
    pub(super) tabs: Tabs,
    pub(super) body: Rc<OnceCell<Word>>,
}

/// Whether expansions in the body run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expands {
    /// The delimiter is bare.
    Yes,
    /// Part of the delimiter is quoted.
    No,
}

/// What happens to tabs at the start of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tabs {
    /// `<<`
    Kept,
    /// `<<-`
    Stripped,
}
