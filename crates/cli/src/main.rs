//! The binary `tripwire`.

use std::process::ExitCode;

// A hook is started at every tool call of an agent, and has no use for what the ordinary start sets up.
#[cfg(target_os = "linux")]
tripwire_sandbox::early_answer!(tripwire_cli::answer_early);

/// The C library's allocator was a fifth of a hook's instructions; only hooks allocate from the piece.
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
