//! A policy file as it is read: parsed, checked against the schema, and held to what a table can express.

use super::error::{AuthorityError, AuthorityProblem};
use super::expression::{CommandRule, Expression};
use super::subset::{self, Literals};
use cedar_policy_core::ast::{Effect, Policy, PolicyID, PolicySet, Template};
use cedar_policy_core::extensions::Extensions;
use cedar_policy_core::parser::{self, Loc};
use cedar_policy_core::validator::{ValidationMode, Validator, ValidatorSchema};
use miette::Diagnostic;
use std::path::{Path, PathBuf};
use tripwire_core::record::chain::Digest;
use tripwire_fs::file::{Draft, FileError, FileMode, read_bounded};

/// The schema, which belongs to tripwire.
const SCHEMA: &str = include_str!("policy.cedarschema");
/// The policies that a workspace gets, which say what the seed says.
pub const DEFAULT: &str = include_str!("default.cedar");
/// Reading is permitted unless a policy forbids it: a policy file of an older version does not speak of it. A file
/// without any policy permits nothing.
const READING: &str = r#"permit (principal, action == Action::"read", resource);"#;
/// The largest policy file.
const BYTES_MAX: u64 = 256 * 1024;

/// A policy file that was found right.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) file: PathBuf,
    pub(super) digest: Digest,
    /// The policies that a table expresses.
    pub(super) policies: PolicySet,
    /// Those that speak of command lines.
    pub(super) rules: Vec<CommandRule>,
    pub(super) literals: Literals,
    pub(super) examples: Vec<Annotated>,
}

/// An annotation with examples, and the line of its policy.
#[derive(Debug)]
pub(super) struct Annotated {
    pub(super) text: String,
    pub(super) wanted: Wanted,
    pub(super) line: u64,
}

/// What an example must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Allowed,
    Denied,
}

/// Writes the default policies if there is no policy file; an existing one is never touched.
///
/// # Errors
/// When the file cannot be written.
pub fn write_if_missing(file: &Path) -> Result<(), FileError> {
    if file.symlink_metadata().is_ok() {
        return Ok(());
    }
    let mut draft = Draft::new(file, FileMode::PRIVATE)?;
    draft.write(DEFAULT.as_bytes())?;
    draft.publish_new().map(|_| ())
}

/// The text of a policy file.
pub(super) fn read(file: &Path) -> Result<String, AuthorityError> {
    let bytes = read_bounded(file, BYTES_MAX)
        .map_err(|error| AuthorityError::new(file, None, AuthorityProblem::Unreadable { cause: error.to_string() }))?;
    String::from_utf8(bytes).map_err(|error| {
        let good = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
        let problem = AuthorityProblem::Syntax { cause: "the file is not UTF-8 text".to_owned() };
        AuthorityError::new(file, u64::try_from(line).ok().map(|line| (line, None)), problem)
    })
}

impl Source {
    /// Reads policies from a text; `file` only names it in errors.
    pub(super) fn parse(file: &Path, text: &str) -> Result<Self, AuthorityError> {
        let (written, parsed) = parser::parse_policyset_to_ests_and_pset(text).map_err(|errors| {
            let at = place(text, &errors);
            AuthorityError::new(file, at, AuthorityProblem::Syntax { cause: in_one_line(&errors.to_string()) })
        })?;
        validate(file, text, &parsed)?;
        let mut literals = Literals::default();
        let mut examples = Vec::new();
        let (mut rules, mut table) = (Vec::new(), Vec::new());
        for policy in parsed.policies() {
            let start = policy.loc().map(Loc::start);
            let at = start.map(|offset| line_and_column(text, offset));
            let unsupported = |what| AuthorityError::new(file, at, AuthorityProblem::Unsupported { what });
            let written = written.get(policy.id()).ok_or_else(|| unsupported("a link of a template".to_owned()))?;
            let json = serde_json::to_value(written).map_err(|error| unsupported(format!("`{error}`")))?;
            match command_rule(policy, &json).map_err(unsupported)? {
                Some(rule) => {
                    subset::roles(&json, &mut literals).map_err(unsupported)?;
                    rules.push(rule);
                }
                None => {
                    subset::check(&json, &mut literals).map_err(unsupported)?;
                    table.push(policy.clone());
                }
            }
            for (key, wanted) in [("must_allow", Wanted::Allowed), ("must_deny", Wanted::Denied)] {
                if let Some(said) = annotation(policy, key) {
                    let line = annotation_line(text, start.unwrap_or(0), key);
                    examples.push(Annotated { text: said, wanted, line });
                }
            }
        }
        if parsed.templates().next().is_some() {
            let what = "a template (`?principal`, `?resource`)".to_owned();
            return Err(AuthorityError::new(file, None, AuthorityProblem::Unsupported { what }));
        }
        if literals.len() > subset::LITERALS_MAX {
            let problem = AuthorityProblem::TooMany { what: "names in policies", limit: subset::LITERALS_MAX };
            return Err(AuthorityError::new(file, None, problem));
        }
        examples.sort_by_key(|example| example.line);
        let broken = |cause: String| AuthorityError::new(file, None, AuthorityProblem::Invalid { cause });
        let implied = parser::parse_policy(Some(PolicyID::from_string("(reading)")), READING)
            .map_err(|error| broken(in_one_line(&error.to_string())))?;
        let implied = (!table.is_empty()).then(|| Template::link_static_policy(implied).1);
        let policies = PolicySet::try_from_iter(table.into_iter().chain(implied))
            .map_err(|error| broken(in_one_line(&error.to_string())))?;
        Ok(Self { file: file.to_owned(), digest: Digest::of(text.as_bytes()), policies, rules, literals, examples })
    }

    /// An error at a line of the file.
    pub(super) fn wrong(&self, line: Option<u64>, problem: AuthorityProblem) -> AuthorityError {
        AuthorityError::new(&self.file, line.map(|line| (line, None)), problem)
    }
}

/// A `forbid` that looks at the context or asks a person; nothing if the policy is for the table.
fn command_rule(policy: &Policy, json: &serde_json::Value) -> Result<Option<CommandRule>, String> {
    let ask = annotation(policy, "ask");
    let context = subset::mentions_context(json);
    match (policy.effect(), context, ask) {
        (_, false, None) => Ok(None),
        (Effect::Forbid, _, ask) => Ok(Some(CommandRule { ask, condition: Expression::of_policy(json)? })),
        (Effect::Permit, true, _) => Err("`context` in a `permit` (write `forbid … unless`)".to_owned()),
        (Effect::Permit, false, Some(_)) => Err("`@ask` on a `permit`".to_owned()),
    }
}

/// Strict validation: after it, no policy can fail when it is evaluated, and a `forbid` that fails would not forbid.
fn validate(file: &Path, text: &str, policies: &PolicySet) -> Result<(), AuthorityError> {
    let wrong = validated(file, text, policies, SCHEMA);
    // The arguments of a command may be asked about one by one, or as one text.
    let as_text = SCHEMA.replace("arguments: Set<String>", "arguments: String");
    match wrong {
        Ok(()) => Ok(()),
        Err(error) if text.contains("arguments") => validated(file, text, policies, &as_text).map_err(|_| error),
        Err(error) => Err(error),
    }
}

fn validated(file: &Path, text: &str, policies: &PolicySet, schema: &str) -> Result<(), AuthorityError> {
    let extensions = Extensions::all_available();
    let schema = ValidatorSchema::from_cedarschema_str(schema, extensions).map(|(schema, _warnings)| schema);
    let schema = schema.map_err(|error| {
        let cause = format!("the built-in schema is broken: {}", in_one_line(&error.to_string()));
        AuthorityError::new(file, None, AuthorityProblem::Invalid { cause })
    })?;
    let found = Validator::new(schema).validate(policies, ValidationMode::Strict);
    let Some(error) = found.validation_errors().next() else { return Ok(()) };
    let at = place(text, error);
    let mut cause = in_one_line(&error.to_string());
    if let Some(help) = error.help() {
        cause.push_str("; ");
        cause.push_str(&in_one_line(&help.to_string()));
    }
    Err(AuthorityError::new(file, at, AuthorityProblem::Invalid { cause }))
}

/// Where a diagnostic points to, if it points somewhere.
fn place(text: &str, diagnostic: &dyn Diagnostic) -> Option<(u64, Option<u64>)> {
    let label = diagnostic.labels()?.next()?;
    Some(line_and_column(text, label.offset()))
}

/// What a policy says of itself under this name.
fn annotation(policy: &Policy, name: &str) -> Option<String> {
    policy.annotations().find(|(key, _)| key.as_ref() == name).map(|(_, said)| said.as_ref().to_owned())
}

/// Line and column of an offset, both from 1; columns count characters.
fn line_and_column(text: &str, offset: usize) -> (u64, Option<u64>) {
    let before = text.get(..offset.min(text.len())).unwrap_or(text);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (u64::try_from(line).unwrap_or(u64::MAX), u64::try_from(column).ok())
}

/// The line of an annotation behind the start of its policy.
fn annotation_line(text: &str, start: usize, key: &str) -> u64 {
    let behind = text.get(start..).unwrap_or_default();
    let within = behind.find(&format!("@{key}")).unwrap_or(0);
    line_and_column(text, start + within).0
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
