//! Style as a test: every limit the project states and that no lint holds is checked here.
//!
//! The checks are pure functions of a [`Workspace`], which is nothing but the texts of the repository's files. Only
//! [`check_repository`] reads the disk.

mod changelog;
mod circles;
mod dead_files;
mod dependencies;
mod doc_examples;
mod figures;
mod files;
mod finding;
mod lints;
mod machine_paths;
mod manifest;
mod modules;
mod named_tests;
mod purity;
mod reach;
mod repository;
mod rust;
mod sockets;
mod spec_names;
#[cfg(test)]
mod testing;
mod text_fields;
mod tokens;
mod type_names;
mod walls;
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
    files::check(workspace, &mut findings);
    lints::check(workspace, &mut findings);
    purity::check(workspace, &mut findings);
    walls::check(workspace, &mut findings);
    sockets::check(workspace, &mut findings);
    circles::check(workspace, &mut findings);
    type_names::check(workspace, &mut findings);
    let fields = text_fields::check(workspace, &mut findings);
    dependencies::check(workspace, &mut findings);
    changelog::check(workspace, &mut findings);
    dead_files::check(workspace, &mut findings);
    doc_examples::check(workspace, &mut findings);
    named_tests::check(workspace, &mut findings);
    let rules = spec_names::check(workspace, &mut findings);
    findings.sort();
    let figures = figures::count(workspace, rules, fields);
    Report { findings, figures }
}
