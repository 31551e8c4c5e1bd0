//! The static binary, built the same way everywhere, and the facts of the build that it carries.

use super::files::{DistError, read_text};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A static binary at a fixed address: a hook is started at every tool call, and the dynamic loader would cost more than it.
/// Functions are named with their types, so that packaging/ordering-cc.sh finds those of the hooks.
const STATIC_FLAGS: [&str; 3] =
    ["-Ctarget-feature=+crt-static", "-Crelocation-model=static", "-Csymbol-mangling-version=v0"];

/// What is known of a build before it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildFacts {
    /// The version of the workspace.
    pub version: String,
    /// The commit, with `-dirty` where the sources are not those of it.
    pub commit: String,
    /// The target.
    pub target: String,
    /// The compiler, in one line.
    pub rustc: String,
    /// Seconds since 1970 that stand for the time of the build.
    pub epoch: u64,
}

impl BuildFacts {
    /// Reads the facts of this repository on this machine.
    pub fn read(root: &Path) -> Result<Self, DistError> {
        let verbose = said(Command::new("rustc").arg("-vV"), "install Rust from https://rustup.rs")?;
        let line = |name: &str| verbose.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned();
        let git = |arguments: &[&str]| {
            let asked = said(Command::new("git").arg("-C").arg(root).args(arguments), "run it inside the repository");
            asked.ok().map(|text| text.trim().to_owned())
        };
        let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
        let is_changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|text| !text.is_empty());
        let committed = || git(&["log", "-1", "--format=%ct"]).and_then(|text| text.parse().ok());
        let epoch = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse().ok()).or_else(committed);
        Ok(Self {
            version: version(&read_text(&root.join("Cargo.toml"))?),
            commit: if is_changed { format!("{commit}-dirty") } else { commit },
            target: line("host: "),
            rustc: verbose.lines().next().unwrap_or_default().to_owned(),
            epoch: epoch.unwrap_or(0),
        })
    }

    /// Makes what a command builds reproducible: without a path of this machine in it, at the time of the sources, and with
    /// these flags.
    pub(super) fn reproducible(&self, command: &mut Command, root: &Path, flags: &[&str]) {
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo")));
        let mut flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        flags.push(format!("--remap-path-prefix={}=/tripwire", root.display()));
        flags.extend(home.map(|home| format!("--remap-path-prefix={}=/cargo", home.display())));
        command
            .env_remove("RUSTFLAGS")
            // The separator keeps a path with a space in one piece.
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
            .env("CARGO_INCREMENTAL", "0")
            .env("SOURCE_DATE_EPOCH", self.epoch.to_string());
    }

    /// A cargo command for a reproducible static build.
    fn cargo(&self, root: &Path) -> Command {
        let mut command = Command::new("cargo");
        self.reproducible(&mut command, root, &STATIC_FLAGS);
        let linker = format!("CARGO_TARGET_{}_LINKER", self.target.to_uppercase().replace('-', "_"));
        command
            .current_dir(root)
            .env(linker, root.join("packaging/ordering-cc.sh"))
            .env("TRIPWIRE_BUILD_COMMIT", &self.commit)
            .env("TRIPWIRE_BUILD_RUSTC", &self.rustc)
            .env("TRIPWIRE_BUILD_TARGET", &self.target)
            .env("TRIPWIRE_BUILD_EPOCH", self.epoch.to_string());
        command
    }
}

/// The version in the one table of the workspace.
fn version(manifest: &str) -> String {
    let table: Option<toml::Table> = manifest.parse().ok();
    let version = table.as_ref().and_then(|table| table.get("workspace")?.get("package")?.get("version")?.as_str());
    version.unwrap_or_default().to_owned()
}

/// Builds the binary and says where it is. The explicit target keeps the flags away from macros, which cannot be static.
pub(super) fn binary(root: &Path, facts: &BuildFacts) -> Result<PathBuf, DistError> {
    let mut command = facts.cargo(root);
    command.args([
        "build",
        "--locked",
        "--profile",
        "dist",
        "--package",
        "tripwire-cli",
        "--features",
        "telemetry,fleet",
    ]);
    command.args(["--target", &facts.target]);
    run(&mut command, "see what the compiler says")?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join(&facts.target).join("dist/tripwire"))
}

/// Runs a tool whose words go to the terminal.
pub(super) fn run(command: &mut Command, hint: &'static str) -> Result<(), DistError> {
    let name = named(command);
    match command.stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(DistError::Tool { command: name, problem: format!("ended with {status}"), hint }),
        Err(cause) => Err(DistError::Tool { command: name, problem: cause.to_string(), hint }),
    }
}

/// What a tool says.
pub(super) fn said(command: &mut Command, hint: &'static str) -> Result<String, DistError> {
    let name = named(command);
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|cause| DistError::Tool { command: name.clone(), problem: cause.to_string(), hint })?;
    if !output.status.success() {
        let problem = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(DistError::Tool { command: name, problem, hint });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn named(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_workspace() {
        assert_eq!(version("[workspace.package]\nversion = \"1.2.3\"\n"), "1.2.3");
        assert_eq!(version("nothing"), "");
    }

    #[test]
    fn the_flags_name_no_path_of_this_machine_as_a_target() {
        let facts = BuildFacts {
            version: "1".to_owned(),
            commit: "c".to_owned(),
            target: "t".to_owned(),
            rustc: "r".to_owned(),
            epoch: 7,
        };
        let command = facts.cargo(Path::new("/a folder/src"));
        let flags = command.get_envs().find(|(name, _)| *name == "CARGO_ENCODED_RUSTFLAGS");
        let flags = flags.and_then(|(_, value)| value?.to_str()).unwrap_or_default();
        assert!(flags.split('\x1f').any(|flag| flag == "--remap-path-prefix=/a folder/src=/tripwire"), "{flags}");
        assert!(flags.contains("+crt-static"), "{flags}");
    }
}
