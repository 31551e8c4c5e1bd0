//! Programs that git starts because a variable or a setting of the line names them.

use super::git::Git;
use crate::invoke::as_text;
use crate::stream::Stream;
use crate::walk::Walker;

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

/// Walks the code that this command would start.
pub(super) fn walk(walker: &mut Walker<'_>, git: &Git) {
    let mut codes: Vec<String> = Vec::new();
    for name in VARIABLES {
        let given = git.call.env.iter().rev().find(|(own, _)| own == name).map(|(_, value)| value);
        codes.extend(given.or_else(|| walker.state.variables.get(name)).map(as_text));
    }
    codes.extend(SETTINGS.iter().filter_map(|key| git.setting(key)));
    for code in codes {
        // A plain word is a program without arguments, which the rules have nothing to say about.
        let code = code.strip_prefix('!').unwrap_or(&code);
        if code.contains(char::is_whitespace) {
            let _written = walker.code(code, &Stream::Closed, git.call.place);
        }
    }
}
