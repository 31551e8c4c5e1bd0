//! The default policies say what the seed says; other policies are compiled exactly or refused.

use super::*;
use tripwire_core::explain::Explain as _;
use tripwire_core::input::{Grant, Permission};

fn permissions(text: &str) -> Result<Permissions, AuthorityError> {
    parse(Path::new("policy.cedar"), text, &built_in())
}

fn granted(permissions: &Permissions, role: &str, permission: Permission, resource: &str) -> bool {
    permissions.grant(Who::role(role), permission, resource) == Grant::Granted
}

#[test]
fn perm_1_the_default_policies_grant_exactly_the_attributes_of_each_role() {
    use Attribute as A;
    let permissions = permissions(DEFAULT_POLICIES).unwrap();
    for (role, attributes) in built_in() {
        let has = |attribute| attributes.contains(&attribute);
        let writes = !has(A::ReadOnly);
        for (permission, resource, wanted) in [
            (Permission::CanExecuteTasks, "Bash", has(A::CanExecuteTasks)),
            (Permission::CanEditSource, "src/a.rs", has(A::CanEditSource) && writes),
            (Permission::Write, "notes", writes),
            (Permission::CanAccessPrivateMemories, "private", has(A::CanAccessPrivateMemories)),
            (Permission::CanWriteMemories, "public", has(A::CanWriteMemories)),
            (Permission::ContinueAfterConvergence, ".", !has(A::StopOnConvergence)),
            (Permission::Reach, "example.com", has(A::CanExecuteTasks)),
        ] {
            assert_eq!(granted(&permissions, &role, permission, resource), wanted, "{role} {permission:?}");
        }
    }
    for permission in Permission::ALL {
        assert!(!granted(&permissions, "nobody", permission, "x"), "an unknown role may do nothing");
    }
}

#[test]
fn perm_1_the_embedded_table_is_what_cedar_says_of_the_default_policies() {
    let source = Source::parse(Path::new("policy.cedar"), DEFAULT_POLICIES).unwrap();
    let compiled = compiled(&source, &built_in()).unwrap();
    let wanted = serde_json::to_string_pretty(&compiled).unwrap();
    assert_eq!(DEFAULT_TABLE.trim_end(), wanted, "default.table.json has to hold the right side");
    assert_eq!(embedded(DEFAULT_POLICIES, &built_in()), Some(compiled));
}

#[test]
fn perm_1_other_policies_or_roles_are_asked_of_cedar_and_not_of_the_embedded_table() {
    let other = format!(
        "{DEFAULT_POLICIES}\nforbid (principal, action == Action::\"reach\", resource == Host::\"blocked.example\");\n"
    );
    assert_eq!(embedded(&other, &built_in()), None);
    assert!(!granted(&permissions(&other).unwrap(), DEFAULT_ROLE, Permission::Reach, "blocked.example"));
    let roles = Roles::from([(DEFAULT_ROLE.to_owned(), Attributes::new())]);
    assert_eq!(embedded(DEFAULT_POLICIES, &roles), None);
    let powerless = parse(Path::new("policy.cedar"), DEFAULT_POLICIES, &roles).unwrap();
    assert!(!granted(&powerless, DEFAULT_ROLE, Permission::Reach, "example.com"));
}

#[test]
fn perm_1_a_path_a_host_and_a_tool_are_found_by_the_nearest_name_above_them() {
    let text = format!(
        "{DEFAULT_POLICIES}
        forbid (principal in Role::\"tester\", action == Action::\"write\", resource in Path::\"docs\")
        unless {{ resource in Path::\"docs/drafts\" }};
        forbid (principal, action == Action::\"reach\", resource)
        unless {{ resource == Host::\"crates.io\" || resource in Host::\"example.com\" }};
        forbid (principal, action == Action::\"can_execute_tasks\", resource in Tool::\"mcp__github\");
        forbid (principal == Agent::\"helper\", action, resource is Memory);"
    );
    let permissions = permissions(&text).unwrap();
    for (path, wanted) in [
        ("src/a", true),
        ("docs", false),
        ("docs/a/b", false),
        ("docs/drafts", true),
        ("docs/drafts/x", true),
        ("docs2", true),
        ("a/../docs/x", false),
        ("/docs", true),
    ] {
        assert_eq!(granted(&permissions, "tester", Permission::Write, path), wanted, "{path}");
        assert!(granted(&permissions, "developer", Permission::Write, path), "{path}");
    }
    for (host, wanted) in [
        ("crates.io", true),
        ("static.crates.io", false),
        ("api.example.com", true),
        ("EXAMPLE.com", true),
        ("notexample.com", false),
    ] {
        assert_eq!(granted(&permissions, "developer", Permission::Reach, host), wanted, "{host}");
    }
    assert!(!granted(&permissions, "developer", Permission::CanExecuteTasks, "mcp__github__push"));
    assert!(granted(&permissions, "developer", Permission::CanExecuteTasks, "mcp__gitlab__push"));
    let helper = Who { role: "developer", agent: Some("helper") };
    assert_eq!(permissions.grant(helper, Permission::CanWriteMemories, "public"), Grant::Denied);
    assert!(granted(&permissions, "developer", Permission::CanWriteMemories, "public"));
}

#[test]
fn perm_1_a_broken_policy_file_is_refused_with_line_and_column() {
    for (text, line, words) in [
        ("permit (principal, action, resource);\n\npermit (principal, action resource);", 3, "unexpected"),
        ("permit (principal, action == Action::\"fly\", resource);", 1, "fly"),
        ("\npermit (principal, action, resource)\nwhen { principal.can_fly };", 3, "can_fly"),
        ("permit (principal in Role::\"ghost\", action, resource);", 0, "there is no role `ghost`"),
        ("permit (principal, action, resource) when { context.a };", 1, "context"),
        ("\npermit (principal, action == Action::\"write\", resource == Path::\"docs/\");", 2, "write `docs`"),
        ("permit (principal, action, resource == Memory::\"secret\");", 1, "secret"),
    ] {
        let error = permissions(text).unwrap_err();
        assert_eq!(error.line().unwrap_or(0), line, "{text}: {error}");
        let said = error.to_string();
        assert!(said.contains(words) && !said.contains('\n') && !error.hint().is_empty(), "{text}: {said}");
    }
}

#[test]
fn perm_1_what_a_table_cannot_express_is_refused_and_never_approximated() {
    let with = |condition: &str| {
        permissions(&format!("permit (principal, action == Action::\"write\", resource) when {{ {condition} }};"))
    };
    for condition in ["[resource].contains(resource)", "resource == resource"] {
        assert!(with(condition).is_err(), "{condition}");
    }
    for condition in [
        "resource in [Path::\"a\", Path::\"b\"]",
        "!(resource == Path::\"a\") && principal.can_edit_source",
        "if principal.read_only then resource in Path::\"a\" else true",
        "[Path::\"a\"].contains(resource)",
        "principal in Role::\"tester\" || resource is Path in Path::\"a\"",
    ] {
        with(condition).unwrap_or_else(|error| panic!("{condition}: {error}"));
    }
}

#[test]
fn perm_1_an_example_that_does_not_hold_refuses_the_file_with_its_line() {
    let text = "// head\n@id(\"x\")\n@must_allow(\"developer write a\")\n@must_deny(\"tester write a; observer write a\")\n\
                permit (principal, action, resource);";
    let error = permissions(text).unwrap_err();
    assert_eq!(error.line(), Some(4));
    assert!(error.to_string().contains("`tester write a` must be denied, but is allowed"), "{error}");
    for example in ["developer", "developer fly x", "[can_fly] write x", "ghost write x", "developer write x y"] {
        let text = format!("@must_allow(\"{example}\") permit (principal, action, resource);");
        let error = permissions(&text).unwrap_err().to_string();
        assert!(error.contains("is not understood"), "{example}: {error}");
    }
    let good = "@must_allow(\"developer write a; ; [read_only] write b\") permit (principal, action, resource);";
    permissions(good).unwrap();
}

#[test]
fn perm_1_no_policy_at_all_permits_nothing() {
    let permissions = permissions("").unwrap();
    for permission in Permission::ALL {
        assert!(!granted(&permissions, "developer", permission, "x"), "{permission:?}");
    }
}

#[test]
fn perm_1_a_template_and_too_many_names_are_refused() {
    assert!(permissions("permit (principal == ?principal, action, resource);").is_err());
    let many: String = (0..200)
        .map(|n| format!("permit (principal, action == Action::\"write\", resource in Path::\"p{n}\");"))
        .collect();
    assert!(permissions(&many).unwrap_err().to_string().contains("more than 128 names"));
}

fn command(line: &str) -> CommandContext {
    let mut words = line.split(' ').map(str::to_owned);
    CommandContext { program: words.next().unwrap(), arguments: words.collect(), ..CommandContext::default() }
}

fn ruling(policies: &str, context: CommandContext) -> CommandRuling {
    let permissions = permissions(&format!("{DEFAULT_POLICIES}{policies}")).unwrap_or_else(|error| panic!("{error}"));
    let needs = [
        Need::new(Permission::CanExecuteTasks, "Bash"),
        Need::new(Permission::Write, "."),
        Need::new(Permission::Read, "secrets/key"),
        Need::new(Permission::Reach, "api.example.com"),
    ];
    permissions.ruling(Who::role("developer"), &needs, &[CommandContext::default(), context])
}

#[test]
fn perm_1_a_policy_may_forbid_a_command_by_its_program_and_arguments() {
    let rule = |condition: &str, line: &str| {
        let policy =
            format!("forbid (principal, action == Action::\"can_execute_tasks\", resource) when {{ {condition} }};");
        ruling(&policy, command(line)) == CommandRuling::Forbidden(Permission::CanExecuteTasks)
    };
    for (condition, forbidden, silent) in [
        (r#"context.program == "terraform""#, "terraform apply", "git apply"),
        (r#"context.program == "git" && context.arguments.contains("push")"#, "git push origin", "git pull origin"),
        (r#"context.arguments.containsAny(["--force", "-f"])"#, "git push -f", "git push"),
        (r#"context.arguments.containsAll(["a", "b"])"#, "x b a", "x a"),
        (r#"context.program like "kube*""#, "kubectl get", "cube get"),
        (r#"context.arguments like "*--all*""#, "git push --all", "git push"),
        (r#"context.program != "" && !(["git", "ls"].contains(context.program))"#, "rm x", "ls x"),
        (r#"if principal.can_edit_source then context.program == "a" else false"#, "a", "b"),
        (r#"principal in Role::"developer" && context.program == "a""#, "a", "b"),
        (r#"resource == Tool::"Bash" && context.program == "a""#, "a", "b"),
    ] {
        assert!(rule(condition, forbidden), "{condition}: {forbidden}");
        assert!(!rule(condition, silent), "{condition}: {silent}");
    }
    assert!(!rule(r#"principal in Role::"tester" && context.program == "a""#, "a"), "another role");
    let unless = r#"forbid (principal, action == Action::"can_execute_tasks", resource) unless { context.program == "" || context.program == "ls" };"#;
    assert_eq!(ruling(unless, command("ls x")), CommandRuling::Silent);
    assert_ne!(ruling(unless, command("rm x")), CommandRuling::Silent);
}

#[test]
fn perm_1_a_policy_may_speak_of_the_host_and_the_path_of_a_command() {
    let to = |host: &str| CommandContext { host: host.to_owned(), ..command("curl x") };
    let policy = r#"forbid (principal, action, resource) when { context.host like "*.prod.example.com" };"#;
    assert!(matches!(ruling(policy, to("db.prod.example.com")), CommandRuling::Forbidden(_)));
    assert_eq!(ruling(policy, to("db.test.example.com")), CommandRuling::Silent);
    let at = |path: &str| CommandContext { path: path.to_owned(), ..command("cat x") };
    let policy = r#"forbid (principal, action, resource) when { context.path == "infra/main.tf" };"#;
    assert!(matches!(ruling(policy, at("infra/main.tf")), CommandRuling::Forbidden(_)));
    assert_eq!(ruling(policy, at("infra/other.tf")), CommandRuling::Silent);
    let policy = r#"@ask("who reads it?") forbid (principal, action == Action::"read", resource in Path::"secrets");"#;
    assert_eq!(ruling(policy, command("cat x")), CommandRuling::Ask("who reads it?".to_owned()));
    let policy =
        r#"@ask("outside") forbid (principal, action == Action::"reach", resource == Host::"api.example.com");"#;
    assert_eq!(ruling(policy, command("curl x")), CommandRuling::Ask("outside".to_owned()));
    let policy = r#"@ask("outside") forbid (principal, action == Action::"reach", resource in Host::"example.org");"#;
    assert_eq!(ruling(policy, command("curl x")), CommandRuling::Silent);
}

#[test]
fn perm_1_ask_holds_a_command_and_a_plain_forbid_beats_it() {
    let ask = r#"@ask("production is changed") forbid (principal, action == Action::"can_execute_tasks", resource)
        when { context.program == "terraform" };"#;
    assert_eq!(ruling(ask, command("terraform apply")), CommandRuling::Ask("production is changed".to_owned()));
    assert_eq!(ruling(ask, command("tofu apply")), CommandRuling::Silent);
    let both = format!(
        "{ask}\nforbid (principal, action == Action::\"can_execute_tasks\", resource) when {{ context.arguments.contains(\"destroy\") }};"
    );
    assert!(matches!(ruling(&both, command("terraform destroy")), CommandRuling::Forbidden(_)));
    let example = format!(
        "{DEFAULT_POLICIES}@ask(\"x\") @must_deny(\"developer write docs/a\") @must_allow(\"developer write src\")
        forbid (principal, action == Action::\"write\", resource in Path::\"docs\");"
    );
    permissions(&example).unwrap();
    let table = permissions(&example).unwrap();
    assert!(granted(&table, "developer", Permission::Write, "docs/a"), "a person is asked, nothing is refused");
}

#[test]
fn perm_1_a_permit_neither_asks_nor_looks_at_a_command() {
    for (policy, said) in [
        (r#"permit (principal, action, resource) when { context.program == "ls" };"#, "`context` in a `permit`"),
        (r#"@ask("x") permit (principal, action, resource);"#, "`@ask` on a `permit`"),
        (r#"forbid (principal, action, resource) when { context.nothing == "ls" };"#, "nothing"),
        (r#"forbid (principal, action, resource) when { context.program == 1 };"#, ""),
    ] {
        let error = permissions(policy).unwrap_err().to_string();
        assert!(error.contains(said), "{policy}: {error}");
    }
}

#[test]
fn perm_1_reading_is_permitted_unless_a_policy_forbids_it() {
    let reads = |policies: &str, path: &str| {
        let permissions = permissions(&format!("{DEFAULT_POLICIES}{policies}")).unwrap();
        granted(&permissions, "reviewer", Permission::Read, path)
    };
    let forbid = r#"forbid (principal, action == Action::"read", resource in Path::"secrets");"#;
    assert!(reads("", "secrets/key") && reads(forbid, "src/key"));
    assert!(!reads(forbid, "secrets/key") && !reads(forbid, "secrets"));
}
