//! The policy file after the session began: an edit is reported as drift and never applied.

use super::fact::ControlFact;
use crate::mark::Mark;
use serde::{Deserialize, Serialize};
use std::path::Path;
use tripwire_core::record::chain::Digest;
use tripwire_fs::file::{FileError, read_bounded};

/// What was last seen of the policy file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct SeenPolicy {
    frozen: Option<Digest>,
    mark: Option<Mark>,
    #[serde(rename = "told")]
    reported: Option<String>,
}

impl SeenPolicy {
    /// A session that froze this file has seen no edit yet.
    pub(super) fn frozen(digest: Option<Digest>) -> Self {
        Self { frozen: digest, mark: None, reported: None }
    }

    /// The next look reads the file.
    pub(super) fn forget_mark(&mut self) {
        self.mark = None;
    }
}

/// Looks at the policy file, by its mark first; a session that froze none does not look. Gives what is to be compared with
/// from now on, where that is something else.
pub(super) fn look(
    path: &Path,
    mark: impl FnOnce() -> Result<Option<Mark>, FileError>,
    before: &SeenPolicy,
    facts: &mut Vec<ControlFact>,
) -> Result<Option<SeenPolicy>, FileError> {
    let Some(frozen) = before.frozen else { return Ok(None) };
    let mark = mark()?;
    if let (Some(mark), Some(known)) = (&mark, &before.mark)
        && known.still_means(mark)
    {
        return Ok(None);
    }
    let there = mark.is_some();
    let mut seen = SeenPolicy { mark, ..before.clone() };
    let found = match read_bounded(path, BYTES_MAX) {
        Ok(bytes) if Digest::of(&bytes) == frozen => None,
        Ok(bytes) => Some(format!("sha256:{}", Digest::of(&bytes))),
        Err(_) if there => Some("unreadable".to_owned()),
        Err(_) => Some("(removed)".to_owned()),
    };
    if found != seen.reported {
        let back = || format!("sha256:{frozen}");
        facts.push(ControlFact::SettingDrift {
            path: NAME.to_owned(),
            from: Some(seen.reported.take().unwrap_or_else(back)),
            to: Some(found.clone().unwrap_or_else(|| format!("sha256:{frozen} (as frozen)"))),
        });
        seen.reported = found;
    }
    Ok(Some(seen))
}

/// What the file is called in a finding.
const NAME: &str = "policy.cedar";
/// More than a policy file may hold is an edit in any case.
const BYTES_MAX: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::wall_clock::WallClock;
    use crate::mark::stat;

    #[test]
    fn const_6_an_edit_of_the_policy_file_is_reported_once_and_so_is_its_taking_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        let mut seen = SeenPolicy::frozen(Some(Digest::of(b"one")));
        let mut now = 1_790_000_000_000;
        let mut drifts = |seen: &mut SeenPolicy| {
            let mut facts = Vec::new();
            now += 1_000;
            let mark = || Ok(stat(&path)?.map(|metadata| Mark::of(&metadata, WallClock::from_epoch_ms(now))));
            if let Some(news) = look(&path, mark, seen, &mut facts).unwrap() {
                *seen = news;
            }
            facts.len()
        };
        std::fs::write(&path, "one").unwrap();
        assert_eq!((drifts(&mut seen), drifts(&mut seen)), (0, 0));
        std::fs::write(&path, "two, edited").unwrap();
        assert_eq!((drifts(&mut seen), drifts(&mut seen)), (1, 0));
        std::fs::remove_file(&path).unwrap();
        assert_eq!((drifts(&mut seen), drifts(&mut seen)), (1, 0));
        std::fs::write(&path, "one").unwrap();
        assert_eq!((drifts(&mut seen), drifts(&mut seen)), (1, 0));
    }
}
