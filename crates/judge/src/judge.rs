//! The judge: what a door asks about a command line.

use crate::facts::Facts;
use crate::file_tools::{deletions, writings};
use crate::guard::Guard;
use crate::hold::{GuardRule, Hold, Segment};
use crate::interpreter::{Walked, interpret};
use crate::line::field::Field;
use crate::line::state::State;
use crate::reading::{CallReading, CommandReading, Reading};
use crate::steps::{Step, Watch};
use crate::verdict::{Answer, Verdict, contents};
use crate::world::{Budget, World};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use tripwire_core::input::{FloorFact, FloorWeight};
use tripwire_core::label::Label;
use tripwire_core::record::chain::Digest;
use tripwire_core::units::Count;
use tripwire_observe::{ShellCall, shell_calls};
use tripwire_shell::{SyntaxError, parse};

/// Longest command line that is judged; a longer one is held, because no person reads it either.
pub const COMMAND_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Letters of a code: digits and letters that are not mistaken for each other.
const CODE_LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Letters of a code before its dash.
const CODE_FRONT: usize = 4;
/// Letters of a code behind its dash.
const CODE_BACK: usize = 2;

/// Judges command lines in one workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judge {
    facts: Facts,
}

impl Judge {
    /// A judge for these surroundings.
    #[must_use]
    pub const fn new(facts: Facts) -> Self {
        Self { facts }
    }

    /// The same judge for a command that starts in another folder.
    #[must_use]
    pub fn at(self, cwd: PathBuf) -> Self {
        Self { facts: Facts { cwd, ..self.facts } }
    }

    /// Judges one command line. Nothing is run but read-only questions to git, and those only when a rule asks.
    #[must_use]
    pub fn judge(&self, command: &str) -> Verdict {
        self.read(command).verdict
    }

    /// Judges one command line, and gives what it would run.
    #[must_use]
    pub fn read(&self, command: &str) -> Reading {
        if command.len() > COMMAND_BYTES_MAX {
            return Reading::refused(Verdict::refused(GuardRule::TooComplex, "the line is longer than 2 MiB"));
        }
        let parsed = parse(command);
        if let Some(error @ SyntaxError::TooDeep) = parsed.error {
            return Reading::refused(Verdict::refused(GuardRule::TooComplex, &error.to_string()));
        }
        let world = World::new(&self.facts);
        let Walked { mut segments, commands, extent } = interpret(&world, self.start(), &parsed.script, &mut Guard);
        if world.budget() == Budget::Spent {
            let hold = Hold::plain(GuardRule::TooComplex, "it reaches over more files than can be looked at");
            segments.push(Segment { command: String::new(), hold: Some(hold) });
        }
        let runs = commands.iter().map(CommandReading::text).collect::<Vec<_>>().join("\n");
        let verdict = Verdict { lost: world.swept(), runs, named: named(&commands), ..Verdict::of(segments) };
        let verdict = match (parsed.error, verdict.verdict) {
            (Some(error), Answer::Pass) => {
                Verdict { reason: format!("a shell stops at what it cannot parse: {error}"), ..verdict }
            }
            (Some(_), Answer::Hold) | (None, Answer::Pass | Answer::Hold) => verdict,
        };
        Reading { verdict, commands, extent }
    }

    /// The steps of a command line. `watched` names the paths that a search of the line may find; it is asked only if
    /// the line searches. A line that the judge holds as too complex may have more steps than are given here.
    #[must_use]
    pub fn steps(&self, command: &str, watched: &dyn Fn() -> Vec<PathBuf>) -> Vec<Step> {
        if command.len() > COMMAND_BYTES_MAX {
            return Vec::new();
        }
        let parsed = parse(command);
        let world = World::new(&self.facts);
        let mut watch = Watch::new(watched);
        let _walked = interpret(&world, self.start(), &parsed.script, &mut watch);
        if parsed.error.is_some() {
            watch.note_unparsed(command, &self.facts.cwd);
        }
        watch.into_steps()
    }

    /// Reads a call of any tool: every command line that it hands over, and the deletion or the writing that its name is.
    #[must_use]
    pub fn read_call(facts: &Facts, tool: &str, args: &str) -> CallReading {
        let lines = shell_calls(tool, args).into_iter().map(|ShellCall { command, folder }| (command, folder));
        let deletions = deletions(tool, args).into_iter().map(|command| (command, None));
        let mut whole = CallReading::default();
        for (command, folder) in lines.chain(deletions) {
            let cwd = folder.map_or_else(|| facts.cwd.clone(), |folder| facts.cwd.join(folder));
            let judge = Self::new(Facts { cwd, ..facts.clone() });
            let Reading { verdict, commands, extent } = judge.read(&command);
            whole.floor = heavier(whole.floor, judge.fact_of(&command, &verdict));
            whole.commands.extend(commands);
            whole.extent = whole.extent.max(extent);
        }
        // Writing a file runs nothing: only what it would destroy counts.
        for command in writings(tool, args) {
            whole.floor = heavier(whole.floor, Self::new(facts.clone()).fact(&command));
        }
        whole
    }

    /// What a call would destroy, if anything.
    #[must_use]
    pub fn fact_of_call(facts: &Facts, tool: &str, args: &str) -> Option<FloorFact> {
        Self::read_call(facts, tool, args).floor
    }

    /// The fact of a call whose arguments cannot be read: what cannot be judged waits for a person.
    #[must_use]
    pub fn fact_of_unreadable(facts: &Facts, args: &str, why: &str) -> FloorFact {
        let digest = Self::new(facts.clone()).digest(args, "");
        FloorFact {
            code: Label::cut(&code(&digest)),
            digest,
            reason: Label::cut(why),
            rule: Label::cut(GuardRule::TooComplex.name()),
            weight: FloorWeight::Destroys,
        }
    }

    /// The fact of a call that a policy wants a person asked about.
    #[must_use]
    pub fn fact_of_policy(facts: &Facts, call: &str, reading: &CallReading, reason: &str) -> FloorFact {
        let digest = Self::new(facts.clone()).digest(call, &contents(&named(&reading.commands)));
        FloorFact {
            code: Label::cut(&code(&digest)),
            digest,
            reason: Label::cut(reason),
            rule: Label::cut("policy"),
            weight: FloorWeight::Asks,
        }
    }

    /// The fact of a call that holds a placeholder where a secret is meant: carried out, it would put the placeholder itself
    /// into a file or a command (SECRET-1).
    #[must_use]
    pub fn fact_of_placeholder(facts: &Facts, call: &str, placeholder: &str) -> FloorFact {
        let reason = format!(
            "it holds `{placeholder}`, which stands for a secret in tripwire's records and is not its value; take the value \
             from where it came"
        );
        let fact = Self::fact_of_policy(facts, call, &CallReading::default(), &reason);
        FloorFact { rule: Label::cut("placeholder"), weight: FloorWeight::Placeholder, ..fact }
    }

    /// Judges a command line for a door: the fact that its request carries, if it is held.
    #[must_use]
    pub fn fact(&self, command: &str) -> Option<FloorFact> {
        self.fact_of(command, &self.judge(command))
    }

    /// The fact of a verdict that was given on this command line.
    #[must_use]
    pub fn fact_of(&self, command: &str, verdict: &Verdict) -> Option<FloorFact> {
        match verdict.verdict {
            Answer::Pass => self.fact_of_lost(command, verdict),
            Answer::Hold => {
                let digest = self.digest(command, &verdict.bound());
                let card = verdict.effect.as_ref().map(|effect| format!(" ({})", effect.line())).unwrap_or_default();
                Some(FloorFact {
                    code: Label::cut(&code(&digest)),
                    digest,
                    reason: Label::cut(&format!("{}{card}", verdict.reason)),
                    rule: Label::cut(verdict.rule.map_or("floor", GuardRule::name)),
                    weight: verdict.rule.map_or(FloorWeight::Destroys, GuardRule::weight),
                })
            }
        }
    }

    /// The fact of a line that loses a few files that git does not know: alone it passes, and it counts.
    fn fact_of_lost(&self, command: &str, verdict: &Verdict) -> Option<FloorFact> {
        // Where the disk does not tell which files the session made itself, they are not counted over it.
        self.facts.began?;
        let lost = &verdict.lost;
        let files = Count::new(u32::try_from(lost.len()).unwrap_or(u32::MAX));
        let first = lost.first()?;
        let shown = first.strip_prefix(&self.facts.workspace).unwrap_or(first).display();
        let reason = format!(
            "it deletes or empties `{shown}`, which git does not know and nothing can restore; with what this session lost \
             before, that makes three or more such files"
        );
        let digest = self.digest(command, &verdict.bound());
        Some(FloorFact {
            code: Label::cut(&code(&digest)),
            digest,
            reason: Label::cut(&reason),
            rule: Label::cut(GuardRule::DeleteWork.name()),
            weight: FloorWeight::Loses(files),
        })
    }

    /// What an allowance is bound to: the exact text, the folder it starts in, the workspace, and what the judge found that it
    /// would run and hit. With another script behind it, or another target, it is another command.
    fn digest(&self, command: &str, found: &str) -> Digest {
        let (workspace, cwd) = (self.facts.workspace.as_os_str(), self.facts.cwd.as_os_str());
        let place = [workspace.as_bytes(), cwd.as_bytes()];
        let parts = [b"tripwire floor 2".as_slice(), place[0], place[1], command.as_bytes(), found.as_bytes()];
        // No path and no command line holds a zero byte, so the parts cannot run into each other.
        Digest::of_parts(parts.into_iter().flat_map(|part| [part, b"\0".as_slice()]))
    }

    fn start(&self) -> State {
        let mut state = State { cwds: vec![self.facts.cwd.clone()], ..State::default() };
        let mut set = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                state.variables.insert(name.to_owned(), Field::of(&value));
            }
        };
        set("HOME", self.facts.home.as_ref().map(|home| home.display().to_string()));
        set("USER", self.facts.user.clone());
        set("LOGNAME", self.facts.user.clone());
        set("TMPDIR", self.facts.temporary.first().map(|folder| folder.display().to_string()));
        set("IFS", Some(" \t\n".to_owned()));
        // Whichever shell they name, it runs what stands behind `-c`.
        set("SHELL", Some("/bin/bash".to_owned()));
        set("BASH", Some("/bin/bash".to_owned()));
        state
    }
}

/// The files that commands name.
fn named(commands: &[CommandReading]) -> Vec<PathBuf> {
    commands.iter().flat_map(|command| command.paths.iter().cloned()).collect()
}

/// Of two facts the one that weighs more; what two lines of a call lose counts together.
fn heavier(one: Option<FloorFact>, other: Option<FloorFact>) -> Option<FloorFact> {
    let rank = |fact: &FloorFact| match fact.weight {
        FloorWeight::Destroys => 4,
        FloorWeight::Publishes => 3,
        FloorWeight::Asks | FloorWeight::FromOutside(_) => 2,
        FloorWeight::Placeholder => 1,
        FloorWeight::Loses(_) => 0,
    };
    match (one, other) {
        (None, fact) | (fact, None) => fact,
        (Some(one), Some(other)) => Some(match (one.weight, other.weight) {
            (FloorWeight::Loses(files), FloorWeight::Loses(more)) => {
                FloorFact { weight: FloorWeight::Loses(Count::new(files.get().saturating_add(more.get()))), ..one }
            }
            _ if rank(&other) > rank(&one) => other,
            _ => one,
        }),
    }
}

/// A code that a person can read aloud. It only names: what is allowed is the full digest.
fn code(digest: &Digest) -> String {
    let letters = digest.as_bytes().iter().filter_map(|byte| CODE_LETTERS.get(usize::from(byte % 32)));
    let letters: String = letters.take(CODE_FRONT + CODE_BACK).map(|letter| char::from(*letter)).collect();
    let (front, back) = letters.split_at(CODE_FRONT.min(letters.len()));
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
        let moved = judge("/w").at("/w/x".into());
        assert_eq!(moved.fact("rm -rf /usr"), judge("/w/x").fact("rm -rf /usr"), "the judge that goes elsewhere");
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
        for (tool, args) in [
            ("Write", r#"{"content":"","file_path":"/etc/passwd"}"#),
            ("write_file", r#"{"content":"x","path":"/etc/passwd"}"#),
            ("mcp__files__write_file", r#"{"content":"x","path":"/etc/passwd"}"#),
            ("create_file", r#"{"file_text":"x","path":".git/HEAD"}"#),
        ] {
            assert!(Judge::fact_of_call(&facts, tool, args).is_some(), "{tool} {args}");
        }
        for (tool, args) in [
            ("Write", r#"{"content":"rm -rf /usr","file_path":"x"}"#),
            ("Write", r#"{"content":"x","file_path":"/etc/a-file-that-nobody-has"}"#),
            ("TodoWrite", r#"{"content":"x","path":"/etc/passwd"}"#),
            ("Edit", r#"{"old_string":"a","new_string":"b","file_path":"/etc/passwd"}"#),
        ] {
            assert_eq!(Judge::fact_of_call(&facts, tool, args), None, "{tool} {args}");
        }
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
