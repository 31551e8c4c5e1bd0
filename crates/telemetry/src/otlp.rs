//! The messages of OTLP that are sent: spans and metrics, under the field numbers of `opentelemetry-proto`.

use crate::attribute::{Attribute, AttributeValue};
use crate::metrics::{HistogramSeries, MetricsState, SumSeries};
use crate::protobuf::Message;

/// The name under which all of it is sent.
const SCOPE: &str = "tripwire";
/// The version of the conventions that the names of attributes follow.
const SCHEMA: &str = "https://opentelemetry.io/schemas/1.41.0";

/// One span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) trace: TraceId,
    pub(crate) id: SpanId,
    pub(crate) parent: Option<SpanId>,
    pub(crate) name: String,
    pub(crate) kind: SpanKind,
    pub(crate) start_ms: u64,
    pub(crate) end_ms: u64,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) events: Vec<SpanEvent>,
    pub(crate) status: SpanStatus,
}

/// Sixteen bytes that all spans of a session share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TraceId(pub(crate) [u8; 16]);

/// Eight bytes that no other span has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SpanId(pub(crate) [u8; 8]);

/// Who was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpanKind {
    /// Nobody outside.
    Internal,
    /// A provider.
    Client,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpanStatus {
    /// Nothing is said about it.
    Unset,
    /// Badly.
    Error,
}

/// Something inside a span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpanEvent {
    pub(crate) name: &'static str,
    pub(crate) at_ms: u64,
    pub(crate) attributes: Vec<Attribute>,
}

/// The body of a request that exports spans.
pub(crate) fn trace_request(service: &str, spans: &[Span]) -> Vec<u8> {
    let mut request = Message::default();
    request.message(1, |all| {
        all.message(1, |resource| write_resource(resource, service));
        all.message(2, |scope| {
            scope.message(1, write_scope);
            spans.iter().for_each(|span| scope.message(2, |message| write_span(message, span)));
            scope.bytes(3, SCHEMA.as_bytes());
        });
    });
    request.into_bytes()
}

/// The body of a request that exports metrics.
pub(crate) fn metrics_request(service: &str, state: &MetricsState, now_ms: u64) -> Vec<u8> {
    let mut request = Message::default();
    request.message(1, |all| {
        all.message(1, |resource| write_resource(resource, service));
        all.message(2, |scope| {
            scope.message(1, write_scope);
            for metric in state.histograms() {
                scope.message(2, |message| {
                    write_metric(message, metric.name, metric.help, metric.unit);
                    message.message(9, |histogram| {
                        for (attributes, series) in &metric.series {
                            histogram.message(1, |point| {
                                write_histogram(point, attributes, series, metric.bounds, (state.began_ms, now_ms));
                            });
                        }
                        histogram.integer(2, CUMULATIVE);
                    });
                });
            }
            for metric in state.sums() {
                scope.message(2, |message| {
                    write_metric(message, metric.name, metric.help, metric.unit);
                    message.message(7, |sum| {
                        for (attributes, series) in &metric.series {
                            sum.message(1, |point| write_sum(point, attributes, *series, (state.began_ms, now_ms)));
                        }
                        sum.integer(2, CUMULATIVE);
                        sum.integer(3, 1);
                    });
                });
            }
            scope.bytes(3, SCHEMA.as_bytes());
        });
    });
    request.into_bytes()
}

const CUMULATIVE: u64 = 2;

fn write_resource(resource: &mut Message, service: &str) {
    let version = env!("CARGO_PKG_VERSION");
    for (key, value) in [("service.name", service), ("service.version", version)] {
        resource.message(1, |pair| write_attribute(pair, &Attribute::text(key, value)));
    }
}

fn write_scope(scope: &mut Message) {
    scope.bytes(1, SCOPE.as_bytes());
    scope.bytes(2, env!("CARGO_PKG_VERSION").as_bytes());
}

fn write_span(message: &mut Message, span: &Span) {
    message.bytes(1, &span.trace.0);
    message.bytes(2, &span.id.0);
    if let Some(parent) = span.parent {
        message.bytes(4, &parent.0);
    }
    message.bytes(5, span.name.as_bytes());
    message.integer(
        6,
        match span.kind {
            SpanKind::Internal => 1,
            SpanKind::Client => 3,
        },
    );
    message.fixed(7, nanos(span.start_ms));
    message.fixed(8, nanos(span.end_ms));
    write_attributes(message, 9, &span.attributes);
    for event in &span.events {
        message.message(11, |inner| {
            inner.fixed(1, nanos(event.at_ms));
            inner.bytes(2, event.name.as_bytes());
            write_attributes(inner, 3, &event.attributes);
        });
    }
    match span.status {
        SpanStatus::Unset => {}
        SpanStatus::Error => message.message(15, |status| status.integer(3, 2)),
    }
}

fn write_metric(message: &mut Message, name: &str, help: &str, unit: &str) {
    message.bytes(1, name.as_bytes());
    message.bytes(2, help.as_bytes());
    message.bytes(3, unit.as_bytes());
}

fn write_histogram(
    point: &mut Message,
    attributes: &[Attribute],
    series: &HistogramSeries,
    bounds: &[f64],
    (began_ms, now_ms): (u64, u64),
) {
    point.fixed(2, nanos(began_ms));
    point.fixed(3, nanos(now_ms));
    point.fixed(4, series.counts.iter().sum());
    point.double(5, series.sum);
    point.packed(6, series.counts.iter().copied());
    point.packed(7, bounds.iter().map(|bound| bound.to_bits()));
    write_attributes(point, 9, attributes);
}

fn write_sum(point: &mut Message, attributes: &[Attribute], series: SumSeries, (began_ms, now_ms): (u64, u64)) {
    point.fixed(2, nanos(began_ms));
    point.fixed(3, nanos(now_ms));
    point.fixed(6, series.0);
    write_attributes(point, 7, attributes);
}

fn write_attributes(message: &mut Message, field: u32, attributes: &[Attribute]) {
    attributes.iter().for_each(|attribute| message.message(field, |pair| write_attribute(pair, attribute)));
}

fn write_attribute(pair: &mut Message, attribute: &Attribute) {
    pair.bytes(1, attribute.key.as_bytes());
    pair.message(2, |value| match &attribute.value {
        // An empty text is a value too.
        AttributeValue::Text(text) => value.message(1, |inner| inner.raw(text.as_bytes())),
        AttributeValue::Flag(flag) => value.integer(2, u64::from(*flag)),
        AttributeValue::Integer(number) => value.integer(3, *number),
    });
}

const fn nanos(ms: u64) -> u64 {
    ms.saturating_mul(1_000_000)
}
