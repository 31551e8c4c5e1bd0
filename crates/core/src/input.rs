//! The only door in: everything that may influence a decision arrives as an [`Input`], so that a journal of inputs is
//! enough to replay a session exactly.

mod floor;
mod human;
mod model_spend;

pub use floor::{FloorFact, FloorWeight};
pub use human::{ActOrigin, Counter, CounterEdit, DirtyBitsEdit, HumanAct, Mode, Report, Retune, SignedAct};
pub use model_spend::ModelSpend;

use crate::chain::event::{Action, AgentEvent};
use crate::chain::feedback::ExecutionResult;
use crate::label::Label;
use crate::record::chain::Digest;
use crate::units::{Count, EventIndex, MicroUsd, RunMillis, Tokens};
use serde::{Deserialize, Serialize};

/// One input with the time at which it happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Milliseconds since the session's start.
    pub at: RunMillis,
    /// What happened.
    pub what: What,
}

/// Everything that the engine takes in.
#[expect(clippy::large_enum_variant, reason = "nearly every input is an event; boxing it would cost each of them")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum What {
    /// An event source observed the agent. Legal at any time.
    Event(AgentEvent),
    /// An agent asks to act; the answer is a permit or a refusal. Legal at any time.
    Request(Request),
    /// The execution adapter reports back. Legal after a permit was issued.
    Result(ExecutionResult),
    /// Time passed and nothing else happened. Legal at any time.
    Tick,
    /// A person acted. Legal at any time.
    Human(HumanAct),
    /// The advisor answered. Changes something only while the session waits for one.
    Advisor(AdvisorReply),
    /// A reviewer answered. Bound to the digest it names.
    Review(ReviewVerdict),
    /// An iteration (a prompt, a turn of someone else's agent) began.
    IterationStarted,
    /// The workspace was measured between two iterations. Legal before an iteration begins.
    WorkspaceMeasured(WorkspaceMeasurement),
    /// A report of an earlier session was there when this one began, and waits for a person.
    ReportStands(StandingReport),
    /// The agent says that it is done. The answer is a verdict, or the demand to run the tests.
    Claim(Claim),
    /// The client compacted the agent's context.
    Compacted(Compaction),
    /// A premise of the guard broke; the engine holds (CONST-5).
    Fault(Fault),
    /// A threshold was edited on disk after the session began; it is noted and not applied (CONST-6).
    PolicyDrift(PolicyDrift),
    /// Another engine goes on where one could not; it is noted and never silent (RUN-4).
    EngineSwitched(EngineSwitched),
    /// A tool server's list of tools was seen (MCP-2). Legal at any time.
    ToolsSeen(ToolsSeen),
    /// The gateway settled a model call: its price counts, and it is no step of the agent (GATE-8). Legal at any time.
    ModelSpend(ModelSpend),
    /// The sandbox around an agent kept something from happening, as far as it was seen (BOX-1). Legal at any time.
    SandboxHeld(SandboxHeld),
}

impl What {
    /// The call that it asks for or tells of.
    #[must_use]
    pub const fn action(&self) -> Option<&Action> {
        match self {
            Self::Event(event) => event.action.as_ref(),
            Self::Request(request) => Some(&request.action),
            Self::Result(_)
            | Self::Tick
            | Self::Human(_)
            | Self::Advisor(_)
            | Self::Review(_)
            | Self::IterationStarted
            | Self::WorkspaceMeasured(_)
            | Self::ReportStands(_)
            | Self::Claim(_)
            | Self::Compacted(_)
            | Self::Fault(_)
            | Self::PolicyDrift(_)
            | Self::EngineSwitched(_)
            | Self::ToolsSeen(_)
            | Self::ModelSpend(_)
            | Self::SandboxHeld(_) => None,
        }
    }
}

/// What an agent asks to do, with the facts about its authority.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Request {
    /// What it asks for.
    pub action: Action,
    /// Who asks and what the policies said; without it the answer is `PermissionDenied`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority: Option<Authority>,
    /// What the judge of commands found, where the command would destroy what cannot be restored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<FloorFact>,
    /// The digest of the change that would be applied, where a review is required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Digest>,
    /// The most this may cost, reserved before it is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserve_micro_usd: Option<MicroUsd>,
    /// The sub-agent that asks; none for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<Label>,
    /// The sub-agent that the call would start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_agent: Option<AgentStart>,
    /// Equal calls that the caller knows to be running now: they are not calls that brought no result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<Count>,
}

/// A call that starts a sub-agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentStart {
    /// The sub-agent that asks; none for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Label>,
}

/// The facts of authority: computed outside (Cedar, checksums), enforced here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Authority {
    /// Whether the role has the permission.
    pub grant: Grant,
    /// The identity facts, where the operation is critical.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<IdentityFact>,
    /// The permission that the action needs.
    pub permission: Permission,
    /// The role of the agent.
    pub role: Label,
}

/// What the permission policies answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Grant {
    /// The role has the permission.
    Granted,
    /// It has not.
    Denied,
}

/// The permissions of the seed; all are enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// To run tools at all.
    CanExecuteTasks,
    /// To change files in the source folders.
    CanEditSource,
    /// To change anything (denied to read-only roles).
    Write,
    /// To read private memories.
    CanAccessPrivateMemories,
    /// To write memories.
    CanWriteMemories,
    /// To go on although the work has converged.
    ContinueAfterConvergence,
    /// To reach a host from a confined command.
    Reach,
    /// To read a file; granted unless a policy forbids it.
    Read,
    /// To change the guard's own files, the settings that call it, or to use its controls: no agent has it.
    ControlTheGuard,
}

impl Permission {
    /// All that a policy can grant, for tables and tests; no policy grants control of the guard.
    pub const ALL: [Self; 8] = [
        Self::CanExecuteTasks,
        Self::CanEditSource,
        Self::Write,
        Self::CanAccessPrivateMemories,
        Self::CanWriteMemories,
        Self::ContinueAfterConvergence,
        Self::Reach,
        Self::Read,
    ];

    /// The name as the seed writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CanExecuteTasks => "can_execute_tasks",
            Self::CanEditSource => "can_edit_source",
            Self::Write => "write (role is read_only)",
            Self::CanAccessPrivateMemories => "can_access_private_memories",
            Self::CanWriteMemories => "can_write_memories",
            Self::ContinueAfterConvergence => "continue (role has stop_on_convergence)",
            Self::Reach => "reach",
            Self::Read => "read",
            Self::ControlTheGuard => "control the guard (its files, its settings and its commands are a person's)",
        }
    }
}

/// What is known of an agent's identity when it asks for a critical operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum IdentityFact {
    /// Checksum on the signed list and role authorized.
    Trusted,
    /// The checksum is not on the signed gold-standard list.
    UnknownChecksum,
    /// The list itself does not verify.
    ListUnsigned,
    /// The role is not among the authorized roles.
    RoleNotAuthorized,
    /// The manifest names another workflow than the one that the session was begun for.
    OtherWorkflow,
}

/// A report of an earlier session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StandingReport {
    /// Which one.
    pub report: Report,
    /// What all of it is about.
    pub about: ReportCause,
}

/// What a report is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReportCause {
    /// Work that does not get on, or that a person must look at: nothing new begins before that.
    Work,
    /// A loop: it ended with the session that was in it.
    Loop,
}

/// What the advisor said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AdvisorReply {
    /// Its advice; travels as a quoted, capped field of the override. Empty means that no advisor could be had.
    pub advice: Label,
}

/// What a reviewer said about one change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReviewVerdict {
    /// The change that was reviewed.
    pub proposal: Digest,
    /// The answer.
    pub verdict: Verdict,
}

/// The two answers of a reviewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// May be applied.
    Approved,
    /// May not.
    Rejected,
}

/// The agent's claim to be done, with what is known of the workspace at that moment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Claim {
    /// An earlier claim ended the iteration: only the verdict is asked for, now that the tests have run.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub closed: bool,
    /// The workspace now, where it was computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_hash: Option<Label>,
}

/// The workspace at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkspaceMeasurement {
    /// Its hash.
    pub workspace_hash: Label,
}

/// A compaction of the agent's context.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Compaction {
    /// Tokens in the context afterwards, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<Tokens>,
    /// The workspace now, where it was computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_hash: Option<Label>,
}

/// A premise that broke.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fault {
    /// What broke, in words for a person.
    pub cause: Label,
    /// What to do about it.
    pub fix: Label,
}

/// A threshold edited on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PolicyDrift {
    /// Its dotted name.
    pub key: Label,
    /// What the file says now.
    pub value: Label,
    /// What the change means.
    #[serde(default, skip_serializing_if = "DriftMeaning::is_default")]
    pub meaning: DriftMeaning,
}

/// What a change on disk means for the session that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DriftMeaning {
    /// The frozen value stays in force.
    #[default]
    NotApplied,
    /// The agent's client reads the file by itself: it may obey something else now.
    ObeyedByClient,
    /// The file says again what is in force.
    AsInForce,
}

impl DriftMeaning {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A change of engines under the supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EngineSwitched {
    /// The one that could not go on.
    pub from: Label,
    /// The one that does.
    pub to: Label,
    /// Why.
    pub reason: Label,
}

/// What the sandbox around an agent kept from happening.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SandboxHeld {
    /// Which wall held.
    pub wall: SandboxWall,
    /// What was tried, in words for a person.
    pub what: Label,
}

/// A wall of the sandbox around an agent at which something is seen to be tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SandboxWall {
    /// The allow-list of hosts.
    Network,
    /// The look at what was left in the workspace.
    Scan,
    /// The person's file of a client's credentials.
    Credential,
    /// A budget of the tree.
    Limit,
}

impl SandboxWall {
    /// The name for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Scan => "workspace",
            Self::Credential => "credential file",
            Self::Limit => "limit",
        }
    }
}

/// What was seen of a tool server's list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolsSeen {
    /// The server's name.
    pub server: Label,
    /// What it means.
    pub state: ToolsState,
    /// Which tools, in words for a person.
    pub detail: Label,
}

/// What a look at a tool server's list means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ToolsState {
    /// The server was not known: its tools are pinned now.
    FirstSight,
    /// Tools differ from their pins and wait for a person.
    Changed,
    /// A text among them speaks to the model, or hides something from people.
    Suspicious,
}

/// The place of an input or decision in the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// The input's index.
    pub index: EventIndex,
    /// When it happened, never before the input that came first.
    pub at: RunMillis,
}
