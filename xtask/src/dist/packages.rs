//! The packages around the binary: npm, Debian, the install script, the container recipe, the Homebrew formula.

use super::archive::{ArchiveFile, Folders, ar, gzip, tar};
use super::build::BuildFacts;
use super::files::{DistError, failed, read, read_text};
use crate::reference;
use std::fs;
use std::path::Path;

/// A file of the release.
#[derive(Debug)]
pub(super) struct ReleaseFile {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
    pub(super) mode: u32,
}

/// Targets that npm has a package for, with npm's names of system and processor; the first is what the others are told apart by.
const NPM_PLATFORMS: [(&str, &str, &str); 4] = [
    ("x86_64-unknown-linux-gnu", "linux", "x64"),
    ("aarch64-unknown-linux-gnu", "linux", "arm64"),
    ("x86_64-apple-darwin", "darwin", "x64"),
    ("aarch64-apple-darwin", "darwin", "arm64"),
];

/// The files of the main package.
const NPM_FILES: [(&str, u32); 8] = [
    ("package.json", 0o644),
    ("README.md", 0o644),
    ("bin/tripwire.js", 0o755),
    ("lib/binary.js", 0o644),
    ("lib/index.js", 0o644),
    ("lib/index.d.ts", 0o644),
    ("lib/protocol.d.ts", 0o644),
    ("examples/vercel-ai.mjs", 0o644),
];

/// Everything but the binary, the wheel and what lists them.
pub(super) fn all(root: &Path, facts: &BuildFacts, binary: &[u8]) -> Result<Vec<ReleaseFile>, DistError> {
    let mut files = npm(root, facts, binary)?;
    files.push(debian(root, facts, binary)?);
    let install = read_text(&root.join("packaging/install.sh"))?.replace("@VERSION@", &facts.version);
    files.push(ReleaseFile { name: "install.sh".to_owned(), bytes: install.into_bytes(), mode: 0o755 });
    let recipe = read(&root.join("packaging/Containerfile"))?;
    files.push(ReleaseFile { name: "Containerfile".to_owned(), bytes: recipe, mode: 0o644 });
    Ok(files)
}

/// The main package, which finds the platform's, and the package of this platform.
fn npm(root: &Path, facts: &BuildFacts, binary: &[u8]) -> Result<Vec<ReleaseFile>, DistError> {
    let folder = root.join("packaging/npm");
    let licence = read(&root.join("LICENSE-MIT"))?;
    let fill = |text: String| text.replace("@VERSION@", &facts.version);
    let mut main = vec![ArchiveFile::new("package/LICENSE-MIT", 0o644, licence.clone())];
    for (name, mode) in NPM_FILES {
        let text = fill(read_text(&folder.join(name))?);
        main.push(ArchiveFile::new(format!("package/{name}"), mode, text));
    }
    let packed = |files, name: String| {
        let bytes = gzip(&tar(files, Folders::Implied, facts.epoch));
        ReleaseFile { name, bytes, mode: 0o644 }
    };
    let mut made = vec![packed(main, format!("tripwire-guard-{}.tgz", facts.version))];
    let here = NPM_PLATFORMS.iter().find(|(target, ..)| *target == facts.target);
    if let Some((_, system, processor)) = here {
        let manifest = serde_json::json!({
            "name": format!("tripwire-guard-{system}-{processor}"),
            "version": facts.version,
            "description": format!("The binary of tripwire-guard for {system} on {processor}"),
            "license": "MIT OR Apache-2.0",
            "os": [system],
            "cpu": [processor],
            "files": ["bin/tripwire"],
        });
        let files = vec![
            ArchiveFile::new("package/package.json", 0o644, format!("{manifest:#}\n")),
            ArchiveFile::new("package/LICENSE-MIT", 0o644, licence),
            ArchiveFile::new("package/bin/tripwire", 0o755, binary),
        ];
        made.push(packed(files, format!("tripwire-guard-{system}-{processor}-{}.tgz", facts.version)));
    }
    Ok(made)
}

/// The Debian package: the binary, man pages, completions, licence. Debian itself has another `tripwire`, hence the name.
fn debian(root: &Path, facts: &BuildFacts, binary: &[u8]) -> Result<ReleaseFile, DistError> {
    let processor = match facts.target.split('-').next() {
        Some("x86_64") => "amd64",
        Some("aarch64") => "arm64",
        other => other.unwrap_or_default(),
    };
    let mut files = vec![ArchiveFile::new("./usr/bin/tripwire", 0o755, binary)];
    let written = reference::write_pages(&tripwire_cli::command(), root)
        .map_err(|error| DistError::File { path: root.to_owned(), cause: std::io::Error::other(error.to_string()) })?;
    for (from, to) in [(written.man, "./usr/share/man/man1"), (written.completions, "./usr/share/tripwire-guard")] {
        for entry in fs::read_dir(&from).map_err(failed(&from))? {
            let path = entry.map_err(failed(&from))?.path();
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let is_page = name.ends_with(".1");
            let bytes = read(&path)?;
            let (name, bytes) = if is_page { (format!("{name}.gz"), gzip(&bytes)) } else { (name, bytes) };
            files.push(ArchiveFile::new(format!("{to}/{name}"), 0o644, bytes));
        }
    }
    let licences = [read_text(&root.join("LICENSE-MIT"))?, read_text(&root.join("LICENSE-APACHE"))?].join("\n\n");
    files.push(ArchiveFile::new("./usr/share/doc/tripwire-guard/copyright", 0o644, licences));
    let size = files.iter().map(|file| file.bytes.len().div_ceil(1_024)).sum::<usize>();
    let version = &facts.version;
    let control = format!(
        "Package: tripwire-guard\nVersion: {version}\nArchitecture: {processor}\nMaintainer: the tripwire authors\n\
         Installed-Size: {size}\nSection: devel\nPriority: optional\nDescription: deterministic safety runtime for LLM agents\n \
         Asks before each tool call of an agent, holds loops and budgets, records everything.\n"
    );
    let control = gzip(&tar(vec![ArchiveFile::new("./control", 0o644, control)], Folders::Implied, facts.epoch));
    let data = gzip(&tar(files, Folders::Listed, facts.epoch));
    let members: [(&str, &[u8]); 3] =
        [("debian-binary", b"2.0\n"), ("control.tar.gz", &control), ("data.tar.gz", &data)];
    Ok(ReleaseFile {
        name: format!("tripwire-guard_{version}_{processor}.deb"),
        bytes: ar(&members, facts.epoch),
        mode: 0o644,
    })
}

/// The Homebrew formula with the checksum of the binary that was built.
pub(super) fn formula(root: &Path, facts: &BuildFacts, sums: &str) -> Result<String, DistError> {
    let sum = sums.lines().find_map(|line| line.strip_suffix("  tripwire")).unwrap_or_default();
    let text = read_text(&root.join("packaging/tripwire-guard.rb"))?;
    Ok(text.replace("@VERSION@", &facts.version).replace("@TARGET@", &facts.target).replace("@SHA256@", sum))
}
