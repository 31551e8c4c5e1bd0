//! What permissions cost: a lookup in the compiled table, the whole question of a door, and compiling at a session's
//! start. The promise is at most 20 µs (median) for a question under the default policies.
#![expect(clippy::expect_used, reason = "a bench ends at the first surprise")]

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::path::Path;
use tripwire_authority::{self as authority, Confinement, DEFAULT_POLICIES, Surroundings, Who, needs};
use tripwire_core::input::Permission;
use tripwire_core::policy::Policy;
use tripwire_observe::{RawCall, nature};

fn permissions(criterion: &mut Criterion) {
    let roles = authority::built_in();
    let file = Path::new("policy.cedar");
    let default = authority::parse(file, DEFAULT_POLICIES, &roles).expect("the defaults compile");
    let more: String = (0..40)
        .map(|n| {
            format!(
                "forbid (principal in Role::\"tester\", action == Action::\"write\", resource in Path::\"a{n}/b\");"
            )
        })
        .collect();
    let large = authority::parse(file, &format!("{DEFAULT_POLICIES}{more}"), &roles).expect("it compiles");
    let who = Who::role("tester");
    criterion.bench_function("lookup, default policies", |bench| {
        bench.iter(|| default.grant(black_box(who), Permission::CanEditSource, black_box("src/chain/gate.rs")));
    });
    criterion.bench_function("lookup, 40 more policies", |bench| {
        bench.iter(|| large.grant(black_box(who), Permission::Write, black_box("a7/b/c/d/e.rs")));
    });
    let (policy, root) = (Policy::default(), std::env::temp_dir());
    for (name, tool, args) in [
        ("question of a door: a command", "Bash", r#"{"command":"cargo test --workspace"}"#),
        (
            "question of a door: an edit",
            "Edit",
            r#"{"file_path":"src/chain/gate.rs","old_string":"a","new_string":"b"}"#,
        ),
    ] {
        criterion.bench_function(name, |bench| {
            bench.iter(|| {
                let nature = nature(&RawCall { tool, args: black_box(args), ..RawCall::default() });
                let needs = needs(tool, &nature, &policy, Surroundings { root: &root, confinement: Confinement::Open });
                default.authority(who, &needs, None)
            });
        });
    }
    let text = serde_json::to_string(&default).expect("a table");
    criterion.bench_function("reading the table from a session's head", |bench| {
        bench.iter(|| serde_json::from_str::<authority::Permissions>(black_box(&text)).expect("a table"));
    });
    criterion.bench_function("compiling the default policies", |bench| {
        bench.iter(|| authority::parse(file, black_box(DEFAULT_POLICIES), &roles).expect("it compiles"));
    });
}

criterion_group!(benches, permissions);
criterion_main!(benches);
