//! `tripwire web`: its server as a stranger meets it, and its page in a real browser.

mod browser;
mod hostile;
mod page;
mod report;
mod served;
mod verbs;
