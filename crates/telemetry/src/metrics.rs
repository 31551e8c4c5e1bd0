//! The metrics, kept as sums since the beginning.

use crate::attribute::Attribute;
use std::collections::BTreeMap;

/// Series of one metric; further ones are not counted, because names of models come from outside.
const SERIES_MAX: usize = 512;

const TOKEN_BOUNDS: [f64; 14] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1_024.0,
    4_096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];
const SECOND_BOUNDS: [f64; 14] =
    [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/// A metric of one kind of series.
#[derive(Debug)]
pub(crate) struct Metric<S> {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) bounds: &'static [f64],
    pub(crate) series: BTreeMap<Vec<Attribute>, S>,
}

/// How often values fell between two bounds, and their sum.
#[derive(Debug, Clone, Default)]
pub(crate) struct HistogramSeries {
    pub(crate) counts: Vec<u64>,
    pub(crate) sum: f64,
}

/// A sum.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SumSeries(pub(crate) u64);

/// All metrics.
#[derive(Debug)]
pub(crate) struct MetricsState {
    pub(crate) began_ms: u64,
    tokens: Metric<HistogramSeries>,
    durations: Metric<HistogramSeries>,
    tools: Metric<HistogramSeries>,
    cost: Metric<SumSeries>,
    decisions: Metric<SumSeries>,
    /// Whether something changed since they were last sent.
    pub(crate) is_new: bool,
}

impl<S: Default> Metric<S> {
    const fn new(name: &'static str, help: &'static str, unit: &'static str, bounds: &'static [f64]) -> Self {
        Self { name, help, unit, bounds, series: BTreeMap::new() }
    }

    fn of(&mut self, attributes: Vec<Attribute>) -> Option<&mut S> {
        if self.series.len() >= SERIES_MAX && !self.series.contains_key(&attributes) {
            return None;
        }
        Some(self.series.entry(attributes).or_default())
    }
}

impl Metric<HistogramSeries> {
    fn record(&mut self, attributes: Vec<Attribute>, value: f64) {
        let bounds = self.bounds;
        let Some(series) = self.of(attributes) else { return };
        series.counts.resize(bounds.len() + 1, 0);
        let place = bounds.iter().position(|bound| value <= *bound).unwrap_or(bounds.len());
        if let Some(count) = series.counts.get_mut(place) {
            *count += 1;
        }
        series.sum += value;
    }
}

impl MetricsState {
    pub(crate) const fn new(began_ms: u64) -> Self {
        Self {
            began_ms,
            tokens: Metric::new("gen_ai.client.token.usage", "Tokens of a model call.", "{token}", &TOKEN_BOUNDS),
            durations: Metric::new(
                "gen_ai.client.operation.duration",
                "Duration of a model call.",
                "s",
                &SECOND_BOUNDS,
            ),
            tools: Metric::new("gen_ai.execute_tool.duration", "Duration of a tool call.", "s", &SECOND_BOUNDS),
            cost: Metric::new("tripwire.cost", "What model calls cost, in millionths of a dollar.", "{micro_usd}", &[]),
            decisions: Metric::new("tripwire.decisions", "Decisions about calls.", "{decision}", &[]),
            is_new: false,
        }
    }

    /// Tokens of one type.
    pub(crate) fn count_tokens(&mut self, attributes: &[Attribute], kind: &'static str, tokens: u64) {
        let attributes = attributes.iter().cloned().chain([Attribute::text("gen_ai.token.type", kind)]).collect();
        self.tokens.record(attributes, approximate(tokens));
        self.is_new = true;
    }

    /// A model call that took so long.
    pub(crate) fn time_call(&mut self, attributes: Vec<Attribute>, ms: u64) {
        self.durations.record(attributes, seconds(ms));
        self.is_new = true;
    }

    /// A tool call that took so long.
    pub(crate) fn time_tool(&mut self, attributes: Vec<Attribute>, ms: u64) {
        self.tools.record(attributes, seconds(ms));
        self.is_new = true;
    }

    /// What a model call cost.
    pub(crate) fn add_cost(&mut self, attributes: &[Attribute], micro_usd: u64) {
        add(&mut self.cost, attributes.to_vec(), micro_usd);
        self.is_new = true;
    }

    /// A decision.
    pub(crate) fn count_decision(&mut self, attributes: Vec<Attribute>) {
        add(&mut self.decisions, attributes, 1);
        self.is_new = true;
    }

    /// The histograms that have something to say.
    pub(crate) fn histograms(&self) -> impl Iterator<Item = &Metric<HistogramSeries>> {
        [&self.tokens, &self.durations, &self.tools].into_iter().filter(|metric| !metric.series.is_empty())
    }

    /// The sums that have something to say.
    pub(crate) fn sums(&self) -> impl Iterator<Item = &Metric<SumSeries>> {
        [&self.cost, &self.decisions].into_iter().filter(|metric| !metric.series.is_empty())
    }
}

fn add(metric: &mut Metric<SumSeries>, attributes: Vec<Attribute>, value: u64) {
    if let Some(series) = metric.of(attributes) {
        series.0 = series.0.saturating_add(value);
    }
}

fn seconds(ms: u64) -> f64 {
    approximate(ms) / 1_000.0
}

#[expect(clippy::cast_precision_loss, reason = "a figure for a chart; beyond 2^53 its last digits do not matter")]
const fn approximate(value: u64) -> f64 {
    value as f64
}
