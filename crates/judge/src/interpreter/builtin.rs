//! The shell's own commands: folders, variables, functions, aliases, traps, input.

use super::arithmetic;
use super::output::printf;
use crate::hold::Hold;
use crate::line::call::{Call, rest_of};
use crate::line::field::{Field, Origin, StandIn};
use crate::line::state::{State, Trap, plain};
use crate::line::stream::Stream;
use crate::world::World;

/// What came of a command that may be the shell's own.
pub(super) enum BuiltinOutcome {
    /// It is another program.
    NotBuiltin,
    Done,
    Held(Box<Hold>),
}

/// Runs one of the shell's own commands; `source` is its text.
pub(super) fn run(world: &World, state: &mut State, call: &Call, source: &str) -> BuiltinOutcome {
    match call.name().as_str() {
        "cd" | "chdir" => change_folder(world, state, call),
        "pushd" => {
            state.stack.push(state.cwds.clone());
            change_folder(world, state, call);
        }
        "popd" => state.cwds = state.stack.pop().unwrap_or_default(),
        "export" | "declare" | "local" | "readonly" | "typeset" => declare(state, call),
        "trap" => return set_trap(state, call, source),
        "unset" => {
            for name in call.operands().iter().map(|field| field.text()) {
                state.functions.remove(&name);
                state.exported.remove(&name);
                state.variables.insert(name, Field::of(""));
            }
        }
        "alias" => {
            for field in call.operands() {
                let text = Field::to_code(field);
                if let Some((name, value)) = text.split_once('=') {
                    state.aliases.insert(name.to_owned(), value.to_owned());
                }
            }
        }
        "unalias" => {
            for name in call.operands() {
                state.aliases.remove(&name.text());
            }
        }
        "set" => {
            if let Some(at) = call.args.iter().position(|field| field.text() == "--") {
                state.positional = call.args.get(at + 1..).unwrap_or_default().to_vec();
            }
        }
        "shift" => {
            if !state.positional.is_empty() {
                state.positional.remove(0);
            }
        }
        "read" | "mapfile" | "readarray" => read(state, call),
        "shopt" if call.has_short(&['s']) && call.words().iter().any(|word| word == "globstar") => {
            world.note_star_star();
        }
        "let" => call.operands().iter().for_each(|field| forget_counted(state, &field.text())),
        "printf" if call.args.get(1).is_some_and(|option| option.text() == "-v") => {
            let Some(name) = call.args.get(2).map(Field::text) else { return BuiltinOutcome::Done };
            let rest = [call.args.get(..1).unwrap_or_default(), call.args.get(3..).unwrap_or_default()].concat();
            let value = match printf(&call.with_args(rest)) {
                Stream::Known(text) => Field::of(&text),
                Stream::Closed
                | Stream::Name(_)
                | Stream::Paths(_)
                | Stream::Changes(_)
                | Stream::Downloaded
                | Stream::Decoded
                | Stream::Unknown => Field::from_unknown(Origin::Variable(name.clone())),
            };
            state.variables.insert(name, value);
        }
        _ => return BuiltinOutcome::NotBuiltin,
    }
    BuiltinOutcome::Done
}

/// Variables that an arithmetic expression sets are numbers that nobody knows afterwards.
pub(super) fn forget_counted(state: &mut State, expression: &str) {
    for name in arithmetic::assigned(expression) {
        state.variables.insert(name, Field::from_stand_in(StandIn::Number));
    }
}

/// `read a b`: the words of a line, the last name with all that is left; `read -a x` and `mapfile x` as an array.
fn read(state: &mut State, call: &Call) {
    let options: &[&str] = match call.name().as_str() {
        "read" => &["-a", "-d", "-i", "-n", "-N", "-p", "-t", "-u"],
        _ => &["-d", "-n", "-O", "-s", "-u", "-c", "-C"],
    };
    let array = call.option(&["-a"]).map(|field| field.text());
    let (_, names) = rest_of(call.args.get(1..).unwrap_or_default(), options, 0);
    let mut names: Vec<String> = names.iter().map(Field::text).collect();
    if let Stream::Paths(paths) = &call.stdin
        && !paths.0.is_empty()
    {
        let mut values = paths.0.iter().map(|path| Field::of_listed(path));
        match (call.name().as_str(), array) {
            ("read", None) => {
                let value = values.next().unwrap_or_default();
                names.truncate(1);
                let name = names.pop().unwrap_or_else(|| "REPLY".to_owned());
                state.variables.insert(name, value);
            }
            (_, array) => {
                let name = array.or_else(|| names.pop()).unwrap_or_else(|| "MAPFILE".to_owned());
                state.arrays.insert(name, values.collect());
            }
        }
        return;
    }
    let Stream::Known(text) = &call.stdin else {
        for name in names.into_iter().chain(array) {
            if let Stream::Name(kind) = call.stdin {
                state.variables.insert(name, Field::from_stand_in(kind));
                continue;
            }
            let origin = match call.stdin {
                Stream::Downloaded => Origin::Downloaded,
                Stream::Decoded => Origin::Decoded,
                Stream::Closed
                | Stream::Known(_)
                | Stream::Name(_)
                | Stream::Paths(_)
                | Stream::Changes(_)
                | Stream::Unknown => Origin::Variable(name.clone()),
            };
            state.arrays.remove(&name);
            state.variables.insert(name, Field::from_unknown(origin));
        }
        return;
    };
    let separators = call.variable("IFS").unwrap_or_else(|| state.separators());
    let at = |letter: char| separators.contains(letter);
    let whole = call.option(&["-d"]).is_some();
    let line = if whole { text.as_str() } else { text.lines().next().unwrap_or_default() };
    if call.name() != "read" {
        let name = names.pop().unwrap_or_else(|| "MAPFILE".to_owned());
        state.arrays.insert(name, text.lines().map(Field::of).collect());
    } else if let Some(array) = array {
        let words = line.split(at).filter(|word| !word.is_empty()).map(Field::of).collect();
        state.arrays.insert(array, words);
    } else {
        if names.is_empty() {
            names.push("REPLY".to_owned());
        }
        let count = names.len();
        let mut words = line.trim_matches(at).splitn(count, at);
        for name in names {
            let value = words.next().map(|word| word.trim_start_matches(at)).unwrap_or_default();
            state.variables.insert(name, Field::of(value));
        }
    }
}

fn change_folder(world: &World, state: &mut State, call: &Call) {
    let home = state.variable("HOME");
    let target = call.operands().first().map_or(home, |field| (*field).clone());
    let target = if target.text() == "-" && target.unknown().is_none() { state.variable("OLDPWD") } else { target };
    let target = on_search_path(state, call, &target).unwrap_or(target);
    enter_folder(world, state, &target);
}

/// The folder that `CDPATH` leads to, where the line sets it.
fn on_search_path(state: &State, call: &Call, target: &Field) -> Option<Field> {
    let folders = call.variable("CDPATH").or_else(|| state.variables.get("CDPATH")?.known())?;
    let name = target.known().filter(|name| !name.starts_with(['/', '.']))?;
    let mut found = folders.split(':').filter(|folder| !folder.is_empty());
    found.find_map(|folder| {
        let path = state.absolute(folder)?.join(&name);
        path.is_dir().then(|| Field::of_path(&path))
    })
}

/// Goes to a folder. One that is not there may stay where it was: the commands behind are judged in both.
pub(super) fn enter_folder(world: &World, state: &mut State, target: &Field) {
    if let Some(old) = state.cwd() {
        let old = Field::of_path(old);
        state.variables.insert("OLDPWD".to_owned(), old);
    }
    let Some(name) = target.known() else { return state.cwds.clear() };
    let mut next = Vec::new();
    for cwd in &state.cwds {
        match world.glob_names(target, Some(cwd)).filter(|names| !names.is_empty()) {
            Some(names) => next.extend(names.iter().map(|name| plain(std::path::Path::new(name)))),
            None => next.push(plain(&cwd.join(&name))),
        }
    }
    if name.starts_with('/') && next.is_empty() {
        next = vec![plain(std::path::Path::new(&name))];
    }
    next.dedup();
    let sure = next.iter().all(|path| path.is_dir() || state.made.contains(path));
    state.fallback = if sure { Vec::new() } else { state.cwds.clone() };
    state.cwds = next;
}

/// `export`, `declare` and their like: values, references to other variables, functions for other shells.
fn declare(state: &mut State, call: &Call) {
    let options: Vec<String> = call.words().into_iter().take_while(|word| word.starts_with('-')).collect();
    let says = |letter: char| options.iter().any(|word| !word.starts_with("--") && word.contains(letter));
    if says('f') && (call.name() == "export" || says('x')) {
        state.exported.extend(call.operands().iter().map(|field| field.text()));
        return;
    }
    for field in call.args.iter().skip(1) {
        let text = field.text();
        let Some((name, target)) = text.split_once('=').filter(|(name, _)| !name.starts_with('-')) else {
            continue;
        };
        if says('n') && field.unknown().is_none() {
            if let Some(elements) = state.arrays.get(target).cloned() {
                state.arrays.insert(name.to_owned(), elements);
            }
            state.references.insert(name.to_owned(), target.to_owned());
            continue;
        }
        state.references.remove(name);
        state.variables.insert(name.to_owned(), field.without_prefix(name.len() + 1));
    }
}

/// `trap`: the code runs when the shell ends, with what it knows then.
fn set_trap(state: &mut State, call: &Call, source: &str) -> BuiltinOutcome {
    let operands = call.operands();
    let Some(code) = operands.first().filter(|code| operands.len() > 1 && code.text() != "-") else {
        return BuiltinOutcome::Done;
    };
    if let Some(origin) = code.foreign() {
        return BuiltinOutcome::Held(Box::new(Hold::of_foreign_code(origin)));
    }
    let trap = Trap { code: Field::to_code(code), source: source.to_owned(), place: call.place };
    state.traps.push(trap);
    BuiltinOutcome::Done
}
