//! What a receiver gets, decoded with the public definitions of the protocol.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod calls;
mod phoenix;
mod receiver;
mod sessions;
mod trouble;

use receiver::Receiver;
use std::sync::{Arc, Mutex};
use tripwire_core::label::Label;
use tripwire_core::ledger::{AccountId, AccountKind, CallEnd, LedgerRecord, SettledCall, UtcDate};
use tripwire_core::units::{Count, MicroUsd, Tokens};
use tripwire_core::usage::{AudioInput, FigureSource, Usage};
use tripwire_secrets::Redactor;
use tripwire_telemetry::{Exporter, TelemetrySettings};
use tripwire_testing::TestDir;
use tripwire_workspace::geometry::layout::Layout;

/// A workspace whose journals are exported to a receiver.
struct Fixture {
    _dir: TestDir,
    layout: Layout,
    said: Arc<Mutex<Vec<String>>>,
}

impl Fixture {
    fn new() -> Self {
        let dir = TestDir::new();
        let layout = Layout::at(&dir.path().join(".geometry"));
        std::fs::create_dir_all(layout.folder()).unwrap();
        Self { _dir: dir, layout, said: Arc::default() }
    }

    fn export(&self, address: &str, redactor: Redactor) -> Exporter {
        let variables = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{address}")),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-api-key=receiver%2Dkey".to_owned()),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "500".to_owned()),
            ("OTEL_METRIC_EXPORT_INTERVAL", "200".to_owned()),
        ];
        let env = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
        let settings = TelemetrySettings::from_env(&env).unwrap().unwrap();
        let said = Arc::clone(&self.said);
        let talk = Box::new(move |text: &str| said.lock().unwrap().push(text.to_owned()));
        Exporter::start(settings, self.layout.folder(), redactor, talk).unwrap()
    }

    fn said(&self) -> String {
        self.said.lock().unwrap().join("\n")
    }
}

/// A call as the gateway settles it.
fn settled(model: &str, path: Vec<AccountId>, end: CallEnd) -> LedgerRecord {
    LedgerRecord::Settled(Box::new(call(model, path, end)))
}

/// A call that was settled.
fn call(model: &str, path: Vec<AccountId>, end: CallEnd) -> SettledCall {
    SettledCall {
        audio: AudioInput::default(),
        other_models: Vec::new(),
        path,
        day: UtcDate { year: 2026, month: 11, day: 16 },
        provider: Label::cut("main"),
        model: Label::cut(model),
        end,
        status: Count::new(200),
        usage: Usage {
            cache_read: Tokens::new(30),
            cache_write: Tokens::new(20),
            fresh_input: Tokens::new(100),
            output: Tokens::new(40),
            reasoning: Tokens::new(5),
            ..Usage::default()
        },
        source: FigureSource::Told,
        doubt: None,
        reserved: MicroUsd::new(9_000),
        micro_usd: MicroUsd::new(1_234),
        excess: MicroUsd::ZERO,
        price_estimated: false,
        request: None,
    }
}

fn key(name: &str) -> Vec<AccountId> {
    vec![AccountId::new(AccountKind::Key, name)]
}
