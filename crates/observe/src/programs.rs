//! Which programs do which kind of work: tables, so that a reader can see at once what is known.

use super::test_runs;
use super::test_scripts::is_test_script;
use super::text_files::is_plain_text;
use tripwire_core::chain::event::{Flag, Flags};

/// Runners of tests that need no further word.
const TEST_RUNNERS: &[&str] = &[
    "pytest",
    "py.test",
    "pytest-3",
    "unittest",
    "jest",
    "vitest",
    "mocha",
    "ava",
    "karma",
    "rspec",
    "phpunit",
    "pest",
    "ctest",
    "tox",
    "nox",
    "nosetests",
    "nose2",
    "trial",
    "bats",
    "behave",
    "gotestsum",
    "ginkgo",
    "prove",
    "busted",
    "runtests.py",
    "run_tests.py",
];

/// Programs that test when one of these words follows.
const TEST_WORDS: &[(&str, &[&str])] = &[
    ("cargo", &["test", "t", "nextest"]),
    ("npm", &["test", "t", "tst"]),
    ("pnpm", &["test", "t"]),
    ("yarn", &["test"]),
    ("bun", &["test"]),
    ("deno", &["test"]),
    ("go", &["test"]),
    ("make", &["test", "tests", "check"]),
    ("gmake", &["test", "tests", "check"]),
    ("ninja", &["test", "check"]),
    ("meson", &["test"]),
    ("just", &["test", "tests"]),
    ("task", &["test", "tests"]),
    ("mvn", &["test", "verify", "integration-test"]),
    ("mvnw", &["test", "verify", "integration-test"]),
    ("gradle", &["test", "check"]),
    ("gradlew", &["test", "check"]),
    ("dotnet", &["test"]),
    ("swift", &["test"]),
    ("bazel", &["test"]),
    ("mix", &["test"]),
    ("sbt", &["test"]),
    ("lein", &["test"]),
    ("stack", &["test"]),
    ("cabal", &["test"]),
    ("rake", &["test", "spec"]),
    ("rails", &["test"]),
    ("flutter", &["test"]),
    ("dart", &["test"]),
    ("artisan", &["test"]),
    ("composer", &["test"]),
    ("manage.py", &["test"]),
    ("playwright", &["test"]),
    ("ng", &["test"]),
    ("nx", &["test"]),
    ("hatch", &["test"]),
    ("setup.py", &["test"]),
    ("dune", &["test", "runtest"]),
    ("forge", &["test"]),
    ("crystal", &["spec"]),
    ("hardhat", &["test"]),
    ("react-scripts", &["test"]),
    ("xcodebuild", &["test"]),
    ("bazelisk", &["test"]),
    ("buck", &["test"]),
    ("buck2", &["test"]),
    ("pants", &["test"]),
    ("terraform", &["test"]),
    ("tofu", &["test"]),
    ("helm", &["unittest"]),
    ("molecule", &["test", "verify"]),
    ("fastlane", &["test", "tests", "scan"]),
    ("anchor", &["test"]),
    ("nimble", &["test"]),
    ("rebar3", &["eunit", "ct", "proper"]),
    ("cypress", &["run"]),
];

/// Programs that start a script of the project by name: `npm run test:unit`, `mise run test`.
const SCRIPT_RUNNERS: &[&str] = &[
    "npm", "pnpm", "yarn", "bun", "mise", "turbo", "poe", "deno", "composer", "nx", "just", "make", "hatch", "pdm",
    "moon",
];

/// Words that turn a test run into something else: it lists, it compiles, it explains itself.
const NO_RUN: &[&str] = &[
    "--collect-only",
    "--co",
    "--version",
    "--help",
    "-h",
    "-V",
    "--no-run",
    "--list",
    "--listTests",
    "--clearCache",
    "--dry-run",
    "--fixtures",
    "--markers",
    "--setup-plan",
    "--setup-only",
    "--cache-show",
    "-VV",
    "--list-tests",
    "--showConfig",
    "--show-only",
    "--notest",
    "--just-print",
    "--recon",
    "--question",
    "--touch",
    "--ignore-errors",
    "--dry",
    "--show",
    "--nobuild",
    "--test-no-exec",
    "-DskipTests",
    "-Dmaven.test.skip",
];
/// The same for one program only, where the short word means something else elsewhere.
const NO_RUN_OF: &[(&str, &[&str])] = &[
    ("ctest", &["-N"]),
    ("go", &["-c", "-n", "-list"]),
    ("just", &["-n", "-s"]),
    ("task", &["-n"]),
    ("ninja", &["-n", "-t"]),
    ("rake", &["-n", "-T", "-P"]),
    ("gradle", &["-m"]),
    ("gradlew", &["-m"]),
    ("tox", &["-l", "-a", "-n"]),
    ("nox", &["-l"]),
    ("dotnet", &["-t"]),
    ("swift", &["-l", "list"]),
    ("bats", &["-c", "--count"]),
];

/// Programs that install or remove when one of these words follows.
const INSTALL_WORDS: &[(&str, &[&str])] = &[
    ("pip", &["install", "uninstall"]),
    ("pip3", &["install", "uninstall"]),
    ("uv", &["add", "remove", "sync", "install"]),
    ("poetry", &["add", "install", "remove", "update"]),
    ("pipenv", &["install", "uninstall", "sync"]),
    ("pdm", &["add", "install", "remove", "sync"]),
    ("conda", &["install", "remove", "create"]),
    ("mamba", &["install", "remove", "create"]),
    ("npm", &["install", "i", "ci", "add", "uninstall", "update"]),
    ("pnpm", &["install", "i", "add", "remove", "update"]),
    ("yarn", &["install", "add", "remove", "upgrade"]),
    ("bun", &["install", "i", "add", "remove"]),
    ("cargo", &["add", "install", "remove", "update"]),
    ("rustup", &["install", "update", "component", "target"]),
    ("go", &["get", "install"]),
    ("apt", &["install", "remove", "upgrade"]),
    ("apt-get", &["install", "remove", "upgrade"]),
    ("apk", &["add", "del"]),
    ("yum", &["install", "remove"]),
    ("dnf", &["install", "remove"]),
    ("brew", &["install", "uninstall", "upgrade"]),
    ("gem", &["install", "uninstall"]),
    ("bundle", &["install", "update", "add"]),
    ("composer", &["install", "require", "remove", "update"]),
    ("dotnet", &["add", "restore", "remove"]),
    ("mise", &["install", "use"]),
];

/// Programs that build without a further word.
const BUILDERS: &[&str] = &[
    "make", "gmake", "ninja", "tsc", "gcc", "g++", "cc", "c++", "clang", "clang++", "rustc", "javac", "webpack",
    "rollup", "esbuild", "cmake", "ant",
];

/// Programs that build when one of these words follows.
const BUILD_WORDS: &[(&str, &[&str])] = &[
    ("cargo", &["build", "b", "check", "c", "clippy", "doc", "test", "bench"]),
    ("go", &["build", "vet"]),
    ("npm", &["build"]),
    ("pnpm", &["build"]),
    ("yarn", &["build"]),
    ("bun", &["build"]),
    ("mvn", &["compile", "package", "install", "verify"]),
    ("mvnw", &["compile", "package", "install", "verify"]),
    ("gradle", &["build", "assemble", "compileJava"]),
    ("gradlew", &["build", "assemble", "compileJava"]),
    ("dotnet", &["build", "publish"]),
    ("swift", &["build"]),
    ("bazel", &["build"]),
    ("zig", &["build"]),
    ("docker", &["build"]),
    ("vite", &["build"]),
    ("next", &["build"]),
    ("setup.py", &["build", "build_ext"]),
];

/// Programs that show something.
const READERS: &[&str] = &[
    "cat", "head", "tail", "less", "more", "bat", "nl", "wc", "ls", "tree", "stat", "file", "od", "xxd", "strings",
    "jq", "yq", "diff", "du", "pwd", "env", "printenv", "which", "curl", "wget",
];
/// Words of git that show something.
const GIT_READS: &[&str] = &["show", "diff", "log", "status", "blame", "branch", "ls-files", "rev-parse"];
/// Programs that search.
const SEARCHERS: &[&str] = &["grep", "egrep", "fgrep", "rg", "ag", "ack", "find", "fd", "fdfind", "locate", "zgrep"];
/// Programs that only pass on what they read.
const FILTERS: &[&str] = &["head", "tail", "sort", "uniq", "wc", "cut", "tr", "cd", "true", "cat"];
/// Programs that wait.
const WAITERS: &[&str] = &["sleep", "wait", "watch"];
/// Words of git that change files of the work tree.
const GIT_EDITS: &[&str] =
    &["apply", "am", "checkout", "restore", "stash", "merge", "rebase", "cherry-pick", "revert", "pull", "mv", "rm"];
/// Programs that write down what they are told; only their redirections are edits, those of others are logs.
const WRITERS: &[&str] = &["cat", "echo", "printf", "tee", "sed", "awk", "jq"];
/// Formatters that rewrite files in place.
const FORMATTERS: &[&str] = &["rustfmt", "black", "isort", "autopep8", "gofmt", "goimports"];
/// Leftovers that a clean-up removes: their removal is no edit of the code.
const LEFTOVERS: &[&str] =
    &["target", "node_modules", "dist", "build", "__pycache__", ".pytest_cache", "coverage", ".cache"];

fn table_has(table: &[(&str, &[&str])], program: &str, words: &[&str]) -> bool {
    table.iter().any(|(name, subs)| *name == program && words.iter().any(|word| subs.contains(word)))
}

/// The words that are no options, nor the values of options known to take one; at most the first two for most tools.
pub(super) fn plain_words<'a>(words: &[&'a str]) -> alloc::vec::Vec<&'a str> {
    const WITH_VALUE: &[&str] = &[
        "-C",
        "--prefix",
        "--cwd",
        "--dir",
        "--filter",
        "-F",
        "--manifest-path",
        "-f",
        "-j",
        "--project",
        "--workspace",
    ];
    let mut plain = alloc::vec::Vec::new();
    let mut skip = false;
    for word in words.iter().skip(1) {
        if skip {
            skip = false;
        } else if WITH_VALUE.contains(word) {
            skip = true;
        } else if !word.starts_with(['-', '+']) {
            plain.push(*word);
        }
    }
    plain
}

/// Whether a command runs tests.
pub(super) fn is_test(words: &[&str]) -> bool {
    let Some(program) = program(words) else { return false };
    // What follows `--` is for the tests themselves.
    if words.iter().skip(1).take_while(|word| **word != "--").any(|word| keeps_from_running(program, word))
        || leaves_tests_out(program, words)
        || test_runs::runs_other_sessions(program, words)
        || test_runs::hands_on_no_run(program, words)
    {
        return false;
    }
    if TEST_RUNNERS.contains(&program) || words.first().is_some_and(|word| is_test_script(word)) {
        return plain_words(words).first() != Some(&"list");
    }
    let plain = plain_words(words);
    // A task list of make, just or gradle may name the tests anywhere; elsewhere the word comes first.
    let anywhere =
        matches!(program, "make" | "gmake" | "mvn" | "mvnw" | "gradle" | "gradlew" | "ninja" | "sbt" | "just");
    let looked_at = if anywhere { plain.as_slice() } else { plain.get(..1).unwrap_or_default() };
    if program == "cargo" && plain.first() == Some(&"nextest") {
        return plain.get(1) == Some(&"run") || plain.get(1) == Some(&"r");
    }
    if program == "zig" {
        return plain.first() == Some(&"test") || (plain.first() == Some(&"build") && plain.get(1) == Some(&"test"));
    }
    if matches!(program, "node" | "tsx") {
        return words.contains(&"--test");
    }
    let script = match plain.as_slice() {
        ["run" | "run-script" | "task", name, ..] | ["workspace", _, name, ..] => {
            SCRIPT_RUNNERS.contains(&program).then_some(*name)
        }
        [name, ..] => SCRIPT_RUNNERS.contains(&program).then_some(*name),
        [] => None,
    };
    let by_runner = |name: &str| matches!(program, "yarn" | "pnpm" | "bun") && TEST_RUNNERS.contains(&name);
    table_has(TEST_WORDS, program, looked_at)
        || test_runs::is_own_way(program, words, &plain)
        || test_runs::is_test_service(words)
        || script.is_some_and(|name| is_test_name(name) || by_runner(name))
        || (matches!(program, "gradle" | "gradlew") && plain.iter().any(|task| is_gradle_test(task)))
}

/// Whether a script is named for the tests.
pub(super) fn is_test_name(name: &str) -> bool {
    matches!(name, "test" | "tests")
        || name.starts_with("test:")
        || name.starts_with("test-")
        || name.ends_with(":test")
}

/// Whether a word turns a test run into something else. A switch may be followed by its value: `-list=.`.
fn keeps_from_running(program: &str, word: &str) -> bool {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    let known = NO_RUN.contains(&name) || table_has(NO_RUN_OF, program, &[name]);
    (known && value != "false") || (matches!(program, "make" | "gmake") && is_idle_make(word))
}

/// Whether make's short options keep it from running, or from telling that something failed: `-n`, `-kn`, `-q`, `-i`.
fn is_idle_make(word: &str) -> bool {
    const SWITCHES: &str = "BLRSbdeikmnpqrstvw";
    let letters = word.strip_prefix('-').unwrap_or_default();
    letters.chars().take_while(|letter| SWITCHES.contains(*letter)).any(|letter| "nqti".contains(letter))
}

/// Whether gradle is told to leave the tests out: `gradle check -x test`.
fn leaves_tests_out(program: &str, words: &[&str]) -> bool {
    let is_left_out = |pair: &[&str]| matches!(pair, ["-x" | "--exclude-task", task] if is_gradle_test(task));
    matches!(program, "gradle" | "gradlew") && words.windows(2).any(is_left_out)
}

/// Whether a task of gradle runs tests: `:app:test`, `testDebugUnitTest`.
fn is_gradle_test(task: &str) -> bool {
    let name = task.rsplit(':').next().unwrap_or(task);
    let variant = name.strip_prefix("test").and_then(|rest| rest.chars().next());
    let makes = ["compile", "process", "assemble", "build", "install", "lint", "package", "merge", "generate"];
    let suite = (name.ends_with("Test") || name.ends_with("Tests") || name == "connectedCheck")
        && !makes.iter().any(|start| name.starts_with(start));
    // It only compiles them.
    name != "testClasses" && (matches!(name, "test" | "check") || suite || variant.is_some_and(char::is_uppercase))
}

/// The program's name without its folder.
pub(super) fn program<'a>(words: &[&'a str]) -> Option<&'a str> {
    words.first().and_then(|word| word.rsplit('/').next())
}

/// The kinds of work that one command does, apart from tests and edits.
pub(super) fn work(words: &[&str]) -> Flags {
    let mut flags = Flags::default();
    let Some(program) = program(words) else { return flags };
    let plain = plain_words(words);
    let first = plain.get(..1).unwrap_or_default();
    if table_has(INSTALL_WORDS, program, first)
        || (program == "uv" && matches!(plain.as_slice(), ["pip", "install" | "uninstall" | "sync", ..]))
        || (program == "yarn" && words.len() == 1)
        || (program == "pacman" && words.get(1).is_some_and(|word| word.starts_with("-S") || word.starts_with("-R")))
    {
        flags = flags.with(Flag::Install);
    }
    let script_build = matches!(plain.as_slice(), ["run", "build", ..]) && SCRIPT_RUNNERS.contains(&program);
    let tests = is_test(words);
    if script_build || (!tests && (BUILDERS.contains(&program) || table_has(BUILD_WORDS, program, first))) {
        flags = flags.with(Flag::Build);
    }
    if SEARCHERS.contains(&program) || (program == "git" && first == ["grep"]) {
        flags = flags.with(Flag::Search);
    }
    let shows = program == "sed" && !words.iter().any(|word| word.starts_with("-i") || *word == "--in-place");
    if READERS.contains(&program) || shows || (program == "git" && first.iter().any(|word| GIT_READS.contains(word))) {
        flags = flags.with(Flag::Read);
    }
    let follows = program == "tail" && words.iter().any(|word| matches!(*word, "-f" | "-F" | "--follow"));
    let watches = matches!(program, "gh" | "kubectl")
        && words.iter().any(|word| matches!(*word, "watch" | "--watch" | "wait" | "-w"));
    // Windows: `Start-Sleep -Seconds 15`, `timeout /t 15`.
    let pauses = program.eq_ignore_ascii_case("start-sleep")
        || (program == "timeout" && words.iter().any(|word| word.eq_ignore_ascii_case("/t")));
    if WAITERS.contains(&program) || follows || watches || pauses {
        flags = flags.with(Flag::Wait);
    }
    flags
}

/// The files that a command changes, if it changes any: an edit must leave a trace in the workspace.
pub(super) fn edits(words: &[&str], writes: &[alloc::string::String]) -> bool {
    let Some(program) = program(words) else { return false };
    let plain = plain_words(words);
    let in_place = words.iter().any(|word| word.starts_with("-i") || *word == "--in-place" || word.starts_with("-pi"));
    let written = WRITERS.contains(&program) && writes.iter().any(|path| is_workspace_file(path));
    let changed = match program {
        "sed" | "perl" | "ruby" => in_place,
        "git" => match plain.first() {
            Some(&"reset") => words.contains(&"--hard"),
            Some(&"stash") => plain.get(1) != Some(&"list") && plain.get(1) != Some(&"show"),
            Some(&"checkout") => !words.iter().any(|word| matches!(*word, "-b" | "-B")),
            Some(word) => GIT_EDITS.contains(word),
            None => false,
        },
        "patch" | "apply_patch" => true,
        "mv" | "cp" => plain.last().is_some_and(|path| is_workspace_file(path)),
        "rm" => plain.iter().any(|path| is_workspace_file(path) && !is_leftover(path)),
        "prettier" => words.iter().any(|word| matches!(*word, "--write" | "-w")),
        "eslint" | "ruff" => words.contains(&"--fix") || plain.first() == Some(&"format"),
        "cargo" => matches!(plain.first(), Some(&("fmt" | "fix"))) && !words.contains(&"--check"),
        "gofmt" | "goimports" => words.contains(&"-w"),
        name => FORMATTERS.contains(&name) && !words.iter().any(|word| matches!(*word, "--check" | "--diff")),
    };
    changed || written
}

/// Whether all that an editing command changes is plain text. A command whose files are not named may change anything.
pub(super) fn edits_only_text(words: &[&str], writes: &[alloc::string::String]) -> bool {
    let Some(program) = program(words) else { return false };
    let plain = plain_words(words);
    let named = |files: &[&str]| !files.is_empty() && files.iter().all(|path| is_plain_text(path));
    let changed = match program {
        "tee" | "mv" | "cp" | "rm" => named(&plain),
        // Its first word is what to do, unless an option says it.
        "sed" if words.iter().any(|word| word.starts_with("-i")) => {
            let told =
                words.iter().any(|word| word.starts_with("-e") || word.starts_with("-f") || word.starts_with("--"));
            !told && named(plain.get(1..).unwrap_or_default())
        }
        name => WRITERS.contains(&name) && !writes.is_empty(),
    };
    changed && writes.iter().filter(|path| is_workspace_file(path)).all(|path| is_plain_text(path))
}

/// Whether `tee` writes a file of the workspace.
pub(super) fn tee_writes(words: &[&str]) -> bool {
    program(words) == Some("tee") && plain_words(words).iter().any(|path| is_workspace_file(path))
}

/// Whether a path may be a file of the workspace that counts: no device, no temporary file, no log.
fn is_workspace_file(path: &str) -> bool {
    const OUTSIDE: [&str; 5] = ["/tmp/", "/dev/", "/var/tmp/", "/proc/", "/private/tmp/"];
    !OUTSIDE.iter().any(|folder| path.starts_with(folder)) && !path.ends_with(".log") && !path.is_empty()
}

fn is_leftover(path: &str) -> bool {
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or(path);
    LEFTOVERS.contains(&name)
        || name.ends_with(".pyc")
        || name.ends_with(".o")
        || path.split('/').any(|part| LEFTOVERS.contains(&part))
}

/// Whether a program's non-zero status 1 is an answer (no match, a difference) and no failure.
pub(super) fn answers_with_one(words: &[&str]) -> bool {
    program(words).is_some_and(|program| {
        matches!(program, "grep" | "egrep" | "fgrep" | "rg" | "ag" | "diff" | "cmp" | "test" | "[" | "pgrep" | "which")
    })
}

/// Whether a command only passes its input on, for the question whether the order of lines means anything.
pub(super) fn is_filter(words: &[&str]) -> bool {
    program(words).is_some_and(|program| FILTERS.contains(&program) || SEARCHERS.contains(&program))
}
