//! An engine over HTTP: one question out, one event stream in, whatever the dialect.

use super::draft::{Came, Decoder, Draft};
use super::http_call::{Head, HttpCall, Post};
use super::limits::{ERROR_BODY_BYTES_MAX, ERROR_BODY_PATIENCE, SILENCE_MAX};
use super::opaque::OpaqueParts;
use super::question_size::input_max;
use super::refusal::{Fault, Refusal, Target, excerpt};
use super::{anthropic, gemini, openai_chat, openai_responses, retry};
use crate::engines::engine::{CallCost, Engine, Heard, Listener, Question, Turn};
use crate::engines::error::EngineError;
use serde_json::Value;
use std::time::{Instant, SystemTime};
use tripwire_core::prices::{self, PriceBasis};
use tripwire_core::run::engine_label;
use tripwire_core::run::fallback::Seat;
use tripwire_core::run::record::{Answer, Call, Spent};
use tripwire_core::units::Tokens;
use tripwire_core::usage::{FigureSource, Usage};
use tripwire_observe::sse::EventReader;
use tripwire_secrets::Secret;

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
    pub(super) place: Seat,
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
    kept: OpaqueParts,
    /// What the last question used, if it gave no answer.
    spent: Option<Spent>,
    /// Whether the provider told the figures of the last answer.
    figures: FigureSource,
}

impl HttpEngine {
    /// An engine; nothing is sent before it is asked.
    pub(super) fn new(name: &str, dialect: Dialect, model: &str, address: Address) -> Self {
        Self {
            name: name.to_owned(),
            dialect,
            model: model.to_owned(),
            address,
            kept: OpaqueParts::default(),
            spent: None,
            figures: FigureSource::Told,
        }
    }

    fn post(&self, question: &Question<'_>) -> Post {
        let key = self.address.key.as_ref().map(Secret::reveal);
        let mut headers = vec![("content-type", "application/json".to_owned())];
        let (path, mut body) = match self.dialect {
            Dialect::Anthropic => {
                headers.push(("anthropic-version", "2023-06-01".to_owned()));
                headers.extend(key.map(|key| ("x-api-key", key.to_owned())));
                ("/v1/messages".to_owned(), anthropic::body(&self.model, question, &self.kept))
            }
            Dialect::OpenAiChat => {
                headers.extend(key.map(|key| ("authorization", format!("Bearer {key}"))));
                ("/chat/completions".to_owned(), openai_chat::body(&self.model, question, self.server()))
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
        if self.server() == openai_chat::Server::OpenAi {
            // Unless we ask for a tier, a project may have its calls done at more than the list price.
            body["service_tier"] = Value::from("default");
        }
        let url = format!("{}{path}", self.address.base);
        let silence_max = match self.address.place {
            Seat::Remote => Some(SILENCE_MAX),
            Seat::Local => None,
        };
        Post { url, headers, body: body.to_string().into_bytes(), place: self.address.place, silence_max }
    }

    fn server(&self) -> openai_chat::Server {
        let host = self.address.base.split_once("://").map_or("", |(_, rest)| rest.split('/').next().unwrap_or(""));
        if host.eq_ignore_ascii_case("api.openai.com") {
            openai_chat::Server::OpenAi
        } else {
            openai_chat::Server::Other
        }
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        match self.dialect {
            Dialect::Anthropic => Box::<anthropic::Messages>::default(),
            Dialect::OpenAiChat => Box::new(openai_chat::Chat),
            Dialect::OpenAiResponses => Box::<openai_responses::Responses>::default(),
            Dialect::Gemini => Box::<gemini::Contents>::default(),
        }
    }

    /// Sends the question and fills the draft. What the draft holds when this fails was still sent and used.
    fn exchange(
        &self,
        post: Post,
        draft: &mut Draft,
        deadline: Instant,
        listener: &mut Listener<'_>,
    ) -> Result<(), Fault> {
        let asked = Target { url: post.url.clone(), model: self.model.clone() };
        let mut line = HttpCall::open(post, deadline)?;
        let head = line.head(listener)?;
        if head.status != 200 || !may_stream(&head) {
            return Err(refused(&mut line, &head, asked, listener));
        }
        let (mut reader, mut decoder) = (EventReader::default(), self.decoder());
        let mut opening = Vec::new();
        while let Some(bytes) = line.bytes(listener)? {
            if draft.came == Came::Nothing && opening.len() < ERROR_BODY_BYTES_MAX {
                opening.extend_from_slice(&bytes);
            }
            for event in reader.feed(&bytes)? {
                draft.came = draft.came.max(Came::Part);
                if event.is_error {
                    return Err(Fault::Said(Refusal::read(200, &json(&event.data), &event.data)));
                }
                decoder.event(&event, draft)?;
            }
            self.tell(&mut line, draft, listener)?;
            // The mark says that all is there; a server that keeps the connection open after it is not waited for.
            if draft.came == Came::Whole {
                return Ok(());
            }
        }
        if draft.came == Came::Nothing && !opening.is_empty() {
            return Err(no_stream(&head, asked, &String::from_utf8_lossy(&opening)));
        }
        if reader.is_in_the_middle() {
            return Err(Fault::Broken("the stream ended in the middle of an event".to_owned()));
        }
        decoder.ended(draft);
        Ok(())
    }

    fn tell(&self, line: &mut HttpCall, draft: &mut Draft, listener: &mut Listener<'_>) -> Result<(), Fault> {
        let news = draft.news();
        if news.is_empty() {
            return Ok(());
        }
        let heard = match &self.address.key {
            Some(key) if news.contains(key.reveal()) => listener(Heard::Text(&key.redact(news))),
            Some(_) | None => listener(Heard::Text(news)),
        };
        line.was_heard();
        if heard.is_break() { Err(Fault::Cut) } else { Ok(()) }
    }

    /// Whether its tokens cost something by the list: then a question that is lost counts with all that it may have used.
    fn is_paid(&self) -> bool {
        match self.call_cost() {
            CallCost::Free => false,
            CallCost::IfListed => prices::cost(&self.model, &Usage::default()).basis == PriceBasis::Listed,
            CallCost::Full => true,
        }
    }

    /// The answer without the key, should the server have put it there: answers go into transcripts.
    fn clean(&self, mut answer: Answer) -> Answer {
        if let Some(key) = &self.address.key {
            for call in &mut answer.calls {
                call.arguments = key.redact(&call.arguments).into();
                call.id = key.redact(&call.id).into();
                call.tool = key.redact(&call.tool).into();
            }
            answer.text = key.redact(&answer.text).into();
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

    fn place(&self) -> Seat {
        self.address.place
    }

    fn ask(
        &mut self,
        question: &Question<'_>,
        deadline: Instant,
        listener: &mut Listener<'_>,
    ) -> Result<Answer, EngineError> {
        self.spent = None;
        let mut draft = Draft::default();
        self.model.clone_into(&mut draft.model);
        let heard = self.exchange(self.post(question), &mut draft, deadline, listener).and_then(|()| draft.check());
        if let Some(key) = &self.address.key {
            // Before it is cut: a part of a key would not be recognised.
            draft.model = key.redact(&draft.model);
        }
        let engine = engine_label(&self.name);
        if let Err(fault) = heard {
            let is_paid = self.is_paid();
            let guess = |text: &str, calls: &[Call]| match is_paid {
                true => worst(&self.name, question, &draft),
                false => estimate(question, text, calls),
            };
            let counts = counts(&draft, &fault) || (is_paid && may_have_arrived(&fault));
            self.spent = counts.then(|| draft.spent(engine, guess));
            return Err(fault.named(&self.name, self.address.key.as_ref()));
        }
        self.figures = if draft.told().is_some() { FigureSource::Told } else { FigureSource::Estimated };
        let kept = std::mem::take(&mut draft.kept);
        let answer = draft.finish(engine, question.turns.len(), |text, calls| estimate(question, text, calls));
        let answer = answer.map_err(|fault| fault.named(&self.name, self.address.key.as_ref()))?;
        if let Some(first) = answer.calls.first() {
            self.kept.keep(&first.id, kept);
        }
        Ok(self.clean(answer))
    }

    fn spent(&mut self) -> Option<Spent> {
        self.spent.take()
    }

    fn figures(&self) -> FigureSource {
        self.figures
    }
}

/// Whether a question that gave no answer used anything. A refusal costs nothing unless its answer had begun; a call that
/// was left before its end is taken to cost what was sent, because the provider goes on with it.
fn counts(draft: &Draft, fault: &Fault) -> bool {
    match fault {
        Fault::Unreachable(_) => false,
        Fault::Said(_) => !draft.is_empty(),
        Fault::Broken(_) => draft.came > Came::Nothing,
        Fault::Deadline | Fault::Silent(_) | Fault::Cut => true,
    }
}

/// Whether a provider may have had the whole question, and may go on with it.
const fn may_have_arrived(fault: &Fault) -> bool {
    match fault {
        Fault::Broken(_) | Fault::Deadline | Fault::Silent(_) | Fault::Cut => true,
        Fault::Unreachable(_) | Fault::Said(_) => false,
    }
}

/// The most that a question can have used: all of it may have been written to a cache, and the answer may have had its full
/// length although nothing of it arrived.
fn worst(engine: &str, question: &Question<'_>, draft: &Draft) -> Usage {
    // What was heard of its thinking is a part of that length.
    let output = question.output_tokens_max.minus(Tokens::estimate(draft.thought_bytes));
    Usage { cache_write: input_max(engine, question), output, ..Usage::default() }
}

/// Whether a response may be an event stream, by its own word. Some servers send one without saying so.
fn may_stream(head: &Head) -> bool {
    let kind = head.header("content-type").unwrap_or_default().to_ascii_lowercase();
    !["application/json", "application/x-ndjson", "application/problem+json", "text/html"]
        .iter()
        .any(|other| kind.starts_with(other))
}

/// A JSON text, or null: what is none is quoted elsewhere.
fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}

/// The provider's refusal. Its status is known already, so a body that does not come is not waited for.
fn refused(line: &mut HttpCall, head: &Head, asked: Target, listener: &mut Listener<'_>) -> Fault {
    let end = Instant::now() + ERROR_BODY_PATIENCE;
    let mut body = Vec::new();
    while body.len() < ERROR_BODY_BYTES_MAX {
        match line.bytes_until(end, listener) {
            Ok(Some(bytes)) => body.extend_from_slice(&bytes),
            Err(Fault::Cut) => return Fault::Cut,
            Ok(None)
            | Err(Fault::Unreachable(_) | Fault::Broken(_) | Fault::Said(_) | Fault::Silent(_) | Fault::Deadline) => {
                break;
            }
        }
    }
    no_stream(head, asked, &String::from_utf8_lossy(&body))
}

/// What a body says that is no event stream.
fn no_stream(head: &Head, asked: Target, raw: &str) -> Fault {
    // Ollama's own API writes one object on each line; an error is the only one.
    let whole = json(raw);
    let parsed = if whole.is_null() { json(raw.trim_start().lines().next().unwrap_or_default()) } else { whole };
    // Gemini sends the error of a stream as a list of one.
    let parsed = parsed.get(0).cloned().unwrap_or(parsed);
    let is_error = parsed.get("error").is_some_and(|error| !error.is_null());
    if head.status == 200 && !is_error {
        return Fault::Broken(match is_page(raw) {
            true => format!("this address answers with a web page, not with the API: `{}`", asked.url),
            false => format!("it is not an event stream: `{}`", excerpt(raw)),
        });
    }
    let mut refusal = Refusal::read(head.status, &parsed, raw);
    if (300..400).contains(&head.status) {
        let to = head.header("location").unwrap_or("nowhere");
        refusal.message = format!("it redirects to `{}`, and a key is not sent on", excerpt(to));
    }
    refusal.retry_after = retry::wait(&head.headers, &parsed, SystemTime::now());
    refusal.asked = Some(asked);
    Fault::Said(refusal)
}

/// Whether a text is a web page.
fn is_page(text: &str) -> bool {
    let begin: String = text.trim_start().chars().take(9).collect::<String>().to_ascii_lowercase();
    ["<!doctype", "<html", "<head", "<body"].iter().any(|mark| begin.starts_with(mark))
}

/// The tokens of an answer whose provider gave no figures.
fn estimate(question: &Question<'_>, text: &str, calls: &[Call]) -> Usage {
    let size = |call: &Call| call.tool.len() + call.arguments.len();
    let turn = |turn: &Turn| match turn {
        Turn::User(text) => text.len(),
        Turn::Model { text, calls } => text.len() + calls.iter().map(size).sum::<usize>(),
        Turn::Results(results) => results.iter().map(|result| result.text.len()).sum(),
    };
    let tools = question.tools.iter().map(|tool| tool.description.len() + tool.schema.to_string().len()).sum::<usize>();
    let input = question.system.len() + tools + question.turns.iter().map(turn).sum::<usize>();
    let output = text.len() + calls.iter().map(size).sum::<usize>();
    Usage { fresh_input: Tokens::estimate(input), output: Tokens::estimate(output), ..Usage::default() }
}
