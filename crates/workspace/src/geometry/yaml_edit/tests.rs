//! Edits against the ways in which people and their tools write YAML.

use super::*;
use crate::geometry::manifest::{Manifest, template};
use std::path::Path;
use std::process::Command;
use tripwire_testing::{TestDir, sized, skip};

fn number(path: &'static str, value: u64) -> Edit {
    Edit::new(path, NewValue::Number(value))
}

fn texts(path: &'static str, values: &[&str]) -> Edit {
    Edit::new(path, NewValue::Texts(values.iter().map(|text| (*text).to_owned()).collect()))
}

/// Applies an edit and checks that every line but the changed ones is the same, byte for byte and in order.
fn edited(text: &str, edit: Edit, changed: usize) -> String {
    let after = apply(text, std::slice::from_ref(&edit)).unwrap_or_else(|error| panic!("{error}: {text}"));
    let (old, new): (Vec<_>, Vec<_>) = (text.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
    assert_eq!(old.len(), new.len(), "{after}");
    let differing = old.iter().zip(&new).filter(|(a, b)| a != b).count();
    assert_eq!(differing, changed, "{after}");
    after
}

#[test]
fn one_value_changes_and_every_other_byte_stays() {
    let after = edited(template::FRESH, number("safety.iteration_count", 12), 1);
    assert!(after.contains("\n  # Iteration limits\n  iteration_count: 12\n  max_iterations: 100\n"), "{after}");
    let after = edited(&after, Edit::new("dirty_bits.tests_passing", NewValue::Bool(true)), 1);
    let after = edited(&after, texts("safety.last_tool_signatures", &["Edit(file=a.py)", "Bash(cmd=\"x\" # y)"]), 1);
    let after = edited(&after, Edit::new("context.last_compaction", NewValue::Text("2026-02-28T15:30:00Z".into())), 1);
    let manifest = Manifest::parse(Path::new("m"), after.into_bytes()).unwrap();
    assert_eq!(manifest.live().iteration_count, 12);
    assert_eq!(manifest.live().last_tool_signatures, ["Edit(file=a.py)", "Bash(cmd=\"x\" # y)"]);
    assert_eq!(manifest.live().last_compaction.as_deref(), Some("2026-02-28T15:30:00Z"));
}

#[test]
fn a_value_that_is_there_already_changes_nothing() {
    let text = "safety:\n  iteration_count:   3   # mine\n";
    assert_eq!(apply(text, &[number("safety.iteration_count", 3)]).unwrap(), text);
}

#[test]
fn comments_quotes_spacing_and_line_breaks_of_a_person_survive() {
    let text = "# top\r\n\r\nsafety:   # why\r\n    \"iteration_count\"  :   7   # seven\r\n    # between\r\n\
                \r\n    'max_iterations': 100\r\ncontext: {estimated_usage_pct: 5, last_compaction: 'x'} # flow\r\n";
    let after = edited(text, number("safety.iteration_count", 8), 1);
    assert!(after.contains("    \"iteration_count\"  :   8   # seven\r\n"), "{after:?}");
    let after = edited(text, number("context.estimated_usage_pct", 90), 1);
    assert!(after.contains("context: {estimated_usage_pct: 90, last_compaction: 'x'} # flow\r\n"), "{after:?}");
}

#[test]
fn a_text_without_a_last_line_break_and_with_a_byte_order_mark_is_edited_in_place() {
    assert_eq!(
        apply("safety:\n  iteration_count: 1", &[number("safety.iteration_count", 2)]).unwrap(),
        "safety:\n  iteration_count: 2"
    );
    let marked = "\u{feff}safety:\n  iteration_count: 1\n";
    assert_eq!(
        apply(marked, &[number("safety.iteration_count", 2)]).unwrap(),
        "\u{feff}safety:\n  iteration_count: 2\n"
    );
}

#[test]
fn an_empty_value_is_filled_behind_its_colon() {
    let text = "dirty_bits:\n  tests_passing:   # not yet\n  tests_run: false\n";
    let after = edited(text, Edit::new("dirty_bits.tests_passing", NewValue::Bool(false)), 1);
    assert_eq!(after, "dirty_bits:\n  tests_passing: false   # not yet\n  tests_run: false\n");
}

#[test]
fn a_list_in_block_style_becomes_one_line_and_keeps_its_comments() {
    let text = "safety:\n  last_tool_signatures: # newest last\n    # from the loop\n    - a # first\n    - 'b # no comment'\n\n  iteration_count: 0\n";
    let after = apply(text, &[texts("safety.last_tool_signatures", &["c"])]).unwrap();
    assert_eq!(
        after,
        "safety:\n  last_tool_signatures: [\"c\"] # newest last\n    # from the loop\n    # first\n\n  iteration_count: 0\n"
    );
}

#[test]
fn a_list_in_block_style_without_indent_is_replaced_too() {
    let text = "identity:\n  authorized_roles:\n  - developer\n  - tester\n  agent_checksum: null\n";
    let after = apply(text, &[texts("identity.authorized_roles", &["developer"])]).unwrap();
    assert_eq!(after, "identity:\n  authorized_roles: [\"developer\"]\n  agent_checksum: null\n");
}

#[test]
fn a_list_over_several_lines_keeps_its_comments() {
    let text = "identity:\n  authorized_roles: [ # who\n    developer, # she\n    \"te]ster\"\n  ]  # end\n  agent_checksum: null\n";
    let after = apply(text, &[texts("identity.authorized_roles", &[])]).unwrap();
    assert_eq!(after, "identity:\n  authorized_roles: []  # end\n    # who\n    # she\n  agent_checksum: null\n");
}

#[test]
fn a_missing_key_is_added_at_the_end_of_its_section() {
    let text = "safety:\n   iteration_count: 1 # one\n   last_tool_signatures:\n   - a # why\n# about context\ncontext:\n   warning_threshold: 75";
    let after =
        apply(text, &[number("safety.consecutive_failures", 2), number("context.estimated_usage_pct", 3)]).unwrap();
    assert_eq!(
        after,
        "safety:\n   iteration_count: 1 # one\n   last_tool_signatures:\n   - a # why\n   consecutive_failures: 2\n# about context\ncontext:\n   warning_threshold: 75\n   estimated_usage_pct: 3\n"
    );
}

#[test]
fn a_missing_section_is_added_at_the_end() {
    assert_eq!(apply("", &[number("safety.iteration_count", 1)]).unwrap(), "safety:\n  iteration_count: 1\n");
    assert_eq!(
        apply("# mine\r\n", &[number("safety.iteration_count", 1)]).unwrap(),
        "# mine\r\nsafety:\r\n  iteration_count: 1\r\n"
    );
    assert_eq!(
        apply("safety: # s\ncontext:\n", &[number("safety.iteration_count", 1)]).unwrap(),
        "safety: # s\n  iteration_count: 1\ncontext:\n"
    );
}

#[test]
fn what_cannot_be_edited_exactly_is_refused_and_says_how_to_go_on() {
    for (text, edit, wanted) in [
        ("safety: {iteration_count: 1}\n", number("safety.consecutive_failures", 1), "leaves no room"),
        ("safety: null\n", number("safety.iteration_count", 1), "leaves no room"),
        ("safety:\n  iteration_count: 1\n", number("safety", 1), "must not replace"),
        ("safety:\n  last_tool_signatures: [[a]]\n", texts("safety.last_tool_signatures", &[]), "must not replace"),
        ("safety:\n  iteration_count: |\n    5\n", number("safety.iteration_count", 1), "more than this one value"),
        ("safety: [\n", number("safety.iteration_count", 1), "line 1"),
        ("safety:\n  iteration_count: 1\n...\n", number("context.estimated_usage_pct", 1), ""),
    ] {
        match apply(text, std::slice::from_ref(&edit)) {
            Err(error) => {
                assert!(error.to_string().contains(wanted), "{text:?}: {error}");
                assert!(error.hint().contains("by hand") || error.hint().contains("then run"), "{}", error.hint());
            }
            Ok(after) => assert_eq!(wanted, "", "{after}"),
        }
    }
}

#[test]
fn hostile_texts_are_quoted_so_that_they_read_back_exactly() {
    for hostile in [
        "",
        " ",
        "a: b",
        "# x",
        "\"",
        "\\",
        "'",
        "]",
        "\n- x",
        "\r\n",
        "\u{0}\u{7f}\u{85}\u{2028}\u{feff}",
        "é😀",
        "null",
        "---",
        "&a",
        "*a",
        "!t",
    ] {
        let edit = [
            Edit::new("identity.workflow_binding", NewValue::Text(hostile.into())),
            texts("identity.authorized_roles", &[hostile]),
        ];
        let after = apply(template::FRESH, &edit).unwrap_or_else(|error| panic!("{hostile:?}: {error}"));
        let manifest = Manifest::parse(Path::new("m"), after.into_bytes()).unwrap();
        assert_eq!(manifest.identity().workflow_binding.as_deref(), Some(hostile));
        assert_eq!(manifest.identity().authorized_roles, [hostile]);
    }
}

/// Random documents in many styles, random edits: an edit is exact, or it is refused; it never loses a comment.
#[test]
fn random_edits_of_random_styles_are_exact_or_refused() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut exact = 0_u32;
    let rounds = sized(500, 3_000);
    for round in 0..rounds {
        let text = random.document();
        let edit = random.edit();
        let Ok(after) = apply(&text, std::slice::from_ref(&edit)) else { continue };
        exact += 1;
        let mut wanted = tree::parse(&text).unwrap().bare();
        set(&mut wanted, edit.path, bare(&edit.value));
        assert_eq!(tree::parse(&after).unwrap().bare(), wanted, "{round}: {text}\n{after}");
        let comments = |text: &str| {
            let mut found: Vec<String> =
                text.lines().filter_map(|line| line.split_once("# ")).map(|(_, it)| it.to_owned()).collect();
            found.sort();
            found
        };
        assert_eq!(comments(&text), comments(&after), "{round}: {text}\n{after}");
        assert_eq!(text.contains("\r\n"), after.contains("\r\n"), "{round}");
    }
    assert!(exact > rounds * 5 / 6, "only {exact} of {rounds} edits were possible");
}

/// A small generator with a fixed seed: the same documents on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        let index = usize::try_from(self.below(u64::try_from(from.len()).unwrap())).unwrap();
        from[index]
    }

    fn edit(&mut self) -> Edit {
        let count = self.below(1_000);
        match self.below(5) {
            0 => number("safety.iteration_count", count),
            1 => Edit::new("dirty_bits.tests_passing", NewValue::Bool(count > 500)),
            2 => Edit::new("context.last_compaction", NewValue::Text(format!("t{count} \"q\""))),
            3 => texts("safety.last_tool_signatures", &["Edit(file=x)", "y"]),
            _ => Edit::new("context.last_compaction", NewValue::Null),
        }
    }

    fn document(&mut self) -> String {
        let line_break = self.pick(&["\n", "\r\n"]);
        let indent = self.pick(&["  ", "    ", " "]);
        let mut lines = vec![self.pick(&["# head", "", "---"]).to_owned()];
        for (section, keys) in [
            ("safety", ["iteration_count", "last_tool_signatures"]),
            ("context", ["last_compaction", "estimated_usage_pct"]),
            ("dirty_bits", ["tests_passing", "tests_run"]),
        ] {
            lines.push(format!("{section}:{}", self.pick(&["", " # s", "   "])));
            let first = usize::try_from(self.below(2)).unwrap();
            for key in [keys[first], keys[1 - first]] {
                self.key(&mut lines, indent, key);
            }
            lines.push(self.pick(&["", "# after", "    # deep"]).to_owned());
        }
        let mut text = lines.join(line_break);
        text.push_str(self.pick(&["", line_break]));
        text
    }

    fn key(&mut self, lines: &mut Vec<String>, indent: &str, key: &str) {
        let comment = self.pick(&["", " # c", "  # \"q\" [x"]);
        let colon = self.pick(&[":", " :", ":  "]);
        let list = key == "last_tool_signatures";
        let value = if list {
            self.pick(&["[]", "[a, 'b']", "BLOCK", "LONG"])
        } else {
            self.pick(&["0", "'t'", "null", "~", "", "\"5 #5\"", "true"])
        };
        match value {
            "BLOCK" => {
                lines.push(format!("{indent}{key}:{comment}"));
                lines.extend([format!("{indent}- a # i"), format!("{indent}# own"), format!("{indent}- \"b\"")]);
            }
            "LONG" => {
                lines.push(format!("{indent}{key}: [ # open"));
                lines.extend([format!("{indent}  a, # one"), format!("{indent}  'b]' ]{comment}")]);
            }
            plain => lines.push(format!("{indent}{key}{colon} {plain}{comment}")),
        }
        if self.below(3) == 0 {
            lines.push(self.pick(&["", "  # between"]).to_owned());
        }
    }
}

/// The real tool of the seed's manual, where it is installed: both of the tools that are called `yq`.
#[test]
fn files_that_yq_has_edited_are_read_and_edited_on() {
    let dir = TestDir::new();
    let file = dir.path().join("MANIFEST.yaml");
    std::fs::write(&file, template::FRESH.replace("iteration_count: 0", "iteration_count: 41")).unwrap();
    let set = ".safety.consecutive_failures = 2 | .dirty_bits.tests_run = true | .dirty_bits.tests_passing = true";
    // The seed's command is that of the Go tool; the Python tool of the same name wants `-y` and other places.
    let seeds = || Command::new("yq").args([set, "-i"]).arg(&file).output().is_ok_and(|it| it.status.success());
    let pythons = || Command::new("yq").args(["-y", "-i", set]).arg(&file).output().is_ok_and(|it| it.status.success());
    if !seeds() && !pythons() {
        return skip("`yq` is not installed: files edited with it were not tested");
    }
    let text = std::fs::read_to_string(&file).unwrap();
    let manifest = Manifest::parse(&file, text.clone().into_bytes()).unwrap();
    assert_eq!(manifest.live().consecutive_failures, 2);
    assert_eq!(manifest.live().iteration_count, 41);
    let after = edited(&text, number("safety.iteration_count", 42), 1);
    let after = apply(&after, &[texts("identity.authorized_roles", &["developer", "tester"])]).unwrap();
    std::fs::write(&file, after).unwrap();
    let asked =
        Command::new("yq").arg(".safety.iteration_count, .identity.authorized_roles[1]").arg(&file).output().unwrap();
    let said = String::from_utf8(asked.stdout).unwrap().replace('"', "");
    assert_eq!(said.split_whitespace().collect::<Vec<_>>(), ["42", "tester"]);
}
