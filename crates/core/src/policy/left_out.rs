//! Which calls the loop rules do not count, because a person said so: `loops.ignore` and `loops.exempt_tools`.

use super::list::fits;
use super::settings::Loops;
use crate::chain::event::Action;
use alloc::string::String;

/// What a signature of a command line begins with; observers write `Bash(cmd=…)` whatever the tool is called.
const COMMAND: &str = "Bash(cmd=";

impl Loops {
    /// Whether a person has taken this call out of the loop rules.
    #[must_use]
    pub fn leaves_out(&self, action: &Action) -> bool {
        self.exempt_tools.iter().any(|pattern| fits(pattern, action.tool.as_str()))
            || self.ignore.iter().any(|pattern| {
                command_of(action.shown())
                    .is_some_and(|command| fits(pattern, command) || fits(&reduced(pattern), command))
            })
    }
}

/// The command in a signature, as the loop rules know it: paths by their first part, volatile parts masked.
#[must_use]
pub fn command_of(signature: &str) -> Option<&str> {
    signature.strip_prefix(COMMAND)?.strip_suffix(')')
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
