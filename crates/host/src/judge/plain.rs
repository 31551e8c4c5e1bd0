//! A command line as plain commands, for doors that look at words and not at what they become.
//!
//! It is the judge's own reading, so that no second reader of shell lines has to agree with it.

use super::shell::{
    self, Command, Compound, Operation, Parameter, Piece, Redirect, RedirectKind, Script, Simple, Word,
};

/// One command of a line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlainCommand {
    /// Assignments, program and arguments, without their quotes; a variable stays as `${NAME}`.
    pub words: Vec<String>,
    /// The files that its output goes to.
    pub writes: Vec<String>,
    /// What it reads from a here-document or a here-string.
    pub here: Option<String>,
    /// The commands in its substitutions, each script on its own.
    pub inner: Vec<Vec<Self>>,
    /// Where its output goes.
    pub joint: Joint,
}

/// What joins a command with the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Joint {
    /// Its output goes into the next one.
    Pipe,
    /// Anything else.
    #[default]
    Other,
}

/// Every command of a line in the order in which it is written; `None` if the line cannot be read to its end.
#[must_use]
pub fn plain_commands(text: &str) -> Option<Vec<PlainCommand>> {
    let parsed = shell::parse(text);
    parsed.error.is_none().then(|| of_script(&parsed.script))
}

fn of_script(script: &Script) -> Vec<PlainCommand> {
    let mut out = Vec::new();
    for item in &script.items {
        for (number, command) in item.pipeline.iter().enumerate() {
            of_command(command, &mut out);
            if number + 1 < item.pipeline.len()
                && let Some(last) = out.last_mut()
            {
                last.joint = Joint::Pipe;
            }
        }
    }
    out
}

fn of_command(command: &Command, out: &mut Vec<PlainCommand>) {
    match command {
        Command::Simple(simple) => out.push(of_simple(simple)),
        Command::Function(_, body) => of_command(body, out),
        Command::Compound(compound, redirects) => {
            of_compound(compound, out);
            let mut written = PlainCommand::default();
            written.redirect(redirects);
            if written != PlainCommand::default() {
                out.push(written);
            }
        }
    }
}

fn of_simple(simple: &Simple) -> PlainCommand {
    let mut plain = PlainCommand::default();
    for one in simple.assignments.iter().chain(&simple.declared) {
        let mut value = plain.text(&one.value);
        let _index = plain.text(&one.subscript);
        for element in one.elements.iter().flatten() {
            value = format!("{value} {}", plain.text(element)).trim_start().to_owned();
        }
        plain.words.push(format!("{}={value}", one.name));
    }
    for word in &simple.words {
        let text = plain.text(word);
        plain.words.push(text);
    }
    plain.redirect(&simple.redirects);
    plain
}

/// The words of a compound stand behind its keyword, as if it were a program; what is inside follows.
fn of_compound(compound: &Compound, out: &mut Vec<PlainCommand>) {
    let head = |keyword: &str, words: &[Word]| {
        let mut plain = PlainCommand { words: vec![keyword.to_owned()], ..PlainCommand::default() };
        for word in words {
            let text = plain.text(word);
            plain.words.push(text);
        }
        plain
    };
    match compound {
        Compound::Subshell(script) | Compound::Group(script) => out.extend(of_script(script)),
        Compound::If(parts) => out.extend(parts.iter().flat_map(of_script)),
        Compound::Loop(condition, body) => out.extend([condition, body].into_iter().flat_map(of_script)),
        Compound::For(_, words, body) => {
            out.push(head("for", words.as_deref().unwrap_or_default()));
            out.extend(of_script(body));
        }
        Compound::Case(words, arms) => {
            out.push(head("test", words));
            out.extend(arms.iter().flat_map(of_script));
        }
        Compound::Test(words) => out.push(head("test", words)),
    }
}

impl PlainCommand {
    fn redirect(&mut self, redirects: &[Redirect]) {
        for redirect in redirects {
            let target = self.text(&redirect.target);
            match &redirect.kind {
                RedirectKind::Write | RedirectKind::Append | RedirectKind::ReadWrite => self.writes.push(target),
                RedirectKind::Read | RedirectKind::Duplicate => {}
                RedirectKind::HereString => self.here = Some(target),
                RedirectKind::HereDocument(body) => {
                    let body = body.get().map(|body| self.text(body));
                    self.here = body;
                }
            }
        }
    }

    /// A word as text; what it substitutes goes to the commands inside.
    fn text(&mut self, word: &Word) -> String {
        let mut text = String::new();
        for piece in &word.pieces {
            match piece {
                Piece::Bare(part) | Piece::Quoted(part) => text.push_str(part),
                Piece::Parameter(parameter, _) => text.push_str(&self.parameter(parameter)),
                Piece::Command(script, _) | Piece::Process(script, _) => self.inner.push(of_script(script)),
                Piece::Arithmetic(word) => {
                    let _number = self.text(word);
                    text.push('0');
                }
            }
        }
        text
    }

    fn parameter(&mut self, parameter: &Parameter) -> String {
        let name = &parameter.name;
        match &parameter.operation {
            None => format!("${{{name}}}"),
            Some((Operation::Default | Operation::Alternative, word)) => {
                let other = self.text(word);
                format!("${{{name}:-{other}}}")
            }
            Some((
                Operation::Demand
                | Operation::CutShortestEnd
                | Operation::CutLongestEnd
                | Operation::CutShortestStart
                | Operation::CutLongestStart
                | Operation::Other,
                word,
            )) => {
                let _run_for_what_it_substitutes = self.text(word);
                format!("${{{name}}}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Joint, plain_commands};

    #[test]
    fn a_line_becomes_its_commands_in_their_order() {
        let all = plain_commands("A=1 'r'm -f \"$X/y\" > out | cat; echo \"$(b c)\" <<< z").unwrap();
        assert_eq!(all.len(), 3);
        assert_eq!(all[0].words, ["A=1", "rm", "-f", "${X}/y"]);
        assert_eq!((all[0].writes.as_slice(), all[0].joint), (["out".to_owned()].as_slice(), Joint::Pipe));
        assert_eq!(all[2].inner[0][0].words, ["b", "c"]);
        assert_eq!(all[2].here.as_deref(), Some("z"));
    }

    #[test]
    fn compounds_give_their_words_and_what_is_inside() {
        let all = plain_commands("for f in a b; do rm \"$f\"; done > log; [[ -f x ]] && y").unwrap();
        let words: Vec<String> = all.iter().map(|one| one.words.join(" ")).collect();
        assert_eq!(words, ["for a b", "rm ${f}", "", "test -f x", "y"]);
        assert_eq!(all[2].writes, ["log"]);
    }

    #[test]
    fn what_cannot_be_read_to_its_end_is_not_read_at_all() {
        assert!(plain_commands("a; b 'c").is_none());
        assert!(plain_commands(&"$(".repeat(99)).is_none());
    }
}
