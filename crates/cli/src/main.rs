//! The binary `tripwire`.

use std::process::ExitCode;

// A hook is started at every tool call of an agent, and has no use for what the ordinary start sets up.
#[cfg(target_os = "linux")]
tripwire_sandbox::early_answer!(tripwire_cli::answer_early);

/// A fifth of a hook would be the search for the best place of what it frees a moment later.
#[cfg(target_os = "linux")]
#[global_allocator]
static MEMORY: tripwire_sandbox::memory::Memory = tripwire_sandbox::memory::Memory;

fn main() -> ExitCode {
    // The sandbox's inner stage is this binary, executed again: it must come before everything else.
    if let Some(code) = tripwire_sandbox::inner_main() {
        return ExitCode::from(code);
    }
    tripwire_cli::run(std::env::args_os())
}
