//! The way of a client's model calls: through the gateway of its run, with the provider's key kept here.
//!
//! The gateway's address takes the place of the provider's, and everything that the client writes behind it stays as it is.

use std::fmt;
use tripwire_core::family::{Family, KeyHeader};
use tripwire_secrets::Secret;

/// The gateway of a run, as a client is told of it.
#[derive(Clone, Copy)]
pub struct GatewayPlace<'a> {
    /// Its address, with the segment that only this run knows.
    pub url: &'a str,
    /// What stands in the place of a provider's key.
    pub token: &'a str,
}

impl GatewayPlace<'_> {
    /// The address for one family of APIs.
    #[must_use]
    pub fn base(&self, family: Family) -> String {
        format!("{}/{}", self.url, family.as_str())
    }
}

impl fmt::Debug for GatewayPlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GatewayPlace(…)")
    }
}

/// The way of a client's model calls.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Routing {
    /// The run has no gateway.
    #[default]
    Off,
    /// Through the gateway.
    Through(Vec<ModelRoute>),
    /// Past it, for this reason: a person is told before the client starts.
    Around(String),
}

/// Where the gateway sends the requests of one family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRoute {
    /// The family.
    pub family: Family,
    /// The provider's address, as the client would have been told.
    pub base_url: String,
    /// The key that was taken out of the client's environment; without one the client's own credential passes.
    pub key: Option<Secret>,
    /// The header that carries it.
    pub key_header: KeyHeader,
}

/// The variables by which a program is told where an API is, and with which key.
#[derive(Debug, Clone, Copy)]
pub struct ApiVariables {
    /// The family.
    pub family: Family,
    /// Those of the address; the first that is set counts.
    pub base_urls: &'static [&'static str],
    /// Those of the key; the first that is set counts.
    pub keys: &'static [KeyVariable],
    /// The provider's own address.
    pub default_base: &'static str,
}

/// A variable that holds a key.
#[derive(Debug, Clone, Copy)]
pub struct KeyVariable {
    /// Its name.
    pub name: &'static str,
    /// The header in which the program sends it.
    pub header: KeyHeader,
}

impl ApiVariables {
    /// The route of a program that reads these variables: `variable` gives what it would have found, `set` what it will find.
    pub fn route(
        &self,
        gateway: GatewayPlace<'_>,
        variable: impl Fn(&str) -> Option<String>,
        mut set: impl FnMut(&str, String),
    ) -> ModelRoute {
        let given = |name: &str| variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let base_url = self.base_urls.iter().find_map(|name| given(name));
        for name in self.base_urls {
            set(name, gateway.base(self.family));
        }
        let mut found = None;
        for key in self.keys {
            let Some(value) = given(key.name) else { continue };
            set(key.name, gateway.token.to_owned());
            found = found.or_else(|| Some((Secret::new(&value).filter(Secret::is_sendable)?, key.header)));
        }
        let (key, header) = found.map_or((None, KeyHeader::Usual), |(key, header)| (Some(key), header));
        let base_url = base_url.unwrap_or_else(|| self.default_base.to_owned());
        ModelRoute { family: self.family, base_url, key, key_header: header }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const TABLE: ApiVariables = ApiVariables {
        family: Family::OpenAi,
        base_urls: &["A_BASE", "B_BASE"],
        keys: &[
            KeyVariable { name: "A_TOKEN", header: KeyHeader::Bearer },
            KeyVariable { name: "A_KEY", header: KeyHeader::Usual },
        ],
        default_base: "https://api.example",
    };
    const PLACE: GatewayPlace<'static> = GatewayPlace { url: "http://127.0.0.1:1/seg", token: "tok" };

    fn routed(env: &[(&str, &str)]) -> (ModelRoute, BTreeMap<String, String>) {
        let mut set = BTreeMap::new();
        let variable = |name: &str| env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let route = TABLE.route(PLACE, variable, |name, value| drop(set.insert(name.to_owned(), value)));
        (route, set)
    }

    #[test]
    fn keys_are_replaced_by_the_token_and_the_address_by_the_gateways() {
        let (route, set) = routed(&[("B_BASE", "http://x/v1"), ("A_KEY", "sk-1"), ("A_TOKEN", " ")]);
        assert_eq!((route.base_url.as_str(), route.key_header), ("http://x/v1", KeyHeader::Usual));
        assert_eq!(route.key.as_ref().map(Secret::reveal), Some("sk-1"));
        assert!(!format!("{route:?}{PLACE:?}").contains("sk-1"), "a key is never printed");
        let expected = [
            ("A_BASE", "http://127.0.0.1:1/seg/openai"),
            ("A_KEY", "tok"),
            ("B_BASE", "http://127.0.0.1:1/seg/openai"),
        ];
        assert_eq!(set.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect::<Vec<_>>(), expected);
        let (both, set) = routed(&[("A_KEY", "sk-1"), ("A_TOKEN", "t-2")]);
        assert_eq!((both.key.as_ref().map(Secret::reveal), both.key_header), (Some("t-2"), KeyHeader::Bearer));
        assert_eq!((set["A_KEY"].as_str(), set["A_TOKEN"].as_str()), ("tok", "tok"), "no key stays behind");
    }

    #[test]
    fn without_a_key_the_clients_own_credential_passes() {
        let (route, set) = routed(&[]);
        assert_eq!((route.base_url.as_str(), route.key), ("https://api.example", None));
        assert_eq!(set.len(), 2, "only the addresses");
    }
}
