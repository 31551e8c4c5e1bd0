//! A client's name on the command line, from the registry of clients.

use clap::ValueEnum;
use clap::builder::PossibleValue;
use std::sync::LazyLock;
use tripwire_clients::Client;

/// A client that was named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientName(Client);

impl ClientName {
    /// The client of this name.
    pub(crate) const fn client(self) -> Client {
        self.0
    }
}

impl ValueEnum for ClientName {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<ClientName>> = LazyLock::new(|| Client::ALL.into_iter().map(ClientName).collect());
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()).help(self.0.adapter().title))
    }
}

/// A client whose settings `init` changes: those with hooks of ours, and those that name tool servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InstallName(Client);

impl InstallName {
    /// The client of this name.
    pub(crate) const fn client(self) -> Client {
        self.0
    }
}

impl ValueEnum for InstallName {
    fn value_variants<'a>() -> &'a [Self] {
        static NAMED: LazyLock<Vec<InstallName>> = LazyLock::new(|| {
            let changed = |client: &Client| !client.is_at_gateway() || client.adapter().servers.is_some();
            Client::every().filter(changed).map(InstallName).collect()
        });
        &NAMED
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()).help(self.0.adapter().title))
    }
}

/// A client that `run` guards: those with hooks, and those that are guarded at the gateway alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GuardedName(Client);

impl GuardedName {
    /// The client of this name.
    pub(crate) const fn client(self) -> Client {
        self.0
    }
}

impl ValueEnum for GuardedName {
    fn value_variants<'a>() -> &'a [Self] {
        static EVERY: LazyLock<Vec<GuardedName>> = LazyLock::new(|| {
            let named = |client: &Client| {
                Client::ALL.iter().all(|other| other.adapter().launch.any_program != Some(client.name()))
            };
            Client::every().filter(named).map(GuardedName).collect()
        });
        &EVERY
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()).help(self.0.adapter().title))
    }
}
