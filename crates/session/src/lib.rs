//! Drives a session: the one writer of its journal, and everything that reads it back.

pub mod approval_link;
pub mod approvals;
pub mod body;
pub mod booked_ledger;
pub mod driver;
pub mod ended;
pub mod execution;
pub mod file_marks;
pub mod files;
pub mod foreign;
pub mod formats;
pub mod ledger;
pub mod memory;
pub mod newest;
pub mod notify;
pub mod redaction;
pub mod replay;
pub mod replica;
pub mod review;
pub mod shared_money;
pub mod sources;
pub mod staging;
pub mod supervised;
pub mod transcript;
