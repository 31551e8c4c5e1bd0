//! Which calls are critical operations: those that the policy names, and `git push` where it goes to a protected branch.

use std::path::Path;
use tripwire_core::observe::Nature;
use tripwire_core::policy::Policy;

/// The critical operation that a call is, if it is one. What cannot be told counts as critical.
#[must_use]
pub fn operation<'a>(tool: &str, nature: &Nature, policy: &'a Policy, workspace: Option<&Path>) -> Option<&'a str> {
    let named = policy.identity.critical_operations.as_str().split(',').map(str::trim).filter(|name| !name.is_empty());
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
    let rest = if program == "git" { behind_git_options(rest) } else { rest };
    let Some((first, more)) = operation.split_first() else { return false };
    if program != *first || !rest.starts_with(more) {
        return false;
    }
    let arguments = rest.get(more.len()..).unwrap_or_default();
    operation != ["git", "push"] || pushes_to_protected(arguments, policy, workspace)
}

/// `git -C folder -c a=b push` is a push.
fn behind_git_options<'a>(mut words: &'a [&'a str]) -> &'a [&'a str] {
    while let Some((first, rest)) = words.split_first() {
        words = match *first {
            "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" => rest.get(1..).unwrap_or_default(),
            option if option.starts_with('-') => rest,
            _ => return words,
        };
    }
    words
}

fn pushes_to_protected(arguments: &[&str], policy: &Policy, workspace: Option<&Path>) -> bool {
    const TAKES_VALUE: [&str; 5] = ["-o", "--push-option", "--repo", "--receive-pack", "--exec"];
    let (mut plain, mut skip) = (Vec::new(), false);
    for word in arguments {
        if std::mem::take(&mut skip) {
            continue;
        }
        match *word {
            "--all" | "--mirror" | "--branches" => return true,
            "--dry-run" | "-n" => return false,
            option if TAKES_VALUE.contains(&option) => skip = true,
            option if option.starts_with('-') => {}
            other => plain.push(other),
        }
    }
    // The first plain word is the remote; without a refspec the current branch is pushed.
    let refspecs = plain.get(1..).unwrap_or_default();
    if refspecs.is_empty() {
        return is_current_protected(policy, workspace);
    }
    refspecs.iter().any(|refspec| {
        let target = refspec.rsplit(':').next().unwrap_or(refspec).trim_start_matches('+');
        match target.strip_prefix("refs/heads/").unwrap_or(target) {
            "HEAD" | "@" => is_current_protected(policy, workspace),
            // Variables and substitutions are not expanded here, so the branch is unknown.
            branch if branch.contains(['$', '`', '*']) => true,
            branch => is_protected(branch, policy),
        }
    })
}

fn is_current_protected(policy: &Policy, workspace: Option<&Path>) -> bool {
    let head = workspace.and_then(|root| std::fs::read_to_string(root.join(".git/HEAD")).ok());
    let branch = head.as_deref().and_then(|head| head.trim().strip_prefix("ref: refs/heads/"));
    branch.is_none_or(|branch| is_protected(branch, policy))
}

fn is_protected(branch: &str, policy: &Policy) -> bool {
    let patterns = policy.identity.protected_branches.as_str().split(',').map(str::trim);
    patterns.filter(|pattern| !pattern.is_empty()).any(|pattern| matches(pattern, branch))
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
    use tripwire_core::observe::{RawCall, nature};

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
        ] {
            assert!(!critical(line, "topic"), "{line}");
        }
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
