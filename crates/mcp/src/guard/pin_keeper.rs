//! The pins of the server that runs: compared with its lists, kept on disk, and told to a person.

use super::pin_store::{PinError, PinStore, PinnedServer, ServerIdentity};
use crate::wire::message::ListPage;
use crate::wire::pins::{DiffForm, PageNews, PinBook, Pins};
use crate::wire::schema;
use crate::wire::suspicion::suspicions;
use crate::wire::tools::ToolPage;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use tripwire_clients::hooks::PersonAsk;
use tripwire_core::counted::counted;
use tripwire_core::explain::Explain as _;
use tripwire_core::input::{ToolsSeen, ToolsState};
use tripwire_core::label::Label;

/// Findings of one server that are kept.
const FINDINGS_MAX: usize = 64;

/// The pins of one server.
#[derive(Debug)]
pub(super) struct PinKeeper {
    store: PinStore,
    identity: ServerIdentity,
    server: PinnedServer,
    book: PinBook,
    is_first_sight: bool,
    /// Schemas that were read, with the digest of their tool.
    read: BTreeMap<String, (String, Arc<ToolSchemas>)>,
}

/// What a tool declares of its arguments and results.
#[derive(Debug, Default)]
pub(super) struct ToolSchemas {
    input: Option<Value>,
    output: Option<Value>,
}

impl ToolSchemas {
    /// What of a call's arguments certainly does not fit.
    pub(super) fn input_mistakes(&self, arguments: &str) -> Vec<String> {
        mistakes_in(self.input.as_ref(), arguments)
    }

    /// What of a structured result certainly does not fit.
    pub(super) fn output_mistakes(&self, structured: &str) -> Vec<String> {
        mistakes_in(self.output.as_ref(), structured)
    }
}

fn mistakes_in(schema: Option<&Value>, text: &str) -> Vec<String> {
    match (schema, serde_json::from_str::<Value>(text)) {
        (Some(schema), Ok(value)) => schema::mistakes(schema, &value),
        (None, _) | (Some(_), Err(_)) => Vec::new(),
    }
}

/// What came of a page of the list.
#[derive(Debug, Default)]
pub(super) struct ListNews {
    /// For the journal.
    pub(super) seen: Vec<ToolsSeen>,
    /// For a person.
    pub(super) notes: Vec<String>,
}

impl PinKeeper {
    /// The pins of a server, as they are on disk. Pins that cannot be read vouch for nothing: every tool waits.
    pub(super) fn open(store: PinStore, identity: ServerIdentity) -> (Self, Option<String>) {
        let mut server = identity.server();
        let (book, note) = match store.of(&identity) {
            Ok(Some(known)) => {
                server = known;
                (PinBook::known(server.pins.clone(), server.pending.clone()), None)
            }
            Ok(None) => (PinBook::default(), None),
            Err(error @ PinError::NoPlace) => (PinBook::default(), Some(format!("its tools are not pinned: {error}"))),
            Err(error) => (
                PinBook::known(Pins::default(), BTreeMap::new()),
                Some(format!("every tool waits: {error}; {}", error.hint())),
            ),
        };
        (Self { store, identity, server, book, is_first_sight: false, read: BTreeMap::new() }, note)
    }

    /// Takes in a page of the list that the server gave.
    pub(super) fn page(&mut self, asked: ListPage, page: &ToolPage<'_>) -> ListNews {
        self.reload();
        let waited = self.book.pending().clone();
        let news = self.book.page(asked, page);
        let mut told = ListNews::default();
        self.look_at_texts(page, &news, &mut told);
        if !news.pinned.is_empty() {
            self.first_sight(&news, page, &mut told);
        }
        if !news.held.is_empty() || waited != *self.book.pending() {
            self.changed(&news, &mut told);
        }
        for name in &news.removed {
            told.notes.push(format!("the pinned tool `{name}` is not listed any more"));
        }
        told
    }

    /// Shows what the client may see of a page.
    pub(super) fn shown(&self, message: &str, page: &ToolPage<'_>) -> Option<String> {
        let hides = page.tools.iter().any(|tool| !self.book.shows(tool));
        hides.then(|| page.with_only(message, |tool| self.book.shows(tool)))
    }

    /// Why a person is to be asked about a call of a tool; nothing if it is what a person has seen.
    pub(super) fn asks(&mut self, tool: &str) -> Option<PersonAsk> {
        self.book.objection(tool)?;
        self.reload();
        let why = self.book.objection(tool)?;
        let name = &self.identity.name;
        let reason =
            format!("TOOL_CHANGED `{name}/{tool}`: {why}; a person looks and runs `tripwire mcp trust {name}`");
        Some(PersonAsk { rule: "TOOL_CHANGED".to_owned(), reason })
    }

    /// What a pinned tool declares; nothing for one that was never listed.
    pub(super) fn schemas(&mut self, tool: &str) -> Arc<ToolSchemas> {
        let Some(pin) = self.book.pins().tools.get(tool) else { return Arc::default() };
        if let Some((_, known)) = self.read.get(tool).filter(|(digest, _)| *digest == pin.sha256) {
            return Arc::clone(known);
        }
        let mut fields = serde_json::from_str::<BTreeMap<String, Value>>(&pin.tool).unwrap_or_default();
        let schemas = ToolSchemas { input: fields.remove("inputSchema"), output: fields.remove("outputSchema") };
        let schemas = Arc::new(schemas);
        self.read.insert(tool.to_owned(), (pin.sha256.clone(), Arc::clone(&schemas)));
        schemas
    }

    /// A person may have trusted something meanwhile.
    fn reload(&mut self) {
        if let Ok(Some(known)) = self.store.of(&self.identity)
            && known.pins != self.server.pins
        {
            if self.is_first_sight || self.server.pins != Pins::default() {
                self.book.trust(known.pins.clone());
            } else {
                // Another client started the same server first: what it saw is what counts.
                self.book = PinBook::known(known.pins.clone(), known.pending.clone());
            }
            self.server.pins = known.pins;
        }
    }

    fn first_sight(&mut self, news: &PageNews, page: &ToolPage<'_>, told: &mut ListNews) {
        self.is_first_sight = true;
        self.server.pins = self.book.pins().clone();
        if let Err(error) = self.store.pin(&self.server) {
            told.notes.push(format!("its pins are not kept: {error}; {}", error.hint()));
        }
        let count = u64::try_from(news.pinned.len()).unwrap_or(u64::MAX);
        let digest = self.server.pins.digest().to_string();
        let digest = digest.get(..16).unwrap_or_default();
        let more = if page.is_last { "" } else { ", more to come" };
        let names = news.pinned.join(", ");
        let detail = format!("first sight: {} pinned (sha256 {digest}…{more}): {names}", counted(count, "tool"));
        told.notes.push(detail.clone());
        told.seen.push(self.seen(ToolsState::FirstSight, &detail));
    }

    fn changed(&mut self, news: &PageNews, told: &mut ListNews) {
        self.server.pending = self.book.pending().clone();
        let lines = self.server.waiting(DiffForm::AroundChange);
        if let Err(error) = self.store.keep(&self.identity, &mut self.server) {
            told.notes.push(format!("what changed is not kept for `tripwire mcp trust`: {error}; {}", error.hint()));
        }
        let name = &self.identity.name;
        for line in lines.iter().filter(|line| news.held.iter().any(|held| line.starts_with(&format!("`{held}` ")))) {
            told.notes
                .push(format!("TOOL_CHANGED {line}; it is left out until a person runs `tripwire mcp trust {name}`"));
            told.seen.push(self.seen(ToolsState::Changed, line));
        }
    }

    /// Reports texts that speak to the model, and tools that another server offers too; each once.
    fn look_at_texts(&mut self, page: &ToolPage<'_>, news: &PageNews, told: &mut ListNews) {
        let is_new = |name: &String| news.pinned.contains(name) || news.held.contains(name);
        let others = self.store.servers();
        for tool in page.tools.iter().filter(|tool| is_new(&tool.name)) {
            let mut findings: Vec<String> = suspicions(&tool.name, &tool.canonical)
                .into_iter()
                .map(|found| format!("`{}` holds {}", found.tool, found.what))
                .collect();
            let other = others
                .iter()
                .filter_map(|server| server.as_ref().ok())
                .find(|server| server.name != self.identity.name && server.pins.tools.contains_key(&tool.name));
            if let Some(other) = other {
                findings.push(format!("`{}` is offered by the server `{}` too", tool.name, other.name));
            }
            for finding in findings {
                if !self.server.findings.contains(&finding) && self.server.findings.len() < FINDINGS_MAX {
                    told.notes.push(format!("finding: {finding}"));
                    told.seen.push(self.seen(ToolsState::Suspicious, &finding));
                    self.server.findings.push(finding);
                }
            }
        }
    }

    fn seen(&self, state: ToolsState, detail: &str) -> ToolsSeen {
        ToolsSeen { server: Label::cut(&self.identity.name), state, detail: Label::cut(detail) }
    }
}
