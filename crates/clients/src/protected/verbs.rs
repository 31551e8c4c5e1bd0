//! What the programs of a command line do, as far as it matters here.

use tripwire_judge::read_only::is_cluster;
pub(super) use tripwire_judge::read_only::reads;

/// Programs that take something away together with what is inside it.
const MOVERS: &[&str] = &["rm", "mv", "rmdir", "unlink", "shred", "rimraf", "trash", "srm", "wipe"];

/// Programs whose words are nothing but options and files.
const FILES: &[&str] = &["cp", "tee", "touch", "mkdir", "ln", "install", "truncate", "chmod", "chown", "rsync", "dd"];

/// The name of our own program.
pub(super) const OURS: &str = "tripwire";

/// The verbs of `tripwire` by which a person lets something go on that was held.
const COMMANDS: &[&str] = &["resume", "ack", "allow", "disarm", "tune", "undo", "redo", "set", "web", "watch"];

/// The verbs of `tripwire` that only look.
const LOOKS: &[&str] = &[
    "status",
    "ls",
    "log",
    "diff",
    "why",
    "explain",
    "verify",
    "replay",
    "scan",
    "decide",
    "judge",
    "policy",
    "doctor",
    "completions",
    "statusline",
    "help",
    "--help",
    "-h",
    "--version",
    "-V",
];

/// The parts of `tripwire fleet` that only look: everything else is for people.
const FLEET_LOOKS: &[&str] = &["status", "audit", "--help", "-h"];

/// The parts of `tripwire fleet policy` that only look.
const FLEET_POLICY_LOOKS: &[&str] = &["show", "--help", "-h"];

/// Whether a command takes folders away.
pub(super) fn moves(program: &str) -> bool {
    MOVERS.contains(&program)
}

/// Whether a program's words are files, whatever they look like.
pub(super) fn takes_files(program: &str) -> bool {
    FILES.contains(&program) || MOVERS.contains(&program)
}

/// Whether a program makes the same file again under another name.
pub(super) fn copies(program: &str) -> bool {
    matches!(program, "cp" | "ln" | "mv" | "install")
}

/// Whether a program gives files a second name, under which they are the same files.
pub(super) fn aliases(program: &str, words: &[String]) -> bool {
    let links = |word: &str| {
        word.starts_with("--l") || word.starts_with("--sy") || is_cluster(word) && word.contains(['l', 's'])
    };
    let binds =
        |word: &str| word.split(',').any(|one| matches!(one, "--bind" | "--rbind" | "-B" | "-R" | "bind" | "rbind"));
    match program {
        "cp" => words.iter().any(|word| links(word)),
        "mount" => words.iter().any(|word| binds(word)),
        _ => false,
    }
}

/// Whether an option of `cp` names the target, which then stands anywhere.
pub(super) fn names_target(word: &str) -> bool {
    word.starts_with("--t") || (is_cluster(word) && word.contains('t'))
}

/// Whether a program's arguments may be code of another language.
pub(super) fn takes_code(program: &str) -> bool {
    const LANGUAGES: &[&str] =
        &["python", "perl", "node", "ruby", "php", "awk", "gawk", "mawk", "deno", "bun", "ssh", "osascript"];
    LANGUAGES.iter().any(|language| program.starts_with(language))
}

/// Whether `tripwire` with these words only looks.
pub(super) fn only_looks(words: &[String]) -> bool {
    words.first().is_none_or(|verb| LOOKS.contains(&verb.as_str()))
}

/// Whether these words are a command by which a person lets something go on.
pub(super) fn commands(words: &[String]) -> bool {
    match words {
        [verb, ..] if COMMANDS.contains(&verb.as_str()) => true,
        [verb, rest @ ..] if verb == "approvals" => rest.iter().any(|word| word == "approve" || word == "deny"),
        [verb, what, act, ..] if verb == "fleet" && what == "policy" => !FLEET_POLICY_LOOKS.contains(&act.as_str()),
        [verb, what, ..] if verb == "fleet" => !FLEET_LOOKS.contains(&what.as_str()),
        [verb, what, ..] => (verb == "review" && what == "decide") || (verb == "mcp" && what == "trust"),
        [_] | [] => false,
    }
}

/// Whether a pattern of processes fits the guard's own.
fn means_the_guard(pattern: &str) -> bool {
    let letters: String = pattern.chars().filter(|letter| letter.is_ascii_alphanumeric()).collect();
    letters.len() >= 4 && OURS.contains(letters.as_str()) || pattern.contains(OURS)
}

/// Whether a command looks for the guard's own processes.
pub(super) fn finds_the_guard(program: &str, words: &[String]) -> bool {
    let asked = || words.iter().filter(|word| !word.starts_with('-')).any(|word| means_the_guard(word));
    matches!(program, "pgrep" | "pidof" | "grep" | "awk" | "lsof" | "fuser") && asked()
}

/// Whether a command ends the guard's own processes.
pub(super) fn ends_the_guard(program: &str, words: &[String]) -> bool {
    let plain = || words.iter().filter(|word| !word.starts_with('-'));
    match program {
        "pkill" if words.iter().any(|word| word == "-x") => plain().any(|word| word == OURS),
        "pkill" | "skill" => plain().any(|word| means_the_guard(word)),
        "killall" | "fuser" => plain().any(|word| word.rsplit('/').next() == Some(OURS)),
        "kill" => words.iter().any(|word| word.parse::<u32>().is_ok_and(is_the_guard)),
        "systemctl" | "service" | "launchctl" => {
            let ends = plain()
                .any(|word| matches!(word.as_str(), "stop" | "kill" | "disable" | "mask" | "remove" | "bootout"));
            ends && plain().any(|word| word.contains(OURS))
        }
        _ => false,
    }
}

/// Whether a process runs our own program.
fn is_the_guard(process: u32) -> bool {
    let name = std::fs::read_to_string(format!("/proc/{process}/comm"));
    name.is_ok_and(|name| name.trim() == OURS) || process == std::process::id()
}

/// Whether git is told to run other hooks than those of its own folder, or none.
pub(super) fn moves_git_hooks(program: &str, words: &[String]) -> bool {
    let is_key = |word: &str| {
        let setting = word.strip_prefix("--config-env=").unwrap_or(word);
        setting.to_ascii_lowercase().starts_with("core.hookspath")
    };
    if program != "git" || !words.iter().any(|word| is_key(word)) {
        return false;
    }
    // `-c core.hooksPath=…` for one command.
    if words.iter().any(|word| is_key(word) && word.contains('=')) {
        return true;
    }
    let Some(at) = words.iter().position(|word| word == "config") else { return false };
    let behind: Vec<&String> = words.iter().skip(at + 1).collect();
    let reads = behind.iter().any(|word| {
        matches!(
            word.as_str(),
            "--get" | "--get-all" | "--list" | "-l" | "get" | "list" | "--show-origin" | "--get-regexp"
        )
    });
    let removes = behind.iter().any(|word| matches!(word.as_str(), "--unset" | "--unset-all" | "unset"));
    let sets = behind.last().is_some_and(|word| !is_key(word));
    !reads && (removes || sets)
}
