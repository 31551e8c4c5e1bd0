//! Segments: the files that the journal is cut into, so that opening and reading touch a bounded part of it.

use super::error::{Damage, DamageCause};
use super::head::Place;
use super::line::{Line, LineFault, Tail};
use crate::names;
use crate::storage::offset;

/// How a line is checked against the chain.
pub(crate) type LineCheck = for<'text> fn(&'text [u8], &Tail) -> Result<Line<'text>, LineFault>;

/// The numbers of the segments among some file names; they must be 1, 2, 3 … without a hole.
pub(crate) fn numbers(files: &[String]) -> Result<u64, String> {
    let mut numbers: Vec<u64> = files.iter().filter_map(|text| parse_name(text)).collect();
    numbers.sort_unstable();
    for (expected, found) in (1_u64..).zip(&numbers) {
        if expected != *found {
            return Err(names::segment(expected));
        }
    }
    Ok(u64::try_from(numbers.len()).unwrap_or(u64::MAX))
}

/// How many segments come before one with this name.
pub(crate) fn before(name: &str) -> u64 {
    parse_name(name).map_or(0, |number| number.saturating_sub(1))
}

fn parse_name(text: &str) -> Option<u64> {
    let number = text.strip_suffix(names::SEGMENT_SUFFIX)?.parse().ok()?;
    (names::segment(number) == text).then_some(number)
}

/// How far a piece of a segment verifies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scan {
    /// The chain after the last valid line.
    pub(crate) tail: Tail,
    /// The number of valid bytes.
    pub(crate) valid: usize,
    /// Where the last valid line begins; equal to `valid` if there is none.
    pub(crate) last: usize,
    /// Why the rest, if any, is not valid.
    pub(crate) fault: Option<LineFault>,
}

impl Scan {
    /// The place behind the valid lines, where the piece began at another one.
    pub(crate) fn reached(&self, begin: &Place) -> Place {
        Place {
            end: begin.end + offset(self.valid),
            last: if self.valid == 0 { begin.last } else { begin.end + offset(self.last) },
            segment: begin.segment,
            tail: self.tail,
        }
    }
}

/// Walks over lines as long as they continue the chain, and shows each one.
pub(crate) fn scan<E>(
    bytes: &[u8],
    tail: Tail,
    check: LineCheck,
    mut each: impl FnMut(&Line<'_>, &[u8]) -> Result<(), E>,
) -> Result<Scan, E> {
    let mut scan = Scan { tail, valid: 0, last: 0, fault: None };
    loop {
        let rest = bytes.get(scan.valid..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(scan);
        }
        let Some(length) = rest.iter().position(|byte| *byte == b'\n') else {
            scan.fault = Some(LineFault::Unfinished);
            return Ok(scan);
        };
        let raw = rest.get(..length).unwrap_or_default();
        let line = match check(raw, &scan.tail) {
            Ok(line) => line,
            Err(fault) => {
                scan.fault = Some(fault);
                return Ok(scan);
            }
        };
        each(&line, raw)?;
        scan.tail = Tail { hash: line.hash, index: line.index + 1 };
        scan.last = scan.valid;
        scan.valid += length + 1;
    }
}

/// Decides about bytes behind the last valid line: torn, or damage.
///
/// They are torn if nothing in them proves that the first missing record was durable once. A later record whose
/// `synced` counts it in is such a proof; a later record without it was part of the same unfinished write, whose
/// sectors a disk may keep in any order.
pub(crate) fn judge(rest: &[u8], bad: u64, fault: LineFault) -> Result<(), Damage> {
    for raw in rest.split(|byte| *byte == b'\n') {
        let start = raw.iter().rposition(|byte| *byte == 0).map_or(0, |zero| zero + 1);
        let raw = raw.get(start..).unwrap_or_default();
        let Ok(line) = super::line::parse(raw) else {
            continue;
        };
        if line.times().is_ok_and(|times| times.synced > bad) {
            return Err(Damage::new(bad, DamageCause::Line(fault)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::super::line::{self, Times};
    use super::*;

    fn lines(count: u64, synced: impl Fn(u64) -> u64) -> Vec<String> {
        let mut tail = Tail::genesis();
        (0..count)
            .map(|index| {
                let mut out = String::new();
                let times = Times {
                    cut: None,
                    durations_ms: [].into(),
                    host: "test".into(),
                    synced: synced(index),
                    wall_ms: index,
                };
                line::render(&mut out, &mut tail, &index.to_string(), &times).unwrap();
                out
            })
            .collect()
    }

    fn run(text: &[u8]) -> Scan {
        scan(text, Tail::genesis(), line::check, |_line, _raw| Ok::<(), Infallible>(())).unwrap()
    }

    #[test]
    fn a_whole_segment_scans_to_its_end() {
        let lines = lines(3, |_| 0);
        let text = lines.concat();
        let scan = run(text.as_bytes());
        assert_eq!((scan.tail.index, scan.valid, scan.fault), (3, text.len(), None));
        assert_eq!(scan.last, text.len() - lines[2].len());
    }

    #[test]
    fn an_unfinished_line_ends_the_scan() {
        let lines = lines(3, |_| 0);
        let text = lines.concat();
        let scan = run(&text.as_bytes()[..text.len() - 1]);
        assert_eq!((scan.tail.index, scan.fault), (2, Some(LineFault::Unfinished)));
    }

    #[test]
    fn a_later_record_that_counts_the_hole_in_proves_damage() {
        let lines = lines(4, |index| index);
        let rest = format!("garbage\n{}", lines[3]);
        assert!(judge(rest.as_bytes(), 2, LineFault::Shape).is_err());
        let zeros = format!("\0\0\0{}", lines[3]);
        assert!(judge(zeros.as_bytes(), 2, LineFault::Shape).is_err());
    }

    #[test]
    fn a_later_record_of_the_same_unsynced_write_proves_nothing() {
        let lines = lines(4, |_| 2);
        let rest = format!("\0\0garbage\n{}", lines[3]);
        assert!(judge(rest.as_bytes(), 2, LineFault::Shape).is_ok());
        assert!(judge(b"garbage", 2, LineFault::Shape).is_ok());
    }

    #[test]
    fn segment_numbers_have_no_holes() {
        let files = |list: &[u64]| list.iter().copied().map(names::segment).collect::<Vec<_>>();
        assert_eq!(numbers(&files(&[1, 2, 3])), Ok(3));
        assert_eq!(numbers(&files(&[1, 3])), Err(names::segment(2)));
        assert_eq!(numbers(&files(&[2])), Err(names::segment(1)));
        assert_eq!(numbers(&["HEAD".to_owned(), "1.jsonl".to_owned()]), Ok(0));
    }
}
