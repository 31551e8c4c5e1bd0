//! Which calls the loop rules do not count, because a person said so: `loops.ignore` and `loops.exempt_tools`.

use super::list::List;
use super::settings::Loops;
use crate::chain::event::Action;
use alloc::string::String;

/// What a signature of a command line begins with; observers write `Bash(cmd=…)` whatever the tool is called.
const COMMAND: &str = "Bash(cmd=";

impl Loops {
    /// Whether a person has taken this call out of the loop rules.
    #[must_use]
    pub fn leaves_out(&self, action: &Action) -> bool {
        fits_one(&self.exempt_tools, action.tool.as_str())
            || command_of(action.shown()).is_some_and(|command| {
                self.ignore.iter().any(|pattern| fits(pattern, command) || fits(&reduced(pattern), command))
            })
    }
}

/// The command in a signature, as the loop rules know it: paths by their first part, volatile parts masked.
#[must_use]
pub fn command_of(signature: &str) -> Option<&str> {
    signature.strip_prefix(COMMAND)?.strip_suffix(')')
}

fn fits_one(list: &List, text: &str) -> bool {
    list.iter().any(|pattern| fits(pattern, text))
}

/// A pattern with its paths by their first part, as signatures hold them: `tests/unit/*` is `tests/*` there.
fn reduced(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    for word in pattern.split(' ') {
        if !out.is_empty() {
            out.push(' ');
        }
        let plain = word.strip_prefix("./").unwrap_or(word);
        let (lead, inner) = plain.strip_prefix('/').map_or(("", plain), |inner| ("/", inner));
        match inner.split_once('/') {
            Some((first, _)) if !plain.contains("://") => {
                out.push_str(lead);
                out.push_str(first);
                out.push_str("/*");
            }
            Some(_) | None => out.push_str(plain),
        }
    }
    out
}

/// Whether a text fits a pattern in which `*` stands for any text. No crate of ours is below this one, so the globs of the
/// shell's reader, which know more signs, are out of reach here; a person's list needs no more than this.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut rest = rest;
    let mut last = None;
    for part in parts {
        if let Some(before) = last.replace(part) {
            match rest.split_once(before) {
                Some((_, behind)) => rest = behind,
                None => return false,
            }
        }
    }
    match last {
        Some(last) => rest.ends_with(last),
        None => rest.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label::Label;
    use crate::policy::Policy;

    fn action(tool: &str, signature: &str) -> Action {
        Action { tool: Label::cut(tool), signature: Some(Label::cut(signature)), ..Action::default() }
    }

    #[test]
    fn loop_2_a_star_stands_for_any_text_and_nothing_else_does() {
        for (pattern, text, fitting) in [
            ("kubectl get *", "kubectl get pods -n prod", true),
            ("kubectl get *", "kubectl delete pods", false),
            ("kubectl get", "kubectl get pods", false),
            ("*", "", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("*.sh", "run.sh", true),
            ("aa*a", "aa", false),
            ("[ab]", "a", false),
        ] {
            assert_eq!(fits(pattern, text), fitting, "{pattern} {text}");
        }
    }

    #[test]
    fn loop_2_ignored_commands_and_exempt_tools_are_left_out_and_others_are_not() {
        let mut policy = Policy::default();
        policy.set("loops.ignore", "kubectl get *, pytest tests/unit/test_a.py").unwrap();
        policy.set("loops.exempt_tools", "mcp__ci__*").unwrap();
        let out = |tool: &str, signature: &str| policy.loops.leaves_out(&action(tool, signature));
        assert!(out("Bash", "Bash(cmd=kubectl get pods)"));
        assert!(out("exec_command", "Bash(cmd=kubectl get pods)"), "whatever the tool is called");
        assert!(out("Bash", "Bash(cmd=pytest tests/*)"), "paths count by their first part");
        assert!(out("mcp__ci__status", "mcp__ci__status(...)"));
        assert!(!out("Bash", "Bash(cmd=kubectl apply -f x)"));
        assert!(!out("Read", "Read(...)"));
        assert!(!Policy::default().loops.leaves_out(&action("Bash", "Bash(cmd=kubectl get pods)")));
    }
}
