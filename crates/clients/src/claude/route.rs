//! Where Claude Code sends its model calls: by its environment, which its settings files override.

use super::settings::{FILES, HOME};
use crate::anthropic_api;
use crate::install::change::read_settings;
use crate::launch::model_route::{ApiVariables, GatewayPlace, Routing};
use crate::launch::prepare::LaunchPlace;
use crate::launch::relaxed;
use serde_json::{Map, Value, json};
use std::ffi::OsString;

/// How it is told where its model is.
const VARIABLES: ApiVariables = ApiVariables { base_urls: &["ANTHROPIC_BASE_URL"], ..anthropic_api::VARIABLES };

/// Switches by which it asks another cloud, whose addresses and signatures the gateway does not speak.
const ELSEWHERE: [&str; 7] = [
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
    "CLAUDE_CODE_USE_MANTLE",
    "CLAUDE_CODE_USE_GATEWAY",
    "CLAUDE_CODE_USE_ANTHROPIC_AWS",
    "CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD",
];

/// Sends its calls through the gateway: by the environment, and by the run's own settings, which no other settings override.
pub(super) fn route(
    place: &LaunchPlace<'_>,
    gateway: GatewayPlace<'_>,
    settings: &mut Map<String, Value>,
    env: &mut Vec<(OsString, OsString)>,
) -> Routing {
    let given = Settings::read(place, settings);
    let variable = |name: &str| given.variable(name).or_else(|| place.variable_text(name));
    let is_on = |name: &&str| variable(name).is_some_and(|value| is_true(&value));
    if let Some(switch) = ELSEWHERE.iter().find(|name| is_on(name)) {
        return Routing::Around(format!("`{switch}` has Claude Code ask a cloud that the gateway does not speak to"));
    }
    let mut told = Map::new();
    let route = VARIABLES.route(gateway, variable, |name, value| {
        env.retain(|(known, _)| known != name);
        env.push((name.into(), value.clone().into()));
        told.insert(name.to_owned(), Value::String(value));
    });
    match settings.get_mut("env").and_then(Value::as_object_mut) {
        Some(own) => own.extend(told),
        None => drop(settings.insert("env".to_owned(), json!(told))),
    }
    Routing::Through(vec![route])
}

fn is_true(value: &str) -> bool {
    !["", "0", "false", "no", "off"].contains(&value.to_ascii_lowercase().trim())
}

/// The variables that settings set, the strongest first.
struct Settings(Vec<Map<String, Value>>);

impl Settings {
    /// Those given by flag, then the workspace's, then the person's; in each folder the local file is the stronger one.
    fn read(place: &LaunchPlace<'_>, given: &Map<String, Value>) -> Self {
        let own = place.homes.folder(&HOME);
        let folders = [place.cwd, place.root].map(|folder| folder.join(HOME.folder)).into_iter().chain(own);
        let files = folders.flat_map(|folder| FILES.into_iter().rev().map(move |name| folder.join(name)));
        let read = files.filter_map(|file| relaxed::object(&read_settings(&file)?).ok());
        let variables = |settings: &Map<String, Value>| settings.get("env").and_then(Value::as_object).cloned();
        Self(std::iter::once(given.clone()).chain(read).filter_map(|settings| variables(&settings)).collect())
    }

    fn variable(&self, name: &str) -> Option<String> {
        let value = self.0.iter().find_map(|variables| variables.get(name))?;
        Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::homes::Homes;
    use tripwire_secrets::Secret;

    const GATEWAY: GatewayPlace<'static> = GatewayPlace { url: "http://127.0.0.1:1/seg", token: "tok" };

    fn routed(
        env: &[(&str, &str)],
        own: &str,
        given: Value,
    ) -> (Routing, Map<String, Value>, Vec<(OsString, OsString)>) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(".claude")).unwrap();
        std::fs::write(folder.path().join(".claude/settings.json"), own).unwrap();
        let mut env: Vec<_> = env.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let given_env = env.clone();
        let homes = Homes { home: Some(folder.path().to_owned()), ..Homes::default() };
        let place = LaunchPlace::nowhere(&given_env, &homes, Some(GATEWAY));
        let Value::Object(mut settings) = given else { panic!("an object") };
        let routing = route(&place, GATEWAY, &mut settings, &mut env);
        (routing, settings, env)
    }

    #[test]
    fn settings_override_the_environment_and_ours_override_both() {
        let own = r#"{"env":{"ANTHROPIC_BASE_URL":"https://proxy.example","ANTHROPIC_API_KEY":"sk-file"}}"#;
        let (routing, settings, env) = routed(&[("ANTHROPIC_API_KEY", "sk-env")], own, json!({}));
        let Routing::Through(routes) = routing else { panic!("{routing:?}") };
        assert_eq!(routes[0].base_url, "https://proxy.example");
        assert_eq!(routes[0].key.as_ref().map(Secret::reveal), Some("sk-file"));
        assert_eq!(
            settings["env"],
            json!({"ANTHROPIC_BASE_URL": "http://127.0.0.1:1/seg/anthropic", "ANTHROPIC_API_KEY": "tok"})
        );
        assert!(env.contains(&("ANTHROPIC_API_KEY".into(), "tok".into())), "{env:?}");
    }

    #[test]
    fn another_cloud_is_named_and_a_switch_that_is_off_is_not() {
        for (env, own) in
            [(vec![("CLAUDE_CODE_USE_BEDROCK", "1")], "{}"), (vec![], r#"{"env":{"CLAUDE_CODE_USE_VERTEX":"true"}}"#)]
        {
            let (routing, settings, _) = routed(&env, own, json!({}));
            assert!(matches!(routing, Routing::Around(why) if why.contains("CLAUDE_CODE_USE_")), "{env:?}");
            assert!(settings.is_empty());
        }
        let off = [("CLAUDE_CODE_USE_BEDROCK", "0"), ("CLAUDE_CODE_USE_VERTEX", "")];
        assert!(matches!(routed(&off, "{}", json!({"env": {"A": "b"}})).0, Routing::Through(_)));
    }
}
