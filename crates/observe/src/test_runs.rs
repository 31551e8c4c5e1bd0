//! Runs of tests whose command is more than a program and one word: sessions, tasks, code, and what runs in a container.

use tripwire_shell::wrappers::{CONTAINER_VALUES, Head};

/// Options of `docker` and `docker compose` before their verb that take the next word as their value.
const BEFORE_VERB_VALUES: &[&str] = &[
    "-f",
    "--file",
    "-p",
    "--project-name",
    "--profile",
    "--env-file",
    "--project-directory",
    "-c",
    "--context",
    "-H",
    "--host",
    "-l",
    "--log-level",
];
/// Words in the name of a session that checks something else than tests.
const OTHER_SESSIONS: &[&str] = &[
    "lint", "format", "fmt", "style", "type", "mypy", "pyright", "doc", "black", "ruff", "flake8", "commit", "isort",
    "build",
];

/// What a container runs, and nothing where a service runs what is written elsewhere.
pub(super) fn in_container<'w, 't>(words: &'w [&'t str]) -> Option<&'w [&'t str]> {
    let behind = container_words(words)?;
    behind.get(1..).filter(|command| !command.is_empty())
}

/// Whether a service of a compose file that is named for the tests is run as it is.
pub(super) fn is_test_service(words: &[&str]) -> bool {
    let composes = matches!(words, ["docker" | "podman", "compose", ..] | ["docker-compose", ..]);
    composes && words.contains(&"run") && matches!(container_words(words), Some(["test" | "tests"]))
}

/// The container or service, and what it runs.
fn container_words<'w, 't>(words: &'w [&'t str]) -> Option<&'w [&'t str]> {
    let (program, mut rest) = words.split_first()?;
    if !matches!(*program, "docker" | "podman" | "nerdctl" | "docker-compose") {
        return None;
    }
    loop {
        rest = without_options(rest, BEFORE_VERB_VALUES);
        let (word, behind) = rest.split_first()?;
        match *word {
            "compose" | "container" => rest = behind,
            "run" | "exec" => return Some(without_options(behind, CONTAINER_VALUES)).filter(|rest| !rest.is_empty()),
            _ => return None,
        }
    }
}

fn without_options<'w, 't>(words: &'w [&'t str], values: &[&str]) -> &'w [&'t str] {
    words.get(Head::of(words, values, 0).program..).unwrap_or_default()
}

/// Whether all sessions that are asked for check something else: `tox -e lint`, `nox -s docs`.
pub(super) fn runs_other_sessions(program: &str, words: &[&str]) -> bool {
    let options: &[&str] = match program {
        "tox" => &["-e", "--env"],
        "nox" => &["-s", "-e", "--session", "--sessions"],
        _ => return false,
    };
    let mut names = words.iter().skip_while(|word| !options.contains(*word)).skip(1).peekable();
    let first_is_name = names.peek().is_some_and(|name| !name.starts_with('-'));
    let named = names.take_while(|word| !word.starts_with('-')).flat_map(|word| word.split(','));
    let other = |name: &str| OTHER_SESSIONS.iter().any(|word| name.contains(word)) && !name.contains("test");
    first_is_name && named.into_iter().all(other)
}

/// Whether a program tests, as only its own way of writing commands says.
pub(super) fn is_own_way(program: &str, words: &[&str], plain: &[&str]) -> bool {
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(word));
    let code_has = |wanted: &[&str]| words.iter().any(|word| wanted.iter().any(|call| word.contains(call)));
    match (program, plain) {
        ("cargo", ["insta" | "hack" | "miri" | "careful", "test", ..] | ["tarpaulin", ..]) => true,
        ("cargo", ["llvm-cov", rest @ ..]) => matches!(rest, [] | ["test" | "nextest", ..]),
        ("nx", ["affected" | "run-many", rest @ ..]) => {
            let targets = words.windows(2).any(|pair| matches!(pair, ["-t" | "--target" | "--targets", "test"]));
            targets || has(&["--target=test", "--targets=test", "-t=test"]) || rest.contains(&"test")
        }
        ("sbt", tasks) => tasks.iter().any(|task| {
            let name = task.split_whitespace().next().and_then(|name| name.rsplit('/').next());
            matches!(name, Some("test" | "testOnly" | "testQuick" | "+test"))
        }),
        ("mill", tasks) => tasks.iter().any(|task| {
            matches!(task.rsplit('.').next(), Some("test" | "testOnly" | "testLocal" | "testForked" | "testCached"))
        }),
        ("clojure" | "clj", _) => {
            words.iter().any(|word| word.starts_with("-X:") || word.starts_with("-M:")) && code_has(&[":test"])
        }
        ("earthly", _) => words.iter().any(|word| *word == "+test" || word.ends_with("+test")),
        ("julia", _) => code_has(&["Pkg.test("]),
        ("Rscript" | "R", _) if code_has(&["devtools::test(", "testthat::test_", "tinytest::"]) => true,
        ("R", ["CMD", "check", ..]) => true,
        _ => false,
    }
}

/// Whether a script of a package is handed a word that keeps the tests from running: `npm test -- --help`.
pub(super) fn hands_on_no_run(program: &str, words: &[&str]) -> bool {
    const NO_RUN: [&str; 8] =
        ["--help", "--version", "--listTests", "--list", "--collect-only", "--clearCache", "--showConfig", "--dry-run"];
    matches!(program, "npm" | "pnpm" | "yarn" | "bun")
        && words.iter().skip_while(|word| **word != "--").any(|word| NO_RUN.contains(word))
}

#[cfg(test)]
mod tests {
    use crate::work::of_command;
    use tripwire_core::chain::event::Flag;

    #[test]
    fn tests_in_containers_sessions_and_tasks_are_recognised() {
        for line in [
            "tox -e py311,lint",
            "nox -s tests",
            "docker compose run --rm app pytest -q",
            "docker compose -f dev.yml exec -T web npm test",
            "docker-compose run tests",
            "docker run --rm -v \"$PWD\":/w -w /w app sh -c 'npm test'",
            "hatch run test",
            "pdm run test",
            "bazelisk test //a/...",
            "./gradlew connectedAndroidTest",
            "./gradlew :app:integrationTest",
            "npx nx affected -t test",
            "npx cypress run",
            "cargo llvm-cov",
            "cargo insta test",
            "sbt 'testOnly *Foo'",
            "mill foo.test",
            "clojure -X:test",
            "rebar3 eunit",
            "nimble test",
            "julia --project -e 'using Pkg; Pkg.test()'",
            "Rscript -e 'devtools::test()'",
            "R CMD check .",
            "terraform test",
            "helm unittest chart",
            "buck2 test //...",
            "pants test ::",
            "earthly +test",
            "moon run web:test",
            "npm test -- --coverage",
        ] {
            assert!(of_command(line).flags.has(Flag::Test), "{line}");
        }
    }

    #[test]
    fn other_sessions_tasks_and_containers_are_no_test_runs() {
        for line in [
            "tox -e lint",
            "nox -s docs format",
            "docker compose build tests",
            "docker compose up -d tests",
            "docker compose logs test",
            "docker run --rm app",
            "docker compose run --rm app ls tests",
            "docker exec test ls",
            "docker build -t test .",
            "hatch run lint",
            "./gradlew testClasses",
            "./gradlew assembleAndroidTest",
            "./gradlew compileTestJava",
            "npx nx affected -t build",
            "npx cypress open",
            "cargo llvm-cov report",
            "sbt compile",
            "mill foo.test.compile",
            "clojure -M:dev",
            "rebar3 compile",
            "julia -e 'using Pkg; Pkg.add(\"Test\")'",
            "terraform plan",
            "helm template test",
            "earthly +build",
            "moon run web:build",
            "npm test -- --help",
            "npm test -- --listTests",
            "npx jest --clearCache",
        ] {
            assert!(!of_command(line).flags.has(Flag::Test), "{line}");
        }
    }
}
