//! Steps that can be taken back, on the page.

use super::browser::{self, Browser};
use super::served::Served;
use crate::run::fixture::RunFixture;
use std::fs;

#[test]
fn undo_9_the_page_of_a_session_shows_the_steps_that_can_be_taken_back_and_how() {
    let Some(program) = browser::program() else { return };
    let fixture = RunFixture::new("begin\ntool 'sh ./clean.sh'\ntool 'ls'\nfinish");
    fs::write(fixture.place().join("clean.sh"), "rm '<b>notes'\n").unwrap();
    fs::write(fixture.place().join("<b>notes"), "hours\n").unwrap();
    fixture.run(&[]).ended(0);
    let place = fixture.place().display().to_string();
    let served = Served::of(fixture.verb(&["web", "--json", "--workspace", &place]));
    let mut browser = Browser::start(&program);
    browser.size(1440, 1200);
    browser.open(&served.url);
    browser.until("document.querySelector('a[href^=\"#/s/\"]')");
    browser.ask("document.querySelector('a[href^=\"#/s/\"]').click()");
    browser.until("document.querySelector('.undo')");
    let text = browser.ask("document.querySelector('.undo').textContent").as_str().unwrap().to_owned();
    assert!(text.contains("clean.sh") && text.contains("1 path") && text.contains("tripwire undo "), "{text}");
    assert_eq!(browser.ask("document.querySelectorAll('.undo').length"), 1, "`ls` changed nothing");
    let named = browser.ask("document.querySelector('.undo [title*=\"notes\"]').title");
    assert_eq!(named, "<b>notes", "what agents wrote is text");
    browser.picture("undo");
    assert!(browser.complaints.is_empty(), "{:#?}", browser.complaints);
}
