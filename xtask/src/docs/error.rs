//! Why a site could not be made.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::{fmt, io};

/// Where the book goes, relative to the repository; the site is in `site` below it.
pub const FOLDER: &str = "target/docs";

/// The version of mdBook that the site is made and looked at with.
pub const MDBOOK_VERSION: &str = "0.5.4";

/// The site could not be made.
#[derive(Debug)]
pub enum DocsError {
    /// The disk refused.
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// Links that lead nowhere, pages that no list names: one line each.
    Broken(Vec<String>),
    /// There is no mdBook here.
    NoMdbook(io::Error),
    /// mdBook did not make the site.
    Mdbook(ExitStatus),
}

impl fmt::Display for DocsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, cause } => write!(f, "cannot use `{}`: {cause}", path.display()),
            Self::Broken(lines) => write!(f, "{} problems:\n{}", lines.len(), lines.join("\n")),
            Self::NoMdbook(cause) => write!(
                f,
                "cannot run `mdbook`: {cause}; get it with `cargo install --locked mdbook@{MDBOOK_VERSION}`, or name it in \
                 the variable MDBOOK; the book's sources are in `{FOLDER}/src`"
            ),
            Self::Mdbook(status) => write!(f, "`mdbook build` ended with {status}"),
        }
    }
}

impl std::error::Error for DocsError {}

/// The disk refused this file or folder.
pub(crate) fn failed(path: &Path, cause: io::Error) -> DocsError {
    DocsError::Io { path: path.to_owned(), cause }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_mdbook_the_error_says_how_to_get_it() {
        let error = DocsError::NoMdbook(io::Error::from(io::ErrorKind::NotFound)).to_string();
        assert!(error.contains("cargo install --locked mdbook@"), "{error}");
    }
}
