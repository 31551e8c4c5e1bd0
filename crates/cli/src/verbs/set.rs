//! `tripwire set`: a person changes a limit or the budget of a session that runs. Thresholds stay frozen.

use crate::error::Problem;
use crate::exit::Exit;
use crate::limits;
use crate::notify;
use crate::person::{self, Reason};
use crate::print::{Form, Out, money};
use crate::workspace::{self, Which};
use clap::Args;
use serde_json::json;
use std::borrow::Cow;
use tripwire_core::explain::Explain;
use tripwire_core::input::{HumanAct, Retune};
use tripwire_core::label::Label;
use tripwire_core::policy::Policy;
use tripwire_session::driver::Driver;
use tripwire_workspace::clock;

/// Change a limit or the money budget of a running session.
///
/// `limits.max_session_runtime=+1h`, `limits.max_steps=20`, `limits.max_runtime_hours=off`, `money.budget=10usd`; `+`
/// and `-` are relative to the current value. The change is journaled with who made it and why, and applies from the
/// next step on. All other settings stay frozen as they were when the session began.
#[derive(Debug, Args)]
pub(crate) struct SetArgs {
    /// The session (by default the newest one), then what to set, such as `money.budget=10usd`.
    #[arg(value_name = "[SESSION] NAME=VALUE", required = true)]
    words: Vec<String>,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    reason: Reason,
    #[command(flatten)]
    form: Form,
}

/// Why nothing was set.
#[derive(Debug, thiserror::Error)]
enum SetError {
    #[error("`{word}` is no `NAME=VALUE`")]
    NoPair { word: String },
    #[error("nothing is to be set")]
    Nothing,
    #[error("`{name}` is frozen for as long as the session runs")]
    Frozen { name: String },
    #[error("`{value}` is no value for `{name}`: {why}")]
    Value { name: String, value: String, why: String },
    #[error("`{name}` is off: there is nothing to count from")]
    Off { name: String },
}

impl Explain for SetError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::NoPair { .. } | Self::Nothing => {
                "write for instance `tripwire set limits.max_session_runtime=+1h money.budget=10usd`".into()
            }
            Self::Frozen { .. } => {
                "`limits.*` and `money.budget` can be set; all else counts for the next session: `tripwire policy show`"
                    .into()
            }
            Self::Value { .. } => "write a value such as `20`, `+5`, `90m`, `10usd` or `off`".into(),
            Self::Off { .. } => "set it to a value without `+` or `-`".into(),
        }
    }
}

/// Runs the verb.
pub(crate) fn run(args: &SetArgs) -> Result<Exit, Problem> {
    person::only("set", &args.which.place)?;
    let (session, pairs) = read(&args.words)?;
    let workspace = args.which.place.look()?;
    let which = Which { place: args.which.place.clone(), session: session.or_else(|| args.which.session.clone()) };
    let id = which.find(workspace.layout())?;
    let mut driver = Driver::resume(workspace.layout(), &id)?.signed_by(workspace::signing(&workspace));
    driver.refresh()?;
    let mut policy = driver.policy().clone();
    let mut changes = Vec::new();
    for (name, value) in pairs {
        let key = key_of(name)?;
        let old = in_force(&driver, &policy, key);
        let new = value_of(name, key, &value, old.as_deref())?;
        policy.set(key, &new)?;
        changes.push(Change { key, old: old.unwrap_or_else(|| "off".to_owned()), new });
    }
    policy.check()?;
    for change in &changes {
        let act = HumanAct::Retune(Retune { key: Label::cut(change.key), value: Label::cut(&change.new) });
        let taken = driver.take_now(args.reason.sign(act), clock::now)?;
        notify::notify(&driver, &taken);
    }
    let mut out = Out::lock();
    if args.form.json {
        let set: Vec<_> =
            changes.iter().map(|change| json!({"key": change.key, "old": change.old, "new": change.new})).collect();
        out.line(&json!({"verb": "set", "session": id.as_str(), "set": set}).to_string())?;
    } else {
        for Change { key, old, new } in &changes {
            out.prose(&format!("{key}: {} is {} now", shown(key, old), shown(key, new)))?;
        }
        out.prose(&format!("journaled in {id}; it counts from the next step on"))?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// One setting, before and after.
struct Change {
    key: &'static str,
    old: String,
    new: String,
}

/// A setting as it was named, and its value.
type NamedValue<'a> = (&'a str, String);

/// The words of the command line: a session, if the first is no pair, and the pairs.
fn read(words: &[String]) -> Result<(Option<String>, Vec<NamedValue<'_>>), SetError> {
    let (session, rest) = match words.split_first() {
        Some((first, rest)) if !first.contains('=') => (Some(first.clone()), rest),
        Some(_) | None => (None, words),
    };
    let pair = |word: &'_ String| -> Result<(usize, String), SetError> {
        let at = word.find('=').filter(|at| *at > 0).ok_or_else(|| SetError::NoPair { word: word.clone() })?;
        Ok((at, word[at + 1..].trim().to_owned()))
    };
    let mut pairs = Vec::new();
    for word in rest {
        let (at, value) = pair(word)?;
        pairs.push((word[..at].trim(), value));
    }
    if pairs.is_empty() { Err(SetError::Nothing) } else { Ok((session, pairs)) }
}

/// The setting's own name: people leave the unit away.
fn key_of(name: &str) -> Result<&'static str, SetError> {
    let rows = Policy::default().rows();
    let full = |row: &&tripwire_core::policy::SettingRow| {
        row.path == name
            || row.path.strip_suffix("_ms") == Some(name)
            || row.path.strip_suffix("_micro_usd") == Some(name)
    };
    let row = rows.iter().find(full).map(|row| row.path);
    row.filter(|path| Retune::may_set(path)).ok_or_else(|| SetError::Frozen { name: name.to_owned() })
}

/// The value in force, as the policy writes it; none if it is off.
fn in_force(driver: &Driver, policy: &Policy, key: &str) -> Option<String> {
    if key.ends_with("_micro_usd") && policy.money == driver.policy().money {
        // What a person added before is part of it.
        return driver.view().budget_micro_usd.map(|budget| budget.get().to_string());
    }
    policy.rows().into_iter().find(|row| row.path == key).map(|row| row.value).filter(|value| value != "off")
}

/// The new value, as the policy writes it.
fn value_of(name: &str, key: &str, text: &str, old: Option<&str>) -> Result<String, SetError> {
    let wrong = |why: String| SetError::Value { name: name.to_owned(), value: text.to_owned(), why };
    let (sign, amount) = match text.split_at_checked(1) {
        Some((sign @ ("+" | "-"), rest)) => (Some(sign), rest),
        Some(_) | None => (None, text),
    };
    if sign.is_none() && matches!(amount, "off" | "on" | "true" | "false" | "null") {
        return Ok(amount.to_owned());
    }
    let amount = if key.ends_with("_ms") {
        match amount.parse::<u64>() {
            Ok(ms) => ms,
            Err(_) => {
                limits::span(amount).map(|span| u64::try_from(span.as_millis()).unwrap_or(u64::MAX)).map_err(wrong)?
            }
        }
    } else if key.ends_with("_micro_usd") {
        limits::budget(amount).map_err(wrong)?
    } else {
        amount.parse::<u64>().map_err(|_| wrong("write a whole number".to_owned()))?
    };
    let Some(sign) = sign else { return Ok(amount.to_string()) };
    let base: u64 = old.and_then(|old| old.parse().ok()).ok_or_else(|| SetError::Off { name: name.to_owned() })?;
    let new = if sign == "+" { base.checked_add(amount) } else { base.checked_sub(amount) };
    new.filter(|new| *new > 0).map(|new| new.to_string()).ok_or_else(|| wrong(format!("it is {base} now")))
}

/// A value as people read it.
fn shown(key: &str, value: &str) -> String {
    match (value.parse::<u64>(), key.ends_with("_micro_usd"), key.ends_with("_ms")) {
        (Ok(sum), true, _) => money::exactly(sum),
        (Ok(ms), false, true) => format!("{} s", ms / 1_000),
        (Ok(_), false, false) | (Err(_), _, _) => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ctrl_5_values_are_read_in_both_directions_and_only_limits_can_be_set() {
        let runtime = "limits.max_session_runtime_ms";
        assert_eq!(key_of("limits.max_session_runtime").unwrap(), runtime);
        assert_eq!(key_of("money.budget").unwrap(), "money.budget_micro_usd");
        assert_eq!(value_of("x", runtime, "+1h", Some("1000")).unwrap(), "3601000");
        assert_eq!(value_of("x", runtime, "90m", None).unwrap(), "5400000");
        assert_eq!(value_of("x", "money.budget_micro_usd", "-1usd", Some("3000000")).unwrap(), "2000000");
        assert_eq!(value_of("x", "limits.max_steps", "off", Some("3")).unwrap(), "off");
        for (key, text, old) in [
            (runtime, "+1h", None),
            ("limits.max_steps", "-9", Some("5")),
            ("limits.max_steps", "much", None),
            (runtime, "", None),
        ] {
            assert!(value_of("x", key, text, old).is_err(), "{text}");
        }
        for frozen in
            ["gate.max_tokens_per_minute", "loops.loop_repeat_threshold", "health.hard_stop_threshold", "nothing"]
        {
            assert!(key_of(frozen).is_err(), "{frozen}");
        }
    }
}
