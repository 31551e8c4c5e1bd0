//! Every verb through the binary: its success, its refusal, its broken input.

mod check;
mod completions;
mod decide;
mod explain;
mod hostile;
mod policy;
mod replay;
mod scan;
mod support;
mod usage;
