//! The docs as one book: every link leads somewhere and every page is listed; with mdBook the site itself is made.

use std::path::Path;
use std::process::Command;

use tripwire_testing::{is_long, skip};
use xtask::{api, docs};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

#[test]
fn every_link_of_the_docs_leads_somewhere_and_every_page_is_listed() {
    let book = docs::assemble(root(), &tripwire_cli::command()).unwrap();
    for page in ["index.md", "SUMMARY.md", "verbs/run.md", "rules/loop-1-exact.md", "settings.md", "failures.md"] {
        assert!(book.pages.contains_key(page), "{page} is missing");
    }
    docs::check_outside(root()).unwrap();
}

#[test]
fn the_public_items_of_the_libraries_are_the_committed_ones() {
    if let Err(error) = api::check(root()) {
        panic!("{error}");
    }
}

#[test]
fn the_site_is_made_and_its_links_hold() {
    if !is_long() {
        return;
    }
    if Command::new("mdbook").arg("--version").output().is_err() {
        return skip("mdbook is missing: the site of the docs was not made (`cargo install --locked mdbook`)");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).arg("docs").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("links followed"), "{said}");
}
