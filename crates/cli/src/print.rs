//! Printing: data to stdout, talk to stderr.

pub(crate) mod decision;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod terminal;
pub(crate) mod verdict;

pub(crate) use tripwire_console::money;

use crate::error::Problem;
use crate::exit::Exit;
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::path::Path;
use std::rc::Rc;
use tripwire_core::visible::{visible, visible_lines};

/// How a verb with flags of its own prints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::Args)]
pub(crate) struct Form {
    /// Write JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Bytes read at once.
const READ_BYTES: usize = 256 * 1_024;

/// Columns of a line of prose.
const LINE_COLUMNS: usize = 100;

/// A text in lines that fit a screen: the first behind `indent`, the others behind `hanging`.
pub(crate) fn wrap(text: &str, indent: &str, hanging: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = indent.to_owned();
    let mut gap = "";
    let text = visible(text);
    for word in text.split_whitespace() {
        if line.chars().count() + gap.len() + word.chars().count() > LINE_COLUMNS && !gap.is_empty() {
            lines.push(std::mem::replace(&mut line, hanging.to_owned()));
            gap = "";
        }
        line.push_str(gap);
        line.push_str(word);
        gap = " ";
    }
    lines.push(line);
    lines
}

/// Tells a problem and its hint.
pub(crate) fn problem(problem: &Problem) -> Exit {
    if let Problem::Output(error) = problem
        && error.kind() == io::ErrorKind::BrokenPipe
    {
        return Exit::Done; // The reader has seen enough: `tripwire decide … | head`.
    }
    say_problem(problem);
    problem.exit()
}

/// The same without its exit code.
pub(crate) fn say_problem(problem: &Problem) {
    say(&format!("error: {problem}"));
    say(&format!("hint: {}", problem.hint()));
}

/// Tells what the parser has to say: help and version on stdout, errors on stderr.
pub(crate) fn usage(error: &clap::Error) -> Exit {
    let printed = error.print();
    match (error.use_stderr(), printed) {
        (false, Ok(())) => Exit::Done,
        (true, _) | (false, Err(_)) => Exit::Usage,
    }
}

/// Talks to the person: one line on stderr. A name with a line end in it cannot begin another one.
pub(crate) fn say(text: &str) {
    let text = visible(text);
    let lines = match terminal::columns_of_talk() {
        Some(columns) => terminal::hang(&text, columns, 0),
        None => vec![text],
    };
    let mut stderr = io::stderr().lock();
    // A client that shares the terminal may have switched off what makes a new line begin at the left edge.
    let end = if terminal::is_raw(&stderr) { "\r\n" } else { "\n" };
    // In one write: a process that is killed between two would leave a line without its end, and the next message would
    // continue it. A closed stderr must not end a run that writes good data.
    drop(stderr.write_all([&lines.join(end), end].concat().as_bytes()));
}

/// Writes a line for a program to stderr: it is not broken, however narrow the terminal.
pub(crate) fn say_whole(text: &str) {
    // One write, and a closed stderr is no error, for the same reasons as in `say`.
    drop(io::stderr().lock().write_all([text, "\n"].concat().as_bytes()));
}

/// Asks on the terminal, behind a question on stderr; what cannot be shown or read is an empty answer.
pub(crate) fn question(text: &str) -> String {
    let mut answer = String::new();
    if io::stderr().lock().write_all(visible_lines(text).as_bytes()).is_ok() {
        io::stdin().lock().read_line(&mut answer).ok();
    }
    answer
}

/// Whether the person at the terminal agrees.
pub(crate) fn agrees(text: &str) -> bool {
    matches!(question(text).trim(), "y" | "Y" | "yes")
}

/// Opens a file, or standard input for `-`.
pub(crate) fn open(file: &Path) -> Result<Box<dyn BufRead>, Problem> {
    if file == Path::new("-") {
        return Ok(Box::new(BufReader::with_capacity(READ_BYTES, io::stdin())));
    }
    let opened = File::open(file).map_err(|error| Problem::input(file, error))?;
    if opened.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(Problem::input(file, io::Error::from(io::ErrorKind::IsADirectory)));
    }
    Ok(Box::new(BufReader::with_capacity(READ_BYTES, opened)))
}

/// What a stream is called in a message.
pub(crate) fn name(file: &Path) -> String {
    if file == Path::new("-") { "standard input".to_owned() } else { format!("`{}`", file.display()) }
}

/// Whether a person reads stdout.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Lines that were written, for a caller that has to say them elsewhere too.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeptLines(Rc<RefCell<Vec<String>>>);

impl KeptLines {
    /// All of them so far.
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.borrow().clone()
    }
}

/// Standard output, buffered, with its errors turned into problems.
#[derive(Debug)]
pub(crate) struct Out {
    /// Nothing where the lines are only kept.
    writer: Option<io::BufWriter<io::StdoutLock<'static>>>,
    kept: Option<KeptLines>,
    /// How wide a person's terminal is.
    columns: Option<usize>,
}

impl Out {
    /// Locks standard output.
    pub(crate) fn lock() -> Self {
        let writer = io::BufWriter::with_capacity(64 * 1_024, io::stdout().lock());
        Self { writer: Some(writer), kept: None, columns: terminal::columns_of_output() }
    }

    /// Locks standard output, and keeps what is written to it.
    pub(crate) fn keeping(lines: &KeptLines) -> Self {
        Self { kept: Some(lines.clone()), ..Self::lock() }
    }

    /// Keeps what is written, and shows nothing of it.
    pub(crate) fn silent(lines: &KeptLines) -> Self {
        Self { writer: None, kept: Some(lines.clone()), columns: None }
    }

    /// Writes one line for a person, broken between words where the terminal is too narrow, below its label. A name with a line
    /// end in it cannot begin another one.
    pub(crate) fn prose(&mut self, text: &str) -> Result<(), Problem> {
        let text = visible(text);
        let Some(columns) = self.columns else { return self.line(&text) };
        terminal::hang(&text, columns, terminal::label_of(&text)).iter().try_for_each(|part| self.line(part))
    }

    /// Writes one line as it is: JSON, or text that names nothing of an agent's or was made visible before.
    pub(crate) fn line(&mut self, text: &str) -> Result<(), Problem> {
        if let Some(kept) = &self.kept {
            kept.0.borrow_mut().push(text.to_owned());
        }
        let Some(writer) = &mut self.writer else { return Ok(()) };
        writer.write_all(text.as_bytes()).and_then(|()| writer.write_all(b"\n")).map_err(Problem::Output)
    }

    /// Makes sure that everything is written.
    pub(crate) fn flush(&mut self) -> Result<(), Problem> {
        self.writer.as_mut().map_or(Ok(()), |writer| writer.flush()).map_err(Problem::Output)
    }
}
