//! The chain: event, activity, intent, gate.

pub mod event;
