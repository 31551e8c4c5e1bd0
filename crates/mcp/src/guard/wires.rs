//! The pipes to both sides, one writer at a time.

use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// The way to the client and the way to the server.
pub(super) struct Wires {
    client: Mutex<Box<dyn Write + Send>>,
    server: Mutex<Option<Box<dyn Write + Send>>>,
}

impl Wires {
    pub(super) fn new(client: Box<dyn Write + Send>, server: Box<dyn Write + Send>) -> Self {
        Self { client: Mutex::new(client), server: Mutex::new(Some(server)) }
    }

    /// Says a message of our own.
    pub(super) fn say_to_client(&self, text: &str) {
        self.send_to_client(format!("{text}\n").as_bytes());
    }

    /// Passes bytes on to the client.
    pub(super) fn send_to_client(&self, bytes: &[u8]) {
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        // A client that does not read any more has closed, which its other pipe says.
        drop(client.write_all(bytes).and_then(|()| client.flush()));
    }

    /// Passes bytes on to the server.
    pub(super) fn send_to_server(&self, bytes: &[u8]) {
        let mut server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        // A server that does not read any more is gone, which its output says.
        if let Some(server) = server.as_mut() {
            drop(server.write_all(bytes).and_then(|()| server.flush()));
        }
    }

    /// Nothing more goes to the server. One that does not read keeps a writer waiting here; its end frees both.
    pub(super) fn close_server(&self) {
        if let Ok(mut server) = self.server.try_lock() {
            drop(server.take());
        }
    }
}
