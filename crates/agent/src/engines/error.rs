//! What a person can do about an engine that does not answer.

use super::EngineError;

impl EngineError {
    /// The next step, with the command where there is one.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::NoKey { variable, .. } => {
                format!("set it, as in `export {variable}=…`, or choose `--engine ollama:MODEL`")
            }
            Self::KeyRefused { .. } => "check the key in the environment, and that it may use this model".to_owned(),
            Self::UnknownModel { .. } => "check the model's name in `--engine NAME:MODEL`".to_owned(),
            Self::Unreachable { .. } => {
                "check the address and that the server runs; a local one is `@http://127.0.0.1:PORT/v1`".to_owned()
            }
            Self::Overloaded { retry_after: Some(wait), .. } | Self::RateLimited { retry_after: Some(wait), .. } => {
                format!("it asks to wait {} s; or name another engine with `--fallback`", wait.as_secs_f64().ceil())
            }
            Self::Overloaded { .. } | Self::RateLimited { .. } => {
                "try again later, or name another engine with `--fallback`".to_owned()
            }
            Self::ContextExhausted { .. } => {
                "begin a new session with a smaller task, or choose a model with a larger window".to_owned()
            }
            Self::Refused { .. } => "the provider's words say what it did not like; nothing was changed".to_owned(),
            Self::Broken { .. } => {
                "try again; if it stays, the server does not speak the dialect of this engine".to_owned()
            }
            Self::CassetteEnded { .. } => {
                "add the answer to the cassette, or record it again with `tripwire agent --record FILE`".to_owned()
            }
            Self::TooSensitive { .. } => {
                "name a local engine with `--fallback`, for instance `--fallback ollama:MODEL`".to_owned()
            }
            Self::NotStarted { .. } => "check with `tripwire doctor` that the client runs under the guard".to_owned(),
            Self::Deadline { .. } => "give it more time with `--max-runtime`".to_owned(),
            Self::Cut { .. } => {
                "it was stopped on purpose and nothing was begun; give the same command again".to_owned()
            }
        }
    }
}
