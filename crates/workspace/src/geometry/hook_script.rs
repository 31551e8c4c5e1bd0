//! `hooks/compaction-gate-enforcement.sh`: the context gate as a script that needs nothing but a POSIX shell.
//!
//! Clients call `tripwire hook`; this script is the seed's own enforcement, kept for people and for clients without
//! one. It fails closed: a percentage that cannot be read blocks, with a reason.

use super::layout::Layout;
use super::manifest::Thresholds;
use tripwire_fs::file::{self, FileError, FileMode};

/// Writes the script, executable, with the thresholds of this session.
pub fn write(layout: &Layout, thresholds: &Thresholds) -> Result<(), FileError> {
    file::make_folder(&layout.hooks())?;
    file::replace_with_mode(&layout.compaction_hook(), render(thresholds).as_bytes(), FileMode::Masked(0o700))
}

/// The script's text.
#[must_use]
pub fn render(thresholds: &Thresholds) -> String {
    TEMPLATE
        .replace("@WARNING@", &thresholds.context_warning_pct.to_string())
        .replace("@MANDATORY@", &thresholds.context_mandatory_pct.to_string())
        .replace("@HARD_BLOCK@", &thresholds.context_hard_block_pct.to_string())
}

/// The script, in the shell that every system has and without any other program.
const TEMPLATE: &str = r#"#!/bin/sh
# .geometry/hooks/compaction-gate-enforcement.sh
# Written by tripwire; edits are overwritten at the next session start.
# Exit 0: go on (with a warning, where one is printed). Exit 1: tool calls are blocked.
# The percentage comes from CONTEXT_PCT, else from context.estimated_usage_pct in ../MANIFEST.yaml.

WARNING=@WARNING@
MANDATORY=@MANDATORY@
HARD_BLOCK=@HARD_BLOCK@

fail_closed() {
  echo "HARD_BLOCK: Context unknown: $1"
  echo "Run: tripwire status, or set CONTEXT_PCT"
  exit 1
}

# Prints the value of context.estimated_usage_pct, in block or one-line style.
estimate_context() {
  in_context=no
  while IFS= read -r line || [ -n "$line" ]; do
    line=${line%"$carriage_return"}
    case $line in
      'context:'*'{'*estimated_usage_pct*)
        rest=${line#*estimated_usage_pct}
        value_of "$rest"
        return
        ;;
      'context:'*) in_context=yes ;;
      '#'*|'') ;;
      [!\ ]*) in_context=no ;;
      ' '*)
        key=${line#"${line%%[! ]*}"}
        case $in_context$key in
          yesestimated_usage_pct*)
            value_of "${key#estimated_usage_pct}"
            return
            ;;
        esac
        ;;
    esac
  done
}

# Takes what stands behind the key and prints the bare value.
value_of() {
  value=${1#*:}
  value=${value%%'#'*}
  value=${value%%[,\}]*}
  while :; do
    case $value in
      ' '*) value=${value#?} ;;
      *' ') value=${value%?} ;;
      *) break ;;
    esac
  done
  printf '%s\n' "$value"
}

carriage_return=$(printf '\r')

if [ -z "${CONTEXT_PCT-}" ]; then
  here=${0%/*}
  [ "$here" = "$0" ] && here=.
  manifest=$here/../MANIFEST.yaml
  [ -f "$manifest" ] && [ -r "$manifest" ] || fail_closed "cannot read $manifest"
  CONTEXT_PCT=$(estimate_context < "$manifest")
  [ -n "$CONTEXT_PCT" ] || fail_closed "no context.estimated_usage_pct in $manifest"
fi

case $CONTEXT_PCT in
  *[!0-9]*) fail_closed "the percentage is not a whole number" ;;
  ????*) fail_closed "the percentage has more than three digits" ;;
esac

if [ "$CONTEXT_PCT" -ge "$HARD_BLOCK" ]; then
  echo "HARD_BLOCK: Context at ${CONTEXT_PCT}%"
  echo "Run: /compact or restart session"
  exit 1
elif [ "$CONTEXT_PCT" -ge "$MANDATORY" ]; then
  echo "MANDATORY: Context at ${CONTEXT_PCT}%. Compacting..."
elif [ "$CONTEXT_PCT" -ge "$WARNING" ]; then
  echo "WARNING: Context at ${CONTEXT_PCT}%. Consider /compact"
fi
exit 0
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::manifest::{Manifest, template};
    use crate::geometry::yaml_edit::{self, Edit, NewValue};
    use std::path::Path;
    use std::process::Command;
    use tripwire_testing::{TestDir, skip};

    /// Runs the script in each shell of this machine, without any program on the path; all must agree.
    fn run(layout: &Layout, context_pct: Option<&str>) -> (i32, String) {
        let mut answers = Vec::new();
        for shell in ["/bin/sh", "/bin/bash", "/bin/dash"] {
            if !Path::new(shell).exists() {
                skip(&format!("no {shell} here"));
                continue;
            }
            let mut command = Command::new(shell);
            command.arg(layout.compaction_hook()).env_clear().env("PATH", "/nonexistent");
            context_pct.map(|pct| command.env("CONTEXT_PCT", pct));
            let output = command.output().unwrap();
            assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{shell}");
            answers.push((output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap()));
        }
        assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{answers:?}");
        answers.pop().unwrap()
    }

    fn workspace(dir: &TestDir) -> Layout {
        let layout = Layout::at(dir.path());
        template::write_if_missing(&layout.manifest()).unwrap();
        write(&layout, Manifest::load(&layout.manifest()).unwrap().thresholds()).unwrap();
        layout
    }

    fn expected(pct: u64) -> (i32, String) {
        match pct {
            0..75 => (0, String::new()),
            75..80 => (0, format!("WARNING: Context at {pct}%. Consider /compact\n")),
            80..85 => (0, format!("MANDATORY: Context at {pct}%. Compacting...\n")),
            _ => (1, format!("HARD_BLOCK: Context at {pct}%\nRun: /compact or restart session\n")),
        }
    }

    #[test]
    fn ctx_2_the_script_says_and_exits_as_the_seed_for_every_percentage_of_the_manifest() {
        let dir = TestDir::new();
        let layout = workspace(&dir);
        for pct in [0, 7, 74, 75, 79, 80, 84, 85, 86, 90, 100] {
            let edit = Edit::new("context.estimated_usage_pct", NewValue::Number(pct));
            let text = yaml_edit::apply(template::FRESH, &[edit]).unwrap();
            std::fs::write(layout.manifest(), &text).unwrap();
            assert_eq!(run(&layout, None), expected(pct), "{pct}");
            std::fs::write(layout.manifest(), text.replace('\n', "\r\n")).unwrap();
            assert_eq!(run(&layout, None), expected(pct), "{pct} with CRLF");
        }
    }

    #[test]
    fn ctx_2_the_environment_gives_the_percentage_too() {
        let dir = TestDir::new();
        let layout = workspace(&dir);
        for pct in 74..=90 {
            assert_eq!(run(&layout, Some(&pct.to_string())), expected(pct));
        }
        std::fs::remove_file(layout.manifest()).unwrap();
        assert_eq!(run(&layout, Some("74")), expected(74));
    }

    #[test]
    fn ctx_2_other_styles_of_yaml_are_read() {
        let dir = TestDir::new();
        let layout = workspace(&dir);
        for text in [
            "context:\n    estimated_usage_pct:   81   # now\n",
            "context: {warning_threshold: 75, estimated_usage_pct: 81}\n",
            "safety:\n  x: 1\n\n# c\ncontext:\n  # c\n\n  warning_threshold: 75\n  estimated_usage_pct: 81",
        ] {
            std::fs::write(layout.manifest(), text).unwrap();
            assert_eq!(run(&layout, None), expected(81), "{text}");
        }
    }

    #[test]
    fn ctx_2_what_cannot_be_read_blocks_with_a_reason() {
        let dir = TestDir::new();
        let layout = workspace(&dir);
        for garbage in ["abc", "-5", "7 5", "75%", "$(exit 0)", "9999", "8.5", "*"] {
            let (code, said) = run(&layout, Some(garbage));
            assert_eq!(code, 1, "{garbage}");
            assert!(said.starts_with("HARD_BLOCK: Context unknown: the percentage"), "{said}");
        }
        for text in [
            "",
            "safety:\n  estimated_usage_pct: 5\n",
            "context:\nsafety:\n  estimated_usage_pct: 5\n",
            "context:\n  estimated_usage_pct:\n",
            "context:\n  estimated_usage_pct: many\n",
        ] {
            std::fs::write(layout.manifest(), text).unwrap();
            let (code, said) = run(&layout, None);
            assert_eq!(code, 1, "{text:?}");
            assert!(said.contains("Context unknown"), "{said}");
        }
        std::fs::remove_file(layout.manifest()).unwrap();
        let (code, said) = run(&layout, None);
        assert_eq!(code, 1);
        assert!(said.contains("cannot read") && said.contains("MANIFEST.yaml"), "{said}");
    }

    #[test]
    fn ctx_2_the_script_is_executable_and_carries_the_sessions_thresholds() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = TestDir::new();
        let layout = workspace(&dir);
        let mode = layout.compaction_hook().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        // A program that another test starts at this moment may still hold the new file open for writing.
        let output = (0..1_000)
            .find_map(|_| Command::new(layout.compaction_hook()).env("CONTEXT_PCT", "85").output().ok())
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
        let manifest = Manifest::parse(Path::new("m"), b"context:\n  hard_block_threshold: 50\n".to_vec()).unwrap();
        write(&layout, manifest.thresholds()).unwrap();
        assert_eq!(run(&layout, Some("50")).0, 1);
        assert_eq!(run(&layout, Some("49")).0, 0);
    }
}
