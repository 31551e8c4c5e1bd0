//! What a workspace's manifest says about the fleet, under `fleet:`. None of it is a decision of the engine: it says where records
//! must be and whose money is spent, so it is not part of the frozen policy.

use crate::subject::Name;
use std::borrow::Cow;
use std::time::Duration;
use tripwire_core::explain::Explain;
use tripwire_workspace::geometry::manifest::Scalar;

/// When a record counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FleetDurability {
    /// When it is on the local disk; the fleet gets it a moment later.
    #[default]
    Async,
    /// When the fleet has acknowledged it as well.
    Replicated,
}

/// The section `fleet:` of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FleetSettings {
    /// `fleet.durability`.
    pub durability: Option<FleetDurability>,
    /// `fleet.dead_man`: without a heartbeat for so long this machine's agents are paused. It cannot be longer than the machine's own.
    pub dead_man: Option<Duration>,
    /// `fleet.budget`: the budget over all machines from which the model calls are paid.
    pub budget: Option<Name>,
}

/// A line of that section that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: `{path}: {text}` cannot be used: {why}")]
pub struct FleetSettingError {
    path: String,
    text: String,
    line: u64,
    why: &'static str,
}

impl Explain for FleetSettingError {
    fn hint(&self) -> Cow<'_, str> {
        "see what `fleet:` knows in docs/guide/fleet.md: `durability`, `dead_man`, `budget`".into()
    }
}

impl FleetSettings {
    /// Reads the section from the values of a manifest.
    ///
    /// # Errors
    /// When a key is unknown or its value cannot be used.
    pub fn read(scalars: &[Scalar]) -> Result<Self, FleetSettingError> {
        let mut read = Self::default();
        for scalar in scalars {
            let Some(key) = scalar.path.strip_prefix("fleet.") else { continue };
            let Scalar { path, text, line } = scalar.clone();
            let wrong = |why| FleetSettingError { path, text: text.clone(), line, why };
            match key {
                "durability" => {
                    read.durability = Some(match text.as_str() {
                        "async" => FleetDurability::Async,
                        "replicated" => FleetDurability::Replicated,
                        _other => return Err(wrong("it is `async` or `replicated`")),
                    });
                }
                "dead_man" => {
                    let seconds = text.strip_suffix('s').unwrap_or(&text).trim().parse();
                    let seconds = seconds.ok().filter(|seconds| (3..=86_400).contains(seconds));
                    let seconds = seconds.ok_or_else(|| wrong("it is a number of seconds from 3 to 86400"))?;
                    read.dead_man = Some(Duration::from_secs(seconds));
                }
                "budget" => {
                    let name = Name::parse(&text).map_err(|_error| wrong("it is the name of a budget"))?;
                    read.budget = Some(name);
                }
                _unknown => return Err(wrong("there is no such setting")),
            }
        }
        Ok(read)
    }

    /// Whether the manifest asks for the fleet.
    #[must_use]
    pub fn is_asked_for(&self) -> bool {
        *self != Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str, text: &str) -> Result<FleetSettings, FleetSettingError> {
        FleetSettings::read(&[Scalar { path: path.to_owned(), text: text.to_owned(), line: 7 }])
    }

    #[test]
    fn each_setting_reads_and_what_is_unknown_or_wrong_is_named_with_its_line() {
        assert_eq!(read("fleet.durability", "replicated").unwrap().durability, Some(FleetDurability::Replicated));
        assert_eq!(read("fleet.durability", "async").unwrap().durability, Some(FleetDurability::Async));
        for text in ["10", "10s"] {
            assert_eq!(read("fleet.dead_man", text).unwrap().dead_man, Some(Duration::from_secs(10)));
        }
        assert_eq!(read("fleet.budget", "team-search").unwrap().budget, Some(Name::parse("team-search").unwrap()));
        assert!(!read("money.budget_usd", "5").unwrap().is_asked_for(), "another section is another's");
        for (path, text) in [
            ("fleet.durability", "maybe"),
            ("fleet.dead_man", "1"),
            ("fleet.dead_man", "soon"),
            ("fleet.budget", "a b"),
            ("fleet.nonsense", "1"),
        ] {
            let error = read(path, text).unwrap_err().to_string();
            assert!(error.contains("line 7") && error.contains(path), "{error}");
        }
    }
}
