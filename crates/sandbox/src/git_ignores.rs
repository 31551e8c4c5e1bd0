//! The placeholders of a run are no files of the project: git inside is told to pass over exactly these names.
//!
//! It is told in the configuration of the system, which everything else overrides, and only for the repository of the
//! workspace itself: a repository below it may have files of the same names.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::plan::RootStep;

/// Where git looks for the configuration of the system inside; the environment says so, because builds of git differ.
pub(crate) const SYSTEM_CONFIG: &str = "/etc/gitconfig";
/// Configurations that come with a git of this machine.
const SHIPPED: [&str; 2] = ["/usr/etc/gitconfig", "/usr/local/etc/gitconfig"];
const OWN_CONFIG: &str = "/etc/git-placeholders.config";
const LIST: &str = "/etc/git-placeholders";

/// The files of the new root that make git pass over the names, which are relative to the workspace.
pub(crate) fn steps(workspace: &Path, names: &[PathBuf]) -> Vec<RootStep> {
    let file = |path: &str, content: String| RootStep::File { path: path.into(), content: content.into_bytes() };
    let mut system: String = SHIPPED.iter().map(|path| format!("[include]\n\tpath = {path}\n")).collect();
    let at_the_top = |name: &&PathBuf| name.components().count() == 1 && name.as_path() != Path::new(".git");
    let list: String = names.iter().filter(at_the_top).map(|name| format!("/{}\n", name.display())).collect();
    if let Some(condition) = condition(workspace).filter(|_| !list.is_empty()) {
        system.push_str(&format!("[includeIf \"{condition}\"]\n\tpath = {OWN_CONFIG}\n"));
    }
    let own = format!("[core]\n\texcludesFile = {LIST}\n");
    vec![file(SYSTEM_CONFIG, system), file(OWN_CONFIG, own), file(LIST, list)]
}

/// The condition that names the workspace's own repository; none if its path cannot be written in a configuration.
fn condition(workspace: &Path) -> Option<String> {
    let text = std::str::from_utf8(workspace.as_os_str().as_bytes()).ok()?;
    if text.contains(char::is_control) {
        return None;
    }
    let mut condition = "gitdir:".to_owned();
    for letter in text.chars() {
        match letter {
            // Once for the pattern, and each backslash twice for the configuration.
            '*' | '?' | '[' => condition.push_str("\\\\"),
            '\\' => condition.push_str("\\\\\\"),
            '"' => condition.push('\\'),
            _ => {}
        }
        condition.push(letter);
    }
    condition.push_str("/.git");
    Some(condition)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn box_1_only_the_placeholders_at_the_top_are_listed() {
        let names = ["AGENTS.md", ".git", ".git/config", ".vscode"].map(PathBuf::from);
        let steps = steps(Path::new("/w"), &names);
        let list = RootStep::File { path: LIST.into(), content: b"/AGENTS.md\n/.vscode\n".to_vec() };
        assert!(steps.contains(&list), "{steps:?}");
        let Some(RootStep::File { content, .. }) = steps.first() else { panic!("a configuration") };
        assert!(String::from_utf8_lossy(content).contains("[includeIf \"gitdir:/w/.git\"]"));
        assert!(!format!("{:?}", super::steps(Path::new("/w"), &[])).contains("includeIf"));
    }

    #[test]
    fn a_path_with_special_letters_is_written_so_that_git_reads_it_back() {
        assert_eq!(condition(Path::new("/a b/x[1]")).as_deref(), Some("gitdir:/a b/x\\\\[1]/.git"));
        assert_eq!(condition(Path::new("/a\"b\\c")).as_deref(), Some("gitdir:/a\\\"b\\\\\\\\c/.git"));
        assert_eq!(condition(Path::new("/a\nb")), None);
    }
}
