//! What the screen shows, as plain lines: already without secrets and without characters that steer a terminal.

use tripwire_core::chain::gate::floor::ApprovalVerdict;
use tripwire_core::units::MicroUsd;
use tripwire_workspace::control::order::Order;

/// Everything that is on the screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct WatchView {
    /// When it was gathered, in milliseconds since 1970.
    pub(super) now_ms: u64,
    /// Workspaces, their sessions, and the sub-agents of those that are looked at.
    pub(super) tree: Vec<TreeLine>,
    /// What waits for a person.
    pub(super) waiting: Vec<WaitLine>,
    /// The records of the chosen session.
    pub(super) calls: CallsView,
    /// What could not be shown, if anything.
    pub(super) problem: Option<String>,
}

/// What a text is about, for its colour; the words say the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ViewTone {
    /// Nothing in particular.
    #[default]
    Plain,
    /// All is well.
    Good,
    /// A person should look.
    Warning,
    /// Something is stopped, refused or broken.
    Bad,
    /// Over, or not much to look at.
    Faint,
}

/// How deep in the tree a line stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum TreeKind {
    #[default]
    Workspace,
    Session,
    SubAgent,
}

/// A session by its workspace's short name and its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SessionName {
    pub(super) key: String,
    pub(super) session: String,
}

/// A line of the tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TreeLine {
    pub(super) kind: TreeKind,
    /// The workspace's short name.
    pub(super) key: String,
    /// The workspace's folder.
    pub(super) root: String,
    /// The session; empty for a workspace.
    pub(super) session: String,
    pub(super) name: String,
    pub(super) state: String,
    pub(super) tone: ViewTone,
    pub(super) spend: String,
    /// Health and context, where they are known.
    pub(super) figures: String,
    pub(super) heard_ms: Option<u64>,
    /// The call that runs, the last alarm, or why nothing is shown.
    pub(super) note: String,
}

impl TreeLine {
    /// What the line is about, whatever changed in it.
    pub(super) fn identity(&self) -> (String, String, Option<String>) {
        let agent = (self.kind == TreeKind::SubAgent).then(|| self.name.clone());
        (self.key.clone(), self.session.clone(), agent)
    }

    /// The session that this line belongs to.
    pub(super) fn session_name(&self) -> Option<SessionName> {
        (!self.session.is_empty()).then(|| SessionName { key: self.key.clone(), session: self.session.clone() })
    }
}

/// What kind of answer is awaited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum WaitKind {
    #[default]
    Command,
    Review,
    Budget,
    Session,
}

impl WaitKind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Review => "review",
            Self::Budget => "budget",
            Self::Session => "session",
        }
    }
}

/// Something that waits for a person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct WaitLine {
    pub(super) key: String,
    pub(super) root: String,
    pub(super) id: String,
    pub(super) kind: WaitKind,
    pub(super) client: String,
    pub(super) session: String,
    pub(super) what: String,
    pub(super) rule: String,
    pub(super) answered_by: String,
    pub(super) since_ms: u64,
    /// The decision that holds it, where one does.
    pub(super) asked: Option<u64>,
}

/// Records of one session, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CallsView {
    pub(super) of: Option<SessionName>,
    /// Whose they are, in words.
    pub(super) title: String,
    pub(super) lines: Vec<CallLine>,
    pub(super) total: u64,
    /// What is known of the journal's truth.
    pub(super) truth: String,
    pub(super) truth_tone: ViewTone,
    /// Why the filter could not be read, if so.
    pub(super) filter_problem: Option<String>,
}

/// A record of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CallLine {
    pub(super) i: u64,
    /// When, as a time of day.
    pub(super) clock: String,
    /// The sub-agent; empty for the main one.
    pub(super) agent: String,
    pub(super) tool: String,
    pub(super) text: String,
    /// What became of it.
    pub(super) verdict: String,
    pub(super) tone: ViewTone,
    /// Why it was not let through, or what went wrong.
    pub(super) reason: String,
    /// How long it took and what it cost.
    pub(super) figures: String,
    /// Whether `tripwire undo` can take it back.
    pub(super) can_undo: bool,
}

/// What the screen wants to know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    /// The session whose records are shown; without, the one that was heard of last.
    pub(super) chosen: Option<SessionName>,
    /// The filter over its records.
    pub(super) filter: String,
    /// Only records before this number; without, the newest.
    pub(super) before: Option<u64>,
}

/// An act of a person, complete: nothing of it is looked up again when it is carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PersonAct {
    /// An answer to something that waits.
    Answer { key: String, id: String, says: ApprovalVerdict, reason: String, raise: Option<MicroUsd> },
    /// Stop or pause, for a workspace.
    Order { key: String, order: Order, reason: String },
    /// Go on, for a workspace.
    GoOn { key: String, reason: String },
}

/// What was said to an act or a question, for a person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) title: String,
    pub(super) lines: Vec<String>,
    pub(super) tone: ViewTone,
}

/// What a person wants explained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WhyWanted {
    pub(super) of: SessionName,
    pub(super) i: u64,
    /// Lines that stand before the explanation.
    pub(super) before: Vec<String>,
    /// Lines that stand behind it.
    pub(super) behind: Vec<String>,
}
