//! A JSON text as values that borrow from it: what a reply says is looked at once and thrown away, so nothing of it is copied.
//!
//! It reads what [`serde_json::Value`] reads and refuses what that refuses. A name that stands twice in an object has its last
//! value.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};
use std::borrow::Cow;
use std::fmt;

/// Room for the members of an object, so that most are read without growing.
const MEMBERS_USUAL: usize = 8;

/// A value of a JSON text.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json<'t> {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'t, str>),
    List(Vec<Self>),
    /// Its members as they stand there.
    Object(Vec<(Cow<'t, str>, Self)>),
}

impl<'t> Json<'t> {
    /// Reads a whole text.
    pub(super) fn read(text: &'t str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The member of an object.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        let members = self.as_object()?;
        members.iter().rev().find(|(found, _)| found == name).map(|(_, value)| value)
    }

    /// The member of a member, and so on.
    pub(super) fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |value, name| value.get(name))
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub(super) fn as_u64(&self) -> Option<u64> {
        if let Self::Number(number) = self { number.as_u64() } else { None }
    }

    pub(super) fn as_array(&self) -> Option<&[Self]> {
        if let Self::List(list) = self { Some(list) } else { None }
    }

    pub(super) fn as_object(&self) -> Option<&[(Cow<'t, str>, Self)]> {
        if let Self::Object(members) = self { Some(members) } else { None }
    }

    pub(super) const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The text of the value, without spaces and with each name once.
    pub(super) fn to_text(&self) -> String {
        self.to_value().to_string()
    }

    fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Number(number) => Value::Number(number.clone()),
            Self::Text(text) => Value::String(text.clone().into_owned()),
            Self::List(list) => list.iter().map(Self::to_value).collect(),
            Self::Object(members) => Value::Object(
                members.iter().map(|(name, value)| (name.clone().into_owned(), value.to_value())).collect(),
            ),
        }
    }
}

impl<'de> Deserialize<'de> for Json<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json<'de>, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json<'de>, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json<'de>, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json<'de>, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json<'de>, E> {
        Ok(Number::from_f64(value).map_or(Json::Null, Json::Number))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json<'de>, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = seq.next_element()? {
            list.push(value);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json<'de>, A::Error> {
        let mut members = Vec::with_capacity(MEMBERS_USUAL);
        while let Some((Name(name), value)) = map.next_entry()? {
            members.push((name, value));
        }
        Ok(Json::Object(members))
    }
}

/// The name of a member, borrowed where no escape stands in it.
pub(super) struct Name<'t>(pub(super) Cow<'t, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(NameVisitor)
    }
}

struct NameVisitor;

impl<'de> Visitor<'de> for NameVisitor {
    type Value = Name<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Name<'de>, E> {
        Ok(Name(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Name<'de>, E> {
        Ok(Name(Cow::Owned(text.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_borrows_says_what_owns_and_refuses_what_that_refuses() {
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let (whole, too_deep) = (deep(127), deep(128));
        for text in [
            r#"{"b":1,"a":{"x":[1,-2,0.5,1e3,18446744073709551615,true,null,"t\u0041\n\"",""]},"é":"ü"}"#,
            r#"{"a":1,"b":2,"a":{"c":3}}"#,
            r#"  [ "x" , { } , [ ] ]  "#,
            "7",
            r#""text""#,
            &whole,
            &too_deep,
            "1e999",
            r#"{"a":"\ud83d"}"#,
            r#"{"a":1} x"#,
            r#"{"a":1"#,
            r#"{"a":1,}"#,
            "",
            "nul",
        ] {
            let owned = serde_json::from_str::<Value>(text).ok();
            assert_eq!(Json::read(text).map(|value| value.to_text()), owned.map(|value| value.to_string()), "{text}");
        }
    }

    #[test]
    fn members_are_found_as_an_owned_value_finds_them() {
        let text = r#"{"a":1,"b":{"c":[{"d":"\u0065"}]},"a":2,"e":null,"f":-1,"g":1.0}"#;
        let (seen, owned) = (Json::read(text).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        for name in ["a", "b", "e", "f", "g", "missing"] {
            let (one, other) = (seen.get(name), owned.get(name));
            assert_eq!(one.map(Json::to_value).as_ref(), other, "{name}");
            assert_eq!(one.and_then(Json::as_u64), other.and_then(Value::as_u64), "{name}");
            assert_eq!(one.is_some_and(Json::is_null), other.is_some_and(Value::is_null), "{name}");
        }
        let list = seen.at(&["b", "c"]).and_then(Json::as_array).unwrap();
        assert_eq!(list.first().and_then(|first| first.get("d")).and_then(Json::as_str), Some("e"));
        assert_eq!(list.first().and_then(|first| first.at(&["d", "d"])), None);
    }
}
