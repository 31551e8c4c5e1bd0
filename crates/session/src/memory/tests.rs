//! Exact bytes or a clear error, in every case.

use super::*;
use tripwire_core::explain::Explain as _;
use tripwire_testing::{TestDir, as_ordinary_user, tiny_disk};

fn store(dir: &TestDir) -> MemoryStore {
    MemoryStore::at(&dir.path().join("memory"))
}

#[test]
fn mem_1_get_gives_the_exact_bytes() {
    let dir = TestDir::new();
    let store = store(&dir);
    let mut contents = vec![Vec::new(), b"text\r\n".to_vec(), vec![0, 255, 13, 10, 128], vec![7; 300_000]];
    contents.extend((0..50_u8).map(|n| vec![n; usize::from(n)]));
    for bytes in &contents {
        let pointer = store.put(bytes, Visibility::Public).unwrap();
        assert_eq!(store.put(bytes, Visibility::Public).unwrap(), pointer, "the same bytes, the same pointer");
        assert_eq!(&store.get(&pointer).unwrap(), bytes);
        store.pack(&pointer).unwrap();
        assert_eq!(&store.get(&pointer).unwrap(), bytes, "packed");
    }
}

#[test]
fn mem_1_the_place_on_disk_is_the_digest() {
    let dir = TestDir::new();
    store(&dir).put(b"abc", Visibility::Public).unwrap();
    let file = dir.path().join("memory/sha256/ba/7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_eq!(std::fs::read(file).unwrap(), b"abc");
}

#[test]
fn mem_1_compressed_forms_point_to_their_original_and_it_stays() {
    let dir = TestDir::new();
    let store = store(&dir);
    let original = store.put(b"a long text", Visibility::Private).unwrap();
    let summary = store.compress(&original, Form::Summary, b"text").unwrap();
    let diff = store.compress(&original, Form::Diff, b"--- a\n+++ b\n").unwrap();
    store.compress(&original, Form::Embedding, &[1, 2, 3]).unwrap();
    assert_eq!(store.compress(&original, Form::Summary, b"text").unwrap(), summary, "twice is once");
    assert_eq!(store.get(&original).unwrap(), b"a long text");
    assert_eq!(store.get(&diff).unwrap(), b"--- a\n+++ b\n");
    let record = store.record(&original).unwrap();
    assert_eq!(record.forms.len(), 3);
    assert!(record.forms.contains(&FormRecord { form: Form::Summary, pointer: summary, bytes: 4 }));
    let back = store.record(&summary).unwrap();
    assert!(back.origins.contains(&OriginRecord { form: Form::Summary, original }));
    assert_eq!(back.visibility, Visibility::Private, "a summary is no more public than its original");
}

#[test]
fn mem_1_a_form_of_a_missing_or_damaged_original_is_refused() {
    let dir = TestDir::new();
    let store = store(&dir);
    let nowhere = Pointer::of(b"never put");
    assert!(matches!(store.compress(&nowhere, Form::Summary, b"x").unwrap_err(), MemoryError::Missing { .. }));
    let original = store.put(b"original", Visibility::Public).unwrap();
    std::fs::write(store.path(&original, StoredAs::Plain), "forged!!").unwrap();
    assert!(matches!(store.compress(&original, Form::Summary, b"x").unwrap_err(), MemoryError::Damaged { .. }));
}

#[test]
fn mem_1_every_flipped_cut_or_swapped_content_is_refused() {
    let dir = TestDir::new();
    let store = store(&dir);
    let text = b"the quick brown fox jumps over the lazy dog, the quick brown fox jumps again".to_vec();
    for stored in [StoredAs::Plain, StoredAs::Deflated] {
        let pointer = store.put(&text, Visibility::Public).unwrap();
        if stored == StoredAs::Deflated {
            assert_eq!(store.pack(&pointer).unwrap(), stored);
        }
        let path = store.path(&pointer, stored);
        let whole = std::fs::read(&path).unwrap();
        let mut damaged: Vec<Vec<u8>> = (0..whole.len()).map(|cut| whole[..cut].to_vec()).collect();
        damaged
            .extend((0..whole.len()).map(|at| whole.iter().enumerate().map(|(n, b)| b ^ u8::from(n == at)).collect()));
        for bytes in damaged {
            std::fs::write(&path, &bytes).unwrap();
            match store.get(&pointer) {
                Err(error) => assert!(matches!(error, MemoryError::Damaged { .. }), "{error}"),
                Ok(found) => assert_eq!(found, text, "a flipped bit that changes nothing of the content"),
            }
        }
        std::fs::write(&path, &whole).unwrap();
        assert_eq!(store.get(&pointer).unwrap(), text);
    }
}

#[test]
fn mem_1_putting_the_original_again_heals_a_damaged_content() {
    let dir = TestDir::new();
    let store = store(&dir);
    let pointer = store.put(b"original", Visibility::Private).unwrap();
    std::fs::write(store.path(&pointer, StoredAs::Plain), "").unwrap();
    assert!(store.get(&pointer).is_err());
    assert_eq!(store.put(b"original", Visibility::Public).unwrap(), pointer);
    assert_eq!(store.get(&pointer).unwrap(), b"original");
    assert_eq!(store.record(&pointer).unwrap().visibility, Visibility::Private, "the stricter one stays");
}

#[test]
fn mem_1_a_content_whose_record_was_lost_stays_private() {
    let dir = TestDir::new();
    let store = store(&dir);
    let visibility = |pointer| store.record(pointer).unwrap().visibility;
    let new = store.put(b"new", Visibility::Public).unwrap();
    assert_eq!(visibility(&new), Visibility::Public, "a content that was not there is what its owner says");
    let pointer = store.put(b"original", Visibility::Private).unwrap();
    for bytes in [&b"original"[..], b""] {
        std::fs::write(store.path(&pointer, StoredAs::Plain), bytes).unwrap();
        std::fs::remove_file(store.record_path(&pointer)).unwrap();
        store.put(b"original", Visibility::Public).unwrap();
        assert_eq!(visibility(&pointer), Visibility::Private);
    }
    std::fs::remove_file(store.record_path(&pointer)).unwrap();
    let form = store.compress(&pointer, Form::Summary, b"short").unwrap();
    assert_eq!((visibility(&pointer), visibility(&form)), (Visibility::Private, Visibility::Private));
}

#[test]
fn mem_1_a_link_in_place_of_a_content_is_not_followed() {
    let dir = TestDir::new();
    let store = store(&dir);
    let pointer = store.put(b"secret", Visibility::Public).unwrap();
    let (path, outside) = (store.path(&pointer, StoredAs::Plain), dir.path().join("outside"));
    std::fs::rename(&path, &outside).unwrap();
    std::os::unix::fs::symlink(&outside, &path).unwrap();
    assert!(matches!(store.get(&pointer).unwrap_err(), MemoryError::File(_)));
}

#[test]
fn mem_1_a_short_pointer_finds_one_content_or_says_why_not() {
    let dir = TestDir::new();
    let store = store(&dir);
    // Contents are put until two of them share four digits; about 300 are enough on average.
    let mut seen = std::collections::BTreeMap::new();
    let (first, second) = (0..)
        .find_map(|n: u32| {
            let pointer = Pointer::of(&n.to_be_bytes());
            seen.insert(pointer.hex()[..4].to_owned(), n).map(|other| (other, n))
        })
        .unwrap();
    let [first, second] = [first, second].map(|n| store.put(&n.to_be_bytes(), Visibility::Public).unwrap());
    assert_eq!(store.resolve(&first.to_string()).unwrap(), first);
    assert_eq!(store.resolve(&first.hex()[..12]).unwrap(), first);
    assert_eq!(store.resolve(&format!("mem:sha256:{}", &second.hex()[..12])).unwrap(), second);
    let error = store.resolve(&first.hex()[..4]).unwrap_err();
    assert!(
        error.to_string().contains(&first.to_string()) && error.to_string().contains(&second.to_string()),
        "{error}"
    );
    assert!(matches!(store.resolve("ffffffffffff").unwrap_err(), MemoryError::Missing { .. }));
    assert!(matches!(store.resolve("zz").unwrap_err(), MemoryError::Pointer(_)));
    store.pack(&first).unwrap();
    assert_eq!(store.resolve(&first.hex()[..12]).unwrap(), first);
}

#[test]
fn mem_1_a_listing_shows_everything_and_counts_the_unknown_as_private() {
    let dir = TestDir::new();
    let store = store(&dir);
    assert_eq!(store.list().unwrap(), []);
    let open = store.put(b"open", Visibility::Public).unwrap();
    let packed = store.put(&[b'a'; 1_000], Visibility::Public).unwrap();
    store.pack(&packed).unwrap();
    let lost = store.put(b"record lost", Visibility::Public).unwrap();
    std::fs::remove_file(store.record_path(&lost)).unwrap();
    let broken = store.put(b"record broken", Visibility::Public).unwrap();
    std::fs::write(store.record_path(&broken), "{").unwrap();
    let listed = store.list().unwrap();
    assert!(listed.windows(2).all(|pair| pair[0].pointer < pair[1].pointer));
    let visibility = |pointer| listed.iter().find(|it| it.pointer == pointer).unwrap().record.visibility;
    assert_eq!(listed.len(), 4);
    assert_eq!(
        (visibility(open), visibility(lost), visibility(broken)),
        (Visibility::Public, Visibility::Private, Visibility::Private)
    );
    assert_eq!(listed.iter().find(|it| it.pointer == packed).unwrap().stored, StoredAs::Deflated);
    let error = store.put(b"record broken", Visibility::Public).unwrap_err();
    assert!(error.to_string().contains("its record cannot be read"), "{error}");
}

#[test]
fn mem_1_a_record_of_a_newer_version_or_of_another_content_is_refused() {
    let dir = TestDir::new();
    let store = store(&dir);
    let [one, two] = [b"one", b"two"].map(|bytes| store.put(bytes, Visibility::Public).unwrap());
    std::fs::copy(store.record_path(&one), store.record_path(&two)).unwrap();
    assert!(store.record(&two).unwrap_err().to_string().contains("its record is that of"));
    let newer = std::fs::read_to_string(store.record_path(&one)).unwrap().replace("\"format\":1", "\"format\":2");
    std::fs::write(store.record_path(&one), newer).unwrap();
    assert!(store.record(&one).unwrap_err().to_string().contains("format 2"));
    assert_eq!(store.get(&one).unwrap(), b"one", "the bytes are still there");
}

#[test]
fn mem_1_bounds_are_kept() {
    let dir = TestDir::new();
    let store = store(&dir);
    let error = store.put(&vec![0; ENTRY_BYTES_MAX + 1], Visibility::Public).unwrap_err();
    assert!(matches!(error, MemoryError::TooLarge { .. }), "{error}");
    let original = store.put(b"x", Visibility::Public).unwrap();
    for n in 0..FORMS_MAX {
        store.compress(&original, Form::Summary, &n.to_be_bytes()).unwrap();
    }
    let error = store.compress(&original, Form::Summary, b"one more").unwrap_err();
    assert!(matches!(error, MemoryError::TooManyForms { .. }), "{error}");
    // A packed file that would unpack to more than any content is refused, not unpacked.
    let bomb = form::deflate(&vec![0; ENTRY_BYTES_MAX + 1]);
    std::fs::write(store.path(&original, StoredAs::Deflated), bomb).unwrap();
    std::fs::remove_file(store.path(&original, StoredAs::Plain)).unwrap();
    assert!(matches!(store.get(&original).unwrap_err(), MemoryError::Damaged { .. }));
}

#[test]
fn mem_1_several_writers_lose_no_form() {
    let dir = TestDir::new();
    let store = store(&dir);
    let original = store.put(b"original", Visibility::Public).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..4_u8 {
            let (store, original) = (&store, &original);
            scope.spawn(move || {
                for n in 0..8_u8 {
                    store.compress(original, Form::Summary, &[writer, n]).unwrap();
                }
            });
        }
    });
    assert_eq!(store.record(&original).unwrap().forms.len(), 32);
}

#[test]
fn mem_1_a_full_disk_loses_nothing_that_was_put() {
    let Some(disk) = tiny_disk() else { return };
    let store = MemoryStore::at(&disk.path().join("memory"));
    let kept = store.put(b"kept", Visibility::Public).unwrap();
    let error = store.put(&vec![9; 4 << 20], Visibility::Public).unwrap_err();
    assert!(error.hint().contains("free some space"), "{error}");
    assert_eq!(store.get(&kept).unwrap(), b"kept");
    assert_eq!(store.list().unwrap().len(), 1);
}

#[test]
fn mem_1_a_read_only_store_can_be_read_and_refuses_writes() {
    as_ordinary_user("memory::tests::mem_1_a_read_only_store_can_be_read_and_refuses_writes", || {
        let dir = TestDir::new();
        let store = MemoryStore::at(dir.path());
        let pointer = store.put(b"kept", Visibility::Public).unwrap();
        let sealed = std::os::unix::fs::PermissionsExt::from_mode(0o500);
        std::fs::set_permissions(dir.path().join("sha256"), sealed).unwrap();
        assert_eq!(store.get(&pointer).unwrap(), b"kept");
        let error = store.put(b"new", Visibility::Public).unwrap_err();
        assert!(error.hint().contains("ls -ld"), "{error}: {}", error.hint());
        std::fs::set_permissions(dir.path().join("sha256"), std::os::unix::fs::PermissionsExt::from_mode(0o700))
            .unwrap();
    });
}
