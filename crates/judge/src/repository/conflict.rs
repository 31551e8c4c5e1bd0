//! Whether a file in conflict holds nothing but what git wrote into it.

/// The marks that git puts around the two sides, with the third that names what both come from.
const MARKS: [&str; 4] = ["<<<<<<<", "|||||||", "=======", ">>>>>>>"];

/// Whether every line of a file in conflict is a mark of git or a line of one of the sides, or the file is one of the
/// sides: then choosing a side loses nothing that somebody wrote while resolving.
pub(crate) fn is_untouched(text: &str, sides: &[String]) -> bool {
    if sides.iter().any(|side| side == text) {
        return true;
    }
    let known: std::collections::BTreeSet<&str> = sides.iter().flat_map(|side| side.lines()).collect();
    let is_mark = |line: &str| MARKS.iter().any(|mark| line.strip_prefix(mark).is_some_and(is_end_of_mark));
    let marked = ["<<<<<<<", "=======", ">>>>>>>"].iter().all(|mark| text.lines().any(|line| line.starts_with(mark)));
    marked && text.lines().all(|line| known.contains(line) || is_mark(line))
}

/// Behind a mark stands nothing, or a blank and the name of the side.
fn is_end_of_mark(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(' ')
}

#[cfg(test)]
mod tests {
    use super::is_untouched;

    #[test]
    fn a_line_that_no_side_has_is_somebodys_work() {
        let sides = ["a\nb\n".to_owned(), "a\nc\n".to_owned()];
        assert!(is_untouched("a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> topic\n", &sides));
        assert!(is_untouched("a\n<<<<<<< HEAD\nb\n||||||| base\n=======\nc\n>>>>>>> topic\n", &sides));
        assert!(is_untouched("a\nc\n", &sides));
        assert!(!is_untouched("a\n<<<<<<< HEAD\nb\n=======\nmine\n>>>>>>> topic\n", &sides));
        assert!(!is_untouched("a\nb\nc\n", &sides), "resolved by hand");
        assert!(!is_untouched("a\n<<<<<<<x\n=======\n>>>>>>> y\n", &sides));
    }
}
