//! Our guard in a server's command line: how it is written, and how it is known again.

use super::address::ENTRY_VARIABLE;
use std::path::Path;
use tripwire_core::record::chain::Digest;

/// The verb of the guard.
const VERB: &str = "mcp";
/// What ends our own words.
const END: &str = "--";
/// Our options that take a value.
const OPTIONS: [&str; 3] = ["--name", "--session", "--workspace"];
/// What names the variable with a server's entry, for a server with an address.
const ENTRY: &str = "--entry";
/// Letters of a name.
const NAME_MAX: usize = 64;
/// Letters of a digest that tell two names apart.
const TAIL: usize = 8;

/// A command line with our guard in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guarded {
    /// Our program, as it is written there.
    pub program: String,
    /// The server's name in our records, where it is given.
    pub name: Option<String>,
    /// The server's own command line, or its address; empty where the guard is for something else.
    pub inner: Vec<String>,
    /// Whose words they are.
    pub form: GuardForm,
}

/// Whose words the guard stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuardForm {
    /// As `init` writes them.
    AsInstalled,
    /// A person's own.
    ByHand,
}

/// Our words before a server's command line, but the program.
pub(crate) fn words(name: &str) -> [String; 4] {
    [VERB, "--name", &guard_name(name), END].map(str::to_owned)
}

/// Our words for a server with an address, but the program.
pub(crate) fn entry_words(name: &str) -> [String; 5] {
    [VERB, "--name", &guard_name(name), ENTRY, ENTRY_VARIABLE].map(str::to_owned)
}

/// The name of a server's tool at every door of ours.
pub(crate) fn server_tool(server: &str, tool: &str) -> String {
    format!("mcp__{}__{tool}", guard_name(server))
}

/// Whether a program is known as ours in a command line.
pub(crate) fn is_ours(program: &Path) -> bool {
    program.file_name().is_some_and(|name| name == "tripwire")
}

/// The guard in a command line; nothing if there is none.
pub(crate) fn guarded(command: &[String], server: &str) -> Option<Guarded> {
    let (program, rest) = command.split_first()?;
    if !is_ours(Path::new(program)) || rest.first().map(String::as_str) != Some(VERB) {
        return None;
    }
    let (own, inner) = match rest.iter().position(|word| word == END) {
        Some(end) => (rest.get(1..end)?, rest.get(end + 1..)?.to_vec()),
        None => (rest.get(1..)?, Vec::new()),
    };
    let name = own.windows(2).find(|pair| pair[0] == OPTIONS[0]).map(|pair| pair[1].clone());
    let before_command = rest.get(..4) == Some(&words(server)) && !inner.is_empty();
    let as_written = Path::new(program).is_absolute() && (before_command || rest == entry_words(server));
    let form = if as_written { GuardForm::AsInstalled } else { GuardForm::ByHand };
    Some(Guarded { program: program.clone(), name, inner, form })
}

/// A server's name as our records and policies may have it: letters, digits, `-`, `.` and, inside, single `_`, at most 64. One
/// that has to be changed for it gets a digest of what it was, so that two names stay two.
#[must_use]
pub fn guard_name(name: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.' | '_');
    let mut made = String::new();
    for letter in name.chars() {
        let letter = if plain(letter) { letter } else { '-' };
        if !(letter == '_' && made.ends_with('_')) {
            made.push(letter);
        }
    }
    let made = made.trim_matches('_');
    if made == name && !name.is_empty() && name.len() <= NAME_MAX {
        return made.to_owned();
    }
    let digest = Digest::of_parts([name.as_bytes()]).to_string();
    let made: String = made.chars().take(NAME_MAX - TAIL - 1).collect();
    let made = made.trim_matches(|letter| matches!(letter, '-' | '_'));
    let made = if made.is_empty() { "server" } else { made };
    format!("{made}-{}", digest.get(..TAIL).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn mcp_6_a_guard_is_known_again_and_a_persons_own_is_told_from_ours() {
        let ours = guarded(&line("/opt/tripwire mcp --name files -- npx -y x --"), "files").unwrap();
        assert_eq!((ours.form, ours.inner), (GuardForm::AsInstalled, line("npx -y x --")));
        let ours = guarded(&line("/opt/tripwire mcp --name web --entry TRIPWIRE_MCP_ENTRY"), "web").unwrap();
        assert_eq!((ours.form, ours.inner), (GuardForm::AsInstalled, Vec::new()));
        for by_hand in [
            "/opt/tripwire mcp --name files --entry OTHER",
            "/opt/tripwire mcp --name files --url https://x --stdio",
            "tripwire mcp --name files -- npx",
            "/opt/tripwire mcp --name other -- npx",
            "/opt/tripwire mcp --name files --session s -- npx",
            "/opt/tripwire mcp -- npx",
            "/opt/tripwire mcp serve",
        ] {
            assert_eq!(guarded(&line(by_hand), "files").unwrap().form, GuardForm::ByHand, "{by_hand}");
        }
        for none in ["npx -y tripwire mcp --", "tripwire run -- npx", "mytripwire mcp --name files -- npx", "tripwire"]
        {
            assert_eq!(guarded(&line(none), "files"), None, "{none}");
        }
        assert_eq!(guarded(&[], "files"), None);
    }

    #[test]
    fn mcp_6_names_with_other_letters_stay_two() {
        for same in ["files", "a.b-c_d", "X9"] {
            assert_eq!(guard_name(same), same);
        }
        let odd = ["my server", "my/server", "ü", "", "a__b", "_a", "a_", "日本", &"x".repeat(65), "a\nb", "__"];
        let mut made: Vec<String> = odd.iter().map(|name| guard_name(name)).collect();
        for name in &made {
            let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.' | '_');
            assert!(name.len() <= 64 && name.chars().all(plain) && !name.contains("__"), "{name}");
            assert!(!name.starts_with('_') && !name.ends_with('_'), "{name}");
        }
        made.sort();
        made.dedup();
        assert_eq!(made.len(), odd.len());
    }
}
