//! Compounds: shells of their own, branches, loops, and what is known behind them.

use super::call::Place;
use super::field::Field;
use super::stream::Stream;
use super::walk::Walker;
use tripwire_shell::{Compound, Script};

/// Most values of a loop that are tried one by one.
const LOOP_MAX: usize = 64;

impl Walker<'_> {
    pub(super) fn compound(&mut self, compound: &Compound, stdin: &Stream, place: Place) -> Stream {
        match compound {
            Compound::Subshell(script) => self.own_shell(|walker| walker.script(script, stdin, place)),
            Compound::Group(script) => self.script(script, stdin, place),
            Compound::If(parts) => self.branches(parts, stdin, place),
            Compound::Case(words, arms) => {
                for word in words {
                    let _value = self.one(word);
                }
                self.branches(arms, stdin, place)
            }
            Compound::Loop(condition, body) => {
                self.world.doubt();
                self.sweeping(|walker| {
                    let mut stream = Stream::Closed;
                    for line in lines_of(stdin) {
                        let before = walker.state.clone();
                        stream = stream.then(walker.script(condition, &line, place));
                        stream = stream.then(walker.script(body, &line, place));
                        walker.state.merge(&before);
                    }
                    stream
                })
            }
            Compound::For(name, words, body) => {
                let values = match words {
                    Some(words) => self.fields(words),
                    None => self.state.positional.clone(),
                };
                self.sweeping(|walker| {
                    let mut stream = Stream::Closed;
                    for value in walker.loop_values(values) {
                        walker.state.variables.insert(name.clone(), value);
                        stream = stream.then(walker.script(body, stdin, place));
                    }
                    stream
                })
            }
            Compound::Test(words) => {
                let _values = self.fields(words);
                Stream::Closed
            }
        }
    }

    /// Every branch is walked, each from the same start; afterwards only what all agree on is known.
    fn branches(&mut self, parts: &[Script], stdin: &Stream, place: Place) -> Stream {
        let before = self.state.clone();
        let mut after = before.clone();
        let mut stream = Stream::Closed;
        for part in parts {
            self.state = before.clone();
            stream = stream.then(self.script(part, stdin, place));
            after.merge(&self.state);
            self.world.doubt();
        }
        self.state = after;
        stream
    }

    /// The values of a loop: patterns become the names they fit, and too many become one unknown.
    fn loop_values(&self, values: Vec<Field>) -> Vec<Field> {
        let mut out = Vec::new();
        for value in values {
            let names = self.world.glob_names(&value, self.state.cwd());
            match names {
                Some(names) if !names.is_empty() => out.extend(names.iter().map(|name| Field::of(name))),
                Some(_) | None => out.push(value),
            }
        }
        if out.len() > LOOP_MAX {
            out.truncate(LOOP_MAX);
        }
        out
    }

    /// Runs something in a shell of its own: its traps spring at its end, and only its files stay.
    pub(super) fn own_shell(&mut self, run: impl FnOnce(&mut Self) -> Stream) -> Stream {
        let before = self.state.clone();
        self.state.traps.clear();
        let stream = run(self);
        self.spring_traps();
        let inside = std::mem::replace(&mut self.state, before);
        self.state.keep_files(inside);
        stream
    }

    /// The end of a shell: what it was told to do then is judged with what it knows then.
    pub(super) fn spring_traps(&mut self) {
        for trap in std::mem::take(&mut self.state.traps) {
            let outer = std::mem::replace(&mut self.source, trap.source);
            let _written = self.code(&trap.code, &Stream::Closed, trap.place);
            self.source = outer;
        }
    }

    /// Runs a loop. What it deletes one by one counts together, because nobody named each of it.
    fn sweeping(&mut self, run: impl FnOnce(&mut Self) -> Stream) -> Stream {
        let outer = self.swept.get();
        self.swept.set(Some(outer.unwrap_or(0)));
        let stream = run(self);
        self.swept.set(outer);
        stream
    }
}

/// A loop reads its input line by line, if that is known; else once.
fn lines_of(stdin: &Stream) -> Vec<Stream> {
    let lines: Vec<String> = match stdin {
        Stream::Known(text) => text.lines().map(str::to_owned).collect(),
        Stream::Paths(paths) => paths.0.clone(),
        Stream::Closed | Stream::Changes(_) | Stream::Downloaded | Stream::Decoded | Stream::Unknown => Vec::new(),
    };
    if lines.is_empty() || lines.len() > LOOP_MAX {
        return vec![stdin.clone()];
    }
    lines.into_iter().map(Stream::Known).collect()
}
