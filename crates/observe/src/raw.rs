//! A call before anything is read from it.

/// A call as an event source saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RawCall<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// Its arguments: JSON, or plain text.
    pub args: &'a str,
    /// Names of arguments that do not change what the tool does, such as a free text beside a command.
    pub idle: &'a [&'a str],
    /// What it gave, if that is known.
    pub output: Option<&'a str>,
    /// Whether the client calls it an error; none if it does not say.
    pub error: Option<bool>,
    /// The exit code of a command.
    pub exit_code: Option<i32>,
    /// What the model said before it acted.
    pub text: Option<&'a str>,
    /// A digest of the whole output, where `output` is only its beginning: two results are then the same only if
    /// their wholes are.
    pub whole: Option<&'a str>,
    /// The workspace's absolute path, to which targets are made relative.
    pub workspace_root: Option<&'a str>,
    /// The folder in which it ran, where that is known and not the workspace itself.
    pub folder: Option<&'a str>,
    /// The command that runs the project's tests, where a person or the policy names one: it is a test run by any name.
    pub test_command: Option<&'a str>,
    /// Whether its output is compared with that of its neighbours.
    pub neighbours: Neighbours,
}

/// Whether somebody compares the outputs of neighbours (ACT-1): only then a hash and a sketch of the output are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Neighbours {
    /// They are compared, or may be compared later, when the facts are read.
    #[default]
    Compared,
    /// Nobody does.
    Unread,
}
