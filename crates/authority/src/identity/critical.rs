//! Which calls are critical operations: those that the policy names, and `git push` where it goes to a protected branch.
//! What a call runs is the judge's reading; this file reads no command line itself.

use tripwire_core::policy::Policy;
use tripwire_judge::reading::{CallReading, CommandReading, Extent};

/// The critical operation that a call is, if it is one. A call that could not be read to its end counts as critical.
#[must_use]
pub fn operation<'a>(tool: &str, reading: &CallReading, policy: &'a Policy) -> Option<&'a str> {
    policy.identity.critical_operations.iter().find(|name| {
        let words: Vec<&str> = name.split_whitespace().collect();
        tool == *name || reading.extent == Extent::Cut || reading.commands.iter().any(|one| is(one, &words, policy))
    })
}

/// Whether a command is the operation of these words.
fn is(command: &CommandReading, operation: &[&str], policy: &Policy) -> bool {
    if operation == ["git", "push"] {
        let protected = policy.identity.protected_branches.iter();
        return command.push.as_ref().is_some_and(|push| push.reaches_any_of(protected));
    }
    command.starts_with(operation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use tripwire_judge::{Facts, Judge};

    fn reading(tool: &str, args: &str, root: &Path) -> CallReading {
        let facts = Facts { workspace: root.to_owned(), cwd: root.to_owned(), ..Facts::default() };
        Judge::read_call(&facts, tool, args)
    }

    /// The least that git takes for a repository.
    fn critical_with(config: &str, line: &str, branch: &str) -> bool {
        let folder = tempfile::tempdir().unwrap();
        for part in ["objects", "refs"] {
            std::fs::create_dir_all(folder.path().join(".git").join(part)).unwrap();
        }
        std::fs::write(folder.path().join(".git/HEAD"), format!("ref: refs/heads/{branch}\n")).unwrap();
        std::fs::write(folder.path().join(".git/config"), config).unwrap();
        let args = serde_json::json!({ "command": line }).to_string();
        operation("Bash", &reading("Bash", &args, folder.path()), &Policy::default()).is_some()
    }

    fn critical(line: &str, branch: &str) -> bool {
        critical_with("", line, branch)
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
        let critical = |config: &str, line: &str| critical_with(config, line, "topic");
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
        let operation = |tool: &str, args: &str| operation(tool, &reading(tool, args, Path::new("/w")), &policy);
        for line in ["cargo publish --dry-run", "sudo cargo publish", "x=publish; cargo $x", "echo cargo publish | sh"]
        {
            let args = serde_json::json!({ "command": line }).to_string();
            assert_eq!(operation("Bash", &args), Some("cargo publish"), "{line}");
        }
        assert_eq!(operation("mcp__github__merge", "{}"), Some("mcp__github__merge"));
        assert_eq!(operation("Bash", r#"{"command":"git push origin main"}"#), None);
        assert_eq!(operation("Bash", r#"{"command":"echo cargo publish"}"#), None);
    }
}
