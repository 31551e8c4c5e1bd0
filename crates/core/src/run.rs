//! Our own loop as pure functions: what has been learnt goes in, what to do next comes out.

pub mod fallback;
