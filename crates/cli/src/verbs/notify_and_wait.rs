//! The hidden verb that sends a notification and ends in time.

use crate::error::Problem;
use crate::exit::Exit;
use crate::print;
use clap::Args;
use tripwire_fs::bounded;
use tripwire_notify::Order;

/// Send the message on standard input; started by tripwire itself.
#[derive(Debug, Args)]
pub(crate) struct NotifyArgs {}

/// The longest order: settings and a message, each bounded.
const ORDER_BYTES_MAX: u64 = 64 << 10;

/// Runs the hidden verb.
pub(crate) fn run() -> Result<Exit, Problem> {
    let bytes = bounded::read_beginning(std::io::stdin().lock(), ORDER_BYTES_MAX).map_err(Problem::Output)?;
    let Ok(order) = serde_json::from_slice::<Order>(&bytes) else {
        print::say("tripwire: what is to be sent comes on standard input, from tripwire itself");
        return Ok(Exit::Usage);
    };
    let failed = order.carry_out();
    failed.iter().for_each(|error| print::say(&format!("note: {error}")));
    Ok(if failed.is_empty() { Exit::Done } else { Exit::DoesNotHold })
}
