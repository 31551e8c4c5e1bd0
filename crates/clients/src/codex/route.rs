//! Where Codex sends its model calls: to the provider that its configuration names, set by overrides for this run.
//!
//! WebSockets are switched off with it: what passes on one cannot be counted.

use super::app_server::toml_text;
use super::settings::HOME;
use crate::install::change::read_settings;
use crate::launch::model_route::{GatewayPlace, ModelRoute, Routing};
use crate::launch::prepare::{LaunchPlace, PreparedClient};
use serde_json::Value;
use std::ffi::OsString;
use toml_edit::{DocumentMut, Item, Key};
use tripwire_core::family::{Family, KeyHeader};
use tripwire_secrets::Secret;

/// The provider that it has built in, and the one that stands for it in a run.
const OPENAI: &str = "openai";
const STAND_IN: &str = "tripwire-openai";
/// Providers that are built in and that no override changes.
const BUILT_IN: [&str; 4] = ["ollama", "lmstudio", "amazon-bedrock", "oss"];
/// Where it asks with an API key, and where with a login.
const API: &str = "https://api.openai.com/v1";
const LOGIN: &str = "https://chatgpt.com/backend-api/codex";

/// Sends its calls through the gateway, if they can go there.
pub(super) fn route(
    place: &LaunchPlace<'_>,
    gateway: GatewayPlace<'_>,
    arguments: usize,
    prepared: &mut PreparedClient,
) -> Routing {
    let words: Vec<String> = prepared.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let settings = CodexSettings::read(place, words.get(arguments..).unwrap_or_default());
    if settings.is_local {
        return Routing::Around("`--oss` has Codex ask a model on this machine".to_owned());
    }
    let id = settings.text(&["model_provider"]).unwrap_or_else(|| OPENAI.to_owned());
    if BUILT_IN.contains(&id.as_str()) {
        return Routing::Around(format!("Codex's built-in provider `{id}` cannot be told another address"));
    }
    let ours = gateway.base(Family::OpenAi);
    let mut variable = None;
    let (mut route, id, mut overrides) = if id == OPENAI {
        let (base_url, auth) = openai(place, &settings, &mut variable);
        let table = format!(
            "model_providers.{STAND_IN}={{name=\"OpenAI\",base_url={},wire_api=\"responses\",{auth},supports_websockets=false}}",
            toml_text(&ours)
        );
        (through(base_url), STAND_IN.to_owned(), vec![table])
    } else {
        let key = |field: &str| settings.text(&["model_providers", &id, field]);
        let Some(base_url) = key("base_url") else {
            return Routing::Around(format!("no address is known for Codex's provider `{id}`"));
        };
        variable = key("env_key").filter(|name| place.variable_text(name).is_some());
        // The client cuts the name of an override at each dot, quoted or not.
        if !id.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_')) {
            return Routing::Around(format!("the name of Codex's provider `{id}` cannot stand in an override"));
        }
        let overrides = vec![
            format!("model_providers.{id}.base_url={}", toml_text(&ours)),
            format!("model_providers.{id}.supports_websockets=false"),
        ];
        (through(base_url), id, overrides)
    };
    if let Some(name) = &variable {
        route.key = place.variable_text(name).as_deref().and_then(Secret::new).filter(Secret::is_sendable);
        prepared.set(name, gateway.token.into());
    }
    overrides.push(format!("model_provider={}", toml_text(&id)));
    let at = arguments + behind_overrides(words.get(arguments..).unwrap_or_default());
    let given = overrides.into_iter().flat_map(|word| [OsString::from("-c"), OsString::from(word)]);
    prepared.command.splice(at..at, given);
    Routing::Through(vec![route])
}

const fn through(base_url: String) -> ModelRoute {
    ModelRoute { family: Family::OpenAi, base_url, key: None, key_header: KeyHeader::Usual }
}

/// The address of the built-in provider and how the stand-in gets its credential. A key in the environment is brokered; what the
/// client keeps itself stays its own.
fn openai(place: &LaunchPlace<'_>, settings: &CodexSettings, variable: &mut Option<String>) -> (String, String) {
    let set = |name: &str| place.variable_text(name).is_some_and(|value| !value.trim().is_empty());
    let base = || {
        let given = settings.text(&["openai_base_url"]).or_else(|| place.variable_text("OPENAI_BASE_URL"));
        given.filter(|base| !base.trim().is_empty()).unwrap_or_else(|| API.to_owned())
    };
    let own = "requires_openai_auth=true".to_owned();
    let kept = place.homes.folder(&HOME).and_then(|folder| read_settings(&folder.join("auth.json")));
    let kept = kept.and_then(|text| serde_json::from_str::<Value>(&text).ok()).unwrap_or_default();
    if set("CODEX_API_KEY") {
        *variable = Some("CODEX_API_KEY".to_owned());
        return (base(), "env_key=\"CODEX_API_KEY\"".to_owned());
    }
    if kept.get("OPENAI_API_KEY").and_then(Value::as_str).is_some() {
        return (base(), own);
    }
    if kept.get("tokens").is_some_and(Value::is_object) {
        return (LOGIN.to_owned(), own);
    }
    if set("OPENAI_API_KEY") {
        *variable = Some("OPENAI_API_KEY".to_owned());
        return (base(), "env_key=\"OPENAI_API_KEY\"".to_owned());
    }
    (base(), own)
}

/// The words up to and with the last override of the person's: one that stands behind ours would take ours back.
pub(super) fn behind_overrides(own: &[String]) -> usize {
    let mut end = 0;
    let mut index = 0;
    while let Some(word) = own.get(index).filter(|word| *word != "--") {
        let is_pair = word == "-c" || word == "--config";
        let is_joined = word.starts_with("--config=") || (word.starts_with("-c") && word.len() > 2);
        index += if is_pair { 2 } else { 1 };
        if is_pair || is_joined {
            end = index.min(own.len());
        }
    }
    end
}

/// What its configuration says, with the command line's overrides and profile.
pub(super) struct CodexSettings {
    pub(super) file: DocumentMut,
    pub(super) overrides: Vec<(Vec<String>, Item)>,
    profile: Option<String>,
    /// Whether a model on this machine is asked.
    is_local: bool,
}

impl CodexSettings {
    pub(super) fn read(place: &LaunchPlace<'_>, own: &[String]) -> Self {
        let file = place.homes.folder(&HOME).and_then(|folder| read_settings(&folder.join("config.toml")));
        let file = file.and_then(|text| text.parse().ok()).unwrap_or_default();
        let mut found = Self { file, overrides: Vec::new(), profile: None, is_local: false };
        let mut words = own.iter().take_while(|word| *word != "--");
        while let Some(word) = words.next() {
            match word.as_str() {
                "-c" | "--config" => found.note(words.next()),
                "-p" | "--profile" => found.profile = words.next().cloned(),
                "--oss" | "--local-provider" => found.is_local = true,
                joined => {
                    let given = joined
                        .strip_prefix("--config=")
                        .or_else(|| joined.strip_prefix("-c").map(|rest| rest.strip_prefix('=').unwrap_or(rest)));
                    found.note(given.map(str::to_owned).as_ref());
                    if let Some(profile) = joined.strip_prefix("--profile=") {
                        found.profile = Some(profile.to_owned());
                    }
                }
            }
        }
        found
    }

    /// Notes an override; a value that is no TOML is a text.
    fn note(&mut self, word: Option<&String>) {
        let Some((name, value)) = word.and_then(|word| word.split_once('=')) else { return };
        let Ok(path) = Key::parse(name.trim()) else { return };
        let path = path.iter().map(|key| key.get().to_owned()).collect();
        let text = format!("v = {value}");
        let parsed = text.parse::<DocumentMut>().ok().and_then(|document| document.get("v").cloned());
        self.overrides.push((path, parsed.unwrap_or_else(|| toml_edit::value(value.trim()))));
    }

    /// A text of the configuration: the last override that gives it, else the profile's, else the file's.
    fn text(&self, path: &[&str]) -> Option<String> {
        let by_override = self.overrides.iter().rev().find_map(|(given, value)| {
            let rest = path.strip_prefix(given.iter().map(String::as_str).collect::<Vec<_>>().as_slice())?;
            descend(value, rest)
        });
        let profile = self.profile.clone().or_else(|| descend(self.file.as_item(), &["profile"]));
        let by_profile = || {
            let full: Vec<&str> = ["profiles", profile.as_deref()?].into_iter().chain(path.iter().copied()).collect();
            descend(self.file.as_item(), &full)
        };
        by_override.or_else(by_profile).or_else(|| descend(self.file.as_item(), path))
    }
}

fn descend(item: &Item, path: &[&str]) -> Option<String> {
    let found = path.iter().try_fold(item, |item, name| item.get(name))?;
    found.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::homes::Homes;

    const GATEWAY: GatewayPlace<'static> = GatewayPlace { url: "http://127.0.0.1:1/seg", token: "tok" };
    const CUSTOM: &str = "model_provider = \"mine\"\n[model_providers.mine]\nname = \"m\"\nbase_url = \"http://x/v1\"\nenv_key = \"MY_KEY\"\n";

    struct Told {
        routing: Routing,
        line: String,
        env: Vec<(OsString, OsString)>,
    }

    fn routed(line: &str, env: &[(&str, &str)], config: &str, auth: &str) -> Told {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(".codex")).unwrap();
        std::fs::write(folder.path().join(".codex/config.toml"), config).unwrap();
        std::fs::write(folder.path().join(".codex/auth.json"), auth).unwrap();
        let env: Vec<(OsString, OsString)> =
            env.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let homes = Homes { home: Some(folder.path().to_owned()), ..Homes::default() };
        let place = LaunchPlace::nowhere(&env, &homes, Some(GATEWAY));
        let command = line.split(' ').map(OsString::from).collect();
        let mut prepared = PreparedClient { command, env: env.clone(), ..PreparedClient::default() };
        let routing = route(&place, GATEWAY, 1, &mut prepared);
        let words: Vec<_> = prepared.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        Told { routing, line: words.join(" "), env: prepared.env }
    }

    fn route_of(told: &Told) -> ModelRoute {
        match &told.routing {
            Routing::Through(routes) => routes[0].clone(),
            Routing::Off | Routing::Around(_) => panic!("{:?}", told.routing),
        }
    }

    #[test]
    fn the_provider_of_the_configuration_gets_our_address_and_no_websockets() {
        let told = routed("codex exec x", &[("MY_KEY", "sk-1")], CUSTOM, "");
        assert_eq!(route_of(&told).base_url, "http://x/v1");
        assert_eq!(route_of(&told).key.as_ref().map(Secret::reveal), Some("sk-1"));
        for word in [
            "-c model_providers.mine.base_url=\"http://127.0.0.1:1/seg/openai\"",
            "-c model_providers.mine.supports_websockets=false",
            "-c model_provider=\"mine\" exec x",
        ] {
            assert!(told.line.contains(word), "{}", told.line);
        }
        assert_eq!(told.env, [("MY_KEY".into(), "tok".into())]);
    }

    #[test]
    fn overrides_and_profiles_of_the_person_count_and_do_not_take_ours_back() {
        let line = "codex -c model_providers.mine.base_url=\"http://y/v1\" exec -c model=\"m\" x";
        let told = routed(line, &[], CUSTOM, "");
        assert_eq!(route_of(&told).base_url, "http://y/v1");
        let (theirs, ours) = (told.line.find("model=\"m\"").unwrap(), told.line.find("127.0.0.1").unwrap());
        assert!(theirs < ours && told.line.ends_with(" x"), "{}", told.line);
        let inline = "codex -cmodel_provider=z -c model_providers.z={base_url=\"http://z\",name=\"z\"} exec x";
        assert_eq!(route_of(&routed(inline, &[], CUSTOM, "")).base_url, "http://z");
        let profile =
            format!("{CUSTOM}[profiles.p]\nmodel_provider = \"q\"\n[model_providers.q]\nbase_url = \"http://q\"\n");
        assert_eq!(route_of(&routed("codex -p p exec x", &[], &profile, "")).base_url, "http://q");
    }

    #[test]
    fn the_built_in_provider_has_a_stand_in_with_its_own_credential() {
        let told = routed("codex exec x", &[("OPENAI_API_KEY", "sk-1")], "", "");
        assert_eq!(route_of(&told).base_url, API);
        assert!(route_of(&told).key.is_some() && told.line.contains("env_key=\"OPENAI_API_KEY\""), "{}", told.line);
        let login = routed(
            "codex exec x",
            &[("OPENAI_API_KEY", "sk-1")],
            "",
            r#"{"OPENAI_API_KEY":null,"tokens":{"id_token":"t"}}"#,
        );
        assert_eq!((route_of(&login).base_url.as_str(), route_of(&login).key), (LOGIN, None));
        assert!(login.line.contains("requires_openai_auth=true"), "{}", login.line);
    }

    #[test]
    fn what_cannot_be_told_another_address_is_named() {
        for (line, config) in [
            ("codex --oss exec x", ""),
            ("codex exec x", "model_provider = \"amazon-bedrock\"\n"),
            ("codex -c model_provider=nowhere exec x", ""),
        ] {
            let told = routed(line, &[], config, "");
            assert!(matches!(told.routing, Routing::Around(_)), "{line}");
            assert_eq!(told.line, line, "nothing is changed");
        }
    }
}
