//! The walk through a command line: every command in every position, in the surroundings it would have.

use super::call::{Call, Place};
use super::field::Field;
use super::hold::{FloorRule, Hold, Segment};
use super::paths::Watch;
use super::reading::{Extent, Notes};
use super::state::State;
use super::stream::Stream;
use super::world::World;
use std::cell::Cell;
use std::rc::Rc;
use tripwire_shell::{
    Assign, Assignment, Command, Compound, Item, Join, Redirect, RedirectKind, Script, Sense, Simple, Wait, Word,
};

/// Most commands that are looked at; a line that unrolls into more cannot be judged.
const STEPS_MAX: usize = 4_000;
/// Deepest nesting of code inside code: `bash -c`, `eval`, functions.
const CODE_DEPTH_MAX: usize = 12;

/// One walk.
pub(super) struct Walker<'w> {
    /// What is asked about the disk and the repositories.
    pub(super) world: &'w World,
    /// The surroundings of the next command.
    pub(super) state: State,
    /// What was found so far.
    pub(super) segments: Vec<Segment>,
    /// What the line would run so far.
    pub(super) notes: Notes,
    /// The text of the command that is being judged.
    pub(super) source: String,
    /// Who watches the walk instead of judging it.
    pub(super) watch: Option<Watch<'w>>,
    /// Functions that are running.
    calls: Vec<(String, usize)>,
    /// Scripts in `>(…)` of the command at hand: they read what it writes.
    pub(super) outlets: Vec<Rc<Script>>,
    /// How many pipelines and background jobs surround the command.
    parallel: usize,
    depth: usize,
    nesting: usize,
    steps: usize,
    /// Bytes that expansions made.
    expanded: usize,
    holds: usize,
    /// Files unknown to git that the loops at hand delete one by one; `None` outside of loops.
    pub(super) swept: Cell<Option<usize>>,
}

/// Deepest nesting of compounds, wrappers and functions inside each other, all code levels together.
const NESTING_MAX: usize = 80;
/// Most bytes that the expansions of one line may make.
const EXPANDED_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Most holds that are found before the rest of a line is no longer looked at.
const HOLDS_MAX: usize = 16;

impl<'w> Walker<'w> {
    pub(super) fn new(world: &'w World, state: State) -> Self {
        let source = String::new();
        Self {
            world,
            state,
            segments: Vec::new(),
            notes: Notes::default(),
            source,
            watch: None,
            calls: Vec::new(),
            outlets: Vec::new(),
            parallel: 0,
            depth: 0,
            nesting: 0,
            steps: 0,
            expanded: 0,
            holds: 0,
            swept: Cell::new(None),
        }
    }

    /// Walks code that stands inside the line: a text that some shell would run.
    pub(super) fn code(&mut self, text: &str, stdin: &Stream, place: Place) -> Stream {
        if self.depth >= CODE_DEPTH_MAX {
            self.hold(Hold::plain(FloorRule::TooComplex, "code is nested in code more than 12 levels deep"));
            return Stream::Unknown;
        }
        let parsed = tripwire_shell::parse(text);
        if let Some(error @ tripwire_shell::SyntaxError::TooDeep) = parsed.error {
            self.hold(Hold::plain(FloorRule::TooComplex, &error.to_string()));
            return Stream::Unknown;
        }
        self.depth += 1;
        let stream = self.script(&parsed.script, stdin, place);
        self.depth -= 1;
        stream
    }

    /// Walks a list.
    pub(super) fn script(&mut self, script: &Script, stdin: &Stream, place: Place) -> Stream {
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
            // Nobody behind it knows whether each of its commands succeeded.
            self.world.doubt();
        }
        stream
    }

    /// Goes one level deeper: into a compound, a wrapper, a function. The stack is bounded, so the levels are.
    pub(super) fn deeper(&mut self, run: impl FnOnce(&mut Self) -> Stream) -> Stream {
        if self.nesting >= NESTING_MAX {
            self.hold(Hold::plain(FloorRule::TooComplex, "commands are nested in commands more than 80 levels deep"));
            self.holds = HOLDS_MAX;
            return Stream::Unknown;
        }
        self.nesting += 1;
        let stream = run(self);
        self.nesting -= 1;
        stream
    }

    fn command(&mut self, command: &Command, stdin: &Stream, place: Place) -> Stream {
        self.deeper(|walker| walker.command_inside(command, stdin, place))
    }

    fn command_inside(&mut self, command: &Command, stdin: &Stream, place: Place) -> Stream {
        match command {
            Command::Simple(simple) => self.simple(simple, stdin, place),
            Command::Function(name, body) => {
                self.state.define(name, body);
                Stream::Closed
            }
            Command::Compound(compound, redirects) => {
                let stdin = self.input(redirects, stdin);
                let stream = self.compound(compound, &stdin, place);
                let left = self.write_to(redirects, stream.clone(), place, None);
                let outlets = std::mem::take(&mut self.outlets);
                self.drain(&outlets, &stream, place);
                left
            }
        }
    }

    fn simple(&mut self, simple: &Simple, stdin: &Stream, place: Place) -> Stream {
        self.steps += 1;
        if self.holds >= HOLDS_MAX {
            self.notes.extent = Extent::Cut;
            return Stream::Unknown;
        }
        if self.steps > STEPS_MAX {
            self.hold(Hold::plain(FloorRule::TooComplex, "the line unrolls into more than 4000 commands"));
            self.holds = HOLDS_MAX;
            return Stream::Unknown;
        }
        let outer = std::mem::replace(&mut self.source, simple.source.clone());
        let env: Vec<(String, Field)> = simple.assignments.iter().map(|one| self.assigned(one)).collect();
        let stdin = self.input(&simple.redirects, stdin);
        let args = self.arguments(&simple.words);
        let mut outlets = std::mem::take(&mut self.outlets);
        let found = self.segments.len();
        let (stream, call) = if args.is_empty() {
            self.state.variables.extend(env);
            for one in &simple.assignments {
                self.keep_array(one);
            }
            // `$(curl …)` as the whole command: what was fetched is run.
            (Stream::Closed, None)
        } else {
            let call = Call { args, env, stdin, place };
            let stream = self.invoke(&call);
            (stream, Some(call))
        };
        for one in &simple.declared {
            self.keep_array(one);
        }
        let written = match &call {
            Some(call) if call.name() == "tee" => call.stdin.clone(),
            Some(_) | None => stream.clone(),
        };
        let stream = self.write_to(&simple.redirects, stream, place, call.as_ref());
        outlets.append(&mut self.outlets);
        self.drain(&outlets, &written, place);
        if self.segments.len() == found && self.depth == 0 && !simple.words.is_empty() {
            self.segments.push(Segment { command: self.source.clone(), hold: None });
        }
        self.source = outer;
        stream
    }

    /// The arguments of a command. Behind `export` and its like an assignment is one, so that a `~` after `=` is a home.
    fn arguments(&mut self, words: &[Word]) -> Vec<Field> {
        let declares = words
            .first()
            .and_then(Word::literal)
            .is_some_and(|first| matches!(first, "export" | "declare" | "typeset" | "local" | "readonly"));
        if !declares {
            return self.fields(words);
        }
        let mut fields = Vec::new();
        for word in words {
            match word.split_assignment() {
                Some((name, value)) => {
                    let mut field = Field::of(&format!("{name}="));
                    field.atoms.extend(self.one(&value).atoms);
                    fields.push(field);
                }
                None => fields.extend(self.split_word(word)),
            }
        }
        fields
    }

    fn assigned(&mut self, assignment: &Assignment) -> (String, Field) {
        let _index = self.one(&assignment.subscript);
        let mut value = self.one(&assignment.value);
        if assignment.how == Assign::Append {
            let mut before = self.state.variable(&assignment.name);
            before.atoms.append(&mut value.atoms);
            value = before;
        }
        (assignment.name.clone(), value)
    }

    fn keep_array(&mut self, assignment: &Assignment) {
        let Some(elements) = &assignment.elements else { return };
        let values = self.fields(elements);
        self.state.variables.insert(assignment.name.clone(), values.first().cloned().unwrap_or_default());
        match assignment.how {
            Assign::Set => self.state.arrays.insert(assignment.name.clone(), values).map_or((), drop),
            Assign::Append => self.state.arrays.entry(assignment.name.clone()).or_default().extend(values),
        }
    }

    /// What a command reads after its redirections.
    fn input(&mut self, redirects: &[Redirect], stdin: &Stream) -> Stream {
        let mut input = stdin.clone();
        for redirect in redirects {
            match &redirect.kind {
                RedirectKind::HereDocument(body) => {
                    let field = body.get().map(|word| self.one(word)).unwrap_or_default();
                    input = Stream::of(&field);
                }
                RedirectKind::HereString => {
                    let mut field = self.one(&redirect.target);
                    field.push_text("\n");
                    input = Stream::of(&field);
                }
                RedirectKind::Read => {
                    let name = self.one(&redirect.target).known();
                    let path = name.and_then(|name| self.state.absolute(&name));
                    input = path.map_or(Stream::Unknown, |path| self.contents(&path));
                }
                RedirectKind::Write | RedirectKind::Append | RedirectKind::ReadWrite | RedirectKind::Duplicate => {}
            }
        }
        input
    }

    /// What a file holds: what the line wrote there, or what is on the disk, if it is short.
    pub(super) fn contents(&self, path: &std::path::Path) -> Stream {
        match self.state.files.get(path) {
            Some(stream) => stream.clone(),
            None => self.world.short_text(path).map_or(Stream::Unknown, Stream::Known),
        }
    }

    /// Judges where the output goes and remembers what was written; gives what is left for a pipe.
    fn write_to(&mut self, redirects: &[Redirect], stream: Stream, place: Place, call: Option<&Call>) -> Stream {
        let mut left = stream.clone();
        for redirect in redirects {
            let target = match redirect.kind {
                RedirectKind::Write | RedirectKind::Append | RedirectKind::ReadWrite => self.one(&redirect.target),
                RedirectKind::Duplicate => match self.duplicated(&redirect.target) {
                    Some(file) => file,
                    None => continue,
                },
                RedirectKind::Read | RedirectKind::HereDocument(_) | RedirectKind::HereString => continue,
            };
            let to_file = redirect.fd.is_none_or(|fd| fd == 1);
            if self.is_watched() {
                self.note_redirect(target.clone());
            } else if let Some(hold) = self.judge_redirect(&redirect.kind, &target, place, call) {
                self.hold(hold);
            }
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

    /// What a substitution writes; it runs in a shell of its own.
    pub(super) fn substitute(&mut self, script: &Script) -> Stream {
        let source = self.source.clone();
        let stream = self.own_shell(|walker| walker.script(script, &Stream::Closed, Place::Here));
        self.source = source;
        stream
    }

    /// Runs a function's body with its arguments.
    pub(super) fn function(&mut self, name: &str, body: &Rc<Command>, call: &Call) -> Stream {
        if let Some((_, since)) = self.calls.iter().find(|(running, _)| running == name) {
            if self.parallel > *since {
                let reason = format!("`{name}` starts itself more than once each time: a fork bomb");
                self.hold(Hold::plain(FloorRule::ForkBomb, &reason));
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

    /// Walks what may run but is not expected to: it is noted, and neither held nor remembered.
    pub(super) fn only_read(&mut self, run: impl FnOnce(&mut Self) -> Stream) {
        let (found, holds, state) = (self.segments.len(), self.holds, self.state.clone());
        let _written = run(self);
        self.segments.truncate(found);
        self.holds = holds;
        self.state = state;
        self.world.doubt();
    }

    /// Counts what an expansion makes; a line that makes too much of itself cannot be judged.
    pub(super) fn may_expand(&mut self, bytes: usize) -> bool {
        self.expanded = self.expanded.saturating_add(bytes);
        if self.expanded <= EXPANDED_BYTES_MAX {
            return true;
        }
        if self.holds < HOLDS_MAX {
            self.hold(Hold::plain(FloorRule::TooComplex, "its expansions make more than 32 MiB"));
            self.holds = HOLDS_MAX;
        }
        false
    }

    /// Notes that the command at hand is held.
    pub(super) fn hold(&mut self, hold: Hold) {
        self.holds += 1;
        self.notes.hold(hold.rule);
        if self.holds > HOLDS_MAX {
            return;
        }
        self.segments.push(Segment { command: self.source.clone(), hold: Some(hold) });
    }
}

/// Whether a pipeline ends the shell: then nothing behind it runs.
fn leaves(item: &Item) -> bool {
    let names = ["exit", "return", "break", "continue"];
    item.pipeline.iter().any(|command| match command {
        Command::Simple(simple) => {
            simple.words.first().and_then(|word| word.literal()).is_some_and(|name| names.contains(&name))
        }
        Command::Compound(Compound::Group(script) | Compound::Subshell(script), _) => {
            script.items.last().is_some_and(leaves)
        }
        Command::Compound(..) | Command::Function(..) => false,
    })
}
