//! The clients that we know. Adding one is a folder beside `claude/` and a line in this registry.

use crate::adapter::{Adapter, Door};
use crate::homes::ClientHome;
use crate::hooks::TurnEnd;
use crate::{aider, anthropic_api, claude, codex, gemini, gemini_api, mcp, openai_api, opencode, qwen};

/// The registry: a variant for each client, with the adapter that speaks its dialect.
macro_rules! registry {
    (hooks { $($(#[$doc:meta])* $client:ident => $folder:ident,)+ }
     gateway { $($(#[$more:meta])* $other:ident => $place:ident,)+ }
     own { $(#[$ours:meta])* $guard:ident => $part:ident, }) => {
        /// A client whose dialect we speak.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Client {
            $($(#[$doc])* $client,)+
            $($(#[$more])* $other,)+
            $(#[$ours])* $guard,
        }

        impl Client {
            /// Those with hooks of ours, which can be installed.
            pub const ALL: [Self; [$(stringify!($client)),+].len()] = [$(Self::$client),+];
            /// Those that are guarded at the gateway of a supervised run.
            pub const AT_GATEWAY: [Self; [$(stringify!($other)),+].len()] = [$(Self::$other),+];

            /// What is special about it.
            #[must_use]
            pub fn adapter(self) -> &'static Adapter {
                match self {
                    $(Self::$client => &$folder::ADAPTER,)+
                    $(Self::$other => &$place::ADAPTER,)+
                    Self::$guard => &$part::ADAPTER,
                }
            }
        }
    };
}

registry! {
    hooks {
        /// Claude Code.
        Claude => claude,
        /// Codex CLI.
        Codex => codex,
        /// Gemini CLI.
        Gemini => gemini,
    }
    gateway {
        /// opencode.
        Opencode => opencode,
        /// Qwen Code.
        Qwen => qwen,
        /// aider.
        Aider => aider,
        /// Any program that speaks Anthropic's API.
        AnthropicApi => anthropic_api,
        /// Any program that speaks OpenAI's API.
        OpenAiApi => openai_api,
        /// Any program that speaks Gemini's API.
        GeminiApi => gemini_api,
    }
    own {
        /// The MCP guard, which asks about each call of a tool server, whichever client makes it.
        Mcp => mcp,
    }
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
        Self::every().chain([Self::Mcp]).find(|client| client.name() == name)
    }

    /// All clients, those with hooks first; our own MCP guard is none.
    pub fn every() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().chain(Self::AT_GATEWAY)
    }

    /// Whether it is guarded at the gateway alone.
    #[must_use]
    pub fn is_at_gateway(self) -> bool {
        self.adapter().door == Door::Gateway
    }
}
