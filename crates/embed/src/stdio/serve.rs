//! The loop: a line in, an answer out, until the pipe ends or the program says that it is done.

use super::message::{ErrorCode, PROTOCOL_VERSION, RpcFailure, RpcRequest, RpcResponse};
use super::methods::{self, InitializeParams, Method};
use crate::error::EmbedError;
use crate::options::SessionOptions;
use crate::session::GuardedSession;
use crate::types::NoResult;
use serde_json::value::RawValue;
use std::io::{self, BufRead, Write};
use tripwire_session::formats::lines::{LineError, Lines};

/// How a conversation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The program closed the session, or never began one.
    Closed,
    /// The pipe ended between two messages.
    PipeEnded,
    /// The pipe ended in the middle of a message.
    TornMessage,
    /// Nobody reads the answers any more.
    ReaderGone,
}

/// What a conversation left behind.
#[derive(Debug)]
pub struct Served {
    /// How it ended.
    pub ending: Ending,
    /// The session, if one began.
    pub session: Option<GuardedSession>,
    /// Calls that were open when the pipe ended; each was recorded as one without a result.
    pub open_calls: usize,
}

/// Answers requests until the pipe ends. `begin` makes the session of the first one.
///
/// # Errors
/// When calls that were open at the end cannot be recorded.
pub fn serve(
    input: impl BufRead,
    mut output: impl Write,
    defaults: &SessionOptions,
    begin: impl Fn(&SessionOptions) -> Result<GuardedSession, EmbedError>,
) -> Result<Served, EmbedError> {
    let mut conversation = Conversation { defaults, begin, session: None };
    let mut lines = Lines::new(input);
    let mut line = Vec::new();
    let mut torn = false;
    let ending = loop {
        let answered = match lines.next_into(&mut line) {
            Ok(true) if line.iter().all(u8::is_ascii_whitespace) => continue,
            Ok(true) => {
                let answered = conversation.answer(&line);
                torn = answered.torn;
                answered.text
            }
            Ok(false) if torn => break Ending::TornMessage,
            Ok(false) => break Ending::PipeEnded,
            Err(LineError::TooLong { .. }) => {
                let failure = RpcFailure::new(ErrorCode::TooLong, ErrorCode::TooLong.meaning(), "send less at once");
                response(None, Err(failure))
            }
            Err(LineError::Io { .. }) => break Ending::PipeEnded,
        };
        if !answered.is_empty() && write(&mut output, &answered).is_err() {
            break Ending::ReaderGone;
        }
        if conversation.session.as_ref().is_some_and(GuardedSession::is_closed) {
            break Ending::Closed;
        }
    };
    let mut session = conversation.session;
    let open_calls = session.as_ref().map_or(0, GuardedSession::open_calls);
    if let Some(session) = &mut session {
        session.close(NoResult::ProgramGone)?;
    }
    Ok(Served { ending, session, open_calls })
}

struct Conversation<'a, B> {
    defaults: &'a SessionOptions,
    begin: B,
    session: Option<GuardedSession>,
}

/// An answer, and whether its request looked cut off.
struct Answered {
    text: String,
    torn: bool,
}

impl<B: Fn(&SessionOptions) -> Result<GuardedSession, EmbedError>> Conversation<'_, B> {
    /// Answers one line; nothing where nobody waits for an answer.
    fn answer(&mut self, line: &[u8]) -> Answered {
        let request: RpcRequest<'_> = match serde_json::from_slice(line) {
            Ok(request) => request,
            Err(error) => {
                // Numbers, lists and objects of another form are JSON all the same.
                let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok();
                let code = if is_json { ErrorCode::InvalidRequest } else { ErrorCode::Parse };
                let failure = RpcFailure::new(code, error.to_string(), "send one JSON-RPC 2.0 request a line");
                return Answered { text: response(None, Err(failure)), torn: error.is_eof() };
            }
        };
        let id = request.id;
        let result = self.carry_out(&request);
        let text = match (id, result) {
            (None, Ok(_)) => String::new(),
            // Nobody waits for it by its id, and what went wrong must not be lost.
            (id, result) => response(id, result),
        };
        Answered { text, torn: false }
    }

    fn carry_out(&mut self, request: &RpcRequest<'_>) -> Result<Box<RawValue>, RpcFailure> {
        let invalid = |why: &str| {
            RpcFailure::new(ErrorCode::InvalidRequest, why, "send `{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":…}`")
        };
        if request.jsonrpc.as_deref() != Some("2.0") {
            return Err(invalid("`jsonrpc` must be \"2.0\""));
        }
        if request.id.is_some_and(|id| id.get().starts_with(['{', '['])) {
            return Err(invalid("`id` must be a number or a text"));
        }
        let Some(name) = request.method.as_deref() else { return Err(invalid("`method` is missing")) };
        if name == "initialize" {
            return self.initialize(request);
        }
        let Some(method) = Method::named(name) else {
            return Err(RpcFailure::new(
                ErrorCode::UnknownMethod,
                format!("there is no method `{name}`"),
                "the methods: initialize, before, after, usage, child, status, close",
            ));
        };
        if request.id.is_none() && !method.may_be_a_notification() {
            return Err(invalid("this method needs an `id`: somebody has to wait for its answer"));
        }
        match &mut self.session {
            Some(session) => method.call(session, request.params),
            None => Err(RpcFailure::new(
                ErrorCode::NotInitialized,
                "the session has not begun",
                format!("call `initialize` with `{{\"protocol\":{PROTOCOL_VERSION}}}` first"),
            )),
        }
    }

    fn initialize(&mut self, request: &RpcRequest<'_>) -> Result<Box<RawValue>, RpcFailure> {
        if self.session.is_some() {
            let why = "the session has begun already";
            return Err(RpcFailure::new(ErrorCode::WrongState, why, "start another process for another session"));
        }
        if request.id.is_none() {
            let why = "`initialize` needs an `id`";
            return Err(RpcFailure::new(ErrorCode::InvalidRequest, why, "send it with an `id`"));
        }
        if let Some(newer) = newer_version(request.params) {
            return Err(RpcFailure::new(
                ErrorCode::UnsupportedVersion,
                format!("protocol {newer} is not known here"),
                format!("speak protocol {PROTOCOL_VERSION}, or install a newer tripwire"),
            ));
        }
        let params: InitializeParams = methods::read(request.params)?;
        let protocol = params.protocol;
        let mut session = (self.begin)(&params.options(self.defaults)).map_err(methods::failure)?;
        let result = methods::initialized(&mut session, protocol)?;
        self.session = Some(session);
        Ok(result)
    }
}

/// The version that was asked for, if this program does not speak it: a newer one may have parameters of its own.
fn newer_version(params: Option<&RawValue>) -> Option<u64> {
    #[derive(serde::Deserialize)]
    struct AskedVersion {
        protocol: u64,
    }
    let asked: AskedVersion = serde_json::from_str(params?.get()).ok()?;
    (asked.protocol != u64::from(PROTOCOL_VERSION)).then_some(asked.protocol)
}

fn response(id: Option<&RawValue>, result: Result<Box<RawValue>, RpcFailure>) -> String {
    let (result, error) = match result {
        Ok(result) => (Some(result), None),
        Err(error) => (None, Some(error)),
    };
    // INVARIANT: texts, numbers and JSON that was checked can always be written.
    serde_json::to_string(&RpcResponse { jsonrpc: "2.0", id, result, error }).unwrap_or_default()
}

fn write(output: &mut impl Write, text: &str) -> io::Result<()> {
    output.write_all(text.as_bytes())?;
    output.write_all(b"\n")?;
    output.flush()
}
