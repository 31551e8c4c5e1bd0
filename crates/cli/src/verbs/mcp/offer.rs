//! `tripwire mcp serve`: tripwire itself as a tool server, for agents and editors that want to look.
//!
//! Its tools only look, at this workspace alone. Each is one of our own looking verbs, run as a process of its own, so that what
//! a tool says is what the verb says, without secrets; nothing here can change what a session may do.

use crate::error::Problem;
use crate::exit::Exit;
use crate::print::Out;
use crate::workspace::Where;
use clap::Args;
use serde_json::{Value, json};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tripwire_fs::{bounded, file};
use tripwire_mcp::wire::message::{self, CLIENT_DEPTH_MAX, Incoming};
use tripwire_mcp::wire::{reply, schema};

/// The longest message that is read.
const LINE_BYTES_MAX: u64 = 1 << 20;
/// The most that one tool says.
const ANSWER_BYTES_MAX: usize = 256 * 1_024;
/// The versions of the protocol that are spoken, newest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Offer read-only tools to agents and editors, as an MCP server: status, why, budget, memory_get, todo.
///
/// The tools read this workspace's sessions and change nothing.
#[derive(Debug, Args)]
pub(super) struct OfferArgs {
    #[command(flatten)]
    place: Where,
}

/// Runs the verb until standard input ends.
pub(super) fn run(args: &OfferArgs) -> Result<Exit, Problem> {
    let workspace = args.place.look()?;
    let program = std::env::current_exe().map_err(Problem::OwnProgram)?;
    let offered = Offered { root: workspace.root().to_owned(), todo: workspace.layout().todo(), program };
    let mut lines = BufReader::new(std::io::stdin().lock());
    loop {
        let line = bounded::read_line(&mut lines, LINE_BYTES_MAX).map_err(Problem::Output)?;
        if line.is_empty() {
            return Ok(Exit::Done);
        }
        let answers: Vec<String> = match message::read(line.trim_ascii_end(), CLIENT_DEPTH_MAX) {
            Err(fault) => {
                let id = message::id_of_refused(&line);
                vec![reply::error(id.as_ref(), fault.code(), &fault.to_string())]
            }
            Ok(Incoming::Blank) => Vec::new(),
            Ok(Incoming::One(message)) => offered.answer(message.raw).into_iter().collect(),
            Ok(Incoming::Batch(messages)) => {
                messages.iter().filter_map(|message| offered.answer(message.raw)).collect()
            }
        };
        let mut out = Out::lock();
        for answer in answers {
            out.line(&answer)?;
        }
        out.flush()?;
    }
}

/// What is offered.
struct Offered {
    root: PathBuf,
    todo: PathBuf,
    program: PathBuf,
}

impl Offered {
    /// The answer to a message; none to what wants none.
    fn answer(&self, raw: &str) -> Option<String> {
        let message: Value = serde_json::from_str(raw).ok()?;
        let (id, method) = (message.get("id")?, message.get("method")?.as_str()?);
        let params = message.get("params").unwrap_or(&Value::Null);
        let result = match method {
            "initialize" => Ok(initialized(params)),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({"tools": tools()})),
            "tools/call" => self.call(params),
            _ => Err((-32_601, format!("there is no method `{method}`"))),
        };
        Some(match result {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string(),
            Err((code, why)) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": why}}).to_string()
            }
        })
    }

    fn call(&self, params: &Value) -> Result<Value, (i64, String)> {
        let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
        let given = params.get("arguments").filter(|arguments| !arguments.is_null());
        let mut arguments = given.cloned().unwrap_or_else(|| json!({}));
        if let Some(members) = arguments.as_object_mut() {
            // Some clients write out what they leave open.
            members.retain(|_, value| !value.is_null());
        }
        let wrong = |why: &str| (-32_602, why.to_owned());
        let tools = tools();
        let tool = tools.as_array().and_then(|tools| tools.iter().find(|tool| tool["name"] == name));
        let tool = tool.ok_or_else(|| wrong(&format!("there is no tool `{name}`")))?;
        let mistakes = schema::mistakes(&tool["inputSchema"], &arguments);
        if !mistakes.is_empty() {
            return Err(wrong(&format!("the arguments do not fit `{name}`: {}", mistakes.join("; "))));
        }
        let text = |key: &str| match arguments.get(key) {
            None => Ok(None),
            Some(Value::String(text)) if is_plain(text) => Ok(Some(text.clone())),
            Some(_) => Err(wrong(&format!("`{key}` is not plain text"))),
        };
        let session = |words: &mut Vec<String>| {
            text("session").map(|session| words.extend(session.into_iter().flat_map(|id| ["--session".to_owned(), id])))
        };
        let mut words: Vec<String>;
        match name {
            "status" => {
                words = vec!["status".to_owned(), "--json".to_owned()];
                session(&mut words)?;
            }
            "why" => {
                words = vec!["why".to_owned(), "--json".to_owned()];
                session(&mut words)?;
                if let Some(number) = arguments.get("decision") {
                    words.push(number.as_u64().ok_or_else(|| wrong("`decision` is not a number"))?.to_string());
                }
            }
            "budget" => {
                words = vec!["status".to_owned(), "--json".to_owned()];
                session(&mut words)?;
                return Ok(self.said_by(&words).map_or_else(|why| failed(&why), |status| budget(&status)));
            }
            "memory_get" => {
                let pointer = text("pointer")?.ok_or_else(|| wrong("`pointer` is missing"))?;
                words = vec!["memory".to_owned(), "get".to_owned(), pointer];
            }
            "todo" => return Ok(self.todo()),
            _ => return Err(wrong(&format!("there is no tool `{name}`"))),
        }
        Ok(self.look(&words))
    }

    /// Runs one of our looking verbs.
    fn look(&self, words: &[String]) -> Value {
        self.said_by(words).map_or_else(|why| failed(&why), |text| said(&text))
    }

    /// What one of our looking verbs says, or why it says nothing.
    fn said_by(&self, words: &[String]) -> Result<String, String> {
        let mut command = Command::new(&self.program);
        command.args(words).arg("--workspace").arg(&self.root).stdin(Stdio::null());
        let output = command.output().map_err(|error| format!("tripwire cannot be started: {error}"))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match (output.stdout.is_empty(), output.status.success()) {
            (false, _) => Ok(text(&output.stdout)),
            (true, true) => Ok(text(&output.stderr)),
            (true, false) => Err(text(&output.stderr)),
        }
    }

    fn todo(&self) -> Value {
        match read(&self.todo) {
            Some(text) => said(&text),
            None => failed("there is no `todo.md` here: only our own loop writes one"),
        }
    }
}

/// What was spent and what is left, out of what `status` says.
fn budget(status: &str) -> Value {
    let Ok(status) = serde_json::from_str::<Value>(status) else { return failed("the status cannot be read") };
    let session = &status["session"];
    if session.is_null() {
        return said(&json!({"session": null}).to_string());
    }
    let view = &session["view"];
    let (spent, limit) = (view["spent"]["microUsd"].as_u64(), view["budgetMicroUsd"].as_u64());
    let left = limit.map(|limit| limit.saturating_sub(spent.unwrap_or_default()));
    let figures = json!({
        "session": session["id"],
        "spent": view["spent"],
        "budgetMicroUsd": limit,
        "leftMicroUsd": left,
        "tokensLeftThisMinute": view["remainingBudget"],
        "held": view["held"],
        "waits": status["waits"],
    });
    said(&figures.to_string())
}

fn read(path: &Path) -> Option<String> {
    let limit = u64::try_from(ANSWER_BYTES_MAX).unwrap_or(u64::MAX);
    file::read_bounded(path, limit).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// A value that is passed on as one word and never read as an option.
fn is_plain(text: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, ':' | '-' | '_' | '.');
    !text.is_empty() && text.len() <= 128 && !text.starts_with('-') && text.chars().all(plain)
}

fn said(text: &str) -> Value {
    let kept = tripwire_core::label::cut(text, ANSWER_BYTES_MAX);
    json!({"content": [{"type": "text", "text": kept}]})
}

fn failed(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}], "isError": true})
}

fn initialized(params: &Value) -> Value {
    let asked = params.get("protocolVersion").and_then(Value::as_str);
    let version = asked.and_then(|asked| VERSIONS.iter().find(|known| **known == asked)).unwrap_or(&VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "tripwire", "version": env!("CARGO_PKG_VERSION")},
        "instructions": "The state of this workspace's guard, and the reasons for its decisions. All tools are read-only.",
    })
}

fn tools() -> Value {
    let tool = |name: &str, description: &str, properties: Value, required: &[&str]| {
        json!({
            "name": name,
            "description": description,
            "inputSchema": {"type": "object", "properties": properties, "required": required, "additionalProperties": false},
            "annotations": {"readOnlyHint": true, "destructiveHint": false, "openWorldHint": false},
        })
    };
    let session = json!({"type": "string", "description": "a session's id; by default the newest one"});
    json!([
        tool(
            "status",
            "The state of the newest session: budgets, health, holds, what waits.",
            json!({"session": session}),
            &[]
        ),
        tool(
            "why",
            "Why a decision was taken: rule, evidence, threshold; by default the last alarm or refusal.",
            json!({"session": session, "decision": {"type": "integer", "minimum": 0}}),
            &[]
        ),
        tool(
            "budget",
            "What the newest session has spent, and what is left of its budgets.",
            json!({"session": session}),
            &[]
        ),
        tool(
            "memory_get",
            "The full text for a pointer such as `mem:sha256:…`.",
            json!({"pointer": {"type": "string"}}),
            &["pointer"]
        ),
        tool("todo", "The objective and the plan of our own loop.", json!({}), &[]),
    ])
}
