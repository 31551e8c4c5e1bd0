//! Help, version and wrong usage.

use crate::verbs::support::run;

/// What surrounds the list of verbs, and one verb of it.
const HEAD: &str = "\
Usage: tripwire [OPTIONS] [COMMAND]

Start:
  scan         Check past sessions as if they had been guarded: which alarm would have fired, at which event, by which rule
  run          Run Claude Code, Codex, Gemini CLI or another agent under the guard, for this run only; nothing is installed or changed
";
const TAIL: &str = "\
Options:
  -V, --version
          Print the version

      --verbose
          With `--version`: details of this build

  -h, --help
          Print help (see a summary with '-h')

Exit codes: 0 done, 1 internal error or (`doctor`, `scan --secrets`) a check that failed, 2 usage or bad input, 3 system error or hard stop,
4 done but not verified, 5 waits for a person, 6 budget, 7 loop or no progress, 8 wall clock or step cap, 9 verification failed or the guard
is broken, 10 stopped by a person, 11 refused, 75 try again later. Data goes to stdout, messages to stderr. `tripwire VERB --help` explains a verb,
`tripwire help topics` lists the file formats and longer pages.
";

/// The help of one verb in full.
const EXPLAIN_HELP: &str = "\
Explain a rule: what it does, its thresholds, its source, when it fires and when it stays quiet

Usage: tripwire explain [OPTIONS] [RULE]

Arguments:
  [RULE]  The rule, as decisions name it (`LOOP-1.exact`); without one, all rules are listed

Options:
      --profile <NAME>   `strict` counts every repeat; `balanced` (the default) counts only repeats that make no progress [possible values: strict, balanced]
      --policy <FILE>    A policy file in the format of MANIFEST.yaml
      --workspace <DIR>  The workspace; by default the one that contains the current folder
      --json             Write JSON, one object per rule
  -h, --help             Print help (see more with '--help')
";

/// The verbs that the help lists, each with its line.
fn verbs() -> Vec<(String, String)> {
    let help = run(&["--help"], b"");
    let groups = help.done().lines().skip_while(|line| *line != "Start:").take_while(|line| *line != "Options:");
    groups
        .filter(|line| line.starts_with("  "))
        .filter_map(|line| line.trim().split_once(' '))
        // The one that shows the help of the others has none of its own.
        .filter(|(verb, _)| *verb != "help")
        .map(|(verb, about)| (verb.into(), about.trim().into()))
        .collect()
}

#[test]
fn help_is_what_people_read() {
    let help = run(&["--help"], b"");
    assert!(help.done().starts_with("A deterministic safety runtime for autonomous LLM agents"), "{}", help.out);
    assert!(help.out.contains(HEAD) && help.out.ends_with(TAIL), "{}", help.out);
    assert_eq!(run(&["explain", "-h"], b"").done(), EXPLAIN_HELP);
}

#[test]
fn every_verb_has_help_and_the_version_is_a_line() {
    let verbs = verbs();
    for expected in ["decide", "replay", "scan", "policy", "explain", "completions"] {
        assert!(verbs.iter().any(|(verb, _)| verb == expected), "{expected} is not listed");
    }
    for (verb, about) in verbs {
        assert!(about.len() > 20 && !about.starts_with("Options of"), "{verb} says only: {about}");
        let help = run(&[&verb, "--help"], b"");
        assert!(help.done().contains(&format!("Usage: tripwire {verb}")), "{}", help.out);
    }
    let version = concat!("tripwire ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(run(&["--version"], b"").done(), version);
    assert_eq!(run(&["-V"], b"").done(), version);
    let facts = run(&["--version", "--verbose"], b"");
    assert!(facts.done().starts_with(version), "{}", facts.out);
    for fact in ["commit: ", "target: ", "rustc: ", "linking: ", "telemetry: ", "stdio protocol: 1"] {
        assert!(facts.out.contains(fact), "{fact} is not in {}", facts.out);
    }
}

#[test]
fn wrong_usage_ends_with_2_and_names_what_was_wrong() {
    for (arguments, word) in [
        (&["frobnicate"][..], "frobnicate"),
        (&["decide", "--lenent"], "--lenent"),
        (&["decide", "a", "b"], "unexpected argument 'b'"),
    ] {
        let ran = run(arguments, b"");
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}");
        assert!(ran.err.contains(word), "{arguments:?}: {}", ran.err);
    }
}
