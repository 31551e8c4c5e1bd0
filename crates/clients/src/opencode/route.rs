//! Sends opencode's model calls through the gateway: the provider of the chosen model is told another address.

use super::config::{CONTENT, OpencodeConfig, TITLE};
use super::run_servers;
use crate::hookless;
use crate::launch::model_route::{ModelRoute, Routing};
use crate::launch::prepare::{LaunchError, LaunchPlace, PreparedClient};
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use tripwire_core::family::{Family, KeyHeader};
use tripwire_secrets::Secret;

/// A provider that it knows without a configuration.
struct KnownProvider {
    id: &'static str,
    family: Family,
    base_url: &'static str,
    keys: &'static [&'static str],
}

/// Its libraries put the API's version at the end of an address, and our address keeps it there.
const KNOWN: [KnownProvider; 3] = [
    KnownProvider {
        id: "anthropic",
        family: Family::Anthropic,
        base_url: "https://api.anthropic.com/v1",
        keys: &["ANTHROPIC_API_KEY"],
    },
    KnownProvider {
        id: "openai",
        family: Family::OpenAi,
        base_url: "https://api.openai.com/v1",
        keys: &["OPENAI_API_KEY"],
    },
    KnownProvider {
        id: "google",
        family: Family::Gemini,
        base_url: "https://generativelanguage.googleapis.com/v1beta",
        keys: &["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY"],
    },
];

/// The libraries by which a provider of the configuration is asked.
const LIBRARIES: [(&str, Family); 4] = [
    ("@ai-sdk/openai-compatible", Family::OpenAi),
    ("@ai-sdk/openai", Family::OpenAi),
    ("@ai-sdk/anthropic", Family::Anthropic),
    ("@ai-sdk/google", Family::Gemini),
];

pub(super) fn prepare(
    place: &LaunchPlace<'_>,
    arguments: usize,
    prepared: &mut PreparedClient,
) -> Result<(), LaunchError> {
    let gateway = hookless::gateway(place, TITLE)?;
    let config = OpencodeConfig::read(place)?;
    let own = prepared.command.get(arguments..).unwrap_or_default().to_vec();
    let mut chosen = providers(&config, &own);
    if chosen.is_empty() {
        // Unless told it takes what it used last; only these are left to it.
        chosen = KNOWN.iter().map(|known| known.id.to_owned()).collect();
    }
    let mut content = config.content.clone();
    // A provider that is not routed would be asked past the gateway.
    content.insert("enabled_providers".to_owned(), json!(chosen));
    let mut routes: Vec<ModelRoute> = Vec::new();
    for id in chosen {
        let (route, options) = route(place, gateway, &config, &id, prepared)?;
        if let Some(other) = routes.iter().find(|known| known.family == route.family) {
            if other.base_url != route.base_url {
                return Err(unguarded(format!(
                    "two of its providers speak the same API at two places, `{id}` among them"
                )));
            }
        } else {
            routes.push(route);
        }
        set_options(&mut content, &id, options);
    }
    run_servers::guard(place, &config, &mut content, prepared);
    prepared.set(CONTENT, Value::Object(content).to_string().into());
    prepared.routing = Routing::Through(routes);
    Ok(())
}

fn unguarded(why: String) -> LaunchError {
    LaunchError::Unguarded { client: TITLE, why }
}

/// The providers of the models that it is to ask: by flag, else by its configuration.
fn providers(config: &OpencodeConfig, own: &[OsString]) -> Vec<String> {
    let words: Vec<String> = own.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let behind = words.windows(2).find(|pair| pair[0] == "-m" || pair[0] == "--model").map(|pair| pair[1].clone());
    let joined = || words.iter().find_map(|word| word.strip_prefix("--model=").map(str::to_owned));
    let model = behind.or_else(joined).or_else(|| config.text(&["model"]));
    let small = config.text(&["small_model"]);
    let mut found: Vec<String> = Vec::new();
    for id in [model, small].into_iter().flatten().filter_map(|model| Some(model.split_once('/')?.0.to_owned())) {
        if !found.contains(&id) {
            found.push(id);
        }
    }
    found
}

/// The route of one provider, and what its options have to say for it.
fn route(
    place: &LaunchPlace<'_>,
    gateway: crate::launch::model_route::GatewayPlace<'_>,
    config: &OpencodeConfig,
    id: &str,
    prepared: &mut PreparedClient,
) -> Result<(ModelRoute, Value), LaunchError> {
    let known = KNOWN.iter().find(|known| known.id == id);
    let library = config.text(&["provider", id, "npm"]);
    let by_library = LIBRARIES.iter().find(|(name, _)| library.as_deref() == Some(name)).map(|(_, family)| *family);
    let family = by_library.or_else(|| known.filter(|_| library.is_none()).map(|known| known.family));
    let family = family.ok_or_else(|| unguarded(format!("the gateway does not speak to its provider `{id}`")))?;
    let base = config.text(&["provider", id, "options", "baseURL"]);
    let base = base.or_else(|| known.map(|known| known.base_url.to_owned()));
    let base = base.ok_or_else(|| unguarded(format!("no address is known for its provider `{id}`")))?;
    let version = match family {
        Family::Anthropic => "/v1",
        Family::OpenAi => "",
        Family::Gemini => "/v1beta",
    };
    let base_url = base.trim_end_matches('/').strip_suffix(version);
    let base_url = base_url.ok_or_else(|| unguarded(format!("the address of `{id}` does not end with `{version}`")))?;
    let mut options = json!({"baseURL": format!("{}{version}", gateway.base(family))});
    let mut key = None;
    if let Some(given) = config.text(&["provider", id, "options", "apiKey"]) {
        let variable = given.strip_prefix("{env:").and_then(|rest| rest.strip_suffix('}'));
        let value = match variable {
            Some(name) => place.variable_text(name).unwrap_or_default(),
            None => given.clone(),
        };
        key = Secret::new(&value).filter(Secret::is_sendable);
        if let Some(name) = variable.filter(|_| key.is_some()) {
            prepared.set(name, gateway.token.into());
        }
        if key.is_some() {
            options["apiKey"] = gateway.token.into();
        }
    }
    for name in known.map(|known| known.keys).unwrap_or_default() {
        let Some(value) = place.variable_text(name).as_deref().and_then(Secret::new) else { continue };
        prepared.set(name, gateway.token.into());
        key = key.or(Some(value));
    }
    Ok((ModelRoute { family, base_url: base_url.to_owned(), key, key_header: KeyHeader::Usual }, options))
}

/// Puts options of a provider into a configuration, over what stands there.
fn set_options(content: &mut Map<String, Value>, id: &str, options: Value) {
    let mut at = content.entry("provider").or_insert_with(|| json!({}));
    for name in [id, "options"] {
        if !at.is_object() {
            *at = json!({});
        }
        if at.get(name).is_none_or(|value| !value.is_object()) {
            at[name] = json!({});
        }
        at = &mut at[name];
    }
    if let (Some(at), Value::Object(options)) = (at.as_object_mut(), options) {
        at.extend(options);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::homes::Homes;
    use crate::launch::model_route::GatewayPlace;
    use crate::tool_servers::run_guard::RunGuard;
    use std::path::Path;

    const GATEWAY: GatewayPlace<'static> = GatewayPlace { url: "http://127.0.0.1:1/seg", token: "tok" };

    fn prepared(
        line: &str,
        env: &[(&str, &str)],
        config: &str,
    ) -> Result<(Vec<ModelRoute>, Value, PreparedClient), LaunchError> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("opencode.json"), config).unwrap();
        let env: Vec<(OsString, OsString)> =
            env.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let homes = Homes::default();
        let place = LaunchPlace {
            run_folder: folder.path(),
            guard_folder: folder.path(),
            hook: "",
            cwd: folder.path(),
            root: folder.path(),
            env: &env,
            homes: &homes,
            gateway: Some(GATEWAY),
            servers: None,
        };
        let command = line.split(' ').map(OsString::from).collect();
        let mut told = PreparedClient { command, env: env.clone(), ..PreparedClient::default() };
        prepare(&place, 1, &mut told)?;
        let content = told.env.iter().find(|(name, _)| name == CONTENT).unwrap().1.to_string_lossy().into_owned();
        let Routing::Through(routes) = told.routing.clone() else { panic!("{:?}", told.routing) };
        Ok((routes, serde_json::from_str(&content).unwrap(), told))
    }

    const CUSTOM: &str = r#"{"model":"mine/m","provider":{"mine":{"npm":"@ai-sdk/openai-compatible",
        "options":{"baseURL":"http://x/v1","apiKey":"sk-1"},"models":{"m":{}}}}}"#;

    #[test]
    fn the_provider_of_the_chosen_model_is_told_our_address_and_its_key_is_kept() {
        let (routes, content, _) = prepared("opencode run x", &[(CONTENT, r#"{"share":"disabled"}"#)], CUSTOM).unwrap();
        assert_eq!((routes.len(), routes[0].family, routes[0].base_url.as_str()), (1, Family::OpenAi, "http://x/v1"));
        assert_eq!(routes[0].key.as_ref().map(Secret::reveal), Some("sk-1"));
        let options = &content["provider"]["mine"]["options"];
        assert_eq!(*options, json!({"baseURL": "http://127.0.0.1:1/seg/openai", "apiKey": "tok"}));
        assert_eq!(content["share"], "disabled", "what the person set stays");
    }

    #[test]
    fn a_known_provider_keeps_the_version_in_its_address() {
        let (routes, content, told) =
            prepared("opencode run -m anthropic/claude-sonnet-4-5 x", &[("ANTHROPIC_API_KEY", "sk-2")], "{}").unwrap();
        assert_eq!(routes[0].base_url, "https://api.anthropic.com");
        assert_eq!(content["provider"]["anthropic"]["options"]["baseURL"], "http://127.0.0.1:1/seg/anthropic/v1");
        assert!(told.env.contains(&("ANTHROPIC_API_KEY".into(), "tok".into())));
    }

    #[test]
    fn what_the_gateway_cannot_see_is_not_started() {
        let two = CUSTOM.replace("\"provider\":{", r#""small_model":"openai/gpt-5-nano","provider":{"#);
        for (line, config) in [
            ("opencode run -m amazon-bedrock/x y", "{}"),
            ("opencode run x", two.as_str()),
            ("opencode run -m nobody/x y", r#"{"provider":{"nobody":{"npm":"@ai-sdk/openai-compatible"}}}"#),
        ] {
            assert!(matches!(prepared(line, &[], config), Err(LaunchError::Unguarded { .. })), "{line} {config}");
        }
    }

    #[test]
    fn mcp_6_the_guard_stands_before_every_local_server() {
        let folder = tempfile::tempdir().unwrap();
        let text = r#"{"model":"mine/m","mcp":{"files":{"type":"local","command":["npx","x"],"environment":{"A":"b"}},
            "web":{"type":"remote","url":"u"},"far":{"enabled":true},"servers":{"new":{"type":"local","command":["n"]}}}}"#;
        std::fs::write(folder.path().join("opencode.json"), text).unwrap();
        let env = [(CONTENT.into(), r#"{"mcp":{"files":{"enabled":true,"environment":{"C":"d"}}}}"#.into())];
        let homes = Homes::default();
        let servers = RunGuard { program: Path::new("/g/tripwire"), variable: "SOCKET", socket: Path::new("/g/s") };
        let place = LaunchPlace {
            cwd: folder.path(),
            root: folder.path(),
            servers: Some(servers),
            ..LaunchPlace::nowhere(&env, &homes, Some(GATEWAY))
        };
        let config = OpencodeConfig::read(&place).unwrap();
        let (mut content, mut prepared) = (config.content.clone(), PreparedClient::default());
        run_servers::guard(&place, &config, &mut content, &mut prepared);
        let command = ["/g/tripwire", "mcp", "--name", "files", "--", "npx", "x"];
        let files =
            json!({"type": "local", "enabled": true, "command": command, "environment": {"C": "d", "SOCKET": "/g/s"}});
        assert_eq!(content["mcp"]["files"], files, "{content:?}");
        assert_eq!(content["mcp"]["servers"]["new"]["command"][5], "n");
        assert!(content["mcp"].get("web").is_none() && content["mcp"].get("far").is_none());
        assert!(prepared.notes[0].contains("`web`") && !prepared.notes[0].contains("far"), "{:?}", prepared.notes);
    }
}
