//! Carrying a permitted call out: act, cut the result to its cap, and say what happened.

use super::decode::Decoded;
use super::entry::ToolOutput;
use super::error::ToolError;
use super::outcome::{KeptOutput, Ran};
use super::relative::relative;
use super::tool::{RESULT_BYTES_MAX, TEXT_BYTES_MAX, ToolEnd, World};
use serde::Serialize;
use std::time::Instant;
use tripwire_core::chain::event::ErrorClass;
use tripwire_core::chain::feedback::{ExecutionResult, ExecutionStatus};
use tripwire_core::chain::gate::Permit;
use tripwire_core::explain::Explain as _;
use tripwire_core::label;
use tripwire_core::units::{RunMillis, Tokens};
use tripwire_session::memory::Visibility;

/// What the model gets in place of a result that is too long as a whole.
#[derive(Debug, Serialize)]
struct Beginning<'a> {
    /// The beginning of the result, which is JSON.
    beginning: &'a str,
    bytes: usize,
    pointer: Option<String>,
    note: String,
}

/// Carries out a decoded call. There is no way to do so without the gate's permit for exactly this action, and the permit
/// is used up whatever happens.
pub fn run(permit: Permit, call: &Decoded, world: &mut World<'_>) -> Ran {
    let begun = Instant::now();
    world.action = call.action(world.files).exact();
    let output = call.prepared().run(permit, world);
    let latency_ms = RunMillis::new(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX));
    match output {
        Ok(output) => succeeded(output, world, latency_ms),
        Err(error) => failed(&error, world, latency_ms),
    }
}

fn succeeded(output: ToolOutput, world: &World<'_>, latency_ms: RunMillis) -> Ran {
    let ToolOutput { text, observed, end, verbatim, spent } = output;
    let (class, exit_code) = match end {
        ToolEnd::Well => (None, None),
        ToolEnd::Exited(code) => (None, Some(code)),
        ToolEnd::Broken(class) => (Some(class), None),
    };
    let (text, cut) = capped(text, world);
    let verbatim = verbatim
        .into_iter()
        .map(|part| KeptOutput {
            name: part.name,
            pointer: world.memory.put(&part.bytes, Visibility::Public).map_err(|error| error.to_string()),
        })
        .collect();
    Ran {
        text,
        is_error: class.is_some() || exit_code.is_some_and(|code| code != 0),
        observed,
        exit_code,
        class,
        cut,
        verbatim,
        result: ExecutionResult { executed: true, latency_ms, status: status(class), tokens_used: Tokens::ZERO },
        spent: Some(spent),
    }
}

fn failed(error: &ToolError, world: &World<'_>, latency_ms: RunMillis) -> Ran {
    let class = error.class();
    let said = relative(&error.to_string(), world.files.names());
    let hint = relative(&error.hint(), world.files.names());
    let executed = match class {
        ErrorClass::Timeout | ErrorClass::CouldNotRun | ErrorClass::Refused => false,
        ErrorClass::NonZeroExit | ErrorClass::Tool | ErrorClass::Infrastructure => true,
    };
    let (text, cut) = capped(format!("error: {said}\nhint: {hint}"), world);
    Ran {
        text,
        is_error: true,
        observed: said,
        exit_code: None,
        class: Some(class),
        cut,
        verbatim: Vec::new(),
        result: ExecutionResult { executed, latency_ms, status: status(Some(class)), tokens_used: Tokens::ZERO },
        spent: None,
    }
}

/// How the execution itself went: a tool that ran and said no is a success of the execution.
fn status(class: Option<ErrorClass>) -> ExecutionStatus {
    match class {
        None | Some(ErrorClass::NonZeroExit | ErrorClass::Tool | ErrorClass::Infrastructure) => {
            ExecutionStatus::Success
        }
        Some(ErrorClass::Refused) => ExecutionStatus::Blocked,
        Some(ErrorClass::Timeout | ErrorClass::CouldNotRun) => ExecutionStatus::Failed,
    }
}

/// The last cap: a result that is too long in spite of its tool's own bounds, or longer than a person lets this tool say, is
/// kept whole, and its beginning shown.
fn capped(text: String, world: &World<'_>) -> (String, Option<String>) {
    let limited = world.output_max.and_then(|most| usize::try_from(most.get()).ok());
    let limited = limited.filter(|most| text.len() > *most);
    if limited.is_none() && text.len() <= RESULT_BYTES_MAX {
        return (text, None);
    }
    let (pointer, note) = match world.memory.put(text.as_bytes(), Visibility::Public) {
        Ok(pointer) => {
            (Some(pointer.to_string()), "the result was cut; `recall` with this pointer shows all".to_owned())
        }
        Err(error) => (None, format!("the result was cut, and the rest could not be kept: {error}")),
    };
    // Escaping can double a text, so that only a part of the cap is used for it.
    let beginning = label::cut(&text, limited.unwrap_or(usize::MAX).min(TEXT_BYTES_MAX / 2));
    let short = Beginning { beginning, bytes: text.len(), pointer: pointer.clone(), note };
    let shown = serde_json::to_string(&short).unwrap_or_default();
    (shown, pointer)
}
