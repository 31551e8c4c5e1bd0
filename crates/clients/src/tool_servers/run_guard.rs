//! Our guard before the tool servers of one supervised run: in settings of the run's own, and in none of the person's.

use super::address::{self, ADDRESSES, ENTRY_VARIABLE};
use super::guarded::{self, GuardForm};
use serde_json::{Map, Value, json};
use std::path::Path;

/// The guard of a run.
#[derive(Debug, Clone, Copy)]
pub struct RunGuard<'a> {
    /// Our program, where the client's processes cannot change it.
    pub program: &'a Path,
    /// The variable that names the socket. It is given to each server: some clients hand down few variables.
    pub variable: &'static str,
    /// Where the supervisor listens.
    pub socket: &'a Path,
}

impl RunGuard<'_> {
    /// The command line of a server behind the guard of this run. A guard of the person's own stays as it is.
    pub(crate) fn words(&self, name: &str, own: &[String]) -> Vec<String> {
        let inner = match guarded::guarded(own, name) {
            // The server's entry stands in the variable that its settings give it.
            Some(known) if known.form == GuardForm::AsInstalled && known.inner.is_empty() => {
                return self.entry_words(name);
            }
            Some(known) if known.form == GuardForm::AsInstalled => known.inner,
            Some(_) => return own.to_vec(),
            None => own.to_vec(),
        };
        std::iter::once(self.own_program()).chain(guarded::words(name)).chain(inner).collect()
    }

    /// The command line of the guard of a server with an address.
    fn entry_words(&self, name: &str) -> Vec<String> {
        std::iter::once(self.own_program()).chain(guarded::entry_words(name)).collect()
    }

    fn own_program(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }

    /// The value of the variable.
    pub(crate) fn socket(&self) -> String {
        self.socket.to_string_lossy().into_owned()
    }

    /// The servers of an object of the form `{NAME: {command, args, env}}` or `{NAME: {url, headers}}`, each behind the guard; those
    /// that it cannot stand before are told by name.
    pub(crate) fn entries(&self, servers: &Map<String, Value>) -> GuardedEntries {
        let mut made = GuardedEntries::default();
        for (name, entry) in servers {
            match self.entry(name, entry) {
                Some(entry) => drop(made.guarded.insert(name.clone(), entry)),
                None => made.open.push(name.clone()),
            }
        }
        made
    }

    /// Whether a guard stands before a server already.
    pub(crate) fn stands_before(&self, name: &str, entry: &Value) -> bool {
        let words = entry.get("args").and_then(Value::as_array).into_iter().flatten().map(Value::as_str);
        let words = std::iter::once(entry.get("command").and_then(Value::as_str)).chain(words);
        let words: Option<Vec<String>> = words.map(|word| word.map(str::to_owned)).collect();
        words.is_some_and(|words| guarded::guarded(&words, name).is_some())
    }

    fn entry(&self, name: &str, entry: &Value) -> Option<Value> {
        if ADDRESSES.iter().any(|member| entry.get(member).is_some_and(Value::is_string)) {
            return self.address(name, entry.as_object()?);
        }
        let mut own = vec![entry.get("command")?.as_str()?.to_owned()];
        if let Some(args) = entry.get("args") {
            let args: Option<Vec<String>> =
                args.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect();
            own.extend(args?);
        }
        let words = self.words(name, &own);
        let (program, args) = words.split_first()?;
        let mut made = entry.as_object()?.clone();
        made.insert("command".to_owned(), json!(program));
        made.insert("args".to_owned(), json!(args));
        let env = made.entry("env").or_insert_with(|| json!({}));
        env.as_object_mut()?.insert(self.variable.to_owned(), json!(self.socket()));
        Some(Value::Object(made))
    }

    /// A server with an address: the guard is started in its place, with its entry in a variable.
    fn address(&self, name: &str, entry: &Map<String, Value>) -> Option<Value> {
        let kind = entry.get("type").and_then(Value::as_str);
        let headers = entry
            .get("headers")
            .is_none_or(|headers| headers.as_object().is_some_and(|headers| headers.values().all(Value::is_string)));
        if !headers || address::obstacle(entry.keys().map(String::as_str), kind).is_some() {
            return None;
        }
        let kept = entry.iter().filter(|(member, _)| !address::is_transport(member));
        let mut made: Map<String, Value> = kept.map(|(member, value)| (member.clone(), value.clone())).collect();
        let words = self.entry_words(name);
        let (program, args) = words.split_first()?;
        let entry = Value::Object(entry.clone()).to_string();
        made.insert("command".to_owned(), json!(program));
        made.insert("args".to_owned(), json!(args));
        made.insert("env".to_owned(), json!({ENTRY_VARIABLE: entry, self.variable: self.socket()}));
        Some(Value::Object(made))
    }
}

/// Servers behind the guard, and the names of those that are not.
#[derive(Debug, Default)]
pub(crate) struct GuardedEntries {
    pub(crate) guarded: Map<String, Value>,
    pub(crate) open: Vec<String>,
}

/// What is said of servers that the guard of a run does not stand before.
pub(crate) fn not_wrapped(open: &[String], why: &str) -> Option<String> {
    let names: Vec<String> = open.iter().map(|name| format!("`{name}`")).collect();
    (!names.is_empty()).then(|| format!("tool servers without a guard of their own: {} ({why})", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUARD: fn() -> RunGuard<'static> =
        || RunGuard { program: Path::new("/run/tripwire"), variable: "SOCKET", socket: Path::new("/run/socket") };

    #[test]
    fn mcp_6_the_guard_of_a_run_takes_the_place_of_an_installed_one_and_hands_down_its_socket() {
        let entry = json!({"command": "npx", "args": ["-y", "x"], "env": {"A": "b"}, "cwd": "/d"});
        let made = GUARD().entry("files", &entry).unwrap();
        let args = ["mcp", "--name", "files", "--", "npx", "-y", "x"];
        let expected =
            json!({"command": "/run/tripwire", "args": args, "env": {"A": "b", "SOCKET": "/run/socket"}, "cwd": "/d"});
        assert_eq!(made, expected);
        let installed = json!({"command": "/opt/tripwire", "args": args, "env": {"A": "b"}, "cwd": "/d"});
        assert_eq!(GUARD().entry("files", &installed).unwrap(), expected, "one guard is enough");
        let by_hand = json!({"command": "tripwire", "args": ["mcp", "--", "x"]});
        let made = GUARD().entry("files", &by_hand).unwrap();
        assert_eq!((&made["command"], &made["env"]), (&json!("tripwire"), &json!({"SOCKET": "/run/socket"})));
        let servers = json!({"odd": {"command": 1}, "list": {"command": "x", "args": [1]}, "bare": {"command": "x"}});
        let made = GUARD().entries(servers.as_object().unwrap());
        assert_eq!((made.guarded.len(), made.open.len()), (1, 2));
    }

    #[test]
    fn mcp_6_the_guard_of_a_run_takes_the_place_of_an_address_with_its_entry_in_a_variable() {
        let entry = json!({"type": "http", "url": "https://x?k=1", "headers": {"A": "secret"}, "timeout": 5});
        let made = GUARD().entry("web", &entry).unwrap();
        let args = ["mcp", "--name", "web", "--entry", ENTRY_VARIABLE];
        assert_eq!((&made["command"], &made["args"]), (&json!("/run/tripwire"), &json!(args)));
        assert_eq!((&made["timeout"], &made["env"]["SOCKET"]), (&json!(5), &json!("/run/socket")));
        assert!(made.get("url").is_none() && made.get("type").is_none() && made.get("headers").is_none());
        let carried: Value = serde_json::from_str(made["env"][ENTRY_VARIABLE].as_str().unwrap()).unwrap();
        assert_eq!(carried, entry);
        let installed = json!({"command": "/opt/tripwire", "args": args, "env": {ENTRY_VARIABLE: "{}"}});
        let made = GUARD().entry("web", &installed).unwrap();
        assert_eq!((&made["command"], &made["args"]), (&json!("/run/tripwire"), &json!(args)), "one guard is enough");
        assert_eq!(made["env"], json!({ENTRY_VARIABLE: "{}", "SOCKET": "/run/socket"}));
        for stays in [
            json!({"type": "sse", "url": "u"}),
            json!({"url": "u", "oauth": {}}),
            json!({"httpUrl": "u", "command": "x"}),
            json!({"url": "u", "headers": {"A": 1}}),
        ] {
            assert_eq!(GUARD().entry("web", &stays), None, "{stays}");
        }
    }
}
