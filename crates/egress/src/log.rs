//! What is written down about every request: who was asked for, what was decided and why, and what it moved.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;

use serde::Serialize;

use super::address::AddressClass;
use super::connect::HeadError;
use super::hello::HelloError;

/// Where records go. An allowed request is logged twice, before its first byte is forwarded and at its end; a log
/// that cannot take the first record refuses the request.
pub trait RequestLog: Send + Sync {
    /// Takes one record. An error here closes the connection it is about.
    fn record(&self, record: &RequestRecord) -> io::Result<()>;
}

impl<F> RequestLog for F
where
    F: Fn(&RequestRecord) -> io::Result<()> + Send + Sync,
{
    fn record(&self, record: &RequestRecord) -> io::Result<()> {
        self(record)
    }
}

/// One line of the request log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RequestRecord {
    /// Which connection of this proxy, counted from 1.
    pub connection: u64,
    /// Whether the request begins to flow or has ended.
    pub stage: Stage,
    /// The name asked for; what the client sent instead of one, cut short, where it sent no name.
    pub host: Option<String>,
    /// The port asked for, where one was.
    pub port: Option<u16>,
    /// What was decided.
    pub verdict: Verdict,
    /// Why, as a stable word; never empty.
    pub reason: &'static str,
    /// The address that was connected to, or that was refused.
    pub address: Option<SocketAddr>,
    /// Bytes forwarded to the server.
    pub bytes_up: u64,
    /// Bytes forwarded to the client.
    pub bytes_down: u64,
    /// Milliseconds since the connection was accepted.
    pub ms: u64,
}

/// The moment a record describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// All checks passed and nothing has been forwarded yet.
    Open,
    /// Nothing more will be forwarded.
    End,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every check passed.
    Allowed,
    /// No rule spoke against it, but it could not be served.
    Failed,
    /// A rule spoke against it.
    Refused,
}

/// Every way a request can go, each with its verdict, its word in the log and its answer to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The tunnel opened.
    Open,
    /// The tunnel ended.
    Ended(EndReason),
    /// The head is no CONNECT that is served.
    Head(HeadError),
    /// The head did not come in time.
    HeadTimeout,
    /// The client left before its head was there.
    HeadIncomplete,
    /// The name is not on the list.
    HostNotAllowed,
    /// The name is on the list, with other ports.
    PortNotAllowed,
    /// The name resolved to an address that is not public.
    Address(AddressClass),
    /// The name resolved to an address of this machine.
    OwnAddress,
    /// The name did not resolve.
    ResolveFailed,
    /// The name did not resolve in time.
    ResolveTimeout,
    /// Too many questions to the resolver are still open.
    ResolverBusy,
    /// No address of the name took the connection.
    ConnectFailed,
    /// No address of the name took the connection in time.
    ConnectTimeout,
    /// The client's first bytes are no hello that is forwarded.
    Hello(HelloError),
    /// The hello names another host than the CONNECT.
    NameMismatch,
    /// The hello did not come in time.
    HelloTimeout,
    /// The client left before its hello was there.
    HelloIncomplete,
    /// The server did not answer the hello in time.
    ServerTimeout,
    /// The server left before it answered the hello.
    ServerClosed,
    /// The server does not speak TLS.
    ServerNotTls,
    /// The server refused the hello.
    ServerRefused,
    /// The client left while it was being served.
    ClientLeft,
    /// As many connections as allowed are being served.
    TooManyConnections,
    /// As many connections as allowed have been served.
    TotalReached,
    /// The system has no thread left.
    ThreadUnavailable,
    /// The log did not take the record.
    LogFailed,
    /// The proxy was stopped.
    Stopped,
}

/// How a tunnel ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EndReason {
    /// Both sides were done.
    Closed,
    /// A socket failed.
    Broken,
    /// Nothing moved for too long.
    Idle,
    /// The proxy was stopped.
    Stopped,
}

impl Reason {
    /// The word in the log.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Ended(EndReason::Closed) => "closed",
            Self::Ended(EndReason::Broken) => "broken",
            Self::Ended(EndReason::Idle) => "idle",
            Self::Ended(EndReason::Stopped) | Self::Stopped => "stopped",
            Self::Head(error) => error.code(),
            Self::HeadTimeout => "head_timeout",
            Self::HeadIncomplete => "head_incomplete",
            Self::HostNotAllowed => "host_not_allowed",
            Self::PortNotAllowed => "port_not_allowed",
            Self::Address(class) => class.code(),
            Self::OwnAddress => "address_own",
            Self::ResolveFailed => "resolve_failed",
            Self::ResolveTimeout => "resolve_timeout",
            Self::ResolverBusy => "resolver_busy",
            Self::ConnectFailed => "connect_failed",
            Self::ConnectTimeout => "connect_timeout",
            Self::Hello(error) => error.code(),
            Self::NameMismatch => "sni_mismatch",
            Self::HelloTimeout => "hello_timeout",
            Self::HelloIncomplete => "hello_incomplete",
            Self::ServerTimeout => "server_timeout",
            Self::ServerClosed => "server_closed",
            Self::ServerNotTls => "server_not_tls",
            Self::ServerRefused => "server_refused",
            Self::ClientLeft => "client_left",
            Self::TooManyConnections => "too_many_connections",
            Self::TotalReached => "total_reached",
            Self::ThreadUnavailable => "thread_unavailable",
            Self::LogFailed => "log_failed",
        }
    }

    /// Whether a rule spoke, chance did, or all was well.
    #[must_use]
    pub const fn verdict(self) -> Verdict {
        match self {
            Self::Open | Self::Ended(_) => Verdict::Allowed,
            Self::Head(_)
            | Self::HeadTimeout
            | Self::HostNotAllowed
            | Self::PortNotAllowed
            | Self::Address(_)
            | Self::OwnAddress
            | Self::Hello(_)
            | Self::NameMismatch
            | Self::HelloTimeout
            | Self::TooManyConnections
            | Self::TotalReached
            | Self::LogFailed => Verdict::Refused,
            Self::HeadIncomplete
            | Self::ResolveFailed
            | Self::ResolveTimeout
            | Self::ResolverBusy
            | Self::ConnectFailed
            | Self::ConnectTimeout
            | Self::HelloIncomplete
            | Self::ServerTimeout
            | Self::ServerClosed
            | Self::ServerNotTls
            | Self::ServerRefused
            | Self::ClientLeft
            | Self::ThreadUnavailable
            | Self::Stopped => Verdict::Failed,
        }
    }
}

impl HeadError {
    /// The word in the log.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::TooLarge => "head_too_large",
            Self::TooManyHeaders => "head_too_many_headers",
            Self::BareLineFeed => "head_bare_line_feed",
            Self::BareCarriageReturn => "head_bare_carriage_return",
            Self::ControlByte => "head_control_byte",
            Self::RequestLine => "head_request_line",
            Self::Version => "head_version",
            Self::Method => "method_not_allowed",
            Self::FoldedHeader => "head_folded_header",
            Self::HeaderLine => "head_header_line",
            Self::UserInfo => "target_user_info",
            Self::AddressLiteral => "target_address_literal",
            Self::HostName => "target_host_name",
            Self::Port => "target_port",
            Self::HostMissing => "host_header_missing",
            Self::HostRepeated => "host_header_repeated",
            Self::HostMismatch => "host_header_mismatch",
            Self::Body => "head_body",
            Self::EarlyBytes => "head_early_bytes",
        }
    }
}

impl HelloError {
    /// The word in the log.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::NotTls => "hello_not_tls",
            Self::TooLarge => "hello_too_large",
            Self::Malformed => "hello_malformed",
            Self::NoName => "sni_missing",
            Self::SeveralNames => "sni_several",
            Self::BadName => "sni_bad_name",
            Self::EncryptedHello => "hello_encrypted",
        }
    }
}

/// The log of a whole proxy in numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Connections that came.
    pub connections: u64,
    /// Requests whose tunnel opened.
    pub allowed: u64,
    /// Requests that a rule refused.
    pub refused: u64,
    /// Requests that could not be served.
    pub failed: u64,
    /// Bytes forwarded to servers.
    pub bytes_up: u64,
    /// Bytes forwarded to clients.
    pub bytes_down: u64,
    /// Records that the log did not take.
    pub log_failures: u64,
    /// How often each reason ended a request.
    pub reasons: BTreeMap<&'static str, u64>,
}

impl Summary {
    /// Counts the record that ends a request.
    pub(super) fn count(&mut self, record: &RequestRecord) {
        self.connections += 1;
        match record.verdict {
            Verdict::Allowed => self.allowed += 1,
            Verdict::Failed => self.failed += 1,
            Verdict::Refused => self.refused += 1,
        }
        self.bytes_up = self.bytes_up.saturating_add(record.bytes_up);
        self.bytes_down = self.bytes_down.saturating_add(record.bytes_down);
        *self.reasons.entry(record.reason).or_default() += 1;
    }
}
