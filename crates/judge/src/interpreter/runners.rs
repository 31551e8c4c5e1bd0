//! More programs that run others: runners of projects, terminals, clusters of machines, and code in the options of
//! programs that do something else.

use super::wrappers::Inner;
use crate::line::call::{Call, Place, rest_of};
use crate::line::command;
use crate::line::field::Field;
use crate::line::state::State;
use crate::line::stream::Stream;
use tripwire_fs::shell_word::shell_quoted;

/// Verbs of `tmux` behind which a text for a shell stands.
const TMUX: [&str; 10] = [
    "new-session",
    "new",
    "new-window",
    "neww",
    "split-window",
    "splitw",
    "respawn-pane",
    "run-shell",
    "send-keys",
    "send",
];
/// Options of `concurrently` that take a value.
const CONCURRENTLY_VALUES: [&str; 9] =
    ["-n", "--names", "-c", "--prefix-colors", "-p", "--prefix", "-m", "--max-processes", "-l"];
/// Options of `hyperfine` that take a value; those that name a command are hidden code.
const HYPERFINE_VALUES: [&str; 27] = [
    "-w",
    "--warmup",
    "-m",
    "--min-runs",
    "-M",
    "--max-runs",
    "-r",
    "--runs",
    "-s",
    "--setup",
    "-p",
    "--prepare",
    "-c",
    "--cleanup",
    "-C",
    "--conclude",
    "-S",
    "--shell",
    "-u",
    "--time-unit",
    "-n",
    "--command-name",
    "--export-json",
    "--export-markdown",
    "--export-csv",
    "--sort",
    "--style",
];
/// Variables whose value a program runs as a command; git's are its own rule's part.
const COMMAND_VARIABLES: [&str; 3] = ["EDITOR", "VISUAL", "PAGER"];

/// What stands behind this call, if it is a runner.
pub(super) fn unwrap(call: &Call) -> Option<Inner> {
    let name = call.name();
    let args = call.args.get(1..)?;
    let first = args.first()?.text();
    let code = |code: Field, place| Some(Inner::Code(code, Vec::new(), place));
    match name.as_str() {
        "npx" => code(call.option(&["-c", "--call"])?, call.place),
        "npm" if matches!(first.as_str(), "exec" | "x") => code(call.option(&["-c", "--call"])?, call.place),
        "cross-env-shell" => code(Field::joined(&rest_of(args, &[], 0).1), call.place),
        "concurrently" => each_text(call, &CONCURRENTLY_VALUES),
        "hyperfine" => each_text(call, &HYPERFINE_VALUES),
        "nix" if matches!(first.as_str(), "develop" | "shell") => {
            let at = args.iter().position(|field| matches!(field.text().as_str(), "-c" | "--command"))?;
            Some(Inner::Call(args.get(at + 1..)?.to_vec(), Vec::new(), call.place))
        }
        "tmux" => tmux(call),
        "sudo" | "doas" if call.has_short(&['s', 'i']) || call.has_any(&["--shell", "--login"]) => {
            let (_, rest) = rest_of(args, &["-u", "-g", "-h", "-p", "-C", "-D", "-U", "--user", "--group"], 0);
            let text = rest.first().filter(|text| text.text().contains(char::is_whitespace))?.clone();
            code(text, call.place)
        }
        "ansible" => {
            let module =
                call.option(&["-m", "--module-name"]).map_or_else(|| "command".to_owned(), |field| field.text());
            let module = module.rsplit('.').next();
            let given = call.option(&["-a", "--args"]).unwrap_or_default().text();
            if let Some(path) = given.split_whitespace().find_map(|word| word.strip_prefix("path="))
                && module == Some("file")
                && given.contains("state=absent")
            {
                return code(Field::of(&format!("rm -rf {}", shell_quoted(path))), Place::Remote);
            }
            let runs = matches!(module, Some("shell" | "command" | "raw"));
            code(call.option(&["-a", "--args"]).filter(|_| runs)?, Place::Remote)
        }
        "pssh" | "parallel-ssh" | "pdsh" | "dsh" | "clush" => {
            let values = ["-h", "-H", "-l", "-p", "-o", "-e", "-t", "-O", "-w", "-x", "-g", "-m", "-f", "-u"];
            let (_, rest) = rest_of(args, &values, 0);
            (!rest.is_empty()).then(|| Inner::Code(Field::joined(&rest), Vec::new(), Place::Remote))
        }
        "gcloud" | "az" | "aws" | "doctl" | "fly" | "flyctl" | "heroku" | "eb" => cloud_shell(call),
        "lxc" | "incus" | "multipass" | "vagrant" | "limactl" | "colima" | "minikube" | "tsh" | "tailscale" | "adb"
        | "machinectl" | "podman-machine" | "orb" | "distrobox" | "toolbox" | "salt" | "kitchen" | "gh" => {
            machine_shell(call)
        }
        "pnpm" => recursive(call),
        "fd" | "fdfind" => found(call),
        _ => None,
    }
}

/// `fd PATTERN FOLDER…` that runs nothing, as the `find` that lists the same.
pub(super) fn listing(call: &Call) -> Call {
    call.with_args(as_find(call, call.args.get(1..).unwrap_or_default()))
}

/// Clients of clouds that run a command on a machine there: in an option, or behind `--`.
fn cloud_shell(call: &Call) -> Option<Inner> {
    let words = command::words(call);
    let says = |wanted: &[&str]| {
        words.windows(wanted.len()).any(|part| part.iter().zip(wanted).all(|(own, word)| own == word))
    };
    let options: &[&str] = match call.name().as_str() {
        "gcloud" if says(&["ssh"]) => &["--command"],
        "doctl" if says(&["ssh"]) => &["--ssh-command"],
        "fly" | "flyctl" if says(&["ssh", "console"]) => &["-C", "--command"],
        "eb" if says(&["ssh"]) => &["-c", "--command"],
        "az" if says(&["run-command", "invoke"]) || says(&["run-command", "create"]) => &["--scripts", "--script"],
        "az" if says(&["ssh", "vm"]) => &[],
        "az" if says(&["container", "exec"]) => &["--exec-command"],
        "aws" if says(&["ssm", "send-command"]) => &["--parameters"],
        "aws" if says(&["ecs", "execute-command"]) => &["--command"],
        "heroku" if words.first().is_some_and(|word| word == "run" || word == "ps:exec") => &[],
        _ => return None,
    };
    if let Some(code) = call.option(options) {
        let text = code.text();
        // `--parameters 'commands=["rm -rf /srv"]'`
        let inner = text.strip_prefix("commands=").map(|list| list.trim_matches(['[', ']']).trim_matches(['"', '\'']));
        let code = inner.map_or(code, Field::of);
        return Some(Inner::Code(code, Vec::new(), Place::Remote));
    }
    let behind = call.args.iter().position(|field| field.text() == "--").map(|at| at + 1);
    let behind = behind.or_else(|| {
        (call.name() == "heroku")
            .then(|| call.args.iter().position(|field| field.text() == "run").map(|at| at + 1))
            .flatten()
    });
    let command = rest_of(call.args.get(behind?..)?, &["-a", "--app", "-s", "--size"], 0).1;
    (!command.is_empty()).then(|| Inner::Code(Field::joined(&command), Vec::new(), Place::Remote))
}

/// Machines and containers that have a shell of their own: `lxc exec NAME -- COMMAND`, `vagrant ssh -c COMMAND`.
fn machine_shell(call: &Call) -> Option<Inner> {
    let name = call.name();
    let words = command::words(call);
    let verb = words.first().cloned().unwrap_or_default();
    let remote = |command: Vec<Field>| {
        (!command.is_empty()).then(|| Inner::Code(Field::joined(&command), Vec::new(), Place::Remote))
    };
    let code = |options: &[&str]| call.option(options).map(|code| Inner::Code(code, Vec::new(), Place::Remote));
    let behind_dashes = || {
        let at = call.args.iter().position(|field| field.text() == "--")?;
        call.args.get(at + 1..).map(<[Field]>::to_vec)
    };
    // The words behind the verb and the machine's name.
    let behind_name = |skip: usize| {
        let at = call.args.iter().position(|field| field.text() == verb)?;
        Some(rest_of(call.args.get(at + 1..)?, &["-u", "--user", "-n", "--name"], skip).1)
    };
    match (name.as_str(), verb.as_str()) {
        ("vagrant", "ssh") => code(&["-c", "--command"]),
        ("kitchen", "exec") => code(&["-c"]),
        ("gh", "codespace" | "cs") if words.get(1).is_some_and(|word| word == "ssh") => remote(behind_dashes()?),
        ("adb", "shell") | ("minikube" | "colima", "ssh") => remote(behind_dashes().or_else(|| behind_name(0))?),
        ("lxc" | "incus" | "multipass", "exec")
        | ("limactl", "shell")
        | ("tsh" | "tailscale", "ssh")
        | ("machinectl", "shell") => remote(behind_dashes().or_else(|| behind_name(1))?),
        ("distrobox", "enter") | ("toolbox", "run") => remote(behind_dashes().or_else(|| behind_name(0))?),
        ("salt", _) => {
            let at = call.args.iter().position(|field| matches!(field.text().as_str(), "cmd.run" | "cmd.shell"))?;
            remote(call.args.get(at + 1..)?.to_vec())
        }
        _ => None,
    }
}

/// `concurrently "a" "b"`: each text is a command of its own.
fn each_text(call: &Call, values: &[&str]) -> Option<Inner> {
    let mut lines = Field::default();
    let mut args = call.args.iter().skip(1);
    while let Some(field) = args.next() {
        let text = field.text();
        if values.contains(&text.as_str()) {
            args.next();
        } else if !text.starts_with('-') {
            lines.atoms.extend(field.atoms.iter().cloned());
            lines.push_text("\n");
        }
    }
    Some(Inner::Code(lines, Vec::new(), call.place))
}

/// `tmux new-session -d 'code'`, `tmux send-keys 'code' Enter`.
fn tmux(call: &Call) -> Option<Inner> {
    let at = call.args.iter().position(|field| TMUX.contains(&field.text().as_str()))?;
    let values = ["-s", "-n", "-c", "-t", "-x", "-y", "-F", "-e", "-l", "-f"];
    let (_, mut rest) = rest_of(call.args.get(at + 1..)?, &values, 0);
    rest.retain(|field| !matches!(field.text().as_str(), "Enter" | "C-m" | "C-c"));
    (!rest.is_empty()).then(|| Inner::Code(Field::joined(&rest), Vec::new(), call.place))
}

/// `pnpm -r exec`: in every package, which lies in `packages` as a rule.
fn recursive(call: &Call) -> Option<Inner> {
    let at = call.args.iter().position(|field| field.text() == "exec")?;
    let options = call.args.get(1..at)?;
    if options.is_empty() || !options.iter().all(|field| field.text().starts_with('-')) {
        return None;
    }
    let (_, rest) = rest_of(call.args.get(at + 1..)?, &[], 0);
    let everywhere = options.iter().any(|field| matches!(field.text().as_str(), "-r" | "--recursive"));
    let packages = Field::of_pattern("packages/*");
    Some(if everywhere { Inner::In(packages, rest) } else { Inner::Call(rest, Vec::new(), call.place) })
}

/// `fd PATTERN FOLDER… -x COMMAND`, as the `find` that does the same.
fn found(call: &Call) -> Option<Inner> {
    let runs = |field: &Field| matches!(field.text().as_str(), "-x" | "-X" | "--exec" | "--exec-batch");
    let at = call.args.iter().position(runs)?;
    let command = call.args.get(at + 1..)?;
    let mut find = as_find(&call.with_args(call.args.get(..at)?.to_vec()), call.args.get(1..at)?);
    find.push(Field::of("-exec"));
    find.extend(command.iter().filter(|field| field.text() != ";").cloned());
    if !command.iter().any(|field| field.text().contains("{}")) {
        find.push(Field::of("{}"));
    }
    find.push(Field::of(";"));
    Some(Inner::Call(find, Vec::new(), call.place))
}

/// What `fd` looks for, as the words of `find`.
fn as_find(options: &Call, args: &[Field]) -> Vec<Field> {
    let values = ["-e", "--extension", "-t", "--type", "-d", "--max-depth", "-E", "--exclude", "-j", "--threads", "-S"];
    let mut operands = Vec::new();
    let mut args = args.iter();
    while let Some(field) = args.next() {
        if values.contains(&field.text().as_str()) {
            args.next();
        } else if !field.text().starts_with('-') {
            operands.push(field.clone());
        }
    }
    let mut find = vec![Field::of("find")];
    find.extend(operands.iter().skip(1).cloned());
    if options.option(&["-t", "--type"]).is_some_and(|kind| kind.text().starts_with('f')) {
        find.extend([Field::of("-type"), Field::of("f")]);
    }
    if let Some(ending) = options.option(&["-e", "--extension"]) {
        find.extend([Field::of("-name"), Field::of(&format!("*.{}", ending.text()))]);
    }
    let pattern = operands.first().map(Field::text).unwrap_or_default();
    let plain = pattern.trim_start_matches('^').trim_end_matches('$').replace("\\.", ".");
    if plain.chars().any(char::is_alphanumeric) {
        let known = plain.chars().all(|letter| letter.is_alphanumeric() || "._-/".contains(letter));
        let pattern = if known { format!("*{plain}*") } else { "*".to_owned() };
        find.extend([Field::of("-iname"), Field::of(&pattern)]);
    }
    if !options.has_short(&['H', 'u']) && !options.has_any(&["--hidden", "--unrestricted"]) {
        find.extend([Field::of("!"), Field::of("-path"), Field::of("*/.*")]);
    }
    find
}

/// The code that a call carries beside what it does itself.
pub(super) fn hidden_code(state: &State, call: &Call) -> Vec<Field> {
    let mut codes: Vec<Field> = call
        .env
        .iter()
        .filter(|(name, _)| COMMAND_VARIABLES.contains(&name.as_str()))
        .map(|(_, value)| value.clone())
        .collect();
    match call.name().as_str() {
        "tar" | "bsdtar" | "gtar" => {
            let actions = call.options(&["--checkpoint-action"]);
            let run = actions.iter().filter(|action| action.text().starts_with("exec="));
            codes.extend(run.map(|action| action.without_prefix("exec=".len())));
            codes.extend(call.options(&["--to-command", "--use-compress-program", "-I"]));
        }
        "rsync" => codes.extend(call.options(&["-e", "--rsh"])),
        "hyperfine" => {
            codes.extend(call.options(&["-p", "--prepare", "-c", "--cleanup", "-s", "--setup", "-C", "--conclude"]));
        }
        "gdb" => {
            let shell =
                |code: &Field| Some(Field::of(code.text().strip_prefix("shell ").or(code.text().strip_prefix('!'))?));
            codes.extend(call.options(&["-ex", "-iex", "--eval-command"]).iter().filter_map(shell));
        }
        "nodemon" => codes.extend(call.options(&["-x", "--exec"])),
        "vim" | "nvim" | "vi" | "ex" | "view" | "gvim" => codes.extend(editor_commands(call)),
        "sed" | "gsed" => codes.extend(sed_commands(call)),
        "make" | "gmake" => codes.extend(recipes(state, call)),
        _ => {}
    }
    codes
}

/// The recipes of a makefile that stands in the line itself.
fn recipes(state: &State, call: &Call) -> Vec<Field> {
    let Some(file) = call.option(&["-f", "--file", "--makefile"]).and_then(|file| file.known()) else {
        return Vec::new();
    };
    let stream = match file.as_str() {
        "-" | "/dev/stdin" => Some(call.stdin.clone()),
        file => state.absolute(file).and_then(|path| state.files.get(&path).cloned()),
    };
    let Some(Stream::Known(text)) = stream else { return Vec::new() };
    let recipe = |line: &str| line.strip_prefix('\t').map(|line| line.trim_start_matches(['@', '-', '+']).to_owned());
    let shell = |line: String| Field::of(&line.replace("$$", "\u{1}").replace("$(", "${").replace('\u{1}', "$"));
    text.lines().filter_map(recipe).filter(|line| !line.contains("$(")).map(shell).collect()
}

/// What an editor runs: `-c '!code'`, `+'!code'`.
fn editor_commands(call: &Call) -> Vec<Field> {
    let given = call.options(&["-c", "--cmd"]);
    let plus = call.args.iter().filter(|field| field.text().starts_with('+')).map(|field| field.without_prefix(1));
    let command = |field: Field| {
        let text = field.text();
        let rest = text.trim_start_matches([':', ' ']);
        let rest = rest.strip_prefix("silent").map_or(rest, |rest| rest.trim_start_matches(['!', ' ']));
        let shell = rest.strip_prefix('!').or_else(|| rest.strip_prefix("%!")).or_else(|| {
            // Behind `silent!` the mark is gone already.
            text.contains("silent").then(|| text.rsplit('!').next()).flatten()
        })?;
        Some(field.without_prefix(text.len() - shell.len()))
    };
    given.into_iter().chain(plus).filter_map(command).collect()
}

/// What `sed` runs: `1e code`.
fn sed_commands(call: &Call) -> Vec<Field> {
    let mut scripts = call.options(&["-e", "--expression"]);
    if scripts.is_empty() {
        scripts.extend(rest_of(call.args.get(1..).unwrap_or_default(), &["-f", "-l"], 0).1.into_iter().next());
    }
    let mut codes = Vec::new();
    for script in scripts.iter().map(Field::text) {
        for command in script.split([';', '\n']) {
            let command =
                command.trim_start_matches(|letter: char| letter.is_ascii_digit() || " ,$~+!".contains(letter));
            let behind = match command.strip_prefix('/').and_then(|rest| rest.split_once('/')) {
                Some((_, behind)) => behind.trim_start(),
                None => command,
            };
            codes.extend(behind.strip_prefix("e ").map(Field::of));
        }
    }
    codes
}
