//! Where Gemini CLI sends its model calls: an API key's go where a variable says, those of a login to another service.

use super::settings::{FILE, HOME};
use crate::install::change::read_settings;
use crate::launch::model_route::{ApiVariables, GatewayPlace, KeyVariable, Routing};
use crate::launch::prepare::LaunchPlace;
use crate::launch::relaxed;
use serde_json::{Map, Value};
use std::ffi::OsString;
use tripwire_core::family::{Family, KeyHeader};

/// How it is told where its model is.
pub(crate) const VARIABLES: ApiVariables = ApiVariables {
    family: Family::Gemini,
    base_urls: &["GOOGLE_GEMINI_BASE_URL"],
    keys: &[
        KeyVariable { name: "GEMINI_API_KEY", header: KeyHeader::Usual },
        KeyVariable { name: "GOOGLE_API_KEY", header: KeyHeader::Usual },
    ],
    default_base: "https://generativelanguage.googleapis.com",
};

/// Sends its calls through the gateway, if they can go there.
pub(super) fn route(
    place: &LaunchPlace<'_>,
    gateway: GatewayPlace<'_>,
    own: &Map<String, Value>,
    env: &mut Vec<(OsString, OsString)>,
) -> Routing {
    if let Some(why) = elsewhere(place, own) {
        return Routing::Around(why);
    }
    let route = VARIABLES.route(
        gateway,
        |name| place.variable_text(name),
        |name, value| {
            env.retain(|(known, _)| known != name);
            env.push((name.into(), value.into()));
        },
    );
    Routing::Through(vec![route])
}

/// The service that it asks instead, by its settings (the workspace's before the person's), else by its environment.
fn elsewhere(place: &LaunchPlace<'_>, own: &Map<String, Value>) -> Option<String> {
    let folders = [place.cwd, place.root];
    let files = folders.into_iter().map(|folder| folder.join(HOME.folder).join(FILE));
    let read = files.filter_map(|file| relaxed::object(&read_settings(&file)?).ok());
    let selected = |settings: &Map<String, Value>| {
        settings.get("security")?.get("auth")?.get("selectedType")?.as_str().map(str::to_owned)
    };
    let is_on = |name: &str| place.variable_text(name).is_some_and(|value| value == "true" || value == "1");
    let chosen = read.chain(std::iter::once(own.clone())).find_map(|settings| selected(&settings)).or_else(|| {
        let by_variable = [("GOOGLE_GENAI_USE_GCA", LOGIN), ("GOOGLE_GENAI_USE_VERTEXAI", VERTEX)];
        by_variable.into_iter().find(|(name, _)| is_on(name)).map(|(_, chosen)| chosen.to_owned())
    });
    match chosen.as_deref() {
        Some(VERTEX) => Some("Gemini CLI asks Vertex AI, which the gateway does not speak to".to_owned()),
        Some(LOGIN | "cloud-shell" | "compute-default-credentials") => {
            Some("Gemini CLI asks Code Assist by its login, which the gateway does not speak to".to_owned())
        }
        Some(_) | None => None,
    }
}

const LOGIN: &str = "oauth-personal";
const VERTEX: &str = "vertex-ai";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::homes::Homes;
    use serde_json::json;

    const GATEWAY: GatewayPlace<'static> = GatewayPlace { url: "http://127.0.0.1:1/seg", token: "tok" };

    fn routed(env: &[(&str, &str)], own: &Value) -> (Routing, Vec<(OsString, OsString)>) {
        let mut env: Vec<(OsString, OsString)> =
            env.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let given = env.clone();
        let homes = Homes::default();
        let place = LaunchPlace::nowhere(&given, &homes, Some(GATEWAY));
        let routing = route(&place, GATEWAY, own.as_object().unwrap(), &mut env);
        (routing, env)
    }

    #[test]
    fn a_key_goes_through_and_a_login_or_vertex_is_named() {
        let key = json!({"security": {"auth": {"selectedType": "gemini-api-key"}}});
        let (routing, env) = routed(&[("GEMINI_API_KEY", "g-1"), ("GOOGLE_GENAI_USE_GCA", "true")], &key);
        assert!(matches!(routing, Routing::Through(routes) if routes[0].key.is_some()), "the settings count first");
        assert!(env.contains(&("GEMINI_API_KEY".into(), "tok".into())));
        assert!(env.contains(&("GOOGLE_GEMINI_BASE_URL".into(), "http://127.0.0.1:1/seg/gemini".into())));
        let login = json!({"security": {"auth": {"selectedType": "oauth-personal"}}});
        for (env, own, word) in [
            (vec![("GEMINI_API_KEY", "g-1")], login, "Code Assist"),
            (vec![("GOOGLE_GENAI_USE_GCA", "true")], json!({}), "Code Assist"),
            (vec![("GOOGLE_GENAI_USE_VERTEXAI", "true"), ("GOOGLE_API_KEY", "k")], json!({}), "Vertex"),
        ] {
            let (routing, told) = routed(&env, &own);
            assert!(matches!(routing, Routing::Around(why) if why.contains(word)), "{env:?}");
            assert_eq!(told.len(), env.len(), "nothing is changed");
        }
    }
}
