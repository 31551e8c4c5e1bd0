//! What a `git push` reaches, read from its words and from what the repository says about pushes. Whatever can make it
//! reach a branch that nobody named counts as every branch.

use std::path::{Path, PathBuf};
use tripwire_fs::file::read_bounded;
use tripwire_observe::{RawCall, nature};
use tripwire_workspace::git::{common_folder, short_text, top_level};

/// A push.
pub(super) struct Push {
    targets: Vec<Target>,
}

/// A branch on the remote.
enum Target {
    Named(String),
    /// Any branch, or one that nobody can know.
    Any,
}

impl Push {
    /// Whether it reaches a branch of this kind.
    pub(super) fn reaches(&self, is_protected: impl Fn(&str) -> bool) -> bool {
        self.targets.iter().any(|target| match target {
            Target::Named(branch) => is_protected(branch),
            Target::Any => true,
        })
    }
}

/// Reads a git command: `verb` where the program's name says it, else it is among the words. None if it is no push.
pub(super) fn read(verb: Option<&str>, words: &[&str], workspace: Option<&Path>) -> Option<Push> {
    read_at(ALIASES_MAX, verb, words, workspace)
}

fn read_at(depth: u8, verb: Option<&str>, words: &[&str], workspace: Option<&Path>) -> Option<Push> {
    let mut settings = Vec::new();
    let mut folder = workspace.map(Path::to_path_buf);
    let mut rest = words;
    if verb.is_none() {
        while let Some((first, more)) = rest.split_first() {
            rest = match *first {
                "-c" => {
                    settings.extend(more.first().map(|text| Setting::of(text)));
                    more.get(1..).unwrap_or_default()
                }
                "--config-env" => {
                    settings.extend(more.first().map(|text| Setting::of(text).hidden()));
                    more.get(1..).unwrap_or_default()
                }
                "-C" | "--work-tree" => {
                    folder = folder.zip(more.first()).map(|(folder, named)| folder.join(named));
                    more.get(1..).unwrap_or_default()
                }
                "--git-dir" | "--namespace" | "--exec-path" => more.get(1..).unwrap_or_default(),
                option if option.starts_with('-') => {
                    settings.extend(option.strip_prefix("--config-env=").map(|text| Setting::of(text).hidden()));
                    more
                }
                _ => break,
            };
        }
    }
    let (verb, arguments) = match verb {
        Some(verb) => (verb, rest),
        None => rest.split_first().map(|(verb, rest)| (*verb, rest))?,
    };
    match verb {
        "push" => Some(Push { targets: targets(arguments, &settings, &Repository::at(folder.as_deref())) }),
        // The parts that a push is made of are nobody's daily tools.
        "send-pack" | "http-push" | "receive-pack" => Some(Push { targets: vec![Target::Any] }),
        // git's own verbs cannot be aliases, and most calls are one of these: nothing is read for them.
        verb if OWN_VERBS.contains(&verb) => None,
        verb => {
            let line = alias(verb, arguments, &settings, &Repository::at(folder.as_deref()))?;
            match (line, depth.checked_sub(1)) {
                (Alias::Line(line), Some(deeper)) => pushes_in(deeper, &line, workspace),
                (Alias::Line(_), None) | (Alias::Unknown, _) => Some(Push { targets: vec![Target::Any] }),
            }
        }
    }
}

/// `git -C folder -c a=b push` is a push.
pub(super) fn behind_git_options<'a>(mut words: &'a [&'a str]) -> &'a [&'a str] {
    while let Some((first, rest)) = words.split_first() {
        words = match *first {
            "-C" | "-c" | "--config-env" | "--git-dir" | "--work-tree" | "--namespace" => {
                rest.get(1..).unwrap_or_default()
            }
            option if option.starts_with('-') => rest,
            _ => return words,
        };
    }
    words
}

/// A setting on the command line.
struct Setting<'a> {
    key: &'a str,
    /// None if it stands in a variable that nobody can read here.
    value: Option<&'a str>,
}

impl<'a> Setting<'a> {
    fn of(text: &'a str) -> Self {
        let (key, value) = text.split_once('=').unwrap_or((text, "true"));
        Self { key, value: Some(value) }
    }

    fn hidden(self) -> Self {
        Self { value: None, ..self }
    }
}

/// What an alias makes of a verb.
enum Alias {
    Line(String),
    Unknown,
}

fn alias(verb: &str, rest: &[&str], settings: &[Setting<'_>], repository: &Repository) -> Option<Alias> {
    let name = format!("alias.{verb}");
    let mut given = settings.iter().filter(|setting| begins(setting.key, "alias."));
    let text = match (given.next(), given.next()) {
        // One alias may stand for another: nobody writes that by hand.
        (Some(_), Some(_)) | (Some(Setting { value: None, .. }), None) => return Some(Alias::Unknown),
        (Some(Setting { key, value: Some(value) }), None) if is_key(key, &name) => (*value).to_owned(),
        (Some(_) | None, None) | (None, Some(_)) => repository.setting(&name)?,
    };
    Some(Alias::Line(match text.trim_matches(['"', '\'']).strip_prefix('!') {
        Some(code) => format!("{code} {}", rest.join(" ")),
        None => format!("git {text} {}", rest.join(" ")),
    }))
}

/// All pushes of a command line.
fn pushes_in(depth: u8, line: &str, workspace: Option<&Path>) -> Option<Push> {
    let args = serde_json::json!({ "command": line }).to_string();
    let commands = nature(&RawCall { tool: "Bash", args: &args, ..RawCall::default() }).commands;
    let mut targets = Vec::new();
    for command in commands {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        if let Some((program, words)) = words.split_first()
            && program.rsplit('/').next() == Some("git")
        {
            targets.extend(read_at(depth, None, words, workspace).into_iter().flat_map(|push| push.targets));
        }
    }
    (!targets.is_empty()).then_some(Push { targets })
}

fn targets(arguments: &[&str], settings: &[Setting<'_>], repository: &Repository) -> Vec<Target> {
    const TAKES_VALUE: [&str; 5] = ["-o", "--push-option", "--repo", "--receive-pack", "--exec"];
    let (mut plain, mut skip, mut dry, mut all) = (Vec::new(), false, false, false);
    for word in arguments {
        if std::mem::take(&mut skip) {
            continue;
        }
        match *word {
            "--dry-run" | "-n" => dry = true,
            option if option.starts_with("--no-d") => dry = false,
            // git takes any beginning of an option that is the only one with it.
            option if ["--al", "--mi", "--br"].iter().any(|start| option.starts_with(start)) => all = true,
            option if TAKES_VALUE.contains(&option) => skip = true,
            option if option.starts_with('-') => {}
            other => plain.push(other),
        }
    }
    let says = |setting: &Setting<'_>| {
        ["push.", "remote.", "branch.", "url.", "include"].iter().any(|start| begins(setting.key, start))
    };
    let refspecs = plain.get(1..).unwrap_or_default();
    if dry {
        return Vec::new();
    }
    if all || settings.iter().any(says) || repository.mirrors() {
        return vec![Target::Any];
    }
    if refspecs.is_empty() {
        return repository.unnamed();
    }
    refspecs.iter().flat_map(|refspec| target(refspec, repository)).collect()
}

/// What one refspec reaches.
fn target(refspec: &str, repository: &Repository) -> Vec<Target> {
    let target = refspec.trim_start_matches('+').rsplit(':').next().unwrap_or(refspec).trim_start_matches('+');
    let branch = target.strip_prefix("refs/heads/").or_else(|| target.strip_prefix("heads/")).unwrap_or(target);
    match branch {
        // Nothing on both sides means every branch that both sides have.
        "" => vec![Target::Any],
        "HEAD" | "@" => repository.current(),
        // Variables, substitutions and braces are not expanded here, so the branch is unknown.
        branch if branch.contains(['$', '`', '*', '?', '[', '{']) => vec![Target::Any],
        branch => vec![Target::Named(branch.to_owned())],
    }
}

/// What a repository says about pushes. It is read from its file, because a door has no time to start programs.
struct Repository {
    branch: Option<String>,
    settings: Vec<(String, String)>,
}

impl Repository {
    fn at(folder: Option<&Path>) -> Self {
        let top = folder.and_then(top_level);
        let own = top.as_deref().and_then(own_folder);
        let head = own.as_ref().and_then(|own| short_text(&own.join("HEAD")));
        let branch = head.and_then(|head| head.trim().strip_prefix("ref: refs/heads/").map(str::to_owned));
        let common = top.as_deref().and_then(common_folder);
        let file = common.map(|common| common.join("config")).filter(|file| file.symlink_metadata().is_ok());
        let settings = file.map(|file| match read_bounded(&file, CONFIG_BYTES_MAX) {
            Ok(bytes) => settings(&String::from_utf8_lossy(&bytes)),
            // What cannot be read may say anything.
            Err(_) => vec![("include.path".to_owned(), String::new())],
        });
        Self { branch, settings: settings.unwrap_or_default() }
    }

    /// The last value of a setting.
    fn setting(&self, name: &str) -> Option<String> {
        self.settings.iter().rev().find(|(key, _)| is_key(key, name)).map(|(_, value)| value.clone())
    }

    fn current(&self) -> Vec<Target> {
        vec![self.branch.clone().map_or(Target::Any, Target::Named)]
    }

    fn mirrors(&self) -> bool {
        self.settings
            .iter()
            .any(|(key, value)| key.starts_with("remote.") && key.ends_with(".mirror") && value != "false")
    }

    /// What a push without a refspec reaches.
    fn unnamed(&self) -> Vec<Target> {
        let elsewhere =
            |key: &str| key.starts_with("include") || (key.starts_with("remote.") && key.ends_with(".push"));
        if self.settings.iter().any(|(key, _)| elsewhere(key)) {
            return vec![Target::Any];
        }
        let follows = || self.setting(&format!("branch.{}.merge", self.branch.as_deref()?));
        match self.setting("push.default").map(|value| value.to_ascii_lowercase()).as_deref() {
            Some("matching") => vec![Target::Any],
            Some("upstream" | "tracking") => match follows() {
                Some(name) => vec![Target::Named(name.strip_prefix("refs/heads/").unwrap_or(&name).to_owned())],
                None => self.current(),
            },
            Some(_) | None => self.current(),
        }
    }
}

/// The folder of a work tree's own HEAD.
fn own_folder(top: &Path) -> Option<PathBuf> {
    let dot_git = top.join(".git");
    if dot_git.is_dir() {
        return Some(dot_git);
    }
    short_text(&dot_git)?.strip_prefix("gitdir:").map(|pointer| top.join(pointer.trim()))
}

/// The settings of a configuration file, as `section.part.name` and value. What is odd about it is read too wide.
fn settings(text: &str) -> Vec<(String, String)> {
    let (mut section, mut found) = (String::new(), Vec::new());
    for line in text.lines().map(str::trim) {
        let line = match line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((head, rest)) => {
                let (name, part) = head.trim().split_once(char::is_whitespace).unwrap_or((head.trim(), ""));
                let part = part.trim().trim_matches('"');
                section = name.to_ascii_lowercase();
                if !part.is_empty() {
                    section.push('.');
                    section.push_str(part);
                }
                rest.trim()
            }
            None => line,
        };
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let (name, value) = line.split_once('=').unwrap_or((line, "true"));
        let value = value.split([';', '#']).next().unwrap_or(value);
        found.push((
            format!("{section}.{}", name.trim().to_ascii_lowercase()),
            value.trim().trim_matches('"').to_owned(),
        ));
    }
    found
}

/// Whether a key is the named one; sections and names have no case.
fn is_key(key: &str, name: &str) -> bool {
    key.trim().eq_ignore_ascii_case(name)
}

fn begins(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
}

/// How many aliases may stand for each other.
const ALIASES_MAX: u8 = 4;
/// git's own verbs that agents use all the time.
const OWN_VERBS: [&str; 32] = [
    "add",
    "apply",
    "bisect",
    "blame",
    "branch",
    "cat-file",
    "checkout",
    "cherry-pick",
    "clean",
    "clone",
    "commit",
    "config",
    "describe",
    "diff",
    "fetch",
    "grep",
    "init",
    "log",
    "ls-files",
    "merge",
    "mv",
    "pull",
    "rebase",
    "remote",
    "reset",
    "restore",
    "rev-parse",
    "rm",
    "show",
    "stash",
    "status",
    "switch",
];
/// The largest configuration that is read.
const CONFIG_BYTES_MAX: u64 = 1 << 20;
