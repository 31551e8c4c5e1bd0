//! What requests and paths say, as types: each API's file fills them.

use super::splice::Edit;
use std::borrow::Cow;
use std::ops::Range;
use tripwire_core::explain::Explain;
use tripwire_core::family::Family;
use tripwire_core::prices::{AudioUse, CacheUse};
use tripwire_core::units::Tokens;

/// The APIs that are priced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Chat Completions.
    OpenAiChat,
    /// OpenAI's Responses.
    OpenAiResponses,
    /// Gemini's `generateContent` and `streamGenerateContent`.
    Gemini,
}

impl Api {
    /// Whose it is.
    #[must_use]
    pub const fn family(self) -> Family {
        match self {
            Self::Anthropic => Family::Anthropic,
            Self::OpenAiChat | Self::OpenAiResponses => Family::OpenAi,
            Self::Gemini => Family::Gemini,
        }
    }
}

/// How a reply is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// In one piece.
    Whole,
    /// Event by event.
    Stream,
}

impl Delivery {
    /// By the field that most APIs have for it.
    pub(super) fn of(stream: Option<bool>) -> Self {
        if stream == Some(true) { Self::Stream } else { Self::Whole }
    }
}

/// What a path is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathKind {
    /// A model call. Gemini names model and stream in the path.
    Priced {
        /// Which API.
        api: Api,
        /// The model, where the path names it.
        model: Option<String>,
        /// Whether the path asks for a stream.
        delivery: Delivery,
    },
    /// Known to cost nothing: lists of models, counts of tokens.
    Free,
    /// It may cost something that we cannot tell.
    Unpriced,
}

/// What a request says that matters for its price.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestFacts {
    /// Which API.
    pub api: Api,
    /// The model.
    pub model: String,
    /// Whether the reply is to be streamed.
    pub delivery: Delivery,
    /// The output limit that the request sets.
    pub limit: Option<Tokens>,
    /// The smallest output limit that the provider would accept for it.
    pub limit_min: Tokens,
    /// How many replies are asked for at once.
    pub replies: u64,
    /// The most that it can put in.
    pub input: InputBound,
    /// Whether it writes to the provider's cache.
    pub cache: CacheUse,
    /// Whether it may put in audio.
    pub audio: AudioUse,
    /// How often the model may be asked for one reply: once more to shorten the conversation.
    pub samplings: u64,
    /// Calls of the provider's own tools that it allows at most; they are charged one by one.
    pub server_calls: u64,
    /// Those of them that it makes in any case, whether or not the reply tells of them.
    pub server_calls_min: u64,
    /// How many times the list price it costs, in thousandths.
    pub price_per_mille: u64,
    /// Whether the reply will carry figures without our help.
    pub usage: UsageTelling,
    /// Whether the reply may ask for tools: they are offered here, or by something that this goes on with.
    pub may_call_tools: bool,
    pub(super) place: LimitPlace,
}

/// The most that a request can put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum InputBound {
    /// At most as many tokens as it has bytes.
    Bytes(u64),
    /// As much as the model holds.
    Window,
}

/// When a reply carries its figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageTelling {
    /// It always does, or was asked to.
    Always,
    /// Only when it is asked to, and it was not.
    OnDemand,
}

/// Where the output limit stands in the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LimitPlace {
    /// There: these bytes are the figure.
    At(Range<usize>),
    /// Missing: put this text before the figure and that one behind it, at the place.
    Insert { at: usize, before: String, after: &'static str },
}

/// Why a request cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// It is no JSON object.
    #[error("the request's body is not a JSON object: {0}")]
    NotAnObject(String),
    /// It names no model.
    #[error("the request names no model")]
    NoModel,
    /// A field stands there twice: two readers could take different ones.
    #[error("the request has the field `{0}` more than once")]
    Twice(String),
    /// A field has a value that it cannot have.
    #[error("the request's field `{0}` is not what the API defines")]
    Field(&'static str),
    /// Its reply comes later, by another request, and could not be counted.
    #[error("a reply in the background cannot be counted")]
    Background,
}

impl Explain for WireError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::NotAnObject(_) | Self::NoModel | Self::Twice(_) | Self::Field(_) => {
                "send a request as the provider documents it".into()
            }
            Self::Background => "leave `background` out".into(),
        }
    }
}

impl RequestFacts {
    /// The edit that sets the output limit; every other byte stays.
    #[must_use]
    pub fn set_limit(&self, tokens: Tokens) -> Edit {
        match &self.place {
            LimitPlace::At(range) => Edit { range: range.clone(), text: tokens.to_string() },
            LimitPlace::Insert { at, before, after } => {
                Edit { range: *at..*at, text: format!("{before}{tokens}{after}") }
            }
        }
    }
}
