//! Help, version and wrong usage.

use crate::support::run;

const HELP: &str = "\
A deterministic safety runtime for autonomous LLM agents

Usage: tripwire <COMMAND>

Commands:
  decide       Decide on a stream of events: one JSON object per line in, one decision per line out
  replay       Decide again and compare: `equal`, or the first index that differs (exit 9)
  scan         Judge past runs as if they had been guarded: which level would have fired, at which event, by which rule
  policy       Show the effective policy, or check a policy file
  explain      Explain a rule: what it does, its thresholds, its source, when it fires and when it stays quiet
  completions  Print completions for a shell: `tripwire completions bash > /etc/bash_completion.d/tripwire`

Options:
  -h, --help     Print help (see more with '--help')
  -V, --version  Print version

Exit codes: 0 done, 1 internal error, 2 usage or bad input, 9 what was checked does not hold.
Data goes to stdout, talk to stderr. `tripwire VERB --help` tells more.
";

#[test]
fn help_is_what_people_read() {
    assert_eq!(run(&["-h"], b"").done(), HELP);
}

#[test]
fn every_verb_has_help_and_the_version_is_a_line() {
    for verb in ["decide", "replay", "scan", "policy", "explain", "completions"] {
        let help = run(&[verb, "--help"], b"");
        assert!(help.done().contains(&format!("Usage: tripwire {verb}")), "{}", help.out);
    }
    assert_eq!(run(&["--version"], b"").done(), concat!("tripwire ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn wrong_usage_ends_with_2_and_names_what_was_wrong() {
    for (arguments, word) in [
        (&["frobnicate"][..], "frobnicate"),
        (&["decide", "--lenent"], "--lenent"),
        (&["decide", "a", "b"], "unexpected argument 'b'"),
        (&[], "Usage: tripwire <COMMAND>"),
    ] {
        let ran = run(arguments, b"");
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}");
        assert!(ran.err.contains(word), "{arguments:?}: {}", ran.err);
    }
}
