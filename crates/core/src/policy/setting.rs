//! How one setting is read, printed and bounded.

use crate::explain::Explain;
use crate::units::{Count, MicroUsd, Ratio, RunMillis, Tokens};
use alloc::borrow::{Cow, ToOwned};
use alloc::format;
use alloc::string::{String, ToString};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Why a text is no value for a setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct SettingError {
    /// What a person wrote.
    pub text: String,
    /// What is allowed.
    pub expected: &'static str,
}

impl Explain for SettingError {
    fn hint(&self) -> Cow<'_, str> {
        Cow::Borrowed("list all settings with `tripwire policy show`")
    }
}

impl SettingError {
    pub(super) fn new(text: &str, expected: &'static str) -> Self {
        Self { text: crate::label::cut(text, 80).to_owned(), expected }
    }
}

/// One row of `policy show`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingRow {
    /// The dotted name.
    pub path: &'static str,
    /// The value as a person would write it.
    pub value: String,
    /// The number in force, where the value leaves it to the profile.
    pub in_force: Option<String>,
    /// What it means.
    pub doc: &'static str,
    /// The document that sets the default.
    pub source: &'static str,
    /// A value that differs from this one, for tests of the frozen hash.
    pub another: Option<String>,
}

impl SettingRow {
    /// The value for a person: what is left to the profile comes with its number.
    #[must_use]
    pub fn shown(&self) -> String {
        match &self.in_force {
            Some(number) => format!("{} ({number})", self.value),
            None => self.value.clone(),
        }
    }
}

/// A type that a setting may have.
pub(super) trait Setting: Sized {
    /// Reads the text a person wrote.
    fn read(text: &str) -> Result<Self, SettingError>;
    /// Prints it so that [`Setting::read`] takes it back.
    fn show(&self) -> String;
    /// Some other legal value.
    fn another(&self) -> String;
}

fn number<T: core::str::FromStr>(text: &str, expected: &'static str) -> Result<T, SettingError> {
    let plain: String = text.chars().filter(|character| *character != '_').collect();
    if plain.is_empty() || !plain.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(SettingError::new(text, expected));
    }
    plain.parse().map_err(|_| SettingError::new(text, expected))
}

macro_rules! whole_number {
    ($type:ty, $inner:ty, $expected:literal) => {
        impl Setting for $type {
            fn read(text: &str) -> Result<Self, SettingError> {
                let value: $inner = number(text, $expected)?;
                if value > Self::MAX.get() {
                    return Err(SettingError::new(text, $expected));
                }
                Ok(Self::new(value))
            }
            fn show(&self) -> String {
                self.get().to_string()
            }
            fn another(&self) -> String {
                self.get().saturating_add(1).to_string()
            }
        }
    };
}

whole_number!(Tokens, u64, "a whole number of tokens");
whole_number!(RunMillis, u64, "a whole number of milliseconds");
whole_number!(MicroUsd, u64, "a whole number of micro-dollars");
whole_number!(Count, u32, "a whole number");

impl Setting for Ratio {
    fn read(text: &str) -> Result<Self, SettingError> {
        Self::parse(text).ok_or_else(|| SettingError::new(text, "a decimal between 0 and 1"))
    }
    fn show(&self) -> String {
        self.to_string()
    }
    fn another(&self) -> String {
        if *self == Self::ONE { Self::ZERO.to_string() } else { self.plus(Self::from_millionths(1)).to_string() }
    }
}

/// A bound that may be switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit<T> {
    /// No bound.
    Off,
    /// This bound.
    At(T),
}

impl<T: Copy> Limit<T> {
    /// The bound, if there is one.
    #[must_use]
    pub const fn get(self) -> Option<T> {
        match self {
            Self::Off => None,
            Self::At(value) => Some(value),
        }
    }
}

impl<T: Setting> Setting for Limit<T> {
    fn read(text: &str) -> Result<Self, SettingError> {
        if text == "off" || text == "null" { Ok(Self::Off) } else { T::read(text).map(Self::At) }
    }
    fn show(&self) -> String {
        match self {
            Self::Off => "off".to_owned(),
            Self::At(value) => value.show(),
        }
    }
    fn another(&self) -> String {
        match self {
            Self::Off => "1".to_owned(),
            Self::At(_) => "off".to_owned(),
        }
    }
}

impl<T: Serialize> Serialize for Limit<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_none(),
            Self::At(value) => serializer.serialize_some(value),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Limit<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(|value| value.map_or(Self::Off, Self::At))
    }
}

/// A setting with named values.
pub trait Choice: Sized + Copy + PartialEq + 'static {
    /// What a person may write, for the error message.
    const EXPECTED: &'static str;
    /// Every value with its name.
    const NAMES: &'static [(Self, &'static str)];

    /// The value of a name.
    #[must_use]
    fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(value, _)| *value)
    }

    /// The name of the value.
    #[must_use]
    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(value, _)| *value == self).map_or("", |(_, name)| name)
    }
}

macro_rules! choice_setting {
    ($type:ty) => {
        impl Setting for $type {
            fn read(text: &str) -> Result<Self, SettingError> {
                Self::from_name(text).ok_or_else(|| SettingError::new(text, Self::EXPECTED))
            }
            fn show(&self) -> String {
                self.name().to_owned()
            }
            fn another(&self) -> String {
                Self::NAMES
                    .iter()
                    .find(|(value, _)| value != self)
                    .map_or_else(String::new, |(_, name)| (*name).to_owned())
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = String::deserialize(deserializer)?;
                Self::read(&name).map_err(D::Error::custom)
            }
        }
    };
}

/// Which reading of the loop rules holds; chosen at the start and frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// The documents to the letter, each count on its own.
    Strict,
    /// The same ladder and numbers, counted on evidence.
    #[default]
    Balanced,
}

impl Choice for Profile {
    const EXPECTED: &'static str = "`strict` or `balanced`";
    const NAMES: &'static [(Self, &'static str)] = &[(Self::Strict, "strict"), (Self::Balanced, "balanced")];
}
choice_setting!(Profile);

/// What a broken guard means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnGuardFailure {
    /// Nothing more happens until a person looks.
    #[default]
    Hold,
    /// Work goes on, loudly, and is never reported as guarded.
    Allow,
}

impl Choice for OnGuardFailure {
    const EXPECTED: &'static str = "`hold` or `allow`";
    const NAMES: &'static [(Self, &'static str)] = &[(Self::Hold, "hold"), (Self::Allow, "allow")];
}
choice_setting!(OnGuardFailure);

/// What becomes of a command that publishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnPublish {
    /// It waits for a person.
    #[default]
    Hold,
    /// It passes.
    Allow,
}

impl Choice for OnPublish {
    const EXPECTED: &'static str = "`hold` or `allow`";
    const NAMES: &'static [(Self, &'static str)] = &[(Self::Hold, "hold"), (Self::Allow, "allow")];
}
choice_setting!(OnPublish);

/// What becomes of a command that stands in text from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnOutside {
    /// It waits for a person.
    #[default]
    Hold,
    /// It passes.
    Allow,
}

impl Choice for OnOutside {
    const EXPECTED: &'static str = "`hold` or `allow`";
    const NAMES: &'static [(Self, &'static str)] = &[(Self::Hold, "hold"), (Self::Allow, "allow")];
}
choice_setting!(OnOutside);

/// What becomes of a model request that carries one of the workspace's own secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnOutbound {
    /// It passes and is written down.
    #[default]
    Note,
    /// It is refused.
    Hold,
}

impl Choice for OnOutbound {
    const EXPECTED: &'static str = "`note` or `hold`";
    const NAMES: &'static [(Self, &'static str)] = &[(Self::Note, "note"), (Self::Hold, "hold")];
}
choice_setting!(OnOutbound);

/// What a tool that failed means for the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnToolError {
    /// The model sees the error and goes on.
    #[default]
    Continue,
    /// The run ends.
    Stop,
}

impl Choice for OnToolError {
    const EXPECTED: &'static str = "`continue` or `stop`";
    const NAMES: &'static [(Self, &'static str)] = &[(Self::Continue, "continue"), (Self::Stop, "stop")];
}
choice_setting!(OnToolError);

/// A yes or no, spelled as a type so that no bare bool crosses a boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// Off.
    Off,
    /// On.
    On,
}

impl Choice for Switch {
    const EXPECTED: &'static str = "`true` or `false`";
    const NAMES: &'static [(Self, &'static str)] = &[(Self::Off, "false"), (Self::On, "true")];
}
choice_setting!(Switch);

/// A text that core only carries and freezes: commands, roles, path lists.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Text(String);

impl Text {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Wraps a text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl Setting for Text {
    fn read(text: &str) -> Result<Self, SettingError> {
        if text.len() > crate::limits::QUOTE_BYTES_MAX {
            return Err(SettingError::new(text, "a text of at most 2000 bytes"));
        }
        Ok(Self(text.to_owned()))
    }
    fn show(&self) -> String {
        self.0.clone()
    }
    fn another(&self) -> String {
        format!("{}x", self.0)
    }
}
