//! `tripwire web`: its server as a stranger meets it, and its page in a real browser.

mod answers;
mod bars;
mod browser;
mod fleet;
mod hostile;
mod link;
mod long;
mod page;
mod report;
mod served;
mod tls;
mod undo;
mod verbs;
