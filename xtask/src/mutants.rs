//! A random sample of mutants: which of them the tests catch says more about the tests than their number.
//!
//! `cargo mutants` lists every mutant and runs the chosen ones; here only the choice is made, from a seed that is printed, so
//! that a run can be repeated.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::{fmt, io};

/// The crates whose tests are measured.
pub const PACKAGES: [&str; 4] = ["tripwire-core", "tripwire-shell", "tripwire-judge", "tripwire-journal"];

/// Where the report goes, relative to the repository.
const OUTPUT: &str = "target/mutants";

/// Most seconds for the tests of one mutant: an endless loop ends here and is listed as a time-out.
const TIMEOUT_SECONDS: &str = "300";

/// Why no mutant was tried.
#[derive(Debug)]
pub enum MutantsError {
    /// The tool could not be started.
    Tool(io::Error),
    /// The folder for the report could not be made.
    Output(io::Error),
    /// It could not list the mutants.
    List(ExitStatus),
    /// It listed none.
    Nothing,
}

impl fmt::Display for MutantsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(cause) => {
                write!(f, "cannot run `cargo mutants`: {cause}; install it with `cargo install --locked cargo-mutants`")
            }
            Self::Output(cause) => write!(f, "cannot make the folder `{OUTPUT}`: {cause}"),
            Self::List(status) => write!(
                f,
                "`cargo mutants --list` ended with {status}; is it installed (`cargo install --locked cargo-mutants`)?"
            ),
            Self::Nothing => write!(f, "`cargo mutants --list` lists no mutant of {}", PACKAGES.join(", ")),
        }
    }
}

impl std::error::Error for MutantsError {}

/// The names of all mutants of the measured crates, in the tool's order.
pub fn list(root: &Path) -> Result<Vec<String>, MutantsError> {
    let output = tool(root).arg("--list").output().map_err(MutantsError::Tool)?;
    if !output.status.success() {
        return Err(MutantsError::List(output.status));
    }
    let names: Vec<String> = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    if names.is_empty() { Err(MutantsError::Nothing) } else { Ok(names) }
}

/// So many of the names, each with the same chance; the same seed over the same list chooses the same.
pub fn choose(mut names: Vec<String>, seed: u64, count: usize) -> Vec<String> {
    names.sort_unstable();
    let mut random = SplitMix { state: seed };
    let mut chosen = Vec::new();
    while chosen.len() < count && !names.is_empty() {
        let index = random.below(names.len());
        chosen.push(names.swap_remove(index));
    }
    chosen.sort_unstable();
    chosen
}

/// Runs the chosen mutants; the tool prints which were caught, missed or timed out.
pub fn run(root: &Path, chosen: &[String]) -> Result<ExitStatus, MutantsError> {
    // The tool makes the last folder only, and a fresh clone has no `target`.
    std::fs::create_dir_all(root.join(OUTPUT)).map_err(MutantsError::Output)?;
    let mut command = tool(root);
    command.args([
        "--profile",
        "mutants",
        "--no-shuffle",
        "--caught",
        "--unviable",
        "--timeout",
        TIMEOUT_SECONDS,
        "--output",
        OUTPUT,
    ]);
    if has_nextest() {
        command.arg("--test-tool=nextest");
    }
    for name in chosen {
        command.arg("--re").arg(exactly(name));
    }
    // `--re` does not reach the mutants that delete a field of a struct (cargo-mutants 27.1): without these lines each run
    // would take all of them, in every file.
    for file in files(chosen) {
        command.args(["--file", file]);
    }
    command.status().map_err(MutantsError::Tool)
}

/// Whether the runner is installed that ends at the first failure: most mutants are caught, so it saves most of the time.
fn has_nextest() -> bool {
    Command::new("cargo").args(["nextest", "--version"]).output().is_ok_and(|output| output.status.success())
}

/// The files of the chosen mutants, each once.
fn files(chosen: &[String]) -> BTreeSet<&str> {
    chosen.iter().filter_map(|name| name.split_once(':')).map(|(file, _)| file).collect()
}

fn tool(root: &Path) -> Command {
    let mut command = Command::new("cargo");
    command.arg("mutants").current_dir(root);
    for package in PACKAGES {
        command.args(["--package", package]);
    }
    command
}

/// A regular expression for this name and no other.
fn exactly(name: &str) -> String {
    let escaped: String = name
        .chars()
        .flat_map(|letter| {
            // Not every mark: an escaped `<` is the edge of a word.
            let has_meaning = "\\.+*?()|[]{}^$".contains(letter);
            has_meaning.then_some('\\').into_iter().chain([letter])
        })
        .collect();
    format!("^{escaped}$")
}

/// A small generator (splitmix64) with a state that fits on the command line.
struct SplitMix {
    state: u64,
}

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// The high half of the product: every index has the same chance but for one part in 2^64 over `bound`.
    fn below(&mut self, bound: usize) -> usize {
        let wide = u128::from(self.next()) * bound as u128;
        usize::try_from(wide >> 64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|n| format!("crates/core/src/ring.rs:{n}:5: replace Ring<T>::len -> usize with 0")).collect()
    }

    #[test]
    fn a_seed_repeats_its_choice_whatever_the_order_of_the_list() {
        let mut backwards = names(100);
        backwards.reverse();
        let first = choose(names(100), 7, 10);
        assert_eq!(first, choose(backwards, 7, 10));
        assert_eq!(first.len(), 10);
        assert_ne!(first, choose(names(100), 8, 10));
    }

    #[test]
    fn the_files_of_the_chosen_are_named_once() {
        let chosen = ["a/b.rs:1:2: replace f with g", "a/b.rs:9:1: delete !", "c.rs:3:3: replace + with -"];
        let chosen: Vec<String> = chosen.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(files(&chosen).into_iter().collect::<Vec<_>>(), ["a/b.rs", "c.rs"]);
    }

    #[test]
    fn no_mutant_is_chosen_twice_and_none_is_made_up() {
        let mut chosen = choose(names(20), 3, 50);
        chosen.dedup();
        assert_eq!(chosen.len(), 20);
    }

    #[test]
    fn a_name_is_matched_as_a_whole_and_by_its_letters() {
        assert_eq!(exactly("a/b.rs:1:2: replace + with * in f<T>"), "^a/b\\.rs:1:2: replace \\+ with \\* in f<T>$");
    }
}
