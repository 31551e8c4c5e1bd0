//! A bound that belongs to the profile until a person sets it.

use super::setting::{Setting, SettingError};
use alloc::borrow::ToOwned;
use alloc::string::String;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A bound that belongs to the profile unless a person sets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByProfile<T> {
    /// What belongs to the profile.
    Auto,
    /// What a person set.
    At(T),
}

/// What a person writes for [`ByProfile::Auto`].
const AUTO: &str = "auto";

impl<T: Copy> ByProfile<T> {
    pub(super) fn or(self, of_profile: T) -> T {
        match self {
            Self::Auto => of_profile,
            Self::At(value) => value,
        }
    }
}

impl<T: Setting> Setting for ByProfile<T> {
    fn read(text: &str) -> Result<Self, SettingError> {
        if text == AUTO { Ok(Self::Auto) } else { T::read(text).map(Self::At) }
    }
    fn show(&self) -> String {
        match self {
            Self::Auto => AUTO.to_owned(),
            Self::At(value) => value.show(),
        }
    }
    fn another(&self) -> String {
        match self {
            Self::Auto => "1".to_owned(),
            Self::At(_) => AUTO.to_owned(),
        }
    }
}

impl<T: Serialize> Serialize for ByProfile<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_none(),
            Self::At(value) => serializer.serialize_some(value),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ByProfile<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(|value| value.map_or(Self::Auto, Self::At))
    }
}
