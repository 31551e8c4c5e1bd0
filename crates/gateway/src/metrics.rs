//! Figures for a monitoring system, in Prometheus' text form.

use crate::shared::Shared;
use std::fmt::Write as _;
use std::sync::atomic::Ordering;

/// All figures.
pub(crate) fn text(shared: &Shared) -> String {
    let metrics = &shared.metrics;
    let mut text = String::new();
    let mut figure = |name: &str, kind: &str, help: &str, value: u64| {
        let written = writeln!(
            text,
            "# HELP tripwire_gateway_{name} {help}\n# TYPE tripwire_gateway_{name} {kind}\ntripwire_gateway_{name} {value}"
        );
        // A text that cannot be written to a string does not exist.
        written.unwrap_or_default();
    };
    let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    figure("requests_total", "counter", "Requests that came in.", load(&metrics.requests));
    figure("refused_total", "counter", "Requests that were refused here.", load(&metrics.refused));
    figure("unpriced_total", "counter", "Requests without a price that passed.", load(&metrics.unpriced));
    figure("calls_total", "counter", "Model calls that were settled.", load(&metrics.calls));
    figure("spent_micro_usd_total", "counter", "What they cost, in millionths of a dollar.", load(&metrics.micro_usd));
    figure("tokens_total", "counter", "Tokens that they used.", load(&metrics.tokens));
    figure("open_streams", "gauge", "Replies under way.", metrics.streams.load(Ordering::Relaxed) as u64);
    figure("open_calls", "gauge", "Calls that are reserved and not settled.", {
        shared.books().ledger().open_calls() as u64
    });
    text
}
