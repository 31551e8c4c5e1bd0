//! Figures out of a provider's JSON: a negative or fractional one is no figure, and makes all of them doubtful.

use super::json::Json;
use tripwire_core::units::Tokens;

/// The figures of an object.
#[derive(Debug)]
pub(super) struct Figures<'v> {
    value: &'v Json<'v>,
    /// Whether one of them was no figure.
    pub(super) is_broken: bool,
}

impl<'v> Figures<'v> {
    pub(super) const fn over(value: &'v Json<'v>) -> Self {
        Self { value, is_broken: false }
    }

    /// A figure; nothing where it is missing or null.
    pub(super) fn get(&mut self, name: &str) -> Option<Tokens> {
        let value = self.value.get(name).filter(|value| !value.is_null())?;
        let figure = value.as_u64().map(Tokens::new);
        self.is_broken |= figure.is_none();
        figure
    }

    /// A figure of an object inside.
    pub(super) fn inside(&mut self, object: &str, name: &str) -> Option<Tokens> {
        let mut inner = Figures::over(self.value.get(object)?);
        let figure = inner.get(name);
        self.is_broken |= inner.is_broken;
        figure
    }
}
