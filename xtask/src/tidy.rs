//! Style as a test: every limit the project states is checked here, so that no review has to.
//!
//! The checks are pure functions of a [`Workspace`], which is nothing but the texts of the repository's files. Only
//! [`check_repository`] reads the disk. What stands inside a macro call is seen as tokens, not as syntax: the limits on
//! functions do not reach into it, while the bans on `unsafe` and the search for test names do.

mod changelog;
mod dead_files;
mod dependencies;
mod docs;
mod figures;
mod finding;
mod length;
mod machine_paths;
mod params;
mod patterns;
mod purity;
mod repository;
mod rust;
mod spec_names;
#[cfg(test)]
mod testing;
mod tokens;
mod unsafety;
mod walls;
mod wildcard;
mod workspace;

use std::path::Path;

pub use figures::Figures;
pub use finding::{Finding, Rule};
pub use repository::ReadError;
use workspace::Workspace;

/// What one run of all checks found, with the figures that are printed beside it.
#[derive(Debug)]
pub struct Report {
    /// Every broken rule, sorted by place, so that two runs print the same.
    pub findings: Vec<Finding>,
    /// Counts that are shown and not judged.
    pub figures: Figures,
}

/// Runs every check over the repository at `root`; the one place of this module that touches the disk.
pub fn check_repository(root: &Path) -> Result<Report, ReadError> {
    let snapshot = repository::read(root)?;
    let workspace = Workspace::new(snapshot.files);
    let mut report = check(&workspace);
    machine_paths::check(&workspace, &snapshot.machine_paths, &mut report.findings);
    report.findings.sort();
    Ok(report)
}

fn check(workspace: &Workspace) -> Report {
    let mut findings = workspace.broken.clone();
    length::check(workspace, &mut findings);
    params::check(workspace, &mut findings);
    wildcard::check(workspace, &mut findings);
    docs::check(workspace, &mut findings);
    purity::check(workspace, &mut findings);
    unsafety::check(workspace, &mut findings);
    walls::check(workspace, &mut findings);
    dependencies::check(workspace, &mut findings);
    changelog::check(workspace, &mut findings);
    dead_files::check(workspace, &mut findings);
    let rules = spec_names::check(workspace, &mut findings);
    findings.sort();
    Report { findings, figures: figures::count(workspace, rules) }
}
