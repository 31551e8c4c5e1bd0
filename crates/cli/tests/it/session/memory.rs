//! `tripwire memory`.

use crate::session::fixture::{Place, Said, feed};
use std::fs;
use std::path::PathBuf;

fn content(place: &Place, pointer: &str) -> PathBuf {
    let hex = pointer.trim().rsplit(':').next().unwrap();
    place.geometry(&format!("memory/sha256/{}/{}", &hex[..2], &hex[2..]))
}

#[test]
fn mem_1_get_gives_the_exact_bytes_also_when_they_are_no_text_or_packed() {
    let place = Place::new();
    let bytes: Vec<u8> = (0..=255).cycle().take(10_000).collect();
    let put = Said::of(feed(place.command(&["memory", "put"]), &bytes)).ended(0);
    let pointer = put.out.trim().to_owned();
    assert!(pointer.starts_with("mem:sha256:"), "{pointer}");
    for _ in 0..2 {
        let got = place.command(&["memory", "get", &pointer]).output().unwrap();
        assert!(got.status.success() && got.stdout == bytes);
        place.run(&["memory", "compress", &pointer]).ended(0).says("is packed");
    }
    let short = pointer.get(..20).unwrap();
    assert_eq!(place.command(&["memory", "get", short]).output().unwrap().stdout, bytes);
}

#[test]
fn mem_1_a_compressed_form_points_to_its_original() {
    let place = Place::new();
    fs::write(place.work().join("long"), "a long text").unwrap();
    let original = place.run(&["memory", "put", "long", "--private"]).ended(0).out;
    let form = place.feed(&["memory", "compress", original.trim(), "-", "--form", "summary"], "short").ended(0).out;
    let listed = place.run(&["memory", "list"]).ended(0).says("private").says("summary of it").out;
    assert!(listed.contains(original.trim()) && listed.contains(form.trim()));
    let about = place.run(&["memory", "get", form.trim(), "--json"]).ended(0).json();
    assert_eq!(about["origins"][0]["original"], original.trim());
    assert_eq!(place.run(&["memory", "list", "--json"]).ended(0).json_lines().len(), 2);
}

#[test]
fn mem_1_damaged_content_is_refused_and_never_given() {
    let place = Place::new();
    let pointer = place.feed(&["memory", "put", "-"], "the truth").ended(0).out;
    fs::write(content(&place, &pointer), "a lie").unwrap();
    let said = place.run(&["memory", "get", pointer.trim()]).ended(9).complains("is damaged");
    assert_eq!(said.out, "");
    place.feed(&["memory", "compress", pointer.trim(), "-", "--form", "diff"], "x").ended(9).complains("is damaged");
}

#[test]
fn what_is_not_stored_or_no_pointer_is_a_clear_error() {
    let place = Place::new();
    place.run(&["memory", "get", "mem:sha256:abcd"]).ended(2).complains("nothing is stored");
    place.run(&["memory", "get", "rubbish"]).ended(2).complains("is not a memory pointer");
    place.run(&["memory", "put", "/nonexistent"]).ended(2).complains("cannot open");
    place.run(&["memory", "list"]).ended(0);
    assert_eq!(place.run(&["memory", "compress", "abcd", "--form", "summary"]).code, 2, "a form needs a content");
}
