//! One call: functions, aliases, the shell's own commands, wrappers; what is left is judged by the rules.

use super::call::Call;
use super::expand::unknown;
use super::field::{Atom, Field, Fill, Origin};
use super::hold::{FloorRule, Hold};
use super::stream::Stream;
use super::walk::Walker;
use super::wrappers::{self, Inner};

/// Who looks a command's name up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lookup {
    /// The shell: functions and aliases first.
    Shell,
    /// Another program, which knows neither.
    Program,
}

/// Programs that a variable may stand before: if it is empty, they run.
const BEHIND_EMPTY: [&str; 12] =
    ["rm", "git", "find", "dd", "chmod", "chown", "shred", "mv", "sudo", "env", "bash", "sh"];

impl Walker<'_> {
    /// Judges a call and gives what it writes.
    pub(super) fn invoke(&mut self, call: &Call) -> Stream {
        self.deeper(|walker| walker.invoke_inside(call, Lookup::Shell))
    }

    /// The same for a call that no shell makes: `command`, `env`, `sudo`, `xargs`, `find -exec`.
    pub(super) fn invoke_program(&mut self, call: &Call) -> Stream {
        self.deeper(|walker| walker.invoke_inside(call, Lookup::Program))
    }

    fn invoke_inside(&mut self, call: &Call, lookup: Lookup) -> Stream {
        let Some(first) = call.args.first() else { return Stream::Closed };
        if let Some(origin) = first.foreign().cloned() {
            self.hold(foreign_code(&origin));
            return Stream::Unknown;
        }
        if first.unknown().is_some() {
            return self.unknown_program(call);
        }
        if let Some(names) = self.world.glob_names(first, self.state.cwd()).filter(|names| !names.is_empty()) {
            let names = names.iter().map(|name| Field::of(name));
            let args = names.chain(call.args.iter().skip(1).cloned()).collect();
            return self.invoke_program(&call.with_args(args));
        }
        let word = first.text();
        if !word.contains('/') && lookup == Lookup::Shell {
            if let Some(body) = self.state.functions.get(&word).cloned() {
                let stream = self.function(&word, &body, call);
                if !self.state.doubtful.contains(&word) {
                    return stream;
                }
            }
            self.invoke_alias(&word, call);
        } else if let Some(stream) = self.state.absolute(&word).and_then(|path| self.state.files.get(&path).cloned())
            && word.contains('/')
        {
            return self.run_stream(&stream, call);
        }
        let written_out = super::abbreviations::written_out(call);
        let call = written_out.as_ref().unwrap_or(call);
        if !self.is_watched() {
            self.notes.command(call);
        }
        if self.builtin(call) {
            return self.output(call);
        }
        self.run_hidden_code(call);
        if let Some(inner) = super::runners::unwrap(call).or_else(|| wrappers::unwrap(call)) {
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

    /// An alias counts in some shells only, and not on the line that sets it: what it stands for is judged beside the
    /// program of its name.
    fn invoke_alias(&mut self, word: &str, call: &Call) {
        let Some(text) = self.state.aliases.remove(word) else { return };
        let before = self.state.clone();
        let code = format!("{text} {}", as_code(call.args.get(1..).unwrap_or_default()));
        let _written = self.code(&code, &call.stdin, call.place);
        self.state.merge(&before);
        self.state.aliases.insert(word.to_owned(), text);
    }

    /// A program that cannot be known is judged as if it were `rm`, because that is what it hides at worst.
    fn unknown_program(&mut self, call: &Call) -> Stream {
        if self.is_watched() {
            self.note_call(call);
            return Stream::Unknown;
        }
        super::rules::note_unknown_push(self, call);
        let nothing_known = call.args.first().is_some_and(|first| first.text().is_empty());
        let behind = call.args.get(1..).unwrap_or_default();
        if nothing_known && behind.first().is_some_and(|name| BEHIND_EMPTY.contains(&name.text().as_str())) {
            let _written = self.invoke_program(&call.with_args(behind.to_vec()));
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
                // `time` is a word of the shell; every other wrapper looks for a program.
                let in_shell = call.name() == "time";
                self.away(&inner, |walker| if in_shell { walker.invoke(&inner) } else { walker.invoke_program(&inner) })
            }
            Inner::Contained(args, env, options) => self.contained(args, env, &options),
            Inner::In(folder, args) => {
                let before = self.state.clone();
                self.enter_folder(&folder);
                let stream = self.invoke_program(&call.with_args(args));
                self.state.cwds = before.cwds;
                self.state.fallback = before.fallback;
                stream
            }
            Inner::Code(code, names, place) => {
                if let Some(origin) = code.foreign() {
                    self.hold(foreign_code(origin));
                    return Stream::Unknown;
                }
                let text = as_text(&code);
                let inner = Call { place, ..call.clone() };
                self.away(&inner, |walker| {
                    if call.name() == "eval" {
                        return walker.code(&text, &inner.stdin, place);
                    }
                    walker.own_shell(|walker| {
                        walker.state.leave_shell();
                        walker.state.variables.extend(inner.env.clone());
                        walker.state.variables.extend(names.first().map(|name| ("0".to_owned(), name.clone())));
                        walker.state.positional = names.get(1..).unwrap_or_default().to_vec();
                        walker.code(&text, &inner.stdin, place)
                    })
                })
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
                let sourced = matches!(call.name().as_str(), "." | "source");
                self.own_shell(|walker| {
                    if !sourced {
                        walker.state.leave_shell();
                    }
                    walker.state.positional = call.args.iter().skip(1).cloned().collect();
                    walker.code(text, &Stream::Closed, call.place)
                })
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
            // Without any input it runs its command once, unless it is told not to.
            let own = call.args.len().saturating_sub(args.len());
            let own = call.with_args(call.args.get(..own).unwrap_or_default().to_vec());
            let waits = own.has_short(&['r']) || own.has_any(&["--no-run-if-empty"]);
            let runs = call.name() == "xargs" && !args.is_empty() && !waits;
            let inner = Call { stdin: Stream::Closed, ..call.with_args(args) };
            return if runs { self.invoke_program(&inner) } else { Stream::Closed };
        }
        let holder = call.option(&["-I", "--replace", "-i"]).map(|field| field.text()).filter(|text| !text.is_empty());
        let holder = holder.unwrap_or_else(|| "{}".to_owned());
        if let [code] = args.as_slice()
            && call.name() == "parallel"
            && code.text().contains(char::is_whitespace)
        {
            return self.feed_code(code, &items, call);
        }
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
            let _written = self.invoke_program(&inner);
        }
        Stream::Unknown
    }

    /// `parallel 'code {}'`: a text for a shell, once for each item.
    fn feed_code(&mut self, code: &Field, items: &[Field], call: &Call) -> Stream {
        for item in items.iter().take(64) {
            let item = Field::of(&as_code(std::slice::from_ref(item)));
            let text = as_text(&fill(code, "{}", &item));
            let _written = self.own_shell(|walker| walker.code(&text, &Stream::Closed, call.place));
        }
        Stream::Unknown
    }
}

/// Code that nobody can read before it runs.
pub(super) fn foreign_code(origin: &Origin) -> Hold {
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
