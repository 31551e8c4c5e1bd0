//! Opening a list of engines: the first that is available wins, and the others say why they are not.

use crate::error::Problem;
use crate::verbs::agent::worker::WorkerError;
use tripwire_agent::engines::open::OpenError;
use tripwire_agent::engines::unavailable::UnavailableEngine;
use tripwire_agent::engines::{Engine, EngineError, WorkerStartError};

/// Why an engine was not opened.
pub(super) enum Unopened {
    /// It has no key or no program here; another one may be taken.
    Unavailable(WorkerStartError, Problem),
    /// Its name or its settings are wrong.
    Mistake(Problem),
}

impl Unopened {
    /// What a person reads when no other engine can be taken.
    pub(super) fn problem(self) -> Problem {
        match self {
            Self::Unavailable(_, problem) | Self::Mistake(problem) => problem,
        }
    }
}

impl From<OpenError> for Unopened {
    fn from(error: OpenError) -> Self {
        match error {
            error @ OpenError::NoKey { .. } => Self::Unavailable(WorkerStartError::of(&error), error.into()),
            error @ (OpenError::UnknownForm { .. }
            | OpenError::NoModel { .. }
            | OpenError::BadAddress { .. }
            | OpenError::BadKey { .. }
            | OpenError::Cassette(_)) => Self::Mistake(error.into()),
        }
    }
}

impl From<WorkerError> for Unopened {
    fn from(error: WorkerError) -> Self {
        match error {
            error @ WorkerError::NotFound { .. } => Self::Unavailable(WorkerStartError::of(&error), error.into()),
            error @ (WorkerError::Review { .. }
            | WorkerError::Record { .. }
            | WorkerError::Aside { .. }
            | WorkerError::Objective { .. }
            | WorkerError::Setup { .. }) => Self::Mistake(error.into()),
        }
    }
}

/// Where a list of engines comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListedBy {
    /// A person named each of them for this session: one that would be missed later is told now.
    Person,
    /// The manifest, the seed's order or an earlier command: what is there is taken.
    Standing,
}

/// Opens a list of engines. One that has no key or no program keeps its place and says so when it is asked, as long as another
/// one can be opened. A name that is none is a mistake wherever it stands.
pub(super) fn first_available(
    names: &[String],
    listed_by: ListedBy,
    open: &impl Fn(&str) -> Result<Box<dyn Engine>, Unopened>,
) -> Result<Vec<Box<dyn Engine>>, Problem> {
    let mut engines: Vec<Box<dyn Engine>> = Vec::new();
    let (mut first_missing, mut any) = (None, false);
    for name in names {
        match open(name) {
            Ok(engine) => {
                any = true;
                engines.push(engine);
            }
            Err(Unopened::Unavailable(_, problem)) if any && listed_by == ListedBy::Person => return Err(problem),
            Err(Unopened::Unavailable(error, problem)) => {
                let error = EngineError::NotStarted { engine: name.clone(), error };
                engines.push(Box::new(UnavailableEngine::new(name, error)));
                first_missing.get_or_insert(problem);
            }
            Err(Unopened::Mistake(problem)) => return Err(problem),
        }
    }
    match first_missing {
        Some(problem) if !any => Err(problem),
        Some(_) | None => Ok(engines),
    }
}
