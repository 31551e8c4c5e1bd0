//! The shell's own commands: folders, variables, functions, aliases, traps, input.

use super::call::Call;
use super::expand::unknown;
use super::field::{Field, Origin};
use super::invoke::as_text;
use super::state::{Trap, plain};
use super::stream::Stream;
use super::walk::Walker;
use super::wrappers;

impl Walker<'_> {
    /// The shell's own commands; true if it was one.
    pub(super) fn builtin(&mut self, call: &Call) -> bool {
        match call.name().as_str() {
            "cd" | "chdir" => self.change_folder(call),
            "pushd" => {
                self.state.stack.push(self.state.cwds.clone());
                self.change_folder(call);
            }
            "popd" => self.state.cwds = self.state.stack.pop().unwrap_or_default(),
            "export" | "declare" | "local" | "readonly" | "typeset" => self.declare(call),
            "trap" => self.set_trap(call),
            "unset" => {
                for name in call.operands().iter().map(|field| field.text()) {
                    self.state.functions.remove(&name);
                    self.state.exported.remove(&name);
                    self.state.variables.insert(name, Field::of(""));
                }
            }
            "alias" => {
                for field in call.operands() {
                    let text = as_text(field);
                    if let Some((name, value)) = text.split_once('=') {
                        self.state.aliases.insert(name.to_owned(), value.to_owned());
                    }
                }
            }
            "unalias" => {
                for name in call.operands() {
                    self.state.aliases.remove(&name.text());
                }
            }
            "set" => {
                if let Some(at) = call.args.iter().position(|field| field.text() == "--") {
                    self.state.positional = call.args.get(at + 1..).unwrap_or_default().to_vec();
                }
            }
            "shift" => {
                if !self.state.positional.is_empty() {
                    self.state.positional.remove(0);
                }
            }
            "read" | "mapfile" | "readarray" => self.read(call),
            "printf" if call.args.get(1).is_some_and(|option| option.text() == "-v") => {
                let Some(name) = call.args.get(2).map(Field::text) else { return true };
                let rest = [call.args.get(..1).unwrap_or_default(), call.args.get(3..).unwrap_or_default()].concat();
                let value = match super::stream::printf(&call.with_args(rest)) {
                    Stream::Known(text) => Field::of(&text),
                    Stream::Closed
                    | Stream::Paths(_)
                    | Stream::Changes(_)
                    | Stream::Downloaded
                    | Stream::Decoded
                    | Stream::Unknown => unknown(Origin::Variable(name.clone())),
                };
                self.state.variables.insert(name, value);
            }
            _ => return false,
        }
        true
    }

    /// `read a b`: the words of a line, the last name with all that is left; `read -a x` and `mapfile x` as an array.
    fn read(&mut self, call: &Call) {
        let options: &[&str] = match call.name().as_str() {
            "read" => &["-a", "-d", "-i", "-n", "-N", "-p", "-t", "-u"],
            _ => &["-d", "-n", "-O", "-s", "-u", "-c", "-C"],
        };
        let array = call.option(&["-a"]).map(|field| field.text());
        let (_, names) = wrappers::rest_of(call.args.get(1..).unwrap_or_default(), options, 0);
        let mut names: Vec<String> = names.iter().map(Field::text).collect();
        let Stream::Known(text) = &call.stdin else {
            for name in names.into_iter().chain(array) {
                let origin = match call.stdin {
                    Stream::Downloaded => Origin::Downloaded,
                    Stream::Decoded => Origin::Decoded,
                    Stream::Closed | Stream::Known(_) | Stream::Paths(_) | Stream::Changes(_) | Stream::Unknown => {
                        Origin::Variable(name.clone())
                    }
                };
                self.state.arrays.remove(&name);
                self.state.variables.insert(name, unknown(origin));
            }
            return;
        };
        let separators = call.variable("IFS").unwrap_or_else(|| self.state.separators());
        let at = |letter: char| separators.contains(letter);
        let whole = call.option(&["-d"]).is_some();
        let line = if whole { text.as_str() } else { text.lines().next().unwrap_or_default() };
        if call.name() != "read" {
            let name = names.pop().unwrap_or_else(|| "MAPFILE".to_owned());
            self.state.arrays.insert(name, text.lines().map(Field::of).collect());
        } else if let Some(array) = array {
            let words = line.split(at).filter(|word| !word.is_empty()).map(Field::of).collect();
            self.state.arrays.insert(array, words);
        } else {
            if names.is_empty() {
                names.push("REPLY".to_owned());
            }
            let count = names.len();
            let mut words = line.trim_matches(at).splitn(count, at);
            for name in names {
                let value = words.next().map(|word| word.trim_start_matches(at)).unwrap_or_default();
                self.state.variables.insert(name, Field::of(value));
            }
        }
    }

    fn change_folder(&mut self, call: &Call) {
        let home = self.state.variable("HOME");
        let target = call.operands().first().map_or(home, |field| (*field).clone());
        let target =
            if target.text() == "-" && target.unknown().is_none() { self.state.variable("OLDPWD") } else { target };
        let target = self.on_search_path(call, &target).unwrap_or(target);
        self.enter_folder(&target);
    }

    /// The folder that `CDPATH` leads to, where the line sets it.
    fn on_search_path(&self, call: &Call, target: &Field) -> Option<Field> {
        let folders = call.variable("CDPATH").or_else(|| self.state.variables.get("CDPATH")?.known())?;
        let name = target.known().filter(|name| !name.starts_with(['/', '.']))?;
        let mut found = folders.split(':').filter(|folder| !folder.is_empty());
        found.find_map(|folder| {
            let path = self.state.absolute(folder)?.join(&name);
            path.is_dir().then(|| super::state::path_field(&path))
        })
    }

    /// Goes to a folder. One that is not there may stay where it was: the commands behind are judged in both.
    pub(super) fn enter_folder(&mut self, target: &Field) {
        if let Some(old) = self.state.cwd() {
            let old = super::state::path_field(old);
            self.state.variables.insert("OLDPWD".to_owned(), old);
        }
        let Some(name) = target.known() else { return self.state.cwds.clear() };
        let mut next = Vec::new();
        for cwd in &self.state.cwds {
            match self.world.glob_names(target, Some(cwd)).filter(|names| !names.is_empty()) {
                Some(names) => next.extend(names.iter().map(|name| plain(std::path::Path::new(name)))),
                None => next.push(plain(&cwd.join(&name))),
            }
        }
        if name.starts_with('/') && next.is_empty() {
            next = vec![plain(std::path::Path::new(&name))];
        }
        next.dedup();
        let sure = next.iter().all(|path| path.is_dir() || self.state.made.contains(path));
        self.state.fallback = if sure { Vec::new() } else { self.state.cwds.clone() };
        self.state.cwds = next;
    }

    /// `export`, `declare` and their like: values, references to other variables, functions for other shells.
    fn declare(&mut self, call: &Call) {
        let options: Vec<String> = call.words().into_iter().take_while(|word| word.starts_with('-')).collect();
        let says = |letter: char| options.iter().any(|word| !word.starts_with("--") && word.contains(letter));
        if says('f') && (call.name() == "export" || says('x')) {
            self.state.exported.extend(call.operands().iter().map(|field| field.text()));
            return;
        }
        for field in call.args.iter().skip(1) {
            let text = field.text();
            let Some((name, target)) = text.split_once('=').filter(|(name, _)| !name.starts_with('-')) else {
                continue;
            };
            if says('n') && field.unknown().is_none() {
                if let Some(elements) = self.state.arrays.get(target).cloned() {
                    self.state.arrays.insert(name.to_owned(), elements);
                }
                self.state.references.insert(name.to_owned(), target.to_owned());
                continue;
            }
            self.state.references.remove(name);
            self.state.variables.insert(name.to_owned(), field.without_prefix(name.len() + 1));
        }
    }

    /// `trap`: the code runs when the shell ends, with what it knows then.
    fn set_trap(&mut self, call: &Call) {
        let operands = call.operands();
        let Some(code) = operands.first().filter(|code| operands.len() > 1 && code.text() != "-") else { return };
        if let Some(origin) = code.foreign() {
            self.hold(super::invoke::foreign_code(origin));
            return;
        }
        let trap = Trap { code: as_text(code), source: self.source.clone(), place: call.place };
        self.state.traps.push(trap);
    }
}
