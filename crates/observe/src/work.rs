//! What a command line is for: the flags of an event, and how far its exit status speaks for the tests.

use super::arguments::is_shell;
use super::commands::{Command, Fate, Joint, commands};
use super::programs;
use super::test_runs;
use super::test_scripts;
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use tripwire_core::chain::event::{Flag, Flags};
use tripwire_shell::wrappers::{Head, Wrapper};

/// Shells inside shells that are looked into.
const DEPTH_MAX: u8 = 3;

/// What the exit status of a whole command line says about the tests inside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Proof {
    /// Nothing: code was edited behind them in the same line.
    Outdated,
    /// Nothing, and even the output is only what a filter such as `grep` let through.
    Filtered,
    /// Nothing: a pipe, `||`, `;` or the background hides it.
    Hidden,
    /// Zero means that they passed; anything else may come from what ran after them.
    Pass,
    /// It is theirs.
    Full,
}

/// What a command line does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Work {
    /// The kinds of work.
    pub(super) flags: Flags,
    /// What the exit status says about the tests; none without tests.
    pub(super) proof: Option<Proof>,
    /// What else is known about it.
    pub(super) marks: Marks,
}

/// A fact about a command or a command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// An edit came before the tests, so that a failed test run does not undo it.
    EditFirst,
    /// The output is a list whose order means nothing.
    Unordered,
    /// The last command answers with status 1 (`grep` without a match): that is no failure.
    OneIsAnswer,
    /// The command set a time limit itself.
    Limited,
    /// `xargs` runs it.
    ByXargs,
    /// It edited something that may be code, and not only plain text.
    Code,
}

/// A set of [`Mark`]s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Marks(u8);

impl Marks {
    const fn bit(mark: Mark) -> u8 {
        match mark {
            Mark::EditFirst => 1,
            Mark::Unordered => 1 << 1,
            Mark::OneIsAnswer => 1 << 2,
            Mark::Limited => 1 << 3,
            Mark::ByXargs => 1 << 4,
            Mark::Code => 1 << 5,
        }
    }

    /// Whether a mark is in the set.
    pub(super) const fn has(self, mark: Mark) -> bool {
        self.0 & Self::bit(mark) != 0
    }

    /// The set with one mark more.
    pub(super) const fn with(self, mark: Mark) -> Self {
        Self(self.0 | Self::bit(mark))
    }

    /// The set without one mark.
    pub(super) const fn without(self, mark: Mark) -> Self {
        Self(self.0 & !Self::bit(mark))
    }
}

/// Reads a command line.
pub(super) fn of_command(line: &str) -> Work {
    of_line(line, &[], DEPTH_MAX)
}

/// The same in a project whose tests this command runs, whatever it is called.
pub(super) fn of_command_in(line: &str, tests: &str) -> Work {
    of_line(line, &own_tests(tests), DEPTH_MAX)
}

/// The words of the command that runs a project's tests; none where it is more than one command behind its `cd`.
fn own_tests(line: &str) -> Vec<String> {
    let prepares = |command: &Command| match command.words.first() {
        Some(first) => matches!(first.as_str(), "cd" | "set" | "export"),
        None => true,
    };
    let found: Vec<Command> = commands(line).into_iter().filter(|command| !prepares(command)).collect();
    match found.as_slice() {
        [only] => unwrap(&only.texts()).words.iter().map(|word| String::from(*word)).collect(),
        _ => Vec::new(),
    }
}

fn of_line(line: &str, tests: &[String], depth: u8) -> Work {
    let commands = commands(line);
    let mut all = Work { flags: Flags::default(), proof: None, marks: Marks::default().with(Mark::Unordered) };
    for (index, command) in commands.iter().enumerate() {
        let texts = command.texts();
        let unwrapped = unwrap(&texts);
        if unwrapped.marks.has(Mark::Limited) {
            all.marks = all.marks.with(Mark::Limited);
        }
        match inner_line(command, &unwrapped).filter(|_| depth > 0) {
            Some(inner) => {
                let inner = of_line(&inner, tests, depth.saturating_sub(1));
                let proof = inner.proof.map(|proof| proof.min(proof_at(&commands, index)));
                for mark in [Mark::EditFirst, Mark::Code].into_iter().filter(|mark| inner.marks.has(*mark)) {
                    all.marks = all.marks.with(mark);
                }
                if inner.marks.has(Mark::Code) {
                    outdate(&mut all);
                }
                if !inner.marks.has(Mark::Unordered) {
                    all.marks = all.marks.without(Mark::Unordered);
                }
                join(&mut all, inner.flags, proof);
            }
            None => one_command(&mut all, tests, &commands, index, &unwrapped),
        }
        if command.fate == Fate::Block {
            all.marks = all.marks.without(Mark::Unordered);
        }
        let answers = programs::answers_with_one(unwrapped.words) && command.fate != Fate::Block;
        let marks = all.marks.without(Mark::OneIsAnswer);
        all.marks = if answers { marks.with(Mark::OneIsAnswer) } else { marks };
    }
    if !all.flags.has(Flag::Search) {
        all.marks = all.marks.without(Mark::Unordered);
    }
    all
}

fn one_command(all: &mut Work, tests: &[String], commands: &[Command], index: usize, unwrapped: &Unwrapped<'_>) {
    let words = unwrapped.words;
    let before = index.checked_sub(1).and_then(|before| commands.get(before));
    let after_pipe = before.is_some_and(|before| before.joint == Joint::Pipe);
    let writes = commands.get(index).map(|command| command.writes.as_slice()).unwrap_or_default();
    let mut flags = programs::work(words);
    let fed_by_text =
        before.is_some_and(|before| matches!(programs::program(&before.texts()), Some("echo" | "cat" | "printf")));
    let tees = programs::tee_writes(words) && (!after_pipe || fed_by_text);
    let edits = programs::edits(words, writes) || tees;
    if after_pipe && !unwrapped.marks.has(Mark::ByXargs) {
        // Behind a pipe, `grep` and `head` filter what another program found.
        flags = only(flags, &[Flag::Install, Flag::Build]);
    }
    if edits {
        // `cat > file` writes, it does not read.
        flags = only(flags, &[Flag::Install, Flag::Build, Flag::Test]).with(Flag::Edit);
        if unwrapped.marks.has(Mark::ByXargs) || !programs::edits_only_text(words, writes) {
            all.marks = all.marks.with(Mark::Code);
            outdate(all);
        }
    }
    if !programs::is_filter(words) || edits || !writes.is_empty() {
        all.marks = all.marks.without(Mark::Unordered);
    }
    let is_own = !tests.is_empty() && words.iter().copied().eq(tests.iter().map(String::as_str));
    let proof = (is_own || programs::is_test(words)).then(|| proof_at(commands, index));
    join(all, flags, proof);
}

/// What is edited behind the tests is not what they ran on; tests behind the edit speak for themselves.
fn outdate(all: &mut Work) {
    all.proof = all.proof.map(|_| Proof::Outdated);
}

fn join(all: &mut Work, flags: Flags, proof: Option<Proof>) {
    if proof.is_some() && all.flags.has(Flag::Edit) {
        all.marks = all.marks.with(Mark::EditFirst);
    }
    for (flag, _) in Flag::ALL {
        if flags.has(flag) {
            all.flags = all.flags.with(flag);
        }
    }
    if let Some(proof) = proof {
        all.flags = all.flags.with(Flag::Test);
        let before = all.proof.filter(|before| *before != Proof::Outdated);
        all.proof = Some(before.map_or(proof, |before| before.min(proof)));
    }
}

fn only(flags: Flags, kept: &[Flag]) -> Flags {
    kept.iter().filter(|flag| flags.has(**flag)).fold(Flags::default(), |all, flag| all.with(*flag))
}

/// What the status of the whole line says about the command at `index`.
fn proof_at(commands: &[Command], index: usize) -> Proof {
    let set = |option: &str| {
        commands.iter().take(index).any(|command| {
            let texts = command.texts();
            texts.first() == Some(&"set") && texts.iter().any(|word| word.contains(option))
        })
    };
    let (keeps_pipes, stops) = (set("pipefail"), set("-e"));
    let maybe_skipped = commands.iter().take(index).any(|command| command.joint == Joint::Or);
    if maybe_skipped || commands.get(index).is_some_and(|command| command.fate != Fate::Plain) {
        return Proof::Hidden;
    }
    let mut proof = Proof::Full;
    let mut own_pipe = true;
    for (place, command) in commands.iter().enumerate().skip(index) {
        let last = place.saturating_add(1) == commands.len();
        match command.joint {
            Joint::Background | Joint::Or => return Proof::Hidden,
            Joint::Pipe | Joint::Then | Joint::And | Joint::End if command.fate == Fate::Block && !stops => {
                return Proof::Hidden;
            }
            Joint::Pipe if own_pipe && !keeps_pipes => return piped(commands, place),
            Joint::Then if !last && !stops => return Proof::Hidden,
            Joint::Pipe => proof = Proof::Pass,
            Joint::Then | Joint::And if !last => {
                own_pipe = false;
                proof = Proof::Pass;
            }
            Joint::Then | Joint::And | Joint::End => {}
        }
    }
    proof
}

/// Behind a pipe the output still speaks, unless a filter chose its lines; `tail` keeps the summary.
fn piped(commands: &[Command], pipe: usize) -> Proof {
    let readers = commands.iter().skip(pipe.saturating_add(1));
    for command in readers {
        if !matches!(programs::program(&command.texts()), Some("tail" | "tee" | "cat" | "less")) {
            return Proof::Filtered;
        }
        if command.joint != Joint::Pipe {
            break;
        }
    }
    Proof::Hidden
}

/// A command without what stands before the program.
struct Unwrapped<'a> {
    words: &'a [&'a str],
    /// The line that `env -S` makes of a text.
    line: Option<Cow<'a, str>>,
    marks: Marks,
}

fn unwrap<'a>(words: &'a [&'a str]) -> Unwrapped<'a> {
    let mut unwrapped = Unwrapped { words, line: None, marks: Marks::default() };
    while let Some((first, rest)) = unwrapped.words.split_first() {
        let name = first.rsplit('/').next().unwrap_or(first);
        if name == "command" && rest.first().is_some_and(|word| word.starts_with('-') && word.contains(['v', 'V'])) {
            // It only says what a name stands for.
            return unwrapped;
        }
        if name == "timeout" && rest.first().is_some_and(|word| word.eq_ignore_ascii_case("/t")) {
            // On Windows it runs nothing, it waits.
            return unwrapped;
        }
        if name == "env"
            && let Some(line) = split_string(rest)
        {
            return Unwrapped { words: &[], line: Some(line), ..unwrapped };
        }
        if matches!(name, "hatch" | "pdm" | "poe")
            && matches!(rest, ["run", script, ..] if programs::is_test_name(script))
        {
            // A script of the project, and not the shell's own `test`.
            return unwrapped;
        }
        if let Some(wrapper) = Wrapper::find(name, rest.first().copied()) {
            unwrapped.marks = match name {
                "timeout" | "gtimeout" => unwrapped.marks.with(Mark::Limited),
                "xargs" => unwrapped.marks.with(Mark::ByXargs),
                _ => unwrapped.marks,
            };
            let behind = unwrapped.words.get(wrapper.own_words()..).unwrap_or_default();
            let head = Head::of(behind, wrapper.values, wrapper.skip);
            unwrapped.words = behind.get(head.program..).unwrap_or_default();
        } else if let Some(command) = test_runs::in_container(unwrapped.words) {
            unwrapped.words = command;
        } else if let Some(script) = test_scripts::run_by_shell(unwrapped.words) {
            unwrapped.words = script;
            return unwrapped;
        } else if is_python(name) {
            return python(unwrapped, rest);
        } else if matches!(name, "php" | "node" | "ruby") && rest.first().is_some_and(|word| !word.starts_with('-')) {
            // `php artisan test`, `node node_modules/.bin/jest`.
            return Unwrapped { words: rest, ..unwrapped };
        } else if let ("coverage", ["run", rest @ ..]) = (name, rest) {
            return python(unwrapped, rest);
        } else {
            return unwrapped;
        }
    }
    unwrapped
}

/// `python -m pytest` runs pytest; `python manage.py test` runs manage.py.
fn python<'a>(mut unwrapped: Unwrapped<'a>, rest: &'a [&'a str]) -> Unwrapped<'a> {
    let options = rest.iter().take_while(|word| word.starts_with('-') && !matches!(**word, "-m" | "-c")).count();
    match rest.get(options..).unwrap_or_default() {
        ["-m", module @ ..] => unwrapped.words = module,
        ["-c", ..] | [] => {}
        script => unwrapped.words = script,
    }
    unwrapped
}

fn is_python(name: &str) -> bool {
    name == "py"
        || name.strip_prefix("python").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
}

/// The text that `env -S` splits into words, with the words behind it.
fn split_string<'a>(words: &[&'a str]) -> Option<Cow<'a, str>> {
    let own = words.iter().take_while(|word| word.starts_with('-') || word.contains('=')).count();
    let at = words.iter().take(own).position(|word| word.starts_with("-S") || word.starts_with("--split-string"))?;
    let (option, behind) = words.get(at..)?.split_first()?;
    let joined = option.strip_prefix("-S").or_else(|| option.strip_prefix("--split-string="));
    match (joined.filter(|text| !text.is_empty()), behind) {
        (Some(text), []) => Some(Cow::Borrowed(text)),
        (Some(text), behind) => Some(Cow::Owned([&[text], behind].concat().join(" "))),
        (None, behind) => Some(Cow::Owned(behind.join(" "))),
    }
}

/// The line that `bash -c '…'`, `eval '…'`, `env -S '…'` or a shell that reads its input runs.
fn inner_line<'a>(command: &'a Command, unwrapped: &Unwrapped<'a>) -> Option<Cow<'a, str>> {
    if let Some(line) = &unwrapped.line {
        return Some(line.clone());
    }
    match unwrapped.words {
        ["eval", words @ ..] => Some(Cow::Owned(words.join(" "))),
        [shell, rest @ ..] if is_shell(shell) => {
            let is_code = |word: &&str| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
            match rest.iter().position(is_code) {
                Some(at) => rest.get(at.saturating_add(1)).map(|line| Cow::Borrowed(*line)),
                None if rest.iter().all(|word| word.starts_with('-') && !word.contains('n')) => {
                    command.input.as_deref().map(Cow::Borrowed)
                }
                None => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(flags: Flags) -> Vec<&'static str> {
        Flag::ALL.iter().filter(|(flag, _)| flags.has(*flag)).map(|(_, name)| *name).collect()
    }

    #[test]
    fn test_runs_are_recognised() {
        for line in [
            "cargo test",
            "cargo +nightly test -p x",
            "cargo t",
            "cargo nextest run",
            "pytest",
            "pytest tests/a.py -x",
            "python -m pytest -q",
            "python3.12 -m unittest discover",
            "npm test",
            "npm run test:unit",
            "pnpm -r test",
            "yarn test --watch=false",
            "go test ./...",
            "make test",
            "make -C lib check",
            "mvn -q test",
            "./gradlew test",
            "npx jest a",
            "vitest run",
            "bundle exec rspec",
            "vendor/bin/phpunit",
            "ctest --output-on-failure",
            "dotnet test",
            "cd x && cargo test",
            "RUST_LOG=debug cargo test",
            "timeout 60 pytest",
            "sudo make test",
            "bash -lc 'cd x && pytest'",
            "uv run pytest",
            "poetry run pytest",
            "(cd a; npm test)",
            "tox",
            "mise run test:ci",
            "for i in 1 2; do cargo test; done",
            "python manage.py test app",
            "env A=b pytest",
            "coverage run -m pytest",
            "cargo test -- --list",
            "time cargo test 2>&1 | tail -5",
            "zig build test",
            "./run_tests.sh",
            "sh run_tests.sh",
            "./test.sh",
            "make check",
            "bash scripts/test.sh",
            "cd x && sh -e ./test.sh unit 2>&1 | tail -3",
            "sudo bash -x ci/run-all-tests.sh",
            "timeout 60 script/test",
            "bash -c 'sh test.sh'",
            "php artisan test",
            "node node_modules/.bin/jest",
            "node --test tests/",
            "yarn vitest run",
            "pnpm run jest",
            "deno task test",
            "yarn workspace a test",
            "npm --workspace a test",
            "./gradlew :app:test",
            "gradle testDebugUnitTest",
            "npm run tests",
            "make -k test",
            "mvn test -DskipTests=false",
            "prove -l t",
        ] {
            assert!(of_command(line).flags.has(Flag::Test), "{line}");
        }
    }

    #[test]
    fn what_only_mentions_tests_is_no_test_run() {
        for line in [
            "echo \"cargo test\"",
            "grep 'pytest' README",
            "cat pytest.ini",
            "cargo build",
            "cargo test --no-run",
            "pytest --collect-only",
            "pytest --version",
            "git commit -m 'cargo test passes'",
            "ls tests",
            "vim test.py",
            "cat <<EOF\ncargo test\nEOF",
            "# cargo test",
            "echo $(cargo test)",
            "npm run lint",
            "make",
            "go build ./...",
            "pip install pytest",
            "which jest",
            "python -c 'import pytest'",
            "sed -n 1,5p test.sh",
            "make -n test",
            "cargo nextest list",
            "npm install test",
            "python test_foo.py",
            "cat run_tests.sh",
            "sh deploy.sh",
            "bash -n run_tests.sh",
            "sh -c run_tests.sh.txt",
            "test -f run_tests.sh",
            "chmod +x test.sh",
            "sh test_deploy.sh",
            "shellcheck test.sh",
            "cp test.sh run_tests.sh",
            "make -kn test",
            "make -q test",
            "gmake -i test",
            "make --just-print test",
            "go test -list=. ./...",
            "mvn verify -DskipTests",
            "mvn test -Dmaven.test.skip=true",
            "./gradlew check -x test",
            "gradle test -m",
            "dotnet test --list-tests",
            "swift test list",
            "tox --notest",
            "just -n test",
            "rake -T test",
            "node test.js",
        ] {
            assert!(!of_command(line).flags.has(Flag::Test), "{line}");
        }
    }

    #[test]
    fn test_runs_are_recognised_in_every_construct_of_the_shell() {
        for line in [
            "$'cargo' test",
            "c\\argo te\"st\"",
            "cargo \\\n  test",
            "for d in a b; do (cd $d && cargo test); done",
            "if [ -f Cargo.toml ]; then cargo test; else npm test; fi",
            "while ! cargo test; do sleep 1; done",
            "case $1 in unit) cargo test;; *) ls;; esac",
            "t() { cargo test \"$@\"; }; t -q",
            "function t { cd x; pytest; }\nt",
            "{ cargo test; }",
            "time -p cargo test",
            "/usr/bin/time -v cargo test",
            "env -S 'cargo test'",
            "env -S'cargo test' -q",
            "env -i A=b --split-string='cargo test'",
            "bash <<'EOF'\ncd x\ncargo test\nEOF",
            "bash -s <<< 'cargo test'",
            "eval cargo test",
            "command cargo test",
            "sudo -u bob make test",
            "timeout -k 5 60 pytest",
            "uv run --with x pytest",
            "conda run -n base pytest",
            "npx cross-env A=b mocha x",
            "strace -f -o log cargo test",
            "diff <(ls) x; cargo test",
            "a=(1 2); cargo test",
            "[[ -f x ]] && cargo test",
            "(( 1 < 2 )) && cargo test",
        ] {
            assert!(of_command(line).flags.has(Flag::Test), "{line}");
        }
    }

    #[test]
    fn what_no_shell_would_run_is_no_test_run() {
        for line in [
            "t() { cargo test; }",
            "t() { cargo test; }; ls t",
            "for cargo in test; do ls; done",
            "case cargo in test) ls;; esac",
            "$'cargo test'",
            "$'cargo\\x20test'",
            "cat <<EOF\n$(cargo test)\nEOF",
            "bash x.sh <<'EOF'\ncargo test\nEOF",
            "bash -n <<'EOF'\ncargo test\nEOF",
            "cat <<< 'cargo test'",
            "env -S 'echo cargo test'",
            "env echo -S 'cargo test'",
            "command -v pytest",
            "a=(cargo test)",
            "a=cargo test -f x",
            "[[ cargo == test ]]",
            "x=$(cargo test)",
            "diff <(cargo test) x",
            "time",
            "sudo -u pytest ls",
        ] {
            assert!(!of_command(line).flags.has(Flag::Test), "{line}");
        }
    }

    #[test]
    fn the_exit_status_speaks_for_the_tests_only_where_nothing_hides_it() {
        for (line, proof) in [
            ("cargo test", Proof::Full),
            ("cd x && cargo test", Proof::Full),
            ("cd x; cargo test;", Proof::Full),
            ("cargo test && echo done", Proof::Pass),
            ("cargo test && echo done | cat", Proof::Pass),
            ("set -o pipefail; cargo test | tail", Proof::Pass),
            ("set -e; cargo test; ls", Proof::Pass),
            ("cargo test || true", Proof::Hidden),
            ("cargo test | tail", Proof::Hidden),
            ("cargo test; ls", Proof::Hidden),
            ("cargo test\nls", Proof::Hidden),
            ("cargo test &", Proof::Hidden),
            ("! cargo test", Proof::Hidden),
            ("if cargo test; then ls; fi", Proof::Hidden),
            ("ls || cargo test", Proof::Hidden),
            ("cargo test && pytest || true", Proof::Hidden),
            ("bash -c 'cargo test | tail'", Proof::Hidden),
            ("cargo test 2>&1 | grep ok", Proof::Filtered),
            ("cargo test | tee a.log | head -5", Proof::Filtered),
            ("cargo test | tail; grep x y", Proof::Hidden),
            ("bash -c 'cargo test' | tail", Proof::Hidden),
            ("bash -c 'cargo test'", Proof::Full),
            ("{ cd x && cargo test; }", Proof::Full),
            ("t() { cargo test; }; t", Proof::Full),
            ("time cargo test", Proof::Full),
            ("bash <<< 'cargo test'", Proof::Full),
            ("t() { cargo test | tail; }; t", Proof::Hidden),
            ("if true; then cargo test; fi", Proof::Hidden),
            ("case x in y) cargo test;; esac", Proof::Hidden),
            ("for i in 1 2; do cd $i; cargo test; done", Proof::Hidden),
            ("cargo test && for i in 1; do ls; done", Proof::Hidden),
            ("{ cargo test; } | grep ok", Proof::Filtered),
            ("cargo test && sed -i s/a/b/ a.rs", Proof::Outdated),
            ("cargo test; bash -c 'echo x > a.rs'", Proof::Outdated),
            ("git stash && cargo test; git stash pop", Proof::Outdated),
            ("cargo test && cargo fmt && cargo test", Proof::Full),
            ("cargo test && echo done > notes.txt", Proof::Pass),
        ] {
            assert_eq!(of_command(line).proof, Some(proof), "{line}");
        }
        assert_eq!(of_command("ls").proof, None);
    }

    #[test]
    fn dirty_1_the_command_that_is_named_for_the_tests_is_a_test_run_and_no_other_line_is() {
        for (named, line, proof) in [
            ("make ci", "make ci", Some(Proof::Full)),
            ("make ci", "cd /w && timeout 60 make ci 2>&1", Some(Proof::Full)),
            ("make ci", "make ci || true", Some(Proof::Hidden)),
            ("make ci", "make ci -n", None),
            ("make ci", "echo make ci", None),
            ("cd app && ./check.sh", "cd app && ./check.sh", Some(Proof::Full)),
            ("make lint && make ci", "make lint", None),
            ("", "ls", None),
        ] {
            assert_eq!(of_command_in(line, named).proof, proof, "{named}: {line}");
        }
    }

    #[test]
    fn commands_carry_the_flags_of_their_work() {
        for (line, flags) in [
            ("pip install requests", &["install"][..]),
            ("python -m pip install -e .", &["install"]),
            ("npm ci && npm run build", &["install", "build"]),
            ("sudo apt-get install -y jq", &["install"]),
            ("cargo add serde", &["install"]),
            ("cargo clippy", &["build"]),
            ("make -j4", &["build"]),
            ("cat a.txt", &["read"]),
            ("sed -n 1,20p a.rs", &["read"]),
            ("git diff", &["read"]),
            ("grep -rn foo src", &["search"]),
            ("find . -name '*.rs' | head", &["search"]),
            ("cat a | grep b", &["read"]),
            ("sed -i s/a/b/ a.rs", &["edit"]),
            ("cat > a.py <<'EOF'\nx\nEOF", &["edit"]),
            ("echo x | tee a.py", &["edit"]),
            ("find . | xargs sed -i s/a/b/", &["edit", "search"]),
            ("git checkout -- src", &["edit"]),
            ("rm src/a.rs", &["edit"]),
            ("sleep 5", &["wait"]),
            ("tail -f x.log", &["read", "wait"]),
            ("cargo fmt", &["edit"]),
            ("apply_patch <<'EOF'\n*** Begin Patch\nEOF", &["edit"]),
            ("{ echo a; echo b; } > a.py", &["edit"]),
            ("for i in 1 2; do echo $i; done > a.py", &["edit"]),
            ("for file in a b; do wc $file; done | sort", &["read"]),
            ("for file in a b; do true; done", &[]),
            ("if grep -q x a.py; then sed -i s/x/y/ a.py; fi", &["edit", "search"]),
        ] {
            assert_eq!(names(of_command(line).flags), flags, "{line}");
        }
    }

    #[test]
    fn what_changes_no_file_of_the_workspace_is_no_edit() {
        for line in [
            "cargo test > out.txt 2>&1",
            "echo x > /tmp/a",
            "echo x > /dev/null",
            "ls > /dev/null",
            "cargo fmt --check",
            "rm -rf target",
            "rm -rf /tmp/x",
            "git status",
            "git checkout -b new",
            "echo 'sed -i s/a/b/ x'",
            "cargo test | tee a.log",
            "git stash list",
            "black --check .",
            "mkdir -p x",
            "echo done >> run.log",
            "sed s/a/b/ x",
        ] {
            assert!(!of_command(line).flags.has(Flag::Edit), "{line}");
        }
    }

    #[test]
    fn dirty_1_a_line_that_edits_plain_text_alone_edits_no_code() {
        for line in [
            "echo x > notes.txt",
            "cat > docs/a.md <<'EOF'\nx\nEOF",
            "printf x | tee -a notes/a.txt notes/b.txt",
            "sed -i s/a/b/ README.md",
            "mv a.txt b.txt && rm old.md",
            "bash -c 'echo x > a.txt'",
            "echo x > a.txt; python gen.py",
        ] {
            let work = of_command(line);
            assert!(work.flags.has(Flag::Edit) && !work.marks.has(Mark::Code), "{line}");
        }
    }

    #[test]
    fn dirty_1_a_line_that_may_edit_code_does() {
        for line in [
            "echo x > a.py",
            "echo x > a.txt; echo x > a.py",
            "cat > a.txt > a.sh <<'EOF'\nx\nEOF",
            "echo x | tee a.txt a.py",
            "sed -i s/a/b/ README.md a.rs",
            "sed -i -f a.txt b.txt",
            "sed -i s/a/b/ *.md",
            "mv a.txt a.py",
            "rm a.txt a.rs",
            "cp -r docs/a.md src/a.md",
            "git checkout -- README.md",
            "cargo fmt",
            "bash -c 'echo x > a.py'",
            "find . -name '*.md' | xargs sed -i s/a/b/ README.md",
            "patch -p1 < a.txt",
        ] {
            assert!(of_command(line).marks.has(Mark::Code), "{line}");
        }
    }

    #[test]
    fn the_order_of_lines_is_ignored_only_for_pure_searches() {
        for line in ["grep -r a .", "rg a | head -5", "cd x && find . -name a", "grep -rl a . | sort"] {
            assert!(of_command(line).marks.has(Mark::Unordered), "{line}");
        }
        for line in [
            "ls",
            "cargo test | grep FAIL",
            "cat a | grep b",
            "grep -r a . && cargo test",
            "git log",
            "",
            "grep a b > c",
            "for i in a b; do grep -r x $i; done",
            "if true; then grep -r a .; fi",
        ] {
            assert!(!of_command(line).marks.has(Mark::Unordered), "{line}");
        }
    }

    #[test]
    fn an_edit_before_the_tests_is_remembered() {
        assert!(of_command("sed -i s/a/b/ x && cargo test").marks.has(Mark::EditFirst));
        assert!(!of_command("cargo test && sed -i s/a/b/ x").marks.has(Mark::EditFirst));
    }
}
