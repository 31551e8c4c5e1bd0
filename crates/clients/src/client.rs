//! The clients that we know. Adding one is a folder beside `claude/` and a line in this registry.

use crate::adapter::Adapter;
use crate::homes::ClientHome;
use crate::hooks::TurnEnd;
use crate::{claude, codex, gemini};

/// The registry: a variant for each client, with the adapter that speaks its dialect.
macro_rules! registry {
    ($($(#[$doc:meta])* $client:ident => $folder:ident,)+) => {
        /// A client whose dialect we speak.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Client {
            $($(#[$doc])* $client,)+
        }

        impl Client {
            /// All of them.
            pub const ALL: [Self; [$(stringify!($client)),+].len()] = [$(Self::$client),+];

            /// What is special about it.
            #[must_use]
            pub fn adapter(self) -> &'static Adapter {
                match self {
                    $(Self::$client => &$folder::ADAPTER,)+
                }
            }
        }
    };
}

registry! {
    /// Claude Code.
    Claude => claude,
    /// Codex CLI.
    Codex => codex,
    /// Gemini CLI.
    Gemini => gemini,
}

impl Client {
    /// The name on the command line and in our records.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.adapter().settings.client
    }

    /// Its own folder, and what in it is protected.
    #[must_use]
    pub fn home(self) -> &'static ClientHome {
        self.adapter().settings.home
    }

    /// What hooks alone cannot do in it.
    #[must_use]
    pub fn limit_of_hooks(self) -> Option<String> {
        match self.adapter().hooks.turn_end {
            TurnEnd::ByAnswer => None,
            TurnEnd::ByEndingTheClient => Some(format!(
                "no hook of {} can end a turn: a stopped session is refused call by call while its model is asked on, and \
                 in a pause each call waits about a minute before that; `tripwire run {}` ends and holds it",
                self.adapter().title,
                self.name()
            )),
        }
    }

    /// The client of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|client| client.name() == name)
    }
}
