//! The part of a manifest that several workspaces can share: its policy. What belongs to one workspace stays there: counters and
//! bits, the pinned checksum and correlation id, and the sections for engines and the fleet.

use super::{Manifest, Scalar, template};
use crate::geometry::yaml_edit::{self, Edit, EditError, NewValue};

/// The policy of a manifest as a text of its own, in which everything that belongs to its workspace is as in a fresh one.
///
/// # Errors
/// When the text cannot be taken apart without changing more than that.
pub fn policy_part(manifest: &Manifest) -> Result<String, EditError> {
    let fresh = parsed(manifest, template::FRESH.to_owned())?;
    let Sections { shared, own: _ } = Sections::of(manifest.text());
    let part = yaml_edit::apply(&shared, &own_values(manifest, &fresh))?;
    let reread = parsed(manifest, part)?;
    if policy_of(&reread) != policy_of(manifest) {
        return Err(EditError::NotExact { path: "fleet" });
    }
    Ok(reread.text)
}

/// The text of a manifest under another policy: what [`policy_part`] gave, with everything that belongs to this workspace as it is.
///
/// # Errors
/// When they cannot be put together without changing more than that.
pub fn with_policy_part(manifest: &Manifest, part: &str) -> Result<String, EditError> {
    let policy = parsed(manifest, Sections::of(part).shared)?;
    let mut text = yaml_edit::apply(&policy.text, &own_values(manifest, manifest))?;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&Sections::of(manifest.text()).own);
    let merged = parsed(manifest, text)?;
    let is_exact = policy_of(&merged) == policy_of(&policy)
        && own_sections(&merged) == own_sections(manifest)
        && merged.live() == manifest.live()
        && pins(&merged) == pins(manifest);
    if is_exact { Ok(merged.text) } else { Err(EditError::NotExact { path: "fleet" }) }
}

/// A text in the place of a manifest's.
fn parsed(manifest: &Manifest, text: String) -> Result<Manifest, EditError> {
    Manifest::parse(manifest.file(), text.into_bytes()).map_err(|_error| EditError::NotExact { path: "fleet" })
}

/// A manifest's text in two halves, by its top-level sections.
struct Sections {
    shared: String,
    own: String,
}

impl Sections {
    fn of(text: &str) -> Self {
        let mut sections = Self { shared: String::new(), own: String::new() };
        // Comments and empty lines belong to the section that they stand above.
        let (mut is_own, mut above) = (false, String::new());
        for line in text.split_inclusive('\n') {
            if line.trim().is_empty() || line.starts_with('#') {
                above.push_str(line);
                continue;
            }
            let begins = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '"' | '\'' | '_');
            if line.starts_with(begins) {
                let key = line.split(':').next().unwrap_or_default().trim().trim_matches(['"', '\'']);
                is_own = OWN_SECTIONS.contains(&key);
            }
            let half = if is_own { &mut sections.own } else { &mut sections.shared };
            half.push_str(&std::mem::take(&mut above));
            half.push_str(line);
        }
        if is_own { &mut sections.own } else { &mut sections.shared }.push_str(&above);
        sections
    }
}

/// Sets what belongs to one workspace, as far as `present` has it, to the values of another manifest.
fn own_values(present: &Manifest, values: &Manifest) -> Vec<Edit> {
    let (live, identity) = (values.live(), values.identity());
    let bits = live.dirty_bits;
    let text = |text: &Option<String>| text.clone().map_or(NewValue::Null, NewValue::Text);
    let all = [
        ("safety.iteration_count", NewValue::Number(live.iteration_count)),
        ("safety.consecutive_failures", NewValue::Number(live.consecutive_failures)),
        ("safety.last_tool_signatures", NewValue::Texts(live.last_tool_signatures.clone())),
        ("safety.loop_detected", NewValue::Bool(live.loop_detected.into())),
        ("context.estimated_usage_pct", NewValue::Number(live.estimated_usage_pct)),
        ("context.last_compaction", text(&live.last_compaction)),
        ("dirty_bits.code_modified", NewValue::Bool(bits.code_modified.into())),
        ("dirty_bits.tests_run", NewValue::Bool(bits.tests_run.into())),
        ("dirty_bits.tests_passing", bits.tests_passing.map_or(NewValue::Null, |bit| NewValue::Bool(bit.into()))),
        ("dirty_bits.docs_updated", NewValue::Bool(bits.docs_updated.into())),
        ("identity.agent_checksum", text(&identity.agent_checksum)),
        ("identity.workflow_binding", text(&identity.workflow_binding)),
    ];
    let edits = all.into_iter().filter(|(path, _)| present.root.at(path).is_some());
    edits.map(|(path, value)| Edit::new(path, value)).collect()
}

/// The values that belong to no single workspace, without their lines.
fn policy_of(manifest: &Manifest) -> Vec<(String, String)> {
    let scalars = manifest.settings().into_iter().filter(|scalar| !is_own_section(scalar) && !is_pin(scalar));
    let mut policy: Vec<(String, String)> = scalars.map(|scalar| (scalar.path, scalar.text)).collect();
    let roles = manifest.roles().into_iter();
    policy.extend(roles.map(|role| (format!("roles.{}", role.name), role.attributes.join(","))));
    policy.sort();
    policy
}

fn own_sections(manifest: &Manifest) -> Vec<(String, String)> {
    let scalars = manifest.scalars().into_iter().filter(is_own_section);
    scalars.map(|scalar| (scalar.path, scalar.text)).collect()
}

fn pins(manifest: &Manifest) -> (Option<&str>, Option<&str>) {
    let identity = manifest.identity();
    (identity.agent_checksum.as_deref(), identity.workflow_binding.as_deref())
}

fn is_own_section(scalar: &Scalar) -> bool {
    OWN_SECTIONS.contains(&scalar.path.split(['.', '[']).next().unwrap_or_default())
}

fn is_pin(scalar: &Scalar) -> bool {
    matches!(scalar.path.as_str(), "identity.agent_checksum" | "identity.workflow_binding")
}

const OWN_SECTIONS: [&str; 2] = ["engines", "fleet"];

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn manifest(text: &str) -> Manifest {
        Manifest::parse(Path::new("MANIFEST.yaml"), text.as_bytes().to_vec()).unwrap()
    }

    fn lived_in() -> String {
        let text = template::FRESH
            .replace("max_iterations: 100", "max_iterations: 40 # ours")
            .replace("iteration_count: 0", "iteration_count: 12")
            .replace("last_tool_signatures: []", "last_tool_signatures: [\"a\", \"b\"]")
            .replace("tests_passing: null", "tests_passing: true")
            .replace("workflow_binding: null", "workflow_binding: \"run-7\"");
        format!("fleet:\n  budget: team-search\n{text}roles:\n  auditor: []\n")
    }

    #[test]
    fn the_policy_part_has_the_settings_and_nothing_of_the_workspace() {
        let part = policy_part(&manifest(&lived_in())).unwrap();
        let wanted = template::FRESH.replace("max_iterations: 100", "max_iterations: 40 # ours");
        assert_eq!(part, format!("{wanted}roles:\n  auditor: []\n"));
        assert_eq!(policy_part(&manifest("")).unwrap(), "");
    }

    #[test]
    fn another_policy_leaves_everything_of_the_workspace_as_it_is() {
        let part = template::FRESH.replace("max_iterations: 100", "max_iterations: 7");
        let local = manifest(&lived_in());
        let merged = manifest(&with_policy_part(&local, &part).unwrap());
        assert_eq!(merged.thresholds().max_iterations, 7);
        assert_eq!((merged.live(), pins(&merged)), (local.live(), pins(&local)));
        assert!(merged.text().ends_with("fleet:\n  budget: team-search\n"), "{}", merged.text());
        assert!(merged.roles().is_empty(), "roles are policy");
        // Back again, and nothing is left of the other one.
        let own = policy_part(&local).unwrap();
        assert_eq!(policy_of(&manifest(&with_policy_part(&merged, &own).unwrap())), policy_of(&local));
    }

    #[test]
    fn a_part_cannot_bring_sections_of_its_own_workspace_and_a_wrong_one_is_refused() {
        let local = manifest("safety:\n  iteration_count: 3\n");
        let merged = with_policy_part(&local, "fleet:\n  budget: theirs\nsafety:\n  max_iterations: 9\n").unwrap();
        assert!(!merged.contains("theirs") && merged.contains("iteration_count: 3"), "{merged}");
        // Counters that the workspace does not have come from nowhere else either.
        let counted = with_policy_part(&manifest(""), "safety:\n  iteration_count: 9\n");
        assert!(matches!(counted, Err(EditError::NotExact { .. })), "{counted:?}");
        assert!(with_policy_part(&local, "nonsense: 1\n").is_err());
    }
}
