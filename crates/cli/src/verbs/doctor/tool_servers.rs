//! The tool servers that the MCP guard has seen, with their pins.

use crate::verbs::mcp::pins;
use tripwire_clients::CheckResult;
use tripwire_core::counted::counted;
use tripwire_core::explain::Explain as _;

/// One check for each server.
pub(super) fn checks() -> Vec<CheckResult> {
    let check = |server| match server {
        Ok(server) => of(&server),
        Err(error) => {
            let error: tripwire_mcp::guard::PinError = error;
            CheckResult::broken("mcp", error.to_string(), error.hint())
        }
    };
    pins().servers().into_iter().map(check).collect()
}

fn of(server: &tripwire_mcp::guard::PinnedServer) -> CheckResult {
    let id = format!("mcp.{}", server.name);
    let digest = server.pins.digest().to_string();
    let count = |number: usize, of: &str| counted(u64::try_from(number).unwrap_or(u64::MAX), of);
    let pinned = format!(
        "{} pinned (sha256 {}…) of `{}`",
        count(server.pins.tools.len(), "tool"),
        digest.get(..16).unwrap_or_default(),
        server.command.join(" ")
    );
    let waiting = server.waiting();
    if !waiting.is_empty() {
        let proof = format!("{pinned}; {} TOOL_CHANGED: {}", count(waiting.len(), "tool"), waiting.join("; "));
        return CheckResult::broken(&id, proof, format!("look, then `tripwire mcp trust {}`", server.name));
    }
    match server.findings.as_slice() {
        [] => CheckResult::kept(&id, pinned),
        findings => CheckResult { fix: format!("look at: {}", findings.join("; ")), ..CheckResult::kept(&id, pinned) },
    }
}
