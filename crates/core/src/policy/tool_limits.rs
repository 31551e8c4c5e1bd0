//! Limits of single tools, that a person sets: how often, how much output, whether a person is asked first.

use super::setting::{Setting, SettingError};
use crate::label::Label;
use crate::units::Count;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Tools that may have limits of their own; the counts of all of them are in the bounded state.
pub const LIMITED_TOOLS_MAX: usize = 32;

/// Limits by tool, such as `github/create_issue max_calls=5 per_minute=2 max_output=64KB approve=true; Bash max_calls=100`.
///
/// `SERVER/TOOL` is a tool of an MCP server, `SERVER/*` any of them that has no entry of its own; any other name is that of a
/// built-in tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolLimits {
    rows: Vec<ToolLimit>,
}

/// The limits of one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolLimit {
    /// The name that a person wrote.
    pub tool: Label,
    /// Calls in the whole session.
    pub max_calls: Option<Count>,
    /// Calls in a sliding minute.
    pub per_minute: Option<Count>,
    /// Bytes of one result that the agent gets.
    pub max_output: Option<OutputBytes>,
    /// Whether each call waits for a person.
    pub approve: Approve,
}

/// Bytes of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct OutputBytes(u64);

impl OutputBytes {
    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// Whether a call waits for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Approve {
    /// Only if another rule says so.
    #[default]
    No,
    /// Always.
    Always,
}

const EXPECTED: &str = "limits such as `github/create_issue max_calls=5 per_minute=2 max_output=64KB approve=true`, with `;` between tools";

impl ToolLimits {
    /// What may be limited of a tool.
    pub const KEYS: [&'static str; 4] = ["max_calls", "per_minute", "max_output", "approve"];

    /// No limit.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// The limits of a tool, by the name of its call, and the place of their row.
    #[must_use]
    pub fn of(&self, tool: &str) -> Option<(usize, &ToolLimit)> {
        let rows = || self.rows.iter().enumerate().filter(|(_, row)| row.fits(tool));
        rows().find(|(_, row)| !row.is_for_all()).or_else(|| rows().next())
    }

    /// Bytes of one result of a tool that the agent gets, where a person limited them.
    #[must_use]
    pub fn output_max(&self, tool: &str) -> Option<OutputBytes> {
        self.of(tool).and_then(|(_, limit)| limit.max_output)
    }

    /// The same limits with one more: `key` is one of `max_calls`, `per_minute`, `max_output` and `approve`.
    ///
    /// # Errors
    /// When the name or the value is none, or too many tools have limits.
    pub fn set(&mut self, tool: &str, key: &str, text: &str) -> Result<(), SettingError> {
        let wrong = || SettingError::new(&format!("{tool} {key}={text}"), EXPECTED);
        let place = self.rows.iter().position(|row| row.tool.as_str() == tool);
        let mut row = match place.and_then(|place| self.rows.get(place)) {
            Some(row) => row.clone(),
            None => ToolLimit::named(tool).ok_or_else(wrong)?,
        };
        row.set(key, text).ok_or_else(wrong)?;
        if let Some(known) = place.and_then(|place| self.rows.get_mut(place)) {
            *known = row;
            return Ok(());
        }
        if self.rows.len() >= LIMITED_TOOLS_MAX {
            return Err(SettingError::new(tool, "one of at most 32 tools with limits of their own"));
        }
        self.rows.push(row);
        Ok(())
    }
}

impl ToolLimit {
    fn named(tool: &str) -> Option<Self> {
        let plain = |letter: char| !letter.is_whitespace() && !letter.is_control() && !matches!(letter, ';' | '=');
        let tool = Label::new(tool).filter(|tool| !tool.is_empty() && tool.as_str().chars().all(plain))?;
        Some(Self { tool, max_calls: None, per_minute: None, max_output: None, approve: Approve::No })
    }

    fn set(&mut self, key: &str, text: &str) -> Option<()> {
        match key {
            "max_calls" => self.max_calls = Some(Count::read(text).ok()?),
            "per_minute" => self.per_minute = Some(Count::read(text).ok()?),
            "max_output" => self.max_output = Some(bytes(text)?),
            "approve" => {
                self.approve = match text {
                    "true" => Approve::Always,
                    "false" => Approve::No,
                    _ => return None,
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// Whether a call of this tool is meant. `mcp__SERVER__TOOL` is how every door names a tool of an MCP server.
    fn fits(&self, tool: &str) -> bool {
        let name = self.tool.as_str();
        if name == tool {
            return true;
        }
        let (Some((server, wanted)), Some((of, called))) =
            (name.split_once('/'), tool.strip_prefix("mcp__").and_then(|tool| tool.split_once("__")))
        else {
            return false;
        };
        server == of && (wanted == "*" || wanted == called)
    }

    /// Whether it is for all tools of a server.
    fn is_for_all(&self) -> bool {
        self.tool.as_str().ends_with("/*")
    }

    fn show(&self) -> String {
        let mut text = self.tool.to_string();
        if let Some(calls) = self.max_calls {
            text.push_str(&format!(" max_calls={calls}"));
        }
        if let Some(calls) = self.per_minute {
            text.push_str(&format!(" per_minute={calls}"));
        }
        if let Some(OutputBytes(bytes)) = self.max_output {
            text.push_str(&format!(" max_output={bytes}"));
        }
        if self.approve == Approve::Always {
            text.push_str(" approve=true");
        }
        text
    }
}

/// A number of bytes: `65536`, `64KB`, `2MB`.
fn bytes(text: &str) -> Option<OutputBytes> {
    let (digits, factor) = match text.strip_suffix("MB").or_else(|| text.strip_suffix("MiB")) {
        Some(digits) => (digits, 1_048_576_u64),
        None => match text.strip_suffix("KB").or_else(|| text.strip_suffix("KiB")) {
            Some(digits) => (digits, 1_024),
            None => (text, 1),
        },
    };
    let digits = digits.trim();
    let number: u64 =
        if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok()? } else { return None };
    let bytes = number.checked_mul(factor)?;
    (bytes < (1 << 53)).then_some(OutputBytes(bytes))
}

impl Setting for ToolLimits {
    fn read(text: &str) -> Result<Self, SettingError> {
        let mut limits = Self::default();
        for row in text.split(';').map(str::trim).filter(|row| !row.is_empty()) {
            let wrong = || SettingError::new(row, EXPECTED);
            let (tool, limit) = row.split_once(char::is_whitespace).ok_or_else(wrong)?;
            for part in limit.split_whitespace() {
                let (key, value) = part.split_once('=').ok_or_else(wrong)?;
                limits.set(tool, key, value)?;
            }
        }
        Ok(limits)
    }
    fn show(&self) -> String {
        self.rows.iter().map(ToolLimit::show).collect::<Vec<_>>().join("; ")
    }
    fn another(&self) -> String {
        String::from("another/tool max_calls=1")
    }
}

impl Serialize for ToolLimits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.show())
    }
}

impl<'de> Deserialize<'de> for ToolLimits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::read(&text).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &str = "github/create_issue max_calls=5 per_minute=2 max_output=65536 approve=true; Bash max_calls=100; db/* approve=true; db/read max_calls=9";

    #[test]
    fn tool_3_limits_are_read_as_they_are_written_and_belong_to_one_tool() {
        let limits = ToolLimits::read(&ALL.replace("65536", "64KB")).unwrap();
        assert_eq!(limits.show(), ALL);
        let max_calls = |tool: &str| limits.of(tool).and_then(|(_, limit)| limit.max_calls).map(Count::get);
        assert_eq!(max_calls("mcp__github__create_issue"), Some(5));
        assert_eq!(max_calls("Bash"), Some(100));
        assert_eq!(limits.output_max("mcp__github__create_issue").map(OutputBytes::get), Some(65_536));
        assert_eq!(limits.output_max("Bash"), None);
        assert_eq!(limits.of("mcp__db__drop").map(|(place, row)| (place, row.approve)), Some((2, Approve::Always)));
        assert_eq!(max_calls("mcp__db__read"), Some(9), "its own entry counts before that for all");
        for other in ["mcp__github__list", "mcp__other__create_issue", "create_issue", "bash", "db"] {
            assert_eq!(limits.of(other), None, "{other}");
        }
    }

    #[test]
    fn tool_3_a_limit_that_is_none_is_refused() {
        for wrong in [
            "x",
            "x max_calls",
            "x max_calls=many",
            "x calls=1",
            "x approve=maybe",
            "x max_output=9TB",
            "x max_output=-1",
        ] {
            assert!(ToolLimits::read(wrong).is_err(), "{wrong}");
        }
        let many: Vec<String> = (0..=LIMITED_TOOLS_MAX).map(|n| format!("t{n} max_calls=1")).collect();
        assert!(ToolLimits::read(&many.join(";")).is_err());
    }
}
