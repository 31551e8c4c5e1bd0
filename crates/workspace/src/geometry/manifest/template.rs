//! The manifest that a new workspace gets: the seed's configuration reference, word for word.

use std::path::Path;
use tripwire_fs::file::{Draft, FileError, FileMode};

/// The fresh manifest. Our own sections are left out: their defaults belong to the policy, which prints them.
pub const FRESH: &str = r#"# .geometry/MANIFEST.yaml - Safety section

safety:
  # Iteration limits
  iteration_count: 0
  max_iterations: 100

  # Failure tolerance
  consecutive_failures: 0
  max_consecutive_failures: 3

  # Loop detection
  last_tool_signatures: []
  signature_history_depth: 10
  soft_loop_threshold: 3
  hard_loop_threshold: 5

  # State
  loop_detected: false

context:
  estimated_usage_pct: 0
  # Three-tier thresholds
  warning_threshold: 75
  mandatory_threshold: 80
  hard_block_threshold: 85
  last_compaction: null

dirty_bits:
  code_modified: false
  tests_run: false
  tests_passing: null
  docs_updated: false

identity:
  agent_checksum: null
  workflow_binding: null
  authorized_roles: ["developer"]
"#;

/// Writes the fresh manifest if there is none; an existing one is never touched.
pub fn write_if_missing(file: &Path) -> Result<(), FileError> {
    if file.symlink_metadata().is_ok() {
        return Ok(());
    }
    let mut draft = Draft::new(file, FileMode::PRIVATE)?;
    draft.write(FRESH.as_bytes())?;
    draft.publish_new().map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::manifest::keys::SEED_KEYS;
    use crate::geometry::manifest::tree;
    use tripwire_testing::TestDir;

    #[test]
    fn the_fresh_manifest_holds_every_key_of_the_seed_and_nothing_else() {
        let root = tree::parse(FRESH).unwrap();
        let mut count = 0;
        for section in root.entries() {
            for entry in section.node.entries() {
                let path = format!("{}.{}", section.key, entry.key);
                assert!(SEED_KEYS.iter().any(|key| key.path == path), "{path}");
                count += 1;
            }
        }
        assert_eq!(count, SEED_KEYS.len());
    }

    #[test]
    fn a_persons_manifest_is_not_overwritten() {
        let dir = TestDir::new();
        let file = dir.path().join("MANIFEST.yaml");
        write_if_missing(&file).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), FRESH);
        std::fs::write(&file, "safety:\n  iteration_count: 3\n").unwrap();
        write_if_missing(&file).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "safety:\n  iteration_count: 3\n");
    }
}
