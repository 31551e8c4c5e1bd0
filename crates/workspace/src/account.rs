//! Who acts: the account of a process or of a file, by the system's own list. The environment is not asked, because anybody
//! can set it.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use tripwire_fs::file::read_bounded;

/// The account under which this process runs.
#[must_use]
pub fn current() -> String {
    name_of(rustix::process::getuid().as_raw())
}

/// The account that owns a file; a link is not followed.
#[must_use]
pub fn owner_of(path: &Path) -> Option<String> {
    path.symlink_metadata().ok().map(|metadata| name_of(metadata.uid()))
}

/// The name of an account, else its number: containers often have accounts without a name.
fn name_of(uid: u32) -> String {
    let list = read_bounded(Path::new(ACCOUNTS), ACCOUNTS_BYTES_MAX).unwrap_or_default();
    name_in(&String::from_utf8_lossy(&list), uid).unwrap_or_else(|| format!("uid {uid}"))
}

fn name_in(list: &str, uid: u32) -> Option<String> {
    list.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    })
}

/// The system's list of accounts.
const ACCOUNTS: &str = "/etc/passwd";
/// The most of it that is read.
const ACCOUNTS_BYTES_MAX: u64 = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_named_by_its_number_and_not_by_its_place() {
        let list = "root:x:0:0::/root:/bin/sh\n:x:7:7::/:/bin/sh\nbroken\nanna:x:1000:0::/home/anna:/bin/sh\n";
        assert_eq!(name_in(list, 0).as_deref(), Some("root"));
        assert_eq!(name_in(list, 1_000).as_deref(), Some("anna"));
        for unknown in [7, 100, u32::MAX] {
            assert_eq!(name_in(list, unknown), None, "{unknown}");
        }
    }

    #[test]
    fn who_made_a_file_is_who_runs() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(owner_of(file.path()), Some(current()));
        assert_eq!(owner_of(Path::new("/nonexistent/x")), None);
    }
}
