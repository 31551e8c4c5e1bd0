//! Programs that git starts because a variable or a setting of the line names them.

use super::command::Git;
use crate::findings::Run;
use crate::line::field::Field;
use crate::site::Site;

/// Variables whose text git hands to a shell.
const VARIABLES: [&str; 9] = [
    "GIT_SSH_COMMAND",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_PAGER",
    "GIT_EXTERNAL_DIFF",
    "GIT_ASKPASS",
    "GIT_PROXY_COMMAND",
    "EDITOR",
    "VISUAL",
];
/// Settings whose text git hands to a shell.
const SETTINGS: [&str; 8] = [
    "core.sshCommand",
    "core.editor",
    "core.pager",
    "core.askPass",
    "core.fsmonitor",
    "sequence.editor",
    "diff.external",
    "credential.helper",
];

/// The code that this command would start.
pub(super) fn started(site: &Site<'_>, git: &Git) -> Vec<Run> {
    let mut codes: Vec<String> = Vec::new();
    for name in VARIABLES {
        let given = git.call.env.iter().rev().find(|(own, _)| own == name).map(|(_, value)| value);
        codes.extend(given.or_else(|| site.state.variables.get(name)).map(Field::to_code));
    }
    codes.extend(SETTINGS.iter().filter_map(|key| git.setting(key)));
    let code = |code: String| {
        // A plain word is a program without arguments, which the rules have nothing to say about.
        let code = code.strip_prefix('!').unwrap_or(&code);
        code.contains(char::is_whitespace).then(|| Run::code_without_input(code.to_owned(), &git.call))
    };
    codes.into_iter().filter_map(code).collect()
}
