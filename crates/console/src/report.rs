//! The morning page: what a session did, what it cost, what it claims and what is proved, in one file that needs no server.

pub mod data;
mod gather;
mod html;
mod markdown;
mod share;

pub use data::{MorningPage, SessionPage};
pub use gather::{ReportError, gather};
pub use html::escaped;

impl MorningPage {
    /// As a page that opens from disk and asks nobody for anything.
    #[must_use]
    pub fn html(&self) -> String {
        html::page(self)
    }

    /// As Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        markdown::page(self)
    }

    /// The same for others to read: figures, rules and tools stay; what was written, where and by whom does not.
    #[must_use]
    pub fn for_sharing(self) -> Self {
        share::without_names(self)
    }
}
