//! The names nearest to one that does not exist: most mistakes are a slip of a letter or a wrong folder.

use super::walk::{self, Next};
use tripwire_session::files::{Files, WorkPath};

/// How many names an error offers.
const OFFERED: usize = 3;
/// Names longer than this are compared by their beginnings.
const COMPARED_CHARS: usize = 64;
/// Most files that are looked at for a near name.
const FILES_LOOKED_AT: usize = 20_000;

/// The names nearest to `wanted`, best first; names that have little in common with it are left out.
pub(crate) fn names<'n>(wanted: &str, known: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    let bound = (wanted.chars().count() / 3).max(2);
    let mut near: Vec<(usize, &str)> = known
        .into_iter()
        .map(|name| (distance(&wanted, &name.to_lowercase()), name))
        .filter(|(distance, name)| *distance <= bound || name.to_lowercase().contains(&wanted) && wanted.len() >= 3)
        .collect();
    near.sort_unstable();
    near.into_iter().take(OFFERED).map(|(_, name)| name.to_owned()).collect()
}

/// Files of the workspace that `wanted` may mean: the same name elsewhere first, then near names.
pub(crate) fn files(files: &Files, wanted: &str) -> Vec<String> {
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let wanted_name = name(wanted);
    let mut all: Vec<String> = Vec::new();
    walk::walk(files, &WorkPath::root(), &mut |seen| {
        if seen.kind.is_file() {
            all.push(seen.path.to_string());
        }
        if all.len() < FILES_LOOKED_AT { Next::Continue(()) } else { Next::Break(()) }
    });
    let mut found: Vec<String> = all.iter().filter(|path| name(path) == wanted_name).cloned().collect();
    found.sort_by_key(|path| (distance(path, wanted), path.clone()));
    let mut near: Vec<(usize, &String)> = all
        .iter()
        .filter(|path| !found.contains(path))
        .map(|path| (distance(&name(path).to_lowercase(), &wanted_name.to_lowercase()), path))
        .filter(|(distance, _)| *distance <= (wanted_name.chars().count() / 3).max(2))
        .collect();
    near.sort_unstable();
    found.extend(near.into_iter().map(|(_, path)| path.clone()));
    found.truncate(OFFERED);
    found
}

/// `a`, `b` or `c`, for an error.
pub(crate) fn listed(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ")
}

/// How many letters must be changed, added, left out or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let compared = |text: &str| text.chars().take(COMPARED_CHARS).collect::<String>();
    strsim::osa_distance(&compared(a), &compared(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOLS: [&str; 9] = ["edit", "finish", "list", "read_file", "recall", "remember", "search", "shell", "write"];

    #[test]
    fn a_slip_is_recognised() {
        for (wrong, right) in [
            ("readfile", "read_file"),
            ("read_flie", "read_file"),
            ("Read_File", "read_file"),
            ("serach", "search"),
            ("shel", "shell"),
            ("file", "read_file"),
            ("lst", "list"),
        ] {
            assert_eq!(names(wrong, TOOLS).first().map(String::as_str), Some(right), "{wrong}");
        }
    }

    #[test]
    fn what_is_far_from_everything_gets_no_offer() {
        for wrong in ["", "browse_the_web", "xyzzy_plugh"] {
            assert_eq!(names(wrong, TOOLS), Vec::<String>::new(), "{wrong}");
        }
    }

    #[test]
    fn a_file_of_the_same_name_elsewhere_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["src/deep/util.rs", "src/utils.rs", "other.txt"] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let tree = Files::of(folder.path(), folder.path()).unwrap();
        assert_eq!(files(&tree, "util.rs"), ["src/deep/util.rs", "src/utils.rs"]);
        assert_eq!(files(&tree, "nothing/like/it.xyz"), Vec::<String>::new());
    }
}
