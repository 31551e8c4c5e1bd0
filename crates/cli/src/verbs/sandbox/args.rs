//! The options of `tripwire sandbox exec`, and the fast path that reads them.
//!
//! Describing all verbs and options to the parser and asking it costs more than a tenth of a short confined run, so the
//! plain form, in which every option is spelled out before `--`, is read here. Everything else goes to the parser, which
//! alone knows help and complaints.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::limits;
use crate::print::Form;
use crate::workspace::Acting;

/// Seconds until the whole tree is ended, unless told otherwise.
const TIMEOUT_SECONDS: f64 = 120.0;

/// The folder that a command works in unless another is named: the current one.
const HERE: &str = ".";

/// Options of `sandbox exec`.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Debug, PartialEq, Args)]
pub(crate) struct ExecArgs {
    /// The folder that the command works in.
    #[arg(long, value_name = "DIR", default_value = HERE)]
    pub(crate) workspace: PathBuf,
    /// Also readable; system programs always are.
    #[arg(long, value_name = "PATH")]
    pub(crate) read: Vec<PathBuf>,
    /// Also writable.
    #[arg(long, value_name = "PATH")]
    pub(crate) write: Vec<PathBuf>,
    /// Unreadable; `.env` files always are.
    #[arg(long, value_name = "PATH")]
    pub(crate) hide: Vec<PathBuf>,
    /// Host that may be reached, `NAME` or `NAME:PORT`; without any there is no network.
    #[arg(long, value_name = "HOST")]
    pub(crate) allow_host: Vec<String>,
    /// A loopback port of this machine to which an allowed name may lead; for tests.
    #[arg(long, value_name = "PORT", hide = true)]
    pub(crate) allow_loopback_port: Vec<u16>,
    /// One more environment variable, `NAME=VALUE`.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<OsString>,
    /// Seconds until the whole tree is ended.
    #[arg(long, value_name = "SECS", default_value_t = TIMEOUT_SECONDS, value_parser = limits::seconds,
          allow_negative_numbers = true)]
    pub(crate) timeout: f64,
    /// Memory of the whole tree, in bytes or such as `100M`.
    #[arg(long, value_name = "SIZE", value_parser = limits::memory)]
    pub(crate) memory: Option<u64>,
    /// Processes and threads of the whole tree.
    #[arg(long, value_name = "N", value_parser = limits::processes)]
    pub(crate) pids: Option<u64>,
    /// CPU limit of the whole tree, in processors, such as `1` or `0.5`.
    #[arg(long, value_name = "N", value_parser = limits::processors)]
    pub(crate) cpu: Option<u64>,
    /// The largest single file; rises with `--disk`.
    #[arg(long, value_name = "SIZE", value_parser = limits::size)]
    pub(crate) file_size: Option<u64>,
    /// All files written.
    #[arg(long, value_name = "SIZE", value_parser = limits::size)]
    pub(crate) disk: Option<u64>,
    /// Number of files written.
    #[arg(long, value_name = "N")]
    pub(crate) inodes: Option<u64>,
    /// Stage writes to the workspace until they are applied.
    #[arg(long)]
    pub(crate) stage: bool,
    /// Let the command open its own pseudo-terminals, as `script`, `expect` and others do.
    #[arg(long)]
    pub(crate) pty: bool,
    /// What a missing layer means.
    #[arg(long, value_enum, default_value_t = SandboxProfile::Strict)]
    pub(crate) profile: SandboxProfile,
    #[command(flatten)]
    pub(crate) acting: Acting,
    #[command(flatten)]
    pub(crate) form: Form,
    /// The command.
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

/// What a missing layer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SandboxProfile {
    /// A missing layer means that nothing is run.
    Strict,
    /// Go on without Landlock and without a memory cgroup; unix sockets and debuggers work.
    Compat,
}

/// The options of a plain `sandbox exec`; `None` if the parser must look at it.
pub(crate) fn plain(arguments: &[OsString]) -> Option<ExecArgs> {
    let [_, verb, exec, options @ ..] = arguments else { return None };
    if verb != "sandbox" || exec != "exec" {
        return None;
    }
    let end = options.iter().position(|argument| argument == "--")?;
    let (options, command) = options.split_at(end);
    let command = command.get(1..).filter(|command| !command.is_empty())?.to_vec();
    let mut given = Given::default();
    let mut options = options.iter();
    while let Some(name) = options.next() {
        given.take(name.to_str()?, &mut || options.next())?;
    }
    Some(ExecArgs {
        workspace: given.workspace.unwrap_or_else(|| PathBuf::from(HERE)),
        read: given.read,
        write: given.write,
        hide: given.hide,
        allow_host: given.allow_host,
        allow_loopback_port: Vec::new(),
        env: given.env,
        timeout: given.timeout.unwrap_or(TIMEOUT_SECONDS),
        memory: given.memory,
        pids: given.pids,
        cpu: given.cpu,
        file_size: given.file_size,
        disk: given.disk,
        inodes: given.inodes,
        stage: given.stage.is_some(),
        pty: given.pty.is_some(),
        profile: given.profile.unwrap_or(SandboxProfile::Strict),
        acting: Acting::default(),
        form: Form { json: given.json.is_some() },
        command,
    })
}

/// What was given so far; an option that may be given once is set or not.
#[derive(Default)]
struct Given {
    workspace: Option<PathBuf>,
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    hide: Vec<PathBuf>,
    allow_host: Vec<String>,
    env: Vec<OsString>,
    timeout: Option<f64>,
    memory: Option<u64>,
    pids: Option<u64>,
    cpu: Option<u64>,
    file_size: Option<u64>,
    disk: Option<u64>,
    inodes: Option<u64>,
    stage: Option<()>,
    pty: Option<()>,
    profile: Option<SandboxProfile>,
    json: Option<()>,
}

impl Given {
    /// Takes one option with its value; `None` for everything that is not plain.
    fn take<'a>(&mut self, name: &str, next: &mut dyn FnMut() -> Option<&'a OsString>) -> Option<()> {
        match name {
            "--workspace" => once(&mut self.workspace, PathBuf::from(value(next)?)),
            "--read" => more(&mut self.read, PathBuf::from(value(next)?)),
            "--write" => more(&mut self.write, PathBuf::from(value(next)?)),
            "--hide" => more(&mut self.hide, PathBuf::from(value(next)?)),
            "--allow-host" => more(&mut self.allow_host, value(next)?.to_str()?.to_owned()),
            "--env" => more(&mut self.env, value(next)?.to_owned()),
            "--timeout" => once(&mut self.timeout, read(next, limits::seconds)?),
            "--memory" => once(&mut self.memory, read(next, limits::memory)?),
            "--pids" => once(&mut self.pids, read(next, limits::processes)?),
            "--cpu" => once(&mut self.cpu, read(next, limits::processors)?),
            "--file-size" => once(&mut self.file_size, read(next, limits::size)?),
            "--disk" => once(&mut self.disk, read(next, limits::size)?),
            "--inodes" => once(&mut self.inodes, value(next)?.to_str()?.parse().ok()?),
            "--stage" => once(&mut self.stage, ()),
            "--pty" => once(&mut self.pty, ()),
            "--profile" => once(&mut self.profile, SandboxProfile::from_str(value(next)?.to_str()?, false).ok()?),
            "--json" => once(&mut self.json, ()),
            _ => None,
        }
    }
}

/// The value of an option. An empty one, and one that looks like an option, are for the parser to judge.
fn value<'a>(next: &mut dyn FnMut() -> Option<&'a OsString>) -> Option<&'a OsStr> {
    let value = next()?;
    let plain = !value.is_empty() && !value.as_encoded_bytes().starts_with(b"-");
    plain.then_some(value)
}

/// A value as the parser reads it; what it would complain about is left to it.
fn read<'a, T>(next: &mut dyn FnMut() -> Option<&'a OsString>, with: fn(&str) -> Result<T, String>) -> Option<T> {
    with(value(next)?.to_str()?).ok()
}

fn once<T>(place: &mut Option<T>, value: T) -> Option<()> {
    place.replace(value).is_none().then_some(())
}

fn more<T>(list: &mut Vec<T>, value: T) -> Option<()> {
    list.push(value);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    /// The parser's own reading of the same line.
    #[derive(Debug, Parser)]
    struct Whole {
        #[command(flatten)]
        args: ExecArgs,
    }

    fn line(options: &[&str], command: &[&str]) -> Vec<OsString> {
        let all = ["tripwire", "sandbox", "exec"].iter().chain(options).chain(command);
        all.map(OsString::from).collect()
    }

    fn parsed(arguments: &[OsString]) -> Option<ExecArgs> {
        let own = std::iter::once(&arguments[0]).chain(&arguments[3..]);
        Whole::try_parse_from(own).ok().map(|whole| whole.args)
    }

    #[test]
    fn what_is_read_quickly_reads_the_same_as_by_the_parser() {
        let full = [
            "--workspace",
            "/w",
            "--read",
            "/a",
            "--read",
            "b",
            "--write",
            "/c",
            "--hide",
            "d",
            "--allow-host",
            "x.org:443",
            "--env",
            "A=B=C",
            "--env",
            "N=",
            "--timeout",
            "1.5",
            "--memory",
            "100M",
            "--pids",
            "2",
            "--cpu",
            "1.5",
            "--file-size",
            "3",
            "--disk",
            "4",
            "--inodes",
            "5",
            "--stage",
            "--pty",
            "--profile",
            "compat",
            "--json",
        ];
        for options in
            [&full[..], &full[..2], &["--json", "--workspace", "w"], &["--workspace", "w", "--profile", "strict"]]
        {
            for command in [&["--", "true"][..], &["--", "--json", "--", "-c", ""]] {
                let line = line(options, command);
                let quick = plain(&line).expect("plain");
                assert_eq!(Some(quick), parsed(&line), "{line:?}");
            }
        }
    }

    #[test]
    fn every_single_option_reads_the_same_or_is_left_to_the_parser() {
        let names = [
            "--workspace",
            "--read",
            "--write",
            "--hide",
            "--allow-host",
            "--allow-loopback-port",
            "--env",
            "--timeout",
            "--memory",
            "--pids",
            "--cpu",
            "--file-size",
            "--disk",
            "--inodes",
            "--stage",
            "--pty",
            "--profile",
            "--role",
            "--json",
            "--help",
            "--no-such",
            "-w",
            "word",
        ];
        let values = [
            "",
            "-",
            "-1",
            "--json",
            "0",
            "1e3",
            "+7",
            "nan",
            "100M",
            "1T",
            "strict",
            "Strict",
            " 1",
            "x",
            "--workspace=y",
        ];
        for name in names {
            for value in values {
                for tail in [&["--", "true"][..], &["--"], &["true"], &[]] {
                    let line = line(&["--workspace", "w", name, value], tail);
                    if let Some(quick) = plain(&line) {
                        let slow = parsed(&line).expect("what is plain is accepted");
                        assert_eq!(format!("{quick:?}"), format!("{slow:?}"), "{line:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_line_without_a_workspace_is_read_as_the_parser_reads_it() {
        let line = line(&["--json"], &["--", "true"]);
        let quick = plain(&line).expect("a plain line");
        assert_eq!(format!("{quick:?}"), format!("{:?}", parsed(&line).expect("accepted")));
    }

    #[test]
    fn a_line_with_a_mistake_or_a_question_is_left_to_the_parser() {
        for options in [
            &["--workspace", "w", "--workspace", "v"][..],
            &["--workspace", "w", "--json", "--json"],
            &["--workspace", "w", "--memory", "much"],
            &["--workspace", "w", "--role", "reviewer"],
            &["--workspace=w"],
            &["--help"],
        ] {
            assert_eq!(plain(&line(options, &["--", "true"])), None, "{options:?}");
        }
        assert_eq!(plain(&line(&["--workspace", "w"], &[])), None);
        assert_eq!(plain(&["tripwire", "sandbox", "diff", "--", "x"].map(OsString::from)), None);
    }
}
