//! The request head: one strict HTTP `CONNECT`, or a refusal that names what is wrong with it.
//!
//! Strict, because a proxy and a server that read the same bytes differently is how requests are smuggled: one line
//! ending, one space, one `Host`, one spelling of the target, and no byte behind the head.
//!
//! INVARIANT: the answer for a stream does not depend on how it was cut into reads. Once [`read_head`] has answered
//! for some bytes, it gives the same answer for those bytes with any others behind them.

use super::limits::{HEAD_BYTES_MAX, HEADERS_MAX};
use super::name::{HostName, NameError, Port};

/// Reads a head from the bytes received so far.
#[must_use]
pub fn read_head(received: &[u8]) -> HeadProgress {
    match find_end(received) {
        Scan::Incomplete => HeadProgress::Incomplete,
        Scan::Refused(error) => HeadProgress::Refused(HeadRefusal { error, target: None }),
        Scan::End(used) => match parse(received.get(..used).unwrap_or_default()) {
            Ok(request) => HeadProgress::Complete { request, used },
            Err(refusal) => HeadProgress::Refused(refusal),
        },
    }
}

/// How far a head has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeadProgress {
    /// More bytes are needed.
    Incomplete,
    /// A whole head, and how many bytes it took.
    Complete {
        /// What is asked for.
        request: ConnectRequest,
        /// Bytes of the head; what was received beyond them came too early.
        used: usize,
    },
    /// No head that is served.
    Refused(HeadRefusal),
}

/// A well-formed request for a tunnel; whether it is allowed is for the policy to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectRequest {
    /// The name to connect to.
    pub host: HostName,
    /// The port to connect to.
    pub port: Port,
    /// The version to answer in.
    pub version: HttpVersion,
}

/// The versions that have a CONNECT of this form; Python's `urllib` sends the older one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpVersion {
    /// `HTTP/1.0`, without a required `Host`.
    Http10,
    /// `HTTP/1.1`.
    Http11,
}

impl HttpVersion {
    /// The version as a status line writes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http10 => "HTTP/1.0",
            Self::Http11 => "HTTP/1.1",
        }
    }
}

/// A refused head, with the target it named where the head could be read that far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadRefusal {
    /// What is wrong.
    pub error: HeadError,
    /// The target as it was sent: printable ASCII, for the log only.
    pub target: Option<String>,
}

/// What is wrong with a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HeadError {
    /// Longer than any honest head.
    TooLarge,
    /// More header lines than any honest head.
    TooManyHeaders,
    /// A line feed without its carriage return.
    BareLineFeed,
    /// A carriage return without its line feed.
    BareCarriageReturn,
    /// A control byte (a NUL or a tab among them) or a byte outside ASCII.
    ControlByte,
    /// Not `METHOD TARGET VERSION` with single spaces.
    RequestLine,
    /// Not HTTP/1.0 or HTTP/1.1.
    Version,
    /// A method other than CONNECT: plain HTTP is not forwarded.
    Method,
    /// A header line that continues the one before it.
    FoldedHeader,
    /// A header line without a name of token characters right before its colon.
    HeaderLine,
    /// A name and password before the host.
    UserInfo,
    /// An address where a name must stand.
    AddressLiteral,
    /// Not a host name.
    HostName,
    /// No port, or not in its one spelling.
    Port,
    /// HTTP/1.1 without a `Host`.
    HostMissing,
    /// More than one `Host`.
    HostRepeated,
    /// A `Host` that names something else than the target.
    HostMismatch,
    /// A body announced, which a CONNECT does not have.
    Body,
    /// Bytes behind the head, before the tunnel was open.
    EarlyBytes,
}

enum Scan {
    Incomplete,
    Refused(HeadError),
    End(usize),
}

/// Finds the empty line, or the first byte that no head may hold.
fn find_end(received: &[u8]) -> Scan {
    let mut line_start = 0;
    for (at, byte) in received.iter().enumerate() {
        if at >= HEAD_BYTES_MAX {
            return Scan::Refused(HeadError::TooLarge);
        }
        let after_return = at > line_start && received.get(at - 1) == Some(&b'\r');
        match (*byte, after_return) {
            (b'\n', true) if at == line_start + 1 => return Scan::End(at + 1),
            (b'\n', true) => line_start = at + 1,
            (b'\n', false) => return Scan::Refused(HeadError::BareLineFeed),
            (_, true) => return Scan::Refused(HeadError::BareCarriageReturn),
            (b'\r' | b' '..=b'~', false) => {}
            (_, false) => return Scan::Refused(HeadError::ControlByte),
        }
    }
    Scan::Incomplete
}

fn parse(head: &[u8]) -> Result<ConnectRequest, HeadRefusal> {
    let untargeted = |error| HeadRefusal { error, target: None };
    let text = str::from_utf8(head).map_err(|_| untargeted(HeadError::ControlByte))?;
    let mut lines = text.split("\r\n");
    let line = RequestLine::parse(lines.next().unwrap_or_default()).map_err(untargeted)?;
    let refused = |error| HeadRefusal { error, target: Some(line.target.chars().take(TARGET_LOGGED_MAX).collect()) };
    let version = line.version().map_err(refused)?;
    if line.method != "CONNECT" {
        return Err(refused(HeadError::Method));
    }
    let (host, port) = parse_authority(line.target).map_err(refused)?;
    let named = read_headers(lines).map_err(refused)?;
    match (named, version) {
        (None, HttpVersion::Http10) => {}
        (None, HttpVersion::Http11) => return Err(refused(HeadError::HostMissing)),
        (Some(value), HttpVersion::Http10 | HttpVersion::Http11) => {
            if !names_target(value, &host, port) {
                return Err(refused(HeadError::HostMismatch));
            }
        }
    }
    Ok(ConnectRequest { host, port, version })
}

const TARGET_LOGGED_MAX: usize = 300;

struct RequestLine<'a> {
    method: &'a str,
    target: &'a str,
    version: &'a str,
}

impl<'a> RequestLine<'a> {
    fn parse(line: &'a str) -> Result<Self, HeadError> {
        let mut words = line.split(' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some(method), Some(target), Some(version), None)
                if !target.is_empty() && is_token(method) && version.starts_with("HTTP/") =>
            {
                Ok(Self { method, target, version })
            }
            _ => Err(HeadError::RequestLine),
        }
    }

    fn version(&self) -> Result<HttpVersion, HeadError> {
        match self.version {
            "HTTP/1.0" => Ok(HttpVersion::Http10),
            "HTTP/1.1" => Ok(HttpVersion::Http11),
            _ => Err(HeadError::Version),
        }
    }
}

fn parse_authority(target: &str) -> Result<(HostName, Port), HeadError> {
    if target.contains('@') {
        return Err(HeadError::UserInfo);
    }
    if target.starts_with('[') {
        return Err(HeadError::AddressLiteral);
    }
    let (host, port) = target.rsplit_once(':').ok_or(HeadError::Port)?;
    let host = HostName::parse(host).map_err(|error| match error {
        NameError::AddressLiteral => HeadError::AddressLiteral,
        NameError::Empty
        | NameError::NotAscii
        | NameError::Wildcard
        | NameError::TooLong
        | NameError::BadLabel
        | NameError::BadPort => HeadError::HostName,
    })?;
    let port = Port::parse(port).map_err(|_| HeadError::Port)?;
    Ok((host, port))
}

/// Checks every header line and gives the value of the one `Host`.
fn read_headers<'a>(lines: impl Iterator<Item = &'a str>) -> Result<Option<&'a str>, HeadError> {
    let mut host = None;
    // The head ends in an empty line, which splitting turns into two empty texts at the end.
    for (index, line) in lines.take_while(|line| !line.is_empty()).enumerate() {
        if index >= HEADERS_MAX {
            return Err(HeadError::TooManyHeaders);
        }
        if line.starts_with(' ') {
            return Err(HeadError::FoldedHeader);
        }
        let (name, value) = line.split_once(':').ok_or(HeadError::HeaderLine)?;
        if !is_token(name) {
            return Err(HeadError::HeaderLine);
        }
        if name.eq_ignore_ascii_case("host") && host.replace(value.trim_matches(' ')).is_some() {
            return Err(HeadError::HostRepeated);
        }
        if name.eq_ignore_ascii_case("content-length") || name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(HeadError::Body);
        }
    }
    Ok(host)
}

/// Whether a `Host` value is the target; without a port it means the usual one.
fn names_target(value: &str, host: &HostName, port: Port) -> bool {
    let (name, named_port) = match value.rsplit_once(':') {
        None => (value, Ok(Port::HTTPS)),
        Some((name, digits)) => (name, Port::parse(digits)),
    };
    named_port == Ok(port) && HostName::parse(name).as_ref() == Ok(host)
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> HeadProgress {
        read_head(text.as_bytes())
    }

    fn error(text: &str) -> HeadError {
        match read(text) {
            HeadProgress::Refused(refusal) => refusal.error,
            other @ (HeadProgress::Incomplete | HeadProgress::Complete { .. }) => {
                panic!("{text:?}: {other:?}")
            }
        }
    }

    #[test]
    fn heads_of_real_clients_are_read() {
        let curl = "CONNECT crates.io:443 HTTP/1.1\r\nHost: crates.io:443\r\nUser-Agent: curl/7.88.1\r\n\
                    Proxy-Connection: Keep-Alive\r\n\r\n";
        let urllib = "CONNECT crates.io:443 HTTP/1.0\r\n\r\n";
        let node = "CONNECT crates.io:443 HTTP/1.1\r\nHost: crates.io\r\nConnection: close\r\n\r\n";
        let upper =
            "CONNECT CRATES.IO.:443 HTTP/1.1\r\nhOsT:Crates.Io:443 \r\nProxy-Authorization: Basic eA==\r\nX:\r\n\r\n";
        for (text, version) in [
            (curl, HttpVersion::Http11),
            (urllib, HttpVersion::Http10),
            (node, HttpVersion::Http11),
            (upper, HttpVersion::Http11),
        ] {
            let request = ConnectRequest { host: HostName::parse("crates.io").unwrap(), port: Port::HTTPS, version };
            assert_eq!(read(text), HeadProgress::Complete { request, used: text.len() }, "{text}");
        }
    }

    #[test]
    fn bytes_that_no_head_may_hold_are_refused() {
        for (text, why) in [
            ("CONNECT a.b:443 HTTP/1.1\nHost: a.b\r\n\r\n", HeadError::BareLineFeed),
            ("CONNECT a.b:443 HTTP/1.1\r\nHost: a.b:443\n\r\n", HeadError::BareLineFeed),
            ("\n", HeadError::BareLineFeed),
            ("CONNECT a.b:443 HTTP/1.1\rX: y\r\n\r\n", HeadError::BareCarriageReturn),
            ("CONNECT a.b:443 HTTP/1.1\r\r\n\r\n", HeadError::BareCarriageReturn),
            ("CONNECT a.b:443\0 HTTP/1.1\r\n\r\n", HeadError::ControlByte),
            ("CONNECT\ta.b:443\tHTTP/1.1\r\n\r\n", HeadError::ControlByte),
            ("CONNECT a.b:443 HTTP/1.1\r\nHost:\ta.b:443\r\n\r\n", HeadError::ControlByte),
            ("CONNECT a.b:443 HTTP/1.1\r\n\tHost: a.b\r\n\r\n", HeadError::ControlByte),
            ("CONNECT bücher.example:443 HTTP/1.1\r\n\r\n", HeadError::ControlByte),
            ("\u{16}\u{3}\u{1}", HeadError::ControlByte),
            ("CONNECT a.b:443\u{7f} HTTP/1.1\r\n\r\n", HeadError::ControlByte),
        ] {
            assert_eq!(error(text), why, "{text:?}");
        }
    }

    #[test]
    fn malformed_request_lines_are_refused() {
        for (text, why) in [
            ("\r\nCONNECT a.b:443 HTTP/1.1\r\n\r\n", HeadError::RequestLine),
            ("CONNECT  a.b:443 HTTP/1.1\r\n\r\n", HeadError::RequestLine),
            (" CONNECT a.b:443 HTTP/1.1\r\n\r\n", HeadError::RequestLine),
            ("CONNECT a.b:443 HTTP/1.1 \r\n\r\n", HeadError::RequestLine),
            ("CONNECT a.b:443\r\n\r\n", HeadError::RequestLine),
            ("CONNECT a.b:443 x HTTP/1.1\r\n\r\n", HeadError::RequestLine),
            ("CONNECT a.b:443 http/1.1\r\n\r\n", HeadError::RequestLine),
        ] {
            assert_eq!(error(text), why, "{text:?}");
        }
    }

    #[test]
    fn headers_that_two_readers_read_differently_are_refused() {
        for (text, why) in [
            ("CONNECT a.b:443 HTTP/1.1\r\nHost: a.b:443\r\n folded\r\n\r\n", HeadError::FoldedHeader),
            ("CONNECT a.b:443 HTTP/1.1\r\nHost : a.b:443\r\n\r\n", HeadError::HeaderLine),
            ("CONNECT a.b:443 HTTP/1.1\r\nHost\r\n\r\n", HeadError::HeaderLine),
            ("CONNECT a.b:443 HTTP/1.1\r\n: x\r\n\r\n", HeadError::HeaderLine),
            ("CONNECT a.b:443 HTTP/1.1\r\n\r\n", HeadError::HostMissing),
            ("CONNECT a.b:443 HTTP/1.1\r\nHost: a.b:443\r\nHost: a.b:443\r\n\r\n", HeadError::HostRepeated),
            ("CONNECT a.b:443 HTTP/1.1\r\nHost: a.b:443\r\nHOST: c.d\r\n\r\n", HeadError::HostRepeated),
            ("CONNECT a.b:443 HTTP/1.1\r\nHost: c.d:443\r\n\r\n", HeadError::HostMismatch),
            ("CONNECT a.b:443 HTTP/1.1\r\nHost: a.b:444\r\n\r\n", HeadError::HostMismatch),
            ("CONNECT a.b:8443 HTTP/1.1\r\nHost: a.b\r\n\r\n", HeadError::HostMismatch),
            ("CONNECT a.b:443 HTTP/1.1\r\nHost:\r\n\r\n", HeadError::HostMismatch),
            ("CONNECT a.b:443 HTTP/1.1\r\nHost: a.b:443, c.d\r\n\r\n", HeadError::HostMismatch),
            ("CONNECT a.b:443 HTTP/1.0\r\nHost: c.d:443\r\n\r\n", HeadError::HostMismatch),
            ("CONNECT a.b:443 HTTP/1.0\r\nContent-Length: 5\r\n\r\n", HeadError::Body),
            ("CONNECT a.b:443 HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", HeadError::Body),
        ] {
            assert_eq!(error(text), why, "{text:?}");
        }
    }

    #[test]
    fn targets_other_than_name_and_port_are_refused() {
        for (target, why) in [
            ("user@a.b:443", HeadError::UserInfo),
            ("allowed.example:443@evil.example:443", HeadError::UserInfo),
            ("127.0.0.1:443", HeadError::AddressLiteral),
            ("2130706433:443", HeadError::AddressLiteral),
            ("0x7f.1:443", HeadError::AddressLiteral),
            ("[::1]:443", HeadError::AddressLiteral),
            ("[fe80::1%25eth0]:443", HeadError::AddressLiteral),
            ("::1:443", HeadError::AddressLiteral),
            ("a.b", HeadError::Port),
            ("a.b:", HeadError::Port),
            ("a.b:0443", HeadError::Port),
            ("a.b:443/", HeadError::Port),
            ("a.b:70000", HeadError::Port),
            (":443", HeadError::HostName),
            ("a..b:443", HeadError::HostName),
            ("*.b:443", HeadError::HostName),
            ("a.b#c:443", HeadError::HostName),
            ("a.b/:443", HeadError::HostName),
            ("https://a.b:443", HeadError::HostName),
            ("a%2eb:443", HeadError::HostName),
        ] {
            assert_eq!(error(&format!("CONNECT {target} HTTP/1.0\r\n\r\n")), why, "{target}");
        }
        let long = format!("CONNECT {}:443 HTTP/1.0\r\n\r\n", "a.".repeat(200));
        assert_eq!(error(&long), HeadError::HostName);
    }

    #[test]
    fn other_methods_and_versions_are_told_apart() {
        for (text, why) in [
            ("GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\n\r\n", HeadError::Method),
            ("POST / HTTP/1.1\r\nHost: a.b\r\nContent-Length: 3\r\n\r\n", HeadError::Method),
            ("connect a.b:443 HTTP/1.1\r\nHost: a.b\r\n\r\n", HeadError::Method),
            ("OPTIONS * HTTP/1.0\r\n\r\n", HeadError::Method),
            ("PRI * HTTP/2.0\r\n\r\n", HeadError::Version),
            ("CONNECT a.b:443 HTTP/1.2\r\n\r\n", HeadError::Version),
            ("CONNECT a.b:443 HTTP/11\r\n\r\n", HeadError::Version),
        ] {
            assert_eq!(error(text), why, "{text:?}");
        }
        match read("GET http://a.b/ HTTP/1.1\r\n\r\n") {
            HeadProgress::Refused(refusal) => {
                assert_eq!(refusal.target.as_deref(), Some("http://a.b/"))
            }
            other @ (HeadProgress::Incomplete | HeadProgress::Complete { .. }) => {
                panic!("{other:?}")
            }
        }
    }

    #[test]
    fn size_and_count_are_bounded_at_their_edges() {
        let padded = |bytes: usize| {
            let frame = "CONNECT a.b:443 HTTP/1.0\r\nX: \r\n\r\n".len();
            format!("CONNECT a.b:443 HTTP/1.0\r\nX: {}\r\n\r\n", "y".repeat(bytes - frame))
        };
        assert!(matches!(read(&padded(HEAD_BYTES_MAX)), HeadProgress::Complete { .. }));
        assert_eq!(error(&padded(HEAD_BYTES_MAX + 1)), HeadError::TooLarge);
        assert_eq!(error(&"A".repeat(HEAD_BYTES_MAX + 1)), HeadError::TooLarge);
        assert_eq!(read(&"A".repeat(HEAD_BYTES_MAX)), HeadProgress::Incomplete);
        let counted = |headers: usize| format!("CONNECT a.b:443 HTTP/1.0\r\n{}\r\n", "X: y\r\n".repeat(headers));
        assert!(matches!(read(&counted(HEADERS_MAX)), HeadProgress::Complete { .. }));
        assert_eq!(error(&counted(HEADERS_MAX + 1)), HeadError::TooManyHeaders);
    }

    #[test]
    fn bytes_behind_the_head_are_counted_apart() {
        let head = "CONNECT a.b:443 HTTP/1.0\r\n\r\n";
        match read(&format!("{head}GET / HTTP/1.1\r\n\r\n")) {
            HeadProgress::Complete { used, .. } => assert_eq!(used, head.len()),
            other @ (HeadProgress::Incomplete | HeadProgress::Refused(_)) => panic!("{other:?}"),
        }
    }
}
