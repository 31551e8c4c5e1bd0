//! The environment of a confined client: the person's, without keys and without the ways to other programs of the person.

use std::ffi::{OsStr, OsString};
use tripwire_secrets::{Redactor, is_secret_name};

/// Ways to agents, buses and displays of the person; their sockets are not shown, and their names are of no use.
const WAYS_OUT: [&str; 14] = [
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "XDG_RUNTIME_DIR",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "DOCKER_HOST",
    "KUBECONFIG",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
    "TMPDIR",
];
/// Proxies of the person, which cannot be reached from inside; the sandbox names its own.
const PROXIES: [&str; 6] = ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
const NO_PROXIES: [&str; 2] = ["no_proxy", "NO_PROXY"];

/// Whether the sandbox has a proxy of its own, which its variables name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OwnProxy {
    Serves,
    None,
}

/// What is kept of a client's environment. What differs from the person's was put there for the run, such as the gateway's
/// token in the place of a key.
pub(super) fn kept(
    persons: &[(OsString, OsString)],
    env: &[(OsString, OsString)],
    proxy: OwnProxy,
) -> Vec<(OsString, OsString)> {
    let redactor = Redactor::default();
    let is_one = |list: &[&str], name: &OsStr| list.iter().any(|known| name == *known);
    let keeps = |(name, value): &&(OsString, OsString)| {
        let is_persons = persons.iter().any(|(known, same)| known == name && same == value);
        let (text, secret) = (name.to_string_lossy(), value.to_string_lossy());
        let is_key = is_persons && (is_secret_name(&text) || !redactor.find(&secret).is_empty());
        let is_proxy = is_one(&PROXIES, name) || (proxy == OwnProxy::Serves && is_one(&NO_PROXIES, name));
        !is_key && !is_proxy && !is_one(&WAYS_OUT, name)
    };
    env.iter().filter(keeps).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(list: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        list.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
    }

    #[test]
    fn box_1_keys_of_the_person_stay_outside_and_what_the_run_set_goes_in() {
        let persons = pairs(&[
            ("PATH", "/bin"),
            ("ANTHROPIC_API_KEY", "sk-real"),
            ("AWS_SECRET_ACCESS_KEY", "x"),
            ("NOTES", "ghp_0123456789abcdefghijklmnopqrstuvwxyz"),
            ("SSH_AUTH_SOCK", "/run/s"),
            ("HTTPS_PROXY", "http://p:1"),
            ("LANG", "C"),
        ]);
        let mut env = persons.clone();
        env.retain(|(name, _)| name != "ANTHROPIC_API_KEY");
        env.extend(pairs(&[("ANTHROPIC_API_KEY", "token-of-the-gateway"), ("NO_PROXY", "127.0.0.1")]));
        let kept = kept(&persons, &env, OwnProxy::None);
        let names: Vec<&str> = kept.iter().filter_map(|(name, _)| name.to_str()).collect();
        assert_eq!(names, ["PATH", "LANG", "ANTHROPIC_API_KEY", "NO_PROXY"]);
        assert_eq!(kept[2].1, "token-of-the-gateway");
    }
}
