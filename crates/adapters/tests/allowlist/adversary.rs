//! What an attacker inside the sandbox tries beyond the single rules.
