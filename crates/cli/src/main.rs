//! The binary `tripwire`.

use std::process::ExitCode;

fn main() -> ExitCode {
    // The sandbox's inner stage is this binary, executed again: it must come before everything else.
    if let Some(code) = tripwire_sandbox::inner_main() {
        return ExitCode::from(code);
    }
    tripwire_cli::run(std::env::args_os())
}
