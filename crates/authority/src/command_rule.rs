//! Policies about command lines: a `forbid` that looks at `context`, or that carries `@ask`.

use super::compile;
use super::door::Need;
use super::expression::{CommandContext, CommandRule, Question};
use super::kind::Kind;
use super::table::{Permissions, Who};
use std::path::Path;
use tripwire_core::input::{Grant, Permission};
use tripwire_judge::reading::CallReading;
use tripwire_observe::{Doing, Nature};

/// Contexts of one call that are looked at.
const CONTEXTS_MAX: usize = 4_096;

/// What the policies about command lines say to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandRuling {
    /// Nothing.
    Silent,
    /// A person is to be asked, for this reason.
    Ask(String),
    /// It is forbidden; the permission is the one that is missing.
    Forbidden(Permission),
}

impl Permissions {
    /// Whether any policy speaks of command lines: most sessions have none, and need not look for what one could ask about.
    #[must_use]
    pub const fn has_command_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    /// What the policies about command lines say to a call with these needs.
    #[must_use]
    pub fn ruling(&self, who: Who<'_>, needs: &[Need], contexts: &[CommandContext]) -> CommandRuling {
        let Some(row) = self.roles.get(who.role) else { return CommandRuling::Silent };
        let mut ruling = CommandRuling::Silent;
        for rule in &self.rules {
            let hit = needs.iter().find(|need| {
                let kind = Kind::of(need.permission);
                let resource = kind.normal(&need.resource);
                contexts.iter().take(CONTEXTS_MAX).any(|context| {
                    rule.condition.holds(&Question {
                        role: who.role,
                        agent: who.agent,
                        attributes: &row.attributes,
                        action: compile::action(need.permission),
                        kind,
                        resource: &resource,
                        context,
                    })
                })
            });
            match (hit, &rule.ask) {
                (Some(need), None) => return CommandRuling::Forbidden(need.permission),
                (Some(_), Some(reason)) if ruling == CommandRuling::Silent => {
                    ruling = CommandRuling::Ask(reason.clone())
                }
                (Some(_), Some(_)) | (None, _) => {}
            }
        }
        ruling
    }

    /// Whether these policies alone deny something without a command.
    pub(super) fn denies(rules: &[CommandRule], question: &Question<'_>) -> Grant {
        if rules.iter().any(|rule| rule.condition.holds(question)) { Grant::Denied } else { Grant::Granted }
    }
}

/// What a call needs beside what its tool says: to read the files and to reach the hosts that its commands name.
#[must_use]
pub fn command_needs(reading: &CallReading, nature: &Nature, root: &Path) -> Vec<Need> {
    let read = |path: String| Need { permission: Permission::Read, resource: path };
    let looks = nature.targets.iter().filter(|_| nature.doing == Doing::Looks);
    let mut needs: Vec<Need> = looks.map(|path| read(super::door::real(root, path))).collect();
    for command in &reading.commands {
        needs.extend(command.paths.iter().map(|path| read(super::door::real(root, &path.to_string_lossy()))));
        needs.extend(command.hosts.iter().map(|host| Need::new(Permission::Reach, host)));
    }
    needs
}

/// What policies may know of a call: each of its commands with each host and each file that it names, else the files that
/// the tool names.
#[must_use]
pub fn contexts(reading: &CallReading, nature: &Nature, root: &Path) -> Vec<CommandContext> {
    let some = |names: Vec<String>| if names.is_empty() { vec![String::new()] } else { names };
    let mut contexts = Vec::new();
    for command in &reading.commands {
        let (program, arguments) = command
            .words
            .split_first()
            .map_or((String::new(), Vec::new()), |(first, rest)| (first.clone(), rest.to_vec()));
        let paths = command.paths.iter().map(|path| super::door::real(root, &path.to_string_lossy())).collect();
        let paths = some(paths);
        for host in some(command.hosts.clone()) {
            contexts.extend(paths.iter().map(|path| CommandContext {
                program: program.clone(),
                arguments: arguments.clone(),
                host: host.clone(),
                path: path.clone(),
            }));
        }
    }
    if contexts.is_empty() {
        let named = nature.targets.iter().map(|path| super::door::real(root, path)).collect();
        contexts.extend(some(named).into_iter().map(|path| CommandContext { path, ..CommandContext::default() }));
    }
    contexts
}
