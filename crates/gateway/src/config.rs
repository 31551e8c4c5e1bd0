//! The configuration: providers, keys, teams, organisations, as TOML; a mistake is named with line and column.

use crate::limits::{BUFFERED_BYTES_MAX, FIRST_BYTE_WAIT, REUSED_WITHIN};
use crate::upstream::{Destination, base_address, certificates, host_of};
use crate::wire::Family;
use hyper::Uri;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use toml::Spanned;
use tripwire_core::explain::Explain;
use tripwire_core::family::KeyHeader;
use tripwire_core::ledger::{AccountId, AccountKind, AccountSettings, Budget, Period};
use tripwire_core::record::chain::Digest;
use tripwire_core::units::MicroUsd;
use tripwire_secrets::Secret;
use tripwire_shell::glob::Glob;

/// The largest configuration that is read.
pub const CONFIG_BYTES_MAX: u64 = 1 << 20;

/// The most mebibytes that `buffered_mib` may be.
const BUFFERED_MIB_MAX: usize = 1 << 16;
/// Accounts above one another: a key, its team, their organisation, and room.
const ACCOUNTS_ABOVE_MAX: usize = 8;

/// A configuration that can be used.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where requests go.
    pub providers: Vec<Arc<Provider>>,
    /// Who may send them; without any, everybody on this machine may.
    pub keys: Vec<Key>,
    /// The accounts of keys, teams and organisations.
    pub accounts: Vec<(AccountId, AccountSettings)>,
    /// The most bytes of requests that are held at once.
    pub buffered_bytes_max: usize,
    /// What becomes of tool calls in replies.
    pub tool_calls: ToolCalls,
}

/// What becomes of tool calls in replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolCalls {
    /// They are decided about as hooks would, each conversation a session of the workspace.
    #[default]
    Guard,
    /// They pass unread.
    Pass,
}

/// A provider.
#[derive(Debug, Clone)]
pub struct Provider {
    /// Its name.
    pub name: String,
    /// What it speaks.
    pub family: Family,
    /// Its address; the path before the provider's own, without a slash at its end.
    pub base: Uri,
    /// Its key, where we hold it.
    pub key: Option<Secret>,
    /// The header that carries the key.
    pub key_header: KeyHeader,
    /// Who takes over when it is overloaded.
    pub fallback: Vec<String>,
    /// Whether paths without a price pass.
    pub unpriced: Unpriced,
    /// A file with certificates that are trusted beside the system's.
    pub ca_file: Option<PathBuf>,
}

impl Provider {
    /// Its host and port, without a name and a password before them: it is shown.
    #[must_use]
    pub fn host(&self) -> &str {
        host_of(&self.base)
    }

    /// Where requests to it go.
    pub(crate) fn destination(&self) -> Destination<'_> {
        let Self { base, ca_file, .. } = self;
        Destination { base, ca_file: ca_file.as_deref(), answers_within: FIRST_BYTE_WAIT, reused_within: REUSED_WITHIN }
    }
}

/// What becomes of a path without a price that would get around a limit of its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unpriced {
    /// It is refused.
    #[default]
    Refuse,
    /// It passes and is counted.
    Allow,
}

/// Someone who may send requests.
#[derive(Debug, Clone)]
pub struct Key {
    /// Its name, and that of its account.
    pub name: String,
    /// The digest of its token.
    pub token: Digest,
    /// Requests that it may send in a minute.
    pub requests_per_minute: Option<u64>,
    /// Tokens that its calls may use in a minute.
    pub tokens_per_minute: Option<u64>,
    /// The models it may ask; all without any.
    pub models: Vec<Glob>,
}

impl Key {
    /// Its account.
    #[must_use]
    pub fn account(&self) -> AccountId {
        AccountId::new(AccountKind::Key, &self.name)
    }

    /// Whether it may ask this model.
    #[must_use]
    pub fn may_ask(&self, model: &str) -> bool {
        self.models.is_empty() || self.models.iter().any(|glob| glob.fits(model))
    }
}

/// A mistake in a configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {what}")]
pub struct ConfigError {
    line: usize,
    column: usize,
    what: String,
}

impl Explain for ConfigError {
    fn hint(&self) -> Cow<'_, str> {
        "see `tripwire help gateway-config` for every field; `tripwire gateway key new NAME` prints a block to add"
            .into()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigText {
    buffered_mib: Option<Spanned<usize>>,
    #[serde(default)]
    tool_calls: ToolCalls,
    #[serde(default)]
    provider: Vec<ProviderText>,
    #[serde(default)]
    key: Vec<KeyText>,
    #[serde(default)]
    team: Vec<TeamText>,
    #[serde(default)]
    org: Vec<OrgText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProviderText {
    name: Spanned<String>,
    api: Family,
    base_url: Spanned<String>,
    key_env: Option<Spanned<String>>,
    key_file: Option<Spanned<PathBuf>>,
    #[serde(default)]
    fallback: Vec<Spanned<String>>,
    #[serde(default)]
    unpriced: Unpriced,
    ca_file: Option<Spanned<PathBuf>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyText {
    name: Spanned<String>,
    token_sha256: Spanned<String>,
    team: Option<Spanned<String>>,
    budget: Option<Spanned<String>>,
    requests_per_minute: Option<u64>,
    tokens_per_minute: Option<u64>,
    #[serde(default)]
    models: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TeamText {
    name: Spanned<String>,
    org: Option<Spanned<String>>,
    budget: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OrgText {
    name: Spanned<String>,
    budget: Option<Spanned<String>>,
}

impl Config {
    /// An account and every one above it, which pay together.
    pub(crate) fn paying(&self, account: &AccountId) -> Vec<AccountId> {
        let mut path = vec![account.clone()];
        let above = |id: &AccountId| {
            let settings = self.accounts.iter().find(|(listed, _)| listed == id).map(|(_, settings)| settings);
            settings.and_then(|settings| settings.parent.clone())
        };
        while let Some(parent) = path.last().and_then(above).filter(|_| path.len() < ACCOUNTS_ABOVE_MAX) {
            path.push(parent);
        }
        path
    }

    /// Reads a configuration. `env` gives the value of a variable, for the keys of providers.
    ///
    /// # Errors
    /// With the place of the first mistake.
    pub fn parse(text: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let reader = Reader { text, env };
        let read: ConfigText = toml::from_str(text)
            .map_err(|error| reader.wrong(error.span().unwrap_or_default(), error.message().replace('\n', " ")))?;
        let mut providers = Vec::new();
        for provider in &read.provider {
            providers.push(Arc::new(reader.provider(provider)?));
        }
        if providers.is_empty() {
            providers = default_providers(env);
        }
        reader.check_names(read.provider.iter().map(|provider| &provider.name))?;
        reader.check_names(read.key.iter().map(|key| &key.name))?;
        reader.check_names(read.team.iter().map(|team| &team.name))?;
        reader.check_names(read.org.iter().map(|org| &org.name))?;
        reader.check_fallbacks(&read.provider)?;
        let (mut keys, mut accounts) = (Vec::new(), Vec::new());
        let orgs: Vec<&str> = read.org.iter().map(|org| org.name.get_ref().as_str()).collect();
        let teams: Vec<&str> = read.team.iter().map(|team| team.name.get_ref().as_str()).collect();
        for org in &read.org {
            let settings = AccountSettings { parent: None, budget: reader.budget(org.budget.as_ref())? };
            accounts.push((AccountId::new(AccountKind::Org, org.name.get_ref()), settings));
        }
        for team in &read.team {
            let parent = reader.parent(AccountKind::Org, team.org.as_ref(), &orgs)?;
            let settings = AccountSettings { parent, budget: reader.budget(team.budget.as_ref())? };
            accounts.push((AccountId::new(AccountKind::Team, team.name.get_ref()), settings));
        }
        for key in &read.key {
            let parent = reader.parent(AccountKind::Team, key.team.as_ref(), &teams)?;
            let settings = AccountSettings { parent, budget: reader.budget(key.budget.as_ref())? };
            accounts.push((AccountId::new(AccountKind::Key, key.name.get_ref()), settings));
            let read = reader.key(key)?;
            if keys.iter().any(|known: &Key| known.token == read.token) {
                let what = "the digest is given twice: calls could not be attributed to one key";
                return Err(reader.wrong(key.token_sha256.span(), what.to_owned()));
            }
            keys.push(read);
        }
        let buffered_bytes_max = match &read.buffered_mib {
            None => BUFFERED_BYTES_MAX,
            Some(mib) if (1..=BUFFERED_MIB_MAX).contains(mib.get_ref()) => mib.get_ref() << 20,
            Some(mib) => {
                let what = format!("`{}` is not between 1 and {BUFFERED_MIB_MAX}", mib.get_ref());
                return Err(reader.wrong(mib.span(), what));
            }
        };
        Ok(Self { providers, keys, accounts, buffered_bytes_max, tool_calls: read.tool_calls })
    }

    /// The provider that requests of a family go to.
    #[must_use]
    pub fn provider_of(&self, family: Family) -> Option<&Arc<Provider>> {
        self.providers.iter().find(|provider| provider.family == family)
    }

    /// A provider by its name.
    #[must_use]
    pub fn provider(&self, name: &str) -> Option<&Arc<Provider>> {
        self.providers.iter().find(|provider| provider.name == name)
    }
}

/// The three providers at their own addresses, with the keys that the environment has.
fn default_providers(env: &dyn Fn(&str) -> Option<String>) -> Vec<Arc<Provider>> {
    [
        (Family::Anthropic, "https://api.anthropic.com", "ANTHROPIC_API_KEY"),
        (Family::OpenAi, "https://api.openai.com/v1", "OPENAI_API_KEY"),
        (Family::Gemini, "https://generativelanguage.googleapis.com", "GEMINI_API_KEY"),
    ]
    .into_iter()
    .filter_map(|(family, base, key)| {
        Some(Arc::new(Provider {
            name: family.as_str().to_owned(),
            family,
            base: base.parse().ok()?,
            key: env(key).and_then(|key| Secret::new(&key)).filter(Secret::is_sendable),
            key_header: KeyHeader::Usual,
            fallback: Vec::new(),
            unpriced: Unpriced::Refuse,
            ca_file: None,
        }))
    })
    .collect()
}

struct Reader<'a> {
    text: &'a str,
    env: &'a dyn Fn(&str) -> Option<String>,
}

impl Reader<'_> {
    fn wrong(&self, span: Range<usize>, what: String) -> ConfigError {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        ConfigError { line, column, what }
    }

    fn check_names<'n>(&self, names: impl Iterator<Item = &'n Spanned<String>>) -> Result<(), ConfigError> {
        let mut seen = BTreeSet::new();
        for name in names {
            let text = name.get_ref();
            let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.' | '@');
            if text.is_empty() || text.len() > 64 || !text.chars().all(plain) {
                let what = format!("`{text}` is not a name: letters, digits, `-`, `_`, `.` and `@`, at most 64");
                return Err(self.wrong(name.span(), what));
            }
            if !seen.insert(text.as_str()) {
                return Err(self.wrong(name.span(), format!("the name `{text}` is given twice")));
            }
        }
        Ok(())
    }

    /// Who takes over has to understand the same requests, and to be somebody else.
    fn check_fallbacks(&self, providers: &[ProviderText]) -> Result<(), ConfigError> {
        for provider in providers {
            for fallback in &provider.fallback {
                let name = fallback.get_ref();
                let what = match providers.iter().find(|known| known.name.get_ref() == name) {
                    None => format!("there is no provider `{name}`"),
                    Some(found) if found.name.get_ref() == provider.name.get_ref() => {
                        format!("`{name}` cannot take over from itself")
                    }
                    Some(found) if found.api != provider.api => {
                        let (ours, theirs) = (provider.api.as_str(), found.api.as_str());
                        format!("`{name}` speaks `{theirs}` and cannot take over requests for `{ours}`")
                    }
                    Some(_) => continue,
                };
                return Err(self.wrong(fallback.span(), what));
            }
        }
        Ok(())
    }

    fn budget(&self, text: Option<&Spanned<String>>) -> Result<Option<Budget>, ConfigError> {
        let Some(text) = text else { return Ok(None) };
        let budget = parse_budget(text.get_ref());
        budget.map(Some).ok_or_else(|| {
            let what = format!("`{}` is not a budget such as `5usd/day`, `100usd/month` or `20usd`", text.get_ref());
            self.wrong(text.span(), what)
        })
    }

    fn parent(
        &self,
        kind: AccountKind,
        name: Option<&Spanned<String>>,
        known: &[&str],
    ) -> Result<Option<AccountId>, ConfigError> {
        let Some(name) = name else { return Ok(None) };
        if !known.contains(&name.get_ref().as_str()) {
            return Err(self.wrong(name.span(), format!("there is no {} `{}`", kind.as_str(), name.get_ref())));
        }
        Ok(Some(AccountId::new(kind, name.get_ref())))
    }

    fn key(&self, key: &KeyText) -> Result<Key, ConfigError> {
        let token = key.token_sha256.get_ref().parse::<Digest>().map_err(|_| {
            self.wrong(key.token_sha256.span(), "`token_sha256` is not 64 hexadecimal digits".to_owned())
        })?;
        Ok(Key {
            name: key.name.get_ref().clone(),
            token,
            requests_per_minute: key.requests_per_minute,
            tokens_per_minute: key.tokens_per_minute,
            models: key.models.iter().map(|model| Glob::of(model)).collect(),
        })
    }

    fn provider(&self, provider: &ProviderText) -> Result<Provider, ConfigError> {
        // It is not shown: it may carry a password.
        let base = base_address(provider.base_url.get_ref()).ok_or_else(|| {
            let what = "this is not an address such as `https://api.anthropic.com`";
            self.wrong(provider.base_url.span(), what.to_owned())
        })?;
        if let Some(file) = &provider.ca_file {
            let unread = |error| self.wrong(file.span(), format!("`{}`: {error}", file.get_ref().display()));
            certificates(file.get_ref()).map_err(unread)?;
        }
        let key = match (&provider.key_env, &provider.key_file) {
            (Some(_), Some(file)) => {
                return Err(self.wrong(file.span(), "give `key_env` or `key_file`, not both".to_owned()));
            }
            (Some(name), None) => {
                let value = (self.env)(name.get_ref()).and_then(|value| Secret::new(&value));
                let what = || format!("the variable `{}` is not set", name.get_ref());
                let value = value.ok_or_else(|| self.wrong(name.span(), what()))?;
                Some(self.sendable(value, name.span(), &format!("the variable `{}`", name.get_ref()))?)
            }
            (None, Some(file)) => {
                let bytes = tripwire_fs::file::read_bounded(file.get_ref(), 64 << 10)
                    .map_err(|error| self.wrong(file.span(), error.to_string()))?;
                let secret = Secret::new(&String::from_utf8_lossy(&bytes));
                let secret = secret.ok_or_else(|| self.wrong(file.span(), "the file is empty".to_owned()))?;
                Some(self.sendable(secret, file.span(), "the file")?)
            }
            (None, None) => None,
        };
        Ok(Provider {
            name: provider.name.get_ref().clone(),
            family: provider.api,
            base,
            key,
            key_header: KeyHeader::Usual,
            fallback: provider.fallback.iter().map(|name| name.get_ref().clone()).collect(),
            unpriced: provider.unpriced,
            ca_file: provider.ca_file.as_ref().map(|file| file.get_ref().clone()),
        })
    }

    /// A key that a header can carry.
    fn sendable(&self, key: Secret, span: Range<usize>, what: &str) -> Result<Secret, ConfigError> {
        if key.is_sendable() {
            return Ok(key);
        }
        Err(self.wrong(span, format!("{what} has a line break or a letter that no header can carry inside the key")))
    }
}

/// A budget: `5usd/day`, `100usd/month`, `20usd`.
#[must_use]
pub fn parse_budget(text: &str) -> Option<Budget> {
    let (amount, period) = match text.split_once('/') {
        None => (text, Period::Whole),
        Some((amount, "day")) => (amount, Period::Day),
        Some((amount, "month")) => (amount, Period::Month),
        Some(_) => return None,
    };
    let limit = MicroUsd::parse(amount).filter(|limit| !limit.is_zero())?;
    Some(Budget { limit, period })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
[[provider]]
name = "main"
api = "anthropic"
base_url = "https://api.anthropic.com/"
key_env = "MAIN_KEY"
fallback = ["other"]

[[provider]]
name = "other"
api = "anthropic"
base_url = "http://127.0.0.1:9/prefix"
unpriced = "allow"

[[org]]
name = "acme"
budget = "1000usd/month"

[[team]]
name = "web"
org = "acme"

[[key]]
name = "ci"
team = "web"
token_sha256 = "0000000000000000000000000000000000000000000000000000000000000000"
budget = "5usd/day"
models = ["claude-*"]
"#;

    fn env(name: &str) -> Option<String> {
        match name {
            "MAIN_KEY" => Some("secret-1".to_owned()),
            "SPLIT_KEY" => Some("secret-1\nsecret-2".to_owned()),
            _ => None,
        }
    }

    #[test]
    fn a_whole_configuration_is_read() {
        let config = Config::parse(GOOD, &env).unwrap();
        let key = config.keys.first().unwrap();
        assert!(key.may_ask("claude-opus-4-5") && !key.may_ask("gpt-5"));
        assert_eq!(config.accounts.len(), 3);
        let (id, settings) = config.accounts.last().unwrap();
        assert_eq!(id.to_string(), "key ci");
        assert_eq!(settings.parent, Some(AccountId::new(AccountKind::Team, "web")));
        assert_eq!(settings.budget.map(|budget| budget.to_string()), Some("$5.00 a day".to_owned()));
        assert_eq!(config.provider("other").unwrap().unpriced, Unpriced::Allow);
        assert!(!format!("{config:?}").contains("secret-1"), "a key is never printed");
        assert_eq!(Config::parse("", &env).unwrap().providers.len(), 3, "the usual providers");
    }

    #[test]
    fn secret_1_an_address_that_is_none_is_not_shown_and_one_with_a_user_is_read() {
        for address in ["htps://ann:pass-1@host", "https://ann:pass-1@host?x", "https://ann:pass-1@host:99999"] {
            let error = Config::parse(&GOOD.replacen("http://127.0.0.1:9/prefix", address, 1), &env).unwrap_err();
            assert!(!error.to_string().contains("pass-1"), "{error}");
        }
        for (address, host) in
            [("https://ann:pass-1@host:8443/x", "host:8443"), ("http://[::1]:80", "[::1]:80"), ("http://h", "h")]
        {
            let read = Config::parse(&GOOD.replacen("http://127.0.0.1:9/prefix", address, 1), &env).unwrap();
            assert_eq!(read.provider("other").unwrap().host(), host);
        }
    }

    #[test]
    fn gate_8_two_keys_with_one_digest_are_refused_at_the_second() {
        let second = format!("[[key]]\nname = \"cd\"\ntoken_sha256 = \"{}\"\n", "0".repeat(64));
        let twice = format!("{GOOD}{second}");
        let error = Config::parse(&twice, &env).unwrap_err().to_string();
        assert!(error.starts_with("line 31, column 16: the digest is given twice"), "{error}");
    }

    #[test]
    fn gate_8_two_keys_with_digests_of_their_own_are_read() {
        let second = format!("[[key]]\nname = \"cd\"\ntoken_sha256 = \"{}\"\n", "1".repeat(64));
        assert_eq!(Config::parse(&format!("{GOOD}{second}"), &env).unwrap().keys.len(), 2);
    }

    #[test]
    fn a_mistake_is_named_with_its_line_and_column() {
        for (from, to, expected) in [
            ("api = \"anthropic\"", "api = \"cohere\"", "line 4, column 7"),
            ("key_env = \"MAIN_KEY\"", "key_env = \"NO_KEY\"", "line 6, column 11: the variable `NO_KEY` is not set"),
            ("fallback = [\"other\"]", "fallback = [\"nobody\"]", "line 7, column 13: there is no provider `nobody`"),
            (
                "fallback = [\"other\"]",
                "fallback = [\"other\", \"main\"]",
                "line 7, column 22: `main` cannot take over from itself",
            ),
            (
                "name = \"other\"\napi = \"anthropic\"",
                "name = \"other\"\napi = \"openai\"",
                "line 7, column 13: `other` speaks `openai` and cannot take over requests for `anthropic`",
            ),
            ("5usd/day", "5usd/week", "line 27, column 10: `5usd/week` is not a budget"),
            ("team = \"web\"", "team = \"app\"", "line 25, column 8: there is no team `app`"),
            ("token_sha256 = \"00", "token_sha256 = \"zz", "line 26, column 16: `token_sha256` is not"),
            ("name = \"other\"", "name = \"main\"", "line 10, column 8: the name `main` is given twice"),
            ("unpriced", "unprized", "line 13, column 1"),
            (
                "key_env = \"MAIN_KEY\"",
                "key_env = \"SPLIT_KEY\"",
                "line 6, column 11: the variable `SPLIT_KEY` has a line break",
            ),
            ("http://127.0.0.1:9/prefix", "http://127.0.0.1:99999", "line 12, column 12: this is not an address"),
            ("http://127.0.0.1:9/prefix", "http://[::1]:99999/x", "line 12, column 12: this is not an address"),
            (
                "unpriced = \"allow\"",
                "ca_file = \"/nonexistent/ca.pem\"",
                "line 13, column 11: `/nonexistent/ca.pem`: ",
            ),
            ("http://127.0.0.1:9/prefix", "ftp://x", "line 12, column 12: this is not an address"),
        ] {
            let error = Config::parse(&GOOD.replacen(from, to, 1), &env).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{to}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
