//! Receivers that are not there, refuse, hang, or take only a part.

use crate::{Fixture, Receiver, key, settled};
use std::time::{Duration, Instant};
use tripwire_core::ledger::CallEnd;
use tripwire_secrets::Redactor;
use tripwire_session::ledger::LedgerBook;
use tripwire_telemetry::Source;
use tripwire_workspace::geometry::wall_clock::WallClock;

/// Settles calls while an export runs, and says how long settling took.
fn settle(fixture: &Fixture, address: &str, calls: usize) -> Duration {
    let exporter = fixture.export(address, Redactor::default());
    let mut book = LedgerBook::open(&fixture.layout).unwrap();
    exporter.follow(Source::Calls);
    let began = Instant::now();
    for _ in 0..calls {
        let call = settled("gpt-5", key("ci"), CallEnd::Complete);
        book.append(&[call], WallClock::from_epoch_ms(1_763_000_005_000)).unwrap();
    }
    book.rest();
    let took = began.elapsed();
    drop(exporter);
    took
}

#[test]
fn gate_8_a_receiver_that_is_not_there_or_hangs_delays_no_call_and_the_drops_are_told() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let hangs = Receiver::new(|_| 0);
    for address in [gone, hangs.address.clone()] {
        let fixture = Fixture::new();
        let began = Instant::now();
        let took = settle(&fixture, &address, 20);
        assert!(took < Duration::from_secs(2), "{took:?}");
        assert!(began.elapsed() < Duration::from_secs(20), "the end waits within a bound: {:?}", began.elapsed());
        let said = fixture.said();
        assert!(said.contains("20 spans or records were not exported") || said.contains("20 are dropped"), "{said}");
        assert!(!said.contains("receiver-key"), "{said}");
    }
}

#[test]
fn gate_8_a_receiver_that_refuses_is_told_once_and_one_without_metrics_gets_traces() {
    let fixture = Fixture::new();
    let refuses = Receiver::new(|_| 400);
    settle(&fixture, &refuses.address, 3);
    assert!(fixture.said().contains("does not take the traces: it answered 400; 3 are dropped"), "{}", fixture.said());
    let fixture = Fixture::new();
    let traces_only = Receiver::new(|path| if path == "/v1/traces" { 200 } else { 404 });
    settle(&fixture, &traces_only.address, 3);
    assert_eq!(traces_only.spans().len(), 3);
    assert!(fixture.said().contains("takes no metrics"), "{}", fixture.said());
}

#[test]
fn gate_8_a_receiver_that_is_busy_gets_everything_later() {
    let fixture = Fixture::new();
    let busy = std::sync::atomic::AtomicUsize::new(0);
    let receiver = Receiver::new(move |path| {
        let is_first = path == "/v1/traces" && busy.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
        if is_first { 503 } else { 200 }
    });
    settle(&fixture, &receiver.address, 5);
    // The same spans came twice: the receiver knows them by their ids.
    let mut ids: Vec<_> = receiver.spans().into_iter().map(|span| span.span_id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 5);
    assert!(!fixture.said().contains("not exported"), "{}", fixture.said());
}
