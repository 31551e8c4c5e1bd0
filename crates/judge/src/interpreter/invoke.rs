//! One call: functions, aliases, the shell's own commands, wrappers; what is left the observer looks at.

use super::builtin::{self, BuiltinOutcome};
use super::containers::{self, ContainerView};
use super::feed::{self, Fed};
use super::output::Output;
use super::remember::remember;
use super::walk::{Programs, Walker};
use super::wrappers::Inner;
use super::{abbreviations, runners, wrappers};
use crate::findings::{Findings, Run};
use crate::hold::Hold;
use crate::line::call::{Call, Place};
use crate::line::field::{Field, Origin};
use crate::line::mounts::Mounts;
use crate::line::stream::Stream;
use crate::losses::shown;
use crate::own_script::interpreter;
use crate::reading::CommandReading;
use crate::site::Site;
use std::path::Path;

/// Follows the calls of a line.
pub(super) struct Invoker;

impl Programs for Invoker {
    fn invoke(&self, walker: &mut Walker<'_>, call: &Call) -> Stream {
        walker.deeper(|walker| invoke(walker, call, Lookup::Shell))
    }
}

/// Who looks a command's name up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lookup {
    /// The shell: functions and aliases first.
    Shell,
    /// Another program, which knows neither: `command`, `env`, `sudo`, `xargs`, `find -exec`.
    Program,
}

fn invoke_program(walker: &mut Walker<'_>, call: &Call) -> Stream {
    walker.deeper(|walker| invoke(walker, call, Lookup::Program))
}

fn invoke(walker: &mut Walker<'_>, call: &Call, lookup: Lookup) -> Stream {
    let Some(first) = call.args.first() else { return Stream::Closed };
    if let Some(origin) = first.foreign() {
        walker.report.hold(Hold::of_foreign_code(origin));
        return Stream::Unknown;
    }
    if first.unknown().is_some() {
        let site = Site { world: walker.world, state: &walker.state };
        let findings = walker.observer.unknown_call(&site, call);
        follow(walker, findings);
        return Stream::Unknown;
    }
    if let Some(names) = walker.world.glob_names(first, walker.state.cwd()).filter(|names| !names.is_empty()) {
        let names = names.iter().map(|name| Field::of(name));
        let args = names.chain(call.args.iter().skip(1).cloned()).collect();
        return invoke_program(walker, &call.with_args(args));
    }
    let word = first.text();
    if !word.contains('/') && lookup == Lookup::Shell {
        if let Some(body) = walker.state.functions.get(&word).cloned() {
            let stream = walker.function(&word, &body, call);
            if !walker.state.doubtful.contains(&word) {
                return stream;
            }
        }
        invoke_alias(walker, &word, call);
    } else if word.contains('/')
        && let Some(stream) = walker.state.absolute(&word).and_then(|path| walker.state.files.get(&path).cloned())
    {
        return run_stream(walker, &stream, call.args.get(1..).unwrap_or_default(), call);
    }
    let written_out = abbreviations::written_out(call);
    let call = written_out.as_ref().unwrap_or(call);
    walker.report.read(call, &walker.state);
    match builtin::run(walker.world, &mut walker.state, call, &walker.report.source) {
        BuiltinOutcome::NotBuiltin => {}
        BuiltinOutcome::Done => return output(walker, call),
        BuiltinOutcome::Held(hold) => {
            walker.report.hold(*hold);
            return output(walker, call);
        }
    }
    if word.contains('/')
        && let Some(stream) = call_own_script(walker, &word, call)
    {
        return stream;
    }
    for code in runners::hidden_code(&walker.state, call) {
        let _written = walker.own_shell(|walker| {
            walker.state.leave_shell();
            walker.code(&code.to_code(), &Stream::Closed, call.place)
        });
    }
    if let Some(inner) = runners::unwrap(call).or_else(|| wrappers::unwrap(call)) {
        return invoke_inner(walker, inner, call);
    }
    look_at(walker, call);
    remember(&mut walker.state, call);
    output(walker, call)
}

/// Asks the observer about a call, and follows what it finds.
fn look_at(walker: &mut Walker<'_>, call: &Call) {
    let site = Site { world: walker.world, state: &walker.state };
    let mut findings = walker.observer.call(&site, call);
    let held = findings.hold.is_some();
    match findings.script.take() {
        Some(script) => walker.in_script(&script, |walker| follow(walker, findings)),
        None => follow(walker, findings),
    }
    if !held {
        walker.observer.note_effects(walker.world, &mut walker.state, call);
    }
}

fn output(walker: &Walker<'_>, call: &Call) -> Stream {
    let site = Site { world: walker.world, state: &walker.state };
    Output { site, observer: &*walker.observer }.of(call)
}

/// Walks what a call runs, and notes why it is held.
fn follow(walker: &mut Walker<'_>, findings: Findings) {
    walker.report.add(findings.commands);
    for run in findings.runs {
        let _written = match run {
            Run::Program(call) => invoke_program(walker, &call),
            Run::Unlikely(call) => only_read(walker, &call),
            Run::Code(code) => match code.folders {
                None => walker.code(&code.text, &code.stdin, code.place),
                Some(folders) => {
                    let before = std::mem::replace(&mut walker.state.cwds, folders);
                    let stream = walker.code(&code.text, &code.stdin, code.place);
                    walker.state.cwds = before;
                    stream
                }
            },
        };
    }
    if let Some(hold) = findings.hold {
        walker.report.hold(hold);
    }
}

/// Walks a call that may run but is not expected to: it is read, and neither held nor remembered.
fn only_read(walker: &mut Walker<'_>, call: &Call) -> Stream {
    let (mark, state) = (walker.report.mark(), walker.state.clone());
    let stream = invoke_program(walker, call);
    walker.report.forget_holds_since(&mark);
    walker.state = state;
    walker.world.doubt();
    stream
}

/// An alias counts in some shells only, and not on the line that sets it: what it stands for is judged beside the
/// program of its name.
fn invoke_alias(walker: &mut Walker<'_>, word: &str, call: &Call) {
    let Some(text) = walker.state.aliases.remove(word) else { return };
    let before = walker.state.clone();
    let code = format!("{text} {}", Field::quoted(call.args.get(1..).unwrap_or_default()));
    let _written = walker.code(&code, &call.stdin, call.place);
    walker.state.merge(&before);
    walker.state.aliases.insert(word.to_owned(), text);
}

/// What stands behind a wrapper.
fn invoke_inner(walker: &mut Walker<'_>, inner: Inner, call: &Call) -> Stream {
    match inner {
        Inner::Call(args, env, place) => {
            let env = [call.env.clone(), env].concat();
            let inner = Call { args, env, stdin: call.stdin.clone(), place };
            // `time` is a word of the shell; every other wrapper looks for a program.
            let lookup = if call.name() == "time" { Lookup::Shell } else { Lookup::Program };
            away(walker, place, |walker| walker.deeper(|walker| invoke(walker, &inner, lookup)))
        }
        Inner::Contained(args, env, options) => {
            let inner = Call { args, env: [options.env.clone(), env].concat(), ..options.clone() };
            contained(walker, inner, &options)
        }
        Inner::In(folder, args) => {
            let before = walker.state.clone();
            builtin::enter_folder(walker.world, &mut walker.state, &folder);
            let stream = invoke_program(walker, &call.with_args(args));
            walker.state.cwds = before.cwds;
            walker.state.fallback = before.fallback;
            stream
        }
        Inner::Code(code, names, place) => run_code(walker, &code, &names, &Call { place, ..call.clone() }),
        Inner::Script(file, names) => {
            let path = file.known().and_then(|name| walker.state.absolute(&name));
            let Some(path) = path else { return Stream::Unknown };
            match walker.state.files.get(&path).cloned() {
                Some(stream) => run_stream(walker, &stream, &names, call),
                None => read_own_script(walker, &path, &names, call),
            }
        }
        Inner::Stdin(names) => run_stream(walker, &call.stdin, &names, call),
        Inner::Fed(args) => run_fed(walker, args, call),
        Inner::Nothing => Stream::Unknown,
    }
}

/// A text that a shell runs, with `$0`, `$1` and so on.
fn run_code(walker: &mut Walker<'_>, code: &Field, names: &[Field], call: &Call) -> Stream {
    if let Some(origin) = code.foreign() {
        walker.report.hold(Hold::of_foreign_code(origin));
        return Stream::Unknown;
    }
    let text = code.to_code();
    away(walker, call.place, |walker| {
        if call.name() == "eval" {
            return walker.code(&text, &call.stdin, call.place);
        }
        walker.own_shell(|walker| {
            walker.state.leave_shell();
            walker.state.variables.extend(call.env.clone());
            walker.state.variables.extend(names.first().map(|name| ("0".to_owned(), name.clone())));
            walker.state.positional = names.get(1..).unwrap_or_default().to_vec();
            walker.code(&text, &call.stdin, call.place)
        })
    })
}

/// On another machine neither the folder nor the home can be known.
fn away(walker: &mut Walker<'_>, place: Place, run: impl FnOnce(&mut Walker<'_>) -> Stream) -> Stream {
    match place {
        // A call in a mounted folder was brought there before.
        Place::Here | Place::Mounted => run(walker),
        Place::Remote | Place::Container => in_folders(walker, Vec::new(), run),
    }
}

/// Runs something in other folders and without a home.
fn in_folders(
    walker: &mut Walker<'_>,
    folders: Vec<std::path::PathBuf>,
    run: impl FnOnce(&mut Walker<'_>) -> Stream,
) -> Stream {
    let cwds = std::mem::replace(&mut walker.state.cwds, folders);
    let home = walker.state.variables.remove("HOME");
    let stream = run(walker);
    walker.state.variables.extend(home.map(|home| ("HOME".to_owned(), home)));
    walker.state.cwds = cwds;
    stream
}

/// What stands behind `docker run`, in the container as far as this machine's files are concerned.
fn contained(walker: &mut Walker<'_>, inner: Call, options: &Call) -> Stream {
    let site = Site { world: walker.world, state: &walker.state };
    let (place, mounts) = match containers::seen(&site, options) {
        ContainerView::Nothing => (Place::Container, Mounts::default()),
        ContainerView::Workspace(mounts) => (Place::Mounted, mounts),
        ContainerView::Others => (Place::Remote, Mounts::default()),
    };
    let inner = Call { place, ..inner };
    let folders = mounts.folder.iter().cloned().collect();
    in_folders(walker, folders, |walker| {
        let outer = std::mem::replace(&mut walker.state.mounts, mounts);
        let stream = invoke_program(walker, &inner);
        walker.state.mounts = outer;
        stream
    })
}

/// A shell that reads its code from a stream, with `$1` and so on.
fn run_stream(walker: &mut Walker<'_>, stream: &Stream, names: &[Field], call: &Call) -> Stream {
    let origin = match stream {
        Stream::Known(text) => {
            let sourced = matches!(call.name().as_str(), "." | "source");
            return walker.own_shell(|walker| {
                if !sourced {
                    walker.state.leave_shell();
                }
                if !sourced || !names.is_empty() {
                    walker.state.positional = names.to_vec();
                }
                walker.code(text, &Stream::Closed, call.place)
            });
        }
        Stream::Downloaded => Origin::Downloaded,
        Stream::Decoded => Origin::Decoded,
        Stream::Closed | Stream::Name(_) | Stream::Paths(_) | Stream::Changes(_) | Stream::Unknown => {
            return Stream::Unknown;
        }
    };
    walker.report.hold(Hold::of_foreign_code(&origin));
    Stream::Unknown
}

/// A shell that reads its code from a file: one that the run wrote is followed.
fn read_own_script(walker: &mut Walker<'_>, path: &Path, names: &[Field], call: &Call) -> Stream {
    if call.place == Place::Here
        && let Some(text) = walker.own_script(path)
    {
        follow_own_script(walker, path, &text, names, call);
    }
    Stream::Unknown
}

/// A script of the run that is called by its path: the interpreter that it names reads it.
fn call_own_script(walker: &mut Walker<'_>, word: &str, call: &Call) -> Option<Stream> {
    let path = walker.state.absolute(word).filter(|_| call.place == Place::Here)?;
    let text = walker.own_script(&path)?;
    // The line names it as a program; what a person allows is bound to its text like that of any file that is named.
    walker.report.add([CommandReading::of_redirections(vec![path.clone()])]);
    let args = call.args.get(1..).unwrap_or_default();
    let program = interpreter(&text);
    if wrappers::is_shell(program) {
        follow_own_script(walker, &path, &text, args, call);
    } else {
        let started = [Field::of(program), Field::of(&path.display().to_string())];
        look_at(walker, &call.with_args([&started, args].concat()));
    }
    Some(Stream::Unknown)
}

fn follow_own_script(walker: &mut Walker<'_>, path: &Path, text: &str, names: &[Field], call: &Call) {
    let script = shown(walker.world, path);
    walker.in_script(&script, |walker| {
        let _written = run_stream(walker, &Stream::Known(text.to_owned()), names, call);
    });
}

/// `xargs` and `parallel`: the words of the input become arguments.
fn run_fed(walker: &mut Walker<'_>, args: Vec<Field>, call: &Call) -> Stream {
    let site = Site { world: walker.world, state: &walker.state };
    let fed = feed::fed(&site, args, call);
    walker.world.begin_loop();
    match fed {
        Fed::Nothing => {
            walker.world.end_loop();
            return Stream::Closed;
        }
        Fed::Calls(calls) => {
            for inner in calls {
                let _written = invoke_program(walker, &inner);
            }
        }
        Fed::Codes(codes) => {
            for text in codes {
                let _written = walker.own_shell(|walker| walker.code(&text, &Stream::Closed, call.place));
            }
        }
    }
    walker.world.end_loop();
    Stream::Unknown
}
