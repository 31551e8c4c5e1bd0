//! Secrets that are known by their values: from the environment and from files such as `.env`.

use crate::randomness::is_random;
use crate::stand_in::is_stand_in;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

/// A secret that is known by its value.
#[derive(Clone, PartialEq, Eq)]
pub struct KnownSecret {
    /// The name that it is given.
    pub name: String,
    /// The value.
    pub value: String,
}

impl core::fmt::Debug for KnownSecret {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(formatter, "KnownSecret({})", self.name)
    }
}

/// The shortest value that is looked for: shorter ones are in too many texts.
const VALUE_BYTES_MIN: usize = 8;

/// The variables in which a shell keeps folders; `pwd` elsewhere is short for a password.
const FOLDERS: [&str; 2] = ["PWD", "OLDPWD"];

impl KnownSecret {
    /// A variable and its value, if that is a secret by its name.
    #[must_use]
    pub fn of_variable(name: &str, value: &str) -> Option<Self> {
        let is_named = match strength(name) {
            // A passphrase has blanks.
            Some(NameStrength::Strong) => true,
            Some(NameStrength::Weak) => !value.contains(char::is_whitespace),
            None => false,
        };
        let is_folder = FOLDERS.contains(&name) && value.starts_with('/');
        let is_secret = is_named && value.len() >= VALUE_BYTES_MIN && !is_folder && !is_harmless(value);
        is_secret.then(|| Self { name: name.to_string(), value: value.to_string() })
    }
}

/// Values that a variable of such a name may have without being a secret: paths, switches, numbers.
fn is_harmless(value: &str) -> bool {
    let is_path = value.starts_with(['/', '.', '~']) && !is_random(value.as_bytes());
    is_path || is_stand_in(value) || value.bytes().all(|byte| byte.is_ascii_digit())
}

/// The secrets in the text of a `.env` file: by their names, and what looks random.
#[must_use]
pub fn of_env_file(text: &str) -> Vec<KnownSecret> {
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        let line = line.strip_prefix("export ").unwrap_or(line);
        let Some((name, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) else { continue };
        let value = value.trim();
        let value = ['"', '\'']
            .into_iter()
            .find_map(|quote| value.strip_prefix(quote)?.split(quote).next())
            .unwrap_or_else(|| {
                // An unquoted value ends where a comment begins.
                value.split(" #").next().unwrap_or(value).trim_end()
            });
        let by_name = KnownSecret::of_variable(name.trim(), value);
        let by_look = || {
            let is_word = value.len() >= 16 && !value.contains(char::is_whitespace);
            let is_secret = is_word && is_random(value.as_bytes()) && !is_harmless(value);
            is_secret.then(|| KnownSecret { name: name.trim().to_string(), value: value.to_string() })
        };
        found.extend(by_name.or_else(by_look));
    }
    found
}

/// Whether a file of this name holds variables such as `.env` does; an example of one holds no secrets.
#[must_use]
pub fn is_env_file(name: &str) -> bool {
    let is_example = ["example", "sample", "template", "dist"].iter().any(|word| name.ends_with(word));
    (name == ".env" || name.starts_with(".env.") || name == ".envrc") && !is_example
}

/// How plainly a name says that its value is a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameStrength {
    /// `password`, `client_secret`, `API_KEY`.
    Strong,
    /// `token`, `auth`, `credentials`: often, and often something else.
    Weak,
}

/// Whether the value of a variable of this name is a secret.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    strength(name).is_some()
}

pub(crate) fn strength(name: &str) -> Option<NameStrength> {
    if COMMON.contains(&name) || !may_be_secret(name) { None } else { spelled_out(name) }
}

fn spelled_out(name: &str) -> Option<NameStrength> {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect();
    let found = if WEAK.iter().any(|word| plain.ends_with(word)) {
        let is_strong = STRONG.iter().any(|word| plain.contains(word));
        Some(if is_strong { NameStrength::Strong } else { NameStrength::Weak })
    } else {
        STRONG.iter().any(|word| plain.contains(word)).then_some(NameStrength::Strong)
    };
    found.filter(|_| !HARMLESS.iter().any(|word| plain.contains(word)))
}

/// Names that every record of a session holds, and that are none although a secret name has a part of theirs.
const COMMON: [&str; 3] = ["authority", "tokenCount", "tokens"];

/// Whether a name holds a part without which no name is secret. Every field of a JSON text is asked, and nearly none has one.
fn may_be_secret(name: &str) -> bool {
    let mut rest = name.as_bytes();
    while let [first, tail @ ..] = rest {
        let may_begin = match first {
            b'a' | b'A' => begins_with(rest, "auth"),
            b'c' | b'C' => begins_with(rest, "credential") || begins_with(rest, "connectionstring"),
            b'k' | b'K' => begins_with(rest, "key"),
            b'p' | b'P' => begins_with(rest, "pass") || begins_with(rest, "pwd"),
            b's' | b'S' => begins_with(rest, "secret"),
            b't' | b'T' => begins_with(rest, "token"),
            _ => false,
        };
        if may_begin {
            return true;
        }
        rest = tail;
    }
    false
}

/// Whether a name begins with a part, whatever its signs and capitals are.
fn begins_with(name: &[u8], part: &str) -> bool {
    let mut letters = name.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase);
    part.bytes().all(|letter| letters.next() == Some(letter))
}

/// Names whose values are secret, without their signs.
const STRONG: [&str; 18] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "apikey",
    "accesskey",
    "privatekey",
    "signingkey",
    "encryptionkey",
    "authtoken",
    "accesstoken",
    "refreshtoken",
    "bearertoken",
    "bottoken",
    "apitoken",
    "personaltoken",
    "masterkey",
    "connectionstring",
];
/// Names that end so.
const WEAK: [&str; 8] = ["token", "pwd", "pass", "auth", "authorization", "credential", "credentials", "key"];
/// Names that hold one of these words and something else: counters, cursors, names, places, public halves.
const HARMLESS: [&str; 28] = [
    "tokens",
    "tokencount",
    "maxtoken",
    "nexttoken",
    "pagetoken",
    "nextpagetoken",
    "continuationtoken",
    "stoptoken",
    "padtoken",
    "eostoken",
    "bostoken",
    "tokentype",
    "secretname",
    "secretref",
    "secretkeyref",
    "keyname",
    "publickey",
    "primarykey",
    "foreignkey",
    "cachekey",
    "sortkey",
    "partitionkey",
    "hotkey",
    "keypath",
    "passwordfield",
    "passwordhash",
    "tokenizer",
    "sshaskpass",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_passed_over_at_once_is_no_secret_name_when_it_is_read_whole() {
        for name in COMMON {
            assert!(may_be_secret(name) && spelled_out(name).is_none(), "{name}");
        }
    }

    #[test]
    fn every_word_of_a_secret_name_passes_the_first_look_and_plain_names_do_not() {
        for word in STRONG.iter().chain(&WEAK) {
            for name in [(*word).to_string(), word.to_ascii_uppercase(), alloc::format!("my_{word}-x")] {
                assert!(may_be_secret(&name), "{name}");
            }
            assert!(may_be_secret(&alloc::format!("{}{word}", "x".repeat(64))), "a long name is read whole");
            let spelled: alloc::string::String = word.chars().flat_map(|letter| [letter, '_']).collect();
            assert!(may_be_secret(&spelled), "signs do not hide it");
        }
        for name in ["", "command", "tool_use_id", "session", "kind", "état", "a.b-c_d"] {
            assert!(!may_be_secret(name), "{name}");
        }
    }
}
