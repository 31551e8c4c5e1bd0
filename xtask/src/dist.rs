//! Everything that a release holds for this machine's target, in one folder: the static binary and the packages around it,
//! checksums and a list of what is inside.
//!
//! The same sources give the same bytes: paths are remapped, times come from `SOURCE_DATE_EPOCH` or the last commit, and the
//! archives are written here, with sorted names and no owner.

mod archive;
mod build;
mod files;
mod packages;
mod sbom;
mod wheel;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tripwire_core::record::chain::Digest;

pub use build::BuildFacts;
pub use files::DistError;
use files::{failed, read, write_file};

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

/// What is made, and where.
#[derive(Debug)]
pub struct DistOptions {
    /// The folder; it is replaced.
    pub out: PathBuf,
    /// A binary that was built before; by default it is built.
    pub binary: Option<PathBuf>,
    /// Whether the wheel is built too.
    pub wheel: WheelChoice,
}

/// Makes the folder and says what is in it, a line for each file.
pub fn run(root: &Path, options: &DistOptions, mut say: impl FnMut(&str)) -> Result<(), DistError> {
    let begun = Instant::now();
    let (out, facts) = (options.out.as_path(), BuildFacts::read(root)?);
    say(&format!("{} {} for {} at {}", facts.version, facts.commit, facts.target, facts.epoch));
    let binary = match &options.binary {
        Some(built) => read(built)?,
        None => read(&build::binary(root, &facts)?)?,
    };
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
    if options.wheel == WheelChoice::Built {
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
