//! Style is a test: this is where `cargo test --workspace` holds the repository to its own limits.

use std::path::Path;

use xtask::tidy;

#[test]
fn the_repository_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let report = tidy::check_repository(root).unwrap();
    let lines: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{} findings:\n{}", lines.len(), lines.join("\n"));
}
