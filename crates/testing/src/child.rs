//! Waiting for a child that talks on both its streams, and not for ever.

use std::io::Read;
use std::process::{Child, ExitStatus};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Waits until it ends or the time is over, and gives back how it ended and what it said on each stream.
///
/// # Panics
/// When the child cannot be waited for or ended.
#[must_use]
pub fn wait(mut child: Child, at_most: Duration) -> (ExitStatus, String, String) {
    let stdout = child.stdout.take().map(read);
    let stderr = child.stderr.take().map(read);
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > at_most {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let said = |reader: Option<JoinHandle<String>>| reader.map(|reader| reader.join().unwrap()).unwrap_or_default();
    (status, said(stdout), said(stderr))
}

/// Reads a stream beside the other one, so that neither fills up.
fn read(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What came before an error still tells something.
        drop(pipe.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
