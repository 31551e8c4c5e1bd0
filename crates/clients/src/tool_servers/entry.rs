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
    pub(super) site: ServerSite,
}

impl ToolServer {
    /// Why no guard can come before it; nothing if one stands there or can.
    #[must_use]
    pub fn obstacle(&self) -> Option<&'static str> {
        match (&self.kind, &self.site) {
            (ServerKind::Unreadable(why), _) | (ServerKind::Url(_), ServerSite::Stays(why)) => Some(why),
            (ServerKind::Program(_) | ServerKind::Url(_), _) => None,
        }
    }

    /// The entry with an address, as it stands in this text or stood there.
    pub(crate) fn address_entry<'a>(&'a self, text: &'a str) -> Option<&'a str> {
        match &self.site {
            ServerSite::Address(site) => text.get(site.range.clone()),
            ServerSite::Carried { original, .. } => Some(original),
            ServerSite::Program(_) | ServerSite::Stays(_) => None,
        }
    }

    /// The entry with an address in whose place our guard stands.
    pub(crate) fn original(&self) -> Option<&str> {
        match &self.site {
            ServerSite::Carried { original, .. } => Some(original),
            ServerSite::Program(_) | ServerSite::Address(_) | ServerSite::Stays(_) => None,
        }
    }
}

/// What of a server's entry is changed, and where it stands in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ServerSite {
    /// A command line.
    Program(ProgramSite),
    /// An entry with an address.
    Address(AddressSite),
    /// An entry of ours in the place of one with an address.
    Carried {
        /// Its command line.
        program: ProgramSite,
        /// The whole of it.
        range: Range<usize>,
        /// What stood there.
        original: String,
    },
    /// Nothing: why.
    Stays(&'static str),
}

/// Where an entry with an address stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AddressSite {
    /// The whole of it: an object or an inline table with its braces, or the lines of a table.
    pub(super) range: Range<usize>,
    /// The members that are the client's own and stay.
    pub(super) kept: Vec<Range<usize>>,
    /// How one of ours is written there.
    pub(super) form: EntryForm,
    /// The variables that its client has to hand down.
    pub(super) variables: Vec<String>,
}

/// How an entry is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EntryForm {
    /// An object with `command`, `args` and `env`.
    Pair,
    /// An object with a list as `command`, and with `environment`.
    List,
    /// An inline table.
    InlineTable,
    /// The lines of a table, with this between two of them.
    Lines(String),
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
