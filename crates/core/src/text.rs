//! Texts with a meaning: what a tool is called is no argument, and what a model said is no reason.
//!
//! Their written form is the bare text. None is bounded here, because each carries text from outside and the
//! reader at the edge has bounded it; what the engine itself remembers is a [`crate::label::Label`].

use alloc::borrow::{Cow, ToOwned};
use alloc::string::String;
use core::fmt;
use core::ops::Deref;
use serde::{Deserialize, Serialize};

/// Declares a text of one meaning.
macro_rules! text {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// The bare text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The bare text, without a copy.
            #[must_use]
            pub fn into_string(self) -> String {
                self.0
            }
        }

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.0 == *other
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text!(
    /// A tool's name as a model wrote it; it may be unknown.
    ToolName
);
text!(
    /// The id by which a result names its call.
    CallId
);
text!(
    /// The arguments of a call as a model wrote them; they may be no JSON at all.
    Arguments
);
text!(
    /// What a model, an advisor or a reviewer said.
    ModelText
);
text!(
    /// What a tool gave back, or what the model is shown in its place.
    ToolOutput
);
text!(
    /// Where in memory a whole result lies.
    MemoryPointer
);
text!(
    /// What the agent is to reach, verbatim.
    Objective
);
text!(
    /// The system prompt, verbatim.
    SystemPrompt
);
text!(
    /// An instruction to the model.
    Instruction
);
text!(
    /// A message to a person.
    Notice
);
text!(
    /// One step of the work in a few words.
    StepSummary
);
text!(
    /// What was repeated, in the words of its signature.
    SignatureText
);

/// Why, in words. On the quiet path it is a fixed text and costs nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Reason(Cow<'static, str>);

impl Reason {
    /// A fixed text.
    #[must_use]
    pub const fn fixed(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }

    /// The bare text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The bare text, copied only where it was a fixed one.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0.into_owned()
    }
}

impl Deref for Reason {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Reason {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text))
    }
}

impl From<&'static str> for Reason {
    fn from(text: &'static str) -> Self {
        Self::fixed(text)
    }
}

impl PartialEq<str> for Reason {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for Reason {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_written_as_the_bare_text_and_read_back() {
        let tool = ToolName::from("read_file");
        assert_eq!(serde_json::to_string(&tool).unwrap(), r#""read_file""#);
        assert_eq!(serde_json::from_str::<ToolName>(r#""read_file""#).unwrap(), tool);
        let reason = Reason::fixed("quiet");
        assert_eq!(serde_json::to_string(&reason).unwrap(), r#""quiet""#);
        assert_eq!(serde_json::from_str::<Reason>(r#""quiet""#).unwrap(), reason);
        assert_eq!(postcard::to_allocvec(&reason).unwrap(), postcard::to_allocvec("quiet").unwrap());
    }
}
