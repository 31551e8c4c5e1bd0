//! One call: functions, aliases, the shell's own commands, wrappers; what is left is judged by the rules.

use super::call::Call;
use super::expand::unknown;
use super::field::{Atom, Field, Fill, Origin};
use super::hold::{FloorRule, Hold};
use super::state::plain;
use super::stream::Stream;
use super::walk::Walker;
use super::wrappers::{self, Inner};
use std::path::PathBuf;

impl Walker<'_> {
    /// Judges a call and gives what it writes.
    pub(super) fn invoke(&mut self, call: &Call) -> Stream {
        self.deeper(|walker| walker.invoke_inside(call))
    }

    fn invoke_inside(&mut self, call: &Call) -> Stream {
        let Some(first) = call.args.first() else { return Stream::Closed };
        if let Some(origin) = first.foreign().cloned() {
            self.hold(foreign_code(&origin));
            return Stream::Unknown;
        }
        if first.unknown().is_some() {
            return self.unknown_program(call);
        }
        let word = first.text();
        if !word.contains('/') {
            if let Some(body) = self.state.functions.get(&word).cloned() {
                return self.function(&word, &body, call);
            }
            if let Some(text) = self.state.aliases.remove(&word) {
                let code = format!("{text} {}", as_code(call.args.get(1..).unwrap_or_default()));
                let stream = self.code(&code, &call.stdin, call.place);
                self.state.aliases.insert(word, text);
                return stream;
            }
        } else if let Some(stream) = self.state.absolute(&word).and_then(|path| self.state.files.get(&path).cloned()) {
            return self.run_stream(&stream, call);
        }
        if self.builtin(call) {
            return self.output(call);
        }
        if let Some(inner) = wrappers::unwrap(call) {
            return self.inner(inner, call);
        }
        if self.is_watched() {
            self.note_call(call);
        } else if let Some(hold) = super::rules::judge(self, call) {
            self.hold(hold);
        }
        self.remember(call);
        self.output(call)
    }

    /// A program that cannot be known is judged as if it were `rm`, because that is what it hides at worst.
    fn unknown_program(&mut self, call: &Call) -> Stream {
        if self.is_watched() {
            self.note_call(call);
        } else if call.has_short(&['r', 'R']) {
            let mut args = call.args.clone();
            if let Some(first) = args.first_mut() {
                *first = Field::of("rm");
            }
            if let Some(mut hold) = super::rules::judge(self, &call.with_args(args)) {
                hold.reason = format!("the program cannot be known, and if it is `rm`: {}", hold.reason);
                self.hold(hold);
            }
        }
        Stream::Unknown
    }

    /// What stands behind a wrapper.
    fn inner(&mut self, inner: Inner, call: &Call) -> Stream {
        match inner {
            Inner::Call(args, env, place) => {
                let env = [call.env.clone(), env].concat();
                let inner = Call { args, env, stdin: call.stdin.clone(), place };
                self.away(&inner, |walker| walker.invoke(&inner))
            }
            Inner::Contained(args, env, options) => self.contained(args, env, &options),
            Inner::In(folder, args) => {
                let before = self.state.clone();
                self.enter_folder(&folder);
                let stream = self.invoke(&call.with_args(args));
                self.state.cwds = before.cwds;
                self.state.fallback = before.fallback;
                stream
            }
            Inner::Code(code, positional, place) => {
                if let Some(origin) = code.foreign() {
                    self.hold(foreign_code(origin));
                    return Stream::Unknown;
                }
                let text = as_text(&code);
                let outer = std::mem::replace(&mut self.state.positional, positional);
                let inner = Call { place, ..call.clone() };
                let stream = self.away(&inner, |walker| {
                    let before = walker.state.clone();
                    let stream = walker.code(&text, &inner.stdin, place);
                    let keeps = matches!(inner.name().as_str(), "eval" | "trap");
                    if !keeps {
                        let inside = std::mem::replace(&mut walker.state, before);
                        walker.state.files.extend(inside.files);
                    }
                    stream
                });
                self.state.positional = outer;
                stream
            }
            Inner::Script(file) => {
                let stream = file
                    .known()
                    .and_then(|name| self.state.absolute(&name))
                    .and_then(|path| self.state.files.get(&path).cloned());
                stream.map_or(Stream::Unknown, |stream| self.run_stream(&stream, call))
            }
            Inner::Stdin => self.run_stream(&call.stdin.clone(), call),
            Inner::Fed(args) => self.feed(args, call),
            Inner::Nothing => Stream::Unknown,
        }
    }

    /// On another machine neither the folder nor the home can be known.
    fn away(&mut self, call: &Call, run: impl FnOnce(&mut Self) -> Stream) -> Stream {
        use super::call::Place;
        match call.place {
            // Who works in a mounted folder was brought there before.
            Place::Here | Place::Mounted => run(self),
            Place::Remote | Place::Container => {
                let cwds = std::mem::take(&mut self.state.cwds);
                let home = self.state.variables.remove("HOME");
                let stream = run(self);
                self.state.variables.extend(home.map(|home| ("HOME".to_owned(), home)));
                self.state.cwds = cwds;
                stream
            }
        }
    }

    /// A shell that reads its code from a stream.
    fn run_stream(&mut self, stream: &Stream, call: &Call) -> Stream {
        match stream {
            Stream::Known(text) => {
                let outer = std::mem::replace(&mut self.state.positional, call.args.iter().skip(1).cloned().collect());
                let before = self.state.clone();
                let out = self.code(text, &Stream::Closed, call.place);
                self.state = before;
                self.state.positional = outer;
                out
            }
            Stream::Downloaded => {
                self.hold(foreign_code(&Origin::Downloaded));
                Stream::Unknown
            }
            Stream::Decoded => {
                self.hold(foreign_code(&Origin::Decoded));
                Stream::Unknown
            }
            Stream::Closed | Stream::Paths(_) | Stream::Changes(_) | Stream::Unknown => Stream::Unknown,
        }
    }

    /// `xargs`: the words of the input become arguments.
    fn feed(&mut self, args: Vec<Field>, call: &Call) -> Stream {
        let file = call.option(&["-a", "--arg-file"]).filter(|_| call.name() == "xargs");
        let named = file.map(|file| match file.known().and_then(|name| self.state.absolute(&name)) {
            Some(path) => self.contents(&path),
            None => Stream::Unknown,
        });
        let items: Vec<Field> = match named.as_ref().unwrap_or(&call.stdin) {
            Stream::Known(text) => text
                .split(|letter: char| letter.is_whitespace() || letter == '\0')
                .filter(|part| !part.is_empty())
                .map(Field::of)
                .collect(),
            Stream::Paths(paths) => paths
                .0
                .iter()
                .map(|path| {
                    let mut field = Field::default();
                    field.push_pattern(path);
                    field
                })
                .collect(),
            Stream::Closed => Vec::new(),
            Stream::Downloaded => vec![unknown(Origin::Downloaded)],
            Stream::Decoded | Stream::Changes(_) | Stream::Unknown => vec![unknown(Origin::Output)],
        };
        if items.is_empty() {
            return Stream::Closed;
        }
        let holder = call.option(&["-I", "--replace", "-i"]).map(|field| field.text()).filter(|text| !text.is_empty());
        let holder = holder.unwrap_or_else(|| "{}".to_owned());
        let placed = args.iter().any(|field| field.text().contains(&holder));
        let calls: Vec<Vec<Field>> = if placed {
            items.iter().take(64).map(|item| args.iter().map(|field| fill(field, &holder, item)).collect()).collect()
        } else {
            vec![[args, items].concat()]
        };
        // What a listing names was named by nobody: its `rm` is judged like a search's `-delete`.
        let listed = matches!(named.as_ref().unwrap_or(&call.stdin), Stream::Paths(_));
        let calls = calls.into_iter().map(|mut args: Vec<Field>| {
            if listed && args.first().is_some_and(|program| program.text() == "rm") {
                args.insert(1, Field::of("-r"));
            }
            args
        });
        for args in calls {
            let inner = Call { stdin: Stream::Closed, ..call.with_args(args) };
            let _written = self.invoke(&inner);
        }
        Stream::Unknown
    }

    /// Remembers what later commands of the line may build on.
    fn remember(&mut self, call: &Call) {
        match call.name().as_str() {
            "mkdir" | "touch" => {
                let names: Vec<String> = call.operands().iter().filter_map(|field| field.known()).collect();
                let paths: Vec<PathBuf> = names.iter().filter_map(|name| self.state.absolute(name)).collect();
                self.state.made.extend(paths);
            }
            "tee" => {
                let names: Vec<String> = call.operands().iter().filter_map(|field| field.known()).collect();
                let paths: Vec<PathBuf> = names.iter().filter_map(|name| self.state.absolute(name)).collect();
                for path in paths {
                    self.state.files.insert(path, call.stdin.clone());
                }
            }
            name @ ("curl" | "wget") => {
                let named =
                    call.option(if name == "curl" { &["-o", "--output"] } else { &["-O", "--output-document"] });
                let url = call.operands().into_iter().find_map(|field| field.known().filter(|text| text.contains('/')));
                let last = url.and_then(|url| url.rsplit('/').next().map(str::to_owned));
                let remote = name == "wget" || call.has_short(&['O']) || call.has_any(&["--remote-name"]);
                let file = named.and_then(|field| field.known()).or_else(|| last.filter(|_| remote));
                if let Some(path) = file.filter(|name| name != "-").and_then(|name| self.state.absolute(&name)) {
                    self.state.files.insert(path, Stream::Downloaded);
                }
            }
            "cp" | "mv" => {
                let names: Vec<PathBuf> =
                    call.operands().iter().filter_map(|field| self.state.absolute(&field.known()?)).collect();
                if let [from, to] = names.as_slice()
                    && let Some(stream) = self.state.files.get(from).cloned()
                {
                    self.state.files.insert(to.clone(), stream);
                }
            }
            _ => {}
        }
    }

    /// The shell's own commands; true if it was one.
    fn builtin(&mut self, call: &Call) -> bool {
        match call.name().as_str() {
            "cd" | "chdir" => self.change_folder(call),
            "pushd" => {
                self.state.stack.push(self.state.cwds.clone());
                self.change_folder(call);
            }
            "popd" => self.state.cwds = self.state.stack.pop().unwrap_or_default(),
            "export" | "declare" | "local" | "readonly" | "typeset" => {
                for field in call.args.iter().skip(1) {
                    let text = field.text();
                    if let Some((name, _)) = text.split_once('=').filter(|(name, _)| !name.starts_with('-')) {
                        self.state.variables.insert(name.to_owned(), field.without_prefix(name.len() + 1));
                    }
                }
            }
            "unset" => {
                for name in call.operands().iter().map(|field| field.text()) {
                    self.state.functions.remove(&name);
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
        self.enter_folder(&target);
    }

    /// Goes to a folder. One that is not there may stay where it was: the commands behind are judged in both.
    fn enter_folder(&mut self, target: &Field) {
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
}

/// Code that nobody can read before it runs.
fn foreign_code(origin: &Origin) -> Hold {
    let reason = match origin {
        Origin::Downloaded => "code from the network would be run without anybody reading it",
        Origin::Decoded | Origin::Output | Origin::Variable(_) => {
            "code would be run that was encoded or transformed, so that nobody can read it before"
        }
    };
    Hold::plain(FloorRule::PipeToShell, reason)
}

/// A field as code: what is unknown stays a variable that is unknown.
pub(super) fn as_text(field: &Field) -> String {
    let part = |atom: &Atom| match atom {
        Atom::Text(text) | Atom::Glob(text) => text.clone(),
        Atom::Unknown(Origin::Variable(name), Fill::Demanded) => format!("${{{name}:?}}"),
        Atom::Unknown(Origin::Variable(name), Fill::MaybeEmpty) => format!("${{{name}}}"),
        Atom::Unknown(Origin::Downloaded | Origin::Decoded | Origin::Output, _) => "${unknown_output}".to_owned(),
    };
    field.atoms.iter().map(part).collect()
}

/// Arguments as code that would give the same arguments.
pub(super) fn as_code(fields: &[Field]) -> String {
    let one = |field: &Field| {
        let part = |atom: &Atom| match atom {
            Atom::Text(text) => format!("'{}'", text.replace('\'', r"'\''")),
            Atom::Glob(glob) => glob.clone(),
            Atom::Unknown(..) => format!("\"{}\"", as_text(&Field { atoms: vec![atom.clone()] })),
        };
        field.atoms.iter().map(part).collect::<String>()
    };
    fields.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// Puts an item in the place of its holder.
pub(super) fn fill(field: &Field, holder: &str, item: &Field) -> Field {
    let mut out = Field::default();
    for atom in &field.atoms {
        match atom {
            Atom::Text(text) => {
                for (number, part) in text.split(holder).enumerate() {
                    if number > 0 {
                        out.atoms.extend(item.atoms.iter().cloned());
                    }
                    if !part.is_empty() {
                        out.push_text(part);
                    }
                }
            }
            Atom::Glob(_) | Atom::Unknown(..) => out.atoms.push(atom.clone()),
        }
    }
    out
}
