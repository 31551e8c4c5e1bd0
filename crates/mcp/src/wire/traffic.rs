//! Which requests of the client are open, so that each answer is known for what it answers. Pure.

use super::message::{Id, ListPage};
use std::collections::{BTreeMap, VecDeque};

/// Requests that may be open at the same time.
pub const OPEN_MAX: usize = 65_536;
/// Answered requests that are remembered, because a client may ask for the end of a stream again.
pub const ANSWERED_MAX: usize = 256;

/// Tasks that are remembered, so that their results are known for those of their tools.
pub const TASKS_MAX: usize = 256;

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
    /// The result of a task of this tool.
    TaskResult(String),
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
    answered: VecDeque<(String, AnsweredKind)>,
    /// Tasks with the tool that each was begun with.
    tasks: VecDeque<(String, String)>,
}

/// What was asked by a request that has its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnsweredKind {
    /// The call of this tool.
    Call(String),
    /// A page of the list of tools.
    List(ListPage),
}

impl<T> Default for Traffic<T> {
    fn default() -> Self {
        Self { open: BTreeMap::new(), answered: VecDeque::new(), tasks: VecDeque::new() }
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
        self.end_key(id.key())
    }

    /// The same, for the key of an id.
    pub fn end_key(&mut self, key: &str) -> Option<OpenRequest<T>> {
        self.open.remove(key)
    }

    /// A call is given up; nothing if no such call of this id is open.
    pub fn end_call(&mut self, id: &Id, is_such: impl FnOnce(&T) -> bool) -> Option<T> {
        match &self.open.get(id.key())?.kind {
            OpenKind::Call(call) if is_such(call) => {}
            OpenKind::Call(_) | OpenKind::List(_) | OpenKind::TaskResult(_) | OpenKind::Other => return None,
        }
        match self.end(id)?.kind {
            OpenKind::Call(call) => Some(call),
            OpenKind::List(_) | OpenKind::TaskResult(_) | OpenKind::Other => None,
        }
    }

    /// The open call of this id.
    #[must_use]
    pub fn call(&self, id: &Id) -> Option<&T> {
        match &self.open.get(id.key())?.kind {
            OpenKind::Call(call) => Some(call),
            OpenKind::List(_) | OpenKind::TaskResult(_) | OpenKind::Other => None,
        }
    }

    /// The server begins with a call.
    pub fn begin_call(&mut self, id: &Id, begin: impl FnOnce(&mut T)) {
        if let Some(OpenRequest { kind: OpenKind::Call(call), .. }) = self.open.get_mut(id.key()) {
            begin(call);
        }
    }

    /// Remembers what a request was that has its answer now: the newest of them only.
    pub fn remember(&mut self, id: &Id, kind: AnsweredKind) {
        self.answered.truncate(ANSWERED_MAX - 1);
        self.answered.push_front((id.key().to_owned(), kind));
    }

    /// What a request was that had its answer before.
    #[must_use]
    pub fn answered(&self, id: &Id) -> Option<&AnsweredKind> {
        self.answered.iter().find(|(key, _)| key == id.key()).map(|(_, kind)| kind)
    }

    /// A call was begun as a task: the newest of them are remembered.
    pub fn begin_task(&mut self, task: String, tool: &str) {
        self.tasks.truncate(TASKS_MAX - 1);
        self.tasks.push_front((task, tool.to_owned()));
    }

    /// The tool that a task was begun with.
    #[must_use]
    pub fn tool_of_task(&self, task: &str) -> Option<&str> {
        self.tasks.iter().find(|(known, _)| known == task).map(|(_, tool)| tool.as_str())
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

    #[test]
    fn mcp_5_only_the_newest_answered_requests_are_remembered() {
        let mut traffic: Traffic<()> = Traffic::default();
        for n in 0..ANSWERED_MAX + 1 {
            traffic.remember(&id(&n.to_string()), AnsweredKind::Call(format!("t{n}")));
        }
        assert_eq!(traffic.answered(&id("0")), None);
        assert_eq!(traffic.answered(&id("\"1\"")), Some(&AnsweredKind::Call("t1".to_owned())));
    }

    #[test]
    fn mcp_3_only_the_newest_tasks_are_remembered_with_their_tool() {
        let mut traffic: Traffic<()> = Traffic::default();
        for n in 0..TASKS_MAX + 1 {
            traffic.begin_task(format!("t{n}"), &format!("tool{n}"));
        }
        assert_eq!(traffic.tool_of_task("t0"), None);
        assert_eq!(traffic.tool_of_task("t1"), Some("tool1"));
    }

    #[test]
    fn mcp_1_only_a_call_that_fits_is_given_up() {
        let mut traffic = Traffic::default();
        traffic.ask(id("1"), OpenKind::Call("runs")).unwrap();
        traffic.ask(id("2"), OpenKind::Other).unwrap();
        assert_eq!(traffic.end_call(&id("1"), |call| *call == "waits"), None);
        assert_eq!((traffic.end_call(&id("2"), |_| true), traffic.end_call(&id("3"), |_| true)), (None, None));
        assert_eq!(traffic.end_call(&id("1"), |call| *call == "runs"), Some("runs"));
        assert_eq!(traffic.end_all().len(), 1, "any other request stays open");
    }
}
