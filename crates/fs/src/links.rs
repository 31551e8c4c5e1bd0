//! Where a path leads once its links are followed, as the system follows them. What does not exist yet keeps its name, also
//! behind a link that leads to nothing yet: writing through it would make that file.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The most links that the system follows in one path.
const LINKS_MAX: usize = 40;

/// Whether a part of a path was found on the disk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reached {
    Existing,
    Missing,
}

/// Where a path leads; nothing where that cannot be known: links in a circle, or `..` behind something that is not there.
#[must_use]
pub fn followed(path: &Path) -> Option<PathBuf> {
    follow(PathBuf::new(), &std::path::absolute(path).ok()?)
}

/// The same for a path below a folder whose own name holds no links.
#[must_use]
pub fn followed_below(folder: &Path, path: &Path) -> Option<PathBuf> {
    follow(folder.to_owned(), path)
}

fn follow(mut found: PathBuf, path: &Path) -> Option<PathBuf> {
    let mut rest = Vec::new();
    put_before(&mut rest, path);
    let (mut links, mut reached) = (0, Reached::Existing);
    while let Some(part) = rest.pop() {
        if part == "." {
            continue;
        }
        if part == ".." {
            if reached == Reached::Missing {
                return None;
            }
            found.pop();
            continue;
        }
        found.push(&part);
        if reached == Reached::Missing || part == "/" {
            continue;
        }
        match std::fs::read_link(&found) {
            Ok(target) => {
                links += 1;
                if links > LINKS_MAX {
                    return None;
                }
                found.pop();
                put_before(&mut rest, &target);
            }
            Err(error) if error.kind() == ErrorKind::InvalidInput => {}
            Err(_) => reached = Reached::Missing,
        }
    }
    Some(found)
}

/// Puts the parts of a path before what is still to be followed, of which the next is the last.
fn put_before(rest: &mut Vec<OsString>, path: &Path) {
    rest.extend(path.components().rev().map(|part| part.as_os_str().to_owned()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_path_leads_where_the_system_would_go() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("docs/deep")).unwrap();
        fs::write(top.join("docs/file"), "x").unwrap();
        for (target, link) in [
            ("docs", "way"),
            ("way/deep", "deep"),
            ("docs/none", "dangling"),
            ("dangling", "again"),
            ("circle", "circle"),
            ("/", "out"),
        ] {
            symlink(target, top.join(link)).unwrap();
        }
        for (path, expected) in [
            ("docs/file", Some("docs/file")),
            ("./way//file", Some("docs/file")),
            ("way/new/name", Some("docs/new/name")),
            ("deep/../file", Some("docs/file")),
            ("again", Some("docs/none")),
            ("again/below", Some("docs/none/below")),
            ("docs/file/below", Some("docs/file/below")),
            ("circle/name", None),
            ("none/../docs", None),
        ] {
            assert_eq!(followed(&top.join(path)), expected.map(|name| top.join(name)), "{path}");
            assert_eq!(followed_below(&top, Path::new(path)), expected.map(|name| top.join(name)), "{path}");
        }
        assert_eq!(followed(&top.join("out/usr")), Some(PathBuf::from("/usr")));
        assert_eq!(followed(Path::new("/..")), Some(PathBuf::from("/")));
    }
}
