//! Everything that a release holds for this machine's target, in one folder: the static binary and the packages around it,
//! checksums and a list of what is inside.
//!
//! The same sources give the same bytes: paths are remapped, times come from `SOURCE_DATE_EPOCH` or the last commit, and the
//! archives are written here, with sorted names and no owner.

mod archive;
mod build;
mod packages;
mod sbom;
mod wheel;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{fmt, fs, io};
use tripwire_core::record::chain::Digest;

pub use build::BuildFacts;

/// How large the binary should be at most; what is missing is said at the end.
const BINARY_BYTES_MAX: u64 = 15 << 20;

/// What goes into the folder beside the binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WheelChoice {
    /// The Python wheel too: needs Python and maturin.
    Built,
    /// No wheel.
    LeftOut,
}

/// Why nothing, or not everything, was made.
#[derive(Debug)]
pub enum DistError {
    /// A file could not be read or written.
    File {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// A tool could not be started, or failed.
    Tool {
        /// The command.
        command: String,
        /// What it said, or why it did not start.
        problem: String,
        /// What to do about it.
        hint: &'static str,
    },
}

impl fmt::Display for DistError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, cause } => write!(f, "`{}`: {cause}", path.display()),
            Self::Tool { command, problem, hint } => write!(f, "`{command}`: {problem}\nhint: {hint}"),
        }
    }
}

impl std::error::Error for DistError {}

/// Makes the folder and says what is in it, a line for each file as it is made.
pub fn run(root: &Path, out: &Path, wheel: WheelChoice, mut say: impl FnMut(&str)) -> Result<(), DistError> {
    let begun = Instant::now();
    let facts = BuildFacts::read(root)?;
    say(&format!("building {} {} for {} at {}", facts.version, facts.commit, facts.target, facts.epoch));
    let built = build::binary(root, &facts)?;
    let binary = read(&built)?;
    let bytes = u64::try_from(binary.len()).unwrap_or(u64::MAX);
    if out.exists() {
        fs::remove_dir_all(out).map_err(failed(out))?;
    }
    fs::create_dir_all(out).map_err(failed(out))?;
    let mut names = Vec::new();
    let mut put = |name: String, bytes: &[u8], mode: u32| -> Result<(), DistError> {
        write_file(&out.join(&name), bytes, mode)?;
        names.push(name);
        Ok(())
    };
    put("tripwire".to_owned(), &binary, 0o755)?;
    for package in packages::all(root, &facts, &binary)? {
        put(package.name, &package.bytes, package.mode)?;
    }
    put(format!("tripwire-guard-{}.cdx.json", facts.version), sbom::cyclonedx(root, &facts)?.as_bytes(), 0o644)?;
    if wheel == WheelChoice::Built {
        say("building the wheel");
        names.extend(wheel::build(root, out, &binary, &facts)?);
    }
    names.sort();
    let sums = checksums(out, &names)?;
    write_file(&out.join("SHA256SUMS"), sums.as_bytes(), 0o644)?;
    write_file(&out.join("tripwire-guard.rb"), packages::formula(root, &facts, &sums)?.as_bytes(), 0o644)?;
    for line in sums.lines() {
        say(line);
    }
    let kept = if bytes > BINARY_BYTES_MAX { "NOT KEPT" } else { "kept" };
    say(&format!("binary: {bytes} bytes; the aim of at most {BINARY_BYTES_MAX} is {kept}"));
    say(&format!("{} files in {} s", names.len() + 2, begun.elapsed().as_secs()));
    Ok(())
}

/// The lines that `sha256sum -c` reads.
fn checksums(out: &Path, names: &[String]) -> Result<String, DistError> {
    let mut text = String::new();
    for name in names {
        // A text that cannot be written to a string does not exist.
        writeln!(text, "{}  {name}", Digest::of(&read(&out.join(name))?)).unwrap_or_default();
    }
    Ok(text)
}

fn read(path: &Path) -> Result<Vec<u8>, DistError> {
    fs::read(path).map_err(failed(path))
}

fn read_text(path: &Path) -> Result<String, DistError> {
    fs::read_to_string(path).map_err(failed(path))
}

fn write_file(path: &Path, bytes: &[u8], mode: u32) -> Result<(), DistError> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::write(path, bytes).map_err(failed(path))?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(failed(path))
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> DistError {
    let path = path.to_owned();
    move |cause| DistError::File { path, cause }
}
