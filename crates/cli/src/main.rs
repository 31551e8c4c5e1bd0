//! The command `tripwire`: parse, call, print.
fn main() {}
