//! What kind of work an event was, as a set of names.

use serde::de::Error as _;
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One kind of work an event may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flag {
    /// It changed a file of the workspace.
    Edit,
    /// It installed or removed something.
    Install,
    /// It ran the tests.
    Test,
    /// It built the project.
    Build,
    /// It read a file or a page.
    Read,
    /// It searched.
    Search,
    /// It planned or thought, and touched nothing.
    Plan,
    /// It waited for something outside: a poll.
    Wait,
    /// It changed documentation.
    Docs,
    /// It was meant to change something, and no edit or install of the workspace was seen.
    Change,
    /// It asked a question in plain words.
    Ask,
    /// Nothing came back: a message, or a call whose end was not seen.
    Silent,
    /// All that it changed is plain text, which no test could check.
    Text,
    /// Files of the workspace that a test could check changed while it ran, whatever its words say and however it ended.
    Touched,
    /// It hands a task to another agent.
    Spawn,
    /// What the model said before it tells that it starts over: the way before did not work.
    Retry,
}

impl Flag {
    /// Every flag with its name in JSON, in the order in which they are written.
    pub const ALL: [(Self, &'static str); 16] = [
        (Self::Edit, "edit"),
        (Self::Install, "install"),
        (Self::Test, "test"),
        (Self::Build, "build"),
        (Self::Read, "read"),
        (Self::Search, "search"),
        (Self::Plan, "plan"),
        (Self::Wait, "wait"),
        (Self::Docs, "docs"),
        (Self::Change, "change"),
        (Self::Ask, "ask"),
        (Self::Silent, "silent"),
        (Self::Text, "text"),
        (Self::Touched, "touched"),
        (Self::Spawn, "spawn"),
        (Self::Retry, "retry"),
    ];

    const fn bit(self) -> u16 {
        match self {
            Self::Edit => 1,
            Self::Install => 1 << 1,
            Self::Test => 1 << 2,
            Self::Build => 1 << 3,
            Self::Read => 1 << 4,
            Self::Search => 1 << 5,
            Self::Plan => 1 << 6,
            Self::Wait => 1 << 7,
            Self::Docs => 1 << 8,
            Self::Change => 1 << 9,
            Self::Ask => 1 << 10,
            Self::Silent => 1 << 11,
            Self::Text => 1 << 12,
            Self::Touched => 1 << 13,
            Self::Spawn => 1 << 14,
            Self::Retry => 1 << 15,
        }
    }
}

/// A set of [`Flag`]s, written in JSON as a list of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(u16);

impl Flags {
    /// The set with one flag more.
    #[must_use]
    pub const fn with(self, flag: Flag) -> Self {
        Self(self.0 | flag.bit())
    }

    /// Whether a flag is in the set.
    #[must_use]
    pub const fn has(self, flag: Flag) -> bool {
        self.0 & flag.bit() != 0
    }

    /// Whether the set is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0 == 0
    }
}

impl Serialize for Flags {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for (flag, name) in Flag::ALL {
            if self.has(flag) {
                list.serialize_element(name)?;
            }
        }
        list.end()
    }
}

impl<'de> Deserialize<'de> for Flags {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FlagsVisitor;
        impl<'de> serde::de::Visitor<'de> for FlagsVisitor {
            type Value = Flags;
            fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str("a list of flag names such as [\"edit\"]")
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<Flags, A::Error> {
                let mut flags = Flags::default();
                while let Some(name) = list.next_element::<alloc::borrow::Cow<'de, str>>()? {
                    match Flag::ALL.iter().find(|(_, known)| *known == name) {
                        Some((flag, _)) => flags = flags.with(*flag),
                        None => return Err(A::Error::custom(format_args!("unknown flag `{name}`"))),
                    }
                }
                Ok(flags)
            }
        }
        deserializer.deserialize_seq(FlagsVisitor)
    }
}
