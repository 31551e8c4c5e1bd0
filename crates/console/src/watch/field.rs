//! A line that a person types: text in, text out, bounded.

/// The most letters of a reason or a filter.
const LETTERS_MAX: usize = 500;

/// A text that is being typed; the cursor stands at its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TextField(String);

impl TextField {
    pub(super) fn holding(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }

    /// Adds what was typed or pasted; breaks and control characters become spaces.
    pub(super) fn add(&mut self, text: &str) {
        let room = LETTERS_MAX.saturating_sub(self.0.chars().count());
        self.0.extend(text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(room));
    }

    pub(super) fn delete(&mut self) {
        self.0.pop();
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
