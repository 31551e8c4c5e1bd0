//! Which calls are critical operations: those that the policy names, and `git push` where it goes to a protected branch.

mod push;

use std::path::Path;
use tripwire_core::policy::Policy;
use tripwire_observe::Nature;

/// The critical operation that a call is, if it is one. What cannot be told counts as critical.
#[must_use]
pub fn operation<'a>(tool: &str, nature: &Nature, policy: &'a Policy, workspace: Option<&Path>) -> Option<&'a str> {
    let named = policy.identity.critical_operations.iter();
    named.into_iter().find(|name| {
        let words: Vec<&str> = name.split_whitespace().collect();
        tool == *name || nature.commands.iter().any(|command| is(command, &words, policy, workspace))
    })
}

/// Whether a simple command is the operation of these words.
fn is(command: &[String], operation: &[&str], policy: &Policy, workspace: Option<&Path>) -> bool {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    let Some((program, rest)) = words.split_first() else { return false };
    let program = program.rsplit('/').next().unwrap_or(program);
    if operation == ["git", "push"] {
        let push = match program.strip_prefix("git-") {
            Some(verb) => push::read(Some(verb), rest, workspace),
            None if program == "git" => push::read(None, rest, workspace),
            None => return false,
        };
        return push.is_some_and(|push| push.reaches(|branch| is_protected(branch, policy)));
    }
    let rest = if program == "git" { push::behind_git_options(rest) } else { rest };
    let Some((first, more)) = operation.split_first() else { return false };
    program == *first && rest.starts_with(more)
}

fn is_protected(branch: &str, policy: &Policy) -> bool {
    policy.identity.protected_branches.iter().any(|pattern| matches(pattern, branch))
}

/// Whether a text fits a pattern in which `*` stands for anything.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(behind) = text.strip_prefix(start) else { return false };
    let ends = behind.char_indices().map(|(at, _)| at).chain([behind.len()]);
    ends.into_iter().any(|at| behind.get(at..).is_some_and(|tail| matches(rest, tail)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tripwire_observe::{RawCall, nature};

    fn critical(line: &str, branch: &str) -> bool {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(".git")).unwrap();
        std::fs::write(folder.path().join(".git/HEAD"), format!("ref: refs/heads/{branch}\n")).unwrap();
        let args = serde_json::json!({ "command": line }).to_string();
        let nature = nature(&RawCall { tool: "Bash", args: &args, ..RawCall::default() });
        operation("Bash", &nature, &Policy::default(), Some(folder.path())).is_some()
    }

    #[test]
    fn ident_1_a_push_to_a_protected_branch_is_critical_however_it_is_written() {
        for line in [
            "git push origin main",
            "git -C x push origin HEAD:main",
            "cd a && sudo git push -f origin +topic:refs/heads/master",
            "bash -c 'git push origin release/1.2'",
            "git push --all",
            "git push origin $BRANCH",
            "git push origin --delete main",
            "git push -u origin :main",
            "/usr/bin/git push origin main",
            "git push origin :",
            "git push -f origin +:",
            "git push origin heads/main",
            "git push origin topic:heads/main",
            "git push -n --no-dry-run origin main",
            "git -c push.default=matching push origin",
            "git -c remote.origin.push=main:main push origin",
            "git -c alias.p=push p origin main",
            "git -c alias.p='!git push origin main' p",
            "git -c alias.a=b -c alias.b=push a origin main",
            "git --config-env=alias.p=X p",
            "git send-pack origin main",
            "/usr/lib/git-core/git-push origin main",
            "git push origin '{main,x}'",
            "git push --mir origin",
            "git push origin ''",
        ] {
            assert!(critical(line, "topic"), "{line}");
        }
        assert!(critical("git push", "main"));
        assert!(critical("git push origin HEAD", "master"));
    }

    #[test]
    fn ident_1_other_pushes_and_mere_mentions_are_not() {
        for line in [
            "git push origin topic",
            "git push",
            "git push -u origin HEAD",
            "git push --dry-run origin main",
            "git pull origin main",
            "echo 'git push origin main'",
            "git commit -m 'git push origin main'",
            "git push origin mainly",
            "git push -u origin topic:heads/topic",
            "git push origin main:backup",
            "git push --no-dry-run -n origin main",
            "git -c user.name=x push origin topic",
            "git -c color.ui=never push",
            "git -c alias.s=status s",
            "git push origin tag v1",
            "git push -o ci.skip origin topic",
            "git unknown main",
        ] {
            assert!(!critical(line, "topic"), "{line}");
        }
    }

    #[test]
    fn ident_1_what_the_repository_says_about_pushes_counts() {
        let critical = |config: &str, line: &str| {
            let folder = tempfile::tempdir().unwrap();
            std::fs::create_dir(folder.path().join(".git")).unwrap();
            std::fs::write(folder.path().join(".git/HEAD"), "ref: refs/heads/topic\n").unwrap();
            std::fs::write(folder.path().join(".git/config"), config).unwrap();
            let args = serde_json::json!({ "command": line }).to_string();
            let nature = nature(&RawCall { tool: "Bash", args: &args, ..RawCall::default() });
            operation("Bash", &nature, &Policy::default(), Some(folder.path())).is_some()
        };
        let plain =
            "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n";
        assert!(!critical(plain, "git push") && !critical(plain, "git push origin"));
        for more in [
            "[remote \"origin\"]\n\tpush = main:main\n",
            "[push]\n\tdefault = matching\n",
            "[ push ]\n  Default=upstream\n[branch \"topic\"]\n\tmerge = refs/heads/main\n",
            "[include]\n\tpath = more\n",
            "[remote \"origin\"]\n\tmirror = true\n",
        ] {
            assert!(critical(&format!("{plain}{more}"), "git push"), "{more}");
            assert!(!critical(&format!("{plain}{more}"), "git push origin topic") || more.contains("mirror"), "{more}");
        }
        let follows = "[push]\n\tdefault = upstream\n[branch \"topic\"]\n\tmerge = refs/heads/topic\n";
        assert!(!critical(follows, "git push"));
        let alias = "[alias]\n\tp = push\n\tship = !git push origin main\n\ts = status\n";
        assert!(critical(alias, "git p origin main") && critical(alias, "git ship"));
        assert!(!critical(alias, "git p origin topic") && !critical(alias, "git s main"));
        assert!(critical("[alias]\n\ta = b\n\tb = push\n", "git a origin main"));
        assert!(critical("[alias]\n\ta = b\n\tb = a\n", "git a"), "what never ends is not known");
    }

    #[test]
    fn ident_1_a_policy_names_other_operations() {
        let mut policy = Policy::default();
        policy.set("identity.critical_operations", "cargo publish, mcp__github__merge").unwrap();
        let of = |tool: &str, args: &str| nature(&RawCall { tool, args, ..RawCall::default() });
        let publish = of("Bash", r#"{"command":"cargo publish --dry-run"}"#);
        assert_eq!(operation("Bash", &publish, &policy, None), Some("cargo publish"));
        let merge = of("mcp__github__merge", "{}");
        assert_eq!(operation("mcp__github__merge", &merge, &policy, None), Some("mcp__github__merge"));
        let push = of("Bash", r#"{"command":"git push origin main"}"#);
        assert_eq!(operation("Bash", &push, &policy, None), None);
    }
}
