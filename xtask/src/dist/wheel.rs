//! The Python wheel: the module, and the binary as a script of the venv.

use super::build::{BuildFacts, run};
use super::files::{DistError, failed, write_file};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Builds the wheel into the folder of the release and names it.
pub(super) fn build(root: &Path, out: &Path, binary: &[u8], facts: &BuildFacts) -> Result<Vec<String>, DistError> {
    let folder = root.join("bindings/python");
    let scripts = folder.join("wheel-data/scripts");
    fs::create_dir_all(&scripts).map_err(failed(&scripts))?;
    write_file(&scripts.join("tripwire"), binary, 0o755)?;
    let target = folder.join("target");
    let wheels = target.join("wheels");
    if wheels.exists() {
        fs::remove_dir_all(&wheels).map_err(failed(&wheels))?;
    }
    let maturin = std::env::var_os("TRIPWIRE_MATURIN").unwrap_or_else(|| "maturin".into());
    let mut command = Command::new(maturin);
    // The module is loaded into a dynamic Python: the flags of the static binary are not for it.
    facts.reproducible(&mut command, root, &[]);
    command
        .current_dir(&folder)
        .args(["build", "--release", "--locked", "--out"])
        .arg(&wheels)
        .env("RUSTC_WRAPPER", root.join("packaging/rustc-same-everywhere.sh"))
        .env("TRIPWIRE_SOURCES", root);
    let built =
        run(&mut command, "install it with `pip install maturin`, or leave the wheel out with `--without-wheel`");
    fs::remove_dir_all(&scripts).map_err(failed(&scripts))?;
    built?;
    let mut names = Vec::new();
    for entry in fs::read_dir(&wheels).map_err(failed(&wheels))? {
        let path = entry.map_err(failed(&wheels))?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        fs::copy(&path, out.join(&name)).map_err(failed(&path))?;
        names.push(name);
    }
    Ok(names)
}
