//! What is known about a client's command line: its flags, where the prompt stands, and what runs no task.

use std::ffi::OsString;

/// By what a client is known in a command line and in the environment of its agent.
#[derive(Debug, Clone, Copy)]
pub struct KnownBy {
    /// Its package, as a package runner is given it.
    pub package: &'static str,
    /// The names of its programs and scripts.
    pub programs: &'static [&'static str],
    /// The folder of its package, for scripts with an everyday name.
    pub package_folder: &'static str,
    /// The environment variables that it sets for the commands of its agent.
    pub agent_variables: &'static [&'static str],
}

/// The form of a client's command line.
#[derive(Debug, Clone, Copy)]
pub struct CommandLineForm {
    /// Words that are no prompt although they look like one.
    pub subcommands: &'static [&'static str],
    /// Flags whose value is the prompt.
    pub prompt_flags: &'static [&'static str],
    /// Flags that take the next word as their value.
    pub value_flags: &'static [&'static str],
    /// Flags that name an old session.
    pub resume_flags: &'static [&'static str],
    /// The words before a session's id that go on with that session.
    pub resume_words: &'static [&'static str],
    /// What a bare name needs behind it to run one prompt.
    pub one_prompt: &'static [&'static str],
    /// Flags that only print something.
    pub print_flags: &'static [&'static str],
    /// First words that manage the client itself.
    pub manage_words: &'static [&'static str],
    /// What our own loop adds to a person's words, unless one of the flags is among them.
    pub worker_defaults: &'static [WorkerDefault],
    /// Where our own loop puts the prompt.
    pub worker_prompt: PromptPlace,
}

/// Words that are added unless the person chose already.
#[derive(Debug, Clone, Copy)]
pub struct WorkerDefault {
    /// The flags by which a person chooses.
    pub unless: &'static [&'static str],
    /// The words.
    pub words: &'static [&'static str],
}

/// Where the prompt goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptPlace {
    /// Before the person's own arguments: some flags take every word that follows.
    First,
    /// Behind everything.
    Last,
    /// Behind everything, as this flag's value.
    LastBehind(&'static str),
}

/// What a command line is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A task: such a client calls its hook before anything else.
    Task,
    /// To print something, to manage the client, or to wait for what a person types.
    NoTask,
}

impl CommandLineForm {
    /// What the client's own arguments are for. A word that is not known is a task.
    #[must_use]
    pub fn purpose(&self, own: &[OsString]) -> Purpose {
        let is_one = |list: &[&str], word: &OsString| list.iter().any(|one| word == one);
        let mut before_dashes = own.iter().take_while(|word| *word != "--");
        let manages = own.first().is_none_or(|first| is_one(self.manage_words, first));
        let no_task = manages || before_dashes.any(|word| is_one(self.print_flags, word));
        if no_task { Purpose::NoTask } else { Purpose::Task }
    }

    /// The command line by which our own loop gives a client its prompt: the person's words, what they leave open, and
    /// the prompt where no flag can swallow it. The client's own arguments begin at this index.
    #[must_use]
    pub fn worker(&self, words: &[OsString], arguments: usize, prompt: &str) -> Vec<OsString> {
        let own = words.get(arguments..).unwrap_or_default();
        let name = |word: &OsString| word.to_string_lossy().split('=').next().unwrap_or_default().to_owned();
        let has = |flags: &[&str]| own.iter().any(|word| flags.contains(&name(word).as_str()));
        let mut line = words.to_vec();
        for default in self.worker_defaults.iter().filter(|default| !has(default.unless)) {
            line.extend(default.words.iter().map(OsString::from));
        }
        match self.worker_prompt {
            PromptPlace::First => line.insert(arguments.min(line.len()), prompt.into()),
            PromptPlace::Last => line.push(prompt.into()),
            PromptPlace::LastBehind(flag) => line.extend([flag.into(), prompt.into()]),
        }
        line
    }
}
