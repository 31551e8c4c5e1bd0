//! How much a request can put in at most: its bytes, or the model's window where it names more than it carries.
//!
//! A token is at least one byte, so the bytes of a request bound its text. Images, documents, files, earlier conversations and
//! the provider's own tools put in what does not stand there.

use super::facts::{InputBound, RequestFacts};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;
use tripwire_core::prices::CacheUse;

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

/// Calls of the provider's tools that a request without a bound of its own may make.
const SERVER_CALLS_MAX: u64 = 32;

/// Looks through a request and notes what makes it larger than its bytes.
pub(super) fn look(text: &str, facts: &mut RequestFacts) {
    let mut finder = Finder::default();
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = Walk { finder: &mut finder, place: Place::Body }.deserialize(&mut reader);
    // A text that is nested too deeply to be looked through could hold anything.
    if read.is_err() || finder.is_outside || finder.server_tools > 0 {
        facts.input = InputBound::Window;
    }
    if read.is_err() || finder.server_tools > 0 {
        facts.server_calls = match finder.max_uses {
            Some(uses) if finder.bounded_tools >= finder.server_tools => uses,
            Some(_) | None => SERVER_CALLS_MAX,
        }
        .max(facts.server_calls_min);
    }
    facts.cache = facts.cache.max(finder.cache);
}

#[derive(Debug)]
struct Finder {
    is_outside: bool,
    server_tools: u64,
    bounded_tools: u64,
    max_uses: Option<u64>,
    cache: CacheUse,
}

impl Default for Finder {
    fn default() -> Self {
        Self { is_outside: false, server_tools: 0, bounded_tools: 0, max_uses: None, cache: CacheUse::None }
    }
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
            Place::Kind(false) if OUTSIDE_KINDS.contains(&value) => self.finder.is_outside = true,
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
        while let Some(name) = map.next_key::<String>()? {
            let name = name.as_str();
            let in_tools = matches!(place, Place::Tool | Place::Schema | Place::Tools);
            if name == "cache_control" {
                finder.cache = finder.cache.max(CacheUse::Short);
                map.next_value_seed(Walk { finder, place: Place::Cache })?;
                continue;
            }
            let next = match (place, name) {
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
            };
            let is_server = place == Place::Tool && SERVER_FIELDS.contains(&name);
            if is_server || (!in_tools && OUTSIDE_FIELDS.contains(&name)) {
                // A field that is there and null puts nothing in.
                let is_null = map.next_value::<Maybe>()?.is_null;
                finder.is_outside |= !is_null;
                finder.server_tools += u64::from(is_server && !is_null);
                continue;
            }
            map.next_value_seed(Walk { finder, place: next })?;
        }
        Ok(())
    }
}

/// Whether a value is null.
struct Maybe {
    is_null: bool,
}

impl<'de> serde::Deserialize<'de> for Maybe {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::<IgnoredAny>::deserialize(deserializer).map(|value| Self { is_null: value.is_none() })
    }
}
