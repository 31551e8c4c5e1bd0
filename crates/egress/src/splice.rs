//! Carrying bytes both ways once every check has passed: idle time-outs, half-closed ends, true byte counts.

use std::io;
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::limits::{COPY_BYTES, Limits, THREAD_STACK_BYTES};
use super::log::EndReason;
use super::wire::{Side, is_transient};

/// Bytes that one connection moved, counted as they are handed to the other side's socket.
#[derive(Debug, Default)]
pub(super) struct Moved {
    pub(super) up: AtomicU64,
    pub(super) down: AtomicU64,
}

/// Carries bytes until both directions are done. Fails only if there is no thread for the second direction.
pub(super) fn splice(client: &dyn Side, server: &dyn Side, moved: &Moved, limits: &Limits) -> io::Result<EndReason> {
    let tunnel = Tunnel {
        client,
        server,
        idle: limits.idle_time,
        half_closed_idle: limits.half_closed_time,
        origin: Instant::now(),
        last_ms: AtomicU64::new(0),
        half_closed: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        let down = thread::Builder::new()
            .name("allow-list-down".to_owned())
            .stack_size(THREAD_STACK_BYTES)
            .spawn_scoped(scope, || tunnel.pump(server, client, &moved.down))?;
        let up = tunnel.pump(client, server, &moved.up);
        // A panic in the other direction has closed nothing; ending here closes both sockets.
        Ok(up.max(down.join().unwrap_or(EndReason::Broken)))
    })
}

/// How one direction came to its end.
enum CopyEnd {
    SourceDone,
    SourceFailed,
    SinkGone,
    Idle,
}

struct Tunnel<'a> {
    client: &'a dyn Side,
    server: &'a dyn Side,
    idle: Duration,
    half_closed_idle: Duration,
    origin: Instant,
    /// When a byte last moved in either direction, in milliseconds since `origin`.
    last_ms: AtomicU64,
    half_closed: AtomicBool,
}

impl Tunnel<'_> {
    /// Carries one direction to its end and closes what that end calls for.
    fn pump(&self, from: &dyn Side, to: &dyn Side, count: &AtomicU64) -> EndReason {
        match self.copy(from, to, count) {
            CopyEnd::SourceDone => {
                self.half_close(to, Shutdown::Write);
                EndReason::Closed
            }
            // A peer that stopped listening may still be answering: a server that refuses an upload says so and closes.
            CopyEnd::SinkGone => {
                self.half_close(from, Shutdown::Read);
                EndReason::Broken
            }
            CopyEnd::SourceFailed => {
                self.close_both();
                EndReason::Broken
            }
            CopyEnd::Idle => {
                self.close_both();
                EndReason::Idle
            }
        }
    }

    fn half_close(&self, side: &dyn Side, how: Shutdown) {
        self.touch();
        self.half_closed.store(true, Ordering::Release);
        side.close(how);
    }

    fn close_both(&self) {
        self.client.close(Shutdown::Both);
        self.server.close(Shutdown::Both);
    }

    fn copy(&self, from: &dyn Side, to: &dyn Side, count: &AtomicU64) -> CopyEnd {
        let mut buffer = vec![0; COPY_BYTES];
        let mut armed = Duration::ZERO;
        if to.write_time(self.slice(self.idle)).is_err() {
            return CopyEnd::SinkGone;
        }
        loop {
            let Some(left) = self.left() else {
                return CopyEnd::Idle;
            };
            let slice = self.slice(left);
            // While bytes flow the slice stays the same, and the socket's time-out need not be set again.
            if slice != armed && from.read_time(slice).is_err() {
                return CopyEnd::SourceFailed;
            }
            armed = slice;
            match from.read_once(&mut buffer) {
                Ok(0) => return CopyEnd::SourceDone,
                Ok(read) => {
                    if let Err(end) = self.write_all(to, buffer.get(..read).unwrap_or_default(), count) {
                        return end;
                    }
                }
                Err(error) if is_transient(&error) => {}
                Err(_) => return CopyEnd::SourceFailed,
            }
        }
    }

    fn write_all(&self, to: &dyn Side, mut bytes: &[u8], count: &AtomicU64) -> Result<(), CopyEnd> {
        self.touch();
        while !bytes.is_empty() {
            match to.write_once(bytes) {
                Ok(0) => return Err(CopyEnd::SinkGone),
                Ok(written) => {
                    count.fetch_add(u64::try_from(written).unwrap_or(0), Ordering::Relaxed);
                    bytes = bytes.get(written..).unwrap_or_default();
                    self.touch();
                }
                Err(error) if is_transient(&error) => {
                    if self.left().is_none() {
                        return Err(CopyEnd::Idle);
                    }
                }
                Err(_) => return Err(CopyEnd::SinkGone),
            }
        }
        Ok(())
    }

    fn touch(&self) {
        self.last_ms.store(self.now_ms(), Ordering::Release);
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// What is left until the tunnel counts as idle, or `None` when it does.
    fn left(&self) -> Option<Duration> {
        let limit = if self.half_closed.load(Ordering::Acquire) { self.half_closed_idle } else { self.idle };
        let quiet = self.now_ms().saturating_sub(self.last_ms.load(Ordering::Acquire));
        limit.checked_sub(Duration::from_millis(quiet)).filter(|left| !left.is_zero())
    }

    /// A wait is cut into slices, because the other direction may end meanwhile and shorten the limit.
    fn slice(&self, wait: Duration) -> Duration {
        wait.min(self.half_closed_idle).min(self.idle)
    }
}
