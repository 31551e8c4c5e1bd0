//! One server in a text of settings: what it is, and where its command line stands.

use std::ops::Range;

/// A tool server as a client's settings name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolServer {
    /// Its name there.
    pub name: String,
    /// The member that it stands in, where the file has several lists: a project's path.
    pub within: Option<String>,
    /// How it is reached.
    pub kind: ServerKind,
    /// Whether the client starts it.
    pub switch: ServerSwitch,
    pub(super) site: Option<ProgramSite>,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerKind {
    /// The client starts this command line and speaks over its standard streams.
    Program(Vec<String>),
    /// The client speaks to this address.
    Url(String),
    /// It is written in a way that we do not know; why.
    Unreadable(&'static str),
}

/// Whether a client starts a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerSwitch {
    /// It does.
    On,
    /// A member of the entry switches it off.
    Off,
}

/// Where a command line stands in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ProgramSite {
    /// As one list.
    List(ListSite),
    /// As a text and a list of arguments.
    Pair { command: Range<usize>, args: ArgsSite },
}

/// Where the arguments stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArgsSite {
    /// The list, if there is one.
    pub(super) list: Option<ListSite>,
    /// Where one would be put.
    pub(super) new: NewArgs,
}

/// A list of texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListSite {
    /// With its brackets.
    pub(super) range: Range<usize>,
    pub(super) items: Vec<Range<usize>>,
}

/// A list of arguments that does not stand there yet. The space behind its bracket tells it from one that a person left empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NewArgs {
    pub(super) at: usize,
    pub(super) before: String,
    pub(super) after: &'static str,
}
