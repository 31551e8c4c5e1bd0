//! What the gateway tells of model calls, as inputs of the engine.

use tripwire_clients::hooks::model_request;
use tripwire_core::input::{ModelSpend, What};
use tripwire_core::ledger::SettledCall;
use tripwire_core::units::MicroUsd;
use tripwire_gateway::ModelNews;

/// What is done about a piece of news.
pub(super) enum ModelInput {
    /// It is taken in; with what a call would have needed that was not paid for.
    Take(Box<What>, Option<MicroUsd>),
    /// The guard is broken.
    Fault(String),
    /// The engine has nothing to do with it.
    Nothing,
}

pub(super) fn input(news: ModelNews, role: &str) -> ModelInput {
    match news {
        ModelNews::Settled(call) => {
            let SettledCall { model, micro_usd, usage, .. } = *call;
            ModelInput::Take(Box::new(What::ModelSpend(ModelSpend { model, micro_usd, usage })), None)
        }
        ModelNews::Refused { model, least } => {
            ModelInput::Take(Box::new(model_request(&model, role, Some(least))), Some(least))
        }
        ModelNews::Broken(why) => ModelInput::Fault(why),
        ModelNews::Asked(_) | ModelNews::Answered(_) => ModelInput::Nothing,
    }
}
