//! The proxy's own answers to a client: one status per reason, with the reason in words where a person will see it.

use super::connect::{HeadError, HttpVersion};
use super::hello::HelloError;
use super::log::Reason;

/// The whole answer to a request that gets no tunnel. The phrase of the status line says why, because that line is
/// all that most clients print.
pub(super) fn refusal(version: HttpVersion, reason: Reason, target: Option<&str>) -> Vec<u8> {
    let (status, phrase) = status(reason);
    let version = version.as_str();
    let code = reason.code();
    let asked = target.map(|target| format!(" `{target}`")).unwrap_or_default();
    let body = format!("tripwire allow-list: request{asked} not served: {phrase} ({code})\n");
    let allow = if status == 405 { "Allow: CONNECT\r\n" } else { "" };
    format!(
        "{version} {status} {phrase}\r\n{allow}Content-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\
         X-Tripwire-Reason: {code}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// The answer that opens a tunnel.
pub(super) fn opened(version: HttpVersion) -> Vec<u8> {
    format!("{} 200 Connection established\r\n\r\n", version.as_str()).into_bytes()
}

/// The TLS alert that tells a client why its hello goes nowhere, where it speaks TLS at all: `access_denied`, fatal.
pub(super) fn alert(reason: Reason) -> Option<&'static [u8]> {
    const ACCESS_DENIED: &[u8] = &[21, 3, 1, 0, 2, 2, 49];
    match reason {
        Reason::Hello(HelloError::NotTls) => None,
        Reason::NameMismatch
        | Reason::Hello(
            HelloError::TooLarge
            | HelloError::Malformed
            | HelloError::NoName
            | HelloError::SeveralNames
            | HelloError::BadName
            | HelloError::EncryptedHello,
        ) => Some(ACCESS_DENIED),
        Reason::Open
        | Reason::Ended(_)
        | Reason::Head(_)
        | Reason::HeadTimeout
        | Reason::HeadIncomplete
        | Reason::HostNotAllowed
        | Reason::PortNotAllowed
        | Reason::Address(_)
        | Reason::OwnAddress
        | Reason::ResolveFailed
        | Reason::ResolveTimeout
        | Reason::ResolverBusy
        | Reason::ConnectFailed
        | Reason::ConnectTimeout
        | Reason::HelloTimeout
        | Reason::HelloIncomplete
        | Reason::ServerTimeout
        | Reason::ServerClosed
        | Reason::ServerNotTls
        | Reason::ServerRefused
        | Reason::ClientLeft
        | Reason::TooManyConnections
        | Reason::TotalReached
        | Reason::ThreadUnavailable
        | Reason::LogFailed
        | Reason::Stopped => None,
    }
}

fn status(reason: Reason) -> (u16, &'static str) {
    match reason {
        Reason::Head(error) => head_status(error),
        Reason::HeadTimeout => (408, "request head not complete in time"),
        Reason::HeadIncomplete | Reason::ClientLeft => (400, "request head not complete"),
        Reason::HostNotAllowed => (403, "host is not on the allow-list"),
        Reason::PortNotAllowed => (403, "port of this host is not on the allow-list"),
        Reason::Address(_) => (403, "host resolves to an address that is not public"),
        Reason::OwnAddress => (403, "host resolves to an address of this machine"),
        Reason::ResolveFailed => (502, "host name does not resolve"),
        Reason::ConnectFailed => (502, "host does not take the connection"),
        Reason::ResolveTimeout => (504, "host name does not resolve in time"),
        Reason::ConnectTimeout => (504, "host does not take the connection in time"),
        Reason::ResolverBusy => (503, "too many names are being resolved"),
        Reason::TooManyConnections => (503, "too many connections at the same time"),
        Reason::TotalReached => (503, "too many connections in all"),
        Reason::ThreadUnavailable => (503, "no thread left"),
        Reason::Stopped => (503, "proxy is stopping"),
        Reason::LogFailed => (503, "request log cannot be written"),
        // These come after the 200 and are never answered in HTTP; should one get here, it is no success.
        Reason::Open
        | Reason::Ended(_)
        | Reason::Hello(_)
        | Reason::NameMismatch
        | Reason::HelloTimeout
        | Reason::HelloIncomplete
        | Reason::ServerTimeout
        | Reason::ServerClosed
        | Reason::ServerNotTls
        | Reason::ServerRefused => (500, "tunnel not opened"),
    }
}

fn head_status(error: HeadError) -> (u16, &'static str) {
    match error {
        HeadError::TooLarge => (431, "request head too large"),
        HeadError::TooManyHeaders => (431, "too many header lines"),
        HeadError::Version => (505, "only HTTP/1.0 and HTTP/1.1 are served"),
        HeadError::Method => (405, "only CONNECT is served, use https"),
        HeadError::AddressLiteral => (403, "addresses are never allowed, use a host name"),
        HeadError::BareLineFeed => (400, "line feed without carriage return"),
        HeadError::BareCarriageReturn => (400, "carriage return without line feed"),
        HeadError::ControlByte => (400, "control or non-ASCII byte in the request head"),
        HeadError::RequestLine => (400, "malformed request line"),
        HeadError::FoldedHeader => (400, "folded header line"),
        HeadError::HeaderLine => (400, "malformed header line"),
        HeadError::UserInfo => (400, "user information in the target"),
        HeadError::HostName => (400, "target is not a host name"),
        HeadError::Port => (400, "target has no valid port"),
        HeadError::HostMissing => (400, "Host header missing"),
        HeadError::HostRepeated => (400, "more than one Host header"),
        HeadError::HostMismatch => (400, "Host header differs from the target"),
        HeadError::Body => (400, "CONNECT with a body"),
        HeadError::EarlyBytes => (400, "bytes before the tunnel is open"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_one_whole_response_that_says_why() {
        let answer =
            String::from_utf8(refusal(HttpVersion::Http10, Reason::HostNotAllowed, Some("evil.example:443"))).unwrap();
        assert_eq!(
            answer,
            "HTTP/1.0 403 host is not on the allow-list\r\nContent-Type: text/plain\r\nContent-Length: 109\r\n\
             Connection: close\r\nX-Tripwire-Reason: host_not_allowed\r\n\r\n\
             tripwire allow-list: request `evil.example:443` not served: host is not on the allow-list (host_not_allowed)\n"
        );
        let other = String::from_utf8(refusal(HttpVersion::Http11, Reason::Head(HeadError::Method), None)).unwrap();
        assert!(other.starts_with("HTTP/1.1 405 only CONNECT is served, use https\r\nAllow: CONNECT\r\n"), "{other}");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}", body.len())));
    }

    #[test]
    fn only_a_client_that_speaks_tls_gets_an_alert() {
        assert!(alert(Reason::NameMismatch).is_some());
        assert!(alert(Reason::Hello(HelloError::NoName)).is_some());
        assert!(alert(Reason::Hello(HelloError::NotTls)).is_none());
        assert!(alert(Reason::HelloTimeout).is_none());
    }
}
