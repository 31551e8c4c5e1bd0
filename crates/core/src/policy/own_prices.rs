//! Prices that a person sets for models, over those of the table.

use super::setting::{Setting, SettingError, Text};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A person's own prices, such as `qwen3-coder=0.30/1.20, claude-opus-4-5=4/0.4/5/8/20`: dollars per million tokens, for input and
/// output, or for fresh input, cache read, cache write, long cache write and output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnPrices {
    written: Text,
    rows: Vec<OwnRow>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct OwnRow {
    name: String,
    mills: [u32; 5],
}

const EXPECTED: &str =
    "prices such as `model=0.30/1.20`: dollars per million tokens for input and output, or five of them";

impl OwnPrices {
    /// No price.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Each model with its prices in thousandths of a dollar per million tokens: fresh input, cache read, cache write, long cache
    /// write, output.
    pub fn iter(&self) -> impl Iterator<Item = (&str, [u32; 5])> {
        self.rows.iter().map(|row| (row.name.as_str(), row.mills))
    }
}

fn read_row(text: &str) -> Option<OwnRow> {
    let (name, prices) = text.split_once('=')?;
    let name = name.trim().to_ascii_lowercase();
    let prices: Vec<u32> = prices.split('/').map(in_mills).collect::<Option<_>>()?;
    let mills = match prices.as_slice() {
        [input, output] => [*input, *input, *input, *input, *output],
        [fresh, read, write, long, output] => [*fresh, *read, *write, *long, *output],
        _ => return None,
    };
    (!name.is_empty()).then_some(OwnRow { name, mills })
}

/// Dollars with at most three decimals, in thousandths.
fn in_mills(text: &str) -> Option<u32> {
    let (whole, part) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || part.len() > 3 || !digits(whole) || !digits(part) {
        return None;
    }
    format!("{whole}{part:0<3}").parse().ok()
}

impl Setting for OwnPrices {
    fn read(text: &str) -> Result<Self, SettingError> {
        let written = Text::read(text)?;
        let items = written.as_str().split(',').map(str::trim).filter(|item| !item.is_empty());
        let rows: Option<Vec<OwnRow>> = items.map(read_row).collect();
        let rows = rows.ok_or_else(|| SettingError::new(text, EXPECTED))?;
        Ok(Self { written, rows })
    }
    fn show(&self) -> String {
        self.written.show()
    }
    fn another(&self) -> String {
        String::from("another-model=1/2")
    }
}

impl Serialize for OwnPrices {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.written.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for OwnPrices {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::read(&text).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gate_8_a_persons_prices_are_read_exactly_and_nothing_else_is() {
        let own = OwnPrices::read("my-model=0.3/1.25, big=4/0.4/5/8/20.001").unwrap();
        let rows: Vec<_> = own.iter().collect();
        assert_eq!(rows, [("my-model", [300, 300, 300, 300, 1_250]), ("big", [4_000, 400, 5_000, 8_000, 20_001])]);
        for wrong in ["my-model", "m=1", "m=1/2/3", "m=-1/2", "m=1.0001/2", "m=/2", "=1/2", "m=1e3/2", "m=9999999/1"] {
            assert!(OwnPrices::read(wrong).is_err(), "{wrong}");
        }
        assert_eq!(OwnPrices::read("").unwrap(), OwnPrices::none());
    }
}
