//! What the morning page says, as data.

use crate::analysis::curve::CurvePoint;
use crate::undo_points::ShownUndoPoint;
use serde::{Deserialize, Serialize};

/// The page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MorningPage {
    /// The version of the form.
    pub version: u32,
    /// When it was made.
    pub made: String,
    /// The sessions, newest first.
    pub sessions: Vec<SessionPage>,
}

/// One session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionPage {
    /// Its id.
    pub session: String,
    /// Its workspace.
    pub workspace: String,
    /// Who acted in it.
    pub client: String,
    /// How it stands.
    pub state: String,
    /// When it began.
    pub began: String,
    /// When it was last heard of.
    pub heard: String,
    /// From the first to the last record, in milliseconds.
    pub took_ms: u64,
    /// What it cost, in micro-dollars.
    pub spent_micro_usd: u64,
    /// Its budget, if it had one.
    pub budget_micro_usd: Option<u64>,
    /// Tokens that the budget counts.
    pub tokens: u64,
    /// Health at the end, in millionths.
    pub health: u32,
    /// Calls, failed calls, calls that were not let through.
    pub calls: u64,
    /// Of these, failed.
    pub failed: u64,
    /// Not let through.
    pub refused: u64,
    /// What is proved about the work.
    pub verdict: String,
    /// What the agent claimed, and what was answered.
    pub claims: Vec<Entry>,
    /// Whether the record verifies.
    pub verification: String,
    /// Whether it verifies.
    pub verifies: bool,
    /// Whether the session replays equal.
    pub replay: String,
    /// Alarms by cause, the strictest first.
    pub alarms: Vec<Alarm>,
    /// Calls that were not let through.
    pub refusals: Vec<RefusedCall>,
    /// Files that changed.
    pub files: Vec<FileChange>,
    /// Steps that changed files, and the way back from each.
    pub undo_points: Vec<ShownUndoPoint>,
    /// Tools.
    pub tools: Vec<ToolUse>,
    /// Models.
    pub models: Vec<ModelUse>,
    /// Models or engines that went on for others.
    pub switches: Vec<Entry>,
    /// What people did.
    pub people: Vec<Entry>,
    /// Number, milliseconds, health in millionths, micro-dollars, per cent of the context.
    pub curve: Vec<CurvePoint>,
    /// The thresholds of health, in millionths.
    pub thresholds: Option<(u32, u32)>,
}

/// Something at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its number.
    pub i: u64,
    /// When.
    pub at: String,
    /// What.
    pub what: String,
}

/// All alarms of one cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alarm {
    /// The rule.
    pub rule: String,
    /// The strictest level.
    pub level: String,
    /// How often.
    pub count: u64,
    /// The first decision.
    pub first: u64,
    /// The last decision.
    pub last: u64,
    /// The last one in one sentence.
    pub reason: String,
    /// What it cost, in micro-dollars.
    pub micro_usd: u64,
}

/// A call that was not let through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedCall {
    /// Its number.
    pub i: u64,
    /// When.
    pub at: String,
    /// The call.
    pub call: String,
    /// The rule.
    pub rule: String,
    /// Why.
    pub reason: String,
}

/// A file that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Its path.
    pub path: String,
    /// How often it changed.
    pub times: u64,
    /// The last input that changed it.
    pub i: u64,
    /// Whether it holds tests.
    pub test: bool,
}

/// The calls of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUse {
    /// The tool.
    pub tool: String,
    /// How often.
    pub calls: u64,
    /// How often it failed.
    pub failed: u64,
}

/// The calls of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelUse {
    /// The model.
    pub model: String,
    /// How often.
    pub calls: u64,
    /// What it cost, in micro-dollars.
    pub micro_usd: u64,
}
