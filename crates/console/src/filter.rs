//! The one filter language of page and command line: `agent:claude tool:Bash verdict:held after:02:00 -level:note "npm test"`.
//!
//! Terms stand beside each other and all must hold; `-` before a term turns it round; a value with spaces stands in quotes; a
//! word without a key is looked for in what happened and why.

use crate::history::Pair;
use crate::moment;
use std::borrow::Cow;
use std::process::{Command, Stdio};
use tripwire_core::decision::Level;
use tripwire_core::explain::Explain;
use tripwire_core::input::What;
use tripwire_core::rules::{self, Rule};
use tripwire_session::driver::words;
use tripwire_workspace::geometry::wall_clock::WallClock;

/// A filter that was read.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    terms: Vec<Term>,
}

#[derive(Debug, Clone)]
struct Term {
    wanted: bool,
    test: Test,
}

/// What one term asks.
#[derive(Debug, Clone)]
enum Test {
    Agent(String),
    Tool(String),
    Verdict(Verdict),
    Rule(String),
    Level(Level),
    Type(String),
    Status(String),
    After(WallClock),
    Before(WallClock),
    Number(u64, u64),
    Text(String),
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The agent might act.
    Allowed,
    /// It waits for a person.
    Held,
    /// It was not let through.
    Refused,
}

impl Verdict {
    /// What became of a pair; nothing where a crash came before the decision.
    #[must_use]
    pub fn of(pair: &Pair) -> Option<Self> {
        let parts = &pair.decision.as_ref()?.parts;
        let held =
            parts.findings.iter().any(|finding| finding.level == Level::Hold) || parts.safety.waits_for_a_person();
        // A claim that was sent back is no call that was refused, and yet the agent was told no.
        Some(match (parts.objection(), held) {
            (None, _) => Self::Allowed,
            (Some(_), true) => Self::Held,
            (Some(_), false) => Self::Refused,
        })
    }

    /// Its name in a filter.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Held => "held",
            Self::Refused => "refused",
        }
    }
}

/// A filter that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// The key is none of ours.
    #[error("the filter knows no `{key}:`")]
    Key {
        /// What was written.
        key: String,
    },
    /// The value does not fit the key.
    #[error("`{value}` is no value of `{key}:`; it takes {takes}")]
    Value {
        /// The key.
        key: &'static str,
        /// What was written.
        value: String,
        /// What it takes.
        takes: &'static str,
    },
    /// There is no such rule.
    #[error("there is no rule `{name}`{}", nearest.map(|nearest| format!("; did you mean `{nearest}`?")).unwrap_or_default())]
    Rule {
        /// What was written.
        name: String,
        /// The nearest name.
        nearest: Option<&'static str>,
    },
    /// A quotation mark has no partner.
    #[error("a quotation mark in the filter has no partner")]
    Quote,
}

impl Explain for FilterError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Key { .. } => format!("it knows {}; a plain word is looked for in the text", KEYS.join(", ")).into(),
            Self::Value { .. } => "for instance `agent:claude tool:Bash verdict:held after:02:00`".into(),
            Self::Rule { .. } => "list all rules with `tripwire explain`".into(),
            Self::Quote => "write `\"` twice: before and after the words".into(),
        }
    }
}

/// The keys, as people write them.
const KEYS: [&str; 10] = [
    "`agent:`",
    "`tool:`",
    "`verdict:`",
    "`rule:`",
    "`level:`",
    "`type:`",
    "`status:`",
    "`after:`",
    "`before:`",
    "`i:`",
];

impl Filter {
    /// Reads a filter; an empty one lets everything pass.
    ///
    /// # Errors
    /// When a term cannot be understood: nothing is guessed.
    pub fn parse(text: &str, now: WallClock) -> Result<Self, FilterError> {
        let terms = split(text)?;
        Ok(Self { terms: terms.iter().map(|word| term(word, now)).collect::<Result<_, _>>()? })
    }

    /// The same filter with one more term.
    ///
    /// # Errors
    /// See [`Self::parse`].
    pub fn and(mut self, key: &str, value: &str, now: WallClock) -> Result<Self, FilterError> {
        self.terms.push(Term { wanted: true, test: test(key, value, now)? });
        Ok(self)
    }

    /// Whether it lets everything pass.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether a pair of a session with this client passes.
    #[must_use]
    pub fn passes(&self, pair: &Pair, client: &str) -> bool {
        self.terms.iter().all(|term| term.test.holds(pair, client) == term.wanted)
    }
}

/// Words, with quotation marks taken off; inside them spaces count.
fn split(text: &str) -> Result<Vec<String>, FilterError> {
    let (mut words, mut word, mut quoted, mut begun) = (Vec::new(), String::new(), false, false);
    for letter in text.chars() {
        match letter {
            '"' => (quoted, begun) = (!quoted, true),
            letter if letter.is_whitespace() && !quoted => {
                if begun {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            letter => {
                word.push(letter);
                begun = true;
            }
        }
    }
    if quoted {
        return Err(FilterError::Quote);
    }
    if begun {
        words.push(word);
    }
    Ok(words)
}

fn term(word: &str, now: WallClock) -> Result<Term, FilterError> {
    let (wanted, word) = match word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
        Some(rest) => (false, rest),
        None => (true, word),
    };
    let is_key = |key: &str| !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase());
    let test = match word.split_once(':') {
        Some((key, value)) if is_key(key) && !value.starts_with("//") => test(key, value, now)?,
        Some(_) | None => Test::Text(word.to_lowercase()),
    };
    Ok(Term { wanted, test })
}

fn test(key: &str, value: &str, now: WallClock) -> Result<Test, FilterError> {
    let wrong = |key: &'static str, takes: &'static str| FilterError::Value { key, value: value.to_owned(), takes };
    Ok(match key {
        "agent" => Test::Agent(value.to_lowercase()),
        "tool" => Test::Tool(value.to_lowercase()),
        "type" => Test::Type(value.to_owned()),
        "text" => Test::Text(value.to_lowercase()),
        "verdict" => Test::Verdict(match value {
            "allowed" => Verdict::Allowed,
            "held" => Verdict::Held,
            "refused" => Verdict::Refused,
            _ => return Err(wrong("verdict", "`allowed`, `held` or `refused`")),
        }),
        "level" => Test::Level(match value {
            "note" => Level::Note,
            "override" => Level::Override,
            "hold" => Level::Hold,
            "stop" => Level::Stop,
            _ => return Err(wrong("level", "`note`, `override`, `hold` or `stop`")),
        }),
        "status" => match value {
            "ok" | "error" => Test::Status(value.to_owned()),
            _ => return Err(wrong("status", "`ok` or `error`")),
        },
        "rule" if is_known(value) => Test::Rule(value.to_owned()),
        "rule" => {
            let nearest = rules::nearest(value).map(|entry| entry.id);
            return Err(FilterError::Rule { name: value.to_owned(), nearest });
        }
        "after" => Test::After(when(value, now).ok_or_else(|| wrong("after", WHEN))?),
        "before" => Test::Before(when(value, now).ok_or_else(|| wrong("before", WHEN))?),
        "i" => {
            let (from, to) = value.split_once("..").unwrap_or((value, value));
            let number =
                |text: &str| text.parse::<u64>().map_err(|_| wrong("i", "a number or a range such as `10..20`"));
            Test::Number(number(from)?, number(to)?)
        }
        _ => return Err(FilterError::Key { key: key.to_owned() }),
    })
}

const WHEN: &str = "a span such as `15m`, a time of day such as `02:00`, or `2026-02-28T15:30:00Z`";

/// A span back from now, a stamp, or the last such time of day by this machine's clock.
fn when(text: &str, now: WallClock) -> Option<WallClock> {
    if let Ok(moment) = moment::moment(text, now) {
        return Some(moment);
    }
    let (hour, minute) = text.split_once(':')?;
    let number = |text: &str, below: u8| text.parse::<u8>().ok().filter(|value| text.len() <= 2 && *value < below);
    let (hour, minute) = (number(hour, 24)?, number(minute, 60)?);
    let on = |day: &str| local(&format!("{day} {hour:02}:{minute:02}")).filter(|then| *then <= now.epoch_ms() / 1_000);
    let seconds = on("today").or_else(|| on("yesterday"))?;
    Some(WallClock::from_epoch_ms(seconds.saturating_mul(1_000)))
}

/// The moment that a local time names, in seconds since 1970: when the clocks change is the system's knowledge.
fn local(text: &str) -> Option<u64> {
    let asked = Command::new("date").args(["-d", text, "+%s"]).stdin(Stdio::null()).stderr(Stdio::null()).output();
    let asked = asked.ok().filter(|asked| asked.status.success())?;
    String::from_utf8(asked.stdout).ok()?.trim().parse().ok()
}

impl Test {
    fn holds(&self, pair: &Pair, client: &str) -> bool {
        let parts = pair.decision.as_ref().map(|decided| &decided.parts);
        match self {
            Self::Agent(wanted) => {
                client.eq_ignore_ascii_case(wanted)
                    || agent_of(&pair.input.what).is_some_and(|agent| agent.to_lowercase().contains(wanted))
            }
            Self::Tool(wanted) => tool_of(&pair.input.what).is_some_and(|tool| tool.eq_ignore_ascii_case(wanted)),
            Self::Verdict(wanted) => Verdict::of(pair) == Some(*wanted),
            Self::Rule(wanted) => parts.is_some_and(|parts| {
                is_of(&parts.safety.rule, wanted) || parts.findings.iter().any(|finding| is_of(&finding.rule, wanted))
            }),
            Self::Level(wanted) => {
                parts.is_some_and(|parts| parts.findings.iter().any(|finding| finding.level >= *wanted))
            }
            Self::Type(wanted) => is_of_type(pair, wanted),
            Self::Status(wanted) => status_of(&pair.input.what) == Some(wanted.as_str()),
            Self::After(from) => pair.wall >= *from,
            Self::Before(until) => pair.wall < *until,
            Self::Number(from, to) => (*from..=*to).contains(&pair.number),
            Self::Text(wanted) => holds_text(pair, wanted),
        }
    }
}

fn is_of_type(pair: &Pair, wanted: &str) -> bool {
    let same = |name: &str| name.eq_ignore_ascii_case(wanted);
    kind_of_input(&pair.input_text).is_some_and(|kind| same(&kind))
        || pair.decision.as_ref().is_some_and(|decided| {
            let parts = &decided.parts;
            parts.findings.iter().any(|finding| same(&finding.kind))
                || parts.safety.veto_reason.as_deref().is_some_and(same)
                || (!parts.safety.allowed && same("refused"))
        })
}

fn holds_text(pair: &Pair, wanted: &str) -> bool {
    let has = |text: &str| text.to_lowercase().contains(wanted);
    has(&words::in_short(&pair.input.what))
        || pair.input.what.action().is_some_and(|action| has(&action.named()))
        || pair.decision.as_ref().is_some_and(|decided| {
            let parts = &decided.parts;
            (!parts.safety.allowed && has(&parts.safety.reason)) || parts.findings.iter().any(|one| has(&one.reason))
        })
}

fn tool_of(what: &What) -> Option<&str> {
    what.action().map(|action| action.tool.as_str())
}

/// The sub-agent that acted; nothing for the main one.
#[must_use]
pub fn agent_of(what: &What) -> Option<&str> {
    let agent = if let What::Event(event) = what {
        event.agent_id.as_ref()
    } else if let What::Request(request) = what {
        request.agent_id.as_ref()
    } else {
        None
    };
    agent.map(tripwire_core::label::Label::as_str)
}

fn status_of(what: &What) -> Option<&'static str> {
    let What::Event(event) = what else { return None };
    event.outcome.as_ref()?;
    Some(if event.failed() { "error" } else { "ok" })
}

/// Whether a name is that of a rule or of a family: one that decides, or one that is only explained.
fn is_known(wanted: &str) -> bool {
    let mut names = rules::entries().map(|entry| entry.id).chain(Rule::ALL.iter().map(|rule| rule.id()));
    names.any(|name| is_of(name, wanted))
}

/// Whether a rule is the one that was named, or of the family that was named.
fn is_of(rule: &str, wanted: &str) -> bool {
    rule.get(..wanted.len()).is_some_and(|start| start.eq_ignore_ascii_case(wanted))
        && matches!(rule.as_bytes().get(wanted.len()), None | Some(b'.' | b'-'))
}

/// The kind of an input as the journal names it.
#[must_use]
pub fn kind_of_input(text: &str) -> Option<String> {
    let input: serde_json::Value = serde_json::from_str(text).ok()?;
    match input.get("what")? {
        serde_json::Value::String(name) => Some(name.clone()),
        serde_json::Value::Object(fields) => fields.keys().next().cloned(),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::Array(_) => None,
    }
}

#[cfg(test)]
mod tests;
