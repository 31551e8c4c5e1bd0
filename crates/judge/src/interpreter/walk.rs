//! The walk through a command line: every command in every position, in the surroundings it would have.

use super::assign::{arguments, assigned, keep_array};
use super::builtin::forget_counted;
use super::expand::{Shell, fields, one};
use super::observer::Observer;
use super::report::Report;
use super::turns;
use crate::hold::{GuardRule, Hold};
use crate::line::call::{Call, Place, Redirection};
use crate::line::field::Field;
use crate::line::state::State;
use crate::line::stream::Stream;
use crate::reading::CommandReading;
use crate::site::Site;
use crate::world::World;
use std::path::Path;
use std::rc::Rc;
use tripwire_shell::{
    Command, Compound, Item, Join, Redirect, RedirectKind, Script, Sense, Simple, SyntaxError, Wait, parse,
};

/// Most commands that are looked at; a line that unrolls into more cannot be judged.
const STEPS_MAX: usize = 4_000;
/// Deepest nesting of code inside code: `bash -c`, `eval`, functions.
const CODE_DEPTH_MAX: usize = 12;
/// Deepest nesting of compounds, wrappers and functions inside each other, all code levels together.
const NESTING_MAX: usize = 80;
/// Most bytes that the expansions of one line may make.
const EXPANDED_BYTES_MAX: usize = 32 * 1024 * 1024;

/// What becomes of a call. The walk knows the shell's grammar and nothing of programs.
pub(super) trait Programs {
    /// Follows a call that the shell makes, and gives what it writes.
    fn invoke(&self, walker: &mut Walker<'_>, call: &Call) -> Stream;
}

/// One walk.
pub(super) struct Walker<'w> {
    pub(super) world: &'w World,
    /// The surroundings of the next command.
    pub(super) state: State,
    pub(super) observer: &'w mut dyn Observer,
    pub(super) report: Report,
    programs: &'w dyn Programs,
    /// Functions that are running, with how many pipelines surrounded each.
    calls: Vec<(String, usize)>,
    /// Scripts in `>(…)` of the command at hand: they read what it writes.
    outlets: Vec<Rc<Script>>,
    /// How many pipelines and background jobs surround the command.
    parallel: usize,
    depth: usize,
    nesting: usize,
    pub(super) steps: usize,
    /// Those in scripts of the run, which are not among the line's.
    pub(super) steps_in_scripts: usize,
    /// Bytes that expansions made.
    pub(super) expanded: usize,
}

impl<'w> Walker<'w> {
    pub(super) fn new(
        world: &'w World,
        state: State,
        observer: &'w mut dyn Observer,
        programs: &'w dyn Programs,
    ) -> Self {
        Self {
            world,
            state,
            observer,
            report: Report::default(),
            programs,
            calls: Vec::new(),
            outlets: Vec::new(),
            parallel: 0,
            depth: 0,
            nesting: 0,
            steps: 0,
            steps_in_scripts: 0,
            expanded: 0,
        }
    }

    /// Walks a whole line, to what it does at its end.
    pub(super) fn line(&mut self, script: &Script) {
        let _written = self.script(script, &Stream::Closed, Place::Here);
        self.spring_traps();
    }

    /// Walks code that stands inside the line: a text that some shell would run.
    pub(super) fn code(&mut self, text: &str, stdin: &Stream, place: Place) -> Stream {
        if self.depth >= CODE_DEPTH_MAX {
            self.report.hold(Hold::plain(GuardRule::TooComplex, "code is nested in code more than 12 levels deep"));
            return Stream::Unknown;
        }
        let parsed = parse(text);
        if let Some(error @ SyntaxError::TooDeep) = parsed.error {
            self.report.hold(Hold::plain(GuardRule::TooComplex, &error.to_string()));
            return Stream::Unknown;
        }
        self.depth += 1;
        let stream = self.script(&parsed.script, stdin, place);
        self.depth -= 1;
        stream
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

    /// Goes one level deeper: into a compound, a wrapper, a function. The stack is bounded, so the levels are.
    pub(super) fn deeper(&mut self, run: impl FnOnce(&mut Self) -> Stream) -> Stream {
        if self.nesting >= NESTING_MAX {
            self.report.give_up("commands are nested in commands more than 80 levels deep");
            return Stream::Unknown;
        }
        self.nesting += 1;
        let stream = run(self);
        self.nesting -= 1;
        stream
    }

    /// Runs a function's body with its arguments.
    pub(super) fn function(&mut self, name: &str, body: &Rc<Command>, call: &Call) -> Stream {
        if let Some((_, since)) = self.calls.iter().find(|(running, _)| running == name) {
            if self.parallel > *since {
                let reason = format!("`{name}` starts itself more than once each time: a fork bomb");
                self.report.hold(Hold::plain(GuardRule::ForkBomb, &reason));
            }
            return Stream::Unknown;
        }
        if self.depth >= CODE_DEPTH_MAX {
            return Stream::Unknown;
        }
        let outer = std::mem::replace(&mut self.state.positional, call.args.iter().skip(1).cloned().collect());
        self.calls.push((name.to_owned(), self.parallel));
        self.depth += 1;
        let stream = self.command(&Rc::clone(body), &call.stdin, call.place);
        self.depth -= 1;
        self.calls.pop();
        self.state.positional = outer;
        stream
    }

    fn script(&mut self, script: &Script, stdin: &Stream, place: Place) -> Stream {
        let mut stream = Stream::Closed;
        for (number, item) in script.items.iter().enumerate() {
            self.settle_folder(item);
            if number > 0 && item.join != Join::And {
                self.world.doubt();
            }
            let before = (item.join != Join::Then).then(|| self.state.functions.clone());
            stream = stream.then(self.item(item, stdin, place));
            if let Some(before) = before {
                self.state.doubt_functions(&before);
            }
        }
        stream
    }

    /// After a `cd` that may fail, a command joined with `&&` runs only in the new folder; any other may run in both.
    fn settle_folder(&mut self, item: &Item) {
        if self.state.fallback.is_empty() {
            return;
        }
        match item.join {
            Join::And => {}
            Join::Or if leaves(item) => self.state.fallback.clear(),
            Join::Or | Join::Then => {
                let old = std::mem::take(&mut self.state.fallback);
                self.state.cwds.extend(old);
            }
        }
    }

    fn item(&mut self, item: &Item, stdin: &Stream, place: Place) -> Stream {
        let beside = item.pipeline.len() > 1 || item.wait == Wait::Background;
        self.parallel += usize::from(beside);
        let mut stream = stdin.clone();
        for command in &item.pipeline {
            stream = if beside {
                self.own_shell(|walker| walker.command(command, &stream, place))
            } else {
                self.command(command, &stream, place)
            };
        }
        self.parallel -= usize::from(beside);
        if beside || item.sense == Sense::Negated {
            // Whether each of its commands succeeded is not known behind it.
            self.world.doubt();
        }
        stream
    }

    fn command(&mut self, command: &Command, stdin: &Stream, place: Place) -> Stream {
        self.deeper(|walker| match command {
            Command::Simple(simple) => walker.simple(simple, stdin, place),
            Command::Function(name, body) => {
                walker.state.define(name, body);
                Stream::Closed
            }
            Command::Compound(compound, redirects) => {
                let stdin = walker.input(redirects, stdin);
                let stream = walker.compound(compound, &stdin, place);
                let left = walker.write_to(redirects, stream.clone(), place, None);
                let outlets = std::mem::take(&mut walker.outlets);
                walker.drain(&outlets, &stream, place);
                left
            }
        })
    }

    fn simple(&mut self, simple: &Simple, stdin: &Stream, place: Place) -> Stream {
        self.steps += 1;
        if self.report.is_full() {
            return Stream::Unknown;
        }
        if self.steps > STEPS_MAX {
            self.report.give_up("the line unrolls into more than 4000 commands");
            return Stream::Unknown;
        }
        let outer = std::mem::replace(&mut self.report.source, simple.source.clone());
        let env: Vec<(String, Field)> = simple.assignments.iter().map(|one| assigned(self, one)).collect();
        let stdin = self.input(&simple.redirects, stdin);
        let args = arguments(self, &simple.words);
        let mut outlets = std::mem::take(&mut self.outlets);
        let found = self.report.count();
        let (stream, call) = if args.is_empty() {
            self.state.variables.extend(env);
            for one in &simple.assignments {
                keep_array(self, one);
            }
            (self.only_read(simple), None)
        } else {
            let call = Call { args, env, stdin, place };
            let stream = self.programs.invoke(self, &call);
            (stream, Some(call))
        };
        for one in &simple.declared {
            keep_array(self, one);
        }
        let written = match &call {
            Some(call) if call.name() == "tee" => call.stdin.clone(),
            Some(_) | None => stream.clone(),
        };
        let stream = self.write_to(&simple.redirects, stream, place, call.as_ref());
        outlets.append(&mut self.outlets);
        self.drain(&outlets, &written, place);
        if self.report.count() == found && self.depth == 0 && !simple.words.is_empty() {
            self.report.pass();
        }
        self.report.source = outer;
        stream
    }

    /// What `$(< FILE)` gives.
    fn only_read(&self, simple: &Simple) -> Stream {
        let [Redirect { kind: RedirectKind::Read, target, .. }] = simple.redirects.as_slice() else {
            return Stream::Closed;
        };
        let path = target.literal().and_then(|name| self.state.absolute(name));
        path.map_or(Stream::Closed, |path| Site { world: self.world, state: &self.state }.listed_in(&path))
    }

    /// What a command reads after its redirections.
    fn input(&mut self, redirects: &[Redirect], stdin: &Stream) -> Stream {
        let mut input = stdin.clone();
        for redirect in redirects {
            match &redirect.kind {
                RedirectKind::HereDocument(body) => {
                    let field = body.get().map(|word| one(self, word)).unwrap_or_default();
                    input = Stream::of(&field);
                }
                RedirectKind::HereString => {
                    let mut field = one(self, &redirect.target);
                    field.push_text("\n");
                    input = Stream::of(&field);
                }
                RedirectKind::Read => {
                    let name = one(self, &redirect.target).known();
                    let path = name.and_then(|name| self.state.absolute(&name));
                    self.report.add(path.clone().map(|path| CommandReading::of_redirections(vec![path])));
                    let site = Site { world: self.world, state: &self.state };
                    input = match path {
                        Some(path) if path == Path::new("/dev/null") => Stream::Known(String::new()),
                        Some(path) => site.contents(&path),
                        None => Stream::Unknown,
                    };
                }
                RedirectKind::Write | RedirectKind::Append | RedirectKind::ReadWrite | RedirectKind::Duplicate => {}
            }
        }
        input
    }

    /// Judges where the output goes and remembers what was written; gives what is left for a pipe.
    fn write_to(&mut self, redirects: &[Redirect], stream: Stream, place: Place, call: Option<&Call>) -> Stream {
        let mut left = stream.clone();
        let is_read = |redirect: &&Redirect| matches!(redirect.kind, RedirectKind::Read) && redirects.len() > 1;
        let reads: Vec<Field> = redirects.iter().filter(is_read).map(|redirect| one(self, &redirect.target)).collect();
        for redirect in redirects {
            let target = match redirect.kind {
                RedirectKind::Write | RedirectKind::Append | RedirectKind::ReadWrite | RedirectKind::Duplicate => {
                    one(self, &redirect.target)
                }
                RedirectKind::Read | RedirectKind::HereDocument(_) | RedirectKind::HereString => continue,
            };
            let duplicates = matches!(redirect.kind, RedirectKind::Duplicate);
            if duplicates && is_open_file(&target) {
                continue;
            }
            let site = Site { world: self.world, state: &self.state };
            let redirection = Redirection { kind: &redirect.kind, target: &target, place, call, reads: &reads };
            if let Some(hold) = self.observer.redirection(&site, &redirection) {
                self.report.hold(hold);
            }
            // What is not known is an open file as a rule: `>&$fd`.
            let to_file = redirect.fd.is_none_or(|fd| fd == 1) && !(duplicates && target.unknown().is_some());
            if to_file {
                left = Stream::Closed;
                if let Some(path) = target.known().and_then(|name| self.state.absolute(&name)) {
                    self.state.files.insert(path, stream.clone());
                }
            }
        }
        left
    }

    /// Runs what reads the output of a command through `>(…)`.
    fn drain(&mut self, outlets: &[Rc<Script>], written: &Stream, place: Place) {
        for script in outlets {
            let _read = self.own_shell(|walker| walker.script(script, written, place));
        }
    }

    fn compound(&mut self, compound: &Compound, stdin: &Stream, place: Place) -> Stream {
        match compound {
            Compound::Subshell(script) => self.own_shell(|walker| walker.script(script, stdin, place)),
            Compound::Group(script) => self.script(script, stdin, place),
            Compound::If(parts) => self.branches(parts, stdin, place),
            Compound::Case(words, arms) => {
                for word in words {
                    let _value = one(self, word);
                }
                self.branches(arms, stdin, place)
            }
            Compound::Loop(condition, body) => {
                self.world.doubt();
                self.world.begin_loop();
                let stream = self.turns(condition, body, stdin, place);
                self.world.end_loop();
                stream
            }
            Compound::For(name, words, body) => {
                let values = match words {
                    Some(words) => fields(self, words),
                    None => self.state.positional.clone(),
                };
                if name.is_empty() {
                    // `for ((i = 0; …))`: what its head counts is a number.
                    values.iter().for_each(|head| forget_counted(&mut self.state, &head.text()));
                }
                self.world.begin_loop();
                let mut stream = Stream::Closed;
                for value in self.loop_values(values) {
                    self.state.variables.insert(name.clone(), value);
                    stream = stream.then(self.script(body, stdin, place));
                }
                self.world.end_loop();
                stream
            }
            Compound::Test(words) => {
                let values = fields(self, words);
                if let [expression] = values.as_slice() {
                    forget_counted(&mut self.state, &expression.text());
                }
                Stream::Closed
            }
        }
    }

    /// The turns of a `while`: one for each line that it reads, where they are known. What a turn changes is not known
    /// in the next one, so a loop whose end is not known is walked twice.
    fn turns(&mut self, condition: &Script, body: &Script, stdin: &Stream, place: Place) -> Stream {
        let mut stream = Stream::Closed;
        let mut lines = turns::of_lines(stdin);
        let again = lines.first().cloned().filter(|_| lines.len() == 1);
        let start = self.state.variables.clone();
        while !lines.is_empty() {
            let line = lines.remove(0);
            let before = self.state.clone();
            stream = stream.then(self.script(condition, &line, place));
            stream = stream.then(self.script(body, &line, place));
            self.state.merge(&before);
        }
        if let Some(line) = again.filter(|_| self.state.variables != start) {
            let before = self.state.clone();
            stream = stream.then(self.script(condition, &line, place));
            stream = stream.then(self.script(body, &line, place));
            self.state.merge(&before);
        }
        stream
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

    /// The values of a loop: patterns become the names they fit, and too many are cut.
    fn loop_values(&self, values: Vec<Field>) -> Vec<Field> {
        let mut out = Vec::new();
        for value in values {
            let names = self.world.glob_names(&value, self.state.cwd());
            match names {
                Some(names) if !names.is_empty() => out.extend(names.iter().map(|name| Field::of(name))),
                Some(_) | None => out.push(value),
            }
        }
        turns::bounded(out)
    }

    /// The end of a shell: its traps are judged with what it knows then.
    fn spring_traps(&mut self) {
        for trap in std::mem::take(&mut self.state.traps) {
            let outer = std::mem::replace(&mut self.report.source, trap.source);
            let _written = self.code(&trap.code, &Stream::Closed, trap.place);
            self.report.source = outer;
        }
    }
}

impl Shell for Walker<'_> {
    fn state(&self) -> &State {
        &self.state
    }

    fn state_mut(&mut self) -> &mut State {
        &mut self.state
    }

    fn substitute(&mut self, script: &Script) -> Stream {
        let source = self.report.source.clone();
        let stream = self.own_shell(|walker| walker.script(script, &Stream::Closed, Place::Here));
        self.report.source = source;
        stream
    }

    fn add_outlet(&mut self, script: &Rc<Script>) {
        self.outlets.push(Rc::clone(script));
    }

    fn may_expand(&mut self, bytes: usize) -> bool {
        self.expanded = self.expanded.saturating_add(bytes);
        if self.expanded <= EXPANDED_BYTES_MAX {
            return true;
        }
        if !self.report.is_full() {
            self.report.give_up("its expansions make more than 32 MiB");
        }
        false
    }
}

/// Whether an item ends the shell itself: then nothing behind it runs. In a pipeline, in the background and in parentheses
/// `exit` ends only a shell of its own.
fn leaves(item: &Item) -> bool {
    let names = ["exit", "return", "break", "continue"];
    let ([command], Wait::Foreground) = (item.pipeline.as_slice(), item.wait) else { return false };
    match command {
        Command::Simple(simple) => {
            simple.words.first().and_then(|word| word.literal()).is_some_and(|name| names.contains(&name))
        }
        Command::Compound(Compound::Group(script), _) => script.items.last().is_some_and(leaves),
        Command::Compound(..) | Command::Function(..) => false,
    }
}

/// Whether a word behind `>&` is the number of an open file, or a dash.
fn is_open_file(target: &Field) -> bool {
    target.known().is_some_and(|text| text.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit()))
}
