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
