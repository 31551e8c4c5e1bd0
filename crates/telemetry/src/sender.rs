//! One request to a receiver, bounded in time.

use crate::settings::Endpoint;
use std::time::Duration;
use ureq::Agent;

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Sent {
    /// The receiver has it.
    Taken,
    /// Another attempt may help.
    Later(String),
    /// The receiver does not want it.
    Refused(String),
    /// The receiver knows no such path: it takes no data of this kind.
    Unknown,
}

/// Sends to receivers.
#[derive(Debug)]
pub(crate) struct Sender {
    agent: Agent,
}

impl Sender {
    pub(crate) fn new(timeout: Duration) -> Self {
        let config = Agent::config_builder().timeout_global(Some(timeout)).http_status_as_error(false).max_redirects(0);
        Self { agent: config.build().into() }
    }

    pub(crate) fn send(&self, endpoint: &Endpoint, body: &[u8]) -> Sent {
        let mut request = self.agent.post(&endpoint.url).header("content-type", "application/x-protobuf");
        for (name, value) in &endpoint.headers {
            request = request.header(name, value);
        }
        match request.send(body) {
            Ok(reply) => match reply.status().as_u16() {
                200..300 => Sent::Taken,
                404 | 405 | 501 => Sent::Unknown,
                status @ (408 | 429 | 502..=504) => Sent::Later(format!("it answered {status}")),
                status => Sent::Refused(format!("it answered {status}")),
            },
            // The address may hold a password; the error of a library may hold the address.
            Err(ureq::Error::Timeout(_)) => Sent::Later("it did not answer in time".to_owned()),
            Err(ureq::Error::Io(error)) => Sent::Later(format!("it cannot be reached ({})", error.kind())),
            Err(ureq::Error::HostNotFound) => Sent::Later("its name is not known".to_owned()),
            Err(_) => Sent::Later("it cannot be reached".to_owned()),
        }
    }
}
