//! `engines.sensitive_paths`: what only ever goes to a local engine (RUN-4).
//!
//! The check stands directly before the wire and sees the whole question, so it holds whatever led there: a remote engine
//! never receives a conversation in which a call named such a path, or a result shows something below it. The refusal is
//! an error like any other, and the fallback chain goes on to the local engine.
//!
//! It reads names. A command that prints a file without naming it (`cat *`) is not seen here; what must not be read at all
//! belongs into the sandbox's list.

use crate::engines::engine::{Allowance, CallCost, Engine, EngineKind, Listener, Question, Turn};
use crate::engines::error::EngineError;
use std::borrow::Cow;
use std::time::Instant;
use tripwire_core::explain::Explain;
use tripwire_core::run::fallback::Seat;
use tripwire_core::run::record::{Answer, Spent};
use tripwire_core::units::Tokens;
use tripwire_core::usage::FigureSource;
use tripwire_workspace::geometry::manifest::Scalar;

/// The key of the manifest.
pub const KEY: &str = "engines.sensitive_paths";

/// Paths relative to the workspace; a folder covers everything below it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SensitivePaths(Vec<String>);

/// Why a list of paths cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` in `{KEY}` is no path inside the workspace")]
pub struct SensitivePathError {
    path: String,
}

impl Explain for SensitivePathError {
    fn hint(&self) -> Cow<'_, str> {
        "write it relative to the workspace, as in `src/kernel`, without `..` and without a slash at its beginning"
            .into()
    }
}

impl SensitivePaths {
    /// Checks a list.
    ///
    /// # Errors
    /// When a path is empty, absolute or leads outside: a protection that cannot hold must not look as if it did.
    pub fn new<S: AsRef<str>>(paths: impl IntoIterator<Item = S>) -> Result<Self, SensitivePathError> {
        let check = |path: S| {
            let path = path.as_ref();
            let plain = path.trim().trim_start_matches("./").trim_end_matches("/**").trim_end_matches('/');
            let outside = plain.is_empty() || plain.starts_with('/') || plain.split('/').any(|part| part == "..");
            if outside { Err(SensitivePathError { path: path.to_owned() }) } else { Ok(plain.to_owned()) }
        };
        paths.into_iter().map(check).collect::<Result<Vec<_>, _>>().map(Self)
    }

    /// The list that a manifest holds.
    ///
    /// # Errors
    /// As [`SensitivePaths::new`].
    pub fn of_manifest(scalars: &[Scalar]) -> Result<Self, SensitivePathError> {
        let ours = |scalar: &&Scalar| scalar.path.split('[').next() == Some(KEY);
        Self::new(scalars.iter().filter(ours).map(|scalar| scalar.text.as_str()))
    }

    /// The path that a question touches, if it touches one.
    #[must_use]
    pub fn touched_by(&self, question: &Question<'_>) -> Option<&str> {
        let touches = |path: &str| {
            question.turns.iter().any(|turn| match turn {
                // Our own words name a path without showing what is in it.
                Turn::User(_) => false,
                Turn::Model { calls, .. } => calls.iter().any(|call| names(&call.arguments, path)),
                Turn::Results(results) => results.iter().any(|result| shows(&result.text, path)),
            })
        };
        self.0.iter().map(String::as_str).find(|path| touches(path))
    }

    /// Puts the check before a remote engine; a local one may hear everything.
    #[must_use]
    pub fn guard(&self, engine: Box<dyn Engine>) -> Box<dyn Engine> {
        match engine.place() {
            Seat::Remote if !self.0.is_empty() => Box::new(Guarded { engine, paths: self.clone() }),
            Seat::Remote | Seat::Local => engine,
        }
    }
}

/// Whether arguments name the path or something below it.
fn names(arguments: &str, path: &str) -> bool {
    found(arguments, path).any(|(_, after)| after.is_none_or(|next| next == '/' || !is_name(next)))
}

/// Whether a result shows something of the path: a file below it, or a line that was found in it.
fn shows(result: &str, path: &str) -> bool {
    found(result, path).any(|(rest, after)| match after {
        Some('/') => rest.chars().nth(1).is_some_and(is_name),
        Some(':') => true,
        Some(_) | None => false,
    })
}

/// The places at which the path stands as a path of its own, with what follows it.
fn found<'a>(text: &'a str, path: &'a str) -> impl Iterator<Item = (&'a str, Option<char>)> {
    text.match_indices(path).filter_map(move |(at, _)| {
        let before = text.get(..at)?.chars().next_back();
        let rest = text.get(at + path.len()..)?;
        before.is_none_or(|before| !is_name(before)).then(|| (rest, rest.chars().next()))
    })
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// A remote engine behind the check.
struct Guarded {
    engine: Box<dyn Engine>,
    paths: SensitivePaths,
}

impl Engine for Guarded {
    fn name(&self) -> &str {
        self.engine.name()
    }

    fn window(&self) -> Option<Tokens> {
        self.engine.window()
    }

    fn place(&self) -> Seat {
        self.engine.place()
    }

    fn call_cost(&self) -> CallCost {
        self.engine.call_cost()
    }

    fn spent(&mut self) -> Option<Spent> {
        self.engine.spent()
    }

    fn skip(&mut self, answers: u64) {
        self.engine.skip(answers);
    }

    fn kind(&self) -> EngineKind {
        self.engine.kind()
    }

    fn allow(&mut self, allowance: &Allowance) {
        self.engine.allow(allowance);
    }

    fn figures(&self) -> FigureSource {
        self.engine.figures()
    }

    fn ask(
        &mut self,
        question: &Question<'_>,
        deadline: Instant,
        listener: &mut Listener<'_>,
    ) -> Result<Answer, EngineError> {
        let touched = match self.engine.kind() {
            EngineKind::Model => self.paths.touched_by(question),
            // A worker reads what it likes: while there is a list, it is not asked at all.
            EngineKind::Worker => self.paths.0.first().map(String::as_str),
        };
        match touched {
            Some(path) => Err(EngineError::TooSensitive { engine: self.name().to_owned(), path: path.to_owned() }),
            None => self.engine.ask(question, deadline, listener),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::engine::ToolAnswer;
    use tripwire_core::run::record::Call;

    fn call(arguments: &str) -> Turn {
        let call = Call { id: "1".into(), tool: "t".into(), arguments: arguments.into() };
        Turn::Model { text: "src/kernel is next".to_owned(), calls: vec![call] }
    }

    fn result(text: &str) -> Turn {
        let (id, tool, text) = ("1".to_owned(), "t".to_owned(), text.to_owned());
        Turn::Results(vec![ToolAnswer { id, tool, text, is_error: false }])
    }

    fn touched(turn: Turn) -> bool {
        let paths = SensitivePaths::new(["src/kernel/", "./keys.txt"]).unwrap();
        let turns = [Turn::User("leave src/kernel/x.rs and keys.txt: alone".to_owned()), turn];
        let question =
            Question { system: "", tools: &[], turns: &turns, output_tokens_max: Tokens::new(1), measured: None };
        paths.touched_by(&question).is_some()
    }

    #[test]
    fn run_4_calls_that_name_a_sensitive_path_and_results_that_show_one_are_seen() {
        for arguments in [
            r#"{"path":"src/kernel/irq.rs"}"#,
            r#"{"path":"./src/kernel"}"#,
            r#"{"command":"cat keys.txt | wc"}"#,
            r#"{"command":"ls /repo/src/kernel/"}"#,
        ] {
            assert!(touched(call(arguments)), "{arguments}");
        }
        for text in ["src/kernel/irq.rs:3: spin_lock()", "found in keys.txt:1: hunter2"] {
            assert!(touched(result(text)), "{text}");
        }
    }

    #[test]
    fn run_4_names_that_only_look_like_one_are_left_alone() {
        for arguments in [r#"{"path":"src/kernels/a.rs"}"#, r#"{"path":"other_keys.txt"}"#, r#"{"path":"keys.txt.md"}"#]
        {
            assert!(!touched(call(arguments)), "{arguments}");
        }
        for text in ["src/kernel\nsrc/user", "src/kernel/", "keys.txt", "mysrc/kernel/x"] {
            assert!(!touched(result(text)), "{text}");
        }
    }

    #[test]
    fn run_4_a_path_that_cannot_be_held_is_refused() {
        for path in ["", "/etc", "../up", "a/../b", "./", "/"] {
            assert_eq!(SensitivePaths::new([path]), Err(SensitivePathError { path: path.to_owned() }));
        }
        let scalar = |path: &str, text: &str| Scalar { path: path.to_owned(), text: text.to_owned(), line: 1 };
        let scalars = [scalar("engines.sensitive_paths[0]", "a/**"), scalar("engines.other", "/x")];
        assert_eq!(SensitivePaths::of_manifest(&scalars), SensitivePaths::new(["a"]));
    }
}
