//! A small session, walked: what the analysis says of it, and that it stays bounded.

use super::*;
use tripwire_core::policy::Policy;
use tripwire_core::record::chain::Digest;
use tripwire_journal::Times;
use tripwire_session::body::write_input;

struct Session {
    chain: Chain,
    analysis: Analysis,
    index: u64,
}

impl Session {
    fn new() -> Self {
        let policy = Policy::default();
        let head = SessionBody::new("auto-1", &policy).unwrap().text().unwrap();
        let mut session = Self { chain: Chain::new(policy).unwrap(), analysis: Analysis::default(), index: 0 };
        session.record(head).unwrap();
        session
    }

    fn record(&mut self, body: String) -> Result<(), DriverError> {
        let times = Times { cut: None, durations_ms: [].into(), host: "x".to_owned(), synced: 0, wall_ms: 1_000 };
        let (hash, previous) = (Digest::of(b""), Digest::of(b""));
        let record = Record { index: self.index, body, hash, previous, times };
        self.index += 1;
        self.analysis.take(&record)
    }

    fn take(&mut self, input: &Input) {
        let (mut text, mut decided) = (String::new(), String::new());
        write_input(input, &mut text).unwrap();
        write_decision("auto-1", &self.chain.step(input).decision, &mut decided).unwrap();
        self.record(text).unwrap();
        self.record(decided).unwrap();
    }

    fn call(&mut self, at: u64, words: &str, status: &str) {
        let text = format!(
            r#"{{"at":{at},"what":{{"event":{{"action":{{"tool":"Bash","signature":"Bash(cmd={words})","argsDigest":"{words}","words":"{words}"}},
            "latencyMs":10,"outputLength":3,"timestamp":{at},"tokenCount":5,"toolCalls":1,"costMicroUsd":100,"outcome":{{"status":"{status}"}},
            "resultDigest":"{words}"}}}}}}"#
        );
        self.take(&serde_json::from_str(&text).unwrap());
    }
}

#[test]
fn a_loop_is_in_the_curves_the_findings_and_the_graph_and_the_replay_is_equal() {
    let mut session = Session::new();
    for turn in 0..6 {
        session.call(turn * 1_000 + 1, "make", "error");
    }
    let analysis = &session.analysis;
    assert_eq!((analysis.inputs(), analysis.replay()), (6, &Replay::Equal));
    assert!(!analysis.curve.drops().is_empty(), "a loop costs health");
    assert!(analysis.curve.drops().iter().all(|drop| drop.from > drop.to && !drop.why.is_empty()));
    assert!(analysis.findings.newest().next().is_some() && !analysis.findings.causes().is_empty());
    assert_eq!(analysis.graph.shown().cycles.len(), 1);
    assert_eq!((analysis.totals.calls, analysis.totals.failed), (6, 6));
    let lanes = analysis.lanes.shown();
    assert_eq!(lanes.len(), 1);
    assert!(lanes[0].spans.iter().any(|span| span.kind == lanes::SpanKind::Failed));
}

#[test]
fn quiet_work_has_no_drop_no_finding_and_no_cycle() {
    let mut session = Session::new();
    for (turn, words) in ["ls", "cat a", "edit a", "make"].into_iter().enumerate() {
        session.call(turn as u64 * 5_000 + 1, words, "ok");
    }
    let analysis = &session.analysis;
    assert!(analysis.curve.drops().is_empty() && analysis.findings.newest().next().is_none());
    assert!(analysis.graph.shown().cycles.is_empty());
    assert_eq!(analysis.curve.points().len(), 4);
}

#[test]
fn a_decision_that_was_changed_differs_and_a_foreign_record_is_refused() {
    let mut session = Session::new();
    session.call(1, "ls", "ok");
    let input = serde_json::from_str(r#"{"at":9,"what":"tick"}"#).unwrap();
    let mut text = String::new();
    write_input(&input, &mut text).unwrap();
    session.record(text).unwrap();
    session.record("{\"decision\":{\"i\":1}}".to_owned()).unwrap();
    assert_eq!(session.analysis.replay(), &Replay::Differs { i: 1 });
    assert!(session.record("{\"something\":\"newer\"}".to_owned()).is_err());
    assert_eq!(session.analysis.inputs(), 2, "what came before stays");
}

#[test]
fn ten_thousand_calls_stay_bounded() {
    let mut session = Session::new();
    for turn in 0..10_000_u64 {
        let status = if turn % 7 == 0 { "error" } else { "ok" };
        session.call(turn * 900 + 1, &format!("step {}", turn % 300), status);
    }
    let analysis = &session.analysis;
    assert_eq!(analysis.inputs(), 10_000);
    assert!(analysis.curve.points().len() <= 2_050 && analysis.curve.drops().len() <= 512);
    assert!(analysis.lanes.shown().iter().all(|lane| lane.spans.len() <= 6_001));
    assert!(analysis.graph.shown().nodes.len() <= 24);
}
