//! Made-up sessions, drawn from seeds: dice, a vocabulary, calls with their results, and who plays them.

mod healthy;
mod looping;

pub use healthy::{Healthy, play as play_healthy};
pub use looping::{Looping, play as play_loop};

/// Random numbers that are the same for the same seed, everywhere.
#[derive(Debug)]
pub struct Dice(u64);

impl Dice {
    /// Dice with a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end.max(1)
    }

    /// A number from `low` to `high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// One of some.
    pub fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        let at = usize::try_from(self.below(u64::try_from(of.len()).unwrap_or(1))).unwrap_or(0);
        of.get(at).copied().unwrap_or_default()
    }

    /// A made-up word: two or three syllables, so that there are thousands.
    pub fn word(&mut self) -> String {
        const SYLLABLES: [&str; 24] = [
            "ba", "do", "ki", "lu", "me", "na", "po", "ri", "su", "ta", "ve", "wo", "xi", "yo", "zu", "ger", "mal",
            "nor", "pin", "ral", "sen", "tor", "ven", "wil",
        ];
        (0..self.between(2, 3)).map(|_| self.one(&SYLLABLES)).collect()
    }

    /// Some made-up words.
    pub fn words(&mut self, count: u64) -> Vec<String> {
        (0..count).map(|_| self.word()).collect()
    }

    /// A sentence of made-up words.
    pub fn sentence(&mut self, count: u64) -> String {
        self.words(count).join(" ")
    }

    /// A path in a made-up project.
    pub fn path(&mut self) -> String {
        format!("src/{}/{}.{}", self.word(), self.word(), self.one(&["rs", "py", "ts", "go"]))
    }
}

/// One call and what came of it.
#[derive(Debug, Default)]
pub struct Call<'a> {
    /// The tool.
    pub tool: &'a str,
    /// Its arguments as JSON.
    pub args: String,
    /// What it gave.
    pub output: Option<String>,
    /// Whether the client calls it an error.
    pub error: bool,
    /// The model turn, where several calls share one.
    pub turn: Option<u64>,
    /// What the model said before it.
    pub said: Option<String>,
    /// How long after the call before it, in milliseconds; nothing for the usual pace.
    pub after_ms: Option<u64>,
}

/// A call that went well.
pub fn good(tool: &str, args: String, output: impl Into<String>) -> Call<'_> {
    Call { tool, args, output: Some(output.into()), ..Call::default() }
}

/// A call that failed with a text.
pub fn bad(tool: &str, args: String, output: impl Into<String>) -> Call<'_> {
    Call { error: true, ..good(tool, args, output) }
}

/// Takes the calls of a made-up session one after the other.
pub trait Player {
    /// Takes one call.
    fn play(&mut self, call: &Call<'_>);

    /// Whether the session came to its end, so that no further call is made.
    fn is_over(&self) -> bool {
        false
    }
}
