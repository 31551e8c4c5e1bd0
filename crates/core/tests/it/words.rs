//! Small functions whose figures and words other crates show: each with every kind of value it has.

use tripwire_core::chain::event::DiskChanges;
use tripwire_core::chain::gate::floor::ApprovalVerdict;
use tripwire_core::explain::Explain;
use tripwire_core::family::Family;
use tripwire_core::input::{Input, What};
use tripwire_core::label::{Fingerprint, Label};
use tripwire_core::ledger::{AccountId, AccountKind, Budget, CallEnd, Period, ReserveError, UtcDate};
use tripwire_core::policy::{AnswerWait, List, Policy, PolicyError};
use tripwire_core::record::canonical::{CanonicalError, DEPTH_LIMIT, INTEGER_LIMIT, RATIO_LIMIT};
use tripwire_core::record::chain::Digest;
use tripwire_core::rules::Rule;
use tripwire_core::run::engine_label;
use tripwire_core::sketch::{LANES, Sketch, WORD_LANES, WordSketch};
use tripwire_core::text::Reason;
use tripwire_core::units::{Count, MicroUsd, RunMillis, Tokens};
use tripwire_core::usage::Usage;

#[test]
fn gate_8_an_amount_of_money_is_read_exactly_and_nothing_else_is() {
    for (text, micro_usd) in [
        ("0", 0),
        ("5", 5_000_000),
        ("$5.00", 5_000_000),
        (" 1.5 USD ", 1_500_000),
        ("0.000001", 1),
        ("12.345678", 12_345_678),
        ("3.", 3_000_000),
        ("1000000000", MicroUsd::MAX.get()),
    ] {
        assert_eq!(MicroUsd::parse(text), Some(MicroUsd::new(micro_usd)), "{text}");
    }
    for text in [
        "",
        "$",
        ".5",
        "-1",
        "1,5",
        "1.0000001",
        "1.2345678",
        "1e3",
        "1.x",
        "x.1",
        "1000000000.000001",
        "99999999999999",
    ] {
        assert_eq!(MicroUsd::parse(text), None, "{text}");
    }
}

#[test]
fn gate_8_an_amount_of_money_is_shown_in_dollars_and_below_a_cent_in_cents() {
    for (micro_usd, text) in [
        (0, "$0.00"),
        (1, "0.0001¢"),
        (9_999, "0.9999¢"),
        (5_000, "0.5¢"),
        (10_000, "$0.01"),
        (1_000_000, "$1.00"),
        (1_230_000, "$1.23"),
        (1_234_567, "$1.234567"),
    ] {
        assert_eq!(MicroUsd::new(micro_usd).in_dollars(), text);
    }
}

#[test]
fn an_estimate_of_tokens_is_a_third_of_the_bytes_rounded_up() {
    for (bytes, tokens) in [(0, 0), (1, 1), (3, 1), (4, 2), (6, 2), (7, 3)] {
        assert_eq!(Tokens::estimate(bytes), Tokens::new(tokens), "{bytes} bytes");
    }
    assert_eq!(RunMillis::from_seconds(7), RunMillis::new(7_000));
    assert_eq!((Count::new(0).is_zero(), Count::new(1).is_zero()), (true, false));
}

#[test]
fn each_class_of_usage_is_joined_with_its_own() {
    let usage = |base: u64| Usage {
        cache_read: Tokens::new(base + 1),
        cache_write: Tokens::new(base + 2),
        cache_write_long: Tokens::new(base + 3),
        fresh_input: Tokens::new(base + 4),
        output: Tokens::new(base + 5),
        reasoning: Tokens::new(base + 6),
    };
    assert_eq!(usage(100).with(usage(0), Tokens::minus), Usage { ..usage(0).with(usage(0), |_, _| Tokens::new(100)) });
    assert_eq!(usage(0).with(usage(50), Tokens::max), usage(50));
    assert_eq!(
        (usage(0).input(), usage(0).context(), usage(0).total()),
        (Tokens::new(10), Tokens::new(15), Tokens::new(21))
    );
}

#[test]
fn gate_8_a_budget_a_day_and_an_end_have_their_words() {
    let budget = |period| Budget { limit: MicroUsd::new(2_500_000), period };
    let shown = [Period::Whole, Period::Day, Period::Month].map(|period| budget(period).to_string());
    assert_eq!(shown, ["$2.50", "$2.50 a day", "$2.50 a month"]);
    assert_eq!(UtcDate { year: 987, month: 2, day: 3 }.to_string(), "0987-02-03");
    let ends =
        [CallEnd::Complete, CallEnd::Refused, CallEnd::Broken, CallEnd::Cancelled, CallEnd::Stopped, CallEnd::Chanted];
    assert_eq!(ends.map(CallEnd::as_str), ["complete", "refused", "broken", "cancelled", "stopped", "chanted"]);
    assert_eq!(Family::ALL.map(Family::as_str), ["anthropic", "openai", "gemini"]);
    assert_eq!([ApprovalVerdict::Allowed, ApprovalVerdict::Denied].map(ApprovalVerdict::past), ["approved", "denied"]);
}

#[test]
fn every_error_says_what_to_do() {
    let account = AccountId::new(AccountKind::Key, "ada");
    let spent = |period| ReserveError::Spent {
        account: account.clone(),
        budget: Budget { limit: MicroUsd::new(1), period },
        left: MicroUsd::ZERO,
        wanted: MicroUsd::new(1),
    };
    let mut policy = Policy::default();
    let value = policy.set("safety.max_iterations", "x").unwrap_err();
    let PolicyError::Value { error: setting, .. } = &value else { panic!("{value}") };
    let errors: [(&dyn Explain, &str); 9] = [
        (
            &ReserveError::Unknown { account: account.clone() },
            "add it to the configuration: `tripwire gateway key new ada`",
        ),
        (
            &ReserveError::Closed { account: account.clone() },
            "see what it cost: `tripwire gateway usage`; then reload the configuration",
        ),
        (&spent(Period::Whole), "see what was spent: `tripwire gateway usage`; then raise the budget"),
        (&spent(Period::Day), "wait for the next day (UTC), or raise the budget in the configuration"),
        (&spent(Period::Month), "wait for the next month (UTC), or raise the budget in the configuration"),
        (&value, "list all settings with `tripwire policy show`"),
        (setting, "list all settings with `tripwire policy show`"),
        (&CanonicalError::Float, "this is a defect of tripwire; please report it"),
        (&"x".parse::<Digest>().unwrap_err(), "copy the digest whole, as `sha256sum` prints it"),
    ];
    for (error, hint) in errors {
        assert_eq!(error.hint(), hint, "{error}");
    }
    let damaged = tripwire_core::chain::Chain::restore(b"").unwrap_err();
    assert_eq!(damaged.hint(), "rebuild the state from the journal: remove it and run the same command again");
}

#[test]
fn limits_of_records_are_those_that_are_documented() {
    assert_eq!((INTEGER_LIMIT, RATIO_LIMIT, DEPTH_LIMIT), (9_007_199_254_740_992, 1_000_000_000_000_000, 128));
    assert_eq!(AnswerWait::USUAL, RunMillis::new(600_000));
}

#[test]
fn a_sketch_is_shown_by_its_digits_and_a_wrong_one_says_how_many_it_needs() {
    let sketch = Sketch::from_lanes([0xab; LANES]);
    assert_eq!(format!("{sketch:?}"), format!("m1:{}", "ab".repeat(64)));
    let error = serde_json::from_str::<Sketch>("\"m1:00\"").unwrap_err().to_string();
    assert!(error.contains("a sketch: `m1:` and 128 hex digits"), "{error}");
    let words = WordSketch::from_lanes([0x0c; WORD_LANES]);
    assert_eq!(format!("{words:?}"), format!("w1:{}", "0c".repeat(128)));
    let error = serde_json::from_str::<WordSketch>("\"w1:00\"").unwrap_err().to_string();
    assert!(error.contains("256 hex digits"), "{error}");
}

#[test]
fn a_reason_is_its_text_and_a_list_matches_by_its_patterns() {
    let reason = Reason::fixed("quiet");
    assert!(reason == *"quiet" && reason == "quiet" && reason != *"loud" && reason != "loud");
    assert_eq!(
        (AsRef::<str>::as_ref(&reason), reason.as_str(), reason.to_string().as_str()),
        ("quiet", "quiet", "quiet")
    );
    let list = List::new("main, release/*");
    assert!(list.matches("main") && list.matches("release/1") && !list.matches("dev") && !list.matches("mainline"));
}

#[test]
fn policy_keys_of_tools_roles_and_prices_are_set_by_name() {
    let mut policy = Policy::default();
    policy.set_tool_limit("gh/push", "max_calls", "3").unwrap();
    let refused = policy.set_tool_limit("gh/push", "max_call", "3").unwrap_err().to_string();
    assert!(refused.starts_with("setting `tools.gh/push.max_call`: "), "{refused}");
    policy.set_role(None).unwrap();
    assert_eq!(policy.identity.role.as_str(), "developer");
    policy.set_role(Some("reader")).unwrap();
    assert_eq!(policy.identity.role.as_str(), "reader");
    policy.set("money.prices", "made-up=1/2").unwrap();
    assert_eq!(policy.price_list().of("made-up").rates(Tokens::ZERO), [1_000, 1_000, 1_000, 1_000, 2_000]);
    let rows = policy.rows();
    let shown = |path: &str| rows.iter().find(|row| row.path == path).unwrap().shown();
    assert_eq!(
        (shown("gate.max_tokens_per_minute"), shown("tools.limits")),
        ("auto (600000)".into(), "gh/push max_calls=3".into())
    );
}

#[test]
fn paths_that_changed_are_named_up_to_the_bound_in_each_list() {
    let names = |count: usize| (0..count).map(|n| Label::cut(&format!("f{n}"))).collect::<Vec<_>>();
    let mut changes = DiskChanges { code: names(30), ..DiskChanges::default() };
    changes.append(DiskChanges { code: names(5), other: names(1), tests: names(40) });
    assert_eq!((changes.code.len(), changes.other.len(), changes.tests.len()), (32, 1, 32));
    assert_eq!(changes.code.last().map(Label::as_str), Some("f1"));
}

#[test]
fn an_input_names_its_action_and_a_fingerprint_its_number() {
    let line = r#"{"at":1,"what":{"request":{"action":{"tool":"Bash"}}}}"#;
    let input: Input = serde_json::from_str(line).unwrap();
    assert_eq!(input.what.action().map(|action| action.tool.as_str()), Some("Bash"));
    assert_eq!(What::Tick.action(), None);
    assert_eq!(Fingerprint::NONE.get(), 0);
    assert_eq!(serde_json::to_string(&Fingerprint::of(b"a")).unwrap(), Fingerprint::of(b"a").get().to_string());
    assert!(Fingerprint::of(b"a").get() > 1);
}

#[test]
fn gate_2_only_the_bounds_of_the_minute_are_a_throttle() {
    let throttles: Vec<Rule> = Rule::ALL.into_iter().filter(|rule| rule.is_throttle()).collect();
    assert_eq!(throttles, [Rule::GateTokens, Rule::GateCalls]);
}

#[test]
fn run_1_an_engine_is_named_without_the_place_of_its_files() {
    for (name, label) in [
        ("claude-opus-4-5", "claude-opus-4-5"),
        ("openai/gpt-5", "openai/gpt-5"),
        ("scripted:/tmp/a/tape.jsonl", "scripted:tape.jsonl"),
        ("/usr/bin/worker", "worker"),
        ("./worker --fast", "worker --fast"),
        ("../bin/worker /x/y", "worker /x/y"),
        ("worker /x/y", "worker /x/y"),
        ("openai/gpt-5 with tools", "openai/gpt-5 with tools"),
    ] {
        assert_eq!(engine_label(name).as_str(), label, "{name}");
    }
}
