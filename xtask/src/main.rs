//! Project chores as a command: `cargo xtask api`, `cargo xtask dist`, `cargo xtask docs`, `cargo xtask tidy`, `cargo xtask reference`, `cargo xtask mutants`,
//! `cargo xtask robust`, `cargo xtask loso`, `cargo xtask redaction`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, Subcommand};
use xtask::dist::{self, DistOptions, WheelChoice};
use xtask::{api, docs, loso, mutants, redaction, reference, robust, tidy};

/// Chores of the tripwire repository.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Check the style limits, the walls between the crates and the names of the tests
    Tidy {
        /// The repository to check; by default the one this command was built in
        #[arg(long, value_name = "FOLDER")]
        root: Option<PathBuf>,
    },
    /// Write the command-line reference, and the man pages and completions below target/
    Reference {
        /// Only compare the committed page with the parser
        #[arg(long)]
        check: bool,
    },
    /// Write the lists of public items of the library crates
    Api {
        /// Only compare the committed lists with the sources
        #[arg(long)]
        check: bool,
    },
    /// Make the site of the docs below target/docs/site and check every link; needs mdbook
    Docs,
    /// Build everything that a release holds for this machine's target into one folder
    Dist {
        /// The folder; it is replaced
        #[arg(long, value_name = "FOLDER", default_value = "dist")]
        out: PathBuf,
        /// Take this binary instead of building one
        #[arg(long, value_name = "FILE")]
        binary: Option<PathBuf>,
        /// Leave the Python wheel out, which needs maturin
        #[arg(long)]
        without_wheel: bool,
    },
    /// Try a random sample of mutants against the tests of core, shell, judge and journal
    Mutants {
        /// Chooses the sample; the same seed over the same code chooses the same
        seed: u64,
        /// How many mutants
        count: usize,
    },
    /// Change one thing in every output of traces and of made-up sessions, and count what is still found
    Robust {
        /// Traces, one JSON object a line; packed with zstd if the name ends in `.zst`
        traces: Option<PathBuf>,
        /// Only this change, by the beginning of its name
        #[arg(long, value_name = "NAME")]
        only: Option<String>,
    },
    /// Judge traces and made-up sessions with and without their secrets, and compare
    Redaction {
        /// Traces, one JSON object a line; packed with zstd if the name ends in `.zst`
        traces: Option<PathBuf>,
    },
    /// Choose the thresholds of `balanced` without one source of labelled traces, measure them on it, for each source
    Loso {
        /// Traces as `tripwire scan --traces` reads them, each with its `source` and its `label`; `.zst` is unpacked
        #[arg(value_name = "FILE")]
        traces: PathBuf,
    },
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().chore {
        Chore::Tidy { root } => run_tidy(&root.unwrap_or_else(own_repository)),
        Chore::Dist { out, binary, without_wheel } => {
            let wheel = if without_wheel { WheelChoice::LeftOut } else { WheelChoice::Built };
            run_dist(&own_repository(), DistOptions { out, binary, wheel })
        }
        Chore::Api { check: true } => check_api(&own_repository()),
        Chore::Api { check: false } => write_api(&own_repository()),
        Chore::Docs => run_docs(&own_repository()),
        Chore::Reference { check: true } => check_reference(&own_repository()),
        Chore::Reference { check: false } => write_reference(&own_repository()),
        Chore::Robust { traces, only } => run_robust(traces.as_deref(), only.as_deref()),
        Chore::Mutants { seed, count } => run_mutants(&own_repository(), seed, count),
        Chore::Loso { traces } => run_loso(&traces),
        Chore::Redaction { traces } => run_redaction(traces.as_deref()),
    };
    outcome.unwrap_or_else(|error| {
        // When stderr is gone too, the exit code is all that is left to say it with.
        let _unheard = writeln!(io::stderr(), "error: {error}");
        ExitCode::from(2)
    })
}

fn own_repository() -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_folder.parent().unwrap_or(crate_folder).to_owned()
}

fn run_tidy(root: &Path) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let start = Instant::now();
    let report = tidy::check_repository(root)?;
    let mut out = io::stdout().lock();
    for finding in &report.findings {
        writeln!(out, "{finding}")?;
    }
    writeln!(out, "tidy: {} findings; {}; {} ms", report.findings.len(), report.figures, start.elapsed().as_millis())?;
    Ok(if report.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn write_reference(root: &Path) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut out = io::stdout().lock();
    for path in reference::write(&tripwire_cli::command(), &tripwire_cli::stdio_schema(), root)? {
        writeln!(out, "{}", path.strip_prefix(root).unwrap_or(&path).display())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn check_reference(root: &Path) -> Result<ExitCode, Box<dyn std::error::Error>> {
    reference::check(&tripwire_cli::command(), &tripwire_cli::stdio_schema(), root)?;
    writeln!(io::stdout().lock(), "{} and {} are what the code says", reference::PAGE, reference::SCHEMA)?;
    Ok(ExitCode::SUCCESS)
}

fn write_api(root: &Path) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut out = io::stdout().lock();
    for path in api::write(root)? {
        writeln!(out, "{}", path.strip_prefix(root).unwrap_or(&path).display())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn check_api(root: &Path) -> Result<ExitCode, Box<dyn std::error::Error>> {
    api::check(root)?;
    writeln!(io::stdout().lock(), "the public items of {} are those of {}", api::CRATES.join(", "), api::FOLDER)?;
    Ok(ExitCode::SUCCESS)
}

fn run_docs(root: &Path) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let site = docs::build(root, &tripwire_cli::command())?;
    let index = site.folder.join("index.html");
    let shown = index.strip_prefix(root).unwrap_or(&index).display();
    writeln!(io::stdout().lock(), "docs: {} pages, {} links followed; open {shown}", site.pages, site.links)?;
    Ok(ExitCode::SUCCESS)
}

fn run_dist(root: &Path, mut options: DistOptions) -> Result<ExitCode, Box<dyn std::error::Error>> {
    options.out = std::path::absolute(&options.out)?;
    dist::run(root, &options, |line| {
        // What nobody reads any more is no reason to stop building.
        let _unheard = writeln!(io::stdout().lock(), "{line}");
    })?;
    Ok(ExitCode::SUCCESS)
}

fn run_robust(traces: Option<&Path>, only: Option<&str>) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut kept = true;
    robust::run(traces, only, |line, verdict| {
        kept &= verdict != robust::Verdict::Broken;
        // A table that nobody reads any more is no reason to stop counting.
        let _unheard = writeln!(io::stdout().lock(), "{line}");
    })?;
    Ok(if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn run_redaction(traces: Option<&Path>) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let comparison = redaction::compare(traces, robust::MADE_UP)?;
    writeln!(io::stdout().lock(), "{}", comparison.line())?;
    Ok(if comparison.different.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn run_loso(traces: &Path) -> Result<ExitCode, Box<dyn std::error::Error>> {
    write!(io::stdout().lock(), "{}", loso::table(traces)?)?;
    Ok(ExitCode::SUCCESS)
}

fn run_mutants(root: &Path, seed: u64, count: usize) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let all = mutants::list(root)?;
    let total = all.len();
    let chosen = mutants::choose(all, seed, count);
    let mut out = io::stdout().lock();
    writeln!(out, "mutants: seed {seed} chooses {} of {total}:", chosen.len())?;
    for name in &chosen {
        writeln!(out, "  {name}")?;
    }
    drop(out);
    let status = mutants::run(root, &chosen)?;
    writeln!(
        io::stdout().lock(),
        "mutants: seed {seed}, {} of {total} tried; cargo mutants ended with {status}",
        chosen.len()
    )?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
