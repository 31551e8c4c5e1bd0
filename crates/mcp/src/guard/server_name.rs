//! The name of a server.

use std::ffi::OsString;
use std::path::Path;

/// What names a server in records and policies: letters, digits, `-`, `.` and, inside, single `_`; at most 64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerName(String);

impl ServerName {
    /// A name that a person gave.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
        let is_one = !name.is_empty() && name.len() <= 64 && name.chars().all(plain);
        // Between a server and its tool stands `__`, and nothing else may look like it.
        let is_one = is_one && !name.contains("__") && !name.starts_with('_') && !name.ends_with('_');
        is_one.then(|| Self(name.to_owned()))
    }

    /// The name of the program that a command line starts, behind what only starts programs.
    #[must_use]
    pub fn of_command(command: &[OsString]) -> Self {
        const STARTERS: [&str; 13] =
            ["npx", "bunx", "uvx", "uv", "run", "node", "deno", "bun", "python", "python3", "env", "sh", "exec"];
        let words = command.iter().filter_map(|word| word.to_str());
        let named = words.filter(|word| !word.starts_with('-') && !word.contains('=')).find_map(|word| {
            let base = Path::new(word).file_stem()?.to_str()?;
            let plain: String =
                base.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).take(64).collect();
            let plain = plain.trim_matches('-').to_owned();
            (!STARTERS.contains(&base)).then_some(plain).filter(|name| !name.is_empty())
        });
        Self(named.unwrap_or_else(|| "server".to_owned()))
    }

    /// The name of a host, with its port where it has one.
    #[must_use]
    pub fn of_host(host: &str) -> Self {
        let plain = host.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' });
        let plain: String = plain.take(64).collect();
        let plain = plain.trim_matches('-');
        Self(if plain.is_empty() { "server".to_owned() } else { plain.to_owned() })
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(line: &str) -> String {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        ServerName::of_command(&words).as_str().to_owned()
    }

    #[test]
    fn a_server_is_named_by_its_program_or_by_a_person() {
        assert_eq!(name("npx -y @modelcontextprotocol/server-filesystem /tmp"), "server-filesystem");
        assert_eq!(name("/usr/bin/python3 -m weather_server"), "weather-server");
        assert_eq!(name("node ./build/index.js"), "index");
        assert_eq!(name("env A=1 my-server"), "my-server");
        assert_eq!(name("-x"), "server");
        assert_eq!(ServerName::of_host("mcp.example.org:8443").as_str(), "mcp-example-org-8443");
        assert_eq!(ServerName::of_host("[::1]").as_str(), "1");
        assert!(ServerName::new("github").is_some());
        for wrong in ["", "a b", "a__b", "a_", "_a", "ü", "a/b"] {
            assert!(ServerName::new(wrong).is_none(), "{wrong}");
        }
    }
}
