//! Which Cedar a table can express: the resource is compared by `==`, `in` and `is` with names that stand in the file.
//!
//! Principals and actions are finite, so everything may be asked about them. Resources are not: two resources that lie
//! below the same names must get the same answer, or the table would be wrong. So a policy that looks at a resource in
//! any other way (`like`, attributes, context) is refused with its place, never approximated.

use super::kind::Kind;
use serde_json::Value;
use std::collections::BTreeSet;

/// The most names that policies may hold, so that compiling stays short.
pub(super) const LITERALS_MAX: usize = 128;

/// The names that policies hold, by kind.
#[derive(Debug, Default)]
pub(super) struct Literals {
    pub(super) agents: BTreeSet<String>,
    pub(super) roles: BTreeSet<String>,
    pub(super) tools: BTreeSet<String>,
    pub(super) paths: BTreeSet<String>,
    pub(super) hosts: BTreeSet<String>,
}

impl Literals {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        [&self.agents, &self.roles, &self.tools, &self.paths, &self.hosts].into_iter().map(BTreeSet::len).sum()
    }

    /// The names of one kind of resource.
    pub(super) fn of(&self, kind: Kind) -> BTreeSet<String> {
        match kind {
            Kind::Tool => self.tools.clone(),
            Kind::Path => self.paths.clone(),
            Kind::Host => self.hosts.clone(),
            Kind::Memory => BTreeSet::from(["private".to_owned(), "public".to_owned()]),
            Kind::Workspace => BTreeSet::new(),
        }
    }

    fn add(&mut self, kind: &str, name: &str) -> Result<(), String> {
        let (names, normal) = match kind {
            "Agent" => (&mut self.agents, name.to_owned()),
            "Role" => (&mut self.roles, name.to_owned()),
            "Tool" => (&mut self.tools, name.to_owned()),
            "Path" => (&mut self.paths, Kind::Path.normal(name)),
            "Host" => (&mut self.hosts, Kind::Host.normal(name)),
            "Memory" if name == "private" || name == "public" => return Ok(()),
            "Action" => return Ok(()),
            _ => return Err(format!("the name `{kind}::\"{name}\"`")),
        };
        if normal != name {
            return Err(format!("`{kind}::\"{name}\"` (write `{normal}`)"));
        }
        names.insert(normal);
        Ok(())
    }
}

/// Checks one policy in its JSON form and collects the names in it; the error names what cannot be expressed.
pub(super) fn check(policy: &Value, literals: &mut Literals) -> Result<(), String> {
    collect(policy, literals)?;
    let conditions = policy.get("conditions").and_then(Value::as_array);
    for condition in conditions.into_iter().flatten() {
        expression(condition.get("body").unwrap_or(&Value::Null))?;
    }
    Ok(())
}

fn collect(value: &Value, literals: &mut Literals) -> Result<(), String> {
    match value {
        Value::Object(map) => {
            if let (Some(Value::String(kind)), Some(Value::String(name))) = (map.get("type"), map.get("id")) {
                return literals.add(kind, name);
            }
            map.iter().filter(|(key, _)| *key != "annotations").try_for_each(|(_, inner)| collect(inner, literals))
        }
        Value::Array(items) => items.iter().try_for_each(|inner| collect(inner, literals)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// Checks an expression in which the resource may stand only where a comparison with names surrounds it.
fn expression(value: &Value) -> Result<(), String> {
    if !mentions_resource(value) {
        return no_context(value);
    }
    let Some((operator, inside)) = value.as_object().and_then(|map| map.iter().next()) else {
        return Err("this expression".to_owned());
    };
    let side = |name: &str| inside.get(name).unwrap_or(&Value::Null);
    match operator.as_str() {
        "&&" | "||" => ["left", "right"].into_iter().try_for_each(|name| expression(side(name))),
        "!" => expression(side("arg")),
        "if-then-else" => ["if", "then", "else"].into_iter().try_for_each(|name| expression(side(name))),
        "==" | "!=" | "in" | "contains" => match (is_resource(side("left")), is_resource(side("right"))) {
            (true, false) if !mentions_resource(side("right")) => no_context(side("right")),
            (false, true) if !mentions_resource(side("left")) => no_context(side("left")),
            (_, _) => Err(format!("this use of `{operator}`")),
        },
        "is" if is_resource(side("left")) => no_context(side("in")),
        "Var" => Err("`resource` outside of a comparison".to_owned()),
        "." => Err("an attribute of the resource".to_owned()),
        other => Err(format!("`{other}` on the resource")),
    }
}

fn is_resource(value: &Value) -> bool {
    value.get("Var").and_then(Value::as_str) == Some("resource")
}

/// Whether a policy in its JSON form looks at the context.
pub(super) fn mentions_context(policy: &Value) -> bool {
    policy.get("conditions").is_some_and(|conditions| mentions(conditions, "context"))
}

/// The roles that a policy names, without any other name.
pub(super) fn roles(policy: &Value, literals: &mut Literals) -> Result<(), String> {
    let mut all = Literals::default();
    collect(policy, &mut all)?;
    literals.roles.append(&mut all.roles);
    Ok(())
}

fn mentions(value: &Value, variable: &str) -> bool {
    match value {
        Value::Object(map) => map.iter().any(|(key, inner)| match (key.as_str(), inner) {
            ("Var", Value::String(name)) => name == variable,
            (_, inner) => mentions(inner, variable),
        }),
        Value::Array(items) => items.iter().any(|inner| mentions(inner, variable)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn mentions_resource(value: &Value) -> bool {
    mentions(value, "resource")
}

fn no_context(value: &Value) -> Result<(), String> {
    if mentions(value, "context") { Err("`context`".to_owned()) } else { Ok(()) }
}
