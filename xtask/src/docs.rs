//! The site of the docs, by one command: the pages of the repository, one page per verb from the parser, one per rule and
//! setting from the catalogue, every link checked, made into HTML by mdBook.
//!
//! What is generated stands below `target/` and is not committed. mdBook is a tool of the person who builds the site: nothing
//! else needs it, and without it the command says how to get it.

mod book;
mod error;
mod html;
mod rules;
mod text;
mod verbs;

use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::{env, fs};

use clap::Command;

pub use book::{Book, assemble, check_outside};
pub use error::{DocsError, FOLDER, MDBOOK_VERSION};

use error::failed;

const BOOK_TOML: &str = r#"[book]
title = "tripwire"
description = "A deterministic safety runtime for autonomous LLM agents"
language = "en"

[build]
build-dir = "site"
create-missing = false

[output.html]
smart-punctuation = false
no-section-label = true

[output.html.fold]
enable = true
level = 0

[output.html.search]
limit-results = 30
use-boolean-and = true
"#;

/// Writes the book, has mdBook make the site of it, and checks every link of the site. Says where it is.
///
/// # Errors
/// When one of these fails; without mdBook the sources are written all the same.
pub fn build(root: &Path, command: &Command) -> Result<Site, DocsError> {
    let book = assemble(root, command)?;
    let folder = root.join(FOLDER);
    write(&book, &folder)?;
    let program = env::var_os("MDBOOK").unwrap_or_else(|| "mdbook".into());
    let status = Process::new(program).arg("build").arg(&folder).status().map_err(DocsError::NoMdbook)?;
    if !status.success() {
        return Err(DocsError::Mdbook(status));
    }
    let site = folder.join("site");
    let links = html::check(&site)?;
    Ok(Site { folder: site, pages: book.pages.len(), links })
}

/// A site that was made.
#[derive(Debug)]
pub struct Site {
    /// Where it is.
    pub folder: PathBuf,
    /// How many pages it was made of.
    pub pages: usize,
    /// How many links within it were followed.
    pub links: usize,
}

/// Writes the sources of the book; what was there before goes.
///
/// # Errors
/// When the disk refuses.
pub fn write(book: &Book, folder: &Path) -> Result<(), DocsError> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|cause| failed(folder, cause))?;
    }
    let texts = book.pages.iter().map(|(name, text)| (name, text.as_bytes()));
    for (name, bytes) in texts.chain(book.files.iter().map(|(name, bytes)| (name, bytes.as_slice()))) {
        let path = folder.join("src").join(name);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(|cause| failed(parent, cause))?;
        fs::write(&path, bytes).map_err(|cause| failed(&path, cause))?;
    }
    let settings = folder.join("book.toml");
    fs::write(&settings, BOOK_TOML).map_err(|cause| failed(&settings, cause))
}
