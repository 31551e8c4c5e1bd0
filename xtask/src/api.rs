//! The public items of the library crates as committed lists, so that a change of them is seen in review and in the tests.
//!
//! The lists are read from the sources: a compiler's own listing (rustdoc's JSON) needs a nightly toolchain, and a comparison
//! with a published version needs one that is published. What macros make is not seen; it is named as such.

mod list;
mod source;

use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use source::{Crate, SourceError};

/// The crates that others may build on.
pub const CRATES: [&str; 5] = ["core", "shell", "observe", "judge", "journal"];

/// Where the lists are, relative to the repository.
pub const FOLDER: &str = "docs/reference/api";

/// The lists could not be made, or are not what the sources say.
#[derive(Debug)]
pub enum ApiError {
    /// The disk refused.
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// A source cannot be parsed.
    Rust {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        cause: syn::Error,
    },
    /// The committed list is another one.
    Changed {
        /// The list.
        file: String,
        /// Lines that are gone: code that used them no longer compiles.
        gone: Vec<String>,
        /// Lines that are new.
        new: Vec<String>,
    },
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, cause } => write!(f, "cannot use `{}`: {cause}", path.display()),
            Self::Rust { path, cause } => write!(f, "cannot parse `{}`: {cause}", path.display()),
            Self::Changed { file, gone, new } => {
                write!(f, "the public items are not those of `{file}`; if that is meant, run `cargo xtask api`")?;
                gone.iter().try_for_each(|line| write!(f, "\n- {line}"))?;
                new.iter().try_for_each(|line| write!(f, "\n+ {line}"))
            }
        }
    }
}

impl std::error::Error for ApiError {}

impl From<SourceError> for ApiError {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Io(path, cause) => Self::Io { path, cause },
            SourceError::Rust(path, cause) => Self::Rust { path, cause },
        }
    }
}

/// The list of one crate, by its folder's name below `crates/`.
///
/// # Errors
/// When its sources cannot be read.
pub fn list(root: &Path, name: &str) -> Result<String, ApiError> {
    let sources = Crate::read(&root.join("crates").join(name).join("src/lib.rs"))?;
    Ok(list::lines(&sources).into_iter().map(|line| format!("{line}\n")).collect())
}

/// Writes all lists and says which files they are.
///
/// # Errors
/// When a source cannot be read or a list cannot be written.
pub fn write(root: &Path) -> Result<Vec<PathBuf>, ApiError> {
    let mut written = Vec::new();
    for name in CRATES {
        let path = root.join(file(name));
        let text = list(root, name)?;
        path.parent().map_or(Ok(()), fs::create_dir_all).map_err(|cause| failed(&path, cause))?;
        fs::write(&path, text).map_err(|cause| failed(&path, cause))?;
        written.push(path);
    }
    Ok(written)
}

/// Compares the committed lists with the sources.
///
/// # Errors
/// When one differs, with the lines.
pub fn check(root: &Path) -> Result<(), ApiError> {
    for name in CRATES {
        let path = root.join(file(name));
        let committed = fs::read_to_string(&path).map_err(|cause| failed(&path, cause))?;
        compare(&file(name), &committed, &list(root, name)?)?;
    }
    Ok(())
}

fn compare(file: &str, committed: &str, now: &str) -> Result<(), ApiError> {
    if committed == now {
        return Ok(());
    }
    let only = |one: &str, other: &str| -> Vec<String> {
        one.lines().filter(|line| !other.lines().any(|known| known == *line)).map(str::to_owned).collect()
    };
    Err(ApiError::Changed { file: file.to_owned(), gone: only(committed, now), new: only(now, committed) })
}

fn file(name: &str) -> String {
    format!("{FOLDER}/tripwire-{name}.txt")
}

fn failed(path: &Path, cause: io::Error) -> ApiError {
    ApiError::Io { path: path.to_owned(), cause }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_list_names_what_is_gone_and_what_is_new() {
        assert!(compare("f", "a\nb\n", "a\nb\n").is_ok());
        let said = compare("f", "a\nb\n", "a\nc\n").unwrap_err().to_string();
        assert!(said.contains("\n- b") && said.contains("\n+ c") && said.contains("cargo xtask api"), "{said}");
    }
}
