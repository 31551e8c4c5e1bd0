//! Programs that run other programs: what stands behind them is what counts.

use crate::line::call::{Call, Place, rest_of};
use crate::line::command;
use crate::line::field::Field;
use tripwire_shell::wrappers::{CONTAINER_VALUES, Kind, Wrapper};

/// What stands behind a wrapper.
pub(super) enum Inner {
    /// A program with its arguments and the variables set for it.
    Call(Vec<Field>, Vec<(String, Field)>, Place),
    /// A program in a container, with the options that say what it sees.
    Contained(Vec<Field>, Vec<(String, Field)>, Call),
    /// A program that runs in another folder.
    In(Field, Vec<Field>),
    /// A text that a shell runs, with `$0`, `$1` and so on.
    Code(Field, Vec<Field>, Place),
    /// A file that a shell runs, with `$1` and so on.
    Script(Field, Vec<Field>),
    /// A shell that runs what it reads, with `$1` and so on.
    Stdin(Vec<Field>),
    /// A program that gets the words of its input as arguments.
    Fed(Vec<Field>),
    /// Nothing that runs.
    Nothing,
}

/// Tools of a project that its package manager runs by their bare name.
const TOOLS: [&str; 21] = [
    "prisma",
    "sequelize",
    "sequelize-cli",
    "typeorm",
    "knex",
    "rimraf",
    "supabase",
    "changeset",
    "lerna",
    "semantic-release",
    "release-it",
    "np",
    "drizzle-kit",
    "mikro-orm",
    "wrangler",
    "vercel",
    "netlify",
    "firebase",
    "convex",
    "sst",
    "del-cli",
];
/// Packages whose program has another name.
const PROGRAMS: [(&str, &str); 4] = [
    ("firebase-tools", "firebase"),
    ("netlify-cli", "netlify"),
    ("@railway/cli", "railway"),
    ("@mikro-orm/cli", "mikro-orm"),
];

const SHELLS: [&str; 15] = [
    "sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "fish", "rbash", "yash", "csh", "tcsh", "nu", "xonsh", "elvish",
];

/// Whether a program is a shell.
pub(super) fn is_shell(program: &str) -> bool {
    SHELLS.contains(&program)
}

/// What stands behind this call, if it is a wrapper.
pub(crate) fn unwrap(call: &Call) -> Option<Inner> {
    let name = call.name();
    if is_shell(&name) {
        return Some(shell(call));
    }
    let first = call.args.get(1).map(Field::text).unwrap_or_default();
    let joined = |fields: &[Field]| Inner::Code(Field::joined(fields), Vec::new(), call.place);
    let args = call.args.get(1..).unwrap_or_default();
    match name.as_str() {
        "env" => Some(env(call)),
        // Only its own option asks what a name stands for; one behind the program belongs to the program.
        "command" if first.starts_with('-') && first.contains(['v', 'V']) => None,
        "eval" => Some(joined(args)),
        "." | "source" => args.first().map(|file| match file.text().as_str() {
            "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" => Inner::Stdin(args.get(1..).unwrap_or_default().to_vec()),
            _ => Inner::Script(file.clone(), args.get(1..).unwrap_or_default().to_vec()),
        }),
        "at" | "batch" if call.option(&["-f"]).is_none() => Some(Inner::Stdin(Vec::new())),
        "entr" if !args.is_empty() => Some(joined(&rest_of(args, &[], 0).1)),
        "watch" => Some(joined(&rest_of(args, &["-n", "--interval"], 0).1)),
        "runuser" if call.has_any(&["-u", "--user"]) => {
            Some(Inner::Call(rest_of(args, &["-u", "--user", "-g", "-G"], 0).1, Vec::new(), call.place))
        }
        // Elsewhere than on Linux the program stands behind the file.
        "script" if call.option(&["-c", "--command"]).is_none() => {
            let behind = rest_of(args, &["-t", "-T", "-O", "-I", "-B", "-m", "-E", "-o"], 1).1;
            (!behind.is_empty()).then(|| Inner::Call(behind, Vec::new(), call.place))
        }
        "su" | "runuser" | "script" => {
            call.option(&["-c", "--command", "--session-command"]).map(|code| Inner::Code(code, Vec::new(), call.place))
        }
        "flock" => Some(match call.option(&["-c", "--command"]) {
            Some(code) => Inner::Code(code, Vec::new(), call.place),
            None => Inner::Call(rest_of(args, &["-w", "-E", "--timeout"], 1).1, Vec::new(), call.place),
        }),
        "nix-shell" | "nix" => {
            call.option(&["--run", "--command"]).map(|code| Inner::Code(code, Vec::new(), call.place))
        }
        "direnv" if first == "exec" => Some(Inner::In(args.get(1)?.clone(), args.get(2..)?.to_vec())),
        "parallel" => Some(parallel(call)),
        "yarn" | "pnpm" | "bun" if TOOLS.contains(&first.as_str()) => {
            Some(Inner::Call(args.to_vec(), Vec::new(), call.place))
        }
        "node" | "bun" | "tsx" | "ts-node" if first.contains("node_modules/.bin/") => {
            Some(Inner::Call(args.to_vec(), Vec::new(), call.place))
        }
        "bwrap" => Some(Inner::Call(behind_binds(args), Vec::new(), call.place)),
        "ssh" | "autossh" | "rsh" | "remsh" | "dbclient" | "plink" | "mosh" | "slogin" => ssh(call),
        "docker" | "podman" | "nerdctl" => container(call),
        "kubectl" | "oc" | "crictl" => pod(call),
        "docker-compose" => {
            container(&call.with_args([vec![Field::of("docker"), Field::of("compose")], args.to_vec()].concat()))
        }
        _ if is_loader(&name) => {
            let values =
                ["--library-path", "--preload", "--argv0", "--inhibit-rpath", "--audit", "--glibc-hwcaps-mask"];
            Some(Inner::Call(rest_of(args, &values, 0).1, Vec::new(), call.place))
        }
        _ if name.starts_with("qemu-") && !name.starts_with("qemu-system") && !name.starts_with("qemu-img") => {
            Some(Inner::Call(
                rest_of(args, &["-L", "-cpu", "-E", "-U", "-0", "-s", "-B", "-g"], 0).1,
                Vec::new(),
                call.place,
            ))
        }
        _ => wrapped(call),
    }
}

/// The program behind the options of `bwrap`, of which some take two words.
fn behind_binds(args: &[Field]) -> Vec<Field> {
    let mut rest = args;
    while let Some((first, more)) = rest.split_first() {
        let text = first.text();
        let taken = match text.as_str() {
            "--" => return more.to_vec(),
            "--bind" | "--ro-bind" | "--dev-bind" | "--bind-try" | "--ro-bind-try" | "--dev-bind-try" | "--symlink"
            | "--setenv" | "--file" | "--bind-data" | "--ro-bind-data" | "--chmod" => 2,
            "--chdir" | "--uid" | "--gid" | "--hostname" | "--tmpfs" | "--proc" | "--dev" | "--dir" | "--unsetenv"
            | "--lock-file" | "--mqueue" | "--seccomp" | "--args" | "--perms" | "--size" | "--argv0"
            | "--remount-ro" => 1,
            option if option.starts_with('-') => 0,
            _ => return rest.to_vec(),
        };
        rest = more.get(taken..).unwrap_or_default();
    }
    Vec::new()
}

/// Whether a name is that of the dynamic loader, which runs the program that it is given: `ld-linux-x86-64.so.2`.
fn is_loader(name: &str) -> bool {
    name == "ld.so" || (name.starts_with("ld") && name.contains(".so") && name.contains(['-', '.']))
}

/// What stands behind a wrapper of the one table.
fn wrapped(call: &Call) -> Option<Inner> {
    let next = call.args.get(1).map(Field::text);
    let wrapper = Wrapper::find(&call.name(), next.as_deref())?;
    let (env, rest) = rest_of(call.args.get(wrapper.own_words()..)?, wrapper.values, wrapper.skip);
    Some(match wrapper.kind {
        Kind::Input => Inner::Fed(rest),
        Kind::Same | Kind::Other | Kind::Package if rest.is_empty() => Inner::Nothing,
        Kind::Package => Inner::Call(packaged(rest), env, call.place),
        Kind::Same | Kind::Other => Inner::Call(rest, env, call.place),
    })
}

/// The program of a package, which may be asked for with its version: `rimraf@5`, `firebase-tools@latest`.
fn packaged(mut command: Vec<Field>) -> Vec<Field> {
    let Some(first) = command.first_mut() else { return command };
    let text = first.text();
    let end = text.char_indices().skip(1).find(|(_, letter)| *letter == '@').map_or(text.len(), |(at, _)| at);
    let package = text.get(..end).unwrap_or(&text);
    let program = PROGRAMS.iter().find(|(name, _)| *name == package).map_or(package, |(_, program)| program);
    if program != text && first.known().is_some() {
        *first = Field::of(program);
    }
    command
}

/// `bash -c CODE name args…`, `bash file args…`, `bash -s args…` with code on its input.
fn shell(call: &Call) -> Inner {
    let mut args = call.args.iter().skip(1).peekable();
    let mut source = Source::File;
    while let Some(field) = args.peek() {
        let text = field.text();
        if text == "--" || !text.starts_with(['-', '+']) || text == "-" {
            break;
        }
        args.next();
        if text.starts_with("--") {
            match text.as_str() {
                "--version" | "--help" | "--dump-strings" => return Inner::Nothing,
                "--rcfile" | "--init-file" => drop(args.next()),
                _ => {}
            }
            continue;
        }
        if text.starts_with('-') && text.contains('n') && !text.contains("login") {
            return Inner::Nothing;
        }
        // `-euo pipefail`: each of these letters takes a word of its own, wherever it stands among the others.
        let named = if text.contains("login") { 0 } else { text.matches(['o', 'O']).count() };
        for _ in 0..named {
            args.next();
        }
        source = match source {
            Source::Code => Source::Code,
            Source::File | Source::Input if text.contains('c') => Source::Code,
            Source::File | Source::Input if text.contains('s') => Source::Input,
            before @ (Source::File | Source::Input) => before,
        };
    }
    // Either ends the options, whatever runs: `bash - run.sh`.
    args.next_if(|field| matches!(field.text().as_str(), "--" | "-"));
    let rest: Vec<Field> = args.cloned().collect();
    match (source, rest.as_slice()) {
        (Source::Code, [code, names @ ..]) => Inner::Code(code.clone(), names.to_vec(), call.place),
        (Source::Code, []) => Inner::Nothing,
        (Source::File, [file, names @ ..]) => match file.text().as_str() {
            "-" | "/dev/stdin" | "/proc/self/fd/0" => Inner::Stdin(names.to_vec()),
            _ => Inner::Script(file.clone(), names.to_vec()),
        },
        (Source::File | Source::Input, names) => Inner::Stdin(names.to_vec()),
    }
}

/// Where a shell finds its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    File,
    /// `-c`
    Code,
    /// `-s`
    Input,
}

fn env(call: &Call) -> Inner {
    let args = call.args.get(1..).unwrap_or_default();
    if let Some(at) = args.iter().position(|field| matches!(field.text().as_str(), "-S" | "--split-string")) {
        let mut split = args.get(at + 1).cloned().unwrap_or_default();
        split.push_text(&format!(" {}", Field::quoted(args.get(at + 2..).unwrap_or_default())));
        return Inner::Code(split, Vec::new(), call.place);
    }
    let joined = args.iter().position(|field| {
        ["-S", "-vS", "-iS", "--split-string="].iter().any(|option| field.text().starts_with(option))
    });
    if let Some(at) = joined {
        let rest = args.get(at..).unwrap_or_default();
        let first = rest
            .first()
            .map(|field| field.without_prefix(field.text().find(['S', '=']).map_or(0, |at| at + 1)))
            .unwrap_or_default();
        return Inner::Code(
            Field::joined(&[vec![first], rest.get(1..).unwrap_or_default().to_vec()].concat()),
            Vec::new(),
            call.place,
        );
    }
    let (env, rest) = rest_of(args, &["-u", "-C", "--unset", "--chdir"], 0);
    match call.option(&["-C", "--chdir"]) {
        Some(folder) => Inner::In(folder, rest),
        None if rest.is_empty() => Inner::Nothing,
        None => Inner::Call(rest, env, call.place),
    }
}

fn parallel(call: &Call) -> Inner {
    let args = call.args.get(1..).unwrap_or_default();
    let values = ["-j", "--jobs", "-n", "-N", "--joblog", "--tmpdir", "-a", "--arg-file"];
    let (_, rest) = rest_of(args, &values, 0);
    let Some(at) = rest.iter().position(|field| field.text().starts_with(":::")) else { return Inner::Fed(rest) };
    let (command, items) = rest.split_at(at);
    if items.first().is_some_and(|sign| sign.text().starts_with("::::")) {
        // The items stand in files.
        return Inner::Fed(command.to_vec());
    }
    let items = items.get(1..).unwrap_or_default();
    let mut text = Field::joined(command);
    if !text.text().contains("{}") {
        text.push_text(" {}");
    }
    let mut code = Field::default();
    for item in items {
        code.atoms.extend(text.filled("{}", item).atoms);
        code.push_text("\n");
    }
    Inner::Code(code, Vec::new(), call.place)
}

fn ssh(call: &Call) -> Option<Inner> {
    let values = [
        "-p", "-i", "-l", "-o", "-F", "-J", "-L", "-R", "-D", "-b", "-c", "-e", "-m", "-O", "-Q", "-S", "-W", "-w",
        "-E", "-B", "-I",
    ];
    let values: Vec<&str> = values.into_iter().chain((call.name() == "autossh").then_some("-M")).collect();
    let (_, rest) = rest_of(call.args.get(1..)?, &values, 0);
    let command = rest.get(1..)?;
    let command = command.strip_prefix([Field::of("--")].as_slice()).unwrap_or(command);
    Some(match command {
        [] => Inner::Stdin(Vec::new()),
        command => Inner::Code(Field::joined(command), Vec::new(), Place::Remote),
    })
}

/// `docker run|exec`, `docker compose run|exec`: a program in a container.
fn container(call: &Call) -> Option<Inner> {
    let words = command::placed_words(call);
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let verb = match texts.as_slice() {
        ["run" | "exec", ..] => words.first()?.at,
        ["compose" | "container", "run" | "exec", ..] => words.get(1)?.at,
        _ => return None,
    };
    let (mut env, mut rest) = rest_of(call.args.get(verb + 1..)?, CONTAINER_VALUES, 1);
    // What the program in the container is given is no option of the container.
    let options = call.with_args(call.args.get(..call.args.len().saturating_sub(rest.len()))?.to_vec());
    if let Some(program) = options.option(&["--entrypoint"]).filter(|program| !program.text().is_empty()) {
        rest.insert(0, program);
    }
    if rest.is_empty() {
        return None;
    }
    env.extend(options.options(&["-e", "--env"]).iter().filter_map(variable));
    Some(Inner::Contained(rest, env, options))
}

/// A variable that an option sets: `NAME=value`.
fn variable(field: &Field) -> Option<(String, Field)> {
    let text = field.text();
    let (name, _) = text.split_once('=')?;
    Some((name.to_owned(), field.without_prefix(name.len() + 1)))
}

/// `kubectl exec|run|debug … -- PROGRAM`, `oc rsh POD PROGRAM`: a program in a pod, where every file is somebody's.
fn pod(call: &Call) -> Option<Inner> {
    let words = command::placed_words(call);
    let verb = words.first()?;
    let behind = call.args.get(verb.at + 1..)?;
    let dashes = behind.iter().position(|field| field.text() == "--");
    let (env, rest) = match (verb.text.as_str(), dashes) {
        ("exec" | "run" | "debug" | "rsh", Some(at)) => (Vec::new(), behind.get(at + 1..)?.to_vec()),
        ("exec" | "rsh", None) => rest_of(behind, CONTAINER_VALUES, 1),
        _ => return None,
    };
    if rest.is_empty() { None } else { Some(Inner::Call(rest, env, Place::Remote)) }
}
