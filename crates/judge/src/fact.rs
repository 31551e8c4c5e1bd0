//! The fact that a judgement gives to the core: bound to one command in one folder, named by a short code.

use super::reading::{CallReading, Reading};
use super::{Answer, Facts, Judge, Verdict, named};
use std::os::unix::ffi::OsStrExt as _;
use tripwire_core::input::FloorFact;
use tripwire_core::label::Label;
use tripwire_core::record::chain::Digest;
use tripwire_observe::{ShellCall, shell_calls};
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::session::SessionId;

/// Letters of a code: digits and letters that nobody mistakes for each other.
const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Letters before and behind the dash.
const CODE: (usize, usize) = (4, 2);

impl Facts {
    /// The same facts for a command of this session: what was born after its journal is the run's own.
    #[must_use]
    pub fn in_session(self, layout: &Layout, session: &SessionId) -> Self {
        let first = layout.first_segment(session);
        let began = first.metadata().and_then(|metadata| metadata.created()).ok();
        Self { began, ..self }
    }
}

impl Judge {
    /// Reads a call of any tool: every command line that it hands over, and the deletion that its name is.
    #[must_use]
    pub fn read_call(facts: &Facts, tool: &str, args: &str) -> CallReading {
        let lines = shell_calls(tool, args).into_iter().map(|ShellCall { command, folder }| (command, folder));
        let deletions = named::deletions(tool, args).into_iter().map(|command| (command, None));
        let mut whole = CallReading::default();
        for (command, folder) in lines.chain(deletions) {
            let cwd = folder.map_or_else(|| facts.cwd.clone(), |folder| facts.cwd.join(folder));
            let judge = Self::new(Facts { cwd, ..facts.clone() });
            let Reading { verdict, commands, extent } = judge.read(&command);
            whole.floor = whole.floor.or_else(|| judge.fact_of(&command, &verdict));
            whole.commands.extend(commands);
            whole.extent = whole.extent.max(extent);
        }
        whole
    }

    /// What a call would destroy, if anything.
    #[must_use]
    pub fn fact_of_call(facts: &Facts, tool: &str, args: &str) -> Option<FloorFact> {
        Self::read_call(facts, tool, args).floor
    }

    /// The fact of a call whose arguments nobody can read: what cannot be judged waits for a person.
    #[must_use]
    pub fn fact_of_unreadable(facts: &Facts, args: &str, why: &str) -> FloorFact {
        let digest = Self::new(facts.clone()).digest(args);
        FloorFact {
            code: Label::cut(&code(&digest)),
            digest,
            reason: Label::cut(why),
            rule: Label::cut(super::FloorRule::TooComplex.name()),
        }
    }

    /// Judges a command line for a door: the fact that its request carries, if it breaks the floor.
    #[must_use]
    pub fn fact(&self, command: &str) -> Option<FloorFact> {
        self.fact_of(command, &self.judge(command))
    }

    /// The fact of a verdict that was given on this command line.
    #[must_use]
    pub fn fact_of(&self, command: &str, verdict: &Verdict) -> Option<FloorFact> {
        match verdict.verdict {
            Answer::Pass => None,
            Answer::Hold => {
                let digest = self.digest(command);
                let card = verdict.effect.as_ref().map(|effect| format!(" ({})", effect.line())).unwrap_or_default();
                Some(FloorFact {
                    code: Label::cut(&code(&digest)),
                    digest,
                    reason: Label::cut(&format!("{}{card}", verdict.reason)),
                    rule: Label::cut(verdict.rule.map_or("floor", super::FloorRule::name)),
                })
            }
        }
    }

    /// What an allowance is bound to: the exact text, the folder it starts in, the workspace.
    fn digest(&self, command: &str) -> Digest {
        let (workspace, cwd) = (self.facts.workspace.as_os_str(), self.facts.cwd.as_os_str());
        let parts = [b"tripwire floor 1".as_slice(), workspace.as_bytes(), cwd.as_bytes(), command.as_bytes()];
        // No path and no command line holds a zero byte, so the parts cannot run into each other.
        Digest::of_parts(parts.into_iter().flat_map(|part| [part, b"\0".as_slice()]))
    }
}

/// A code that a person can read aloud. It only names: what is allowed is the full digest.
fn code(digest: &Digest) -> String {
    let letters = digest.as_bytes().iter().filter_map(|byte| LETTERS.get(usize::from(byte % 32)));
    let letters: String = letters.take(CODE.0 + CODE.1).map(|letter| char::from(*letter)).collect();
    let (front, back) = letters.split_at(CODE.0.min(letters.len()));
    format!("{front}-{back}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_names_one_command_in_one_folder() {
        let judge = |cwd: &str| Judge::new(Facts { workspace: "/w".into(), cwd: cwd.into(), ..Facts::default() });
        let fact = judge("/w").fact("rm -rf /usr").unwrap();
        assert_eq!(fact, judge("/w").fact("rm -rf /usr").unwrap());
        assert_eq!(fact.rule.as_str(), "delete-system");
        let form = fact.code.as_str().as_bytes();
        assert!(form.len() == 7 && form[4] == b'-', "{}", fact.code);
        assert_ne!(fact.digest, judge("/w").fact("rm -rf /usr ").unwrap().digest);
        assert_ne!(fact.digest, judge("/w/x").fact("rm -rf /usr").unwrap().digest);
        assert_eq!(judge("/w").fact("ls"), None);
    }

    #[test]
    fn only_a_command_can_break_the_floor_and_every_client_has_its_own_words() {
        let facts = Facts { workspace: "/w".into(), cwd: "/w".into(), ..Facts::default() };
        for (tool, args) in [
            ("Bash", r#"{"command":"rm -rf /usr"}"#),
            ("shell", r#"{"command":["bash","-lc","rm -rf /usr"]}"#),
            ("exec_command", r#"{"cmd":"rm -rf lib","workdir":"/usr"}"#),
            ("run_shell_command", r#"{"command":"rm -rf lib","dir_path":"/usr"}"#),
            ("Monitor", r#"{"command":"rm -rf /usr"}"#),
            ("mcp__x__start_process", r#"{"command":"rm -rf /usr"}"#),
            ("mcp__x__run", r#"{"script":"rm -rf /usr"}"#),
            ("local_shell", r#"{"action":{"command":["rm","-rf","/usr"]}}"#),
            ("Bash", r#"{"command":"ls","cmd":"rm -rf /usr"}"#),
            ("mcp__fs__delete_directory", r#"{"path":"/usr/lib"}"#),
            ("mcp_fs_removeDirectory", r#"{"directory":"/usr/lib"}"#),
            ("delete-file", r#"{"paths":["x","/etc/passwd"]}"#),
            ("mcp__fs__delete_file", r#"{"uri":"file:///etc/it's"}"#),
        ] {
            assert!(Judge::fact_of_call(&facts, tool, args).is_some(), "{tool} {args}");
        }
        assert_eq!(Judge::fact_of_call(&facts, "Write", r#"{"content":"rm -rf /usr","file_path":"x"}"#), None);
        assert_eq!(Judge::fact_of_call(&facts, "Bash", r#"{"command":"ls /usr"}"#), None);
        for (tool, args) in [
            ("mcp__fs__delete_directory", r#"{"path":"/w/target"}"#),
            ("mcp__fs__delete_file", r#"{"path":"a.txt"}"#),
            ("mcp__fs__list_directory", r#"{"path":"/usr/lib"}"#),
            ("mcp__mail__delete_directory_entry", r#"{"path":"/usr/lib"}"#),
            ("mcp__fs__delete_directory", "{}"),
        ] {
            assert_eq!(Judge::fact_of_call(&facts, tool, args), None, "{tool} {args}");
        }
    }
}
