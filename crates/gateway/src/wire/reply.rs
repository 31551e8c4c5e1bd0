//! What a reply used, read from a copy of its bytes while the bytes themselves go to the client.

use super::decode::{Decoder, Encoding};
use super::facts::Api;
use super::json::Json;
use super::reply_facts::ReplyFacts;
use super::{anthropic, gemini, openai_chat, openai_responses};
use tripwire_observe::sse::EventReader;

/// The longest reply in one piece of JSON that is read; a longer one is settled at what was reserved.
const JSON_BYTES_MAX: usize = 16 << 20;
/// The most bytes that a compressed reply may have when it is unpacked.
pub const DECODED_BYTES_MAX: u64 = 256 << 20;

const EVENT_STREAM: &str = "text/event-stream";

/// Reads one reply.
#[derive(Debug)]
pub struct ReplyReader {
    api: Api,
    decoder: Decoder,
    form: Form,
    facts: ReplyFacts,
    /// Why the copy could not be read to its end.
    is_unreadable: bool,
}

#[derive(Debug)]
enum Form {
    Json(Vec<u8>),
    Events(Box<EventReader>),
}

impl ReplyReader {
    /// A reader for a reply with this type and encoding of its content.
    #[must_use]
    pub fn new(api: Api, content_type: &str, encoding: Encoding) -> Self {
        let is_stream = content_type
            .trim_start()
            .get(..EVENT_STREAM.len())
            .is_some_and(|begin| begin.eq_ignore_ascii_case(EVENT_STREAM));
        // A reply in one piece is read when all of it is there: there is nothing left to cut.
        let (form, facts) = if is_stream {
            (Form::Events(Box::new(EventReader::lenient())), ReplyFacts::watched())
        } else {
            (Form::Json(Vec::new()), ReplyFacts::default())
        };
        Self {
            api,
            decoder: Decoder::new(encoding, DECODED_BYTES_MAX),
            form,
            facts,
            is_unreadable: encoding == Encoding::Unknown,
        }
    }

    /// Whether it is an event stream.
    #[must_use]
    pub const fn is_stream(&self) -> bool {
        matches!(self.form, Form::Events(_))
    }

    /// Collects the calls of tools as well.
    pub fn collect_calls(&mut self) {
        self.facts.calls = Some(Box::default());
    }

    /// Takes the next bytes as they came.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.is_unreadable {
            return;
        }
        let Self { api, decoder, form, facts, .. } = self;
        let read = decoder.feed(bytes, &mut |plain| read_plain(*api, form, facts, plain));
        self.is_unreadable = read.is_err();
    }

    /// Nothing more comes.
    pub fn end(&mut self) {
        if let Form::Json(body) = &self.form {
            read_json(self.api, body, &mut self.facts);
        }
    }

    /// Whether the reply can be read where it stands once all of it is there: one piece of JSON that is not packed.
    #[must_use]
    pub const fn is_plain_json(&self) -> bool {
        matches!(self.form, Form::Json(_)) && self.decoder.is_identity()
    }

    /// Takes all the bytes of a reply of which none was fed; nothing more comes.
    pub fn take_whole(&mut self, bytes: &[u8]) {
        if !self.is_plain_json() || bytes.len() > JSON_BYTES_MAX {
            self.feed(bytes);
            return self.end();
        }
        read_json(self.api, bytes, &mut self.facts);
    }

    /// What is known so far.
    #[must_use]
    pub const fn facts(&self) -> &ReplyFacts {
        &self.facts
    }

    /// Whether the copy could not be read: an unknown encoding, a broken one, or more than is ever unpacked.
    #[must_use]
    pub const fn is_unreadable(&self) -> bool {
        self.is_unreadable
    }
}

/// Reads a reply in one piece of JSON.
fn read_json(api: Api, body: &[u8], facts: &mut ReplyFacts) {
    let Some(value) = std::str::from_utf8(body).ok().and_then(Json::read) else {
        // What came of it was paid for, as far as anyone can tell from its size.
        facts.said_bytes = facts.said_bytes.max(body.len() as u64);
        facts.miss_calls(&String::from_utf8_lossy(body));
        return;
    };
    facts.hear_calls(api, &value);
    match api {
        Api::Anthropic => anthropic::whole(&value, facts),
        Api::OpenAiChat => openai_chat::whole(&value, facts),
        Api::OpenAiResponses => openai_responses::whole(&value, facts),
        Api::Gemini => gemini::event(&value, facts),
    }
}

/// Reads bytes that are unpacked; an error means that no more is read.
fn read_plain(api: Api, form: &mut Form, facts: &mut ReplyFacts, plain: &[u8]) -> Result<(), ()> {
    match form {
        Form::Json(body) if body.len() + plain.len() > JSON_BYTES_MAX => Err(()),
        Form::Json(body) => {
            body.extend_from_slice(plain);
            Ok(())
        }
        Form::Events(reader) => {
            for event in reader.feed(plain).map_err(|_| ())? {
                if event.data == "[DONE]" {
                    facts.is_complete = true;
                    continue;
                }
                let Some(value) = Json::read(&event.data) else {
                    facts.said_bytes += event.data.len() as u64;
                    facts.miss_calls(&event.data);
                    continue;
                };
                facts.hear_calls(api, &value);
                match api {
                    Api::Anthropic => anthropic::event(&value, facts),
                    Api::OpenAiChat => openai_chat::event(&value, facts),
                    Api::OpenAiResponses => openai_responses::event(&value, facts),
                    Api::Gemini => gemini::event(&value, facts),
                }
            }
            Ok(())
        }
    }
}
