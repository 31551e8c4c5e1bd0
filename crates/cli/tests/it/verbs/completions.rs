//! `tripwire completions`: what a shell needs.

use crate::verbs::support::run;

#[test]
fn each_shell_gets_every_verb() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = run(&["completions", shell], b"");
        for verb in ["decide", "replay", "scan", "policy", "explain", "completions"] {
            assert!(ran.done().contains(verb), "{shell}: {verb}");
        }
    }
}

#[test]
fn bash_itself_accepts_the_script() {
    let script = run(&["completions", "bash"], b"").out;
    let folder = tripwire_testing::folder();
    let file = folder.path().join("tripwire.bash");
    std::fs::write(&file, script).unwrap();
    match std::process::Command::new("bash").arg("-n").arg(&file).output() {
        Ok(checked) => assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr)),
        Err(error) => {
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "only a machine without bash may skip this")
        }
    }
}

#[test]
fn an_unknown_shell_is_refused_with_the_known_ones() {
    for arguments in [&["completions", "tcsh"][..], &["completions"]] {
        let ran = run(arguments, b"");
        assert_eq!((ran.code, ran.out.as_str()), (2, ""));
        assert!(ran.err.starts_with("error: "), "{}", ran.err);
    }
}
