//! A model call that the gateway settled.

use crate::label::Label;
use crate::units::{MicroUsd, Price};
use crate::usage::Usage;
use serde::{Deserialize, Serialize};

/// A model call that passed the gateway, as it was settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelSpend {
    /// The model.
    pub model: Label,
    /// What was booked.
    pub micro_usd: MicroUsd,
    /// The tokens it was charged for.
    pub usage: Usage,
}

impl ModelSpend {
    /// What it cost, in money and in the tokens that the budget counts.
    #[must_use]
    pub fn price(&self) -> Price {
        let tokens = self.usage.fresh_input.plus(self.usage.output).plus(self.usage.reasoning);
        Price { micro_usd: self.micro_usd, tokens }
    }
}
