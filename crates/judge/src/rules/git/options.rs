//! git takes the beginning of a long option for the option, where no other begins alike: `--forc` is `--force`.

use crate::line::field::Field;

/// The long options of the commands that are judged by one.
const OPTIONS: [(&str, &str); 11] = [
    (
        "push",
        "verbose quiet repo all branches mirror delete tags dry-run porcelain force force-with-lease force-if-includes \
         recurse-submodules receive-pack exec set-upstream progress prune no-verify follow-tags signed atomic \
         push-option ipv4 ipv6",
    ),
    ("reset", "quiet no-refresh mixed soft hard merge keep recurse-submodules patch intent-to-add pathspec-from-file"),
    (
        "checkout",
        "quiet detach track progress merge conflict patch force recurse-submodules overlay no-overlay ours theirs \
         orphan ignore-skip-worktree-bits ignore-other-worktrees overwrite-ignore pathspec-from-file guess no-guess",
    ),
    (
        "switch",
        "create force-create guess no-guess discard-changes quiet recurse-submodules progress merge conflict detach \
         track no-track force orphan overwrite-ignore ignore-other-worktrees",
    ),
    (
        "restore",
        "source staged worktree ignore-unmerged overlay no-overlay quiet recurse-submodules progress merge conflict \
         patch ours theirs ignore-skip-worktree-bits pathspec-from-file",
    ),
    ("clean", "quiet dry-run force interactive exclude"),
    ("rm", "dry-run quiet cached force ignore-unmatch sparse pathspec-from-file pathspec-file-nul"),
    (
        "branch",
        "verbose quiet track set-upstream-to unset-upstream color remotes contains no-contains abbrev all delete move \
         copy list show-current create-reflog edit-description force merged no-merged column sort points-at \
         ignore-case format recurse-submodules",
    ),
    ("gc", "quiet prune cruft aggressive auto detach force keep-largest-pack"),
    (
        "apply",
        "exclude include stat numstat summary check index intent-to-add cached apply reverse unidiff-zero reject",
    ),
    ("add", "dry-run verbose interactive patch edit force update renormalize intent-to-add all ignore-removal refresh"),
];

/// The same arguments of a command with its long options written out.
pub(super) fn written_out(verb: &str, args: Vec<Field>) -> Vec<Field> {
    let Some((_, options)) = OPTIONS.iter().find(|(own, _)| *own == verb) else { return args };
    let mut operands_only = false;
    let mut one = |field: Field| {
        let text = field.text();
        operands_only |= text == "--";
        let Some(rest) = text.strip_prefix("--").filter(|rest| !rest.is_empty() && !operands_only) else {
            return field;
        };
        let name = rest.split('=').next().unwrap_or_default();
        let mut alike = options.split_whitespace().filter(|option| option.starts_with(name));
        match (alike.next(), alike.next()) {
            (Some(option), None) if option != name => {
                let mut whole = Field::of(&format!("--{option}"));
                whole.atoms.extend(field.without_prefix(name.len() + 2).atoms);
                whole
            }
            _ => field,
        }
    };
    args.into_iter().map(&mut one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_is_the_option_if_it_is_the_only_one() {
        let out = |verb: &str, word: &str| written_out(verb, vec![Field::of(verb), Field::of(word)])[1].text();
        assert_eq!(out("reset", "--har"), "--hard");
        assert_eq!(out("switch", "--discard"), "--discard-changes");
        assert_eq!(out("clean", "--excl=notes"), "--exclude=notes");
        assert_eq!(out("push", "--force"), "--force");
        assert_eq!(out("push", "--for"), "--for", "git refuses it: three begin alike");
        assert_eq!(out("log", "--onel"), "--onel");
        let behind = written_out("checkout", vec![Field::of("checkout"), Field::of("--"), Field::of("--forc")]);
        assert_eq!(behind[2].text(), "--forc");
    }
}
