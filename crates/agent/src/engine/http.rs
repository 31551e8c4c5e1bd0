//! An engine over HTTP: one question out, one event stream in, whatever the dialect.

use super::draft::{Decoder, Draft};
use super::kept::Kept;
use super::limits::{ERROR_BODY_BYTES_MAX, ERROR_BODY_PATIENCE};
use super::refusal::{Fault, Refusal, excerpt};
use super::secret::Secret;
use super::sse::Reader;
use super::wire::{Head, Line, Post};
use super::{
    Answer, Engine, EngineError, Heard, Listener, Place, Question, ToolCall, Turn, Usage, anthropic, gemini,
    openai_chat, openai_responses, retry,
};
use serde_json::Value;
use std::time::{Instant, SystemTime};
use tripwire_core::units::Tokens;
use tripwire_host::prices;

/// The wire formats that we speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Chat Completions, which every local server speaks as well.
    OpenAiChat,
    /// OpenAI's Responses.
    OpenAiResponses,
    /// Google's generateContent.
    Gemini,
}

/// Where and as whom an engine asks.
#[derive(Debug, Clone)]
pub(super) struct Address {
    /// The address up to where the dialect's own path begins, without a slash at the end.
    pub(super) base: String,
    /// Whether that is on this machine.
    pub(super) place: Place,
    /// The key, where there is one.
    pub(super) key: Option<Secret>,
}

/// An engine over HTTP.
#[derive(Debug)]
pub(super) struct HttpEngine {
    name: String,
    dialect: Dialect,
    model: String,
    address: Address,
    kept: Kept,
}

impl HttpEngine {
    /// An engine; nothing is sent before it is asked.
    pub(super) fn new(name: &str, dialect: Dialect, model: &str, address: Address) -> Self {
        Self { name: name.to_owned(), dialect, model: model.to_owned(), address, kept: Kept::default() }
    }

    fn post(&self, question: &Question<'_>) -> Post {
        let key = self.address.key.as_ref().map(Secret::reveal);
        let mut headers = vec![("content-type", "application/json".to_owned())];
        let (path, body) = match self.dialect {
            Dialect::Anthropic => {
                headers.push(("anthropic-version", "2023-06-01".to_owned()));
                headers.extend(key.map(|key| ("x-api-key", key.to_owned())));
                ("/v1/messages".to_owned(), anthropic::body(&self.model, question, &self.kept))
            }
            Dialect::OpenAiChat => {
                headers.extend(key.map(|key| ("authorization", format!("Bearer {key}"))));
                ("/chat/completions".to_owned(), openai_chat::body(&self.model, question, self.address.place))
            }
            Dialect::OpenAiResponses => {
                headers.extend(key.map(|key| ("authorization", format!("Bearer {key}"))));
                ("/responses".to_owned(), openai_responses::body(&self.model, question, &self.kept))
            }
            Dialect::Gemini => {
                headers.extend(key.map(|key| ("x-goog-api-key", key.to_owned())));
                let path = format!("/v1beta/models/{}:streamGenerateContent?alt=sse", self.model);
                (path, gemini::body(&self.model, question, &self.kept))
            }
        };
        let url = format!("{}{path}", self.address.base);
        Post { url, headers, body: body.to_string().into_bytes(), place: self.address.place }
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        match self.dialect {
            Dialect::Anthropic => Box::<anthropic::Messages>::default(),
            Dialect::OpenAiChat => Box::new(openai_chat::Chat),
            Dialect::OpenAiResponses => Box::<openai_responses::Responses>::default(),
            Dialect::Gemini => Box::<gemini::Contents>::default(),
        }
    }

    fn exchange(&self, post: Post, deadline: Instant, listener: &mut Listener<'_>) -> Result<Draft, Fault> {
        let mut line = Line::open(post, deadline)?;
        let head = line.head(listener)?;
        let streams = head.header("content-type").is_none_or(|kind| !kind.starts_with("application/json"));
        if head.status != 200 || !streams {
            return Err(refused(&mut line, &head, listener));
        }
        let (mut reader, mut decoder) = (Reader::default(), self.decoder());
        let mut draft = Draft::default();
        self.model.clone_into(&mut draft.model);
        while let Some(bytes) = line.bytes(listener)? {
            for event in reader.feed(&bytes)? {
                decoder.event(&event, &mut draft)?;
            }
            self.tell(&mut line, &mut draft, listener)?;
            // The mark says that all is there; a server that keeps the connection open after it is not waited for.
            if draft.whole {
                return Ok(draft);
            }
        }
        if reader.is_in_the_middle() {
            return Err(Fault::Broken("the stream ended in the middle of an event".to_owned()));
        }
        decoder.ended(&mut draft);
        Ok(draft)
    }

    fn tell(&self, line: &mut Line, draft: &mut Draft, listener: &mut Listener<'_>) -> Result<(), Fault> {
        let news = draft.news();
        if news.is_empty() {
            return Ok(());
        }
        let told = match &self.address.key {
            Some(key) if news.contains(key.reveal()) => listener(Heard::Text(&key.redact(news))),
            Some(_) | None => listener(Heard::Text(news)),
        };
        line.told();
        if told.is_break() { Err(Fault::Cut) } else { Ok(()) }
    }

    /// The answer without the key, should the server have put it there: answers go into transcripts.
    fn clean(&self, mut answer: Answer) -> Answer {
        if let Some(key) = &self.address.key {
            let texts = answer.calls.iter_mut().flat_map(|call| [&mut call.id, &mut call.tool, &mut call.arguments]);
            for text in texts.chain([&mut answer.text, &mut answer.model]).filter(|text| text.contains(key.reveal())) {
                *text = key.redact(text);
            }
        }
        answer
    }
}

impl Engine for HttpEngine {
    fn name(&self) -> &str {
        &self.name
    }

    fn window(&self) -> Option<Tokens> {
        prices::window(&self.model)
    }

    fn place(&self) -> Place {
        self.address.place
    }

    fn ask(
        &mut self,
        question: &Question<'_>,
        deadline: Instant,
        listener: &mut Listener<'_>,
    ) -> Result<Answer, EngineError> {
        let answer = self.exchange(self.post(question), deadline, listener).and_then(|mut draft| {
            let kept = std::mem::take(&mut draft.kept);
            let answer = draft.finish(question.turns.len(), |text, calls| estimate(question, text, calls))?;
            if let Some(first) = answer.calls.first() {
                self.kept.keep(&first.id, kept);
            }
            Ok(answer)
        });
        answer.map(|answer| self.clean(answer)).map_err(|fault| fault.named(&self.name, self.address.key.as_ref()))
    }
}

/// The provider's refusal. Its status is known already, so a body that does not come is not waited for.
fn refused(line: &mut Line, head: &Head, listener: &mut Listener<'_>) -> Fault {
    let end = Instant::now() + ERROR_BODY_PATIENCE;
    let mut body = Vec::new();
    while body.len() < ERROR_BODY_BYTES_MAX {
        match line.bytes_until(end, listener) {
            Ok(Some(bytes)) => body.extend_from_slice(&bytes),
            Err(Fault::Cut) => return Fault::Cut,
            Ok(None) | Err(Fault::Unreachable(_) | Fault::Broken(_) | Fault::Said(_) | Fault::Deadline) => break,
        }
    }
    let raw = String::from_utf8_lossy(&body);
    let parsed: Value = serde_json::from_str(&raw).unwrap_or(Value::Null);
    // Gemini sends the error of a stream as a list of one.
    let parsed = parsed.get(0).cloned().unwrap_or(parsed);
    if head.status == 200 && parsed.get("error").is_none_or(Value::is_null) {
        return Fault::Broken(format!("it is no event stream: `{}`", excerpt(&raw)));
    }
    let mut refusal = Refusal::read(head.status, &parsed, &raw);
    if (300..400).contains(&head.status) {
        let to = head.header("location").unwrap_or("nowhere");
        refusal.message = format!("it redirects to `{}`, and a key is not sent on", excerpt(to));
    }
    refusal.retry_after = retry::wait(&head.headers, &parsed, SystemTime::now());
    Fault::Said(refusal)
}

/// The tokens of an answer whose provider told none: rather too many (three bytes each), because silence must not be free.
fn estimate(question: &Question<'_>, text: &str, calls: &[ToolCall]) -> Usage {
    let tokens = |bytes: usize| Tokens::new(u64::try_from(bytes.div_ceil(3)).unwrap_or(u64::MAX));
    let size = |call: &ToolCall| call.tool.len() + call.arguments.len();
    let turn = |turn: &Turn| match turn {
        Turn::User(text) => text.len(),
        Turn::Model { text, calls } => text.len() + calls.iter().map(size).sum::<usize>(),
        Turn::Results(results) => results.iter().map(|result| result.text.len()).sum(),
    };
    let tools = question.tools.iter().map(|tool| tool.description.len() + tool.schema.to_string().len()).sum::<usize>();
    let input = question.system.len() + tools + question.turns.iter().map(turn).sum::<usize>();
    let output = text.len() + calls.iter().map(size).sum::<usize>();
    Usage { fresh_input: tokens(input), output: tokens(output), ..Usage::default() }
}
