//! How much a request can put in at most: its bytes, or the model's window where it names more than it carries.
//!
//! A token is at least one byte, so the bytes of a request bound its text. Images, documents, files, earlier conversations and
//! the provider's own tools put in what does not stand there.

use super::facts::{InputBound, RequestFacts};
use super::json::{Json, Name};
use serde::Deserialize as _;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;
use tripwire_core::prices::{AudioUse, CacheUse};

/// Fields that put in something that does not stand in the request, or that is charged by other measures than its text.
const OUTSIDE_FIELDS: [&str; 22] = [
    "previous_response_id",
    "conversation",
    "file_id",
    "file_url",
    "file_data",
    "fileData",
    "inlineData",
    "inline_data",
    "image_url",
    "input_audio",
    "cachedContent",
    "cached_content",
    "container",
    "mcp_servers",
    "googleSearch",
    "google_search",
    "googleSearchRetrieval",
    "urlContext",
    "url_context",
    "codeExecution",
    "code_execution",
    "googleMaps",
];

/// Beginnings of the media types of files without sound.
const SILENT_MEDIA: [&str; 3] = ["image/", "text/", "application/pdf"];

/// Kinds of parts, under `type`, that do the same.
const OUTSIDE_KINDS: [&str; 9] = [
    "image",
    "document",
    "file",
    "audio",
    "input_image",
    "input_file",
    "input_audio",
    "container_upload",
    "computer_screenshot",
];

/// Beginnings of kinds of tools that run at the provider.
const SERVER_TOOLS: [&str; 9] = [
    "web_search",
    "web_fetch",
    "code_execution",
    "code_interpreter",
    "file_search",
    "image_generation",
    "mcp",
    "tool_search",
    "advisor",
];

/// Beginnings of names that `OUTSIDE_FIELDS` shares with parameters of ordinary tools; below `tools` only these count.
const SERVER_FIELDS: [&str; 9] = [
    "googleSearch",
    "google_search",
    "googleSearchRetrieval",
    "urlContext",
    "url_context",
    "codeExecution",
    "code_execution",
    "googleMaps",
    "mcp_servers",
];

/// Fields whose value, where it is an object, is the arguments of an earlier call or a schema: it stands in the request as a whole,
/// and its names are the tool's.
const ARGUMENTS: [&str; 9] = [
    "input",
    "functionCall",
    "function_call",
    "schema",
    "parameters",
    "responseSchema",
    "response_schema",
    "responseJsonSchema",
    "response_json_schema",
];

/// How the types of edits begin that have the model summarise the conversation before it answers.
const SUMMING_UP: &str = "compact_";

/// Calls of the provider's tools that a request without a bound of its own may make.
const SERVER_CALLS_MAX: u64 = 32;

/// What makes a request larger than its bytes.
#[derive(Debug)]
pub(super) struct Finder {
    bounds: Bounds,
    server_tools: u64,
    bounded_tools: u64,
    max_uses: Option<u64>,
    cache: CacheUse,
    audio: AudioUse,
    samplings: u64,
}

impl Default for Finder {
    fn default() -> Self {
        Self {
            bounds: Bounds::Bytes,
            server_tools: 0,
            bounded_tools: 0,
            max_uses: None,
            cache: CacheUse::None,
            audio: AudioUse::None,
            samplings: 1,
        }
    }
}

/// What bounds the input of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Bounds {
    /// Its bytes.
    Bytes,
    /// Nothing that stands in it: it names more than it carries.
    Outside,
    /// Nothing that was seen: a part is nested too deeply to be looked through, and could hold anything.
    Unseen,
}

impl Finder {
    /// Looks through a whole request.
    pub(super) fn look(text: &str) -> Self {
        let mut finder = Self::default();
        let mut reader = serde_json::Deserializer::from_str(text);
        let read = Walk { finder: &mut finder, place: Place::Body }.deserialize(&mut reader);
        finder.hear(&read);
        finder
    }

    /// Looks through the value of a request's member.
    pub(super) fn look_at(&mut self, name: &str, value: &RawValue) {
        let mut reader = serde_json::Deserializer::from_str(value.get());
        let read = match self.way(Place::Body, name) {
            Way::Into(place) => Walk { finder: self, place }.deserialize(&mut reader),
            Way::Outside(field) => OutsideValue::deserialize(&mut reader).map(|value| self.count(value, field)),
        };
        self.hear(&read);
    }

    /// The same for a value that was not read yet.
    ///
    /// # Errors
    /// When it cannot be looked through.
    pub(super) fn look_at_next<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        self.look_on(Place::Body, name, map)
    }

    /// Notes in the facts of the request what was found.
    pub(super) fn note(&self, facts: &mut RequestFacts) {
        if self.bounds > Bounds::Bytes || self.server_tools > 0 {
            facts.input = InputBound::Window;
        }
        if self.bounds == Bounds::Unseen || self.server_tools > 0 {
            facts.server_calls = match self.max_uses {
                Some(uses) if self.bounded_tools >= self.server_tools => uses,
                Some(_) | None => SERVER_CALLS_MAX,
            }
            .max(facts.server_calls_min);
        }
        facts.cache = facts.cache.max(self.cache);
        facts.samplings = self.samplings;
        facts.audio = if self.bounds == Bounds::Unseen { AudioUse::Possible } else { self.audio };
    }

    fn look_on<'de, A: MapAccess<'de>>(&mut self, place: Place, name: &str, map: &mut A) -> Result<(), A::Error> {
        match self.way(place, name) {
            Way::Into(place) => map.next_value_seed(Walk { finder: self, place }),
            Way::Outside(field) => map.next_value::<OutsideValue>().map(|value| self.count(value, field)),
        }
    }

    /// What to do with the value of a field.
    fn way(&mut self, place: Place, name: &str) -> Way {
        if name == "cache_control" {
            self.cache = self.cache.max(CacheUse::Short);
            return Way::Into(Place::Cache);
        }
        let in_tools = matches!(place, Place::Tool | Place::Schema | Place::Tools);
        if place == Place::Tool && SERVER_FIELDS.contains(&name) {
            return Way::Outside(OutsideField::ServerTool);
        }
        if !in_tools && OUTSIDE_FIELDS.contains(&name) {
            let is_picture = name == "image_url";
            return Way::Outside(if is_picture { OutsideField::Picture } else { OutsideField::Content });
        }
        Way::Into(match (place, name) {
            (Place::Body, "tools") => Place::Tools,
            (Place::Body, name) if ARGUMENTS.contains(&name) => Place::Arguments,
            (Place::Body, "functionResponse" | "function_response") => Place::Result,
            (Place::Result, "response") => Place::Arguments,
            (Place::Result, _) => Place::Body,
            (Place::Body, "type") => Place::Kind(false),
            (Place::Tool, "type") => Place::Kind(true),
            (Place::Tool, "max_uses") => Place::MaxUses,
            (Place::Tool, _) => Place::Schema,
            (Place::Cache, "ttl") => Place::Ttl,
            (other, _) => other,
        })
    }

    /// Counts a field that puts something in; one that is there and null puts nothing in.
    fn count(&mut self, value: OutsideValue, field: OutsideField) {
        let OutsideValue::There(audio) = value else { return };
        self.bounds = self.bounds.max(Bounds::Outside);
        match field {
            OutsideField::Content => self.audio = self.audio.max(audio),
            OutsideField::Picture => {}
            OutsideField::ServerTool => self.server_tools += 1,
        }
    }

    fn hear(&mut self, read: &serde_json::Result<()>) {
        if read.is_err() {
            self.bounds = Bounds::Unseen;
        }
    }
}

/// What is done with the value of a field.
enum Way {
    /// It is looked through, as what stands at this place.
    Into(Place),
    /// It puts in something that does not stand in the request, unless it is null.
    Outside(OutsideField),
}

/// A field that puts in something from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutsideField {
    /// A file, an earlier conversation.
    Content,
    /// A picture.
    Picture,
    /// A tool of the provider.
    ServerTool,
}

/// Where in a request the walk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Body,
    /// The list of tools, and one of its entries.
    Tools,
    Tool,
    /// Inside an entry: schemas, which may name anything.
    Schema,
    /// What may be the arguments of an earlier call or a schema, which are objects and may name anything; a list of parts is read.
    Arguments,
    /// The result of an earlier call: its `response` may name anything, its parts are read.
    Result,
    Cache,
    Kind(bool),
    Ttl,
    MaxUses,
}

struct Walk<'f> {
    finder: &'f mut Finder,
    place: Place,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _value: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        if self.place == Place::MaxUses {
            self.finder.bounded_tools += 1;
            self.finder.max_uses = Some(self.finder.max_uses.unwrap_or(0).saturating_add(value));
        }
        Ok(())
    }

    fn visit_i64<E>(self, _value: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _value: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        match self.place {
            Place::Kind(true) if SERVER_TOOLS.iter().any(|tool| value.starts_with(tool)) => {
                self.finder.server_tools += 1;
            }
            Place::Kind(false) if OUTSIDE_KINDS.contains(&value) => {
                self.finder.bounds = self.finder.bounds.max(Bounds::Outside);
            }
            Place::Kind(false) if value.starts_with(SUMMING_UP) => self.finder.samplings = 2,
            Place::Ttl if value != "5m" => self.finder.cache = CacheUse::Long,
            Place::Kind(_)
            | Place::Ttl
            | Place::Body
            | Place::Tools
            | Place::Tool
            | Place::Schema
            | Place::Arguments
            | Place::Result
            | Place::Cache
            | Place::MaxUses => {}
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let place = match self.place {
            Place::Tools => Place::Tool,
            Place::Arguments => Place::Body,
            other @ (Place::Body
            | Place::Tool
            | Place::Schema
            | Place::Result
            | Place::Cache
            | Place::Kind(_)
            | Place::Ttl
            | Place::MaxUses) => other,
        };
        while seq.next_element_seed(Walk { finder: self.finder, place })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { finder, place } = self;
        if place == Place::Arguments {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(());
        }
        while let Some(Name(name)) = map.next_key()? {
            finder.look_on(place, &name, &mut map)?;
        }
        Ok(())
    }
}

/// The value of a field that puts something in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutsideValue {
    /// It is null.
    Null,
    /// It is there, and may be audio unless it says what else it is.
    There(AudioUse),
}

impl<'de> serde::Deserialize<'de> for OutsideValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OutsideVisitor)
    }
}

struct OutsideVisitor;

impl OutsideVisitor {
    const UNTYPED: OutsideValue = OutsideValue::There(AudioUse::Possible);
}

impl<'de> Visitor<'de> for OutsideVisitor {
    type Value = OutsideValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<OutsideValue, E> {
        Ok(OutsideValue::Null)
    }

    fn visit_bool<E>(self, _value: bool) -> Result<OutsideValue, E> {
        Ok(Self::UNTYPED)
    }

    fn visit_u64<E>(self, _value: u64) -> Result<OutsideValue, E> {
        Ok(Self::UNTYPED)
    }

    fn visit_i64<E>(self, _value: i64) -> Result<OutsideValue, E> {
        Ok(Self::UNTYPED)
    }

    fn visit_f64<E>(self, _value: f64) -> Result<OutsideValue, E> {
        Ok(Self::UNTYPED)
    }

    fn visit_str<E>(self, _value: &str) -> Result<OutsideValue, E> {
        Ok(Self::UNTYPED)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<OutsideValue, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::UNTYPED)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OutsideValue, A::Error> {
        let mut audio = None;
        while let Some(Name(name)) = map.next_key()? {
            if matches!(name.as_ref(), "mimeType" | "mime_type") {
                let silent = map.next_value::<Json<'de>>()?;
                let silent =
                    silent.as_str().is_some_and(|kind| SILENT_MEDIA.iter().any(|begin| kind.starts_with(begin)));
                let said = if silent { AudioUse::None } else { AudioUse::Possible };
                audio = audio.max(Some(said));
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(OutsideValue::There(audio.unwrap_or(AudioUse::Possible)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::members::Members;
    use crate::wire::{Api, Delivery, read_request};

    /// What is found in one go, and whether it could be read so.
    fn in_one_go(body: &str) -> Option<String> {
        let mut finder = Finder::default();
        Members::read_looking(body.as_bytes(), &mut finder).map(|_| format!("{finder:?}"))
    }

    #[test]
    fn gate_8_a_request_that_is_read_and_looked_through_in_one_go_holds_what_a_look_at_all_of_it_finds() {
        let plain = r#"{"model":"m","messages":[{"role":"user","content":"an \u0069mage"}],"max_tokens":5}"#;
        for body in [
            plain,
            r#"{"messages":[{"content":[{"type":"image","source":{}},{"cache_control":{"ttl":"1h"}}]}]}"#,
            r#"{"input":[{"type":"input_file","file_id":"f"}],"input":{"image_url":"an argument"}}"#,
            r#"{"contents":[{"parts":[{"inlineData":{}},{"functionResponse":{"response":{"file_id":1}}}]}],"tools":[{"googleSearch":{}}]}"#,
            r#"{"tools":[{"type":"web_search_20250305","max_uses":3},{"name":"f","input_schema":{"file_id":{}}}],"messages":[]}"#,
            r#"{"previous_response_id":null,"file_id":"x","cache_control":{},"type":"image","messages":null}"#,
            r#"{"mcp_servers":[],"parameters":{"file_id":1},"messages":"mcp","metadata":{"container":"c"}}"#,
        ] {
            assert_eq!(in_one_go(body), Some(format!("{:?}", Finder::look(body))), "{body}");
        }
        assert_ne!(in_one_go(plain), in_one_go(r#"{"messages":[{"type":"image"}]}"#));
    }

    #[test]
    fn gate_8_a_request_that_has_its_conversation_summed_up_may_ask_the_model_twice() {
        let samplings = |body: &str| {
            let facts = read_request(Api::Anthropic, body.as_bytes(), None, Delivery::Whole).unwrap();
            (facts.samplings, facts.input == InputBound::Bytes(body.len() as u64))
        };
        let edits = |kind: &str| format!(r#"{{"model":"m","context_management":{{"edits":[{{"type":"{kind}"}}]}}}}"#);
        assert_eq!(samplings(&edits("compact_20260112")), (2, true));
        for once in [
            edits("clear_tool_uses_20250919"),
            r#"{"model":"m","messages":[{"content":[{"type":"compaction","content":"a summary"}]}]}"#.to_owned(),
            r#"{"model":"m","messages":[{"content":[{"type":"text","text":"compact_20260112"}]}]}"#.to_owned(),
            r#"{"model":"m","tools":[{"type":"compact_it","name":"f"}]}"#.to_owned(),
        ] {
            assert_eq!(samplings(&once), (1, true), "{once}");
        }
    }

    /// Whether a request may put in audio.
    fn audio(body: &str) -> AudioUse {
        read_request(Api::Gemini, body.as_bytes(), Some("gemini-2.5-flash"), Delivery::Whole).unwrap().audio
    }

    #[test]
    fn gate_8_what_may_hold_audio_is_taken_for_audio() {
        for part in [
            r#"{"inlineData":{"mimeType":"audio/wav","data":"AAAA"}}"#,
            r#"{"inline_data":{"mime_type":"video/mp4","data":"AAAA"}}"#,
            r#"{"fileData":{"fileUri":"https://example.org/f"}}"#,
            r#"{"inlineData":{"mimeType":"image/png","mime_type":"audio/wav"}}"#,
            r#"{"inlineData":{"mimeType":["image/png"]}}"#,
            r#"{"inlineData":{"mimeType":"image/png"}},{"inlineData":{"mimeType":"audio/wav"}}"#,
            r#"{"functionResponse":{"parts":[{"inlineData":{"mimeType":"audio/wav"}}]}}"#,
        ] {
            assert_eq!(audio(&format!(r#"{{"contents":[{{"parts":[{part}]}}]}}"#)), AudioUse::Possible, "{part}");
        }
        assert_eq!(audio(r#"{"contents":[],"cachedContent":"cachedContents/c"}"#), AudioUse::Possible);
        assert_eq!(audio(&format!(r#"{{"metadata":{}{}}}"#, "[".repeat(300), "]".repeat(300))), AudioUse::Possible);
    }

    #[test]
    fn gate_8_text_pictures_and_tools_are_not_taken_for_audio() {
        for part in [
            r#"{"text":"audio/wav"}"#,
            r#"{"inlineData":{"mimeType":"image/png","data":"AAAA"}}"#,
            r#"{"fileData":{"mimeType":"application/pdf","fileUri":"https://example.org/f"}}"#,
            r#"{"inlineData":null}"#,
            r#"{"image_url":{"url":"https://example.org/a.png"}}"#,
            r#"{"functionCall":{"args":{"inlineData":{"mimeType":"audio/wav"}}}}"#,
        ] {
            assert_eq!(audio(&format!(r#"{{"contents":[{{"parts":[{part}]}}]}}"#)), AudioUse::None, "{part}");
        }
        assert_eq!(audio(r#"{"contents":[],"tools":[{"googleSearch":{}},{"urlContext":{}}]}"#), AudioUse::None);
    }

    #[test]
    fn gate_8_what_cannot_be_looked_through_is_not_taken_for_harmless() {
        let deep = |name: &str| format!(r#"{{"{name}":{}{}}}"#, "[".repeat(300), "]".repeat(300));
        assert_eq!(in_one_go(&deep("messages")), None, "to be read in two goes");
        assert_eq!(Finder::look(&deep("messages")).bounds, Bounds::Unseen);
        assert!(in_one_go(&deep("metadata")).is_some_and(|found| found.contains("Unseen")));
        assert_eq!(Finder::look(&deep("metadata")).bounds, Bounds::Unseen);
        for broken in ["[]", r#"{"messages":[}"#, r#"{"messages":[]} x"#, r#"{"messages":[]"#] {
            assert_eq!(in_one_go(broken), None, "{broken}");
            assert!(Members::read(broken.as_bytes()).is_err(), "{broken}");
        }
    }
}
