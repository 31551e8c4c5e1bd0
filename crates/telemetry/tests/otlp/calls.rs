//! Model calls of the ledger.

use crate::receiver::{points, texts};
use crate::{Fixture, Receiver, call, key, settled};
use std::collections::BTreeMap;
use tripwire_core::ledger::{AccountId, AccountKind, CallEnd};
use tripwire_secrets::Redactor;
use tripwire_session::ledger::LedgerBook;
use tripwire_telemetry::Source;
use tripwire_workspace::geometry::wall_clock::WallClock;

#[test]
fn gate_8_a_model_call_is_a_span_and_metrics_with_the_names_of_the_conventions() {
    let (fixture, receiver) = (Fixture::new(), Receiver::new(|_| 200));
    let mut book = LedgerBook::open(&fixture.layout).unwrap();
    let now = WallClock::from_epoch_ms(1_763_000_005_000);
    book.append(&[settled("claude-opus-4-5", key("old"), CallEnd::Complete)], now).unwrap();
    let exporter = fixture.export(&receiver.address, Redactor::default());
    exporter.follow(Source::Calls);
    // What was written before is not exported, what is written from here on is, however late the exporter's thread begins.
    book.append_call(&call("claude-sonnet-4-5", key("ci"), CallEnd::Complete), now, 2_500).unwrap();
    book.append_call(&call("gemini-3-pro", key("ci"), CallEnd::Stopped), now, 10).unwrap();
    let session = vec![AccountId::new(AccountKind::Session, "a-run")];
    book.append(&[settled("gpt-5", session, CallEnd::Complete)], now).unwrap();
    drop(exporter);
    let spans = receiver.spans();
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(names, ["chat claude-sonnet-4-5", "generate_content gemini-3-pro"], "{}", fixture.said());
    let (first, second) = (&spans[0], &spans[1]);
    assert_eq!((first.trace_id.len(), first.span_id.len(), first.kind), (16, 8, 3));
    assert_ne!(first.trace_id, second.trace_id, "calls without a session have nothing to do with each other");
    assert_eq!(first.end_time_unix_nano, 1_763_000_005_000_000_000);
    assert_eq!(first.end_time_unix_nano - first.start_time_unix_nano, 2_500_000_000);
    let expected: BTreeMap<String, String> = [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "anthropic"),
        ("gen_ai.request.model", "claude-sonnet-4-5"),
        ("gen_ai.usage.input_tokens", "150"),
        ("gen_ai.usage.output_tokens", "45"),
        ("gen_ai.usage.cache_read.input_tokens", "30"),
        ("gen_ai.usage.cache_creation.input_tokens", "20"),
        ("gen_ai.usage.reasoning.output_tokens", "5"),
        ("http.response.status_code", "200"),
        ("tripwire.account", "key ci"),
        ("tripwire.call.end", "complete"),
        ("tripwire.cost.estimated", "false"),
        ("tripwire.cost.micro_usd", "1234"),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .collect();
    assert_eq!(texts(&first.attributes), expected);
    assert_eq!(first.status.as_ref().map(|status| status.code), None);
    assert_eq!(texts(&second.attributes)["error.type"], "stopped");
    assert_eq!(second.status.as_ref().map(|status| status.code), Some(2));
    let metrics = receiver.metrics();
    let named = |name: &str| points(metrics.iter().find(|metric| metric.name == name).unwrap());
    let tokens = named("gen_ai.client.token.usage");
    let of = |model: &str, kind: &str| {
        let fits =
            |set: &BTreeMap<String, String>| set["gen_ai.request.model"] == model && set["gen_ai.token.type"] == kind;
        tokens.iter().find(|(set, _, _)| fits(set)).map(|(_, count, sum)| (*count, *sum))
    };
    assert_eq!(of("claude-sonnet-4-5", "input"), Some((1, 150.0)));
    assert_eq!(of("claude-sonnet-4-5", "output"), Some((1, 45.0)));
    assert_eq!(tokens.len(), 4, "{tokens:?}");
    let durations = named("gen_ai.client.operation.duration");
    assert_eq!(durations.iter().map(|(_, count, _)| count).sum::<u64>(), 2);
    assert!(durations.iter().any(|(_, _, sum)| (*sum - 2.5).abs() < 1e-9), "{durations:?}");
    assert_eq!(named("tripwire.cost").iter().map(|(_, _, sum)| *sum).sum::<f64>(), 2_468.0);
    let head = &receiver.got("/v1/traces")[0].head.to_ascii_lowercase();
    assert!(
        head.contains("content-type: application/x-protobuf") && head.contains("x-api-key: receiver-key"),
        "{head}"
    );
    assert_eq!(fixture.said(), "");
}

#[test]
fn gate_8_a_secret_in_the_name_of_a_model_is_not_exported() {
    let (fixture, receiver) = (Fixture::new(), Receiver::new(|_| 200));
    let mut book = LedgerBook::open(&fixture.layout).unwrap();
    let exporter = fixture.export(&receiver.address, Redactor::default());
    exporter.follow(Source::Calls);
    let secret = format!("sk-ant-api03-{}", "Ab3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA".repeat(3));
    let now = WallClock::from_epoch_ms(1_763_000_005_000);
    book.append(&[settled(&secret, key("ci"), CallEnd::Complete)], now).unwrap();
    book.append(&[settled("gpt-5", key("ci"), CallEnd::Complete)], now).unwrap();
    drop(exporter);
    assert_eq!(receiver.spans().len(), 2);
    assert!(!receiver.all_bytes().contains(&secret), "{}", receiver.all_bytes());
}
