//! The command `tripwire`: parse, call, print.

mod sandbox;
mod sandbox_print;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A deterministic safety runtime for autonomous LLM agents.
#[derive(Debug, Parser)]
#[command(name = "tripwire", version)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run commands confined, and look at what they staged.
    Sandbox(Box<sandbox::SandboxArgs>),
    /// Say what works on this machine and how to fix what does not.
    Doctor(sandbox::DoctorArgs),
}

fn main() -> ExitCode {
    // The sandbox's inner stage is this binary, executed again: it must come before everything else.
    if let Some(code) = tripwire_sandbox::inner_main() {
        return ExitCode::from(code);
    }
    match Cli::parse().verb {
        Verb::Sandbox(args) => sandbox::run(&args),
        Verb::Doctor(args) => sandbox::doctor(&args),
    }
}
