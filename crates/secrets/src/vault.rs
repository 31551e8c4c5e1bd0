//! The real values behind the placeholders of a session: in memory only, gone with the process.

use crate::placeholder::placeholders;
use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::String;

/// The real values, by their placeholders; none behind a placeholder that stands for two values.
#[derive(Clone, Default)]
pub struct Vault(BTreeMap<String, Option<String>>);

/// A placeholder whose value is not known any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{placeholder}` stands for a secret that is not in memory any more")]
pub struct UnresolvedError {
    /// The placeholder.
    pub placeholder: String,
}

impl Vault {
    /// Keeps a value.
    pub(crate) fn keep(&mut self, placeholder: &str, value: &str) {
        match self.0.get_mut(placeholder) {
            None => {
                self.0.insert(placeholder.into(), Some(value.into()));
            }
            Some(kept) if kept.as_deref() != Some(value) => *kept = None,
            Some(_) => {}
        }
    }

    /// How many values it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A text with the real values in the place of the placeholders, as far as they are known.
    #[must_use]
    pub fn restore_known<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut restored = String::new();
        let mut place = 0;
        for (at, placeholder) in placeholders(text) {
            let Some(value) = self.0.get(placeholder).and_then(Option::as_deref) else { continue };
            restored.push_str(text.get(place..at).unwrap_or_default());
            restored.push_str(value);
            place = at.saturating_add(placeholder.len());
        }
        if place == 0 {
            return Cow::Borrowed(text);
        }
        restored.push_str(text.get(place..).unwrap_or_default());
        Cow::Owned(restored)
    }

    /// A text with the real values in the place of the placeholders.
    ///
    /// # Errors
    /// When it holds a placeholder whose value is not known: it must reach no file, command or request.
    pub fn restore<'a>(&self, text: &'a str) -> Result<Cow<'a, str>, UnresolvedError> {
        let unknown = |(_, placeholder): &(usize, &str)| self.0.get(*placeholder).is_none_or(Option::is_none);
        match placeholders(text).find(unknown) {
            Some((_, placeholder)) => Err(UnresolvedError { placeholder: placeholder.into() }),
            None => Ok(self.restore_known(text)),
        }
    }
}

impl core::fmt::Debug for Vault {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(formatter, "Vault({} values)", self.0.len())
    }
}
