//! Conditions of policies that speak of a command line: read from Cedar when the policies are compiled, frozen with the
//! session, and answered by every door without Cedar.
//!
//! Only what Cedar's own check accepted comes here, so that an expression cannot fail; what has no value all the same
//! counts as forbidden.

use super::attribute::Attribute;
use super::kind::Kind;
use super::role::Attributes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use tripwire_shell::glob::Glob;

/// Deepest nesting of an expression.
const DEPTH_MAX: usize = 64;

/// A policy about command lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CommandRule {
    /// Why a person is asked; without it the command is refused.
    pub(super) ask: Option<String>,
    pub(super) condition: Expression,
}

/// An expression of a condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Expression {
    Truth(bool),
    Text(String),
    Set(Vec<Expression>),
    Entity(EntityName),
    Principal,
    Action,
    Resource,
    /// An attribute of the principal or of the context.
    Attribute(String),
    Not(Box<Expression>),
    All(Vec<Expression>),
    Any(Vec<Expression>),
    /// If, then, else.
    Choice(Box<[Expression; 3]>),
    Compared(Comparison, Box<[Expression; 2]>),
    /// Whether something is of a kind.
    Is(Box<Expression>, String),
    /// Whether a text fits a pattern.
    Like(Box<Expression>, Vec<LikePart>),
}

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Comparison {
    Equal,
    In,
    Contains,
    ContainsAll,
    ContainsAny,
}

/// A part of a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum LikePart {
    Anything,
    Exactly(String),
}

/// A name of a kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct EntityName {
    pub(super) kind: String,
    pub(super) name: String,
}

/// What a policy may know of one command of a call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandContext {
    /// The program's name without its folder; empty where no command is run.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// A host that it names.
    pub host: String,
    /// A file that it names, relative to the workspace where it is inside.
    pub path: String,
}

/// What an expression is answered for.
pub(super) struct Question<'q> {
    pub(super) role: &'q str,
    pub(super) agent: Option<&'q str>,
    pub(super) attributes: &'q Attributes,
    pub(super) action: &'q str,
    pub(super) kind: Kind,
    pub(super) resource: &'q str,
    pub(super) context: &'q CommandContext,
}

/// A value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Answer {
    Truth(bool),
    Text(String),
    Set(BTreeSet<Answer>),
    Entity(EntityName),
    /// The arguments of a command, in their order.
    Words(Vec<String>),
}

impl Expression {
    /// Whether it is true; what has no value is.
    pub(super) fn holds(&self, question: &Question<'_>) -> bool {
        self.value(question) != Some(Answer::Truth(false))
    }

    fn value(&self, question: &Question<'_>) -> Option<Answer> {
        let truth = |expression: &Self| match expression.value(question)? {
            Answer::Truth(is) => Some(is),
            Answer::Text(_) | Answer::Set(_) | Answer::Entity(_) | Answer::Words(_) => None,
        };
        Some(match self {
            Self::Truth(is) => Answer::Truth(*is),
            Self::Text(text) => Answer::Text(text.clone()),
            Self::Set(items) => Answer::Set(items.iter().map(|item| item.value(question)).collect::<Option<_>>()?),
            Self::Entity(name) => Answer::Entity(name.clone()),
            Self::Principal => entity("Agent", question.agent.unwrap_or_default()),
            Self::Action => entity("Action", question.action),
            Self::Resource => entity(question.kind.entity(), question.resource),
            Self::Attribute(name) => question.attribute(name)?,
            Self::Not(inner) => Answer::Truth(!truth(inner)?),
            Self::All(parts) => {
                for part in parts {
                    if !truth(part)? {
                        return Some(Answer::Truth(false));
                    }
                }
                Answer::Truth(true)
            }
            Self::Any(parts) => {
                for part in parts {
                    if truth(part)? {
                        return Some(Answer::Truth(true));
                    }
                }
                Answer::Truth(false)
            }
            Self::Choice(parts) => {
                let [condition, yes, no] = parts.as_ref();
                return if truth(condition)? { yes.value(question) } else { no.value(question) };
            }
            Self::Compared(how, sides) => {
                let [left, right] = sides.as_ref();
                Answer::Truth(compared(*how, &left.value(question)?, &right.value(question)?, question)?)
            }
            Self::Is(inner, kind) => match inner.value(question)? {
                Answer::Entity(name) => Answer::Truth(name.kind == *kind),
                Answer::Truth(_) | Answer::Text(_) | Answer::Set(_) | Answer::Words(_) => return None,
            },
            Self::Like(inner, pattern) => match inner.value(question)? {
                Answer::Text(text) => Answer::Truth(like(pattern, &text)),
                Answer::Words(words) => Answer::Truth(like(pattern, &words.join(" "))),
                Answer::Truth(_) | Answer::Set(_) | Answer::Entity(_) => return None,
            },
        })
    }
}

fn entity(kind: &str, name: &str) -> Answer {
    Answer::Entity(EntityName { kind: kind.to_owned(), name: name.to_owned() })
}

fn like(pattern: &[LikePart], text: &str) -> bool {
    let mut glob = Glob::default();
    for part in pattern {
        match part {
            LikePart::Anything => glob.push_any(),
            LikePart::Exactly(text) => glob.push_text(text),
        }
    }
    glob.fits(text)
}

fn compared(how: Comparison, left: &Answer, right: &Answer, question: &Question<'_>) -> Option<bool> {
    let items = |answer: &Answer| match answer {
        Answer::Set(items) => Some(items.clone()),
        Answer::Words(words) => Some(words.iter().cloned().map(Answer::Text).collect()),
        Answer::Truth(_) | Answer::Text(_) | Answer::Entity(_) => None,
    };
    Some(match how {
        Comparison::Equal => match (left, right) {
            (Answer::Words(words), Answer::Text(text)) | (Answer::Text(text), Answer::Words(words)) => {
                words.join(" ") == *text
            }
            (Answer::Words(_), Answer::Set(_)) | (Answer::Set(_), Answer::Words(_)) => items(left)? == items(right)?,
            (_, _) => left == right,
        },
        Comparison::In => match (left, right) {
            (Answer::Entity(below), Answer::Entity(above)) => question.is_in(below, above),
            (Answer::Entity(below), Answer::Set(all)) => all.iter().any(|above| match above {
                Answer::Entity(above) => question.is_in(below, above),
                Answer::Truth(_) | Answer::Text(_) | Answer::Set(_) | Answer::Words(_) => false,
            }),
            (_, _) => return None,
        },
        Comparison::Contains => items(left)?.contains(right),
        Comparison::ContainsAll => items(right)?.is_subset(&items(left)?),
        Comparison::ContainsAny => !items(right)?.is_disjoint(&items(left)?),
    })
}

impl Question<'_> {
    fn attribute(&self, name: &str) -> Option<Answer> {
        let CommandContext { program, arguments, host, path } = self.context;
        Some(match name {
            "context.program" => Answer::Text(program.clone()),
            "context.arguments" => Answer::Words(arguments.clone()),
            "context.host" => Answer::Text(host.clone()),
            "context.path" => Answer::Text(path.clone()),
            own => Answer::Truth(self.attributes.contains(&Attribute::from_name(own.strip_prefix("principal.")?)?)),
        })
    }

    fn is_in(&self, below: &EntityName, above: &EntityName) -> bool {
        if below == above {
            return true;
        }
        match below.kind.as_str() {
            "Agent" => above.kind == "Role" && above.name == self.role,
            kind if kind == self.kind.entity() && above.kind == kind => {
                self.kind.above(&below.name).any(|name| name == above.name)
            }
            _ => false,
        }
    }
}

impl Expression {
    /// The whole of a policy in its JSON form: where it applies, and its conditions. The error names what cannot be
    /// expressed.
    pub(super) fn of_policy(policy: &Value) -> Result<Self, String> {
        let mut parts = Vec::new();
        for (name, own) in [("principal", Self::Principal), ("action", Self::Action), ("resource", Self::Resource)] {
            parts.extend(scope(policy.get(name).unwrap_or(&Value::Null), &own)?);
        }
        for condition in policy.get("conditions").and_then(Value::as_array).into_iter().flatten() {
            let body = Self::of(condition.get("body").unwrap_or(&Value::Null), 0)?;
            let unless = condition.get("kind").and_then(Value::as_str) == Some("unless");
            parts.push(if unless { Self::Not(Box::new(body)) } else { body });
        }
        Ok(Self::All(parts))
    }

    fn of(value: &Value, depth: usize) -> Result<Self, String> {
        let inside = value.as_object().and_then(|map| map.iter().next());
        let Some((operator, inside)) = inside.filter(|_| depth < DEPTH_MAX) else {
            return Err("this expression".to_owned());
        };
        let next = |value: &Value| Self::of(value, depth + 1);
        let side = |name: &str| next(inside.get(name).unwrap_or(&Value::Null));
        let both = || Ok::<_, String>(Box::new([side("left")?, side("right")?]));
        Ok(match operator.as_str() {
            "Value" => literal(inside)?,
            "Var" => match inside.as_str() {
                Some("principal") => Self::Principal,
                Some("action") => Self::Action,
                Some("resource") => Self::Resource,
                Some(_) | None => return Err("`context` outside of an attribute".to_owned()),
            },
            "Set" => Self::Set(inside.as_array().into_iter().flatten().map(next).collect::<Result<_, _>>()?),
            "." => {
                let of = inside.get("left").and_then(|left| left.get("Var")).and_then(Value::as_str);
                let name = inside.get("attr").and_then(Value::as_str);
                match (of, name) {
                    (Some(of @ ("context" | "principal")), Some(name)) => Self::Attribute(format!("{of}.{name}")),
                    (_, _) => return Err("this attribute".to_owned()),
                }
            }
            // Every attribute of the context is always there.
            "has" => Self::Truth(true),
            "!" => Self::Not(Box::new(side("arg")?)),
            "&&" => Self::All(both()?.into_iter().collect()),
            "||" => Self::Any(both()?.into_iter().collect()),
            "==" => Self::Compared(Comparison::Equal, both()?),
            "!=" => Self::Not(Box::new(Self::Compared(Comparison::Equal, both()?))),
            "in" => Self::Compared(Comparison::In, both()?),
            "contains" => Self::Compared(Comparison::Contains, both()?),
            "containsAll" => Self::Compared(Comparison::ContainsAll, both()?),
            "containsAny" => Self::Compared(Comparison::ContainsAny, both()?),
            "isEmpty" => Self::Compared(Comparison::Equal, Box::new([side("arg")?, Self::Set(Vec::new())])),
            "if-then-else" => Self::Choice(Box::new([side("if")?, side("then")?, side("else")?])),
            "is" => {
                let kind = inside.get("entity_type").and_then(Value::as_str).unwrap_or_default();
                let is = Self::Is(Box::new(side("left")?), kind.to_owned());
                match inside.get("in") {
                    Some(above) => {
                        let within = Self::Compared(Comparison::In, Box::new([side("left")?, next(above)?]));
                        Self::All(vec![is, within])
                    }
                    None => is,
                }
            }
            "like" => Self::Like(Box::new(side("left")?), pattern(inside.get("pattern").unwrap_or(&Value::Null))?),
            other => return Err(format!("`{other}`")),
        })
    }
}

fn literal(value: &Value) -> Result<Expression, String> {
    match value {
        Value::Bool(is) => Ok(Expression::Truth(*is)),
        Value::String(text) => Ok(Expression::Text(text.clone())),
        Value::Object(map) => map.get("__entity").map_or_else(|| Err("this value".to_owned()), named),
        Value::Null | Value::Number(_) | Value::Array(_) => Err("this value".to_owned()),
    }
}

fn named(value: &Value) -> Result<Expression, String> {
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    match (text("type"), text("id")) {
        (Some(kind), Some(name)) => Ok(Expression::Entity(EntityName { kind, name })),
        (_, _) => Err("this name".to_owned()),
    }
}

fn pattern(value: &Value) -> Result<Vec<LikePart>, String> {
    let part = |value: &Value| {
        if value.as_str() == Some("Wildcard") {
            return Ok(LikePart::Anything);
        }
        let text = value.get("Literal").and_then(Value::as_str);
        text.map(|text| LikePart::Exactly(text.to_owned())).ok_or_else(|| "this pattern".to_owned())
    };
    value.as_array().into_iter().flatten().map(part).collect()
}

/// Where a policy applies, as conditions on one of its three parts.
fn scope(value: &Value, own: &Expression) -> Result<Vec<Expression>, String> {
    let compared = |how, right| Expression::Compared(how, Box::new([own.clone(), right]));
    let entity = |value: &Value| named(value.get("entity").unwrap_or(&Value::Null));
    Ok(match value.get("op").and_then(Value::as_str) {
        Some("All") => Vec::new(),
        Some("==") => vec![compared(Comparison::Equal, entity(value)?)],
        Some("in") => match value.get("entities").and_then(Value::as_array) {
            Some(all) => {
                let all = all.iter().map(named).collect::<Result<Vec<_>, _>>()?;
                vec![compared(Comparison::In, Expression::Set(all))]
            }
            None => vec![compared(Comparison::In, entity(value)?)],
        },
        Some("is") => {
            let kind = value.get("entity_type").and_then(Value::as_str).unwrap_or_default();
            let mut parts = vec![Expression::Is(Box::new(own.clone()), kind.to_owned())];
            if let Some(above) = value.get("in") {
                parts.push(compared(Comparison::In, entity(above)?));
            }
            parts
        }
        Some(_) | None => return Err("this scope".to_owned()),
    })
}
