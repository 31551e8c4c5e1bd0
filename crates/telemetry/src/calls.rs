//! A model call as a span and as metrics, under the names of the GenAI conventions.

use crate::attribute::Attribute;
use crate::metrics::MetricsState;
use crate::otlp::{Span, SpanId, SpanKind, SpanStatus, TraceId};
use tripwire_core::record::chain::Digest;
use tripwire_core::usage::Usage;

/// What is known of a model call; nothing of what was said.
#[derive(Debug)]
pub(crate) struct ModelCall {
    /// The name that the configuration gives the provider, where it is known.
    pub(crate) provider: Option<String>,
    pub(crate) model: String,
    pub(crate) usage: Usage,
    pub(crate) micro_usd: u64,
    pub(crate) end_ms: u64,
    pub(crate) duration_ms: u64,
    /// What went wrong, in one word.
    pub(crate) error: Option<String>,
    /// Attributes that only one kind of source knows.
    pub(crate) more: Vec<Attribute>,
}

/// Where a span belongs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpanPlace {
    pub(crate) trace: TraceId,
    pub(crate) parent: Option<SpanId>,
}

impl SpanPlace {
    /// Among the spans of a session.
    pub(crate) fn of_session(session: &str) -> Self {
        Self { trace: trace_of(session), parent: Some(root_of(session)) }
    }

    /// By itself.
    pub(crate) fn alone(record: &Digest) -> Self {
        let digest = Digest::of_parts([b"tripwire.trace.".as_slice(), record.as_bytes()]);
        Self { trace: TraceId(first(&digest)), parent: None }
    }
}

/// The trace of a session: the same in every process that tells of it.
pub(crate) fn trace_of(session: &str) -> TraceId {
    TraceId(first(&Digest::of_parts([b"tripwire.trace.".as_slice(), session.as_bytes()])))
}

/// The span that holds all of a session.
pub(crate) fn root_of(session: &str) -> SpanId {
    SpanId(first(&Digest::of_parts([b"tripwire.root.".as_slice(), session.as_bytes()])))
}

/// The span of a record; one record may give several kinds.
pub(crate) fn span_of(record: &Digest, kind: &str) -> SpanId {
    SpanId(first(&Digest::of_parts([b"tripwire.span.".as_slice(), kind.as_bytes(), record.as_bytes()])))
}

fn first<const N: usize>(digest: &Digest) -> [u8; N] {
    digest.as_bytes().first_chunk().copied().unwrap_or([1; N])
}

impl ModelCall {
    /// The span of the call, and its share of the metrics.
    pub(crate) fn tell(self, place: SpanPlace, record: &Digest, metrics: &mut MetricsState) -> Span {
        let provider = provider_name(self.provider.as_deref(), &self.model);
        let operation = if provider == "gcp.gemini" { "generate_content" } else { "chat" };
        let shared = vec![
            Attribute::text("gen_ai.operation.name", operation),
            Attribute::text("gen_ai.provider.name", provider.clone()),
            Attribute::text("gen_ai.request.model", self.model.clone()),
        ];
        let error = self.error.map(|error| Attribute::text("error.type", error));
        let usage = &self.usage;
        let written = usage.cache_write.plus(usage.cache_write_long);
        let input = usage.fresh_input.plus(usage.cache_read).plus(written).get();
        let output = usage.output.plus(usage.reasoning).get();
        metrics.count_tokens(&shared, "input", input);
        metrics.count_tokens(&shared, "output", output);
        metrics.add_cost(&shared, self.micro_usd);
        metrics.time_call(shared.iter().cloned().chain(error.clone()).collect(), self.duration_ms);
        let status = if error.is_some() { SpanStatus::Error } else { SpanStatus::Unset };
        let figures = [
            Attribute::integer("gen_ai.usage.input_tokens", input),
            Attribute::integer("gen_ai.usage.output_tokens", output),
            Attribute::integer("gen_ai.usage.cache_read.input_tokens", usage.cache_read.get()),
            Attribute::integer("gen_ai.usage.cache_creation.input_tokens", written.get()),
            Attribute::integer("gen_ai.usage.reasoning.output_tokens", usage.reasoning.get()),
            Attribute::integer("tripwire.cost.micro_usd", self.micro_usd),
        ];
        Span {
            trace: place.trace,
            id: span_of(record, "chat"),
            parent: place.parent,
            name: format!("{operation} {}", self.model),
            kind: SpanKind::Client,
            start_ms: self.end_ms.saturating_sub(self.duration_ms),
            end_ms: self.end_ms,
            attributes: shared.into_iter().chain(figures).chain(error).chain(self.more).collect(),
            events: Vec::new(),
            status,
        }
    }
}

/// The conventions' name for a provider, by what it is called here and by its models.
fn provider_name(named: Option<&str>, model: &str) -> String {
    let known = |name: &str| match name {
        "anthropic" => Some("anthropic"),
        "openai" => Some("openai"),
        "gemini" => Some("gcp.gemini"),
        _ => None,
    };
    let by_model = || {
        let model = model.rsplit('/').next().unwrap_or(model);
        let begins = |names: &[&str]| names.iter().any(|name| model.starts_with(name));
        match () {
            () if begins(&["claude"]) => Some("anthropic"),
            () if begins(&["gpt-", "o1", "o3", "o4", "codex"]) => Some("openai"),
            () if begins(&["gemini"]) => Some("gcp.gemini"),
            () => None,
        }
    };
    let name = named.and_then(known).or_else(by_model).or(named);
    name.unwrap_or("unknown").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gate_8_a_provider_has_the_conventions_name_by_its_own_or_by_its_model() {
        assert_eq!(provider_name(Some("gemini"), "x"), "gcp.gemini");
        assert_eq!(provider_name(Some("main"), "claude-sonnet-4-5"), "anthropic");
        assert_eq!(provider_name(None, "openai/gpt-4o"), "openai");
        assert_eq!(provider_name(Some("main"), "llama3"), "main");
        assert_eq!(provider_name(None, "llama3"), "unknown");
    }

    #[test]
    fn gate_8_ids_are_those_of_the_record_and_differ_by_what_they_name() {
        let (one, two) = (Digest::of(b"1"), Digest::of(b"2"));
        assert_eq!(span_of(&one, "chat"), span_of(&one, "chat"));
        assert_ne!(span_of(&one, "chat"), span_of(&two, "chat"));
        assert_ne!(span_of(&one, "chat"), span_of(&one, "tool"));
        assert_ne!(trace_of("s-1"), trace_of("s-2"));
        assert_ne!(SpanPlace::alone(&one).trace, SpanPlace::alone(&two).trace);
    }
}
