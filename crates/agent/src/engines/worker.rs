//! Workers as engines: someone else's agent, asked with what the loop would ask a model, and doing the whole turn itself.
//!
//! Who starts and guards it is not known here: this crate must not depend on the supervisor, so the command line wires one
//! in behind [`Worker`]. A worker remembers nothing between two turns. It gets the objective and what was said since its
//! last turn, and it reads the rest in the workspace.

use crate::engines::engine::{Allowance, Engine, EngineKind, HEARTBEAT, Heard, Listener, Question, ToolAnswer, Turn};
use crate::engines::error::{EngineError, WorkerStartError};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};
use tripwire_core::label::Label;
use tripwire_core::run::engine_label;
use tripwire_core::run::record::{Answer, AnswerEnd, Work};
use tripwire_core::units::Tokens;
use tripwire_core::usage::Usage;

/// The longest prompt that a worker is started with: one word of a command line holds 128 KiB.
pub const PROMPT_BYTES_MAX: usize = 120 * 1_024;
/// The longest objective: it is never cut, and what was said since must have room beside it.
pub const OBJECTIVE_BYTES_MAX: usize = 96 * 1_024;
/// Bytes of one result that a worker is shown.
const RESULT_BYTES_MAX: usize = 4 * 1_024;

/// One turn that a worker is to do.
#[derive(Debug, Clone, Copy)]
pub struct WorkerOrder<'a> {
    /// The prompt.
    pub prompt: &'a str,
    /// What is left of the wall clock.
    pub time: Duration,
    /// What it may spend.
    pub allowance: &'a Allowance,
}

/// What came of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerTurn {
    /// The worker's last message, or why there is none.
    pub text: String,
    /// What it did.
    pub work: Work,
}

/// Starts a worker under its guard and waits until nothing of it is left. A person's order to stop and the wall clock are
/// the guard's business: it watches them itself.
pub trait Worker: Send {
    /// Does one turn.
    ///
    /// # Errors
    /// When nothing was started.
    fn work(&mut self, order: &WorkerOrder<'_>) -> Result<WorkerTurn, WorkerStartError>;
}

/// A worker in the chain of engines.
pub struct WorkerEngine {
    name: String,
    worker: Box<dyn Worker>,
    allowance: Allowance,
}

impl WorkerEngine {
    /// A worker under the name that a person gave.
    #[must_use]
    pub fn new(name: &str, worker: Box<dyn Worker>) -> Self {
        Self { name: name.to_owned(), worker, allowance: Allowance::default() }
    }
}

impl Engine for WorkerEngine {
    fn name(&self) -> &str {
        &self.name
    }

    fn window(&self) -> Option<Tokens> {
        None
    }

    fn kind(&self) -> EngineKind {
        EngineKind::Worker
    }

    fn allow(&mut self, allowance: &Allowance) {
        self.allowance.clone_from(allowance);
    }

    fn ask(
        &mut self,
        question: &Question<'_>,
        deadline: Instant,
        listener: &mut Listener<'_>,
    ) -> Result<Answer, EngineError> {
        let prompt = prompt(question.turns);
        let time = deadline.saturating_duration_since(Instant::now());
        let order = WorkerOrder { prompt: &prompt, time, allowance: &self.allowance };
        let (name, worker) = (&self.name, &mut self.worker);
        let done = std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            // The caller waits for the end: the guard has ended everything by then.
            scope.spawn(move || drop(sender.send(worker.work(&order))));
            loop {
                match receiver.recv_timeout(HEARTBEAT) {
                    Ok(done) => return done,
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(WorkerStartError::broken_off());
                    }
                    // A person who says stop is heard by the guard as well, which ends the worker with a receipt.
                    Err(RecvTimeoutError::Timeout) => drop(listener(Heard::Silence)),
                }
            }
        });
        let WorkerTurn { text, work } =
            done.map_err(|error| EngineError::NotStarted { engine: name.clone(), error })?;
        Ok(Answer {
            text: text.into(),
            calls: Vec::new(),
            engine: engine_label(&self.name),
            usage: Usage::default(),
            model: Label::cut(&self.name),
            end: AnswerEnd::Finished,
            work: Some(work),
        })
    }
}

/// The prompt of a worker: the first words of the conversation, which hold the objective, and what came after the last
/// turn. The objective is whole; of the rest the newest has room.
fn prompt(turns: &[Turn]) -> String {
    let first = match turns.first() {
        Some(Turn::User(text)) => text.as_str(),
        Some(Turn::Model { .. } | Turn::Results(_)) | None => "",
    };
    let since = turns.iter().rposition(|turn| matches!(turn, Turn::Model { .. }));
    let Some(since) = since else {
        return turns.iter().filter_map(user).collect::<Vec<_>>().join("\n\n");
    };
    let said = turns.iter().skip(since).filter_map(shown).collect::<Vec<_>>().join("\n\n");
    let room = PROMPT_BYTES_MAX.saturating_sub(first.len() + GOES_ON.len() + 8);
    format!("{first}\n\n{GOES_ON}\n\n{}", newest(&said, room))
}

fn user(turn: &Turn) -> Option<&str> {
    match turn {
        Turn::User(text) => Some(text),
        Turn::Model { .. } | Turn::Results(_) => None,
    }
}

fn shown(turn: &Turn) -> Option<String> {
    match turn {
        Turn::User(text) => Some(text.clone()),
        Turn::Model { text, .. } => Some(format!("The last report was:\n{}", newest(text, RESULT_BYTES_MAX))),
        Turn::Results(answers) => {
            let answer = |answer: &ToolAnswer| {
                format!("The guard's own `{}` gave:\n{}", answer.tool, newest(&answer.text, RESULT_BYTES_MAX))
            };
            Some(answers.iter().map(answer).collect::<Vec<_>>().join("\n\n"))
        }
    }
}

/// The last bytes of a text, cut between two letters.
fn newest(text: &str, bytes: usize) -> &str {
    let mut at = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(at) {
        at += 1;
    }
    text.get(at..).unwrap_or_default()
}

/// What introduces the rest for a worker that does not begin at the beginning.
const GOES_ON: &str = "You go on with this objective; the workspace holds what was done so far. What happened since:";

#[cfg(test)]
mod tests {
    use super::*;

    fn say(text: &str) -> Turn {
        Turn::User(text.to_owned())
    }

    fn report(text: &str) -> Turn {
        Turn::Model { text: text.to_owned(), calls: Vec::new() }
    }

    fn result(text: &str) -> Turn {
        let (id, tool, text) = ("1".to_owned(), "shell".to_owned(), text.to_owned());
        Turn::Results(vec![ToolAnswer { id, tool, text, is_error: true }])
    }

    #[test]
    fn run_4_a_worker_is_told_the_objective_first_and_then_only_what_is_new() {
        assert_eq!(prompt(&[say("Objective:\nfix it")]), "Objective:\nfix it");
        let text = prompt(&[
            say("Objective:\nfix it"),
            report("first try"),
            result("1 failed"),
            say("go on"),
            report("second try"),
            result("2 failed"),
            say("try another way"),
        ]);
        assert!(text.starts_with("Objective:\nfix it\n\nYou go on"), "{text}");
        assert!(
            text.contains("second try") && text.contains("2 failed") && text.ends_with("try another way"),
            "{text}"
        );
        assert!(!text.contains("first try") && !text.contains("1 failed"), "{text}");
    }

    #[test]
    fn run_4_a_prompt_fits_one_word_of_a_command_line_and_the_objective_is_never_cut() {
        let objective = "ö".repeat(OBJECTIVE_BYTES_MAX / 2);
        let long = "ä".repeat(PROMPT_BYTES_MAX);
        let text = prompt(&[say(&objective), report(&long), result(&long), say(&long)]);
        assert!(text.len() <= PROMPT_BYTES_MAX + 4 && text.starts_with(&objective), "{}", text.len());
    }
}
