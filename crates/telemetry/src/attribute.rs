//! Names and values of spans and metrics.

/// A name and a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Attribute {
    pub(crate) key: &'static str,
    pub(crate) value: AttributeValue,
}

/// A value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AttributeValue {
    Text(String),
    Integer(u64),
    Flag(bool),
}

impl Attribute {
    pub(crate) fn text(key: &'static str, value: impl Into<String>) -> Self {
        Self { key, value: AttributeValue::Text(value.into()) }
    }

    pub(crate) const fn integer(key: &'static str, value: u64) -> Self {
        Self { key, value: AttributeValue::Integer(value) }
    }

    pub(crate) fn of(key: &'static str, value: impl Into<AttributeValue>) -> Self {
        Self { key, value: value.into() }
    }
}

impl From<bool> for AttributeValue {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}
