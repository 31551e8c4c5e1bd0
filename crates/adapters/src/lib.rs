//! tripwire under other people's agents: hooks and supervisor.
