//! The binary `tripwire`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tripwire_cli::run(std::env::args_os()).into()
}
