//! The changes: what is added to every output, and what is taken away from every event.

use serde_json::{Value, json};
use tripwire_testing::synthetic::Dice;

/// One thing that changes in every event of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// Nothing.
    None,
    /// `id: req_8f3a2b1c`.
    RequestId,
    /// An id of letters of both cases and digits.
    Base62Id,
    /// `{"request_id":"…"}`.
    JsonRequestId,
    /// A bar that is drawn again and again with carriage returns.
    ProgressBar,
    /// The same with the speed in its last state.
    ProgressSpeed,
    /// `3,21 Sekunden`.
    GermanDuration,
    /// Durations in other languages, another one in each trace.
    ForeignDuration,
    /// The address of a server with a port that was free.
    Port,
    /// The name of a log file, as npm writes it.
    LogName,
    /// A file that a bundler named after its contents.
    AssetHash,
    /// The seed of a random order of tests.
    Seed,
    /// Lines end as on Windows.
    CarriageReturns,
    /// Blanks at the end of each line.
    TrailingBlanks,
    /// `Finished in 3.21s`.
    FinishedLine,
    /// Times are four times as long.
    Slower,
    /// Times are a quarter.
    Faster,
    /// The client does not say what failed.
    NoErrorFlag,
}

impl Change {
    pub(super) const ALL: [Self; 18] = [
        Self::None,
        Self::RequestId,
        Self::Base62Id,
        Self::JsonRequestId,
        Self::ProgressBar,
        Self::ProgressSpeed,
        Self::GermanDuration,
        Self::ForeignDuration,
        Self::Port,
        Self::LogName,
        Self::AssetHash,
        Self::Seed,
        Self::CarriageReturns,
        Self::TrailingBlanks,
        Self::FinishedLine,
        Self::Slower,
        Self::Faster,
        Self::NoErrorFlag,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::RequestId => "request id",
            Self::Base62Id => "base62 id",
            Self::JsonRequestId => "json request id",
            Self::ProgressBar => "progress bar",
            Self::ProgressSpeed => "progress bar with speed",
            Self::GermanDuration => "german duration",
            Self::ForeignDuration => "foreign duration",
            Self::Port => "port",
            Self::LogName => "log name",
            Self::AssetHash => "asset hash",
            Self::Seed => "random seed",
            Self::CarriageReturns => "carriage returns",
            Self::TrailingBlanks => "trailing blanks",
            Self::FinishedLine => "finished line",
            Self::Slower => "times x 4",
            Self::Faster => "times / 4",
            Self::NoErrorFlag => "no error flag",
        }
    }

    /// Whether it only adds what differs from run to run, so that nearly everything must still be found.
    pub(super) const fn is_volatile(self) -> bool {
        !matches!(self, Self::None | Self::Slower | Self::Faster | Self::NoErrorFlag)
    }
}

/// Changes every event of a trace; `number` chooses the random parts.
pub(super) fn apply(change: Change, trace: &mut Value, number: u64) {
    let mut dice = Dice::new(number * 1_000 + 7);
    for event in events(trace) {
        match change {
            Change::None => {}
            Change::Slower | Change::Faster => {
                let Some(at) = event.get("t_ms").and_then(Value::as_u64) else { continue };
                set(event, "t_ms", json!(if change == Change::Slower { at * 4 } else { at / 4 }));
            }
            Change::NoErrorFlag => set(event, "error", Value::Null),
            Change::CarriageReturns => rewrite(event, |text| text.replace('\n', "\r\n")),
            Change::TrailingBlanks => rewrite(event, |text| text.replace('\n', "  \n") + " "),
            Change::RequestId
            | Change::Base62Id
            | Change::JsonRequestId
            | Change::ProgressBar
            | Change::ProgressSpeed
            | Change::GermanDuration
            | Change::ForeignDuration
            | Change::Port
            | Change::LogName
            | Change::AssetHash
            | Change::Seed
            | Change::FinishedLine => {
                let added = added(change, &mut dice, number);
                rewrite(event, |text| format!("{text}\n{added}"));
            }
        }
    }
}

/// The events of a trace.
fn events(trace: &mut Value) -> impl Iterator<Item = &mut Value> {
    trace.get_mut("events").and_then(Value::as_array_mut).into_iter().flatten()
}

/// The line that is added to an output.
fn added(change: Change, dice: &mut Dice, number: u64) -> String {
    let (seconds, hundredths) = (dice.between(1, 59), dice.between(10, 99));
    match change {
        Change::RequestId => format!("id: req_{}", drawn(dice, "0123456789abcdef", 8)),
        Change::Base62Id => format!("id: {}", base62(dice, 12)),
        Change::JsonRequestId => format!("{{\"request_id\":\"{}\",\"ok\":true}}", base62(dice, 16)),
        Change::ProgressBar => bar(dice, ""),
        Change::ProgressSpeed => bar(dice, &format!(" {seconds}.{hundredths} MB/s eta 0:00:00")),
        Change::GermanDuration => format!("Fertig nach {seconds},{hundredths} Sekunden"),
        Change::ForeignDuration => {
            let words = ["secondes", "segundos", "secondi", "seconden", "sekund", "секунды", "秒"];
            let at = usize::try_from(number).unwrap_or(0) % words.len();
            format!("{seconds},{hundredths} {}", words.get(at).unwrap_or(&"secondes"))
        }
        Change::Port => format!("Listening on http://127.0.0.1:{}", dice.between(32_768, 60_999)),
        Change::LogName => format!(
            "A complete log of this run can be found in: /home/u/.npm/_logs/2026-11-15T10_{seconds:02}_{hundredths:02}_{}Z-debug-0.log",
            dice.between(100, 999)
        ),
        Change::AssetHash => format!("dist/assets/index-{}.js", base62(dice, 8)),
        Change::Seed => format!("Randomized with seed {}", dice.between(1_000, 65_000)),
        Change::FinishedLine => format!("Finished in {seconds}.{hundredths}s"),
        Change::None
        | Change::CarriageReturns
        | Change::TrailingBlanks
        | Change::Slower
        | Change::Faster
        | Change::NoErrorFlag => String::new(),
    }
}

/// A progress bar whose states in between differ from run to run.
fn bar(dice: &mut Dice, end: &str) -> String {
    let mut text = String::new();
    let mut done = dice.between(1, 9);
    while done < 100 {
        text.push_str(&format!("\r[{:<10}] {done}%", "#".repeat(usize::try_from(done / 10).unwrap_or(0))));
        done += dice.between(3, 17);
    }
    format!("{text}\r[##########] 100%{end}")
}

fn base62(dice: &mut Dice, length: u64) -> String {
    drawn(dice, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", length)
}

fn drawn(dice: &mut Dice, letters: &str, length: u64) -> String {
    let letters: Vec<char> = letters.chars().collect();
    let count = u64::try_from(letters.len()).unwrap_or(1);
    (0..length).filter_map(|_| letters.get(usize::try_from(dice.below(count)).unwrap_or(0)).copied()).collect()
}

/// Changes the output of an event that has one, and its length by as much.
fn rewrite(event: &mut Value, change: impl FnOnce(&str) -> String) {
    let Some(before) = event.get("output").and_then(Value::as_str) else { return };
    let after = change(before);
    let (long, longer) = (before.chars().count(), after.chars().count());
    let whole = event.get("output_len").and_then(Value::as_u64);
    if let Some(whole) = whole {
        let grown = u64::try_from(longer.saturating_sub(long)).unwrap_or(0);
        set(event, "output_len", json!(whole + grown));
    }
    set(event, "output", json!(after));
}

fn set(event: &mut Value, name: &str, value: Value) {
    if let Some(fields) = event.as_object_mut() {
        fields.insert(name.to_owned(), value);
    }
}
