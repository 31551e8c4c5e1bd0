//! Which requests of the client are open, so that each answer is known for what it answers. Pure.

use super::message::{Id, ListPage};
use std::collections::BTreeMap;

/// Requests that may be open at the same time.
pub const OPEN_MAX: usize = 65_536;

/// A request without an answer.
#[derive(Debug, Clone)]
pub struct OpenRequest<T> {
    /// Its id, as the client wrote it.
    pub id: Id,
    /// What it asks for.
    pub kind: OpenKind<T>,
}

/// What an open request asks for.
#[derive(Debug, Clone)]
pub enum OpenKind<T> {
    /// The call of a tool.
    Call(T),
    /// A page of the list of tools.
    List(ListPage),
    /// Anything else.
    Other,
}

/// Why a request is not passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TrafficError {
    /// Another request of this id waits for its answer: nobody could tell the two answers apart.
    #[error("another request with this id is open")]
    SameId,
    /// Too many are open.
    #[error("more than {OPEN_MAX} requests are open")]
    TooMany,
}

/// The open requests of one client.
#[derive(Debug)]
pub struct Traffic<T> {
    open: BTreeMap<String, OpenRequest<T>>,
}

impl<T> Default for Traffic<T> {
    fn default() -> Self {
        Self { open: BTreeMap::new() }
    }
}

impl<T> Traffic<T> {
    /// A request is about to be passed on.
    ///
    /// # Errors
    /// When its answer could not be told from another's.
    pub fn ask(&mut self, id: Id, kind: OpenKind<T>) -> Result<(), TrafficError> {
        if self.open.len() >= OPEN_MAX {
            return Err(TrafficError::TooMany);
        }
        if self.open.contains_key(id.key()) {
            return Err(TrafficError::SameId);
        }
        self.open.insert(id.key().to_owned(), OpenRequest { id, kind });
        Ok(())
    }

    /// An answer came, or the request was refused: it is open no longer.
    pub fn end(&mut self, id: &Id) -> Option<OpenRequest<T>> {
        self.open.remove(id.key())
    }

    /// All that are open, and no longer: the server is gone.
    pub fn end_all(&mut self) -> Vec<OpenRequest<T>> {
        std::mem::take(&mut self.open).into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::message::id_of_refused;

    fn id(text: &str) -> Id {
        id_of_refused(format!(r#"{{"id":{text}}}"#).as_bytes()).unwrap()
    }

    #[test]
    fn mcp_1_an_answer_belongs_to_one_open_request_in_any_spelling_of_its_id() {
        let mut traffic = Traffic::default();
        traffic.ask(id("2"), OpenKind::Call("t")).unwrap();
        assert_eq!(traffic.ask(id("\"2\""), OpenKind::Other), Err(TrafficError::SameId));
        assert!(traffic.end(&id("3")).is_none(), "nobody asked for it");
        assert!(matches!(traffic.end(&id("2.0")).unwrap().kind, OpenKind::Call("t")));
        assert!(traffic.end(&id("2")).is_none(), "it was answered");
        traffic.ask(id("2"), OpenKind::Other).unwrap();
        assert_eq!(traffic.end_all().len(), 1);
    }
}
