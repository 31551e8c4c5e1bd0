//! Help for an edit that does not fit: where the text stands more than once, or which lines of the file are nearest.

/// Most line numbers that are named.
const PLACES_SHOWN: usize = 10;
/// Most lines of the file that are shown.
const LINES_SHOWN: usize = 12;
/// Most bytes of them.
const BYTES_SHOWN: usize = 1_500;
/// Most comparisons of lines; a larger file is compared at its beginning.
const COMPARISONS_MAX: usize = 2_000_000;

/// Why a text that must be there once is no guide: it stands there so often.
pub(crate) fn too_many(file: &str, old: &str) -> String {
    let places: Vec<usize> = file.match_indices(old).map(|(at, _)| line_of(file, at)).collect();
    let shown: Vec<String> = places.iter().take(PLACES_SHOWN).map(ToString::to_string).collect();
    let more = if places.len() > PLACES_SHOWN { " and more" } else { "" };
    format!(
        "`old` occurs there {} times, at lines {}{more}; add lines around it until it is the only one, or set `all`",
        places.len(),
        shown.join(", ")
    )
}

/// The nearest lines of a file to a text that is not in it.
pub(crate) fn nearest(file: &str, old: &str) -> String {
    let wanted: Vec<&str> = old.lines().collect();
    let lines: Vec<&str> = file.lines().collect();
    let Some(best) = best_window(&lines, &wanted) else {
        return "`old` is not in the file, and no line is like it".to_owned();
    };
    let shown: Vec<&str> = lines.iter().skip(best.start).take(wanted.len().clamp(1, LINES_SHOWN)).copied().collect();
    let text = shown.join("\n");
    let text = tripwire_core::label::cut(&text, BYTES_SHOWN);
    // As a JSON string the lines can be copied into the next call as they stand.
    let quoted = serde_json::to_string(text).unwrap_or_default();
    let (first, last) = (best.start.saturating_add(1), best.start.saturating_add(shown.len()));
    let difference = match best.likeness {
        Likeness::SpaceOnly => "which differ from `old` in white space only",
        Likeness::Lines | Likeness::Letters => "the nearest ones",
    };
    format!("`old` is not in the file; lines {first} to {last}, {difference}, are {quoted}")
}

fn line_of(file: &str, at: usize) -> usize {
    file.get(..at).unwrap_or_default().matches('\n').count().saturating_add(1)
}

/// How a window of lines is like the wanted ones; the better comes last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Likeness {
    /// One line has letters in common with the first wanted one.
    Letters,
    /// Some lines are the same but for white space.
    Lines,
    /// All lines are.
    SpaceOnly,
}

#[derive(Debug, PartialEq, Eq)]
struct Window {
    start: usize,
    likeness: Likeness,
}

fn best_window(lines: &[&str], wanted: &[&str]) -> Option<Window> {
    let plain: Vec<String> = lines.iter().map(|line| squeezed(line)).collect();
    let wanted: Vec<String> = wanted.iter().map(|line| squeezed(line)).collect();
    let length = wanted.len().max(1);
    let starts = plain.len().min(COMPARISONS_MAX / length);
    let same = |start: usize| {
        let pairs = wanted.iter().zip(plain.iter().skip(start));
        pairs.filter(|(a, b)| a == b && !a.is_empty()).count()
    };
    let (score, start) =
        (0..starts).map(|start| (same(start), start)).max_by_key(|(score, start)| (*score, usize::MAX - start))?;
    let meant = wanted.iter().filter(|line| !line.is_empty()).count();
    if score > 0 {
        let likeness = if score == meant { Likeness::SpaceOnly } else { Likeness::Lines };
        return Some(Window { start, likeness });
    }
    let first = wanted.iter().find(|line| !line.is_empty())?;
    let (likeness, start) = plain
        .iter()
        .take(COMPARISONS_MAX / 64)
        .enumerate()
        .map(|(start, line)| (in_common(first, line), start))
        .max_by_key(|(common, start)| (*common, usize::MAX - start))?;
    (likeness >= LIKENESS_MIN).then_some(Window { start, likeness: Likeness::Letters })
}

/// Pairs of letters in common that make two lines alike, in per cent.
const LIKENESS_MIN: usize = 45;

/// A line without the white space at its ends, and with single spaces inside.
fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The share of neighbouring pairs of letters that two lines have in common, in per cent.
fn in_common(a: &str, b: &str) -> usize {
    let pairs = |text: &str| -> Vec<(char, char)> {
        let letters: Vec<char> = text.chars().take(200).collect();
        let mut pairs: Vec<(char, char)> = letters.windows(2).filter_map(|w| Some((*w.first()?, *w.last()?))).collect();
        pairs.sort_unstable();
        pairs
    };
    let (a, b) = (pairs(a), pairs(b));
    let (mut i, mut j, mut common) = (0, 0, 0_usize);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        match x.cmp(y) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                common += 1;
                i += 1;
                j += 1;
            }
        }
    }
    let all = a.len().saturating_add(b.len());
    common.saturating_mul(200).checked_div(all).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "fn main() {\n    let total = sum(&numbers);\n    println!(\"{total}\");\n}\n";

    #[test]
    fn white_space_alone_is_told() {
        let help = nearest(FILE, "let total = sum(&numbers);\nprintln!(\"{total}\");\n");
        assert!(help.contains("lines 2 to 3") && help.contains("white space only"), "{help}");
        assert!(help.contains(r#""    let total = sum(&numbers);\n    println!(\"{total}\");""#), "{help}");
    }

    #[test]
    fn a_similar_line_is_found_and_a_foreign_one_is_not() {
        let help = nearest(FILE, "    let totals = summ(&numbers)");
        assert!(help.contains("lines 2 to 2"), "{help}");
        assert!(nearest(FILE, "class Reservation: pass").contains("no line is like it"));
        assert!(nearest("", "x").contains("no line is like it"));
    }

    #[test]
    fn the_places_of_a_repeated_text_are_named_in_part() {
        let file = "x\n".repeat(30);
        let help = too_many(&file, "x");
        assert!(help.contains("30 times, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and more"), "{help}");
    }
}
