//! Which engines are taken, and in which order, where a person names none: the manifest's lists, else the seed's order.

use tripwire_workspace::geometry::manifest::Scalar;

/// The word for the seed's order.
pub const DEFAULT: &str = "default";
/// The manifest's key for the engines of the loop.
pub const CHAIN_KEY: &str = "engines.chain";
/// The manifest's key for the advisors.
pub const ADVISORS_KEY: &str = "engines.advisors";

/// The seed's fallback chain: Claude Code, Gemini Pro, Gemini Flash for small fixes, a local model.
pub const CHAIN: [&str; 4] = ["claude", "gemini:gemini-2.5-pro", "gemini:gemini-2.5-flash", "lmstudio:llama-3"];
/// The seed's advisors: the strongest model first, then a local one, then Gemini Pro.
pub const ADVISORS: [&str; 3] = ["anthropic:claude-opus-4-6", "lmstudio:llama-3", "gemini:gemini-2.5-pro"];

/// The names that a person gave, with `default` put in for the seed's order; without any, those of the manifest.
#[must_use]
pub fn named(given: &[String], scalars: &[Scalar], key: &str, default: &[&str]) -> Vec<String> {
    let listed = |scalar: &&Scalar| scalar.path.split('[').next() == Some(key);
    let names: Vec<String> = if given.is_empty() {
        scalars.iter().filter(listed).map(|scalar| scalar.text.clone()).collect()
    } else {
        given.to_vec()
    };
    let mut all: Vec<String> = Vec::new();
    for name in names {
        let names = if name == DEFAULT { default.iter().map(|one| (*one).to_owned()).collect() } else { vec![name] };
        for name in names {
            if !all.contains(&name) {
                all.push(name);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use tripwire_workspace::geometry::manifest::Manifest;

    #[test]
    fn run_4_a_person_comes_before_the_manifest_and_the_seed_before_nothing() {
        let text = b"engines:\n  chain: [ollama:a, default]\n  advisors: [default]\n".to_vec();
        let manifest = Manifest::parse(Path::new("MANIFEST.yaml"), text).unwrap();
        let scalars = manifest.settings();
        let given = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(named(&given(&["x:y"]), &scalars, CHAIN_KEY, &CHAIN), ["x:y"]);
        let chain = named(&[], &scalars, CHAIN_KEY, &CHAIN);
        assert_eq!(chain[0], "ollama:a");
        assert_eq!(chain[1..], CHAIN);
        assert_eq!(named(&[], &scalars, ADVISORS_KEY, &ADVISORS), ADVISORS);
        assert!(named(&[], &[], CHAIN_KEY, &CHAIN).is_empty(), "nothing is taken that nobody named");
    }
}
