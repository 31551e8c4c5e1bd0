//! tripwire's own agent loop: engines, tools, prompts.
